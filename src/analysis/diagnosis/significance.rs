//! p-values of all metrics under all contrasts, corrected for their number.

use mpitrace_statistics::comparison::holm;

use super::contrast::{Contrasted, normal_tail};

/// The statistics of one metric under one contrast; true if less of it counts, too.
pub(super) type Tested<'m> = (&'m Contrasted, bool);

fn strength(z: f64, two_sided: bool) -> f64 {
    if two_sided { z.abs() } else { z }
}

/// The p-value of each, after correction for all of them: the larger of that by the normal distribution, corrected as
/// Holm (1979) does, and that by the shifts, corrected by the largest statistic of all that are not larger themselves
/// (Westfall and Young 1993, the step-down procedure of section 4.1).
pub(super) fn corrected(tested: &[Tested<'_>]) -> Vec<f64> {
    let by_tail = holm(&tested.iter().map(|&(found, two_sided)| normal_tail(found.z, two_sided)).collect::<Vec<f64>>());
    probabilities_by_shifts(tested).into_iter().zip(by_tail).map(|(shifts, tail)| shifts.max(tail)).collect()
}

fn probabilities_by_shifts(tested: &[Tested<'_>]) -> Vec<f64> {
    let strengths: Vec<f64> = tested.iter().map(|&(found, two_sided)| strength(found.z, two_sided)).collect();
    let mut order: Vec<usize> = (0..tested.len()).collect();
    order.sort_unstable_by(|&one, &other| strengths[one].total_cmp(&strengths[other]));
    let mut largest: Vec<f64> = Vec::new();
    let mut p = vec![1.0; tested.len()];
    for &index in &order {
        let (Contrasted { shifted, .. }, two_sided) = tested[index];
        largest.resize(largest.len().max(shifted.len()), f64::NEG_INFINITY);
        for (largest, &z) in largest.iter_mut().zip(shifted) {
            // What is not a number is never the larger one.
            *largest = largest.max(strength(f64::from(z), two_sided));
        }
        let (mut tried, mut reached) = (1.0, 1.0);
        for (largest, z) in largest.iter().zip(shifted).filter(|(_, z)| !z.is_nan()) {
            tried += 1.0;
            reached += f64::from(u8::from(*largest >= strengths[index] && !z.is_nan()));
        }
        p[index] = reached / tried;
    }
    // Never smaller than that of a stronger one.
    let mut least: f64 = 0.0;
    for &index in order.iter().rev() {
        least = least.max(p[index]);
        p[index] = least;
    }
    p
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_is_the_share_of_the_shifts_that_reach_as_far() {
        let shifted = vec![1.0, 3.0, f32::NAN, -2.5, 0.0];
        let found = Contrasted { z: 2.0, shifted, products: Vec::new(), scores: Vec::new() };
        // With the one that is tested: 3 of 1, 3, -2.5 and 0, and -2.5 where less of it counts, too.
        assert_eq!(probabilities_by_shifts(&[(&found, false)]), [2.0 / 5.0]);
        assert_eq!(probabilities_by_shifts(&[(&found, true)]), [3.0 / 5.0]);
    }
}
