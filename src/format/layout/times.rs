//! Sums of time of a rank and its threads, beside the records.

use bytemuck::{Pod, Zeroable};

use super::{AwaitedMessage, MOST_AWAITED};

/// The times of a rank between the entry of MPI_Init, at [`super::RankHeader::first_anchor`], and the entry of
/// MPI_Finalize. Ticks of differences are true ones also under a simulated clock.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct RankTimes {
    /// 1 + the index of the thread that called MPI_Init; 0: not known.
    pub thread: u32,
    /// Bits of [`rank_times_flags`].
    pub flags: u16,
    /// Data types that the program has made and not freed, at most as many as fit.
    pub types_left: u16,
    /// Ticks from the entry of MPI_Init to its return; 0: it has not returned.
    pub init: u64,
    /// The part of these in the MPI library.
    pub init_library: u64,
    /// Tick at the entry of MPI_Finalize; 0: it was not entered.
    pub finalize_enter: u64,
}

/// Bits of [`RankTimes::flags`].
pub mod rank_times_flags {
    /// Calls that can wait had time stamps ([`super::ThreadTimes::ticks`]).
    pub const STAMPED: u16 = 1;
}

/// How long MPI_Finalize took. It is stored in the trace when the call has returned, so no checksum covers it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct FinalizeTimes {
    /// Ticks from its entry to its return; 0: not known.
    pub whole: u64,
    /// The part of these in the MPI library.
    pub library: u64,
}

/// Sums of a thread. It has the index of the thread's [`super::ThreadEntry`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct ThreadTimes {
    /// Ticks by [`wait_class`].
    pub ticks: [u64; wait_class::COUNT],
    /// Time off the processor, ns, by [`off_place`] and [`off_reason`]: also of interruptions without an entry.
    pub off_ns: [[u64; off_reason::COUNT]; off_place::COUNT],
    /// The processor time at the thread's first call, for the thread that called MPI_Init at its return; and as it was
    /// read last, at the entry of MPI_Finalize.
    pub processor: [ProcessorTime; 2],
    /// The messages that the thread waits for in the call that it is in.
    pub awaits: [AwaitedMessage; MOST_AWAITED],
}

/// The last time stamp of a thread outside of the records: at the entry or the exit of a call that can wait, or of a
/// collective call that is not kept.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct LastStamp {
    /// The tick; 0: there is none.
    pub tick: u64,
    /// 1 + the [`wait_class`] of the call that the thread is in since then, or [`IN_COLLECTIVE`]; 0: it has left it.
    pub inside: u32,
    /// For later versions.
    pub padding: u32,
}

impl LastStamp {
    /// [`LastStamp::inside`] of a thread that polls: it was in a call that found nothing, and goes on calling.
    pub const POLLING: u32 = 2 + wait_class::COUNT as u32;
}

/// Rows of calls of a thread that test requests or look for messages and find nothing, with no other call between them;
/// each ends with the poll that finds something, or where the thread makes another call.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct PollTimes {
    /// Polls, those that found something included.
    pub polls: u64,
    /// Rows.
    pub rows: u64,
    /// Ticks from the beginnings of the rows to their ends.
    pub ticks: u64,
    /// The part of these in which the program computed between the polls, ticks: measured between some of them.
    pub computing: u64,
    /// The variance of that sum, ticks^2.
    pub variance: f64,
    /// The tick since which a thread does nothing but poll whose last stamp is [`LastStamp::POLLING`]. 0: it
    /// computes between its polls, or that is not known yet.
    pub since: u64,
}

impl PollTimes {
    /// These and others together, all of which have ended.
    ///
    /// ```
    /// use mpitrace_format::layout::PollTimes;
    ///
    /// let row = PollTimes { polls: 17, rows: 1, ticks: 900, variance: 4.0, ..PollTimes::default() };
    /// assert_eq!(row.with(row), PollTimes { polls: 34, rows: 2, ticks: 1800, variance: 8.0, ..row });
    /// ```
    #[must_use]
    pub fn with(self, other: PollTimes) -> PollTimes {
        PollTimes {
            polls: self.polls.wrapping_add(other.polls),
            rows: self.rows.wrapping_add(other.rows),
            ticks: self.ticks.wrapping_add(other.ticks),
            computing: self.computing.wrapping_add(other.computing),
            variance: self.variance + other.variance,
            since: 0,
        }
    }
}

