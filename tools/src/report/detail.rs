//! How finely an operation is shown: the page of a run stays below 10 MB however long the run, and however many its
//! operations.

/// Operations that get a fingerprint; of more, those that took longest.
pub const SHOWN: usize = 100;

/// Bytes of JSON that the points of all operations together may take.
const BYTES: usize = 4_500_000;
/// However many operations there are, of each so many points are drawn.
const FEWEST: usize = 300;
/// However few there are: what a browser draws at once.
const MOST: usize = 20_000;
/// So many operations are shown in full detail: some 240 kB each beside their points.
const FULL: f64 = 12.0;

/// What is kept of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detail {
    /// Points of the plots.
    pub points: usize,
    /// Bins of a histogram, four of which are drawn as one at first.
    pub bins: usize,
    /// Steps of a distribution function.
    pub steps: usize,
    /// Repetitions of the metrics.
    pub metrics: usize,
    /// Rows and columns of a heat map.
    pub cells: (usize, usize),
}

impl Detail {
    /// For each of so many operations, in a trace with so many counters. A point takes some 40 bytes of JSON, and three
    /// values of a counter some 20.
    pub fn of(operations: usize, counters: usize) -> Detail {
        let share = (FULL / operations.max(1) as f64).min(1.0);
        let of = |full: usize, least: usize| ((full as f64 * share) as usize).max(least);
        Detail {
            points: (BYTES / operations.max(1) / (40 + 20 * counters)).clamp(FEWEST, MOST),
            bins: of(480, 60).next_multiple_of(4),
            steps: of(240, 60),
            metrics: of(240, 60),
            // Half of the saving from either side.
            cells: ((64.0 * share.sqrt()) as usize, (240.0 * share.sqrt()) as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_operations_are_shown_in_full_and_many_within_the_same_room() {
        let one = Detail::of(1, 0);
        assert_eq!((one.points, one.bins, one.cells), (MOST, 480, (64, 240)));
        let many = Detail::of(SHOWN, 8);
        assert!(many.points >= FEWEST && many.points * SHOWN * (40 + 20 * 8) <= 6_000_000, "{many:?}");
        assert!(many.cells.0 * many.cells.1 * SHOWN <= 64 * 240 * 12, "{many:?}");
    }
}
