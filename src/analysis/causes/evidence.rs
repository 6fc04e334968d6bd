//! The events that are known to have happened in repetitions, and which of these are slow.

use std::collections::HashMap;

use mpitrace_statistics::categories::Category;
use mpitrace_trace::operations::CompleteRows;

use super::CauseKind;
use crate::account::walk::{Step, Walk};
use crate::account::{Because, Late, Off};
use crate::diagnosis::{Group, GroupKind};

/// The repetitions by whether they are slow.
pub(super) struct Sorted {
    /// The groups of slow ones, each with its rows and with its index among the groups of the diagnosis.
    pub slow: Vec<(GroupKind, Vec<u32>, Option<usize>)>,
    /// The rows of all others.
    pub steady: Vec<u32>,
}

impl Sorted {
    /// `rows` are the complete ones, as the groups and the categories number them.
    pub fn new(rows: &CompleteRows, groups: &[Group], category: &[Category]) -> Sorted {
        const STEADY: u16 = u16::MAX;
        let mut of_row: Vec<u16> = vec![STEADY; rows.len()];
        let mut slow: Vec<(GroupKind, Vec<u32>, Option<usize>)> = vec![(GroupKind::First, Vec::new(), None)];
        let first = (0..rows.len().min(category.len())).filter(|&row| category[row] == Category::First);
        first.for_each(|row| of_row[row] = 0);
        for (index, group) in groups.iter().enumerate() {
            let members = group.members().map(|row| row as usize);
            // The modes are a handful.
            members.filter(|&row| row < rows.len()).for_each(|row| of_row[row] = slow.len() as u16);
            slow.push((group.kind, Vec::new(), Some(index)));
        }
        let mut steady = Vec::new();
        for (place, &of) in of_row.iter().enumerate() {
            slow.get_mut(of as usize).map_or(&mut steady, |(_, rows, _)| rows).push(rows.get(place) as u32);
        }
        slow.retain(|(_, rows, _)| !rows.is_empty());
        Sorted { slow, steady }
    }
}

/// The kind of an event, and the index of the member to which it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub kind: CauseKind,
    pub member: usize,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub ns: f64,
    pub most_ns: f64,
    pub communication_ns: f64,
    pub count: usize,
    pub late: Late,
    pub off: Off,
}

/// Events, each with its sums.
#[derive(Default)]
pub(super) struct Evidence {
    pub(super) of: HashMap<Key, (Tally, Option<usize>)>,
}

impl Evidence {
    /// Adds what happened in a repetition; counts this once.
    pub(super) fn add(&mut self, row: usize, key: Key, more: Tally) {
        let (tally, last) = self.of.entry(key).or_default();
        tally.ns += more.ns;
        tally.most_ns += more.most_ns.max(more.ns);
        tally.communication_ns += more.communication_ns;
        tally.late += more.late;
        tally.off += more.off;
        tally.count += usize::from(*last != Some(row));
        *last = Some(row);
    }

    /// Adds the time off the processor: in the call, and before it as far as others waited for that. `lost` is the part
    /// of the waiting that counts.
    pub fn off_processor(
        &mut self,
        walk: &Walk,
        step: &Step,
        row: usize,
        lost: impl Fn((usize, Late)) -> (usize, Late),
    ) {
        for (member, parts) in step.parts.iter().enumerate() {
            let (least, most) = (parts.interrupted, parts.interrupted_most);
            if least > 0.0 && step.off_in(member).is_some() {
                let off = parts.interrupted_by;
                let migrated = walk.members[member].migrated(step.record(member));
                let key = Key { kind: moved(migrated.inside, &off), member };
                self.add(row, key, Tally { ns: least, most_ns: most, off, ..Tally::default() });
            }
        }
        for &late in &step.late {
            let (member, late) = lost(late);
            if late.interrupted_ns > 0.0 {
                let of = &walk.members[member];
                let record = step.record(member);
                let in_previous = of.previous(record).is_some_and(|previous| of.migrated(previous).inside);
                let off = late.interrupted_by;
                let key = Key { kind: moved(of.migrated(record).before || in_previous, &off), member };
                self.add(row, key, Tally { ns: late.interrupted_ns, off, ..Tally::default() });
            }
        }
    }

    pub fn merge(&mut self, other: Evidence) {
        for (key, (more, _)) in other.of {
            let (tally, _) = self.of.entry(key).or_default();
            tally.ns += more.ns;
            tally.most_ns += more.most_ns;
            tally.communication_ns += more.communication_ns;
            tally.count += more.count;
            tally.late += more.late;
            tally.off += more.off;
        }
    }

    /// In an order that does not change from run to run.
    pub fn into_sorted(self) -> Vec<(Key, Tally)> {
        let mut all: Vec<(Key, Tally)> = self.of.into_iter().map(|(key, (tally, _))| (key, tally)).collect();
        all.sort_unstable_by_key(|(key, _)| *key);
        all
    }
}

/// One that slept lost its time to that, wherever it woke up.
pub(super) fn moved(migrated: bool, off: &Off) -> CauseKind {
    let slept = off.largest().is_some_and(|(because, _)| because == Because::Asleep);
    if migrated && !slept { CauseKind::Migration } else { CauseKind::Interrupted }
}

/// The waiting for a late rank less that of which it was off its processor.
pub(super) fn computing_on_processor(late: Late) -> Late {
    let waiting_ns = late.waiting_ns - late.interrupted_ns;
    Late { waiting_ns, interrupted_ns: 0.0, interrupted_by: Off::default(), ..late }
}
