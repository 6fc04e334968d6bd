//! The scale on which run times are compared: differences on it are relative ones.

use crate::estimators::{median, order_statistics};
use crate::parallel;

/// Fewer than this share of the repetitions are faster than a fast one.
const FAST: f64 = 0.05;

/// The run times as logarithms, in which 1.3 times is as far from 1 at any level and the noise of fast and slow
/// repetitions is alike. Where one is not above 0, as `last` run times may be by the clocks' errors, as multiples of
/// the median instead.
pub(super) fn relative(run_time_ns: &[f64], median_ns: f64) -> Vec<f64> {
    if run_time_ns.iter().all(|&x| x > 0.0) {
        return parallel::filled(run_time_ns.len(), |index| run_time_ns[index].ln());
    }
    let unit = unit(run_time_ns, median_ns);
    run_time_ns.iter().map(|x| x / unit).collect()
}

/// The clock's tick, in ns, on that scale: of the fast repetitions, where a tick is the largest relative difference,
/// and downwards, since 0.9 is farther from 1 than 1.1 is.
pub(super) fn tick(tick_ns: f64, run_time_ns: &[f64], median_ns: f64) -> f64 {
    if tick_ns == 0.0 {
        return 0.0;
    }
    if !run_time_ns.iter().all(|&x| x > 0.0) {
        return tick_ns / unit(run_time_ns, median_ns);
    }
    let [fast] = order_statistics(run_time_ns, [(run_time_ns.len() as f64 * FAST) as usize]);
    -(-(tick_ns / fast).min(0.5)).ln_1p()
}

/// The unit of run times, where they are not all above 0.
fn unit(run_time_ns: &[f64], median_ns: f64) -> f64 {
    if median_ns != 0.0 {
        return median_ns.abs();
    }
    let mut sizes: Vec<f64> = run_time_ns.iter().map(|x| x.abs()).filter(|&x| x > 0.0).collect();
    median(&mut sizes).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::{relative, tick};

    #[test]
    fn a_factor_is_the_same_difference_at_any_level() {
        let y = relative(&[10.0, 20.0, 1000.0, 2000.0], 500.0);
        assert!((y[1] - y[0] - (y[3] - y[2])).abs() < 1e-12);
    }

    #[test]
    fn a_tick_below_a_fast_repetition_is_one_tick() {
        // Two thirds are half as fast.
        let run_times: Vec<f64> = (0..300).map(|i| if i % 3 == 0 { 15.0 } else { 30.0 }).collect();
        let found = tick(1.0, &run_times, 30.0);
        assert!((found - (15.0_f64 / 14.0).ln()).abs() < 1e-12, "{found}");
        assert_eq!(tick(0.0, &run_times, 30.0), 0.0);
        assert_eq!(tick(1.0, &[-1.0, 2.0, 4.0], 2.0), 0.5);
    }

    #[test]
    fn run_times_of_zero_and_below_have_a_scale_too() {
        assert_eq!(relative(&[-1.0, 2.0, 4.0], 2.0), [-0.5, 1.0, 2.0]);
        assert_eq!(relative(&[0.0, 0.0, 0.0], 0.0), [0.0; 3]);
    }
}
