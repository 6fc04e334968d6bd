//! Windows of recorded run times, as noise: benches/series/record_windows.sh records them.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Noise, NoiseKind, Process};

/// The share of a file that is left out at its beginning: its own warm-up.
const UNSTEADY: usize = 3;
/// Farther above the median than so many scaled deviations is an outlier; only [`Process::deviation`] asks.
const OUTLIER: f64 = 5.0;

/// The noise of each file of this folder: as many consecutive run times as are asked for, from anywhere behind the
/// first third, in multiples of their median.
pub fn read(folder: &Path) -> Vec<Process> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry of the folder").path());
    let texts: BTreeMap<_, _> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "txt")).map(|path| (stem(&path), path)).collect();
    texts
        .into_iter()
        .map(|(name, path)| {
            let text = std::fs::read_to_string(&path).expect("a file of run times");
            let all: Vec<f64> = text.lines().map(|line| line.trim().parse().expect("a run time in ns")).collect();
            process(name, all[all.len() / UNSTEADY..].to_vec())
        })
        .collect()
}

/// The library and the load of the file that this noise is from.
pub fn group(name: &str) -> &str {
    name.match_indices('-').nth(1).map_or(name, |(at, _)| &name[..at])
}

/// So many windows or more, as many of each file, with a cliff of 10 to 100 % after 76 to 99 % of each.
pub fn with_late_cliffs(noises: &[Process], length: usize, count: usize) -> impl Iterator<Item = Vec<f64>> {
    let trials = count.div_ceil(noises.len()) as u64;
    noises.iter().flat_map(move |noise| (0..trials).map(move |trial| (noise, trial))).map(move |(noise, trial)| {
        let end = (0.76 + 0.23 * fastrand::Rng::with_seed(trial).f64()) * length as f64;
        let height = [1.1, 1.4, 2.0][trial as usize % 3];
        noise.series(length, trial, |index| if (index as f64) < end { height } else { 1.0 }).0
    })
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn process(name: String, steady: Vec<f64>) -> Process {
    let make = move |length: usize, random: &mut fastrand::Rng| {
        let length = length.min(steady.len());
        let from = random.usize(0..=steady.len() - length);
        let window = &steady[from..from + length];
        let middle = median(window.to_vec());
        let scale = 1.4826 * median(window.iter().map(|x| (x - middle).abs()).collect());
        Noise {
            factor: window.iter().map(|x| x / middle).collect(),
            outlier: window.iter().map(|x| x - middle > OUTLIER * scale).collect(),
        }
    };
    // Named for as long as the program runs, as the generators are.
    let name = Box::leak(name.into_boxed_str());
    Process { name, kind: NoiseKind::Outliers, correlation_time: 0.0, tick: 0.0, make: Box::new(make) }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
