//! The ranks that others wait for in point-to-point calls, where message calls were not recorded: who came later to the
//! exchange between two collective calls, and why.

use std::collections::BTreeMap;

use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::{Part, Trace};

use super::exchanges::Exchanges;
use super::sequences::{Sequence, Sequences};
use super::walk::{Step, Walk};
use super::{PartnerAccount, RankAccount, RankPart, partner};
use crate::messages;
use crate::reasons::Off;
use crate::reasons::alone;

/// A rank that comes later than others, which are in point-to-point calls meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatePartner {
    /// The world rank that is late.
    pub late: u32,
    /// The one that waits for it for two thirds of the time; `None`: several.
    pub rank: Option<u32>,
    /// So long the others are in such calls before it comes, ns.
    pub ns: f64,
    /// The part of that time in which the late rank was off its processor outside of calls, for longer than the others.
    pub off: Off,
}

/// A smaller share of the ranks' time in such calls is not looked at.
const LOOKED_AT: f64 = 0.01;

/// The late partners of a run, the largest first; the time of each waiting rank is added to its account, and to that of
/// the partner.
pub(super) fn late_partners(
    trace: &Trace,
    clock: &Clock,
    operations: &Operations,
    partners: &mut [PartnerAccount],
    ranks: &mut [RankAccount],
) -> Vec<LatePartner> {
    let in_calls: f64 = ranks.iter().map(|rank| rank.parts[RankPart::PointToPoint]).sum();
    let all: f64 = ranks.iter().map(|rank| rank.wall_ns).sum();
    let lacks = |part: &Part| part.lacks_calls() || !part.waits_are_stamped();
    let is_known = !messages::are_recorded(trace) && clock.is_synchronised() && !trace.parts.iter().any(lacks);
    if !is_known || in_calls <= LOOKED_AT * all {
        return Vec::new();
    }
    let mut sums: BTreeMap<(usize, usize), (f64, Off)> = BTreeMap::new();
    let add = |exchanges: &Exchanges, [late, part]: [usize; 2], ns: f64, _: Place| {
        let (sum, off) = sums.entry((late, part)).or_default();
        let reasons = exchanges.gap(late).off_beyond(exchanges.gap(part));
        *sum += ns;
        *off += reasons.to(reasons.sum().min(ns));
    };
    if !for_each(trace, clock, operations, partners, ranks, add) {
        return Vec::new();
    }
    for (&(late, part), (ns, _)) in &sums {
        ranks[part].message_waiting_ns += ns;
        partner::add_wait(partners, trace, part, late, *ns);
    }
    let mut found: Vec<LatePartner> = (0..trace.parts.len()).map(|late| of_part(trace, late, &sums)).collect();
    found.retain(|one| one.ns > 0.0);
    for one in &mut found {
        let waiting = sums.keys().filter(|(late, _)| trace.parts[*late].rank() == one.late).count();
        let late = ranks.iter().find(|rank| rank.rank == one.late);
        one.off += late.map_or_else(Off::default, |rank| rank.off_beyond_computing(one.ns - one.off.sum(), waiting));
    }
    found.sort_by(|one, other| other.ns.total_cmp(&one.ns));
    found
}

/// The place that an exchange lies before.
#[derive(Clone, Copy)]
pub(super) enum Place<'p, 'a> {
    /// A collective call.
    Call(&'p Walk<'a>, &'p Step<'a>),
    /// MPI_Finalize.
    End,
}

/// Goes through the exchanges in which a part waits for one that is late: the late one and the one that waits, how
/// long, ns, and before which call. False: the calls of the ranks have no common order.
pub(super) fn for_each(
    trace: &Trace,
    clock: &Clock,
    operations: &Operations,
    partners: &[PartnerAccount],
    ranks: &[RankAccount],
    mut each: impl FnMut(&Exchanges, [usize; 2], f64, Place),
) -> bool {
    let errors = clock.errors_ns(trace);
    let mut exchanges = Exchanges::of_all(trace, partners);
    let mut add = |exchanges: &Exchanges, place: Place| {
        for exchange in &exchanges.all {
            let late = exchanges.last(exchange).filter(|(late, ns)| *ns > errors[*late] + errors[exchange.part]);
            if let Some((late, ns)) = late {
                each(exchanges, [late, exchange.part], ns, place);
            }
        }
    };
    let mut sequences = Sequences::of_run(trace, clock, operations, |_| true);
    let mut step = Step::of_parts(trace);
    let mut left = vec![f64::NEG_INFINITY; trace.parts.len()];
    while let Some(slot) = sequences.pop() {
        let Sequence { walk, rows, place, .. } = &sequences.all[slot];
        step.look(walk, rows.get(*place));
        exchanges.look(walk, &step);
        // Non-blocking calls may overlap: then it is not known what lies between them.
        let mut overlap = false;
        for (at, member) in walk.members.iter().enumerate() {
            let call = step.call(at);
            let before = std::mem::replace(&mut left[member.index], call.waits_from + call.may_wait);
            overlap |= call.enter < before;
        }
        if !overlap {
            add(&exchanges, Place::Call(walk, &step));
        }
        sequences.advance(slot);
    }
    if !sequences.is_at_end() {
        return false;
    }
    let end = |(index, part): (usize, &Part)| Some(clock.of_part(index).nanoseconds(part.finalize_enter()?));
    if let Some(ends) = trace.parts.iter().enumerate().map(end).collect::<Option<Vec<f64>>>() {
        exchanges.end(ranks.iter().map(|rank| (rank.parts[RankPart::PointToPoint], rank.off())), &ends);
        add(&exchanges, Place::End);
    }
    true
}

fn of_part(trace: &Trace, late: usize, sums: &BTreeMap<(usize, usize), (f64, Off)>) -> LatePartner {
    let mut found = LatePartner { late: trace.parts[late].rank(), ..LatePartner::default() };
    let mut waiting = vec![0.0; trace.parts.len()];
    for (part, waiting) in waiting.iter_mut().enumerate() {
        if let Some(&(ns, off)) = sums.get(&(late, part)) {
            *waiting = ns;
            found.ns += ns;
            found.off += off;
        }
    }
    found.rank = alone(&waiting).map(|part| trace.parts[part].rank());
    found
}
