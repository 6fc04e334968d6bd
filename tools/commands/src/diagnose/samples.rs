//! The code that runs in slow repetitions, by the samples of the run.

use mpitrace_analysis::diagnosis::Group;
use mpitrace_show::text;
use mpitrace_trace::calls::samples::{Difference, RunSamples};
use mpitrace_trace::operations::Operation;
use mpitrace_trace::reader::Trace;
use serde::Serialize;

use super::groups::{self, percent};

#[derive(Debug, Serialize)]
pub struct Hot {
    #[serde(skip)]
    group: usize,
    #[serde(rename = "group")]
    name: &'static str,
    peak_ns: Option<f64>,
    samples: usize,
    samples_others: usize,
    frames: Vec<Difference>,
}

pub fn hot(sampled: &RunSamples, trace: &Trace, operation: &Operation, groups: &[Group]) -> Vec<Hot> {
    let found = if groups.is_empty() { Vec::new() } else { sampled.in_repetitions(trace, operation) };
    let of_group = |(number, group): (usize, &Group)| {
        let contrast = sampled.contrast(&found, |row| group.is_member(row));
        let (name, peak_ns) = (group.kind.name(), group.kind.peak_ns());
        let [samples, samples_others] = contrast.samples;
        Hot { group: number, name, peak_ns, samples, samples_others, frames: contrast.differences }
    };
    groups.iter().enumerate().map(of_group).collect()
}

pub fn sentences(hot: &[Hot], groups: &[Group]) -> Vec<String> {
    let found: Vec<String> = hot.iter().filter_map(|hot| hot.sentence(&groups[hot.group])).collect();
    let samples: usize = hot.iter().map(|hot| hot.samples).sum();
    match found.is_empty() && !hot.is_empty() {
        true => vec![format!(
            "the samples show no code that slow repetitions run for longer ({} in them): record more samples",
            text::count(samples as u64, "sample")
        )],
        false => found,
    }
}

impl Hot {
    fn sentence(&self, group: &Group) -> Option<String> {
        let (whom, others) = (groups::group(group), groups::others(group));
        let [own, other] = [self.samples, self.samples_others].map(|count| text::count(count as u64, "sample"));
        let frame = |frame: &Difference| {
            let (share, share_others) = (percent(frame.share), percent(frame.share_others));
            format!("{share} of the processor time is {}, in {others} {share_others}", text::printable(&frame.frame))
        };
        let frames: Vec<String> = self.frames.iter().map(frame).collect();
        (!frames.is_empty()).then(|| format!("in {whom} {} ({own}, {other})", frames.join("; ")))
    }
}
