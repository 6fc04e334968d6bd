//! The program's memory behind its arguments: handles, counts, statuses and texts.
//!
//! The addresses are those that the program has passed to an MPI function. The MPI standard says what lies there, and
//! the library reads or writes the same bytes: nothing here is touched that the library would not touch.
//! A wrong address is the program's fault with the tracer as without it. That is the one thing that makes these
//! functions sound, so they take an address for one purpose only: an argument of the call that is being forwarded.

use std::ffi::{CStr, c_int};

use bytemuck::AnyBitPattern;

/// The `index`-th element of an array that the call may read, or has written.
#[inline(always)]
pub fn element<T: AnyBitPattern>(array: usize, index: usize) -> T {
    // SAFETY: the argument is an array of more elements than `index`, of a type for which all bits are a value (see
    // above).
    unsafe { std::ptr::with_exposed_provenance::<T>(array).add(index).read() }
}

#[inline(always)]
pub fn int(place: usize) -> c_int {
    element(place, 0)
}

/// The first bytes of an array that the call may read, at most so many words.
pub fn words<const N: usize>(array: usize, bytes: usize) -> [u64; N] {
    let mut words = [0; N];
    let bytes = bytes.min(size_of_val(&words));
    let array = std::ptr::with_exposed_provenance::<u8>(array);
    // SAFETY: the argument is an array of so many bytes at least (see above), and the words have room for them.
    unsafe { array.copy_to_nonoverlapping(words.as_mut_ptr().cast(), bytes) };
    words
}

/// Stores what the call returns through an argument.
pub fn set_int(place: usize, value: c_int) {
    // SAFETY: the argument is the address of an int that the call sets (see above).
    unsafe { std::ptr::with_exposed_provenance_mut::<c_int>(place).write(value) };
}

/// A text that the call has accepted.
pub fn text(place: usize) -> Vec<u8> {
    // SAFETY: the standard wants a string that ends in a zero byte, and the library has read it to there.
    unsafe { CStr::from_ptr(std::ptr::with_exposed_provenance(place)) }.to_bytes().to_vec()
}
