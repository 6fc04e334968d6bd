//! The test that a factor explains more than chance: permutations of what is not explained yet.

use fastrand::Rng;
use statrs::function::beta::beta_reg;

use super::basis::{Basis, dot};
use super::factor::Form;

/// Permutations at most.
const WAYS: usize = 9999;
/// After so many permutations that explain as much the factor explains nothing (Besag and Clifford 1991).
const ENOUGH: usize = 20;

/// The part of a rest that a factor explains.
#[derive(Clone, Debug)]
pub(super) struct Tested {
    /// The place of the form that explains most.
    pub form: usize,
    /// The share that it explains, less what the best form explains by chance; 0 or more.
    pub share: f64,
    pub p: f64,
}

/// A form in what the basis leaves: orthonormal columns.
struct Columns(Vec<Vec<f64>>);

impl Tested {
    /// Tests a factor by its forms on the rest that a basis leaves. `None`: the factor is explained by the basis.
    pub fn new(forms: &[Form], basis: &Basis, rest: &[f64]) -> Option<Tested> {
        let orthonormal = |form: &Form| {
            let mut extended = basis.clone();
            let new = extended.extend(&form.columns);
            Columns(extended.columns.split_off(extended.columns.len() - new))
        };
        let columns: Vec<Columns> = forms.iter().map(orthonormal).collect();
        let freedom = rest.len().saturating_sub(basis.columns.len()) as f64;
        let best = |values: &[f64], squares: f64| {
            let mut found: Option<(usize, f64, f64)> = None;
            // Of forms with one column that with the largest share has the least p.
            let mut single: Option<(usize, f64)> = None;
            for (place, Columns(of)) in columns.iter().enumerate() {
                let share = of.iter().map(|column| dot(column, values).powi(2)).sum::<f64>() / squares;
                match of.len() {
                    0 => {}
                    1 if single.is_some_and(|(_, most)| share <= most) => {}
                    1 => single = Some((place, share)),
                    terms => {
                        let p = beyond(share, terms as f64, freedom);
                        if found.is_none_or(|(.., least)| p < least) {
                            found = Some((place, share, p));
                        }
                    }
                }
            }
            let single = single.map(|(place, share)| (place, share, beyond(share, 1.0, freedom)));
            match (single, found) {
                (Some(one), Some(other)) if other.2 < one.2 => Some(other),
                (one, other) => one.or(other),
            }
        };
        let (form, explained, least) = best(rest, dot(rest, rest))?;
        let mut random = Rng::with_seed(1);
        let mut shuffled = rest.to_vec();
        let (mut ways, mut as_much, mut sum) = (0, 0, 0.0);
        while ways < WAYS && as_much < ENOUGH {
            random.shuffle(&mut shuffled);
            let values = basis.rest(&shuffled);
            let Some((_, share, p)) = best(&values, dot(&values, &values)) else { break };
            (ways, sum) = (ways + 1, sum + share);
            as_much += usize::from(p <= least);
        }
        let by_chance = if ways > 0 { sum / ways as f64 } else { 0.0 };
        let p = if as_much == ENOUGH { as_much as f64 / ways as f64 } else { (as_much + 1) as f64 / (ways + 1) as f64 };
        Some(Tested { form, share: ((explained - by_chance) / (1.0 - by_chance)).max(0.0), p })
    }
}

/// The probability that so many columns explain this share of normal values or more by chance.
fn beyond(share: f64, terms: f64, freedom: f64) -> f64 {
    let others = freedom - terms;
    if others <= 0.0 || !share.is_finite() {
        return 1.0;
    }
    beta_reg(others / 2.0, terms / 2.0, (1.0 - share).clamp(0.0, 1.0))
}
