//! The times that the launches of the replay measured.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use mpitrace_source::Source;
use mpitrace_statistics::median;
use mpitrace_trace::run_time::RunTime;

use super::decide::Measured;

/// Repetitions without which a launch says nothing of an algorithm.
const FEWEST_REPETITIONS: usize = 5;

/// An operation under all algorithms, in all launches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    /// The library's own choice first.
    pub measured: Vec<Measured>,
    /// The names of these algorithms, where they are visible.
    pub names: Vec<Option<String>>,
}

/// By its number: the medians of an algorithm, and its name.
type MediansByAlgorithm = BTreeMap<u32, (Vec<f64>, Option<String>)>;

/// Reads their traces: for each of so many operations of the plan those algorithms that all launches have measured. The
/// run time is that from the last entry to the last exit, since the ranks enter as they do in the program.
///
/// # Errors
/// A trace that cannot be read.
pub fn read(traces: &[PathBuf], operations: usize) -> Result<Vec<Replayed>> {
    let mut found: Vec<MediansByAlgorithm> = vec![MediansByAlgorithm::new(); operations];
    for trace in traces {
        let source = Source::read(std::slice::from_ref(trace), None)?;
        for description in source.operations() {
            let Some((operation, algorithm)) = of_communicator(&description.communicator) else { continue };
            let times = source.run_times(description.operation, RunTime::Last)?;
            // The first call is to find out if the algorithm is refused.
            let mut times = times.run_time_ns.get(1..).unwrap_or_default().to_vec();
            times.retain(|time| time.is_finite() && *time > 0.0);
            if times.len() < FEWEST_REPETITIONS || operation >= operations {
                continue;
            }
            let name = source.algorithms(description.operation).and_then(|all| all.iter().last()?);
            let entry = found[operation].entry(algorithm).or_default();
            entry.0.extend(median(&mut times));
            entry.1 = name.map(|name| name.to_string());
        }
    }
    let replayed = |found: MediansByAlgorithm| {
        let whole = found.into_iter().filter(|(_, (medians, _))| medians.len() == traces.len());
        let each = whole.map(|(algorithm, (medians_ns, name))| (Measured { algorithm, medians_ns }, name));
        let (measured, names): (Vec<Measured>, Vec<Option<String>>) = each.unzip();
        let has_own = measured.first().is_some_and(|first| first.algorithm == 0);
        if has_own { Replayed { measured, names } } else { Replayed::default() }
    };
    Ok(found.into_iter().map(replayed).collect())
}

/// Operation and algorithm, by the name that `replay.c` gives a communicator.
fn of_communicator(name: &str) -> Option<(usize, u32)> {
    let (operation, algorithm) = name.strip_prefix("operation ")?.split_once(" algorithm ")?;
    Some((operation.parse().ok()?, algorithm.parse().ok()?))
}
