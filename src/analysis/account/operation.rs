//! The account of one operation: its repetitions, rank by rank.

use std::ops::Range;

use mpitrace_format::layout::{OPERATION_MASK, communicator_flags};

use super::member::Member;
use super::parts::Parts;
use super::waits::Order;
use crate::categories::{Category, Rule};
use crate::clock::Clock;
use crate::operations::Operation;
use crate::parallel;
use crate::reader::{Part, Trace};
use crate::run_time::RunTime;
use crate::statistics::median;

/// Where the time of an operation's complete repetitions went.
#[derive(Clone, Debug, Default)]
pub struct OperationAccount {
    /// Complete repetitions.
    pub repetitions: usize,
    /// For each rank that takes part: its world rank, and its calls together; by their ranks in the communicator.
    pub ranks: Vec<(u32, Parts)>,
    /// For each of these ranks the time that the other ranks waited for it.
    pub late: Vec<Late>,
    /// Communication beyond that of the good repetitions, in the first repetition and in the warm-up.
    pub warmup: Excess,
    /// The same in outliers.
    pub outliers: Excess,
}

/// The time that other ranks waited for a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Late {
    /// All their waiting, ns.
    pub waiting_ns: f64,
    /// The part for which the rank was off its processor since its last call, ns.
    pub interrupted_ns: f64,
    /// The part for which the rank was longer than the others in point-to-point and other MPI calls that are not
    /// recorded, ns.
    pub other_mpi_ns: f64,
    /// The part for which it was on its processor and in none of these calls, ns.
    pub computing_ns: f64,
    /// The part for which it was on its processor, and either computed or was in such calls, ns.
    pub on_processor_ns: f64,
    /// The part of which it is not known whether the rank was on its processor, ns.
    pub unknown_ns: f64,
    /// Repetitions in which another rank waited for it.
    pub repetitions: usize,
}

/// Time beyond that of the good repetitions, all ranks together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Excess {
    /// ns.
    pub ns: f64,
    /// Repetitions.
    pub repetitions: usize,
}

/// What a piece of the repetitions gives.
struct Piece {
    parts: Vec<Parts>,
    late: Vec<Late>,
    /// The communication of each rank, repetition by repetition; f32: 7 digits are enough to be held against a median.
    rest: Vec<Vec<f32>>,
    /// Calls that the tracer may have delayed: the rank, and the repetition in this piece.
    disturbed: Vec<(usize, usize)>,
}

impl OperationAccount {
    /// The account of an operation; categories are found by `rule`.
    pub(super) fn of(trace: &Trace, clock: &Clock, operation: &Operation, rule: Rule) -> OperationAccount {
        let rows: Vec<usize> = operation.complete_rows().collect();
        let Some((members, root)) = rows.first().map(|&row| members(trace, clock, operation, row)) else {
            return OperationAccount::default();
        };
        let order = root.and_then(|root| Order::of(&operation.key.function, root));
        let pieces = parallel::map(parallel::pieces(rows.len()), |piece: Range<usize>| {
            Piece::of(operation, &members, order, &rows[piece])
        });
        let mut account = OperationAccount {
            repetitions: rows.len(),
            ranks: members.iter().map(|member| (trace.parts[member.index].rank(), Parts::default())).collect(),
            late: vec![Late::default(); members.len()],
            ..OperationAccount::default()
        };
        let mut rest: Vec<Vec<f32>> = vec![Vec::with_capacity(rows.len()); members.len()];
        let mut disturbed = Vec::new();
        for piece in pieces {
            let before = rest[0].len();
            disturbed.extend(piece.disturbed.iter().map(|&(member, row)| (member, row + before)));
            for (member, parts) in piece.parts.into_iter().enumerate() {
                account.ranks[member].1 += parts;
                account.late[member].add(piece.late[member]);
            }
            rest.iter_mut().zip(piece.rest).for_each(|(all, of_piece)| all.extend(of_piece));
        }
        let (numbers, run_times) = operation.run_times(trace, clock, RunTime::Local);
        let category = rule.apply(&numbers, &run_times).map(|found| found.categories.category).unwrap_or_default();
        let usual: Vec<f32> = rest.iter().map(|rest| usual(rest, &category)).collect();
        for (member, row) in disturbed {
            let delay = (rest[member][row] - usual[member]).max(0.0);
            account.ranks[member].1.perturb(delay.into());
            rest[member][row] -= delay;
        }
        for (row, category) in category.iter().enumerate() {
            let excess = match category {
                Category::First | Category::Warmup => &mut account.warmup,
                Category::Outlier => &mut account.outliers,
                Category::Good => continue,
            };
            let beyond = rest.iter().zip(&usual).map(|(rest, usual)| f64::from((rest[row] - usual).max(0.0)));
            excess.ns += beyond.sum::<f64>();
            excess.repetitions += 1;
        }
        account
    }

