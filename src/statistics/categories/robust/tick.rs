//! The tick of the clock that the run times were taken with.

/// So many values show whether they are tied.
const SAMPLE: usize = 1 << 12;
/// Values are tied where fewer than one in so many differs from all others.
const TIED: usize = 2;

/// A tick is no longer than this share of the median,
const COARSEST: f64 = 0.2;
/// or than this one where all are multiples of it,
const OF_MULTIPLES: f64 = 0.5;
/// within this share of a tick.
const NEAR: f64 = 0.02;

/// The step in which these values come: the median distance of neighbouring distinct values, 0 where few are tied.
///
/// A tick shows only where it is not far below the scatter, and then a part of the values is enough.
pub(super) fn tick(values: &[f64]) -> f64 {
    let step = values.len().div_ceil(SAMPLE).max(1);
    let mut sorted: Vec<f64> = values.iter().copied().step_by(step).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    // A few outliers are far from each other.
    let margin = sorted.len() / 20;
    let count = sorted.len();
    let middle = &sorted[margin..count - margin];
    let inner = gaps(middle);
    // So many ties that next to nothing else is left in the middle.
    let mut gaps = if inner.is_empty() { gaps(&sorted) } else { inner };
    if gaps.is_empty() || gaps.len() * TIED > middle.len() {
        return 0.0;
    }
    let index = (gaps.len() - 1) / 2;
    let tick = *gaps.select_nth_unstable_by(index, f64::total_cmp).1;
    // No clock that ticks as seldom measures such times: these are equal but for a few outliers.
    let usual = sorted[count / 2].abs();
    let is_multiple = |value: &f64| (value / tick - (value / tick).round()).abs() <= NEAR;
    if tick <= COARSEST * usual || tick <= OF_MULTIPLES * usual && middle.iter().all(is_multiple) { tick } else { 0.0 }
}

/// The distances of neighbouring values that differ.
fn gaps(sorted: &[f64]) -> Vec<f64> {
    // Multiples of a tick, computed in floating point, differ in their last digits.
    let differs = |pair: &[f64]| pair[1] - pair[0] > 1e-9 * pair[1].abs().max(pair[0].abs());
    sorted.windows(2).filter(|pair| differs(pair)).map(|pair| pair[1] - pair[0]).collect()
}

#[cfg(test)]
mod tests {
    use super::tick;

    #[test]
    fn values_in_steps_have_a_tick_and_others_have_none() {
        let mut random = fastrand::Rng::with_seed(1);
        let free: Vec<f64> = (0..1000).map(|_| 300.0 + 30.0 * random.f64()).collect();
        assert_eq!(tick(&free), 0.0);
        let stepped: Vec<f64> = free.iter().map(|x| (x / 7.0).round() * 7.0).collect();
        assert_eq!(tick(&stepped), 7.0);
        let mut tied = vec![100.0; 1000];
        assert_eq!(tick(&tied), 0.0);
        (tied[10], tied[500], tied[900]) = (120.0, 80.0, 120.0);
        assert_eq!(tick(&tied), 20.0);
        // One value that is twice the others is no tick.
        tied.fill(100.0);
        tied[7] = 200.0;
        assert_eq!(tick(&tied), 0.0);
        assert_eq!(tick(&[]), 0.0);
        // Three and four ticks.
        let few: Vec<f64> = (0..1000).map(|i| if i % 8 == 0 { 40.0 } else { 30.0 }).collect();
        assert_eq!(tick(&few), 10.0);
        let modes: Vec<f64> = (0..1000).map(|i| if i % 8 == 0 { 44.0 } else { 30.0 }).collect();
        assert_eq!(tick(&modes), 0.0);
    }
}
