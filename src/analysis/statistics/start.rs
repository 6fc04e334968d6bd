//! Where a series has settled, and whether a cut matters.

use mpitrace_series::parallel;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// The test of Chow (1960).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Chow {
    /// The first value of the second part.
    pub at: usize,
    /// F with 2 and n - 4 degrees of freedom.
    pub statistic: f64,
    /// The probability of such an F or a larger one where one line fits both parts.
    pub p: f64,
}

/// How many values MSER-5 (White 1997; White, Cobb and Spratt 2000) cuts off at the start: of the means of 5 values
/// each, the cut d that has the least sum of squares of what is left over (m - d)^2. `None` for fewer than 10 values,
/// and where the least lies in the second half: then the series is too short to tell, as the authors say.
pub fn mser5(values: &[f64]) -> Option<usize> {
    let fives = values.as_chunks::<5>().0;
    let means = parallel::filled(fives.len(), |index| fives[index].iter().sum::<f64>() / 5.0);
    let count = means.len();
    if count < 2 {
        return None;
    }
    // Sums of the distances from the last mean, from the end: where the series ends in equal values they are 0.
    let last = means[count - 1];
    let sums = |part: &[f64]| {
        let add = |(sum, squares): (f64, f64), mean: &f64| (sum + (mean - last), squares + (mean - last).powi(2));
        part.iter().rev().fold((0.0, 0.0), add)
    };
    let parts: Vec<&[f64]> = means.chunks(PART).collect();
    let own = parallel::map(parts.clone(), sums);
    let mut behind = (0.0, 0.0);
    let mut starts = vec![(0.0, 0.0); parts.len()];
    for (start, own) in starts.iter_mut().zip(&own).rev() {
        *start = behind;
        behind = (behind.0 + own.0, behind.1 + own.1);
    }
    let best_of = |(number, (part, start)): (usize, (&[f64], (f64, f64)))| {
        let (mut sum, mut squares): (f64, f64) = start;
        let mut best = (f64::INFINITY, 0);
        for (index, mean) in part.iter().enumerate().rev() {
            let index = number * PART + index;
            let distance = mean - last;
            (sum, squares) = (sum + distance, squares + distance * distance);
            let left = (count - index) as f64;
            let error = (squares - sum * sum / left).max(0.0) / (left * left);
            // A single mean has no spread; on equal terms the earlier cut keeps more.
            if left >= 2.0 && error <= best.0 {
                best = (error, index);
            }
        }
        best
    };
    let bests = parallel::map(parts.into_iter().zip(starts).enumerate().collect(), best_of);
    let best = bests.into_iter().rev().fold((f64::INFINITY, 0), |best, own| if own.0 <= best.0 { own } else { best });
    (best.1 <= count / 2).then_some(5 * best.1)
}

/// Means that one processor goes through at a time.
const PART: usize = 1 << 16;

/// Whether a line fitted to each of two parts fits better than one line through both, by the F test of Chow. `None`
/// where either part has fewer than 3 values, or everything lies on the lines.
pub fn chow(values: &[f64], at: usize) -> Option<Chow> {
    let n = values.len();
    if at < 3 || n < at + 3 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let together = residuals(values);
    let apart = residuals(&values[..at]) + residuals(&values[at..]);
    // The smallest sum of squares that is more than rounding of values as large as these.
    let rounding = values.iter().fold(0.0, |sum, value| sum + value * value) * f64::EPSILON;
    if apart <= rounding {
        return None;
    }
    let freedom = (n - 4) as f64;
    let statistic = ((together - apart).max(0.0) / 2.0) / (apart / freedom);
    let p = FisherSnedecor::new(2.0, freedom).ok()?.sf(statistic);
    Some(Chow { at, statistic, p })
}

/// The sum of the squared residuals of the line of least squares through (index, value).
fn residuals(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let middle = (n - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / n;
    let (mut product, mut squares, mut spread) = (0.0, 0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let (x, y) = (index as f64 - middle, value - mean);
        product += x * y;
        squares += x * x;
        spread += y * y;
    }
    if squares == 0.0 { spread } else { (spread - product * product / squares).max(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    fn cliff(before: usize, after: usize) -> Vec<f64> {
        let mut random = Random::new(11);
        (0..before + after).map(|i| if i < before { 150.0 } else { 100.0 } + random.normal()).collect()
    }

    /// By Welford's recurrence (1962), from the end.
    fn mser5_one_by_one(values: &[f64]) -> Option<usize> {
        let means: Vec<f64> = values.as_chunks::<5>().0.iter().map(|five| five.iter().sum::<f64>() / 5.0).collect();
        let (mut mean, mut squares, mut best) = (0.0, 0.0, (f64::INFINITY, 0));
        for (index, &value) in means.iter().enumerate().rev() {
            let count = (means.len() - index) as f64;
            let delta = value - mean;
            mean += delta / count;
            squares += delta * (value - mean);
            let error = squares / (count * count);
            if count >= 2.0 && error <= best.0 {
                best = (error, index);
            }
        }
        (means.len() >= 2 && best.1 <= means.len() / 2).then_some(5 * best.1)
    }

    #[test]
    fn many_processors_cut_where_one_does() {
        let mut random = Random::new(6);
        for n in [0, 9, 10, 100, 5000, 5 * PART, 5 * (3 * PART + 5) + 2] {
            let noise: Vec<f64> = (0..n).map(|_| 100.0 + random.normal()).collect();
            let mut slow = noise.clone();
            slow.iter_mut().take(n / 5).for_each(|x| *x += 20.0);
            let mut ends_equal = noise.clone();
            ends_equal.iter_mut().skip(n / 3).for_each(|x| *x = 7.0);
            for values in [noise, slow, ends_equal] {
                assert_eq!(mser5(&values), mser5_one_by_one(&values), "{n}");
            }
        }
    }

    #[test]
    fn a_high_start_is_cut_and_a_flat_series_hardly() {
        assert_eq!(mser5(&cliff(60, 400)), Some(60));
        let flat = mser5(&cliff(0, 1000));
        assert!(flat.is_none_or(|cut| cut < 500), "{flat:?}");
        assert_eq!(mser5(&[1.0; 9]), None);
        assert_eq!(mser5(&[1.0; 100]), Some(0));
    }

    #[test]
    fn a_drop_in_the_second_half_is_no_start() {
        assert_eq!(mser5(&cliff(600, 400)), None);
    }

    #[test]
    fn a_cut_at_a_cliff_matters_and_one_in_noise_does_not() {
        assert!(chow(&cliff(60, 400), 60).unwrap().p < 1e-6);
        assert!(chow(&cliff(0, 400), 60).unwrap().p > 0.01);
        assert_eq!(chow(&[5.0; 100], 50), None);
        assert_eq!(chow(&cliff(10, 10), 2), None);
        assert_eq!(chow(&[f64::NAN; 100], 50), None);
    }
}
