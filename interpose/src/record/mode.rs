//! Whether calls are recorded.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::boundary::system;

static MODE: AtomicU8 = AtomicU8::new(OFF);

/// Before Init, after Finalize, disabled: calls are only forwarded.
pub const OFF: u8 = 0;
/// Calls are recorded.
pub const RECORDING: u8 = 1;
/// Calls are counted and matched, not kept (`MPI_Pcontrol(0)`).
pub const PAUSED: u8 = 2;

/// One of the modes above.
#[inline(always)]
pub fn get() -> u8 {
    MODE.load(Ordering::Relaxed)
}

/// Starts recording, at the end of Init.
pub fn start() {
    MODE.store(RECORDING, Ordering::Release);
}

/// Ends recording. Calls that other threads are in still store their exits.
pub fn stop() {
    MODE.store(OFF, Ordering::Release);
}

/// Pauses or resumes recording on this rank.
pub fn pause(paused: bool) {
    let (from, to) = if paused { (RECORDING, PAUSED) } else { (PAUSED, RECORDING) };
    let _ = MODE.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
}

/// Whether calls are counted.
#[inline(always)]
pub fn is_on() -> bool {
    MODE.load(Ordering::Relaxed) != OFF
}

/// A child that the program forks off shares the live records, and the kernel does not map the pages of its counters
/// there: it goes on untraced.
pub fn stop_in_children() {
    extern "C" fn in_child() {
        stop();
    }
    system::in_children(in_child);
}
