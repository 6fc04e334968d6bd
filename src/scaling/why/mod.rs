//! Why runs of one program differ: how much of the variance of their times is explained by what is known of them.
//!
//! The logarithms of the times are explained by one factor after the other. Each factor has forms (one node against the
//! others, all nodes, a day since when all is slower, a daily course); the form that explains most counts. A test by
//! permutations of the times shows if it explains more than chance: the best form of the factor is searched again in
//! each of them. The p-values of the factors are corrected for their number (Holm 1979). The factor that explains most
//! is taken first, then the others are tested on what it leaves (Freedman and Lane 1983), so that a factor that only
//! goes along with another one is not taken for a cause.

mod basis;
mod factor;
mod test;

use mpitrace_statistics::comparison::holm;
use mpitrace_statistics::models::Estimate;
use mpitrace_statistics::student_quantile;
use serde::Serialize;

use basis::Basis;
use factor::Form;
pub use factor::{Factor, Values};
use test::Tested;

/// Fewer runs say nothing.
pub const LEAST_RUNS: usize = 12;
/// Factors with this corrected p or less explain something: what is said without being asked for must be right.
const LEVEL: f64 = 0.005;

/// The factors of a program's runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Why {
    /// The runs.
    pub runs: usize,
    /// By how much they differ: the standard deviation of the logarithms of their times.
    pub deviation: f64,
    /// The share of the variance that the factors that explain something explain together, 0 to 1.
    pub explained: f64,
    /// The causes in the order in which they were taken, then the others by what they explain alone.
    pub factors: Vec<Explained>,
}

/// A factor, and what it explains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// Its name.
    pub factor: String,
    /// How many values it has among the runs.
    pub values: usize,
    /// The share of the variance that it explains by itself, less what it would explain by chance.
    pub share: f64,
    /// The probability of such a share by chance, beyond the factors above, corrected for the number of factors.
    pub p: f64,
    /// True: it explains something.
    pub is_cause: bool,
    /// The contrast that explains most, such as one node against the others.
    pub contrast: Option<Contrast>,
    /// True: its values are points in time.
    pub is_time: bool,
    /// The factor taken before, with which it goes along so that the two cannot be told apart.
    pub goes_along: Option<String>,
}

/// Runs with something against the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contrast {
    /// The value of the factor that these runs have: a node, an algorithm, a date since when (s since 1970).
    pub value: String,
    /// How many runs have it.
    pub runs: usize,
    /// So much longer they take: 0.05 for 5 %.
    pub longer: Estimate,
}

