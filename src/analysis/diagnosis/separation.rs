//! How well does a metric tell the repetitions of a group from those that they are compared with?

use mpitrace_statistics::median;

use super::ranks::mid_ranks;

/// The values of a metric in a group, and in the repetitions that the group is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Separation {
    /// The median in the group.
    pub median: f64,
    /// The mean in the group.
    pub mean: f64,
    /// The median in the others.
    pub median_others: f64,
    /// The share of the group in which the metric is above 0...
    pub above_zero: f64,
    /// ... and of the others.
    pub above_zero_others: f64,
    /// Cliff's delta (1993), 2 U / (n m) - 1 by the U of Mann and Whitney (1947): -1 and 1 where the two do not
    /// overlap, 0 where they do not differ.
    pub delta: f64,
}

/// Compares the values at which `member` is true with the others. `None` where there are none of either.
pub(super) fn separation(values: &[f64], member: &[bool]) -> Option<Separation> {
    let count = member.iter().filter(|member| **member).count();
    let others = member.len() - count;
    if count == 0 || others == 0 {
        return None;
    }
    let ranks = mid_ranks(values);
    let (n, m) = (count as f64, others as f64);
    let sum: f64 = ranks.iter().zip(member).filter(|(_, member)| **member).map(|(rank, _)| rank).sum();
    let u = sum - n * (n + 1.0) / 2.0;
    let members = values.iter().zip(member).filter(|(_, member)| **member);
    let mean = members.map(|(value, _)| value).sum::<f64>() / n;
    let side = |wanted: bool| {
        let side = values.iter().zip(member).filter(move |(_, member)| **member == wanted);
        let mut side: Vec<f64> = side.map(|(value, _)| *value).collect();
        let above = side.iter().filter(|value| **value > 0.0).count() as f64 / side.len() as f64;
        (median(&mut side).unwrap_or(f64::NAN), above)
    };
    let ((median, above_zero), (median_others, above_zero_others)) = (side(true), side(false));
    Some(Separation { median, mean, median_others, above_zero, above_zero_others, delta: 2.0 * u / (n * m) - 1.0 })
}
