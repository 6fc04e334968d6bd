//! The tables that records refer to: communicators, operations and threads.

use bytemuck::{Pod, Zeroable};

/// In [`OperationEntry::call_site`] in place of a build id: what follows is the name of a function in Python.
pub const PYTHON_SITE: &str = "py:";

/// [`OperationEntry::root`] of a function without a root.
pub const NO_ROOT: i32 = i32::MIN;
/// [`OperationEntry::root`] on the rank that passed `MPI_ROOT` (intercommunicators).
pub const THIS_IS_ROOT: i32 = -1;
/// [`OperationEntry::root`] on a rank that passed `MPI_PROC_NULL` (intercommunicators).
pub const BESIDE_ROOT: i32 = -2;
/// [`OperationEntry::bytes`] of an operation that could not be described yet, for example since its first call,
/// with a data type unknown to the tracer, has not returned.
pub const UNKNOWN_BYTES: u64 = u64::MAX;

/// One communicator as one rank knows it. A cache line, like all tables' entries: the counts of two communicators that
/// two threads use do not share one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct CommunicatorEntry {
    /// A hash of how the communicator came to be: equal on all of its ranks, and on no other communicator.
    pub key: [u64; 2],
    /// Collective calls begun on it by this rank, recorded or not; the next one's position.
    pub calls: u64,
    /// Ranks in it that are of this world (for an intercommunicator, in both groups): another world has a trace of its
    /// own.
    pub size: u32,
    /// This rank's rank in it.
    pub rank: u32,
    /// The name that the program gave it, a [`crate::strings`] reference; 0: none.
    pub name: u32,
    /// Bits of [`communicator_flags`].
    pub flags: u32,
    /// Clocks are synchronised after the first blocking call with which `calls` has come this far; u64::MAX: never.
    pub sync_at: u64,
    /// For a window or a file: 1 + the index of the communicator that it was made of, among this rank's; 0: not known.
    pub made_of: u32,
    /// This rank's share of two sums ([`crate::amounts`]).
    pub amounts: [u32; 2],
    /// Bits of [`unknown`].
    pub unknown: u16,
    /// This rank's share of the sum of the kinds of data types that ranks exchange: 0 over all where they fit.
    pub types: u16,
}

/// Bits of [`CommunicatorEntry::unknown`].
pub mod unknown {
    /// The amounts of some call were not known, and no sum says anything.
    pub const AMOUNTS: u16 = 1;
    /// In some call a data type was passed that is not compared, and the sum of kinds says nothing.
    pub const TYPES: u16 = 2;
}

/// Bits of [`CommunicatorEntry::flags`].
pub mod communicator_flags {
    /// MPI_COMM_WORLD.
    pub const WORLD: u32 = 1;
    /// MPI_COMM_SELF.
    pub const SELF: u32 = 2;
    /// An intercommunicator.
    pub const INTER: u32 = 4;
    /// The key, size and rank are known.
    pub const IDENTIFIED: u32 = 8;
    /// Not one communicator: the calls on all those beyond a bound that were used little and have no entry of their
    /// own. Positions are those on each of them.
    pub const FOLDED: u32 = 16;
    /// No communicator, but a window: the calls on it.
    pub const WINDOW: u32 = 32;
    /// No communicator, but an open file: the calls on it.
    pub const FILE: u32 = 64;
    /// This rank is in the group of an intercommunicator whose first rank has the lower rank of the world.
    pub const FIRST: u32 = 128;
    /// The program has freed or closed it, also in a delete callback, where the call is not recorded.
    pub const FREED: u32 = 256;
    /// It has ranks of another world, which has a trace of its own.
    pub const OUTSIDE: u32 = 512;
}

/// One operation as one rank sees it.
///
/// ```
/// use bytemuck::Zeroable;
/// use mpitrace_format::layout::OperationEntry;
///
/// assert!(!OperationEntry::zeroed().is_region());
/// assert!(OperationEntry { positions_from: 3 << 30, ..OperationEntry::zeroed() }.is_region());
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct OperationEntry {
    /// Calls begun by this rank, recorded or not; the next one's repetition.
    pub calls: u64,
    /// This rank's message size in bytes, or [`UNKNOWN_BYTES`].
    pub bytes: u64,
    /// Index into this rank's communicators.
    pub communicator: u32,
    /// The root, or [`NO_ROOT`], [`THIS_IS_ROOT`], [`BESIDE_ROOT`].
    pub root: i32,
    /// The function's plain C name, a [`crate::strings`] reference.
    pub function: u32,
    /// The data type's name, a reference; 0: the function has none.
    pub datatype: u32,
    /// The reduction operator's name, a reference; 0: the function has none.
    pub reduction: u32,
    /// The place in the program that calls it, where that is part of what makes an operation, a reference: the module's
    /// path, its build id in hexadecimal (empty: it has none) and the offset in it that the call returns to, with a
    /// space between. Of a script in Python: its file, [`PYTHON_SITE`] and the function, and the line in hexadecimal
    /// (0: not known).
    pub call_site: u32,
    /// Not 0: its calls have positions of their own, which are the repetition and this << 32 (regions).
    pub positions_from: u32,
    /// The histogram that counts its calls that are not kept, from 1; 0: none, [`super::SHARED_HISTOGRAM`]: one with
    /// other operations.
    pub histogram: u32,
    /// Calls that were not kept and are counted with the time that they took: all that returned well.
    pub timed: u64,
    /// Ticks that these took, all together.
    pub ticks: u64,
}

