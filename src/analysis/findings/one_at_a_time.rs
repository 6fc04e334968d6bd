//! Ranks that work one at a time: one alone while all others wait, or each behind the one before it.
//!
//! Both are looked for in the time of all ranks between two calls in which all take part. A rank is at work there while
//! it is in no MPI call that can wait, and is not kept from its processor by something else.

use std::collections::BTreeMap;

use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operation;
use mpitrace_trace::reader::{Part, Trace};
use serde::Serialize;

use super::{Finding, Found, Known, LEAST, MOST_PLACES};
use crate::account::arrivals::before;
use crate::account::member::{PlaceOfCall, place_of_call};
use crate::account::walk::{Step, Walk};
use crate::account::{Before, Loss, LossKind, OperationAccount, RankPart, alone};
use crate::replay::Gain;

/// A rank works alone where each other one works for less than this share of its time.
const IDLE: f64 = 0.25;
/// Shorter times of a rank alone are the noise of its clock and of its processor, ns.
const SHORT_NS: f64 = 20_000.0;
/// Ranks work alike where the work of each differs from the mean by less than this share of the time from the first
/// arrival to the last one: the arrivals do not differ by work.
const ALIKE: f64 = 0.25;
/// They come one after the other where no two neighbours are further apart than so many times the mean distance, ...
const EVEN: f64 = 2.0;
/// ... and each has waited in messages for about as long as it comes later than the first: up to this share.
const WAITED: f64 = 0.3;

/// One rank works while all others wait.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Serial {
    /// The times for which it does.
    pub phases: usize,
    /// For so long together, s.
    pub alone_s: f64,
    /// So long would it take if all ranks had an equal share of it, s.
    pub shared_s: f64,
}

/// Ranks do equal work one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pipeline {
    /// How often.
    pub passes: usize,
    /// The rank that begins in most of them.
    pub first_rank: u32,
    /// The rank that ends in most of them.
    pub last_rank: u32,
    /// From the first rank's end of the work to that of the last one, s, in the mean.
    pub pass_s: f64,
    /// By how much a rank is behind the one before it, s, in the mean.
    pub step_s: f64,
}

/// The work of a rank between two calls.
struct Gap {
    before: Before,
    /// At work, and asleep of this; in point-to-point calls that can wait; ns.
    busy: f64,
    asleep: f64,
    in_messages: f64,
    arrival: f64,
}

/// The sums over all operations.
#[derive(Default)]
struct Sums {
    /// By part: the phases, alone and asleep in these, ns; the operation with most of it, and the places.
    serial: BTreeMap<usize, Alone>,
    /// By the first and the last part.
    passes: BTreeMap<(usize, usize), Passes>,
}

#[derive(Default)]
struct Alone {
    phases: usize,
    ns: f64,
    asleep: f64,
    operations: BTreeMap<usize, f64>,
    at: Vec<Before>,
}

#[derive(Default)]
struct Passes {
    count: usize,
    ns: f64,
    /// All ranks together, ns.
    waiting: f64,
    operations: BTreeMap<usize, f64>,
    at: Vec<Before>,
}

pub(super) fn serial_and_pipeline(run: Known, job_ns: f64) -> Vec<Finding> {
    let Known { trace, account, .. } = run;
    if trace.parts.len() != trace.world_size as usize {
        return Vec::new();
    }
    let messages_ns = account.rank_parts()[RankPart::PointToPoint];
    let late_ns = |of: &OperationAccount| of.late.iter().map(|late| late.waiting_ns).sum::<f64>();
    let waits = |of: &OperationAccount| late_ns(of) + messages_ns >= LEAST * job_ns;
    let mut sums = Sums::default();
    for (number, operation) in run.operations.operations.iter().enumerate() {
        let is_of_all = operation.parts.len() == trace.parts.len() && !operation.key.is_region;
        if is_of_all && !operation.key.has_request() && waits(&account.operations[number]) {
            sums.look(trace, run.clock, number, operation);
        }
    }
    sums.serial(trace, job_ns).into_iter().chain(sums.pipeline(trace, job_ns)).collect()
}

impl Sums {
    fn look(&mut self, trace: &Trace, clock: &Clock, number: usize, operation: &Operation) {
        let Some(walk) = Walk::over(trace, clock, operation) else { return };
        let mut step = walk.step();
        let mut gaps = Vec::with_capacity(walk.members.len());
        for row in operation.complete_rows() {
            step.look(&walk, row);
            gaps.clear();
            gaps.extend((0..walk.members.len()).map_while(|at| gap(trace, clock, &walk, &step, at)));
            if gaps.len() == walk.members.len() && left_one_call(trace, &walk, &step) {
                self.add_alone(number, &gaps);
                self.add_pass(number, &mut gaps);
            }
        }
    }

    fn add_alone(&mut self, number: usize, gaps: &[Gap]) {
        let busiest = gaps.iter().max_by(|one, other| one.busy.total_cmp(&other.busy));
        let Some(Gap { before, busy, asleep, .. }) = busiest else { return };
        let others = gaps.iter().filter(|gap| gap.before.part != before.part).map(|gap| gap.busy).fold(0.0, f64::max);
        let ns = busy - others;
        if ns < SHORT_NS || others > IDLE * busy {
            return;
        }
        let alone = self.serial.entry(before.part).or_default();
        alone.phases += 1;
        alone.ns += ns;
        alone.asleep += asleep.min(ns);
        *alone.operations.entry(number).or_default() += ns;
        if alone.at.len() < MOST_PLACES {
            alone.at.push(*before);
        }
    }

