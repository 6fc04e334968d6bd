//! Since when a program is slower: the place in the series of its runs before and after which their times differ most,
//! by the ranks of the times (Pettitt 1979), if that is beyond chance.

use crate::estimators::distributions::normal_tail;
use crate::{median, ranks};
use serde::Serialize;

use super::{LEAST, LEVEL};

/// A program became slower.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slowdown {
    /// When the first of the slower runs began, as the runs say it.
    pub since: i64,
    /// So much longer do the runs take since then, in the median: 0.05 for 5 %.
    pub share: f64,
    /// The runs before and since.
    pub runs: [usize; 2],
    /// The p-value, corrected for the places and the number of programs.
    pub p: f64,
}

/// So many runs on either side.
const SIDE: usize = 5;

/// Fewer runs are not compared.
pub const LEAST_RUNS: usize = 2 * SIDE;

/// The slowdown of one of so many programs, whose runs are given by their beginning and their seconds.
///
/// ```
/// use mpitrace_statistics::jobs::slowdown;
///
/// let seconds = |run: i64| f64::from(if run < 20 { 100 } else { 120 }) + (run % 3) as f64;
/// let runs: Vec<(i64, f64)> = (0..40).map(|run| (run, seconds(run))).collect();
/// let found = slowdown(&runs, 1).expect("the last 20 runs are slower");
/// assert_eq!((found.since, found.runs), (20, [20, 20]));
/// assert!((found.share - 0.2).abs() < 0.01);
/// assert_eq!(slowdown(&runs[..20], 1), None);
/// ```
pub fn slowdown(runs: &[(i64, f64)], programs: usize) -> Option<Slowdown> {
    let mut runs = runs.to_vec();
    runs.sort_by_key(|run| run.0);
    let places = (runs.len() + 1).checked_sub(LEAST_RUNS).filter(|places| *places > 0)?;
    let (ranks, ties) = ranks(&runs.iter().map(|run| run.1).collect::<Vec<_>>());
    let count = runs.len() as f64;
    let mut before: f64 = ranks[..SIDE - 1].iter().sum();
    let mut largest = (f64::NEG_INFINITY, 0);
    for place in SIDE..SIDE + places {
        before += ranks[place - 1];
        let (first, second) = (place as f64, count - place as f64);
        let mean = first * (count + 1.0) / 2.0;
        let variance = first * second / 12.0 * (count + 1.0 - ties / (count * (count - 1.0)));
        // The times before are the smaller ones; half a rank for continuity.
        let z = (mean - before - 0.5) / variance.max(f64::MIN_POSITIVE).sqrt();
        largest = if z > largest.0 { (z, place) } else { largest };
    }
    let (z, place) = largest;
    let p = (normal_tail(z) * places as f64 * programs.max(1) as f64).min(1.0);
    let middle = |runs: &[(i64, f64)]| median(&mut runs.iter().map(|run| run.1).collect::<Vec<_>>());
    let share = middle(&runs[place..])? / middle(&runs[..place])? - 1.0;
    let is_found = p <= LEVEL && share >= LEAST;
    is_found.then(|| Slowdown { since: runs[place].0, share, runs: [place, runs.len() - place], p })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    fn series(random: &mut Random, runs: usize, slower: impl Fn(usize) -> f64) -> Vec<(i64, f64)> {
        (0..runs).map(|run| (run as i64, 100.0 * slower(run) * (0.05 * random.normal()).exp())).collect()
    }

    #[test]
    fn the_run_from_which_on_a_program_is_slower_is_found() {
        let mut random = Random::new(1);
        let mut found = 0;
        for _ in 0..100 {
            let runs = series(&mut random, 60, |run| if run < 40 { 1.0 } else { 1.1 });
            let Some(slowdown) = slowdown(&runs, 20) else { continue };
            found += 1;
            assert!((0.04..0.17).contains(&slowdown.share), "{slowdown:?}");
            assert!((30..50).contains(&slowdown.since), "{slowdown:?}");
            assert_eq!(slowdown.runs, [slowdown.since as usize, 60 - slowdown.since as usize]);
        }
        assert!(found >= 95, "{found} of 100");
    }

    #[test]
    fn without_a_change_none_is_found_more_often_than_the_level_says() {
        let mut random = Random::new(2);
        let found = (0..2000).filter(|run| slowdown(&series(&mut random, 10 + run % 90, |_| 1.0), 1).is_some()).count();
        assert!(found <= 20, "{found} of 2000");
        // Faster is no slowdown, and few runs or equal ones show nothing.
        assert_eq!(slowdown(&series(&mut random, 60, |run| if run < 30 { 1.1 } else { 1.0 }), 1), None);
        assert_eq!(slowdown(&series(&mut random, 9, |run| if run < 4 { 1.0 } else { 2.0 }), 1), None);
        assert_eq!(slowdown(&[(0, 5.0); 30], 1), None);
        assert_eq!(slowdown(&[], 1), None);
    }
}
