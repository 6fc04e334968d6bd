//! The calls of the ranks of one or more nodes, in short.
//!
//! Calls on communicators whose ranks are all on one node are analysed there. Of the others there is an entry for each
//! of some positions, the same ones on all nodes: what was called there by which ranks, and how long they were in it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use mpitrace_analysis::account::OperationAccount;
use mpitrace_format::layout::OPERATION_MASK;
use mpitrace_functions::{Function, Pattern};
use mpitrace_statistics::categories::Rule;
use mpitrace_statistics::median;
use mpitrace_trace::operations::{
    Called, Communicator, Mismatch, MismatchKind, MismatchedCall, NO_RECORD, Operation, difference,
};
use mpitrace_trace::run_time::RunTime;
use serde::{Deserialize, Serialize};

use super::look::Look;
use super::place::OF_THEIR_OWN;
use super::ranks::Ranks;

/// Operations that are kept, the slowest ones.
const SLOWEST: usize = 5;
/// So many of the last positions of each communicator are kept.
const LAST: u64 = 8;
/// Up to so many earlier positions are kept: multiples of a power of 2. Nodes that look at different times have some of
/// them in common, as long as they have the same calls.
const EARLIER: u64 = 32;
/// So many times the shortest time of any rank in a call is not taken for waiting: the rank that comes last is in it
/// for about the shortest time, and leaves no earlier than others by more than that.
const SHORTEST: u64 = 2;

/// The calls of some ranks at one position of a communicator.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Position {
    /// The difference in them, where that is known already.
    kind: Option<MismatchKind>,
    /// Ranks that called the same: what the lowest of them called, by number.
    groups: Vec<(u64, Ranks)>,
    /// Ranks that have left it.
    left: u32,
    /// The time of these in it, ns: the sum, the longest, and the shortest with its rank.
    sum_ns: u64,
    longest_ns: u64,
    shortest: Option<(u64, u32)>,
}

/// Different calls, each by a number that is the same on all nodes.
pub(super) type Table = BTreeMap<u64, Called>;

/// The complete repetitions of an operation, among the calls that were looked at.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Slow {
    /// The plain C name.
    pub function: String,
    /// By number.
    pub communicator: usize,
    /// The message size; `None`: not known.
    pub bytes: Option<u64>,
    /// How many there are.
    pub repetitions: usize,
    /// The local run times, ns.
    pub median_ns: f64,
    /// The longest.
    pub longest_ns: f64,
    /// The sum.
    pub sum_ns: f64,
}

/// Some operations, and the sums of all of them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Sums {
    /// The slowest ones.
    pub slowest: Vec<Slow>,
    /// The time of all ranks in collective calls, ns.
    pub run_time_ns: f64,
    /// The part of it that is waiting for other ranks.
    pub waiting_ns: f64,
}

/// The number of a call, which is in the table then.
fn number(called: Called, table: &mut Table) -> u64 {
    let mut hasher = DefaultHasher::new();
    called.hash(&mut hasher);
    let number = hasher.finish();
    table.entry(number).or_insert(called);
    number
}

impl Position {
    fn add_group(&mut self, called: u64, ranks: &Ranks, table: &Table) {
        let is_known = self.kind.is_some();
        let same = |(of, _): &&mut (u64, Ranks)| !is_known && table[of].signature == table[&called].signature;
        match self.groups.iter_mut().find(same) {
            Some((of, known)) => {
                if ranks.first() < known.first() {
                    *of = called;
                }
                known.add(ranks);
            }
            None => self.groups.push((called, ranks.clone())),
        }
    }

    pub(super) fn add(&mut self, other: &Position, table: &Table) {
        self.kind = self.kind.or(other.kind);
        other.groups.iter().for_each(|(called, ranks)| self.add_group(*called, ranks, table));
        self.add_times(other);
    }

    fn add_times(&mut self, other: &Position) {
        self.left += other.left;
        self.sum_ns += other.sum_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.shortest = self.shortest.into_iter().chain(other.shortest).min();
    }

