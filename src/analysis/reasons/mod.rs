//! Why a rank is late or off its processor: facts of a rank, under the account and the messages.

use std::ops::AddAssign;

use mpitrace_format::layout::{InterruptionEntry, off_reason};
use mpitrace_statistics::median;
use serde::{Serialize, Serializer};

/// Why a rank is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Because {
    /// It was on its processor, and computed or was in MPI calls that are not recorded.
    OnProcessor,
    /// It was off its processor: something else ran there.
    Preempted,
    /// It was off its processor: it slept.
    Asleep,
    /// It was off its processor: the quota of its control group held it.
    Throttled,
    /// It was off its processor, for a reason that is not known.
    OffProcessor,
    /// It was longer than the others in point-to-point calls that can wait.
    PointToPoint,
    /// It was longer than the others in one-sided calls that can wait.
    OneSided,
    /// It was longer than the others in calls on files.
    Io,
    /// It was longer than the others in other MPI calls that are not recorded; where these are not told apart, also in
    /// those above.
    OtherMpi,
    /// The tracer worked for longer than that of the others.
    Tracer,
    /// It left its recorded call before later than the others left theirs, and was on its processor.
    EarlierCall,
    /// It was on its processor, and in none of these calls.
    Computing,
}

/// Time off the processor, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Off {
    /// Something else ran on the processor.
    pub preempted: f64,
    /// The rank slept: for a time, for a lock, for input or output, or since it was stopped.
    pub asleep: f64,
    /// The processor quota of a control group held the rank.
    pub throttled: f64,
    /// The reason is not known.
    pub unknown: f64,
}

impl Off {
    /// The time of some context switches of the trace.
    pub(crate) fn of_entry(entry: &InterruptionEntry) -> Off {
        Off::of_reasons(entry.off_by_reason())
    }

    /// The sums of a thread, by [`off_reason`].
    pub(crate) fn of_reasons(ns: [u64; off_reason::COUNT]) -> Off {
        let ns = ns.map(|ns| ns as f64);
        Off {
            preempted: ns[off_reason::PREEMPTED],
            asleep: ns[off_reason::ASLEEP],
            throttled: ns[off_reason::THROTTLED],
            unknown: ns[off_reason::UNKNOWN],
        }
    }

    /// All together.
    pub fn sum(&self) -> f64 {
        self.preempted + self.asleep + self.throttled + self.unknown
    }

    /// The reasons for a time of this length, in the same shares.
    pub fn to(self, ns: f64) -> Off {
        let sum = self.sum();
        self.scaled(if sum > 0.0 { ns / sum } else { 0.0 })
    }

    pub(crate) fn scaled(self, share: f64) -> Off {
        self.each(self, |ns, _| share * ns)
    }

    /// These less those of another time, none of them below 0.
    pub(crate) fn without(self, other: Off) -> Off {
        self.each(other, |own, other| (own - other).max(0.0))
    }

    fn each(self, other: Off, of: impl Fn(f64, f64) -> f64) -> Off {
        Off {
            preempted: of(self.preempted, other.preempted),
            asleep: of(self.asleep, other.asleep),
            throttled: of(self.throttled, other.throttled),
            unknown: of(self.unknown, other.unknown),
        }
    }

    /// The reasons with their times.
    pub fn reasons(&self) -> [(Because, f64); 4] {
        [
            (Because::Preempted, self.preempted),
            (Because::Asleep, self.asleep),
            (Because::Throttled, self.throttled),
            (Because::OffProcessor, self.unknown),
        ]
    }

    #[inline]
    pub(crate) fn due_to(&self, reason: Because) -> f64 {
        self.reasons().into_iter().find(|(because, _)| *because == reason).map_or(0.0, |(_, ns)| ns)
    }

    /// The reason with the most time; `None`: there is no time.
    pub fn largest(&self) -> Option<(Because, f64)> {
        self.reasons().into_iter().max_by(|one, other| one.1.total_cmp(&other.1)).filter(|(_, ns)| *ns > 0.0)
    }
}

/// Time of a rank between two of its recorded calls: in MPI calls that can wait, by kind, and in the tracer; ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InCalls {
    /// In point-to-point calls.
    pub point_to_point: f64,
    /// In one-sided calls.
    pub one_sided: f64,
    /// In calls on files.
    pub io: f64,
    /// In other calls that can wait.
    pub other_mpi: f64,
    /// In the tracer.
    pub tracer: f64,
}

impl InCalls {
    /// All together.
    pub fn sum(&self) -> f64 {
        self.reasons().iter().map(|(_, ns)| ns).sum()
    }

    /// The kinds with their times.
    pub fn reasons(&self) -> [(Because, f64); 5] {
        [
            (Because::PointToPoint, self.point_to_point),
            (Because::OneSided, self.one_sided),
            (Because::Io, self.io),
            (Because::OtherMpi, self.other_mpi),
            (Because::Tracer, self.tracer),
        ]
    }

    /// The kinds of a time of this length, in the same shares.
    pub(crate) fn to(self, ns: f64) -> InCalls {
        let sum = self.sum();
        self.scaled(if sum > 0.0 { ns / sum } else { 0.0 })
    }

