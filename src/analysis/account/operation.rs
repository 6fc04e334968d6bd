//! The account of one operation: its repetitions, rank by rank.

use std::ops::Range;

use mpitrace_functions::Function;
use mpitrace_statistics::categories::{Category, NotFinite, Rule};
use mpitrace_statistics::median;
use mpitrace_statistics::parallel;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::{CompleteRows, Operation};
use mpitrace_trace::reader::Trace;
use mpitrace_trace::run_time::RunTime;

use super::estimate::Estimate;
use super::late::Late;
use super::parts::Parts;
use super::walk::Walk;

/// Where the time of an operation's complete repetitions went. A region of the program has none: no ranks.
#[derive(Clone, Debug, Default)]
pub struct OperationAccount {
    /// Complete repetitions. Where they are a sample, the times below are those of all calls that they stand for.
    pub repetitions: usize,
    /// True: collective calls on files, whose time beside waiting is input and output.
    pub is_io: bool,
    /// How far the waiting in all calls is known; `None`: the complete repetitions are no sample.
    pub estimate: Option<Estimate>,
    /// For each rank that takes part: its world rank, and its calls together; by their ranks in the communicator.
    pub ranks: Vec<(u32, Parts)>,
    /// For each of these ranks the calls among them that another thread made than the one that called MPI_Init.
    pub beside: Vec<Parts>,
    /// For each of these ranks the time that the other ranks waited for it.
    pub late: Vec<Late>,
    /// Communication beyond that of the good repetitions, in the first repetition and in the warm-up.
    pub warmup: Excess,
    /// Communication beyond that of the good repetitions, in outliers.
    pub outliers: Excess,
    /// The usual communication of each of the ranks in a repetition, ns.
    pub(crate) usual: Vec<f32>,
    pub(crate) slow: Slow,
}

/// The repetitions that are not good, by their places among the complete ones: a bit each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slow {
    /// So many are the first one and the warm-up.
    pub warmup: usize,
    bits: Vec<u64>,
}

impl Slow {
    fn new(category: &[Category]) -> Slow {
        let is_warmup = |category: &&Category| matches!(category, Category::First | Category::Warmup);
        let bits = |word: &[Category]| {
            (0..).zip(word).fold(0, |bits, (at, category)| bits | u64::from(*category != Category::Good) << at)
        };
        let warmup = category.iter().take_while(is_warmup).count();
        Slow { warmup, bits: category.chunks(64).map(bits).collect() }
    }

    pub fn contains(&self, place: usize) -> bool {
        self.bits.get(place / 64).is_some_and(|bits| bits >> (place % 64) & 1 != 0)
    }
}

/// Time beyond that of the good repetitions, all ranks together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Excess {
    /// ns.
    pub ns: f64,
    /// Repetitions.
    pub repetitions: usize,
}

/// The run times of so many repetitions are looked at together: 45 bytes each.
pub(crate) const MOST_AT_ONCE: usize = 1 << 24;

struct Piece {
    parts: Vec<Parts>,
    beside: Vec<Parts>,
    late: Vec<Late>,
    /// The communication of each rank in some good repetitions; f32: 7 digits are enough to be held against a median.
    usual: Vec<Vec<f32>>,
    /// Repetitions in which the tracer may have delayed a call, by their places among the complete ones.
    disturbed: Vec<u32>,
    /// Waiting and time in the calls for which each repetition of a sample stands.
    shares: Vec<(f64, f64)>,
}

impl OperationAccount {
    /// The account of an operation; categories are found by `rule`.
    pub fn new(trace: &Trace, clock: &Clock, operation: &Operation, rule: Rule) -> OperationAccount {
        if operation.key.is_region {
            return OperationAccount::knowing(trace, clock, operation, &[]);
        }
        let category = categories(trace, clock, operation, &operation.complete(), rule, MOST_AT_ONCE);
        OperationAccount::knowing(trace, clock, operation, &category.unwrap_or_default())
    }

