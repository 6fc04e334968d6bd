//! Sorts large columns, on all processors.

use crate::parallel;

/// Sorts values by [`f64::total_cmp`]. As integers that have the same order: they are compared in one instruction,
/// which halves the time.
///
/// ```
/// let mut values = [3.0, -1.0, 2.0];
/// mpitrace_statistics::sort(&mut values);
/// assert_eq!(values, [-1.0, 2.0, 3.0]);
/// ```
pub fn sort(values: &mut [f64]) {
    let bits: &mut [i64] = bytemuck::cast_slice_mut(values);
    turn(bits);
    sort_shared(bits, parallel::processors());
    turn(bits);
}

/// An integer for each value, in the same order.
pub(super) fn key(value: f64) -> i64 {
    turned(value.to_bits() as i64)
}

pub(super) fn of_key(key: i64) -> f64 {
    f64::from_bits(turned(key) as u64)
}

/// Gives the bits of a value the order of integers, or turns them back: the bits of negative numbers, but the sign,
/// count backwards.
fn turned(bits: i64) -> i64 {
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

fn turn(bits: &mut [i64]) {
    let share = parallel::share(bits.len());
    parallel::map(bits.chunks_mut(share).collect(), |bits: &mut [i64]| {
        bits.iter_mut().for_each(|bits| *bits = turned(*bits));
    });
}

/// Each half of the processors sorts one half of the values. To divide the values takes one processor far less time
/// than to sort them.
fn sort_shared(bits: &mut [i64], processors: usize) {
    if processors < 2 || bits.len() <= parallel::LEAST {
        return bits.sort_unstable();
    }
    let (below, _, above) = bits.select_nth_unstable(bits.len() / 2);
    let halves = vec![(below, processors / 2), (above, processors - processors / 2)];
    parallel::map(halves, |(bits, processors)| sort_shared(bits, processors));
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    #[test]
    fn values_of_either_sign_are_sorted_by_any_number_of_processors() {
        let mut random = Random::new(9);
        for count in [0, 1, 1000, 300_000] {
            let mut values: Vec<f64> = (0..count).map(|_| random.normal()).collect();
            values.extend([0.0, -0.0, 1e300, -1e300, f64::MIN_POSITIVE, -f64::MIN_POSITIVE, f64::INFINITY]);
            let mut expected = values.clone();
            expected.sort_by(f64::total_cmp);
            let mut sorted = values.clone();
            sort(&mut sorted);
            assert_eq!(sorted, expected);
            for processors in [1, 2, 3, 7] {
                let mut bits: Vec<i64> = values.iter().map(|value| value.to_bits() as i64).collect();
                turn(&mut bits);
                sort_shared(&mut bits, processors);
                turn(&mut bits);
                assert!(
                    bits.iter().zip(&expected).all(|(bits, value)| *bits as u64 == value.to_bits()),
                    "{processors}"
                );
            }
        }
    }
}
