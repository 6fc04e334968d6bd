//! Where exactly the level changes.

use std::ops::Range;

use super::{segments_of, trellis};
use crate::estimators::median_of;

/// The highest cost of a repetition, in squared sigma: one outlier moves no change.
const LARGEST_COST: f64 = 9.0;

/// The level of each segment: its median.
pub(super) fn levels(y: &[f64], changes: &[usize]) -> Vec<f64> {
    segments_of(changes, y.len()).map(|rows| median_of(&y[rows]).unwrap_or(f64::NAN)).collect()
}

/// Moves each change to where it fits the repetitions around it best, given the levels on both sides: the place of
/// maximum likelihood, but for outliers. None moves past another one, nor further than [`reach`]. `width`: of the
/// blocks in which it was found.
pub(super) fn refine(y: &[f64], changes: &mut [usize], sigma: f64, width: usize) {
    if changes.is_empty() {
        return;
    }
    let levels = levels(y, changes);
    for index in 0..changes.len() {
        let place = changes[index];
        let from = index.checked_sub(1).map_or(0, |before| changes[before]);
        let to = changes.get(index + 1).copied().unwrap_or(y.len());
        let range = (from + 1).max(place.saturating_sub(reach(place, width)))..to.min(place + reach(place, width) + 1);
        changes[index] = best(y, range, levels[index], levels[index + 1], sigma);
    }
}

/// The place near `at`, by a few blocks of this width, from which on values are as those behind rather than before it.
/// `least`: the smallest standard deviation that can be known.
pub(super) fn near(y: &[f64], at: usize, width: usize, least: f64) -> usize {
    let range = (at + 1).saturating_sub(2 * width).max(1)..(at + 2 * width).min(y.len());
    let [before, after] = levels(&y[range.start - 1..range.end], &[at + 1 - range.start])[..] else { return at };
    let sigma = trellis::deviation(&y[range.clone()], least);
    best(y, range, before, after, sigma)
}

/// How far from a change that was found its place may lie: several blocks.
fn reach(place: usize, width: usize) -> usize {
    2 * width + (2 + place / 16).min(16)
}

/// The place in this range at which values fit the level before it and the one after it best.
pub(super) fn best(y: &[f64], range: Range<usize>, before: f64, after: f64, sigma: f64) -> usize {
    let cost = |value: f64, level: f64| ((value - level) / sigma).powi(2).min(LARGEST_COST);
    let (mut place, mut least, mut sum) = (range.start, 0.0, 0.0);
    let last = range.end.saturating_sub(1).max(range.start);
    for (index, &value) in y[range.start..last].iter().enumerate() {
        sum += cost(value, before) - cost(value, after);
        if sum < least {
            (place, least) = (range.start + index + 1, sum);
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_moves_to_its_place_and_an_outlier_does_not_hold_it() {
        let mut y = [vec![2.0; 60], vec![1.0; 140]].concat();
        y[63] = 9.0;
        y[58] = 1.1;
        for start in [45, 60, 75] {
            let mut changes = [start];
            refine(&y, &mut changes, 0.1, 8);
            assert_eq!(changes, [60]);
        }
        let mut changes = [110];
        refine(&y, &mut changes, 0.1, 8);
        assert_eq!(changes, [110 - reach(110, 8)]);
    }

    #[test]
    fn levels_are_medians() {
        assert_eq!(levels(&[5.0, 1.0, 3.0, 7.0, 9.0], &[3]), [3.0, 8.0]);
        assert_eq!(levels(&[5.0], &[]), [5.0]);
    }
}