    fn left_after(ns: u64, rank: u32) -> Position {
        Position { left: 1, sum_ns: ns, longest_ns: ns, shortest: Some((ns, rank)), ..Position::default() }
    }

    fn differs(&self, table: &Table) -> Option<MismatchKind> {
        let signatures: Vec<_> = self.groups.iter().map(|(called, _)| &table[called].signature).collect();
        self.kind.or_else(|| difference(&signatures))
    }

    /// The mismatch, if there is one, on the communicator with this number and name.
    pub(super) fn mismatch(&self, sequence: u64, (id, name): (usize, &str), table: &Table) -> Option<Mismatch> {
        if self.groups.len() < 2 {
            return None;
        }
        let kind = self.differs(table)?;
        let call = |(called, ranks): &(u64, Ranks)| table[called].of_ranks(ranks.iter().collect());
        let mut calls: Vec<_> = self.groups.iter().map(call).collect();
        calls.sort_by(|one, other| one.ranks.cmp(&other.ranks));
        Some(Mismatch { communicator_id: id, communicator: name.to_owned(), sequence, kind, calls })
    }

    /// The call with its number, if all ranks of the communicator have come to it and left it.
    fn complete<'t>(&self, size: u32, table: &'t Table) -> Option<(u64, &'t Called)> {
        let come: usize = self.groups.iter().map(|(_, ranks)| ranks.len()).sum();
        let (called, _) = self.groups.first()?;
        let is_complete = come == size as usize && self.left == size && self.differs(table).is_none();
        is_complete.then(|| (*called, &table[called]))
    }

    /// The rank that all others waited for in a call of so many ranks, and how long at least, ns. No clocks are
    /// compared. `None`: it is not known.
    pub(super) fn late(&self, size: u32, table: &Table) -> Option<(u32, u64)> {
        let (_, called) = self.complete(size, table)?;
        let waits_for_all = Function::named(called.function()).is_some_and(|of| of.pattern == Pattern::AllToAll);
        let (ns, rank) = self.shortest.filter(|_| waits_for_all)?;
        Some((rank, self.sum_ns.saturating_sub(SHORTEST * u64::from(size) * ns)))
    }
}

impl Sums {
    /// The sums of the operations of a look all of whose ranks are in it, with other numbers of the communicators.
    pub fn new(look: &Look, numbers: &[usize]) -> Sums {
        let mut sums = Sums::default();
        for operation in &look.operations.operations {
            let parts = OperationAccount::new(&look.trace, &look.clock, operation, Rule::default()).sum();
            sums.run_time_ns += parts.run_time;
            sums.waiting_ns += parts.waiting;
            let times = operation.run_time_values(&look.trace, &look.clock, RunTime::Local);
            let key = &operation.key;
            sums.slowest.extend(Slow::new(&key.function, numbers[key.communicator], key.bytes, times));
        }
        sums.cut();
        sums
    }

    fn cut(&mut self) {
        self.slowest.sort_by(|one, other| other.sum_ns.total_cmp(&one.sum_ns));
        self.slowest.truncate(SLOWEST);
    }

    /// Adds others.
    pub fn add(&mut self, other: Sums) {
        self.slowest.extend(other.slowest);
        self.run_time_ns += other.run_time_ns;
        self.waiting_ns += other.waiting_ns;
        self.cut();
    }

    pub(super) fn add_positions<'p>(
        &mut self,
        id: usize,
        size: u32,
        positions: impl Iterator<Item = &'p Position>,
        table: &Table,
    ) {
        let mut times: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for position in positions {
            let Some((called, _)) = position.complete(size, table) else { continue };
            times.entry(called).or_default().push(position.longest_ns as f64);
            self.run_time_ns += position.sum_ns as f64;
            self.waiting_ns += position.late(size, table).map_or(0.0, |(_, ns)| ns as f64);
        }
        for (called, times) in times {
            let call = table[&called].of_ranks(Vec::new());
            self.slowest.extend(Slow::new(&call.function, id, call.bytes, times));
        }
        self.cut();
    }
}

