//! The checks of one operation, repetition by repetition.

use mpitrace_format::layout::{OPERATION_MASK, OperationEntry, UNKNOWN_BYTES};
use mpitrace_trace::clock::{Clock, RankClock};
use mpitrace_trace::operations::{Operation, RepetitionRow};
use mpitrace_trace::reader::{Part, Trace};

use super::rule::Rule;
use super::{Causality, Violation};
use crate::account::member::places;
use crate::account::waits::Order;

struct Member<'a> {
    part: &'a Part,
    clock: &'a RankClock,
    /// Where its record stands among those of a repetition.
    place: usize,
    /// True if its entry, and its exit, can count under the rule.
    roles: (bool, bool),
}

pub(super) struct Check<'a> {
    number: usize,
    operation: &'a Operation,
    order: Order,
    rule: Rule,
    /// By their ranks in the communicator.
    members: Vec<Member<'a>>,
    /// Entry of each member in the repetition at hand, ns; minus infinity where it does not count.
    entries: Vec<f64>,
    /// Exit of each member, ns; not a number where it does not count.
    exits: Vec<f64>,
    /// The latest entry that each exit depends on, ns, with its member.
    latest: Vec<(usize, f64)>,
}

impl<'a> Check<'a> {
    pub fn new(trace: &'a Trace, clock: &'a Clock, number: usize, operation: &'a Operation) -> Option<Check<'a>> {
        let row = operation.complete_rows().next().filter(|_| operation.parts.len() > 1)?;
        // Most functions need no look at the records; the rule does not depend on the place of a root.
        let rule = Rule::of_function(&operation.key.function, Order::of_operation(operation, Some(0))?)?;
        let (places, root) = places(trace, operation, row);
        // An intercommunicator has none.
        let order = Order::of_operation(operation, root?)?;
        let member = |(at, place): (usize, usize)| {
            let roles = match order {
                Order::All | Order::MostlyAll | Order::Lower => (true, true),
                Order::Root(root) => (at == root, at != root),
                Order::AtRoot(root) => (at != root, at == root),
            };
            let index = operation.parts[place];
            Member { part: &trace.parts[index], clock: clock.of_part(index), place, roles }
        };
        let members = places.into_iter().enumerate().map(member).collect();
        let (entries, exits, latest) = (Vec::new(), Vec::new(), Vec::new());
        Some(Check { number, operation, order, rule, members, entries, exits, latest })
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
        self.order.awaited(&self.entries, &mut self.latest);
        let several = self.entries.iter().filter(|entry| entry.is_finite()).count() > 1;
        let mut any = false;
        for (index, (&exit, &(other, entry))) in self.exits.iter().zip(&self.latest).enumerate() {
            // False for exits that are not checked, and for those that depend on no other rank. Of all the last depends
            // on the others, too.
            let depends = other != index || several && self.order == Order::All;
            found.checked += u64::from(depends && exit.is_finite() && entry.is_finite());
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
    fn beyond_errors(&mut self, records: RepetitionRow) -> u64 {
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
        self.order.awaited(&self.entries, &mut self.latest);
        self.exits.iter().zip(&self.latest).filter(|(exit, (_, entry))| *exit < entry).count() as u64
    }
}

/// The arguments of a rank in the call of a record.
fn called(part: &Part, record: u32) -> &OperationEntry {
    &part.operations()[(part.operation_of(record as usize) & OPERATION_MASK) as usize]
}
