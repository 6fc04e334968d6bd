//! Does the run time rise with a metric?

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A coefficient with the probability of one at least as far from 0 where nothing is related.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficient {
    /// From -1 to 1.
    pub r: f64,
    /// Two-sided, of Student's t with as many degrees of freedom as there are independent pairs, less 2.
    pub p: f64,
}

/// The correlation of two series of pairs with an effective sample size of `n`, at most as many as there are.
/// `None`: one of them is constant, or there are fewer than three pairs.
///
/// Pearson's coefficient of the values; of their ranks it is Spearman's.
pub(super) fn pearson(x: &[f64], y: &[f64], n: f64) -> Option<Coefficient> {
    let count = x.len() as f64;
    if x.len() < 3 {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(x), mean(y));
    let (mut both, mut of_x, mut of_y) = (0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        let (x, y) = (x - mean_x, y - mean_y);
        both += x * y;
        of_x += x * x;
        of_y += y * y;
    }
    if of_x <= 0.0 || of_y <= 0.0 {
        return None;
    }
    let r = (both / of_x.sqrt() / of_y.sqrt()).clamp(-1.0, 1.0);
    Some(Coefficient { r, p: probability(r, n) })
}

fn probability(r: f64, n: f64) -> f64 {
    let freedom = n - 2.0;
    let t = r.abs() * (freedom / ((1.0 - r) * (1.0 + r))).sqrt();
    // Fewer than three independent pairs tell nothing; nor do values beyond what a float's squares hold.
    if t.is_nan() {
        return 1.0;
    }
    let Some(student) = StudentsT::new(0.0, 1.0, freedom).ok().filter(|_| freedom >= 1.0) else { return 1.0 };
    if t.is_infinite() { 0.0 } else { (2.0 * student.sf(t)).min(1.0) }
}
