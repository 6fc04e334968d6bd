//! In which functions of the program its ranks compute, by samples of their stacks.

use std::collections::{BTreeMap, BTreeSet};

use mpitrace_format::samples::Samples;

use crate::facts::{Kind, PartKey, RunFacts};

/// The shares of the computing of a run by function.
pub type Shares = BTreeMap<String, f64>;

/// Fewer samples outside of MPI do not tell one function from another.
const LEAST_SAMPLES: usize = 100;
/// A function that is a smaller share in all runs is not named.
const NAMED: f64 = 0.05;

/// The shares by the samples outside of MPI: a sample belongs to the innermost function of the program, which a
/// function of a library may have called. `None`: there are too few.
///
/// ```
/// use mpitrace_format::samples::{Samples, Thread};
/// use mpitrace_scaling::shares;
///
/// let frames = ["main (app.c:3)", "sum (app.c:9)", "memcpy (libc.so.6)", "MPI_Bcast (libmpi.so.40)"];
/// let frames = frames.map(str::to_owned).to_vec();
/// // `sum` with and without memcpy in it, and a call of MPI.
/// let stacks = vec![(0, 0), (1, 1), (2, 2), (1, 3)];
/// let stack = |sample: u64| (sample, [2, 3, 4][sample as usize % 3]);
/// let thread = Thread { samples: (0..300).map(stack).collect(), ..Thread::default() };
/// let samples = Samples { frames, stacks, threads: vec![thread], ..Samples::default() };
/// assert_eq!(shares(&samples).expect("samples").into_iter().collect::<Vec<_>>(), [("sum".to_owned(), 1.0)]);
/// ```
pub fn shares(samples: &Samples) -> Option<Shares> {
    let of_stacks: Vec<Option<&str>> =
        (0..=samples.stacks.len() as u32).map(|stack| function(samples, stack)).collect();
    let (mut counts, mut all): (BTreeMap<&str, f64>, usize) = (BTreeMap::new(), 0);
    for (_, stack) in samples.threads.iter().flat_map(|thread| &thread.samples) {
        if let Some(function) = of_stacks.get(*stack as usize).copied().flatten() {
            *counts.entry(function).or_default() += 1.0;
            all += 1;
        }
    }
    let share = |(function, count): (&str, f64)| (function.to_owned(), count / all as f64);
    (all >= LEAST_SAMPLES).then(|| counts.into_iter().map(share).collect())
}

/// The function of the program that a stack is in; `None`: in MPI, or the stack is empty.
fn function(samples: &Samples, stack: u32) -> Option<&str> {
    let frames: Vec<&str> = samples.frames_of(stack).collect();
    if frames.iter().any(|frame| frame.starts_with("MPI_") || frame.starts_with("PMPI_")) {
        return None;
    }
    let is_own = |frame: &&&str| !frame.contains(".so") && !frame.starts_with('[');
    let frame = frames.iter().find(is_own).or(frames.first())?;
    Some(frame.split(" (").next().unwrap_or(frame))
}

/// Divides the computing of runs, all of which have shares, by function.
pub fn divide_computing(runs: &mut [RunFacts], shares: &[Shares]) {
    let large = shares.iter().flatten().filter(|(_, share)| **share >= NAMED).map(|(function, _)| function);
    let large: BTreeSet<&String> = large.collect();
    for (run, shares) in runs.iter_mut().zip(shares) {
        let Some(computing) = run.parts.remove(&PartKey::of_kind(Kind::Computing)) else { continue };
        for (function, share) in shares {
            let function = large.contains(function).then(|| function.clone());
            let key = PartKey { function, ..PartKey::of_kind(Kind::Computing) };
            *run.parts.entry(key).or_default() += share * computing;
        }
    }
}
