//! How many calls those stand for that a sample has kept: whole repetitions, the same ones on all ranks.
//!
//! A rank knows how long all calls of an operation took together. The calls of a repetition that is kept stand for as
//! many as their time goes into that: an estimate by ratio, exact for the run time, and near for what goes with it.
//!
//! ```
//! # use mpitrace_testing::synthetic::{self, SyntheticRank};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("app.mpitrace");
//! use mpitrace_trace::{operations::Operations, reader::Trace};
//!
//! let mut rank = SyntheticRank::new(0, 1);
//! let barrier = rank.operation("MPI_Barrier", 0, 0);
//! // Of 256 calls of 2 us each about every fourth is kept: a sample of level 2.
//! (0..256).for_each(|call| rank.sampled_call(barrier, 10_000 * (call + 1), 10_000 * (call + 1) + 2000, 2));
//! synthetic::write(&path, &[rank])?;
//!
//! let trace = Trace::open(&[path])?;
//! assert!(trace.is_sample() && trace.parts[0].is_sample());
//! let operations = Operations::new(&trace);
//! let sampled = operations.operations[0].sampled.as_ref().expect("a sample");
//! let rows = 0..operations.operations[0].repetition.len();
//! let stand_for: f64 = rows.map(|row| sampled.weight(row, 0, barrier)).sum();
//! assert!((stand_for - 256.0).abs() < 1.0, "{stand_for} calls");
//! assert_eq!(sampled.longer(0, barrier), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::Arc;

use mpitrace_format::layout::{OPERATION_MASK, OperationEntry, SHARED_HISTOGRAM, bucket_of, keeps, middle_of};

use super::Operation;
use crate::reader::{Part, Trace};

/// An operation of a trace that holds a sample.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// So many first rows are repetitions that follow each other from the first on: each counts once.
    pub whole: usize,
    /// By part and operation of it: how many calls one behind them stands for.
    weights: Arc<Vec<Vec<f64>>>,
    /// For each part and operation the ticks in calls that took longer than any behind them that is kept.
    longer: Arc<Vec<Vec<f64>>>,
}

impl Sampled {
    /// How many calls a record of this operation of a part stands for, in this row.
    pub fn weight(&self, row: usize, part: usize, operation: u32) -> f64 {
        if row < self.whole { 1.0 } else { self.weights[part][(operation & OPERATION_MASK) as usize] }
    }

    /// The ticks of a rank in calls of this operation of its part that took longer than any that stands for them.
    pub fn longer(&self, part: usize, operation: u32) -> u64 {
        self.longer[part][(operation & OPERATION_MASK) as usize] as u64
    }
}

impl Trace {
    /// True if some rank holds a sample of its calls.
    pub fn is_sample(&self) -> bool {
        self.parts.iter().any(Part::is_sample)
    }
}

impl Part {
    /// True if the rank holds a sample of its calls, from the first on or from some time on.
    pub fn is_sample(&self) -> bool {
        self.info().keeps == keeps::SAMPLE
    }
}

/// Weighs the repetitions of the operations of a trace that holds a sample: for each part the ticks in calls for which
/// none stands.
pub(super) fn weigh(trace: &Trace, operations: &mut [Operation]) -> Vec<f64> {
    if !trace.is_sample() {
        return Vec::new();
    }
    let mut rest: Vec<Vec<f64>> = trace.parts.iter().map(ticks).collect();
    let mut kept: Vec<Vec<f64>> = rest.iter().map(|all| vec![0.0; all.len()]).collect();
    let mut longest: Vec<Vec<u64>> = rest.iter().map(|all| vec![0; all.len()]).collect();
    let whole: Vec<usize> = operations.iter().map(whole).collect();
    for (operation, whole) in operations.iter().zip(&whole) {
        for row in operation.complete_rows() {
            for (&index, record) in operation.parts.iter().zip(operation.records(row).iter()) {
                let part = &trace.parts[index];
                let number = (part.operation_of(record as usize) & OPERATION_MASK) as usize;
                let (enter, exit) = part.times_of(record as usize);
                let ticks = exit.saturating_sub(enter);
                match row < *whole {
                    true => rest[index][number] -= ticks as f64,
                    false => {
                        kept[index][number] += ticks as f64;
                        longest[index][number] = longest[index][number].max(ticks);
                    }
                }
            }
        }
    }
    let weight = |(rest, kept): (&f64, &f64)| if *kept > 0.0 { (rest / kept).max(1.0) } else { 1.0 };
    let of_part = |(rest, kept): (&Vec<f64>, &Vec<f64>)| rest.iter().zip(kept).map(weight).collect();
    let weights: Arc<Vec<Vec<f64>>> = Arc::new(rest.iter().zip(&kept).map(of_part).collect());
    let longer = Arc::new(trace.parts.iter().zip(&longest).map(|(part, longest)| longer(part, longest)).collect());
    for (operation, whole) in operations.iter_mut().zip(whole) {
        operation.sampled = Some(Sampled { whole, weights: weights.clone(), longer: Arc::clone(&longer) });
    }
    let unseen = |(rest, kept): (&f64, &f64)| if *kept > 0.0 { 0.0 } else { rest.max(0.0) };
    rest.iter().zip(&kept).map(|(rest, kept)| rest.iter().zip(kept).map(unseen).sum()).collect()
}

/// For each operation of a part the ticks of its calls that are not kept and took longer than this, where it has a
/// histogram of its own.
fn longer(part: &Part, longest: &[u64]) -> Vec<f64> {
    let of = |(entry, &longest): (&OperationEntry, &u64)| {
        let all = part.histograms().iter().filter(|found| found.histogram == entry.histogram);
        let beyond = all.filter(|found| found.bucket as usize > bucket_of(longest));
        let is_separate = entry.histogram > SHARED_HISTOGRAM;
        beyond.map(|found| found.calls as f64 * middle_of(found.bucket as usize)).filter(|_| is_separate).sum()
    };
    part.operations().iter().zip(longest).map(of).collect()
}

/// How many first rows are complete and follow each other from the first repetition on.
fn whole(operation: &Operation) -> usize {
    let rows = 0..operation.repetition.len();
    rows.take_while(|&row| operation.repetition.get(row) == row as u64 && operation.is_complete(row)).count()
}

/// The ticks of all calls of each operation of a part, but for regions, which are no calls.
fn ticks(part: &Part) -> Vec<f64> {
    let mut ticks: Vec<f64> = part.operations().iter().map(|entry| entry.ticks as f64).collect();
    let operations = part.blocks().flat_map(|block| block.operation());
    for (operation, (enter, exit)) in operations.zip(part.all_times()).filter(|(_, (_, exit))| *exit != 0) {
        ticks[(operation & OPERATION_MASK) as usize] += exit.saturating_sub(enter) as f64;
    }
    let calls = part.operations().iter().zip(ticks);
    calls.map(|(entry, ticks)| if entry.is_region() { 0.0 } else { ticks }).collect()
}
