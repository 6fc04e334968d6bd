//! Two modes of which neither is rare: a gap divides the values into quick and slow ones.

use crate::estimators::sort;

/// Each mode holds this share of the values at least, ...
const LEAST: f64 = 0.3;
/// ... and by chance less, so many standard deviations.
const BY_CHANCE: f64 = 1.7;
/// Of fewer values the parts are too small.
const FEWEST: usize = 50;
/// The share of each mode that may lie in the gap.
const BETWEEN: f64 = 0.1;
/// The gap is so wide, as a ratio, ...
const RATIO: f64 = 1.25;
/// ... and so many standard deviations of the quick ones. No density with one maximum in benches/series comes to 2.
const DEVIATIONS: f64 = 3.0;
/// The shortest half of a normal distribution is so many standard deviations long.
const SHORTEST_HALF: f64 = 1.349;

/// The value above which these are slow, where they are two modes.
pub(super) fn slow_from(values: &[f64]) -> Option<f64> {
    let count = values.len();
    if count < FEWEST {
        return None;
    }
    let is_positive = values.iter().all(|&value| value > 0.0);
    let mut sorted: Vec<f64> = values.iter().map(|value| if is_positive { value.ln() } else { *value }).collect();
    sort(&mut sorted);
    let by_chance = BY_CHANCE * (LEAST * (1.0 - LEAST) / count as f64).sqrt();
    let least = ((LEAST - by_chance) * count as f64).ceil() as usize;
    let between = |part: usize| (BETWEEN * part as f64) as usize;
    let gap = |quick: usize| sorted[quick + between(count - quick)] - sorted[quick - 1 - between(quick)];
    let widest = (least..=count - least).max_by(|&one, &other| gap(one).total_cmp(&gap(other)))?;
    // What lies in the gap belongs to the nearer mode.
    let near = widest - between(widest)..=widest + between(count - widest);
    let step = |quick: usize| sorted[quick] - sorted[quick - 1];
    let quick = near.max_by(|&one, &other| step(one).total_cmp(&step(other)))?;
    let held = quick.div_ceil(2);
    let shortest = (0..=quick - held).map(|from| sorted[from + held - 1] - sorted[from]).fold(f64::INFINITY, f64::min);
    let least = if is_positive { RATIO.ln() } else { (RATIO - 1.0) * sorted[count / 2].abs() };
    let is_two = gap(widest) >= least && gap(widest) >= DEVIATIONS * shortest / SHORTEST_HALF;
    let middle = 0.5 * (sorted[quick - 1] + sorted[quick]);
    is_two.then(|| if is_positive { middle.exp() } else { middle })
}

#[cfg(test)]
mod tests {
    use mpitrace_testing::Random;

    use super::*;

    /// Noise of this deviation, of which this share takes `ratio` times as long.
    fn of(share: f64, ratio: f64, deviation: f64, count: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let mut one =
            |_| 1000.0 * (deviation * random.normal()).exp() * if random.uniform() < share { ratio } else { 1.0 };
        (0..count).map(&mut one).collect()
    }

    #[test]
    fn two_modes_are_found_where_30_to_70_percent_are_slow() {
        for count in [100, 1000] {
            for (share, ratio) in
                [(0.3, 2.0), (0.4, 1.5), (0.5, 2.0), (0.5, 100.0), (0.6, 2.0), (0.7, 2.0), (0.7, 100.0)]
            {
                let found = (0..20).filter(|&seed| {
                    let limit = slow_from(&of(share, ratio, 0.03, count, seed));
                    limit.is_some_and(|limit| limit > 1100.0 && limit < 900.0 * ratio)
                });
                let found = found.count();
                assert!(found >= 18, "{found} of 20: {share} x{ratio} of {count}");
            }
        }
    }

    #[test]
    fn one_mode_and_rare_ones_are_not_two() {
        for (share, ratio, deviation) in
            [(0.0, 1.0, 0.03), (0.0, 1.0, 0.5), (0.1, 2.0, 0.03), (0.9, 2.0, 0.03), (0.5, 1.1, 0.03)]
        {
            for seed in 0..20 {
                assert_eq!(slow_from(&of(share, ratio, deviation, 1000, seed)), None, "{share} x{ratio}");
            }
        }
        let mut random = Random::new(7);
        let strewn: Vec<f64> = (0..1000).map(|_| random.uniform().powf(-1.0)).collect();
        assert_eq!(slow_from(&strewn), None);
        assert_eq!(slow_from(&[5.0; 100]), None);
    }
}