impl Slow {
    fn new(function: &str, communicator: usize, bytes: Option<u64>, mut times: Vec<f64>) -> Option<Slow> {
        let (repetitions, sum_ns) = (times.len(), times.iter().sum());
        let longest_ns = times.iter().copied().fold(0.0, f64::max);
        let median_ns = median(&mut times)?;
        Some(Slow { function: function.to_owned(), communicator, bytes, repetitions, median_ns, longest_ns, sum_ns })
    }
}

/// True if some ranks of the communicator are not among those that were looked at.
pub(super) fn is_elsewhere(communicator: &Communicator) -> bool {
    !communicator.folded && communicator.members.len() < communicator.size as usize
}

/// For each communicator of a look the positions that are kept, and the calls there.
pub(super) fn positions(look: &Look) -> (Vec<BTreeMap<u64, Position>>, Table) {
    let communicators = &look.operations.communicators;
    let (mut all, mut table) = (vec![BTreeMap::new(); communicators.len()], Table::default());
    let mut mismatched: HashSet<(usize, u64)> = HashSet::new();
    for mismatch in &look.operations.mismatches {
        let id = mismatch.communicator_id;
        mismatched.insert((id, mismatch.sequence));
        if !is_elsewhere(&communicators[id]) {
            let group = |call: &MismatchedCall| {
                (number(Called::of_call(call), &mut table), call.ranks.iter().copied().collect::<Ranks>())
            };
            let groups = mismatch.calls.iter().map(group).collect();
            all[id].insert(mismatch.sequence, Position { kind: Some(mismatch.kind), groups, ..Position::default() });
        }
    }
    let mut rows = vec![0; communicators.len()];
    look.operations.operations.iter().for_each(|of| rows[of.key.communicator] += of.repetition.len() as u64);
    let begun = |&(part, entry): &(usize, usize)| look.trace.parts[part].communicators()[entry].calls;
    let newest: Vec<u64> = communicators.iter().map(|of| of.members.iter().map(begun).max().unwrap_or(0)).collect();
    let is_kept = |id: usize, position: u64| {
        let is_last = position.saturating_add(LAST) >= newest[id];
        let is_earlier = position.is_multiple_of((rows[id] / EARLIER).next_power_of_two());
        position < OF_THEIR_OWN && (is_last || is_earlier || mismatched.contains(&(id, position)))
    };
    let spanning = look.operations.operations.iter().filter(|of| is_elsewhere(&communicators[of.key.communicator]));
    for operation in spanning.filter(|of| !of.key.is_region) {
        let id = operation.key.communicator;
        add_operation(look, operation, |position| is_kept(id, position), &mut all[id], &mut table);
    }
    (all, table)
}

fn add_operation(
    look: &Look,
    operation: &Operation,
    is_kept: impl Fn(u64) -> bool,
    positions: &mut BTreeMap<u64, Position>,
    table: &mut Table,
) {
    let blocks = !operation.key.has_request();
    let mut numbers: HashMap<(usize, u32), u64> = HashMap::new();
    for row in 0..operation.repetition.len() {
        let records = operation.parts.iter().zip(operation.records(row).iter());
        for (&index, record) in records.filter(|(_, record)| *record != NO_RECORD) {
            let part = &look.trace.parts[index];
            let position = part.position_of(record as usize);
            if !is_kept(position) {
                break;
            }
            let entry = part.operation_of(record as usize) & OPERATION_MASK;
            let called = *numbers.entry((index, entry)).or_insert_with(|| {
                let entry = part.operations()[entry as usize];
                number(Called::new(part, &entry, &part.communicators()[entry.communicator as usize]), table)
            });
            let of_all = positions.entry(position).or_default();
            of_all.add_group(called, &Ranks::one(part.rank()), table);
            let (enter, exit) = part.times_of(record as usize);
            if blocks && exit > 0 {
                let ns = look.clock.of_part(index).ticks_ns(exit.saturating_sub(enter));
                of_all.add_times(&Position::left_after(ns as u64, part.rank()));
            }
        }
    }
}
