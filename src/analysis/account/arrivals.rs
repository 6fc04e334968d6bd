//! Late arrivals one by one, with the time of the late rank and of those that wait before the call: for what looks into
//! that time, as samples do.

use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::{Operation, Operations};
use mpitrace_trace::reader::{Part, Trace};

use super::late_at_finalize::last_record;
use super::late_partner::{self, Place};
use super::member::Member;
use super::walk::{Step, Walk};
use super::{Account, LateAtFinalize};

/// The time of a rank between its recorded call before and a call, or MPI_Finalize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before {
    /// Index of the rank's part.
    pub part: usize,
    /// The exit of the call before, or of MPI_Init, ticks of the rank's clock.
    pub from: u64,
    /// The entry of the call, ticks of the rank's clock.
    pub until: u64,
    /// The record of the call; `None`: none has it.
    pub record: Option<u32>,
}

/// A rank for which others waited in a call.
#[derive(Clone, Debug, PartialEq)]
pub struct LateArrival {
    /// The late rank.
    pub late: Before,
    /// The ranks that waited, and how long each did, ns.
    pub others: Vec<(Before, f64)>,
}

impl LateArrival {
    /// The time by which the rank was late: the longest waiting, ns.
    pub fn late_ns(&self) -> f64 {
        self.others.iter().map(|(_, ns)| *ns).fold(0.0, f64::max)
    }

    /// The waiting of all together, ns.
    pub fn waiting_ns(&self) -> f64 {
        self.others.iter().map(|(_, ns)| *ns).sum()
    }
}

/// Goes through the late arrivals in the complete repetitions of an operation among these rows.
pub fn for_each_late_arrival(
    trace: &Trace,
    clock: &Clock,
    operation: &Operation,
    rows: impl Iterator<Item = usize>,
    mut each: impl FnMut(LateArrival),
) {
    let Some(walk) = Walk::over(trace, clock, operation) else { return };
    let mut step = walk.step();
    for row in rows.filter(|&row| operation.is_complete(row)) {
        step.look(&walk, row);
        let late = step.late.iter().map(|(at, _)| *at).collect::<Vec<usize>>();
        for late in late {
            let waiting = |at: &usize| step.waited_for(*at) == Some(late) && step.parts[*at].waiting > 0.0;
            let others = (0..walk.members.len()).filter(waiting);
            let others = others.filter_map(|at| Some((before(trace, &walk, &step, at)?, step.parts[at].waiting)));
            let Some(own) = before(trace, &walk, &step, late) else { continue };
            each(LateArrival { late: own, others: others.collect() });
        }
    }
}

/// Goes through the exchanges of messages between collective calls in which a rank waits for one that comes later:
/// those behind [`Account::late_partners`].
pub fn for_each_late_exchange(
    trace: &Trace,
    clock: &Clock,
    operations: &Operations,
    account: &Account,
    mut each: impl FnMut(LateArrival),
) {
    if account.late_partners.is_empty() {
        return;
    }
    late_partner::for_each(
        trace,
        clock,
        operations,
        &account.partners,
        &account.ranks,
        |_, [late, part], ns, place| {
            let before = |part: usize| match place {
                Place::Call(walk, step) => {
                    before(trace, walk, step, walk.members.iter().position(|member| member.index == part)?)
                }
                Place::End => before_finalize(trace, part),
            };
            if let Some((late, other)) = before(late).zip(before(part)) {
                each(LateArrival { late, others: vec![(other, ns)] });
            }
        },
    );
}

/// The rank for which others wait in MPI_Finalize.
pub fn late_arrival_at_finalize(trace: &Trace, account: &Account) -> Option<LateArrival> {
    let LateAtFinalize { part, entries, .. } = account.late_at_finalize.as_ref()?;
    let others = (0..entries.len()).filter(|other| other != part);
    let others = others.filter_map(|other| {
        let ns = account.ranks[other].parts[super::RankPart::WaitingFinalize];
        Some((before_finalize(trace, other)?, ns)).filter(|(_, ns)| *ns > 0.0)
    });
    Some(LateArrival { late: before_finalize(trace, *part)?, others: others.collect() })
}

pub(crate) fn before(trace: &Trace, walk: &Walk, step: &Step, at: usize) -> Option<Before> {
    let member: &Member = &walk.members[at];
    let (part, record) = (&trace.parts[member.index], step.record(at));
    let from = match member.previous(record) {
        Some(previous) => part.times_of(previous as usize).1,
        None if part.is_sample() => return None,
        None => after_init(part),
    };
    let until = part.times_of(record as usize).0;
    (0 < from && from < until).then_some(Before { part: member.index, from, until, record: Some(record) })
}

fn before_finalize(trace: &Trace, index: usize) -> Option<Before> {
    let part = &trace.parts[index];
    let until = part.finalize_enter()?;
    let from = last_record(part).map_or(0, |record| part.times_of(record as usize).1).max(after_init(part));
    (from < until).then_some(Before { part: index, from, until, record: None })
}

fn after_init(part: &Part) -> u64 {
    part.info().first_anchor.tick + part.rank_times().init
}
