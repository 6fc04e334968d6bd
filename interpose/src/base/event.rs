//! Descriptors of perf_event as numbers, by the kernel's own number of the event, which no other event has.

use std::ffi::c_int;

/// `_IO('$', 0)` and `_IO('$', 1)`.
const ENABLE: libc::Ioctl = 0x2400;
const DISABLE: libc::Ioctl = 0x2401;

/// `PERF_EVENT_IOC_ID`: `_IOR('$', 7, __u64 *)`, of 8 bytes where addresses have 8.
const ID: libc::Ioctl = 0x8008_2407_u32 as libc::Ioctl;

/// The kernel's number of the event, which no other has; `None`: the descriptor is none of an event.
pub fn id(event: c_int) -> Option<u64> {
    let mut id = 0u64;
    // SAFETY: the kernel stores one word, in `id`, which outlives the call.
    (unsafe { libc::ioctl(event, ID, &raw mut id) } == 0).then_some(id)
}

pub fn restart(event: c_int) {
    for request in [DISABLE, ENABLE] {
        // SAFETY: both requests take a number and no address.
        unsafe { libc::ioctl(event, request, 0) };
    }
}

/// Reads words: how many bytes came, or less than 0.
pub fn read(event: c_int, words: &mut [u64]) -> isize {
    // SAFETY: the kernel writes within the slice, and every word is a value.
    unsafe { libc::read(event, words.as_mut_ptr().cast(), size_of_val(words)) }
}

/// Sets the place in a file, which is none of an event, back by so many bytes. What came out of a pipe is gone.
pub fn give_back(other: c_int, bytes: isize) {
    // SAFETY: takes numbers.
    unsafe { libc::lseek(other, -(bytes as libc::off_t), libc::SEEK_CUR) };
}
