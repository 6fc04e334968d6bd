//! The scale on which run times are compared: differences on it are relative ones.

use crate::parallel;
use crate::statistics::median;

/// The run times as logarithms, in which 1.3 times is as far from 1 at any level and the noise of fast and slow
/// repetitions is alike. Where one is not above 0, as `last` run times may be by the clocks' errors, as multiples of
/// the median instead.
pub fn relative(run_time_ns: &[f64], median_ns: f64) -> Vec<f64> {
    if run_time_ns.iter().all(|&x| x > 0.0) {
        return parallel::filled(run_time_ns.len(), |index| run_time_ns[index].ln());
    }
    let unit = unit(run_time_ns, median_ns);
    run_time_ns.iter().map(|x| x / unit).collect()
}

/// A small difference of run times, in ns, on that scale.
pub fn relative_difference(difference_ns: f64, run_time_ns: &[f64], median_ns: f64) -> f64 {
    if difference_ns == 0.0 {
        return 0.0;
    }
    let logarithms = run_time_ns.iter().all(|&x| x > 0.0);
    if logarithms {
        return (difference_ns / median_ns).ln_1p();
    }
    difference_ns / unit(run_time_ns, median_ns)
}

/// What run times are multiples of, where they are not all above 0.
fn unit(run_time_ns: &[f64], median_ns: f64) -> f64 {
    if median_ns != 0.0 {
        return median_ns.abs();
    }
    let mut sizes: Vec<f64> = run_time_ns.iter().map(|x| x.abs()).filter(|&x| x > 0.0).collect();
    median(&mut sizes).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::relative;

    #[test]
    fn a_factor_is_the_same_difference_at_any_level() {
        let y = relative(&[10.0, 20.0, 1000.0, 2000.0], 500.0);
        assert!((y[1] - y[0] - (y[3] - y[2])).abs() < 1e-12);
    }

    #[test]
    fn run_times_of_zero_and_below_have_a_scale_too() {
        assert_eq!(relative(&[-1.0, 2.0, 4.0], 2.0), [-0.5, 1.0, 2.0]);
        assert_eq!(relative(&[0.0, 0.0, 0.0], 0.0), [0.0; 3]);
    }
}
