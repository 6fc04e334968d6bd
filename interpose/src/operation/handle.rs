//! Handles of communicators, windows and files in one space of numbers.
//!
//! Calls on a window or a file have sequence numbers of their own, so each of them is looked up as a communicator is.
//! Their handles are addresses or small numbers of a kind, and a library may use one and the same for a communicator
//! and for a window. So those of windows and files are changed in two bits that are 0 in both.

const WINDOW: usize = 1 << 62;
const FILE: usize = 1 << 61;
const KINDS: usize = WINDOW | FILE;

/// Where a call of a thread is looked up that only the ranks of a communicator make which it has yet to give them. The
/// rank's calls of this kind in progress have no other place, and threads may make them at once: each has a place.
#[inline(always)]
pub fn of_new(thread: u32) -> usize {
    KINDS | thread as usize
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleKind {
    Communicator,
    Window,
    File,
    /// A communicator that is being made, see [`of_new`].
    New,
}

#[inline(always)]
pub fn of_window(handle: usize) -> usize {
    handle ^ WINDOW
}

#[inline(always)]
pub fn of_file(handle: usize) -> usize {
    handle ^ FILE
}

/// The kind of a handle, and the handle as the library knows it.
pub fn kind(handle: usize) -> (HandleKind, usize) {
    let kind = match handle & KINDS {
        0 => HandleKind::Communicator,
        WINDOW => HandleKind::Window,
        FILE => HandleKind::File,
        _ => HandleKind::New,
    };
    (kind, handle & !KINDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_is_a_handle_of_each_kind() {
        for handle in [0x101, 0x4400_0000, 0x7fff_ffff_f000] {
            assert_eq!(kind(handle), (HandleKind::Communicator, handle));
            assert_eq!(kind(of_window(handle)), (HandleKind::Window, handle));
            assert_eq!(kind(of_file(handle)), (HandleKind::File, handle));
        }
        assert_eq!([0, 7, u32::MAX].map(|thread| kind(of_new(thread)).0), [HandleKind::New; 3]);
        assert_ne!(of_new(0), of_new(1), "threads count their calls apart");
    }
}
