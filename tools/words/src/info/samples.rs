//! The line of `info` on samples: how many `mpitrace run` took, or why there are none.

use std::collections::BTreeSet;
use std::path::PathBuf;

use mpitrace_format::samples::Samples;
use mpitrace_show::text;
use mpitrace_trace::reader::Trace;
use serde::Serialize;

/// The samples beside a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SampleFacts {
    /// Samples of all threads.
    pub samples: u64,
    /// Samples that were lost since records came faster than they could be read, at most.
    pub lost: u64,
    /// Samples a second of processor time: the least of any thread.
    pub hz: Option<f64>,
    /// Ranks with samples.
    pub ranks: usize,
    /// Ranks of the trace without any.
    pub without: Vec<u32>,
    /// True: time in the kernel was sampled; `null`: there are no samples.
    pub sees_kernel: Option<bool>,
    /// Why ranks have none; empty: not known, or all have.
    pub note: String,
}

impl SampleFacts {
    /// The samples of a trace; `None`: nothing was to be sampled, or the files beside it cannot be read.
    pub fn new(trace: &Trace, files: &[PathBuf]) -> Option<SampleFacts> {
        let paths = files.iter().map(|file| Samples::beside(file)).filter(|path| path.exists());
        let mut facts = SampleFacts::default();
        let (mut sampled, mut is_asked) = (BTreeSet::new(), false);
        for of_file in paths.filter_map(|path| Samples::read(&path).ok()) {
            if !trace.parts.iter().any(|part| part.info().job == of_file.job) {
                continue;
            }
            is_asked |= !of_file.threads.is_empty() || !of_file.note.is_empty();
            for thread in &of_file.threads {
                facts.samples += thread.samples.len() as u64;
                facts.lost += thread.lost;
                sampled.insert(thread.rank);
                let hz = 1e9 / thread.period_ns.max(1) as f64;
                facts.hz = Some(facts.hz.map_or(hz, |least| least.min(hz)));
                facts.sees_kernel = Some(facts.sees_kernel.is_none_or(|all| all) && thread.sees_kernel);
            }
            facts.note = of_file.note;
        }
        facts.ranks = sampled.len();
        facts.without = trace.parts.iter().map(|part| part.rank()).filter(|rank| !sampled.contains(rank)).collect();
        is_asked.then_some(facts)
    }

    /// In one line.
    pub fn line(&self) -> String {
        let note = if self.note.is_empty() { String::new() } else { format!(": {}", self.note) };
        let Some(hz) = self.hz else { return format!("none{note}") };
        let mut line = format!(
            "{} of {}, {} a second of processor time",
            text::count(self.samples, "sample"),
            text::count(self.ranks as u64, "rank"),
            text::number(hz)
        );
        if self.sees_kernel == Some(false) {
            line.push_str("; those in the kernel are what is missing");
        }
        if self.lost > 0 {
            line.push_str(&format!("; up to {} lost", self.lost));
        }
        match (&self.without[..], self.note.is_empty()) {
            ([], _) => {}
            (ranks, true) => line.push_str(&format!("; none of {} (on other nodes)", text::named_ranks(ranks))),
            (ranks, false) => line.push_str(&format!("; none of {}{note}", text::named_ranks(ranks))),
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_the_rate_and_what_is_missing() {
        let facts =
            SampleFacts { samples: 1200, hz: Some(50.0), ranks: 2, sees_kernel: Some(true), ..Default::default() };
        assert_eq!(facts.line(), "1200 samples of 2 ranks, 50 a second of processor time");
        let lacking = SampleFacts { without: vec![2, 3], lost: 7, sees_kernel: Some(false), ..facts };
        let expected = "1200 samples of 2 ranks, 50 a second of processor time; those in the kernel are what is missing; \
                        up to 7 lost; none of ranks 2-3 (on other nodes)";
        assert_eq!(lacking.line(), expected);
        let none = SampleFacts { note: "Operation not permitted".to_owned(), ..Default::default() };
        assert_eq!(none.line(), "none: Operation not permitted");
    }
}
