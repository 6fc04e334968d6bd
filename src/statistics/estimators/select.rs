//! Order statistics of large columns, which are left as they are.

use super::sort::{key, of_key};
use crate::parallel;

/// So many values of a column say between which two of its values an order statistic lies.
const LOOKED_AT: usize = 1 << 12;
/// How far from its place among these the two are taken: a fraction found by chance is within six standard deviations
/// of the true one, of 0.5 / sqrt(4096) at most.
const APART: usize = 6 * (LOOKED_AT / 128);
/// Values that stay in the processor's cache.
const CACHED: usize = 1 << 10;

/// The median: the middle value, or the mean of the two middle ones. `None` for no values.
///
/// ```
/// use mpitrace_statistics::median_of;
///
/// assert_eq!(median_of(&[3.0, 1.0, 2.0]), Some(2.0));
/// assert_eq!(median_of(&[]), None);
/// ```
pub fn median_of(values: &[f64]) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let [lower, upper] = order_statistics(values, [last / 2, values.len() / 2]);
    Some(if values.len().is_multiple_of(2) { lower + (upper - lower) / 2.0 } else { upper })
}

/// The values that have these places, ascending and counted from 0, in the order of [`f64::total_cmp`].
///
/// Two values between which they lie are taken from a few of the column; then one pass counts those below and keeps
/// those between the two, a tenth or so. Where the few mislead all values are kept.
///
/// # Panics
/// There must be so many values.
///
/// ```
/// use mpitrace_statistics::order_statistics;
///
/// assert_eq!(order_statistics(&[30.0, 10.0, 20.0], [0, 2]), [10.0, 30.0]);
/// ```
pub fn order_statistics<const N: usize>(values: &[f64], places: [usize; N]) -> [f64; N] {
    let [low, high] = [places.first(), places.last()].map(|place| place.copied().unwrap_or(0));
    let step = values.len() / LOOKED_AT;
    if values.len() >= parallel::LEAST {
        let mut some: Vec<i64> = values.iter().step_by(step).map(|&value| key(value)).collect();
        some.sort_unstable();
        let from = (low / step).saturating_sub(APART);
        let to = (high / step + 1 + APART).min(some.len() - 1);
        // The ends are the limits of all values, so that none lies outside.
        let low = if from == 0 { i64::MIN } else { some[from] };
        let high = if to == some.len() - 1 { i64::MAX } else { some[to] };
        let found = Between::new(values, low, high);
        if let Some(found) = found.order_statistics(places, low, high) {
            return found;
        }
    }
    let mut all: Vec<i64> = values.iter().map(|&value| key(value)).collect();
    places.map(|place| of_key(*all.select_nth_unstable(place).1))
}

/// Values by where they lie: below two limits, at each of them, and between them.
#[derive(Default)]
struct Between {
    below: usize,
    at_low: usize,
    between: Vec<i64>,
    at_high: usize,
}

impl Between {
    fn new(values: &[f64], low: i64, high: i64) -> Between {
        let of_piece = move |values: &[f64]| {
            // Counted in registers, and kept without a branch that cannot be predicted.
            let (mut below, mut at_low, mut between, mut at_high) = (0, 0, Vec::new(), 0);
            let mut kept = [0; CACHED];
            for part in values.chunks(CACHED) {
                let mut count = 0;
                for &value in part {
                    let key = key(value);
                    kept[count] = key;
                    count += usize::from((key > low) & (key < high));
                    below += usize::from(key < low);
                    at_low += usize::from(key == low);
                    at_high += usize::from(key == high);
                }
                between.extend_from_slice(&kept[..count]);
            }
            Between { below, at_low, between, at_high }
        };
        let mut all = Between::default();
        for piece in parallel::map(values.chunks(parallel::share(values.len())).collect(), of_piece) {
            all.below += piece.below;
            all.at_low += piece.at_low;
            all.at_high += piece.at_high;
            all.between.extend(piece.between);
        }
        if low == high {
            all.at_high = 0;
        }
        all
    }

    /// `None`: one of them lies outside the limits.
    fn order_statistics<const N: usize>(mut self, places: [usize; N], low: i64, high: i64) -> Option<[f64; N]> {
        let at_low = self.below + self.at_low;
        let at_high = at_low + self.between.len();
        let mut found = [0.0; N];
        for (found, place) in found.iter_mut().zip(places) {
            *found = of_key(match place {
                _ if place < self.below => return None,
                _ if place < at_low => low,
                _ if place < at_high => *self.between.select_nth_unstable(place - at_low).1,
                _ if place < at_high + self.at_high => high,
                _ => return None,
            });
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimators::median;
    use mpitrace_testing::Random;

    fn assert_alike(values: &[f64]) {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let bits = |value: f64| value.to_bits();
        assert_eq!(median_of(values).map(bits), median(&mut values.to_vec()).map(bits));
        let last = values.len() - 1;
        for places in [[0, 0], [0, 1], [last / 20, last / 2], [last / 3, last / 3 + 1], [last - last / 20, last]] {
            assert_eq!(
                order_statistics(values, places).map(bits),
                places.map(|place| bits(sorted[place])),
                "{places:?}"
            );
        }
    }

    #[test]
    fn order_statistics_are_those_of_the_sorted_values() {
        let mut random = Random::new(5);
        for count in [2, 3, 1000, 65_536, 65_537, 300_001] {
            let noise: Vec<f64> = (0..count).map(|_| random.normal()).collect();
            assert_alike(&noise);
            // In coarse steps, and nearly all alike.
            assert_alike(&noise.iter().map(|value| value.round()).collect::<Vec<_>>());
            assert_alike(&noise.iter().map(|value| f64::from(u8::from(*value > 3.0))).collect::<Vec<_>>());
            // Sorted; and with a period that those looked at fit into.
            assert_alike(&(0..count).map(f64::from).collect::<Vec<_>>());
            let step = (count as usize / LOOKED_AT).max(1);
            let hidden = |index: usize| if index.is_multiple_of(step) { 1e9 } else { noise[index] };
            assert_alike(&(0..count as usize).map(hidden).collect::<Vec<_>>());
        }
        assert_alike(&[[f64::INFINITY; 40_000], [f64::NEG_INFINITY; 40_000], [-0.0; 40_000], [0.0; 40_000]].concat());
        assert_eq!((median_of(&[]), median_of(&[f64::INFINITY; 3])), (None, Some(f64::INFINITY)));
    }
}
