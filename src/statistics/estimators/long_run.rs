//! The variance of the mean of dependent values, from all their lags.
//!
//! The variance of a mean is the spectrum of the series at frequency 0 over n. It is estimated from the products of the
//! series with the first B cosines of half, one, one and a half ... periods, which are B independent estimates of it as
//! long as the spectrum is flat up to there (Müller 2007; Lazarus, Lewis, Stock and Watson 2018, the estimator with
//! equal weights). A mean over that estimate's root has Student's distribution with B degrees of freedom: unlike the
//! normal one that does not forget that the variance is estimated.

use crate::parallel;

/// The series is averaged down to at most twice so many blocks: the cosines are too long to see within a block.
const BLOCKS: usize = 2048;
/// Values that stay in the processor's cache.
const CACHED: usize = 2048;
/// One cosine is used for so many times that the correlation lasts: over these the spectrum of an autoregressive series
/// is 0.95 of what it is at frequency 0, on average.
const TIMES: f64 = 8.0;
/// Fewer have a Student's quantile that nothing is known with, ...
const FEWEST: usize = 3;
/// ... and more make the quantile of 95 % smaller by less than 2 %.
const MOST: usize = 48;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LongRun {
    /// The variance of the mean, in the square of the values' unit.
    pub(super) variance_of_mean: f64,
    /// Degrees of freedom of that estimate.
    pub(super) freedom: f64,
}

/// The means of equally long blocks of a series, as few as the cosines can do with. The last block may be left out
/// where the blocks do not come out even.
pub(crate) fn block_means<T: Copy + Sync>(values: &[T], of: impl Fn(T) -> f64 + Sync) -> Vec<f64> {
    let length = (values.len() / BLOCKS).max(1);
    let mean = |block: &[T]| block.iter().map(|&value| of(value)).sum::<f64>() / length as f64;
    let of_part = |part: &[T]| part.chunks_exact(length).map(mean).collect::<Vec<f64>>();
    let part = parallel::share(values.len()).next_multiple_of(length);
    parallel::map(values.chunks(part).collect(), of_part).concat()
}

/// For each of some limits, the share of the values in each block that are not above it: [`block_means`] of all, the
/// values read once.
pub(super) fn shares_below<const N: usize>(values: &[f64], limits: [f64; N]) -> [Vec<f64>; N] {
    let length = (values.len() / BLOCKS).max(1);
    let of_block = |block: &[f64]| {
        let mut counts = [0_u32; N];
        // So few that they stay in the processor's cache for all limits.
        for part in block.chunks(CACHED) {
            for (count, limit) in counts.iter_mut().zip(limits) {
                *count += part.iter().map(|value| u32::from(*value <= limit)).sum::<u32>();
            }
        }
        counts.map(|count| f64::from(count) / length as f64)
    };
    let of_part = |part: &[f64]| part.chunks_exact(length).map(of_block).collect::<Vec<[f64; N]>>();
    let part = parallel::share(values.len()).next_multiple_of(length);
    let parts = parallel::map(values.chunks(part).collect(), of_part);
    std::array::from_fn(|index| parts.iter().flatten().map(|shares| shares[index]).collect())
}

/// The variance of the mean of a series of block means, whose correlation lasts `share` of the whole series. `None` for
/// fewer than four.
pub(super) fn long_run(blocks: &[f64], share: f64) -> Option<LongRun> {
    let n = blocks.len();
    if n < FEWEST + 1 {
        return None;
    }
    let cosines = ((1.0 / (share * TIMES)) as usize).clamp(FEWEST, MOST).min(n - 1);
    let power: f64 = cosine_powers(blocks, cosines).iter().sum();
    Some(LongRun { variance_of_mean: power / cosines as f64 / n as f64, freedom: cosines as f64 })
}

/// The squares of the products of a series with the first cosines: each has the long-run variance of the series for
/// its mean.
pub(crate) fn cosine_powers(blocks: &[f64], cosines: usize) -> Vec<f64> {
    (1..=cosines).map(|number| product(blocks, number).powi(2)).collect()
}

/// sqrt(2 / n) sum x_t cos(pi j (t - 1/2) / n): of variance 1 for independent values of variance 1.
fn product(values: &[f64], number: usize) -> f64 {
    let n = values.len() as f64;
    let step = std::f64::consts::PI * number as f64 / n;
    let terms = values.iter().enumerate().map(|(index, value)| value * (step * (index as f64 + 0.5)).cos());
    (2.0 / n).sqrt() * terms.sum::<f64>()
}
