//! The parts of the time that a rank spends in a call.

use std::ops::AddAssign;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::reasons::Off;

/// Where the time of a call went on one rank, or that of several calls together; ns.
///
/// `run_time = waiting + interrupted + perturbed + communication`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// In the call. Of a non-blocking call: in its start, in tests and in waits.
    pub run_time: f64,
    /// Waiting for a rank that has not entered the call yet, if the function makes this rank wait for it.
    pub waiting: f64,
    /// Off the processor in the call, beside the waiting: the least that it can have been.
    pub interrupted: f64,
    /// The reasons of that time.
    pub interrupted_by: Off,
    /// The most that it can have been: while a rank waits it may yield its processor, so that the two overlap.
    pub interrupted_most: f64,
    /// Delayed by the tracer.
    pub perturbed: f64,
    /// The rest.
    pub communication: f64,
    /// The part of `communication` that lies in calls of which it is not known for which ranks they wait.
    pub unsplit: f64,
    /// The part of `run_time` that lies in calls of which it is not known how long they were off the processor.
    pub untimed: f64,
}

/// The time off the processor in a call, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum OffProcessor {
    /// So long, ns, and by how much that may be wrong; 0 for a call that was not interrupted.
    Known(Off, f64),
    /// It was interrupted, or may have been, for an unknown time.
    #[default]
    Unknown,
}

impl OffProcessor {
    /// The time, where it is known.
    pub fn known(self) -> Option<Off> {
        match self {
            OffProcessor::Known(off, _) => Some(off),
            OffProcessor::Unknown => None,
        }
    }
}

impl Parts {
    /// The parts of one call. `waiting` of the `run_time` is no more than that; what the tracer has delayed comes out
    /// of `communication` later ([`Parts::perturb`]).
    pub fn of_call(run_time: f64, waiting: Option<f64>, off: OffProcessor) -> Parts {
        let run_time = run_time.max(0.0);
        let waits = waiting.unwrap_or(0.0).clamp(0.0, run_time);
        let (least, most, untimed, reasons) = match off {
            OffProcessor::Known(reasons, error) => {
                let off = reasons.sum();
                ((off - error - waits).max(0.0), (off + error).clamp(0.0, run_time), 0.0, reasons)
            }
            OffProcessor::Unknown => (0.0, run_time, run_time, Off::default()),
        };
        let interrupted = least.min(run_time - waits);
        Parts {
            interrupted_by: if interrupted > 0.0 { reasons.to(interrupted) } else { Off::default() },
            interrupted_most: most.max(interrupted),
            untimed,
            ..Parts::split(run_time, waiting, interrupted)
        }
    }

    /// The parts of one call of which the least time off the processor beside the waiting is known already, as exports
    /// have it; `interrupted_most` is that, too, and no time is `untimed`.
    pub fn split(run_time: f64, waiting: Option<f64>, interrupted: f64) -> Parts {
        let waits = waiting.unwrap_or(0.0).clamp(0.0, run_time);
        let communication = run_time - waits - interrupted;
        Parts {
            run_time,
            waiting: waits,
            interrupted,
            interrupted_by: Off { unknown: interrupted, ..Off::default() },
            interrupted_most: interrupted,
            perturbed: 0.0,
            communication,
            unsplit: if waiting.is_none() { communication } else { 0.0 },
            untimed: 0.0,
        }
    }

    /// The parts of a call with ranks of another world: off the processor it may have waited for these.
    pub(super) fn with_another_world(self) -> Parts {
        let unsplit = if self.unsplit > 0.0 { self.unsplit + self.interrupted } else { 0.0 };
        let communication = self.communication + self.interrupted;
        Parts { interrupted: 0.0, interrupted_by: Off::default(), communication, unsplit, ..self }
    }

    /// The parts of so many calls like this.
    pub(super) fn scaled(self, calls: f64) -> Parts {
        Parts { interrupted_by: self.interrupted_by.scaled(calls), ..self.each(self, |ns, _| calls * ns) }
    }

