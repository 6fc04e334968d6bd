//! Many short collectives in a row, where one call for all of them would do.

use std::mem::take;

use mpitrace_functions::{Function, Pattern, Size};
use mpitrace_statistics::median;
use mpitrace_trace::operations::Operation;
use mpitrace_trace::reader::Trace;
use serde::Serialize;

use super::{Finding, Found, Known, LEAST, MOST_PLACES};
use crate::account::member::Member;
use crate::account::walk::{Step, Walk};
use crate::account::{Before, Loss, LossKind, OperationAccount};
use crate::replay::Gain;

/// A group has so many calls at least: two or three that follow each other are no habit.
const CALLS: usize = 4;
/// So many groups have to be there: a program that makes nothing but such calls, as a benchmark does, has one.
const GROUPS: usize = 5;
/// The ranks compute for less than this share of the call's usual time between two calls of a group: what takes longer
/// may be work on the result of the call before, as between the reductions of a conjugate gradient.
const COMPUTING: f64 = 0.5;
/// Less than this is nothing, ns: the tracer alone takes a part of it.
const NOTHING_NS: f64 = 1000.0;
/// A call of up to so many times the joined size says how long the joined call would take.
const AS_LARGE: u64 = 2;
/// Repetitions behind a usual time.
const REPETITIONS: usize = 5;

/// Calls of one operation that follow each other on all their ranks with little between them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ManySmall {
    /// The calls.
    pub calls: usize,
    /// The groups of calls that follow each other.
    pub groups: usize,
    /// The calls of a group, in the median.
    pub calls_per_group: usize,
    /// The time that the calls take a rank without the waiting for late ranks, s.
    pub calls_s: f64,
    /// The size of one call in place of each group, bytes.
    pub joined_bytes: u64,
    /// The time that these calls would take a rank, s.
    pub joined_s: f64,
    /// True: that is the time of a call of about this size; else it is the least, that of a call of the present size.
    pub joined_is_known: bool,
}

/// The groups of calls of an operation.
#[derive(Default)]
struct Groups {
    /// The calls of each group.
    lengths: Vec<f64>,
    /// All groups together.
    all: Group,
}

/// Calls that follow each other.
#[derive(Default)]
struct Group {
    calls: usize,
    /// The time that the calls take a rank without waiting, in the median, ns.
    ns: f64,
    /// The time that they take all ranks together without waiting, ns.
    all_ns: f64,
    /// The waiting of all ranks in them, ns.
    waiting_ns: f64,
    at: Vec<Before>,
    between: Vec<Before>,
}

/// The call before, on each member: its record, and when it was left, ns.
type Previous = Vec<(u32, f64)>;

pub(super) fn many_small(run: Known, job_ns: f64) -> Vec<Finding> {
    let operations = run.operations.operations.iter().enumerate();
    operations.filter_map(|(number, operation)| of_operation(run, number, operation, job_ns)).collect()
}

fn of_operation(run: Known, number: usize, operation: &Operation, job_ns: f64) -> Option<Finding> {
    let of = &run.account.operations[number];
    let communication: Vec<f64> = of.ranks.iter().map(|(_, parts)| parts.communication).collect();
    let mean_ns = communication.iter().sum::<f64>() / communication.len().max(1) as f64;
    if !can_be_joined(operation) || of.repetitions < CALLS * GROUPS || mean_ns < LEAST * job_ns {
        return None;
    }
    let usual_ns = usual(of)?;
    let Groups { mut lengths, all } = Groups::new(run, operation, usual_ns)?;
    // Waiting for late ranks is left with fewer calls.
    if lengths.len() < GROUPS || all.waiting_ns > all.all_ns {
        return None;
    }
    let count = lengths.len();
    let calls_per_group = median(&mut lengths)?.round() as usize;
    let joined_bytes = operation.key.bytes? * calls_per_group as u64;
    let [least_ns, most_ns] = joined(run, number, joined_bytes, usual_ns).map(|ns| ns.map(|ns| ns * count as f64));
    let least_ns = least_ns?;
    let is_known = most_ns == Some(least_ns);
    let gain = |joined_ns: f64| Some((all.ns - joined_ns).max(0.0) / 1e9);
    let gain = Gain {
        seconds: if is_known { gain(least_ns) } else { None },
        least: most_ns.map_or(Some(0.0), gain),
        most: gain(least_ns),
        unknown: (!is_known).then_some("no call of the joined size was recorded"),
        ..Gain::default()
    };
    let found = ManySmall {
        calls: all.calls,
        groups: count,
        calls_per_group,
        calls_s: all.ns / 1e9,
        joined_bytes,
        joined_s: least_ns / 1e9,
        joined_is_known: is_known,
    };
    Some(Finding {
        loss: Loss {
            kind: LossKind::ManySmall,
            operation: Some(number),
            ns: all.all_ns,
            repetitions: all.calls,
            ..Loss::default()
        },
        gain,
        found: Found::ManySmall(found),
        at: all.at,
        between: all.between,
    })
}

/// Calls of the same size on all ranks, of which one can do what several do.
fn can_be_joined(operation: &Operation) -> bool {
    let key = &operation.key;
    let Some(function) = Function::named(&key.function).filter(|_| !key.is_region && !key.has_request()) else {
        return false;
    };
    let is_joined = !matches!(function.pattern, Pattern::UsuallyAllToAll | Pattern::Neighbourhood | Pattern::None);
    let is_alike = matches!(function.size, Size::Block | Size::Nothing);
    is_joined && is_alike && !function.is_on_file && operation.sampled.is_none() && operation.parts.len() > 1
}

