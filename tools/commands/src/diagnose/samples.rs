//! The code that runs in slow repetitions, by the samples of the run.

use mpitrace_analysis::diagnosis::Group;
use mpitrace_job::observer::sampling;
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

/// So many samples in slow repetitions are enough to tell their code from others'.
const ENOUGH: usize = 20;

/// Samples a second of processor time: the least of any thread. `None`: there are no samples.
pub fn rate(sampled: &RunSamples) -> Option<f64> {
    let rates = sampled.samples.threads.iter().map(|thread| 1e9 / thread.period_ns.max(1) as f64);
    rates.min_by(f64::total_cmp)
}

/// `hz`: samples a second.
pub fn sentences(hot: &[Hot], groups: &[Group], hz: Option<f64>) -> Vec<String> {
    let found: Vec<String> = hot.iter().filter_map(|hot| hot.sentence(groups.get(hot.group)?)).collect();
    let samples: usize = hot.iter().map(|hot| hot.samples).sum();
    let (Some(hz), true) = (hz, found.is_empty() && !hot.is_empty()) else { return found };
    let known = format!(
        "the samples show no code that slow repetitions run for longer ({} in them)",
        text::count(samples as u64, "sample")
    );
    vec![match more(samples, hz) {
        Some(more) => format!("{known}: `mpitrace run --sample {more}` takes enough"),
        None => known,
    }]
}

/// The rate at which there are enough samples in slow repetitions, of which there were so many at this rate: a multiple
/// of
/// 100. `None`: there are enough, or no rate is high enough.
fn more(samples: usize, hz: f64) -> Option<u32> {
    // Of none there may be nearly one.
    let needed = (hz * ENOUGH as f64 / samples.max(1) as f64 / 100.0).ceil() * 100.0;
    (samples < ENOUGH && sampling::BOUNDS.contains(&needed)).then_some(needed as u32)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_samples_are_asked_for_only_where_they_help() {
        assert_eq!(more(4, 50.0), Some(300));
        assert_eq!(more(0, 50.0), Some(1000));
        assert_eq!(more(20, 50.0), None, "these are enough");
        assert_eq!(more(0, 5000.0), None, "none is high enough");
        let hot =
            |samples| Hot { group: 0, name: "warmup", peak_ns: None, samples, samples_others: 9, frames: Vec::new() };
        let known = "the samples show no code that slow repetitions run for longer";
        assert_eq!(
            sentences(&[hot(4)], &[], Some(50.0)),
            [format!("{known} (4 samples in them): `mpitrace run --sample 300` takes enough")]
        );
        assert_eq!(sentences(&[hot(40)], &[], Some(50.0)), [format!("{known} (40 samples in them)")]);
        assert!(sentences(&[], &[], Some(50.0)).is_empty());
    }
}
