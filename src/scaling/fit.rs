//! A law is fitted to times at several numbers of ranks, and laws are weighed against each other.

use mpitrace_statistics::names::Named;

use crate::law::{Law, Model};

/// The times of a part at several numbers of ranks: means of runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curve {
    /// The numbers of ranks.
    pub ranks: Vec<f64>,
    /// The means, s.
    pub means: Vec<f64>,
    /// Their standard errors, s; above 0.
    pub errors: Vec<f64>,
}

/// A model with its coefficients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fitted {
    pub model: Model,
    pub coefficients: [f64; 2],
    /// The sum of the squared differences in standard errors.
    pub squares: f64,
    /// The weight among all that were fitted.
    pub weight: f64,
}

impl Fitted {
    pub fn value(&self, p: f64) -> f64 {
        let [first, second] = self.coefficients;
        first * self.model.first.value(p) + self.model.second.map_or(0.0, |law| second * law.value(p))
    }
}

impl Curve {
    /// The model with the coefficients that fit best: 0 or more, but for a constant by which a term begins later, where
    /// no value is below 0. `None`: one of two would be 0, which the model of the other one is.
    pub fn fit(&self, model: Model) -> Option<Fitted> {
        let rows =
            || self.ranks.iter().zip(&self.means).zip(&self.errors).map(|((p, y), error)| (*p, *y, error.powi(-2)));
        let sum = |of: &dyn Fn(f64, f64) -> f64| rows().map(|(p, y, weight)| weight * of(p, y)).sum::<f64>();
        let g = |p: f64| model.first.value(p);
        let (gg, gy) = (sum(&|p, _| g(p) * g(p)), sum(&|p, y| g(p) * y));
        let coefficients = match model.second {
            None => [if gg > 0.0 { (gy / gg).max(0.0) } else { 0.0 }, 0.0],
            Some(second) => {
                let h = |p: f64| second.value(p);
                let (hh, hy, gh) = (sum(&|p, _| h(p) * h(p)), sum(&|p, y| h(p) * y), sum(&|p, _| g(p) * h(p)));
                let determinant = gg * hh - gh * gh;
                let found = [(gy * hh - hy * gh) / determinant, (hy * gg - gy * gh) / determinant];
                // Something that begins with the second rank has a constant below 0.
                let is_from_second = model.first == Law::Constant && found[0] < 0.0;
                let is_positive = |coefficient: &f64| coefficient.is_finite() && *coefficient > 0.0;
                let is_somewhere_below = || rows().any(|(p, ..)| found[0] * g(p) + found[1] * h(p) < 0.0);
                if !is_positive(&found[1]) || !(is_positive(&found[0]) || is_from_second && !is_somewhere_below()) {
                    return None;
                }
                found
            }
        };
        let mut fitted = Fitted { model, coefficients, squares: 0.0, weight: 0.0 };
        fitted.squares = rows().map(|(p, y, weight)| weight * (y - fitted.value(p)).powi(2)).sum();
        Some(fitted)
    }

    /// All models that there are enough numbers of ranks for, with their weights, which add up to 1. A weight is the
    /// likelihood of the means by a Student's t of `freedom` degrees, those of the errors, less a factor e for each
    /// coefficient (Akaike 1974). All models with one term together are as likely before as all with two, which are
    /// more.
    pub fn fits(&self, freedom: f64) -> Vec<Fitted> {
        let count = self.ranks.len();
        let models = Model::all().into_iter().filter(|model| model.terms() == 1 || count > 1);
        let mut fits: Vec<Fitted> = models.filter_map(|model| self.fit(model)).collect();
        let least = fits.iter().map(|fit| fit.squares).fold(f64::INFINITY, f64::min);
        // A misfit of all models alike says that the errors are larger (Birge 1932).
        let spare = count.saturating_sub(2) as f64;
        let scale = if spare > 0.0 { (least / spare).max(1.0) } else { 1.0 };
        let logarithm = |fit: &Fitted| {
            let before = if fit.model.second.is_some() { (Law::VALUES.len() as f64 - 1.0) / 2.0 } else { 1.0 };
            let likelihood = -0.5 * (freedom + count as f64) * (fit.squares / scale / freedom).ln_1p();
            likelihood - fit.model.terms() as f64 - before.ln()
        };
        let most = fits.iter().map(&logarithm).fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = fits.iter().map(|fit| (logarithm(fit) - most).exp()).collect();
        let sum: f64 = weights.iter().sum();
        fits.iter_mut().zip(weights).for_each(|(fit, weight)| fit.weight = weight / sum);
        fits
    }

    /// By how much the errors are larger than they are stated, by the best of these fits; 1 or more.
    pub fn misfit(&self, fits: &[Fitted]) -> f64 {
        let best = fits.iter().max_by(|one, other| one.weight.total_cmp(&other.weight));
        let misfit = best.map(|best| {
            let spare = self.ranks.len().saturating_sub(best.model.terms()).max(1) as f64;
            (best.squares / spare).sqrt()
        });
        misfit.unwrap_or(1.0).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(of: impl Fn(f64) -> f64) -> Curve {
        let ranks = vec![1.0, 2.0, 4.0, 8.0, 16.0];
        let means: Vec<f64> = ranks.iter().map(|&p| of(p)).collect();
        let errors = means.iter().map(|mean| 0.01 * mean).collect();
        Curve { ranks, means, errors }
    }

    #[test]
    fn the_law_that_made_the_times_is_found_with_its_coefficients() {
        let shared = curve(|p| 8.0 / p + 0.5 * p.log2());
        let fits = shared.fits(10.0);
        let best = fits.iter().max_by(|one, other| one.weight.total_cmp(&other.weight)).unwrap();
        assert_eq!(best.model, Model { first: Law::Inverse, second: Some(Law::Logarithm) });
        assert!((best.coefficients[0] - 8.0).abs() < 1e-9 && (best.coefficients[1] - 0.5).abs() < 1e-9, "{best:?}");
        assert!((best.value(32.0) - 2.75).abs() < 1e-9);
        assert!((fits.iter().map(|fit| fit.weight).sum::<f64>() - 1.0).abs() < 1e-9);
        let linear = curve(|p| 0.1 * p).fits(10.0);
        let single = |law| linear.iter().filter(move |fit| fit.model == Model { first: law, second: None });
        let weight = |law| single(law).map(|fit| fit.weight).sum::<f64>();
        assert!(weight(Law::Linear) > 0.1 && weight(Law::Constant) < 0.001, "{linear:?}");
    }

    #[test]
    fn one_number_of_ranks_says_nothing_of_the_law() {
        let one = Curve { ranks: vec![2.0], means: vec![3.0], errors: vec![0.1] };
        let fits = one.fits(4.0);
        assert_eq!(fits.len(), Law::VALUES.len());
        assert!(fits.iter().all(|fit| (fit.weight - 1.0 / fits.len() as f64).abs() < 1e-9 && fit.squares < 1e-9));
        assert_eq!(one.misfit(&fits), 1.0);
    }
}
