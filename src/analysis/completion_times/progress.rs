//! How far a non-blocking operation gets while the program computes, against the interval of its tests [Hoefler2010,
//! 4.2]: a library that progresses by its calls only waits for the next one.

use crate::statistics::median;

/// The repetitions in which the program tested about equally often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// How many.
    pub repetitions: usize,
    /// Medians: the time that the program computed between two calls that could progress the operation, ns; ...
    pub interval_ns: f64,
    /// ... the tests, ...
    pub tests: f64,
    /// ... what starting, tests and wait cost together, ...
    pub overhead_ns: f64,
    /// ... and the wait alone, ns.
    pub wait_ns: f64,
}

/// Fewer repetitions make no row.
const FEWEST: usize = 3;

/// By the interval of the tests, in steps of a factor of two, shortest first. One that is 0 (the program waits at once)
/// has a row of its own. Each column has a value for each repetition; repetitions with one that is not finite are left
/// out.
pub fn by_interval(interval_ns: &[f64], tests: &[f64], overhead_ns: &[f64], wait_ns: &[f64]) -> Vec<Progress> {
    let step = |interval: f64| if interval < 1.0 { -1 } else { interval.log2().floor() as i32 };
    let mut rows: Vec<(i32, usize)> = (0..interval_ns.len())
        .filter(|&row| [interval_ns, tests, overhead_ns, wait_ns].iter().all(|column| column[row].is_finite()))
        .map(|row| (step(interval_ns[row]), row))
        .collect();
    rows.sort_unstable();
    let of_step = |rows: &[(i32, usize)]| {
        let middle = |column: &[f64]| median(&mut rows.iter().map(|&(_, row)| column[row]).collect::<Vec<f64>>());
        (rows.len() >= FEWEST).then_some(())?;
        Some(Progress {
            repetitions: rows.len(),
            interval_ns: middle(interval_ns)?,
            tests: middle(tests)?,
            overhead_ns: middle(overhead_ns)?,
            wait_ns: middle(wait_ns)?,
        })
    };
    rows.chunk_by(|a, b| a.0 == b.0).filter_map(of_step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_grouped_by_their_interval() {
        let interval = [0.0, 100.0, 120.0, 0.0, 3000.0, 0.0, 70.0, f64::NAN, 100.0, 4000.0];
        let tests = [0.0, 7.0, 7.0, 0.0, 1.0, 0.0, 9.0, 7.0, 8.0, 1.0];
        let overhead: Vec<f64> = (0..10).map(f64::from).collect();
        let wait: Vec<f64> = overhead.iter().map(|overhead| overhead / 2.0).collect();
        let found = by_interval(&interval, &tests, &overhead, &wait);
        let at_once = Progress { repetitions: 3, interval_ns: 0.0, tests: 0.0, overhead_ns: 3.0, wait_ns: 1.5 };
        // Two of 3000 and 4000 are too few.
        let often = Progress { repetitions: 4, interval_ns: 100.0, tests: 7.5, overhead_ns: 4.0, wait_ns: 2.0 };
        assert_eq!(found, [at_once, often]);
        assert_eq!(by_interval(&[], &[], &[], &[]), []);
    }
}