    /// Times of both; the reasons of the time off the processor stay.
    fn each(self, other: Parts, of: impl Fn(f64, f64) -> f64) -> Parts {
        Parts {
            run_time: of(self.run_time, other.run_time),
            waiting: of(self.waiting, other.waiting),
            interrupted: of(self.interrupted, other.interrupted),
            interrupted_most: of(self.interrupted_most, other.interrupted_most),
            perturbed: of(self.perturbed, other.perturbed),
            communication: of(self.communication, other.communication),
            unsplit: of(self.unsplit, other.unsplit),
            untimed: of(self.untimed, other.untimed),
            ..self
        }
    }

    /// These without some of them, as far as they add up to the run time.
    pub(super) fn without(self, some: Parts) -> Parts {
        Parts {
            run_time: self.run_time - some.run_time,
            waiting: self.waiting - some.waiting,
            interrupted: self.interrupted - some.interrupted,
            perturbed: self.perturbed - some.perturbed,
            communication: self.communication - some.communication,
            ..self
        }
    }

    /// The parts without the communication.
    pub(super) fn without_communication(self) -> Parts {
        Parts { run_time: self.run_time - self.communication, communication: 0.0, unsplit: 0.0, ..self }
    }

    /// The most that can have been off the processor, ns; `None`: it is not known of all calls.
    pub fn known_most(&self) -> Option<f64> {
        (self.untimed == 0.0).then_some(self.interrupted_most)
    }

    /// Takes so much of the communication for a delay by the tracer.
    pub fn perturb(&mut self, delay: f64) {
        let delay = delay.clamp(0.0, self.communication);
        self.perturbed += delay;
        self.communication -= delay;
        self.unsplit = self.unsplit.min(self.communication);
    }
}

/// In seconds, without the run time: outputs name that by what it is of.
impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let seconds = |ns: f64| ns / 1e9;
        let mut parts = serializer.serialize_struct("Parts", 6)?;
        parts.serialize_field("waiting_s", &seconds(self.waiting))?;
        parts.serialize_field("interrupted_s", &seconds(self.interrupted))?;
        parts.serialize_field("perturbed_s", &seconds(self.perturbed))?;
        parts.serialize_field("communication_s", &seconds(self.communication))?;
        parts.serialize_field("interrupted_most_s", &self.known_most().map(seconds))?;
        parts.serialize_field("unsplit_s", &seconds(self.unsplit))?;
        parts.end()
    }
}

impl AddAssign for Parts {
    fn add_assign(&mut self, other: Parts) {
        *self = self.each(other, |own, other| own + other);
        self.interrupted_by += other.interrupted_by;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn preempted(off: f64, error: f64) -> OffProcessor {
        OffProcessor::Known(Off { preempted: off, ..Off::default() }, error)
    }

    #[test]
    fn waiting_and_time_off_the_processor_overlap() {
        // 60 of 100 ns waiting, 70 off the processor: at least 10 beside the waiting, at most all 70.
        let parts = Parts::of_call(100.0, Some(60.0), preempted(70.0, 0.0));
        assert_eq!((parts.waiting, parts.interrupted, parts.interrupted_most), (60.0, 10.0, 70.0));
        assert_eq!(parts.communication, 30.0);
        let outside = parts.with_another_world();
        assert_eq!(
            (outside.waiting, outside.interrupted, outside.communication),
            (60.0, 0.0, 40.0),
            "it may have waited"
        );
        let unknown = Parts::of_call(100.0, None, OffProcessor::Unknown);
        assert_eq!((unknown.interrupted, unknown.interrupted_most, unknown.unsplit), (0.0, 100.0, 100.0));
    }

    proptest! {
        #[test]
        fn the_parts_add_up(
            run_time in 0.0..1e9f64, waiting in prop::option::of(-1.0..2e9f64), off in 0.0..2e9f64,
            error in 0.0..1e6f64, delay in -1.0..1e9f64
        ) {
            let mut parts = Parts::of_call(run_time, waiting, preempted(off, error));
            parts.perturb(delay);
            let sum = parts.waiting + parts.interrupted + parts.perturbed + parts.communication;
            prop_assert!((sum - parts.run_time).abs() <= 1e-6 * run_time.max(1.0));
            for part in [parts.waiting, parts.interrupted, parts.perturbed, parts.communication, parts.unsplit] {
                prop_assert!((0.0..=run_time).contains(&part));
            }
            prop_assert!(parts.interrupted <= parts.interrupted_most);
        }
    }
}
