//! Do the repetitions start on a grid, whatever each of them took?
//!
//! Under window synchronisation (Hunold & Carpen-Amarie 2016, 3.1) repetition k starts at S0 + k W. In a loop that only
//! takes about as long each time the deviations add up like a random walk instead: after n repetitions to some 0.2
//! sqrt(n) of one.

use mpitrace_statistics::median;

/// A grid of windows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grid {
    /// W, ns.
    pub(super) width_ns: f64,
    /// When the window of each repetition begins, ns of global time.
    pub(super) begin_ns: Vec<f64>,
    /// The median distance of a start from its window's begin, ns.
    pub(super) deviation_ns: f64,
}

/// Repetitions that are fitted at once: the benchmark's clock and ours are a straight line to each other for so long.
const BLOCK: usize = 400;
/// Fewer do not tell a grid from a loop.
const LEAST: usize = 40;
/// The ranks wait for at least this share of a window.
const IDLE: f64 = 0.1;
/// Starts lie this close to the grid, as a share of the window.
const CLOSE: f64 = 0.01;

impl Grid {
    /// Finds the grid of repetitions `number` that begin at `start_ns` and end at `end_ns`, if they have one.
    pub(super) fn new(number: &[u64], start_ns: &[f64], end_ns: &[f64]) -> Option<Grid> {
        if number.len() < LEAST {
            return None;
        }
        let blocks = number.len().div_ceil(BLOCK);
        let size = number.len().div_ceil(blocks);
        let mut begin_ns = Vec::with_capacity(number.len());
        let mut widths = Vec::new();
        for (number, start) in number.chunks(size).zip(start_ns.chunks(size)) {
            let (width, begin) = fit(number, start)?;
            widths.push(width);
            begin_ns.extend(begin);
        }
        let width_ns = median(&mut widths)?;
        let deviations = start_ns.iter().zip(&begin_ns).map(|(start, begin)| (start - begin).abs());
        let deviation_ns = median(&mut deviations.collect::<Vec<f64>>())?;
        let neighbours = || (1..number.len()).filter(|&at| number[at] == number[at - 1] + 1);
        let mut periods: Vec<f64> = neighbours().map(|at| start_ns[at] - start_ns[at - 1]).collect();
        let usual = median(&mut periods)?;
        let jitter = median(&mut periods.iter().map(|period| (period - usual).abs()).collect::<Vec<f64>>())?;
        let idle = median(&mut neighbours().map(|at| start_ns[at] - end_ns[at - 1]).collect::<Vec<f64>>())?;
        // A random walk comes to 0.2 sqrt(n), independent deviations to 0.7 of what two neighbours differ by.
        let walk = (0.1 * (size as f64).sqrt()).max(1.7) * jitter;
        let is_grid = width_ns > 0.0
            && idle >= IDLE * width_ns
            && deviation_ns <= CLOSE * width_ns
            && (deviation_ns <= walk || deviation_ns == 0.0);
        is_grid.then_some(Grid { width_ns, begin_ns, deviation_ns })
    }
}

/// W as the median slope over half of the block, which a few late starts do not change, and the begin of each window.
fn fit(number: &[u64], start_ns: &[f64]) -> Option<(f64, Vec<f64>)> {
    let half = (number.len() / 2).max(1);
    let slope = |at: usize| (start_ns[at + half] - start_ns[at]) / (number[at + half] - number[at]) as f64;
    let width = median(&mut (0..number.len() - half).map(slope).collect::<Vec<f64>>())?;
    let since = |at: usize| (number[at] - number[0]) as f64 * width;
    let origin = median(&mut (0..number.len()).map(|at| start_ns[at] - since(at)).collect::<Vec<f64>>())?;
    Some((width, (0..number.len()).map(|at| origin + since(at)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    /// Starts and ends of n repetitions that take about 20 us.
    fn series(seed: u64, n: usize, next: impl Fn(&mut Random, usize, f64) -> f64) -> (Vec<u64>, Vec<f64>, Vec<f64>) {
        let mut random = Random::new(seed);
        let (mut start, mut end) = (Vec::new(), Vec::new());
        let mut free = 0.0;
        for k in 0..n {
            let begin = next(&mut random, k, free);
            free = begin + 20_000.0 * (1.0 + 0.1 * random.normal().abs());
            if k % 97 == 50 {
                free += 300_000.0;
            }
            start.push(begin);
            end.push(free);
        }
        ((0..n as u64).collect(), start, end)
    }

    #[test]
    fn windows_are_found_and_loops_are_not_taken_for_them() {
        for seed in 0..100 {
            for n in [60, 300, 1500] {
                // Windows of 100 us, of a clock that runs faster and faster; some repetitions take three of them.
                let window = |random: &mut Random, k: usize, free: f64| {
                    let begin = 1e5 * k as f64 * (1.0 + 1e-9 * k as f64) + 30.0 * random.uniform();
                    begin.max(free)
                };
                let (number, start, end) = series(seed, n, window);
                let grid = Grid::new(&number, &start, &end).unwrap_or_else(|| panic!("seed {seed}, {n}"));
                assert!((grid.width_ns / 1e5 - 1.0).abs() < 1e-3, "{}", grid.width_ns);
                assert!(grid.deviation_ns < 50.0, "{}", grid.deviation_ns);
                // One repetition after the other; and with a pause of 80 us that varies by 1 %.
                let (number, start, end) = series(seed, n, |_, _, free| free + 100.0);
                assert_eq!(Grid::new(&number, &start, &end), None, "seed {seed}, {n}");
                if n >= 300 {
                    let (number, start, end) =
                        series(seed, n, |random, _, free| free + 80_000.0 * (1.0 + 0.01 * random.normal()));
                    assert_eq!(Grid::new(&number, &start, &end), None, "seed {seed}, {n}");
                }
            }
        }
    }
}