/// Explains the times (s, above 0) of runs by these factors; each has a value for each run. `None`: there are too few
/// runs, or they do not differ.
///
/// ```
/// use mpitrace_scaling::why::{Factor, Values, explain};
///
/// // Each third run is on node n2, and takes 1.2 s in place of 1.
/// let seconds = |run: i32| if run % 3 == 0 { 1.2 } else { 1.0 } + 0.001 * f64::from(run % 7);
/// let seconds: Vec<f64> = (0..30).map(seconds).collect();
/// let nodes = (0..30).map(|run| vec![if run % 3 == 0 { "n2" } else { "n1" }.to_owned()]).collect();
/// let found = explain(&seconds, &[Factor { name: "node".into(), values: Values::Sets(nodes) }]).expect("factors");
/// assert!(found.factors[0].is_cause && found.factors[0].share > 0.9);
/// ```
pub fn explain(seconds: &[f64], factors: &[Factor]) -> Option<Why> {
    let logarithms: Vec<f64> = seconds.iter().map(|seconds| seconds.ln()).collect();
    let count = logarithms.len();
    if count < LEAST_RUNS || logarithms.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut basis = Basis::of_mean(count);
    let all = basis.rest(&logarithms);
    let squares: f64 = all.iter().map(|rest| rest * rest).sum();
    let deviation = (squares / (count - 1) as f64).sqrt();
    if deviation < 1e-9 {
        return None;
    }
    let forms: Vec<Vec<Form>> = factors.iter().map(|factor| factor.values.forms()).collect();
    let mut left: Vec<usize> = (0..factors.len()).filter(|&place| !forms[place].is_empty()).collect();
    let alone: Vec<Option<Tested>> = forms.iter().map(|forms| Tested::new(forms, &basis, &all)).collect();
    let explained = |place: usize, p: f64, is_cause: bool| {
        let best = alone[place].as_ref();
        Explained {
            factor: factors[place].name.clone(),
            values: factors[place].values.count(),
            share: best.map_or(0.0, |best| best.share),
            p,
            is_cause,
            contrast: best.and_then(|best| contrast(&forms[place][best.form], &logarithms)),
            is_time: matches!(factors[place].values, Values::Times(_)),
            goes_along: None,
        }
    };
    let (mut found, mut first_p): (Vec<Explained>, Vec<(usize, f64)>) = (Vec::new(), Vec::new());
    let rest_of_all = loop {
        let rest = basis.rest(&logarithms);
        let tested: Vec<(usize, Tested)> =
            left.iter().filter_map(|&place| Some((place, Tested::new(&forms[place], &basis, &rest)?))).collect();
        let corrected = holm(&tested.iter().map(|(_, tested)| tested.p).collect::<Vec<f64>>());
        if found.is_empty() {
            first_p = tested.iter().map(|(place, _)| *place).zip(corrected.iter().copied()).collect();
        }
        let beyond_chance = tested.iter().zip(&corrected).filter(|(_, p)| **p <= LEVEL);
        let best = beyond_chance.max_by(|one, other| one.0.1.share.total_cmp(&other.0.1.share));
        let Some(((place, best), p)) = best else {
            let p = |place: usize| {
                let tested = tested.iter().position(|(tested, _)| *tested == place);
                tested.map_or(1.0, |at| corrected[at])
            };
            let mut others: Vec<Explained> = left.iter().map(|&place| explained(place, p(place), false)).collect();
            // What was beyond chance before the first factor was taken goes along with it.
            for (other, &place) in others.iter_mut().zip(&left) {
                let was = first_p.iter().any(|&(of, p)| of == place && p <= LEVEL);
                other.goes_along = found.first().filter(|_| was).map(|first| first.factor.clone());
            }
            others.sort_by(|one, other| other.share.total_cmp(&one.share));
            break others;
        };
        found.push(explained(*place, *p, true));
        basis.extend(&forms[*place][best.form].columns);
        left.retain(|other| other != place);
    };
    let rest: f64 = basis.rest(&logarithms).iter().map(|rest| rest * rest).sum();
    found.extend(rest_of_all);
    Some(Why { runs: count, deviation, explained: 1.0 - rest / squares, factors: found })
}

/// The contrast of a form that is one: the runs where its column is 1 against the others.
fn contrast(form: &Form, logarithms: &[f64]) -> Option<Contrast> {
    let value = form.value.clone()?;
    let column = &form.columns[0];
    let of = |with: bool| -> Vec<f64> {
        logarithms.iter().zip(column).filter(|(_, x)| (**x > 0.5) == with).map(|(y, _)| *y).collect()
    };
    let [with, without] = [true, false].map(of);
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let squares = |of: &[f64]| of.iter().map(|y| (y - mean(of)).powi(2)).sum::<f64>();
    let difference = mean(&with) - mean(&without);
    let freedom = (logarithms.len() - 2) as f64;
    let variance = (squares(&with) + squares(&without)) / freedom;
    let error = (variance * (1.0 / with.len() as f64 + 1.0 / without.len() as f64)).sqrt();
    let interval =
        student_quantile(freedom, 0.975).map(|t| [difference - t * error, difference + t * error].map(f64::exp_m1));
    Some(Contrast { value, runs: with.len(), longer: Estimate { value: difference.exp_m1(), interval } })
}

#[cfg(test)]
mod simulated_tests;
