//! The account of one operation: its repetitions, rank by rank.

use std::ops::Range;

use mpitrace_format::layout::{OPERATION_MASK, communicator_flags};

use super::late::Late;
use super::member::Member;
use super::parts::Parts;
use super::walk::Walk;
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
        let Some(walk) = Walk::over(trace, clock, operation) else {
            return OperationAccount::default();
        };
        let members = &walk.members;
        let pieces = parallel::map(parallel::pieces(rows.len()), |piece: Range<usize>| Piece::of(&walk, &rows[piece]));
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
                account.late[member] += piece.late[member];
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
    fn of(walk: &Walk, rows: &[usize]) -> Piece {
        let members = &walk.members;
        let mut piece = Piece {
            parts: vec![Parts::default(); members.len()],
            late: vec![Late::default(); members.len()],
            rest: vec![Vec::with_capacity(rows.len()); members.len()],
            disturbed: Vec::new(),
        };
        let mut step = walk.step();
        for (number, &row) in rows.iter().enumerate() {
            step.look(row);
            let records = walk.records(row);
            for (at, (member, &parts)) in members.iter().zip(&step.parts).enumerate() {
                piece.rest[at].push(parts.communication as f32);
                piece.parts[at] += parts;
                if member.is_disturbed(records.get(member.place)) {
                    piece.disturbed.push((at, number));
                }
            }
            step.late.iter().for_each(|&(at, late)| piece.late[at] += late);
        }
        piece
    }
}

/// The median of the good repetitions, of all where none is good; ns.
pub(super) fn usual(rest: &[f32], category: &[Category]) -> f32 {
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
