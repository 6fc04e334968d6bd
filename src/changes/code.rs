//! Computing by function of the program: the samples of a rank between its MPI calls share out its computing time.

use std::collections::BTreeMap;

use mpitrace_analysis::run::Run;
use mpitrace_trace::calls::samples::RunSamples;

/// Fewer samples of a rank say nothing of it.
const LEAST_SAMPLES: usize = 10;
/// The frame between a function of the kernel and the one that called it.
const KERNEL: &str = "[kernel]";

/// Computing in a function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InFunction {
    /// The function.
    pub function: String,
    /// The time of each rank, by the index of its part, ns.
    pub by_part: Vec<f64>,
    /// The square of the standard error that comes of counting samples, ns^2.
    pub variance: f64,
}

impl InFunction {
    /// All ranks together, ns.
    pub fn ns(&self) -> f64 {
        self.by_part.iter().sum()
    }
}

/// The functions in which the ranks computed, by name. Empty if a rank that computed has hardly any samples.
pub(super) fn by_function(run: &Run, samples: &RunSamples, computing_ns: impl Fn(usize) -> f64) -> Vec<InFunction> {
    let trace = &run.trace;
    // By thread of the samples: which of them are in a recorded call.
    let mut in_calls: Vec<Vec<bool>> =
        samples.samples.threads.iter().map(|thread| vec![false; thread.samples.len()]).collect();
    for operation in run.operations.operations.iter().filter(|operation| !operation.key.is_region) {
        let rows = 0..operation.repetition.len();
        samples.in_calls(trace, operation, false, rows).for_each(|(_, thread, sample)| in_calls[thread][sample] = true);
    }
    let mut counts: BTreeMap<String, BTreeMap<usize, usize>> = BTreeMap::new();
    let mut all = vec![0; trace.parts.len()];
    for (number, (index, ticks)) in samples.threads.iter().enumerate() {
        let part = &trace.parts[*index];
        let thread = &samples.samples.threads[number];
        let main = part.threads().get(part.main_thread() as usize);
        if main.is_none_or(|main| main.tid != thread.tid) {
            continue;
        }
        let begun = part.info().first_anchor.tick + part.rank_times().init;
        let ended = part.finalize_enter().unwrap_or(u64::MAX);
        for (sample, &(_, stack)) in thread.samples.iter().enumerate() {
            let frames = || samples.samples.frames_of(stack);
            let is_outside = ticks[sample] < begun || ticks[sample] > ended;
            if in_calls[number][sample] || is_outside || frames().any(is_of_mpi) {
                continue;
            }
            let Some(function) = innermost(frames()) else { continue };
            all[*index] += 1;
            *counts.entry(function).or_default().entry(*index).or_default() += 1;
        }
    }
    let longest = (0..all.len()).map(&computing_ns).fold(0.0, f64::max);
    let is_unknown = |part: usize| all[part] < LEAST_SAMPLES && computing_ns(part) > 0.1 * longest;
    if (0..all.len()).any(is_unknown) {
        return Vec::new();
    }
    let found = counts.into_iter().map(|(function, counts)| {
        let mut found = InFunction { function, by_part: vec![0.0; all.len()], variance: 0.0 };
        for (part, count) in counts {
            let of_one = computing_ns(part) / all[part] as f64;
            found.by_part[part] = of_one * count as f64;
            found.variance += of_one * of_one * count as f64;
        }
        found
    });
    found.collect()
}

/// True of a function of MPI.
fn is_of_mpi(frame: &str) -> bool {
    frame.strip_prefix('P').unwrap_or(frame).starts_with("MPI_")
}

/// The innermost function of which the line is known; if there is none, the innermost one. The innermost frame comes
/// first. `None`: there is no frame of the program.
fn innermost<'f>(frames: impl Iterator<Item = &'f str>) -> Option<String> {
    let frames: Vec<&str> = frames.collect();
    let above = frames.iter().position(|frame| *frame == KERNEL).map_or(0, |kernel| kernel + 1);
    let own = &frames[above..];
    let name = |frame: &str| frame.split(" (").next().unwrap_or(frame).to_owned();
    own.iter().find(|frame| frame.contains(" (")).or(own.first()).map(|frame| name(frame))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_of_the_innermost_function_with_a_line() {
        let of = |frames: &[&str]| innermost(frames.iter().copied());
        assert_eq!(of(&["exp", "smooth (solver.cpp:12)", "main (solver.cpp:80)"]), Some("smooth".into()));
        assert_eq!(of(&["do_page_fault", KERNEL, "fill (a.c:3)", "main (a.c:9)"]), Some("fill".into()));
        assert_eq!(of(&["a+0x12", "b+0x30"]), Some("a+0x12".into()));
        assert_eq!(of(&[KERNEL]), None);
        assert!(is_of_mpi("PMPI_Recv") && is_of_mpi("MPI_Wait (pmpi.c:3)") && !is_of_mpi("my_MPI_Wait"));
    }
}