/// [`LastStamp::inside`] of a collective call that is not kept.
pub const IN_COLLECTIVE: u32 = 1 + wait_class::COUNT as u32;

/// The entry of a thread in a live segment: whole cache lines, so that two threads do not share one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LiveThreadTimes {
    /// The sums.
    pub times: ThreadTimes,
    /// The last stamp.
    pub last: LastStamp,
    /// The rows of polls that have ended.
    pub polls: PollTimes,
}

/// A reading of a thread's processor time (CLOCK_THREAD_CPUTIME_ID).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct ProcessorTime {
    /// The processor time, ns.
    pub ns: u64,
    /// The tick of the reading; 0: there is none.
    pub tick: u64,
}

/// The kinds of calls whose time is summed: indices into [`ThreadTimes::ticks`].
pub mod wait_class {
    /// Point-to-point calls that can wait, and waits for requests, but for [`REQUESTS`].
    pub const POINT_TO_POINT: usize = 0;
    /// One-sided synchronisation.
    pub const ONE_SIDED: usize = 1;
    /// Access to files by one rank.
    pub const IO: usize = 2;
    /// Other calls that can wait.
    pub const OTHER_MPI: usize = 3;
    /// Wait and Test calls with the request of a recorded collective among theirs: each call once.
    pub const REQUESTS: usize = 4;
    /// No call: work of the tracer between the return of MPI_Init and the entry of MPI_Finalize.
    pub const TRACER: usize = 5;
    /// How many there are.
    pub const COUNT: usize = 6;
}

/// Where a thread was off its processor: indices into [`ThreadTimes::off_ns`].
pub mod off_place {
    /// In recorded calls.
    pub const IN_COLLECTIVE: usize = 0;
    /// In calls with time stamps that are not recorded, and while the clocks were synchronised.
    pub const WAITING: usize = 1;
    /// Outside of these.
    pub const BETWEEN: usize = 2;
    /// How many there are.
    pub const COUNT: usize = 3;
}

/// Why a thread was off its processor: indices into the elements of [`ThreadTimes::off_ns`].
pub mod off_reason {
    /// Something else ran there.
    pub const PREEMPTED: usize = 0;
    /// It slept.
    pub const ASLEEP: usize = 1;
    /// The processor quota of a control group held it.
    pub const THROTTLED: usize = 2;
    /// Not known.
    pub const UNKNOWN: usize = 3;
    /// How many there are.
    pub const COUNT: usize = 4;
}

/// Values of [`super::recorded::ELSEWHERE`]: ticks, and the kind that most of them are of.
pub mod elsewhere {
    use super::wait_class;

    /// The kinds, by [`wait_class`].
    pub const CLASSES: [usize; 3] = [wait_class::ONE_SIDED, wait_class::IO, wait_class::OTHER_MPI];

    /// The value for these ticks of each kind, added to a value.
    ///
    /// ```
    /// use mpitrace_format::layout::{elsewhere, wait_class};
    ///
    /// let first = elsewhere::add(0, [5, 300, 0]);
    /// assert_eq!(elsewhere::ticks_and_class(first), (305, wait_class::IO));
    /// assert_eq!(elsewhere::ticks_and_class(elsewhere::add(first, [0, 0, 7])), (312, wait_class::OTHER_MPI));
    /// ```
    pub fn add(value: u64, ticks: [u64; 3]) -> u64 {
        let most = (0..3).max_by_key(|&kind| ticks[kind as usize]).unwrap_or(0);
        ticks.iter().fold(value >> 2, |sum, &ticks| sum.wrapping_add(ticks)) << 2 | most
    }

    /// The ticks of a value, and the class that has most of them.
    ///
    /// ```
    /// use mpitrace_format::layout::{elsewhere, wait_class};
    ///
    /// assert_eq!(elsewhere::ticks_and_class(0), (0, wait_class::ONE_SIDED));
    /// ```
    pub const fn ticks_and_class(value: u64) -> (u64, usize) {
        let kind = (value & 3) as usize;
        (value >> 2, if kind < CLASSES.len() { CLASSES[kind] } else { wait_class::OTHER_MPI })
    }
}