    /// By how much they are longer than the median of others.
    pub(crate) fn beyond_median(self, others: &[InCalls]) -> InCalls {
        let beyond = |of: fn(&InCalls) -> f64| match of(&self) {
            0.0 => 0.0,
            own => (own - median(&mut others.iter().map(of).collect::<Vec<f64>>()).unwrap_or(0.0)).max(0.0),
        };
        InCalls {
            point_to_point: beyond(|calls| calls.point_to_point),
            one_sided: beyond(|calls| calls.one_sided),
            io: beyond(|calls| calls.io),
            other_mpi: beyond(|calls| calls.other_mpi),
            tracer: beyond(|calls| calls.tracer),
        }
    }

    pub(crate) fn scaled(self, share: f64) -> InCalls {
        self.each(self, |ns, _| share * ns)
    }

    pub(crate) fn each(self, other: InCalls, of: impl Fn(f64, f64) -> f64) -> InCalls {
        InCalls {
            point_to_point: of(self.point_to_point, other.point_to_point),
            one_sided: of(self.one_sided, other.one_sided),
            io: of(self.io, other.io),
            other_mpi: of(self.other_mpi, other.other_mpi),
            tracer: of(self.tracer, other.tracer),
        }
    }
}

impl AddAssign for InCalls {
    fn add_assign(&mut self, other: InCalls) {
        *self = self.each(other, |own, other| own + other);
    }
}

/// A rank's time between two of its calls, outside of calls that are timed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Gap {
    /// Off its processor.
    pub off: Off,
    /// On it, ns.
    pub worked_ns: f64,
    /// True if `worked_ns` is known; it is not looked for where the rank was never off its processor.
    pub is_timed: bool,
}

impl Gap {
    /// The time off the processor by which it differs from another rank's. At the other's rate a rank that works longer
    /// is preempted, and held by a quota, for longer: that much is due to the work.
    pub fn off_beyond(self, other: Gap) -> Off {
        let longer = if other.worked_ns > 0.0 { (self.worked_ns / other.worked_ns).max(1.0) } else { 1.0 };
        let Off { preempted, throttled, .. } = other.off.scaled(longer);
        self.off.without(Off { preempted, throttled, ..other.off })
    }
}

impl AddAssign for Gap {
    fn add_assign(&mut self, other: Gap) {
        self.off += other.off;
        self.worked_ns += other.worked_ns;
        self.is_timed |= other.is_timed;
    }
}

impl AddAssign for Off {
    fn add_assign(&mut self, other: Off) {
        *self = self.each(other, |own, other| own + other);
    }
}

impl Because {
    /// Its name in outputs; `None`: the reason is not known.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Because::OnProcessor | Because::OffProcessor => None,
            Because::Preempted => Some("preempted"),
            Because::Asleep => Some("asleep"),
            Because::Throttled => Some("throttled"),
            Because::PointToPoint => Some("point-to-point"),
            Because::OneSided => Some("one-sided"),
            Because::Io => Some("io"),
            Because::OtherMpi => Some("other_mpi"),
            Because::Tracer => Some("tracer"),
            Because::EarlierCall => Some("earlier_call"),
            Because::Computing => Some("computing"),
        }
    }

    /// True: the rank was off its processor.
    pub fn is_off(self) -> bool {
        matches!(self, Because::Preempted | Because::Asleep | Because::Throttled | Because::OffProcessor)
    }
}

impl Serialize for Because {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name().serialize(serializer)
    }
}

/// A rank is the one that others wait for, or the one to which something happens, if it has this share of the time.
pub const ALONE: f64 = 2.0 / 3.0;

/// The index of the one that has [`ALONE`] of all.
pub fn alone(times: &[f64]) -> Option<usize> {
    let all: f64 = times.iter().sum();
    times.iter().position(|&own| own > 0.0 && own >= ALONE * all)
}

#[cfg(test)]
mod tests {
    use mpitrace_format::layout::interruption_flags;

    use super::*;

    #[test]
    fn the_reason_is_as_the_kernel_counts() {
        let of = |switches, voluntary, throttled_ns| {
            let flags = interruption_flags::TIMED | interruption_flags::REASON;
            let off = Off::of_entry(&InterruptionEntry {
                off_ns: 100,
                flags,
                switches,
                voluntary,
                throttled_ns,
                ..Default::default()
            });
            assert_eq!(off.sum(), 100.0);
            [off.preempted, off.asleep, off.throttled, off.unknown]
        };
        assert_eq!(of(2, 0, 0), [100.0, 0.0, 0.0, 0.0]);
        assert_eq!(of(2, 2, 0), [0.0, 100.0, 0.0, 0.0]);
        assert_eq!(of(4, 1, 60), [30.0, 10.0, 60.0, 0.0]);
        assert_eq!(of(0, 0, 0), [0.0, 0.0, 0.0, 100.0], "a signal");
        // Ready to run for 70 ns, for 20 of which the quota held it.
        let queued = InterruptionEntry {
            off_ns: 100,
            flags: interruption_flags::TIMED | interruption_flags::REASON | interruption_flags::QUEUED,
            switches: 1000,
            voluntary: 1,
            throttled_ns: 20,
            queued_ns: 70,
            ..Default::default()
        };
        assert_eq!(Off::of_entry(&queued).reasons().map(|(_, ns)| ns), [50.0, 30.0, 20.0, 0.0]);
        let never = InterruptionEntry { voluntary: 0, queued_ns: 0, throttled_ns: 0, ..queued };
        assert_eq!(Off::of_entry(&never).preempted, 100.0, "it never slept");
        let earlier = InterruptionEntry { off_ns: 7, switches: 1, ..Default::default() };
        assert_eq!(Off::of_entry(&earlier), Off { unknown: 7.0, ..Off::default() });
    }
}