    /// All ranks together.
    pub fn sum(&self) -> Parts {
        let mut sum = Parts::default();
        self.ranks.iter().for_each(|&(_, parts)| sum += parts);
        sum
    }
}

impl Piece {
    fn of(operation: &Operation, members: &[Member], order: Option<Order>, rows: &[usize]) -> Piece {
        let mut piece = Piece {
            parts: vec![Parts::default(); members.len()],
            late: vec![Late::default(); members.len()],
            rest: vec![Vec::with_capacity(rows.len()); members.len()],
            disturbed: Vec::new(),
        };
        let mut calls = Vec::with_capacity(members.len());
        let (mut entries, mut awaited) = (Vec::new(), Vec::new());
        // For each member the one that it waited for, and how long.
        let mut waits: Vec<(usize, f64)> = Vec::with_capacity(members.len());
        for (number, &row) in rows.iter().enumerate() {
            let records = operation.records(row);
            calls.clear();
            calls.extend(members.iter().map(|member| member.call(records.get(member.place))));
            entries.clear();
            entries.extend(calls.iter().map(|call| call.enter));
            awaited.clear();
            order.iter().for_each(|order| order.awaited(&entries, &mut awaited));
            waits.clear();
            for (at, (member, call)) in members.iter().zip(&calls).enumerate() {
                let record = records.get(member.place);
                let waiting = awaited.get(at).map(|&(other, entry)| {
                    let error = member.error_ns + members[other].error_ns;
                    let wait = order.map_or(0.0, |order| order.wait(call, entry, error));
                    if other != at && wait > 0.0 { (other, wait) } else { (at, 0.0) }
                });
                let parts = Parts::of_call(call.run_time, waiting.map(|(_, wait)| wait), member.off_processor(record));
                waits.extend(waiting.filter(|(_, wait)| *wait > 0.0));
                piece.rest[at].push(parts.communication as f32);
                piece.parts[at] += parts;
                if member.is_disturbed(record) {
                    piece.disturbed.push((at, number));
                }
            }
            waits.sort_unstable_by_key(|(other, _)| *other);
            for waits in waits.chunk_by(|one, next| one.0 == next.0) {
                let late = &members[waits[0].0];
                let other_mpi = excess_of_other_mpi(members, waits[0].0, |member| records.get(member.place));
                piece.late[waits[0].0].add(Late::of(late.off_before(records.get(late.place)), other_mpi, waits));
            }
        }
        piece
    }
}

impl Late {
    /// The time that other ranks waited for one call of a rank that was off its processor for this time before, and that
    /// much longer than they in other MPI calls. While it waits in these it may yield its processor: as in a call, what
    /// may be either is taken for the waiting.
    fn of(off_before: Option<f64>, other_mpi: Option<f64>, waits: &[(usize, f64)]) -> Late {
        let mut late = Late { repetitions: 1, ..Late::default() };
        for &(_, wait) in waits {
            let other = other_mpi.unwrap_or(0.0);
            let interrupted = off_before.map_or(0.0, |off| wait.min((off - other).max(0.0)));
            let other = other.min(wait - interrupted);
            late.waiting_ns += wait;
            late.interrupted_ns += interrupted;
            late.other_mpi_ns += other;
            match (off_before, other_mpi) {
                (None, _) => late.unknown_ns += wait - other,
                (_, Some(_)) => late.computing_ns += wait - interrupted - other,
                (_, None) => late.on_processor_ns += wait - interrupted,
            }
        }
        late
    }

