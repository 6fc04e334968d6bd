//! The fixed structures of a live segment and of a trace file. All integers are little-endian.
//!
//! The structures are plain old data: they are stored by the preloaded library while the program runs and read in
//! place from a memory-mapped file. A field that a reader may take for 0 takes reserved
//! bytes; any other raises [`VERSION`].

mod clocks;
mod columns;
mod counters;
mod histograms;
mod interruptions;
mod live;
mod messages;
mod partners;
mod rank;
mod sample;
mod stored;
mod tables;
mod times;

pub use clocks::*;
pub use columns::*;
pub use counters::*;
pub use histograms::*;
pub use interruptions::*;
pub use live::*;
pub use messages::*;
pub use partners::*;
pub use rank::*;
pub use sample::*;
pub use stored::*;
pub use tables::*;
pub use times::*;

/// The version of every structure here. A reader refuses another one.
pub const VERSION: u32 = 1;
/// Parts of a trace, and regions of a segment, start at multiples of this many bytes.
pub const PAGE: u64 = 4096;
/// A run has no more ranks: what claims more is damaged. The largest machines have some 10^7 cores.
pub const MOST_RANKS: u32 = 1 << 24;
/// Reads back as this value on a little-endian machine only.
pub const BYTE_ORDER_MARK: u32 = 0x0102_0304;

/// A fixed-size name as text.
///
/// ```
/// use mpitrace_format::layout::{name_bytes, name_of};
///
/// assert_eq!(name_of(&name_bytes("duration")), "duration");
/// ```
pub fn name_of(name: &[u8; 32]) -> &str {
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    std::str::from_utf8(&name[..end]).unwrap_or("?")
}

/// Text as a fixed-size name, cut at a character's boundary.
///
/// ```
/// use mpitrace_format::layout::name_bytes;
///
/// assert_eq!(name_bytes("enter")[..6], *b"enter\0");
/// ```
pub fn name_bytes(text: &str) -> [u8; 32] {
    let mut end = text.len().min(32);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = [0; 32];
    name[..end].copy_from_slice(&text.as_bytes()[..end]);
    name
}

/// `value` rounded up to a multiple of `step`.
///
/// ```
/// use mpitrace_format::layout::{PAGE, round_up};
///
/// assert_eq!([0, 1, 4096, 4097].map(|value| round_up(value, PAGE)), [0, 4096, 4096, 8192]);
/// ```
pub const fn round_up(value: u64, step: u64) -> u64 {
    value.div_ceil(step) * step
}
