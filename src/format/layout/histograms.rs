//! Histograms of the calls that are not kept: for each operation, how many calls took how many ticks.
//!
//! Buckets are linear up to [`LINEAR`] ticks, one for each tick, and logarithmic above: 64 buckets of equal width from
//! each power of two to the next one, as in an HdrHistogram. The middle of a bucket differs from each value in it by
//! 1/128 of the value at most, 0.8 %.

use bytemuck::{Pod, Zeroable};

/// Shorter calls have a bucket for each number of ticks.
const LINEAR: u64 = 128;
/// Buckets from a power of two to the next one, as a power of two.
const STEPS: u32 = 6;
/// The first power of two whose values are not told apart any more: 2^53 ticks are 40 days at 2.6 GHz. They are counted
/// in the last bucket.
const TOP: u32 = 53;

/// Buckets of a histogram.
pub const BUCKETS: usize = LINEAR as usize + ((TOP - LINEAR.ilog2()) << STEPS) as usize;
/// Buckets of a row, and rows of a histogram: a power of two each, `LINEAR` ticks two.
pub const ROW: usize = 1 << STEPS;
/// See [`ROW`].
pub const ROWS: usize = BUCKETS / ROW;

/// The most histograms of a rank: of 64 operations, and the one for all others.
pub const MOST_HISTOGRAMS: u64 = 65;

/// [`super::OperationEntry::histogram`] of operations that are rare, or were met when all histograms were in use: the
/// histogram that all of these share.
pub const SHARED_HISTOGRAM: u32 = 1;

/// A row of a histogram, in a live segment: only those with calls are there.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Buckets {
    /// The histogram that it is of, as in [`HistogramEntry`]; 0: it counts for none.
    pub histogram: u32,
    /// The row, below [`ROWS`].
    pub row: u32,
    /// How many calls each bucket holds.
    pub calls: [u64; ROW],
}

/// The most rows of a rank.
pub const MOST_ROWS: u64 = MOST_HISTOGRAMS * ROWS as u64;

/// A bucket that is not empty, as a part stores it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct HistogramEntry {
    /// The histogram that it is of, from 1: [`super::OperationEntry::histogram`].
    pub histogram: u32,
    /// The bucket, below [`BUCKETS`].
    pub bucket: u32,
    /// Calls in it.
    pub calls: u64,
}

/// The bucket of a call that took so many ticks.
///
/// ```
/// use mpitrace_format::layout::{bucket_of, middle_of};
///
/// // The middle of a bucket is within 1 % of each call in it.
/// let middle = middle_of(bucket_of(123_456));
/// assert!((middle / 123_456.0 - 1.0).abs() < 0.01, "{middle} ticks");
/// assert_eq!(bucket_of(3), 3);
/// ```
#[inline(always)]
pub fn bucket_of(ticks: u64) -> usize {
    if ticks < LINEAR {
        return ticks as usize;
    }
    let octave = ticks.ilog2();
    if octave >= TOP {
        return BUCKETS - 1;
    }
    // The bits behind the first one.
    let step = (ticks >> (octave - STEPS)) as usize & ((1 << STEPS) - 1);
    LINEAR as usize + (((octave - LINEAR.ilog2()) as usize) << STEPS) + step
}

/// The middle of a bucket, ticks.
///
/// ```
/// assert_eq!(mpitrace_format::layout::middle_of(3), 3.0);
/// ```
pub fn middle_of(bucket: usize) -> f64 {
    let bucket = bucket.min(BUCKETS - 1) as u64;
    if bucket < LINEAR {
        return bucket as f64;
    }
    let (octave, step) = ((bucket - LINEAR) >> STEPS, (bucket - LINEAR) & ((1 << STEPS) - 1));
    let width = 1u64 << (octave + u64::from(LINEAR.ilog2() - STEPS));
    let least = ((1 << STEPS) + step) * width;
    // Whole ticks from `least` on, `width` of them.
    least as f64 + (width - 1) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        let mut last = 0;
        for ticks in (0..1 << 20).chain((20..TOP).flat_map(|octave| [(1 << octave) - 1, 1 << octave])) {
            let bucket = bucket_of(ticks);
            assert!(bucket == last || bucket == last + 1 || ticks > 1 << 20, "{ticks} ticks are in bucket {bucket}");
            last = bucket;
        }
        assert_eq!((bucket_of((1 << TOP) - 1), bucket_of(1 << TOP), bucket_of(u64::MAX)), {
            let top = BUCKETS - 1;
            (top, top, top)
        });
    }

    /// The value at the `p`-quantile by the buckets: the middle of the one that holds the value of this rank.
    fn quantile(values: &[u64], rank: usize) -> f64 {
        let mut calls = vec![0usize; BUCKETS];
        values.iter().for_each(|&value| calls[bucket_of(value)] += 1);
        let mut before = 0;
        let bucket = calls.iter().position(|calls| {
            before += calls;
            before > rank
        });
        middle_of(bucket.unwrap())
    }

    proptest! {
        #[test]
        fn the_middle_of_a_bucket_is_within_one_percent(octave in 0..TOP, low in any::<u64>()) {
            let ticks = 1 << octave | low & ((1 << octave) - 1);
            let error = (middle_of(bucket_of(ticks)) - ticks as f64).abs() / ticks as f64;
            prop_assert!(error <= 0.01, "{ticks}: {error}");
        }

        #[test]
        fn quantiles_are_within_one_percent(
            mut values in prop::collection::vec((0..TOP, any::<u64>()), 1..300),
            p in 0.0..1.0f64,
        ) {
            let mut values: Vec<u64> = values.drain(..).map(|(bits, value)| value & ((1 << bits) - 1)).collect();
            values.sort_unstable();
            let rank = ((values.len() as f64 * p) as usize).min(values.len() - 1);
            let (found, exact) = (quantile(&values, rank), values[rank] as f64);
            prop_assert!((found - exact).abs() <= 0.01 * exact, "{found} for {exact}");
        }
    }
}
