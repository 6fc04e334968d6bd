//! The code of a finding: which function of the program calls MPI, or works, in the times that it is of.

use std::collections::HashMap;

use mpitrace_analysis::account::Before;
use mpitrace_analysis::findings::Finding;
use mpitrace_trace::calls::samples::RunSamples;
use mpitrace_trace::reader::Trace;
use serde::Serialize;

use crate::frame::Frame;
use crate::stacks::{Chain, Stacks};
use crate::windows::{Of, Windows};

/// A function is named with so many samples, ...
const FEWEST: usize = 5;
/// ... and with this share of the time.
const MOST: f64 = 0.5;

/// A function of the program in which most of a finding lies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CodeOfFinding {
    /// The function.
    pub function: String,
    /// Its source file, or its library; `null`: not known.
    pub file: Option<String>,
    /// The line with most of the time; `null`: the program has no debug data.
    pub line: Option<u32>,
    /// The share of the sampled time, 0 to 1.
    pub share: f64,
}

/// The samples of a run, by which the code of several findings is looked for.
#[derive(Debug)]
pub struct Places<'s> {
    samples: &'s RunSamples,
    stacks: Stacks,
    windows: Windows,
}

impl<'s> Places<'s> {
    /// The samples of the processor time of a trace.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("app.mpitrace");
    /// # mpitrace_testing::synthetic::write_example(&path)?;
    /// use mpitrace_analysis::run::{Need, Run};
    /// use mpitrace_code::Places;
    /// use mpitrace_trace::{calls::samples::RunSamples, reader::Trace};
    ///
    /// let run = Run::new(Trace::open(&[path])?, Need::Account, |_, _, _| Vec::new());
    /// let samples = RunSamples::default();
    /// let places = Places::new(&run.trace, &samples);
    /// assert!(run.findings().iter().all(|finding| places.code_of(finding).is_none() && places.fits(finding)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(trace: &Trace, samples: &'s RunSamples) -> Places<'s> {
        let (stacks, windows) = (Stacks::new(&samples.samples), Windows::new(trace, samples, Of::Thread));
        Places { samples, stacks, windows }
    }

    /// The function in which most of a finding lies: the one that calls MPI there, or that works. `None`: the samples
    /// show none.
    pub fn code_of(&self, finding: &Finding) -> Option<CodeOfFinding> {
        let (_, frame, share) = self.largest(finding)?;
        let Frame { function, file, line, .. } = Frame::parse(&self.samples.samples.frames[frame as usize]);
        Some(CodeOfFinding { function: function.to_owned(), file: file.map(str::to_owned), line, share })
    }

    /// False: between the calls of a finding the program mostly runs code outside of the function that makes these.
    pub fn fits(&self, finding: &Finding) -> bool {
        let Some((function, ..)) = self.largest(finding) else { return true };
        let between = self.chains(&finding.between).filter(|(chain, _)| !chain.in_mpi && !chain.calls.is_empty());
        let (mut all, mut inside) = (0, 0);
        for (chain, _) in between {
            all += 1;
            inside += usize::from(chain.calls.iter().any(|call| call.function == function));
        }
        all < FEWEST || inside as f64 >= MOST * all as f64
    }

    fn chains<'a>(&'a self, times: &'a [Before]) -> impl Iterator<Item = (&'a Chain, f64)> {
        let taken = times.iter().flat_map(|&before| self.windows.within(before));
        taken.map(|taken| (self.stacks.chain(taken.stack), taken.ns))
    }

    /// The function, its frame with most of the time, and its share.
    fn largest(&self, finding: &Finding) -> Option<(usize, u32, f64)> {
        let is_in_mpi = finding.found.is_in_mpi();
        let (mut of_function, mut of_frame) = (HashMap::new(), HashMap::new());
        let (mut all, mut count) = (0.0, 0);
        for (chain, ns) in self.chains(&finding.at).filter(|(chain, _)| chain.in_mpi == is_in_mpi) {
            let Some(last) = chain.calls.last() else { continue };
            all += ns;
            count += 1;
            *of_function.entry(last.function).or_insert(0.0) += ns;
            *of_frame.entry((last.function, last.frame)).or_insert(0.0) += ns;
        }
        let largest = |one: &(usize, f64), other: &(usize, f64)| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0));
        let (function, ns) = of_function.into_iter().max_by(largest)?;
        let frames = of_frame.into_iter().filter(|((of, _), _)| *of == function).map(|((_, frame), ns)| (frame, ns));
        let (frame, _) = frames.max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0)))?;
        (count >= FEWEST && ns >= MOST * all).then_some((function, frame, ns / all))
    }
}
