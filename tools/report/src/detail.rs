//! How finely an operation is shown: the page of one operation stays below 2 MB however long the run, and that of many
//! below 10 MB.

/// Operations that get a fingerprint; of more, those that took longest.
pub const SHOWN: usize = 100;

/// Bytes that the points of all operations together may take in a page.
const BYTES: usize = 1_100_000;
/// However many operations there are, of each so many points are drawn.
const FEWEST: usize = 200;
/// However few there are: no more can be distinguished in a plot.
const MOST: usize = 4000;
/// So many operations are shown in full detail: some 100 kB each beside their points.
const FULL: f64 = 12.0;

/// Bytes of a point in two plots by each of three definitions of the run time.
const PLACED: usize = 22 * 2 * 3;

/// The size of what a page shows of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detail {
    /// Repetitions that are drawn as points at most.
    pub points: usize,
    /// Bins of a histogram at most.
    pub bins: usize,
    /// Steps of a distribution function at most.
    pub steps: usize,
    /// Rows and columns of a heat map.
    pub cells: (usize, usize),
    /// Numbers that only JSON has, too.
    pub every_number: bool,
    /// What only pictures show, too: the metrics of the thesis, and each rank as a dot.
    pub pictures: bool,
}

impl Detail {
    /// For each of so many operations, in a trace with so many counters. A point takes some 40 bytes as values, and 22
    /// in each of its plots, which are two by each of three definitions of the run time; a counter adds 24 bytes of
    /// values and as many plots.
    pub fn new(operations: usize, counters: usize, every_number: bool) -> Detail {
        let share = (FULL / operations.max(1) as f64).min(1.0);
        let of = |full: usize, least: usize| ((full as f64 * share) as usize).max(least);
        Detail {
            points: (BYTES / operations.max(1) / (PLACED + 40 + (PLACED + 24) * counters)).clamp(FEWEST, MOST),
            bins: of(120, 30),
            steps: of(240, 60),
            // Half of the saving from either side.
            cells: ((64.0 * share.sqrt()) as usize, (240.0 * share.sqrt()) as usize),
            every_number,
            pictures: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_operations_are_shown_in_full_and_many_within_the_same_room() {
        let one = Detail::new(1, 0, true);
        assert_eq!((one.points, one.bins, one.cells), (MOST, 120, (64, 240)));
        let many = Detail::new(SHOWN, 8, true);
        assert!(many.points == FEWEST, "{many:?}");
        assert!(many.cells.0 * many.cells.1 * SHOWN <= 64 * 240 * 12, "{many:?}");
    }
}
