//! How many messages and bytes have come together on this rank since they were taken last.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The counters' names, in the order of [`COUNTS`].
pub const NAMES: [&str; 8] =
    ["messages-sent", "bytes-sent", "messages-received", "bytes-received", "puts", "bytes-put", "gets", "bytes-got"];

static COUNTING: AtomicBool = AtomicBool::new(false);
static COUNTS: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];

/// Messages and bytes sent.
pub const SENT: usize = 0;
/// Received.
pub const RECEIVED: usize = 2;
/// Written to another rank's window.
pub const PUT: usize = 4;
/// Read from another rank's window.
pub const GOT: usize = 6;

/// Whether messages are counted.
#[inline(always)]
pub fn counting() -> bool {
    COUNTING.load(Ordering::Relaxed)
}

/// From now on messages are counted.
pub fn start() {
    COUNTING.store(true, Ordering::Release);
}

/// What has come together since it was taken last.
pub fn take(counter: usize) -> u64 {
    // Most are 0 most of the time, and reading costs a tenth of exchanging.
    match COUNTS[counter].load(Ordering::Relaxed) {
        0 => 0,
        _ => COUNTS[counter].swap(0, Ordering::Relaxed),
    }
}

/// A message of this kind, of so many bytes.
pub fn count(kind: usize, bytes: u64) {
    COUNTS[kind].fetch_add(1, Ordering::Relaxed);
    COUNTS[kind + 1].fetch_add(bytes, Ordering::Relaxed);
}

/// A message of so many bytes was sent.
pub fn count_sent(bytes: u64) {
    count(SENT, bytes);
}

/// A message was received, if one was.
pub fn count_received(bytes: Option<u64>) {
    if let Some(bytes) = bytes {
        count(RECEIVED, bytes);
    }
}
