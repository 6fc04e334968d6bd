//! The processor time between calls by line of the program.

use std::collections::HashMap;

use mpitrace_analysis::account::Loss;
use mpitrace_trace::calls::samples::RunSamples;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

use crate::frame::Frame;
use crate::late::CodeOfLoss;
use crate::stacks::Stacks;

const NS: f64 = 1e9;

/// A line of the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CodeLine {
    /// The function with its line: `sum (app.c:3)`.
    pub frame: String,
    /// Samples.
    pub samples: u64,
    /// The processor time of all ranks together, s.
    pub seconds: f64,
    /// The time that other ranks waited because of it, s.
    pub caused_s: f64,
}

/// The lines of the program that ran between recorded calls, each the innermost of its stacks; the most time first.
/// `losses` with `code`, by [`crate::code_of_losses`]: what each of them caused. What ran in the MPI library is left
/// out.
pub fn by_line(
    trace: &Trace,
    operations: &Operations,
    samples: &RunSamples,
    losses: &[Loss],
    code: &[Vec<CodeOfLoss>],
) -> Vec<CodeLine> {
    let stacks = Stacks::new(&samples.samples);
    let mut in_calls: Vec<Vec<bool>> =
        samples.samples.threads.iter().map(|thread| vec![false; thread.samples.len()]).collect();
    for of in operations.operations.iter().filter(|of| !of.key.is_region) {
        let found = samples.in_calls(trace, of, false, 0..of.repetition.len());
        found.for_each(|(_, thread, sample)| in_calls[thread][sample] = true);
    }
    let mut lines: HashMap<String, CodeLine> = HashMap::new();
    for (thread, in_calls) in samples.samples.threads.iter().zip(&in_calls) {
        for ((_, stack), _) in thread.samples.iter().zip(in_calls).filter(|(_, is_in_call)| !**is_in_call) {
            let chain = stacks.chain(*stack);
            let Some(last) = chain.calls.last().filter(|_| !chain.in_mpi) else { continue };
            let frame = &samples.samples.frames[last.frame as usize];
            let line = lines.entry(frame.clone()).or_default();
            line.samples += 1;
            line.seconds += thread.period_ns as f64 / NS;
        }
    }
    for (loss, one) in losses.iter().zip(code).flat_map(|(loss, code)| code.iter().map(move |one| (loss, one))) {
        let is_it = |frame: &&String| {
            let Frame { function, file, line, .. } = Frame::parse(frame);
            (function, file, line) == (one.function.as_str(), one.file.as_deref(), one.line)
        };
        let frame = samples.samples.frames.iter().find(is_it).cloned().unwrap_or_default();
        lines.entry(frame).or_default().caused_s += one.share * loss.ns / NS;
    }
    let mut lines: Vec<CodeLine> = lines.into_iter().map(|(frame, line)| CodeLine { frame, ..line }).collect();
    lines.sort_by(|one, other| other.seconds.total_cmp(&one.seconds).then(one.frame.cmp(&other.frame)));
    lines
}
