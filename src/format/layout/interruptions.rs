//! The actions of the operating system on the threads of a rank while they were traced.

use bytemuck::{Pod, Zeroable};

/// Context switches of a thread that the tracer saw at one look: in a call, or between two calls.
///
/// ```
/// use mpitrace_format::layout::{InterruptionEntry, interruption_flags, off_reason};
///
/// // Two switches; in one of them the thread gave up its processor.
/// let flags = interruption_flags::TIMED | interruption_flags::REASON;
/// let entry = InterruptionEntry { off_ns: 1000, switches: 2, voluntary: 1, flags, ..Default::default() };
/// let by_reason = entry.off_by_reason();
/// assert_eq!((by_reason[off_reason::ASLEEP], by_reason.iter().sum::<u64>()), (500, 1000));
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct InterruptionEntry {
    /// The record in which they happened, or before which: its index among the records of the part. In a live segment
    /// [`live_record`]. [`NO_RECORD`]: behind the last record of its thread.
    pub record: u64,
    /// Time off the processor, ns: what the thread's processor time lacks of `elapsed_ns`. With [`TIMED`] only.
    ///
    /// [`TIMED`]: interruption_flags::TIMED
    pub off_ns: u64,
    /// `off_ns` may be wrong by so much, ns.
    pub error_ns: u64,
    /// Time on the clock over which `off_ns` was measured, ns. It begins before the call, and no other interruption
    /// lies in it.
    pub elapsed_ns: u64,
    /// Index of the thread.
    pub thread: u32,
    /// Bits of [`interruption_flags`].
    pub flags: u32,
    /// Context switches; 0: a signal, or not known.
    pub switches: u32,
    /// The processor on which the thread was when the tracer looked before; [`NO_PROCESSOR`]: not known.
    pub processor_before: u32,
    /// The processor at this look: where it is another one the thread has migrated.
    pub processor_after: u32,
    /// The part of `switches` by which the thread gave up its processor: it slept. With [`REASON`] only.
    ///
    /// [`REASON`]: interruption_flags::REASON
    pub voluntary: u32,
    /// The part of `off_ns` for which the processor quota of a control group may have held the thread, ns. With
    /// [`REASON`] only.
    ///
    /// [`REASON`]: interruption_flags::REASON
    pub throttled_ns: u64,
    /// The part of `off_ns` in which the thread was ready to run, ns: something else ran on its processor, or the quota
    /// held it. With [`QUEUED`] only.
    ///
    /// [`QUEUED`]: interruption_flags::QUEUED
    pub queued_ns: u64,
}

impl InterruptionEntry {
    /// `off_ns` by [`super::off_reason`]. Where the time in which the thread was ready to run is not known, what no
    /// quota has held is divided by the numbers of switches.
    pub fn off_by_reason(&self) -> [u64; super::off_reason::COUNT] {
        if self.flags & interruption_flags::REASON == 0 || self.switches == 0 {
            return [0, 0, 0, self.off_ns];
        }
        let throttled = self.throttled_ns.min(self.off_ns);
        let left = self.off_ns - throttled;
        let asleep = match self.flags & interruption_flags::QUEUED {
            _ if self.voluntary == 0 => 0,
            0 => (u128::from(left) * u128::from(self.voluntary) / u128::from(self.switches)) as u64,
            _ => left.saturating_sub(self.queued_ns.saturating_sub(throttled)),
        };
        let asleep = asleep.min(left);
        [left - asleep, asleep, throttled, 0]
    }
}

/// [`InterruptionEntry::record`] of an interruption behind the last record of its thread.
pub const NO_RECORD: u64 = u64::MAX;

/// A processor that is not known.
pub const NO_PROCESSOR: u32 = u32::MAX;

/// Bits of [`InterruptionEntry::flags`].
pub mod interruption_flags {
    /// Before the call, since the thread's kept call before; without it in the call.
    pub const BETWEEN: u32 = 1;
    /// `off_ns`, `error_ns` and `elapsed_ns` are known.
    pub const TIMED: u32 = 2;
    /// `voluntary` and `throttled_ns` are known.
    pub const REASON: u32 = 4;
    /// With [`BETWEEN`]: in a call that can wait and is not recorded.
    pub const WAITING: u32 = 8;
    /// `queued_ns` is known.
    pub const QUEUED: u32 = 16;
}

/// How the interruptions of a thread are known: values of [`super::ThreadEntry::interruptions_by`].
pub mod interruptions_by {
    /// Not known.
    pub const UNKNOWN: u16 = 0;
    /// By the page of an event of perf that counts nothing: the kernel writes to it at each context switch.
    pub const EVENT_PAGE: u16 = 1;
    /// By a restartable sequence that is never executed: the kernel takes it away when it interrupts the thread.
    pub const RSEQ: u16 = 2;
    /// They were switched off.
    pub const OFF: u16 = 3;
    /// Neither works here.
    pub const NONE: u16 = 4;
}

/// [`InterruptionEntry::record`] in a live segment: the number of the chunk's draw, and the record in the chunk.
///
/// ```
/// use mpitrace_format::layout::{live_record, of_live_record};
///
/// assert_eq!(of_live_record(live_record(12, 345)), (12, 345));
/// ```
pub const fn live_record(draw: u64, record: u32) -> u64 {
    draw << RECORD_BITS | record as u64
}

/// The draw and the record of [`live_record`].
///
/// ```
/// use mpitrace_format::layout::of_live_record;
///
/// assert_eq!(of_live_record(12 << 16 | 345), (12, 345));
/// ```
pub const fn of_live_record(record: u64) -> (u64, u32) {
    (record >> RECORD_BITS, (record & ((1 << RECORD_BITS) - 1)) as u32)
}

/// A chunk holds [`super::MAX_CHUNK_RECORDS`] at most.
const RECORD_BITS: u32 = 16;

#[cfg(test)]
mod tests {
    use super::super::MAX_CHUNK_RECORDS;
    use super::*;

    #[test]
    fn each_record_of_a_chunk_has_a_number() {
        for pair in [(1, 0), (1, MAX_CHUNK_RECORDS as u32 - 1), (1 << 47, 3)] {
            assert_eq!(of_live_record(live_record(pair.0, pair.1)), pair);
        }
    }
}