    fn add(&mut self, other: Late) {
        self.waiting_ns += other.waiting_ns;
        self.interrupted_ns += other.interrupted_ns;
        self.other_mpi_ns += other.other_mpi_ns;
        self.computing_ns += other.computing_ns;
        self.on_processor_ns += other.on_processor_ns;
        self.unknown_ns += other.unknown_ns;
        self.repetitions += other.repetitions;
    }
}

/// By how much a member was longer than the others, in the median, in other MPI calls before a call, ns; `None` where that
/// is not counted on all.
fn excess_of_other_mpi(members: &[Member], late: usize, record: impl Fn(&Member) -> u32) -> Option<f64> {
    let own = members[late].other_mpi_before(record(&members[late]))?;
    let others = members.iter().enumerate().filter(|(at, _)| *at != late);
    let mut others: Vec<f64> =
        others.map(|(_, member)| member.other_mpi_before(record(member))).collect::<Option<_>>()?;
    Some((own - median(&mut others)?).max(0.0))
}

/// The median of the good repetitions, of all where none is good; ns.
fn usual(rest: &[f32], category: &[Category]) -> f32 {
    let good = rest.iter().zip(category).filter(|(_, category)| **category == Category::Good);
    let mut values: Vec<f64> = good.map(|(&rest, _)| rest.into()).collect();
    if values.is_empty() {
        values = rest.iter().map(|&rest| rest.into()).collect();
    }
    median(&mut values).unwrap_or(0.0) as f32
}

/// The ranks that take part, by their ranks in the communicator; and the place of the root among them, if there is one.
/// `None` in its place: an intercommunicator, whose groups wait for each other in other ways.
pub(super) fn members<'a>(
    trace: &'a Trace,
    clock: &'a Clock,
    operation: &Operation,
    row: usize,
) -> (Vec<Member<'a>>, Option<Option<usize>>) {
    let mut is_intercommunicator = false;
    let mut ranked = Vec::with_capacity(operation.parts.len());
    for (place, (&index, record)) in operation.parts.iter().zip(operation.records(row).iter()).enumerate() {
        let part: &Part = &trace.parts[index];
        let called = part.operations()[(part.operation()[record as usize] & OPERATION_MASK) as usize];
        let communicator = &part.communicators()[called.communicator as usize];
        is_intercommunicator |= communicator.flags & communicator_flags::INTER != 0;
        ranked.push((communicator.rank, Member::new(index, place, part, clock.of_part(index))));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    let root =
        operation.key.root.and_then(|root| ranked.iter().position(|&(rank, _)| i64::from(rank) == i64::from(root)));
    let members = ranked.into_iter().map(|(_, member)| member).collect();
    (members, (!is_intercommunicator).then_some(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What two ranks waited, 100 and 40 ns, by what is known of the late one.
    fn late(off_before: Option<f64>, other_mpi: Option<f64>) -> [f64; 4] {
        let late = Late::of(off_before, other_mpi, &[(0, 100.0), (0, 40.0)]);
        assert_eq!((late.waiting_ns, late.repetitions), (140.0, 1));
        [late.interrupted_ns, late.other_mpi_ns, late.computing_ns, late.unknown_ns]
    }

    #[test]
    fn lateness_is_split_as_far_as_it_is_known() {
        assert_eq!(late(Some(0.0), Some(0.0)), [0.0, 0.0, 140.0, 0.0]);
        assert_eq!(late(Some(0.0), Some(60.0)), [0.0, 100.0, 40.0, 0.0]);
        // While it waited in other calls it may have yielded.
        assert_eq!(late(Some(60.0), Some(60.0)), [0.0, 100.0, 40.0, 0.0]);
        assert_eq!(late(Some(90.0), Some(60.0)), [60.0, 70.0, 10.0, 0.0]);
        assert_eq!(late(None, Some(60.0)), [0.0, 100.0, 0.0, 40.0]);
        // Without the time in other calls the rest may be either.
        assert_eq!(late(Some(60.0), None), [100.0, 0.0, 0.0, 0.0]);
        assert_eq!(late(None, None), [0.0, 0.0, 0.0, 140.0]);
    }
}