    /// The account where the categories of the complete repetitions, by their local run times, are known.
    pub fn knowing(trace: &Trace, clock: &Clock, operation: &Operation, category: &[Category]) -> OperationAccount {
        let rows = operation.complete();
        let walk = if operation.key.is_region { None } else { Walk::over(trace, clock, operation) };
        let Some(walk) = walk else {
            return OperationAccount { repetitions: rows.len(), ..OperationAccount::default() };
        };
        let members = &walk.members;
        let good = category.iter().filter(|category| **category == Category::Good).count();
        // All where none is good.
        let is_usual = |place: usize| good == 0 || category[place] == Category::Good;
        let apart = walk.apart(if good == 0 { rows.len() } else { good });
        let pieces =
            parallel::map(parallel::pieces(rows.len()), |piece| Piece::new(&walk, &rows, piece, is_usual, apart));
        let mut account = OperationAccount {
            repetitions: rows.len(),
            is_io: Function::named(&operation.key.function).is_some_and(|function| function.is_on_file),
            ranks: members.iter().map(|member| (trace.parts[member.index].rank(), Parts::default())).collect(),
            beside: vec![Parts::default(); members.len()],
            late: vec![Late::default(); members.len()],
            ..OperationAccount::default()
        };
        let mut usual: Vec<Vec<f64>> = vec![Vec::new(); members.len()];
        let (mut disturbed, mut shares) = (Vec::new(), Vec::new());
        for piece in pieces {
            disturbed.extend(piece.disturbed);
            shares.extend(piece.shares);
            for (member, parts) in piece.parts.into_iter().enumerate() {
                account.ranks[member].1 += parts;
                account.beside[member] += piece.beside[member];
                account.late[member] += piece.late[member];
                usual[member].extend(piece.usual[member].iter().map(|&rest| f64::from(rest)));
            }
        }
        let usual: Vec<f32> = usual.iter_mut().map(|values| median(values).unwrap_or(0.0) as f32).collect();
        account.add_excess(&walk, &rows, category, &disturbed, &usual);
        if let Some(sampled) = &operation.sampled {
            let (whole, rest) = (sampled.whole as u64, shares.len() as u64 + operation.incomplete);
            let (waiting, time) = shares.iter().fold((0.0, 0.0), |sums, (part, time)| (sums.0 + part, sums.1 + time));
            let longer_ns: f64 = walk.longer_ns(sampled, trace, clock).sum();
            let share = if time > 0.0 { waiting / time } else { 0.0 };
            account.estimate = Some(Estimate::new(&shares, whole, rest).with_unknown(longer_ns, share));
        }
        (account.usual, account.slow) = (usual, Slow::new(category));
        account
    }

    /// Adds what is beyond the usual in the repetitions that are not good, and what is due to the tracer.
    fn add_excess(
        &mut self,
        walk: &Walk,
        rows: &CompleteRows,
        category: &[Category],
        disturbed: &[u32],
        usual: &[f32],
    ) {
        let mut disturbed = disturbed.iter().copied().peekable();
        let mut step = walk.step();
        for place in 0..rows.len() {
            let is_disturbed = disturbed.next_if_eq(&(place as u32)).is_some();
            let category = category.get(place).copied().unwrap_or(Category::Good);
            if category == Category::Good && !is_disturbed {
                continue;
            }
            step.look(walk, rows.get(place));
            let mut beyond = 0.0;
            for (at, parts) in step.parts.iter().enumerate() {
                let more = f64::from((parts.communication as f32 - usual[at]).max(0.0));
                let more = more * step.weight(walk, rows.get(place), at);
                match is_disturbed && step.is_disturbed(at) {
                    true if walk.members[at].is_beside(step.record(at)) => {
                        self.ranks[at].1.perturb(more);
                        self.beside[at].perturb(more);
                    }
                    true => self.ranks[at].1.perturb(more),
                    false => beyond += more,
                }
            }
            let excess = match category {
                Category::First | Category::Warmup => &mut self.warmup,
                Category::Outlier => &mut self.outliers,
                Category::Good => continue,
            };
            excess.ns += beyond;
            excess.repetitions += 1;
        }
    }

