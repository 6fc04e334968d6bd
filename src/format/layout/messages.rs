//! Records of message calls (`MPITRACE_P2P=records`). They lie in chunks and blocks of their own, so that those of
//! collectives are as without them.

use bytemuck::{Pod, Zeroable};

/// In the number of a thread, of a chunk or a block: its records are message calls of the thread.
pub const MESSAGES: u32 = 1 << 31;

/// The data that message calls of a rank have in common: their operation.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct MessageEntry {
    /// Calls made.
    pub calls: u64,
    /// The partner of the message: one of [`super::partner`]. For a start the one that was asked for, for a call that
    /// completes the one that came.
    pub partner: u64,
    /// The tag, asked for or received as the partner is; negative: any.
    pub tag: i32,
    /// Bits of [`message`].
    pub flags: u32,
    /// The name of the function, a string reference.
    pub function: u32,
    /// 1 + the operation that started the request that this call completes; else 0.
    pub start: u32,
    /// The call site, a string reference; 0: not recorded.
    pub call_site: u32,
    /// For later versions.
    pub padding: u32,
}

/// Bits of [`MessageEntry::flags`]. Those that the tracer has for requests (16, 32) are not among them.
pub mod message {
    /// A message to this rank.
    pub const RECEIVE: u32 = super::super::awaited::RECEIVE;
    /// A message of this rank.
    pub const SEND: u32 = super::super::awaited::SEND;
    /// The call starts a request.
    pub const STARTS: u32 = 4;
    /// The call finds a request complete.
    pub const COMPLETES: u32 = 8;
    /// The call finds a message; with [`STARTS`] it takes it, so that no other call receives it.
    pub const FINDS: u32 = 64;
    /// Calls with many partners or tags, of which the entry has one of each only.
    pub const FOLDED: u32 = 128;
    /// The request was cancelled: no message belongs to it.
    pub const CANCELLED: u32 = 256;
}

/// Operations of message calls that are told apart.
pub const MOST_MESSAGES: u32 = 1 << 17;

/// Bytes from this on are stored in KiB.
const IN_KIB: u64 = 1 << 31;

/// The bytes of a message as a live record stores them.
///
/// ```
/// use mpitrace_format::layout::{message_bytes, stored_bytes};
///
/// assert_eq!(message_bytes(stored_bytes(1000)), 1000);
/// // From 2 GiB on in KiB, rounded down.
/// assert_eq!(message_bytes(stored_bytes((5 << 30) + 7)), 5 << 30);
/// ```
pub fn stored_bytes(bytes: u64) -> u32 {
    if bytes < IN_KIB { bytes as u32 } else { (IN_KIB | (bytes >> 10).min(IN_KIB - 1)) as u32 }
}

/// The bytes that were stored.
///
/// ```
/// use mpitrace_format::layout::message_bytes;
///
/// assert_eq!((message_bytes(64), message_bytes(1 << 31 | 3)), (64, 3072));
/// ```
pub fn message_bytes(stored: u32) -> u64 {
    let stored = u64::from(stored);
    if stored < IN_KIB { stored } else { (stored - IN_KIB) << 10 }
}

/// The position that a record in a block has: from it the bytes follow, and it counts on while they stay the same.
///
/// ```
/// use mpitrace_format::layout::message_position;
///
/// // Messages of equal size have positions that follow each other.
/// assert_eq!(message_position(64, 8), message_position(64, 7) + 1);
/// ```
pub fn message_position(stored: u32, number: u64) -> u64 {
    (1 << 63 | u64::from(stored)) + (number & u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_stored_in_kib() {
        for bytes in [0, 1, IN_KIB - 1] {
            assert_eq!(message_bytes(stored_bytes(bytes)), bytes);
        }
        for bytes in [IN_KIB, 5 << 30, 1 << 40] {
            assert_eq!(message_bytes(stored_bytes(bytes)), bytes);
            assert_eq!(message_bytes(stored_bytes(bytes + 1023)), bytes, "rounded down");
        }
        assert_eq!(message_bytes(stored_bytes(u64::MAX)), ((1 << 31) - 1) << 10);
    }
}