impl OperationEntry {
    /// True: it is a region of the program, which is no call, but a label over a stretch of time.
    pub fn is_region(&self) -> bool {
        self.positions_from != 0
    }
}

/// Where a thread is outside of the recorded calls: values of [`ThreadEntry::activity`].
///
/// ```
/// use mpitrace_format::layout::activity::{COMPUTING, POINT_TO_POINT, decoded, in_function, left, next};
///
/// // The name of MPI_Recv lies at 512 in the area of strings.
/// let first = next(0, in_function(POINT_TO_POINT, 512));
/// assert_eq!(decoded(first), (POINT_TO_POINT, 512));
/// // The same call again is another word, and so is a thread that has left it.
/// assert_ne!(next(first, in_function(POINT_TO_POINT, 512)), first);
/// assert_eq!(decoded(left(first)).0, COMPUTING);
/// ```
pub mod activity {
    /// Not in MPI, or in a call that is not seen.
    pub const COMPUTING: u32 = 0;
    /// In a point-to-point call, or in one that waits for requests or tests them.
    pub const POINT_TO_POINT: u32 = 1;
    /// In another MPI call that is not recorded: input and output, windows, communicators.
    pub const OTHER_MPI: u32 = 2;
    /// In an error handler of the program, which the MPI library has called.
    pub const ERROR_HANDLER: u32 = 3;

    /// The word for a thread that is in the function with this name, a [`crate::strings`] reference.
    pub const fn in_function(what: u32, function: u32) -> u32 {
        function & NAMES | what
    }

    /// The meaning of a word: one of the values above, and the reference of the function's name.
    pub const fn decoded(word: u32) -> (u32, u32) {
        (word & KINDS, word & NAMES)
    }

    /// The word of a thread that enters a call, by the one before: five bits count such calls. So a thread that makes
    /// one call after the other can be seen to move, even if it is found in the same function each time.
    #[inline(always)]
    pub const fn next(before: u32, word: u32) -> u32 {
        (before.wrapping_add(1 << COUNTS.trailing_zeros()) & COUNTS) | word
    }

    /// The word of a thread that has left a call, by the one before.
    #[inline(always)]
    pub const fn left(before: u32) -> u32 {
        before & COUNTS | COMPUTING
    }

    const KINDS: u32 = 3;
    /// The area of strings has 64 MiB.
    const NAMES: u32 = (1 << 26) - 1 - KINDS;
    /// Counts the calls.
    pub const COUNTS: u32 = !(KINDS | NAMES);
}

/// One thread of a rank.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct ThreadEntry {
    /// The kernel's thread number.
    pub tid: u32,
    /// How interruptions of the thread are known: one of [`super::interruptions_by`].
    pub interruptions_by: u16,
    /// Why interruptions are not known by the page of an event: the error number of the system call that failed; 0:
    /// they are, or it was not tried.
    pub without_page: u16,
    /// Calls not kept because the program had paused recording.
    pub paused: u64,
    /// Calls that returned an error of functions that are recorded: they are not kept.
    pub failed: u32,
    /// Calls that returned an error of functions that are not recorded.
    pub failed_others: u32,
    /// Calls that could not even be counted, since a table had no room for their operation.
    pub untracked: u64,
    /// Failed calls that keep their number among the calls of their communicator, since another rank's call may have
    /// been matched with them.
    pub failed_in_place: u64,
    /// 1 + the processor at the thread's first call; 0: not known.
    pub first_processor: u32,
    /// Where the thread is outside of the recorded calls: one of [`activity`] in the lowest 2 bits, in the next 24 the
    /// name of the MPI function, a [`crate::strings`] reference (a multiple of 4; 0: not known), in the next 5 the
    /// number of such calls that it has begun. Where call sites are recorded a blank and that of the call follow the name. A blocking call in the records that has not returned goes before it.
    pub activity: u32,
    /// Interruptions without an entry of their own, since the table of them was full.
    pub unlisted: u64,
    /// The time that the thread was off its processor in those, ns.
    pub unlisted_off_ns: u64,
}