    /// The time in file calls beside waiting of the thread that called MPI_Init, by world rank, ns.
    pub(super) fn io_ns(&self) -> impl Iterator<Item = (u32, f64)> {
        let ranks = self.ranks.iter().zip(&self.beside).filter(|_| self.is_io);
        ranks.map(|(&(rank, parts), beside)| (rank, parts.communication - beside.communication))
    }

    /// All ranks together.
    pub fn sum(&self) -> Parts {
        let mut sum = Parts::default();
        self.ranks.iter().for_each(|&(_, parts)| sum += parts);
        sum
    }
}

impl Piece {
    /// Every `apart`-th of the usual repetitions is looked at.
    fn new(
        walk: &Walk,
        rows: &CompleteRows,
        places: Range<usize>,
        is_usual: impl Fn(usize) -> bool,
        apart: usize,
    ) -> Piece {
        let members = &walk.members;
        let mut piece = Piece {
            parts: vec![Parts::default(); members.len()],
            beside: vec![Parts::default(); members.len()],
            late: vec![Late::default(); members.len()],
            usual: vec![Vec::new(); members.len()],
            disturbed: Vec::new(),
            shares: Vec::new(),
        };
        let mut step = walk.step();
        let mut usual = 0;
        for place in places {
            let row = rows.get(place);
            step.look(walk, row);
            let looked_at = is_usual(place) && {
                usual += 1;
                (usual - 1) % apart == 0
            };
            let (mut is_disturbed, mut share, mut waiting) = (false, (0.0, 0.0), 0.0);
            for (at, &parts) in step.parts.iter().enumerate() {
                if looked_at {
                    piece.usual[at].push(parts.communication as f32);
                }
                let weight = step.weight(walk, row, at);
                waiting += parts.waiting;
                let parts = if weight == 1.0 { parts } else { parts.scaled(weight) };
                share = (share.0 + parts.waiting, share.1 + parts.run_time);
                piece.parts[at] += parts;
                if members[at].is_beside(step.record(at)) {
                    piece.beside[at] += parts;
                }
                is_disturbed |= step.is_disturbed(at);
            }
            if is_disturbed {
                piece.disturbed.push(place as u32);
            }
            if walk.is_sampled(row) {
                piece.shares.push(share);
                // As the waiting of those that waited for it.
                let weight = if waiting > 0.0 { share.0 / waiting } else { 0.0 };
                step.late.iter().for_each(|&(at, late)| piece.late[at] += late.scaled(weight));
            } else {
                step.late.iter().for_each(|&(at, late)| piece.late[at] += late);
            }
        }
        piece
    }
}

/// The categories of the complete repetitions. Those of very many are found stretch by stretch, so that memory is for a
/// stretch; only the first has a warm-up.
pub(super) fn categories(
    trace: &Trace,
    clock: &Clock,
    operation: &Operation,
    rows: &CompleteRows,
    rule: Rule,
    at_once: usize,
) -> Result<Vec<Category>, NotFinite> {
    let mut categories = Vec::with_capacity(rows.len());
    let stretch = rows.len().div_ceil(rows.len().div_ceil(at_once).max(1)).max(1);
    for first in (0..rows.len()).step_by(stretch) {
        let places = first..rows.len().min(first + stretch);
        let numbers: Vec<u64> = places.clone().map(|place| operation.repetition.get(rows.get(place))).collect();
        let run_times = operation.run_times_of(trace, clock, RunTime::Local, rows, places);
        categories.extend(rule.apply(&numbers, &run_times)?.categories.category);
    }
    Ok(categories)
}
