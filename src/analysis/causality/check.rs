//! The checks of one operation, repetition by repetition.

use mpitrace_format::layout::{OPERATION_MASK, OperationEntry, UNKNOWN_BYTES, communicator_flags};

use super::rule::{Order, Rule};
use super::{Causality, Violation};
use crate::clock::{Clock, RankClock};
use crate::operations::{Operation, Row};
use crate::reader::{Part, Trace};

/// A rank that takes part in an operation.
struct Member<'a> {
    part: &'a Part,
    clock: &'a RankClock,
    /// Where its record stands among those of a repetition.
    place: usize,
    /// True if its entry, and its exit, can count under the rule.
    roles: (bool, bool),
}

/// The checks of one operation.
pub(super) struct Check<'a> {
    number: usize,
    operation: &'a Operation,
    rule: Rule,
    /// By their ranks in the communicator.
    members: Vec<Member<'a>>,
    /// Of the repetition at hand, for each member: its entry, ns, or minus infinity where it does not count; ...
    entries: Vec<f64>,
    /// ... its exit, or not a number; ...
    exits: Vec<f64>,
    /// ... and the latest entry that the exit depends on, with its member.
    latest: Vec<(usize, f64)>,
}

impl<'a> Check<'a> {
    pub fn new(trace: &'a Trace, clock: &'a Clock, number: usize, operation: &'a Operation) -> Option<Check<'a>> {
        let rule = Rule::of_function(&operation.key.function).filter(|_| operation.parts.len() > 1)?;
        let records = operation.records(operation.complete_rows().next()?);
        let mut ranked = Vec::with_capacity(operation.parts.len());
        for (place, (&index, record)) in operation.parts.iter().zip(records.iter()).enumerate() {
            let part = &trace.parts[index];
            let communicator = &part.communicators()[called(part, record).communicator as usize];
            if communicator.flags & communicator_flags::INTER != 0 {
                return None;
            }
            let is_root = i64::from(communicator.rank) == i64::from(operation.key.root.unwrap_or(-1));
            let roles = match rule.order {
                Order::AllBeforeAll | Order::LowerBeforeHigher => (true, true),
                Order::RootBeforeOthers => (is_root, !is_root),
                Order::OthersBeforeRoot => (!is_root, is_root),
            };
            ranked.push((communicator.rank, Member { part, clock: clock.of_part(index), place, roles }));
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        let members: Vec<Member> = ranked.into_iter().map(|(_, member)| member).collect();
        let (entries, exits, latest) = (Vec::new(), Vec::new(), Vec::new());
        Some(Check { number, operation, rule, members, entries, exits, latest })
    }

    pub fn row(&mut self, row: usize, found: &mut Causality) {
        let records = self.operation.records(row);
        self.entries.clear();
        self.exits.clear();
        for member in &self.members {
            let record = records.get(member.place);
            let (enter, exit) = member.part.times_of(record as usize);
            let has_bytes = !matches!(called(member.part, record).bytes, 0 | UNKNOWN_BYTES);
            let enters = member.roles.0 && (has_bytes || !self.rule.entries_with_bytes);
            let leaves = member.roles.1 && (has_bytes || !self.rule.exits_with_bytes);
            self.entries.push(if enters { member.clock.nanoseconds(enter) } else { f64::NEG_INFINITY });
            self.exits.push(if leaves { member.clock.nanoseconds(exit) } else { f64::NAN });
        }
        self.find_latest();
        let mut any = false;
        for (index, (&exit, &(other, entry))) in self.exits.iter().zip(&self.latest).enumerate() {
            // False for exits that are not checked, and for those that depend on no other rank.
            found.checked += u64::from(exit.is_finite() && entry.is_finite());
            if exit < entry {
                any = true;
                found.violated_raw += 1;
                if found.worst.as_ref().is_none_or(|worst| entry - exit > worst.by_ns) {
                    found.worst = Some(Violation {
                        by_ns: entry - exit,
                        operation: self.number,
                        function: self.operation.key.function.clone(),
                        repetition: self.operation.repetition.get(row),
                        left: self.members[index].part.rank(),
                        entered: self.members[other].part.rank(),
                    });
                }
            }
        }
        if any {
            found.violated += self.beyond_errors(records);
        }
    }

    /// How many exits of the repetition at hand lie before an entry by more than both errors. Few repetitions come
    /// here: an error takes longer to find than a time.
    fn beyond_errors(&mut self, records: Row) -> u64 {
        for (index, member) in self.members.iter().enumerate() {
            let record = records.get(member.place) as usize;
            // A 95 % interval misses one time in twenty, which contradicts nothing: where more is proven, that counts.
            let error = |tick: u64| {
                let half = member.clock.error_ns(tick).unwrap_or(0.0);
                let (lower, upper) = member.clock.hard_bounds_ns(tick).unwrap_or((0.0, 0.0));
                (half.max(-lower), half.max(upper))
            };
            let (enter, exit) = member.part.times_of(record);
            self.entries[index] -= error(enter).0;
            self.exits[index] += error(exit).1;
        }
        self.find_latest();
        self.exits.iter().zip(&self.latest).filter(|(exit, (_, entry))| *exit < entry).count() as u64
    }

    /// For each member the latest of the others' entries that its exit depends on.
    fn find_latest(&mut self) {
        const NONE: (usize, f64) = (0, f64::NEG_INFINITY);
        let (mut first, mut second) = (NONE, NONE);
        self.latest.clear();
        for (index, &entry) in self.entries.iter().enumerate() {
            if self.rule.order == Order::LowerBeforeHigher {
                self.latest.push(first);
            }
            if entry > first.1 {
                (first, second) = ((index, entry), first);
            } else if entry > second.1 {
                second = (index, entry);
            }
        }
        if self.rule.order != Order::LowerBeforeHigher {
            let count = self.entries.len();
            self.latest.extend((0..count).map(|index| if first.0 == index { second } else { first }));
        }
    }
}

/// The arguments of a rank in the call of a record.
fn called(part: &Part, record: u32) -> &OperationEntry {
    &part.operations()[(part.operation_of(record as usize) & OPERATION_MASK) as usize]
}
