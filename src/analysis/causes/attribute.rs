//! The time of slow repetitions, attributed to what is known to have happened in them.

use std::ops::Range;

use mpitrace_statistics::parallel;

use super::CauseKind;
use super::baseline::Baseline;
use super::evidence::{Evidence, Key, Sorted, Tally, computing_on_processor, moved};
use crate::account::walk::{Step, Walk};
use crate::account::{Late, Off};
use crate::diagnosis::GroupKind;

/// The time of a group, in the order of the groups.
#[derive(Default)]
pub(super) struct OfGroup {
    pub run_ns: f64,
    pub extra_ns: f64,
    /// Communication beyond what is usual that nothing so far explains, ns: of each member.
    pub rest_ns: Vec<f64>,
    /// The part of it in calls of which it is not known how long they were off the processor.
    pub untimed_ns: f64,
    /// The part of it in calls of which it is not known for which ranks they wait.
    pub unsplit_ns: f64,
    pub evidence: Evidence,
    /// The part of waiting for members that is usual also in these repetitions.
    pub usual: Vec<Late>,
}

pub(super) struct Table {
    pub groups: Vec<(GroupKind, usize, Option<usize>, OfGroup)>,
    pub steady: Evidence,
}

impl Table {
    /// Attributes the time of the slow repetitions.
    pub fn new(walk: &Walk, sorted: &Sorted, baseline: &Baseline) -> Table {
        let of_group = |(which, rows, index): &(GroupKind, Vec<u32>, Option<usize>)| {
            let pieces = parallel::map(parallel::pieces(rows.len()), |piece: Range<usize>| {
                OfGroup::new(walk, baseline, &rows[piece], *which == GroupKind::First)
            });
            let mut all = OfGroup::empty(walk.members.len());
            pieces.into_iter().for_each(|piece| all.append(piece));
            (*which, rows.len(), *index, all)
        };
        Table { groups: sorted.slow.iter().map(of_group).collect(), steady: Evidence::default() }
    }

    /// The events that happen in the fastest repetitions, too: in these, and the part that is usual in the others.
    pub fn steady(&mut self, baseline: &Baseline) {
        let mut all: Vec<Late> = baseline.late.clone();
        for (.., group) in &self.groups {
            all.iter_mut().zip(&group.usual).for_each(|(sum, more)| *sum += *more);
        }
        for (member, late) in all.into_iter().enumerate().filter(|(_, late)| late.repetitions > 0) {
            let late = computing_on_processor(late);
            let (ns, count) = (late.waiting_ns, late.repetitions);
            let tally = Tally { ns, most_ns: ns, count, late, ..Tally::default() };
            self.steady.of.insert(Key { kind: CauseKind::LateRank, member }, (tally, None));
        }
        for &(key, tally) in &baseline.off {
            self.steady.of.insert(key, (tally, None));
        }
    }
}

impl OfGroup {
    fn empty(members: usize) -> OfGroup {
        OfGroup { rest_ns: vec![0.0; members], usual: vec![Late::default(); members], ..OfGroup::default() }
    }

    fn append(&mut self, other: OfGroup) {
        self.run_ns += other.run_ns;
        self.extra_ns += other.extra_ns;
        self.untimed_ns += other.untimed_ns;
        self.unsplit_ns += other.unsplit_ns;
        self.rest_ns.iter_mut().zip(other.rest_ns).for_each(|(sum, more)| *sum += more);
        self.usual.iter_mut().zip(other.usual).for_each(|(sum, more)| *sum += more);
        self.evidence.merge(other.evidence);
    }

    fn new(walk: &Walk, baseline: &Baseline, rows: &[u32], single: bool) -> OfGroup {
        let members = walk.members.len();
        let mut group = OfGroup::empty(members);
        let mut step = walk.step();
        let mut beyond = vec![0.0; members];
        for &row in rows {
            let row = row as usize;
            step.look(walk, row);
            for (parts, usual) in step.parts.iter().zip(&baseline.median_run_ns) {
                group.run_ns += parts.run_time;
                group.extra_ns += parts.run_time - usual;
            }
            let lost = |(member, late): (usize, Late)| {
                let beyond = baseline.waiting[member].beyond(late.waiting_ns, single);
                (member, late.scaled(beyond / late.waiting_ns))
            };
            for &late in &step.late {
                let (member, beyond) = lost(late);
                let usual = 1.0 - beyond.waiting_ns / late.1.waiting_ns;
                if usual > 0.0 {
                    group.usual[member] += late.1.scaled(usual);
                }
                let late = computing_on_processor(beyond);
                if late.waiting_ns > 0.0 {
                    let tally = Tally { ns: late.waiting_ns, late, ..Tally::default() };
                    group.evidence.add(row, Key { kind: CauseKind::LateRank, member }, tally);
                }
            }
            group.evidence.off_processor(walk, &step, row, lost);
            let usual = baseline.communication.iter().zip(&step.parts);
            let extra = usual.map(|(usual, parts)| usual.beyond(parts.communication, single));
            beyond.iter_mut().zip(extra).for_each(|(beyond, extra)| *beyond = extra);
            group.communication(walk, &step, row, &mut beyond);
        }
        group
    }

    /// The communication beyond what is usual.
    fn communication(&mut self, walk: &Walk, step: &Step, row: usize, beyond: &mut [f64]) {
        for member in (0..beyond.len()).filter(|&member| step.is_disturbed(member)) {
            let perturbed = std::mem::take(&mut beyond[member]);
            if perturbed > 0.0 {
                let key = Key { kind: CauseKind::Perturbed, member };
                self.evidence.add(row, key, Tally { ns: perturbed, ..Tally::default() });
                self.held_up(walk, row, beyond, (key, perturbed), Off::default());
            }
        }
        // The one that was off its processor longest holds the others up.
        let longest = (0..beyond.len())
            .map(|member| (member, step.off_in(member).unwrap_or_default()))
            .filter(|(_, off)| off.sum() > 0.0);
        if let Some((member, off)) = longest.max_by(|one, other| one.1.sum().total_cmp(&other.1.sum())) {
            let moved = moved(walk.members[member].migrated(step.record(member)).inside, &off);
            self.held_up(walk, row, beyond, (Key { kind: moved, member }, off.sum()), off);
        }
        for (member, parts) in step.parts.iter().enumerate() {
            self.rest_ns[member] += beyond[member];
            self.untimed_ns += beyond[member].min(parts.untimed);
            self.unsplit_ns += beyond[member].min(parts.unsplit);
        }
    }

    /// Takes what other ranks were held up by one that did not go on for this time, for these reasons if it was off its
    /// processor.
    fn held_up(&mut self, walk: &Walk, row: usize, beyond: &mut [f64], (key, at_most): (Key, f64), off: Off) {
        for (member, beyond) in beyond.iter_mut().enumerate() {
            let ns = beyond.min(at_most);
            if member != key.member && ns > 0.0 && walk.awaited_by(member).contains(&key.member) {
                *beyond -= ns;
                let tally = Tally { ns, communication_ns: ns, off: off.to(ns), ..Tally::default() };
                self.evidence.add(row, key, tally);
            }
        }
    }
}