    fn add_pass(&mut self, number: usize, gaps: &mut [Gap]) {
        gaps.sort_by(|one, other| one.arrival.total_cmp(&other.arrival));
        let gaps: &[Gap] = gaps;
        let [first, .., last] = gaps else { return };
        let (spread, count) = (last.arrival - first.arrival, gaps.len() as f64);
        if spread < SHORT_NS {
            return;
        }
        let mean = gaps.iter().map(|gap| gap.busy).sum::<f64>() / count;
        let least = gaps.iter().map(|gap| gap.in_messages).fold(f64::INFINITY, f64::min);
        let step = EVEN * spread / (count - 1.0);
        let is_even = gaps.windows(2).all(|pair| pair[1].arrival - pair[0].arrival <= step);
        let begins = first.arrival;
        let is_alike = |gap: &Gap| (gap.busy - mean).abs() <= ALIKE * spread;
        let has_waited = |gap: &Gap| ((gap.in_messages - least) - (gap.arrival - begins)).abs() <= WAITED * spread;
        if !is_even || !gaps.iter().all(|gap| is_alike(gap) && has_waited(gap)) {
            return;
        }
        let passes = self.passes.entry((first.before.part, last.before.part)).or_default();
        passes.count += 1;
        passes.ns += spread;
        passes.waiting += gaps.iter().map(|gap| gap.in_messages - least + spread - (gap.arrival - begins)).sum::<f64>();
        *passes.operations.entry(number).or_default() += spread;
        if passes.at.len() < MOST_PLACES {
            // The first has waited for none.
            passes.at.extend(gaps[1..].iter().map(|gap| gap.before));
        }
    }

    /// The rank that works alone for most of the time for which any does. One that sleeps does not work.
    fn serial(&mut self, trace: &Trace, job_ns: f64) -> Option<Finding> {
        let times: Vec<f64> = self.serial.values().map(|alone| alone.ns).collect();
        let (part, alone) = std::mem::take(&mut self.serial).into_iter().nth(alone(&times)?)?;
        if alone.ns < LEAST * job_ns || 2.0 * alone.asleep > alone.ns {
            return None;
        }
        let ranks = trace.parts.len() as f64;
        let seconds = alone.ns / 1e9;
        let found = Serial { phases: alone.phases, alone_s: seconds, shared_s: seconds / ranks };
        Some(Finding {
            loss: Loss {
                kind: LossKind::Serial,
                rank: Some(trace.parts[part].rank()),
                operation: largest(&alone.operations),
                ns: alone.ns * (ranks - 1.0),
                repetitions: alone.phases,
                ..Loss::default()
            },
            gain: Gain { seconds: Some(found.alone_s - found.shared_s), ..Gain::default() },
            found: Found::Serial(found),
            at: alone.at,
            between: Vec::new(),
        })
    }

    fn pipeline(&mut self, trace: &Trace, job_ns: f64) -> Option<Finding> {
        let times: Vec<f64> = self.passes.values().map(|passes| passes.ns).collect();
        let ((first, last), passes) = std::mem::take(&mut self.passes).into_iter().nth(alone(&times)?)?;
        if passes.ns < LEAST * job_ns {
            return None;
        }
        let [first_rank, last_rank] = [first, last].map(|part| trace.parts[part].rank());
        let pass_s = passes.ns / passes.count as f64 / 1e9;
        let step_s = pass_s / (trace.parts.len() - 1) as f64;
        let found = Pipeline { passes: passes.count, first_rank, last_rank, pass_s, step_s };
        Some(Finding {
            loss: Loss {
                kind: LossKind::Pipeline,
                operation: largest(&passes.operations),
                ns: passes.waiting,
                repetitions: passes.count,
                ..Loss::default()
            },
            gain: Gain {
                least: Some(0.0),
                most: Some(passes.ns / 1e9),
                unknown: Some("whether the ranks can work at the same time is not known"),
                ..Gain::default()
            },
            found: Found::Pipeline(found),
            at: passes.at,
            between: Vec::new(),
        })
    }
}

/// The operation with most of the time.
fn largest(operations: &BTreeMap<usize, f64>) -> Option<usize> {
    operations.iter().max_by(|one, other| one.1.total_cmp(other.1)).map(|(&number, _)| number)
}

/// The time of a member before its call; `None`: not known.
fn gap(trace: &Trace, clock: &Clock, walk: &Walk, step: &Step, at: usize) -> Option<Gap> {
    let before = before(trace, walk, step, at)?;
    let in_calls = walk.members[at].in_calls_before(step.record(at))?;
    let off = step.gap_before(at)?.off;
    let whole = clock.of_part(before.part).duration_ns(before.from, before.until);
    let busy = (whole - in_calls.sum() - off.preempted - off.throttled - off.unknown).max(0.0);
    Some(Gap {
        before,
        busy,
        asleep: off.asleep.min(busy),
        in_messages: in_calls.point_to_point,
        arrival: step.call(at).enter,
    })
}

/// True: the members have left the same call before, or MPI_Init.
fn left_one_call(trace: &Trace, walk: &Walk, step: &Step) -> bool {
    let previous = |at: usize| -> Option<Option<PlaceOfCall>> {
        let member = &walk.members[at];
        let Some(record) = member.previous(step.record(at)) else { return Some(None) };
        let part: &Part = &trace.parts[member.index];
        Some(Some(place_of_call(part, record, part.operation_of(record as usize))?))
    };
    let first = previous(0);
    first.is_some() && (1..walk.members.len()).all(|at| previous(at) == first)
}
