//! Facts that the kernel states in proc(5).

use crate::base::{own_file, system};

/// The identity of the running kernel; zeros where it does not state it.
pub fn boot_id() -> [u8; 16] {
    let text = own_file::read_text("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    u128::from_str_radix(&text.trim_end().replace('-', ""), 16).map(u128::to_be_bytes).unwrap_or_default()
}

/// For how long the calling thread was ready to run so far, and did not, ns (proc(5), `schedstat`); `None`: the kernel
/// does not state it. It allocates no memory.
pub fn queued_ns() -> Option<u64> {
    let mut text = [0; 64];
    let length = own_file::read_into(c"/proc/thread-self/schedstat", &mut text).ok()?;
    std::str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// How much more address space this process may take, bytes; `None`: it is not limited.
pub fn address_space_left() -> Option<u64> {
    let (limit, page) = (system::address_space_limit()?, system::page_size());
    let sizes = own_file::read_text("/proc/self/statm").unwrap_or_default();
    let pages: Option<u64> = sizes.split(' ').next().and_then(|size| size.parse().ok());
    // Where the kernel does not say what is in use, half of it may be.
    Some(limit.saturating_sub(pages.map_or(limit / 2, |pages| pages * page)))
}
