//! The string area: texts that the tables refer to.
//!
//! A reference is a byte offset into the area; 0 refers to nothing. At the offset lie the length in bytes (u32) and
//! then the bytes. References are multiples of 4.
//!
//! ```
//! use mpitrace_format::strings::{FIRST, bytes, space, text};
//!
//! // The text "halo" at the first reference.
//! let mut area = vec![0; FIRST as usize];
//! area.extend(4_u32.to_le_bytes());
//! area.extend(b"halo");
//! assert_eq!(space(4), 8);
//! assert_eq!((text(&area, FIRST as u32).as_deref(), bytes(&area, FIRST as u32)), (Some("halo"), Some(&b"halo"[..])));
//! assert_eq!((text(&area, 0), text(&area, 1000)), (None, None));
//! ```

/// The first reference that can be given out: reference 0 means "none".
pub const FIRST: u64 = 8;

/// Bytes that a text of `length` bytes takes in the area.
pub const fn space(length: usize) -> u64 {
    crate::layout::round_up(4 + length as u64, 4)
}

/// The bytes behind a reference; `None` for reference 0 and for one that leads out of the area.
pub fn bytes(area: &[u8], reference: u32) -> Option<&[u8]> {
    let start = reference as usize;
    if start == 0 {
        return None;
    }
    let length = u32::from_le_bytes(area.get(start..start.checked_add(4)?)?.try_into().ok()?) as usize;
    area.get(start + 4..(start + 4).checked_add(length)?)
}

/// The text behind a reference, with what is not UTF-8 replaced.
pub fn text(area: &[u8], reference: u32) -> Option<String> {
    bytes(area, reference).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}