/// The usual time of a call beside waiting, in the median of its ranks, ns.
fn usual(of: &OperationAccount) -> Option<f64> {
    median(&mut of.usual.iter().map(|&ns| f64::from(ns)).collect::<Vec<f64>>()).filter(|ns| *ns > 0.0)
}

/// The least and the most that a call of this size takes, ns; both alike where the trace has calls of about this size.
/// No call takes less than one of the present size.
fn joined(run: Known, number: usize, bytes: u64, usual_ns: f64) -> [Option<f64>; 2] {
    let all = &run.operations.operations;
    let own = &all[number];
    if own.key.bytes == Some(bytes) {
        return [Some(usual_ns); 2];
    }
    let is_alike = |other: &Operation| other.key.function == own.key.function && other.parts == own.parts;
    let others = all.iter().zip(&run.account.operations).filter(|(other, of)| {
        is_alike(other) && of.repetitions >= REPETITIONS && other.key.bytes.is_some_and(|size| size >= bytes)
    });
    let larger = others.filter_map(|(other, of)| Some((other.key.bytes?, usual(of)?)));
    let nearest = larger.min_by(|one, other| one.0.cmp(&other.0));
    match nearest {
        Some((size, ns)) if size <= AS_LARGE * bytes => [Some(ns.max(usual_ns)); 2],
        Some((_, ns)) => [Some(usual_ns), Some(ns.max(usual_ns))],
        None => [Some(usual_ns), None],
    }
}

impl Groups {
    /// The groups in the repetitions of an operation whose calls usually take so long, ns.
    fn new(run: Known, operation: &Operation, usual_ns: f64) -> Option<Groups> {
        let trace = run.trace;
        let walk = Walk::over(trace, run.clock, operation)?;
        let mut step = walk.step();
        let (mut groups, mut group) = (Groups::default(), Group::default());
        let mut before: Previous = Vec::new();
        for row in operation.complete_rows() {
            step.look(&walk, row);
            let follows = follows(&walk.members, &step, &before, NOTHING_NS.max(COMPUTING * usual_ns));
            if !follows {
                groups.close(take(&mut group));
            }
            group.add(trace, &walk.members, &step, follows.then_some(&before));
            before.clear();
            before.extend((0..walk.members.len()).map(|at| (step.record(at), exit(&step, at))));
        }
        groups.close(group);
        Some(groups)
    }

    fn close(&mut self, group: Group) {
        if group.calls < CALLS {
            return;
        }
        self.lengths.push(group.calls as f64);
        let all = &mut self.all;
        all.calls += group.calls;
        all.ns += group.ns;
        all.all_ns += group.all_ns;
        all.waiting_ns += group.waiting_ns;
        if all.at.len() < MOST_PLACES {
            all.at.extend(group.at);
            all.between.extend(group.between);
        }
    }
}

impl Group {
    /// Adds a call; `before`: the one that it follows.
    fn add(&mut self, trace: &Trace, members: &[Member], step: &Step, before: Option<&Previous>) {
        self.calls += 1;
        let communication = || step.parts.iter().map(|parts| parts.communication);
        self.ns += median(&mut communication().collect::<Vec<f64>>()).unwrap_or(0.0);
        self.all_ns += communication().sum::<f64>();
        self.waiting_ns += step.parts.iter().map(|parts| parts.waiting).sum::<f64>();
        if self.at.len() >= MOST_PLACES {
            return;
        }
        for (at, member) in members.iter().enumerate() {
            let times = |record: u32| trace.parts[member.index].times_of(record as usize);
            let (enter, exit) = times(step.record(at));
            let part = member.index;
            self.at.push(Before { part, from: enter, until: exit, record: None });
            let left = before.map(|before| times(before[at].0).1).filter(|left| *left < enter);
            self.between.extend(left.map(|from| Before { part, from, until: enter, record: None }));
        }
    }
}

/// When a member leaves a call, global time, ns.
fn exit(step: &Step, at: usize) -> f64 {
    let call = step.call(at);
    call.waits_from + call.may_wait
}

/// True if the call comes behind the one before on all ranks. Between the two no call of MPI is seen, and no more than
/// `most_ns` of computing in the lower median of the ranks.
fn follows(members: &[Member], step: &Step, before: &Previous, most_ns: f64) -> bool {
    if before.len() != members.len() {
        return false;
    }
    let mut gaps = Vec::with_capacity(members.len());
    for ((at, member), &(previous, left)) in members.iter().enumerate().zip(before) {
        let record = step.record(at);
        let in_calls = member.in_calls_before(record).map(|calls| calls.sum());
        if member.previous(record) != Some(previous) || in_calls != Some(0.0) {
            return false;
        }
        let off_ns = step.gap_before(at).map_or(0.0, |gap| gap.off.sum());
        gaps.push((step.call(at).enter - left - off_ns).max(0.0));
    }
    // The lower median: of two ranks one may be held up, which is no work.
    gaps.sort_by(f64::total_cmp);
    gaps.get((gaps.len() - 1) / 2).is_some_and(|gap| *gap <= most_ns)
}
