//! Medians of windows that slide over a series.

/// The medians of the windows of `length` values that begin at 0, `step`, `2 step`, ... and lie in the series: pairs of
/// the begin and the median. The values of a window stay sorted while it moves, so that a step replaces `step` values
/// and sorts nothing.
pub(super) fn medians(values: &[f64], length: usize, step: usize) -> impl Iterator<Item = (usize, f64)> {
    let mut sorted: Vec<f64> = Vec::new();
    let mut begin = 0;
    let last = values.len().checked_sub(length).filter(|_| length > 0);
    (0..last.map_or(0, |last| last + 1)).step_by(step).map(move |from| {
        if sorted.is_empty() || from >= begin + length {
            sorted.clear();
            sorted.extend_from_slice(&values[from..from + length]);
            sorted.sort_unstable_by(f64::total_cmp);
        } else {
            (begin..from).for_each(|leaves| replace(&mut sorted, values[leaves], values[leaves + length]));
        }
        begin = from;
        (from, middle(&sorted))
    })
}

/// Replaces a value of a sorted list, which stays sorted.
fn replace(sorted: &mut [f64], leaves: f64, comes: f64) {
    let place = |value: f64| sorted.partition_point(|other| other.total_cmp(&value).is_lt());
    let (from, to) = (place(leaves), place(comes));
    if to > from {
        // The list is shorter by one before the new value is in it.
        sorted.copy_within(from + 1..to, from);
        sorted[to - 1] = comes;
    } else {
        sorted.copy_within(to..from, to + 1);
        sorted[to] = comes;
    }
}

/// As [`crate::median`] of values that are sorted; there is one at least.
fn middle(sorted: &[f64]) -> f64 {
    let upper = sorted[sorted.len() / 2];
    if !sorted.len().is_multiple_of(2) {
        return upper;
    }
    let lower = sorted[sorted.len() / 2 - 1];
    lower + (upper - lower) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::median;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn medians_are_those_of_each_window_alone(
            // Few different values: most are there several times; zeros have signs.
            values in proptest::collection::vec(prop_oneof![Just(-0.0), (-5..5).prop_map(f64::from)], 0..120),
            length in 0usize..60,
            step in 1usize..70,
        ) {
            let expected: Vec<(usize, f64)> = (0..values.len())
                .step_by(step)
                .filter(|from| length > 0 && from + length <= values.len())
                .map(|from| (from, median(&mut values[from..from + length].to_vec()).unwrap()))
                .collect();
            let found: Vec<(usize, f64)> = medians(&values, length, step).collect();
            prop_assert!(
                found.iter().map(|(from, median)| (*from, median.to_bits())).eq(
                    expected.iter().map(|(from, median)| (*from, median.to_bits()))
                ),
                "{found:?} {expected:?}"
            );
        }
    }
}
