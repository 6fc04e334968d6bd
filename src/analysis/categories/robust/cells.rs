//! A series of any length as some thousand cells: fine at the start, where warm-ups are, coarse later.

use std::ops::Range;

use super::noise::Noise;
use crate::parallel;
use crate::statistics::median;

/// A cell at place p holds at most p / FINE repetitions: the place of a change is known within 1 % before it is
/// refined.
const FINE: usize = 128;
/// A series has at least this many cells, if it has as many repetitions.
const COARSE: usize = 512;
/// Values further from their neighbours' median than this many sigma are brought to it.
const CLIP: f64 = 3.0;
/// Neighbours on each side that a value is held against where its cell is too narrow to have a median of its own.
const BESIDE: usize = 7;
/// From here on a cell has a median of its own.
const WIDE: usize = 16;

/// From here on a series is shared out among the processors,
const LONG: usize = 1 << 16;
/// so many cells at a time.
const CELLS_AT_ONCE: usize = 16;

/// Sums over the cells, so that the cost of any segment takes one step.
#[derive(Debug)]
pub struct Cells {
    /// Where each begins, and the end of the last.
    pub edges: Vec<usize>,
    /// Of the cells before: the sum of the repetitions' cleaned values, and of their cells' weighted squared means.
    sums: Vec<(f64, f64)>,
}

impl Cells {
    /// Divides a series.
    pub fn of(y: &[f64], noise: Noise) -> Cells {
        let mut edges = vec![0];
        let mut place = 0;
        while place < y.len() {
            place += (place / FINE).min(y.len() / COARSE).max(1).min(y.len() - place);
            edges.push(place);
        }
        let cells: Vec<Range<usize>> = edges.windows(2).map(|pair| pair[0]..pair[1]).collect();
        // A short series is not worth a thread.
        let at_once = if y.len() < LONG { cells.len() } else { CELLS_AT_ONCE };
        let means = parallel::map(cells.chunks(at_once.max(1)).collect(), |cells: &[Range<usize>]| {
            let mut scratch = Vec::new();
            let of_cell = |cell: &Range<usize>| mean(y, cell.clone(), CLIP * noise.sigma, &mut scratch);
            cells.iter().map(of_cell).collect::<Vec<f64>>()
        });
        // Sums about a value among them lose no digits.
        let origin = y.first().copied().unwrap_or(0.0);
        let (mut total, mut squares) = (0.0, 0.0);
        let mut sums = vec![(0.0, 0.0)];
        for (cell, mean) in cells.iter().zip(means.iter().flatten()) {
            let (width, mean) = (cell.len() as f64, mean - origin);
            total += width * mean;
            squares += width * mean * mean;
            sums.push((total, squares));
        }
        Cells { edges, sums }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.edges.len() - 1
    }

    /// The repetitions in these cells.
    pub fn weight(&self, cells: Range<usize>) -> f64 {
        (self.edges[cells.end] - self.edges[cells.start]) as f64
    }

    /// The repetitions before this cell, the sum of their cleaned values and that of their cells' weighted squared
    /// means.
    pub fn before(&self, cell: usize) -> (f64, f64, f64) {
        let (sum, squares) = self.sums[cell];
        (self.edges[cell] as f64, sum, squares)
    }

    /// The mean of these cells, outliers brought in; means differ as the series' do, but for an origin of their own.
    pub fn mean(&self, cells: Range<usize>) -> f64 {
        (self.sums[cells.end].0 - self.sums[cells.start].0) / self.weight(cells)
    }

    /// The weighted squared distances of these cells from their mean.
    pub fn cost(&self, cells: Range<usize>) -> f64 {
        let (from, to) = (self.sums[cells.start], self.sums[cells.end]);
        let sum = to.0 - from.0;
        to.1 - from.1 - sum * sum / self.weight(cells)
    }
}

fn mean(y: &[f64], range: Range<usize>, clip: f64, scratch: &mut Vec<f64>) -> f64 {
    let width = range.len() as f64;
    if range.len() < WIDE {
        return range.map(|i| cleaned(y, i, clip)).sum::<f64>() / width;
    }
    scratch.clear();
    scratch.extend_from_slice(&y[range]);
    let middle = median(scratch).unwrap_or(0.0);
    scratch.iter().map(|value| value.clamp(middle - clip, middle + clip)).sum::<f64>() / width
}

/// A value, no further from the median of itself and its neighbours than `clip`.
fn cleaned(y: &[f64], i: usize, clip: f64) -> f64 {
    let count = (2 * BESIDE + 1).min(y.len());
    let from = i.saturating_sub(BESIDE).min(y.len() - count);
    let mut window = [0.0; 2 * BESIDE + 1];
    window[..count].copy_from_slice(&y[from..from + count]);
    let middle = median(&mut window[..count]).unwrap_or(y[i]);
    y[i].clamp(middle - clip, middle + clip)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISE: Noise = Noise { sigma: 1.0, inflation: 1.0 };

    #[test]
    fn the_cells_hold_each_repetition_once_and_grow_with_their_place() {
        for length in [0, 1, 5, 1000, 100_000] {
            let cells = Cells::of(&vec![1.0; length], NOISE);
            assert_eq!((cells.edges[0], *cells.edges.last().unwrap()), (0, length));
            let wide = |pair: &[usize]| pair[1] - pair[0] <= (pair[0] / FINE).max(1);
            assert!(cells.edges.windows(2).all(wide));
        }
        assert!(Cells::of(&vec![1.0; 1_000_000], NOISE).len() < 2000);
    }

    #[test]
    fn the_cost_is_the_squared_distance_from_the_mean() {
        let y: Vec<f64> = (0..40).map(|i| 1e6 + f64::from(i % 4)).collect();
        let cells = Cells::of(&y, Noise { sigma: 10.0, inflation: 1.0 });
        assert!((cells.cost(0..40) - 40.0 * 1.25).abs() < 1e-6);
        assert_eq!(cells.cost(3..4), 0.0);
    }

    #[test]
    fn an_outlier_counts_as_three_sigma_in_cells_of_any_width() {
        let mut y = vec![0.0; 20_000];
        y[50] = 1e6;
        y[19_900] = 1e6;
        let cells = Cells::of(&y, NOISE);
        assert_eq!(cells.mean(50..51), 3.0);
        let all = cells.len();
        assert!((cells.mean(0..all) - 6.0 / 20_000.0).abs() < 1e-9);
    }
}
