//! Factors, and the forms in which they can explain times.

use std::collections::BTreeMap;

/// A fact of each run.
#[derive(Clone, Debug)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// A value for each run.
    pub values: Values,
}

/// The values of a factor, one for each run.
#[derive(Clone, Debug)]
pub enum Values {
    /// A name.
    Names(Vec<String>),
    /// Several names, such as those of nodes.
    Sets(Vec<Vec<String>>),
    /// A number.
    Numbers(Vec<f64>),
    /// A point in time, s since 1970.
    Times(Vec<i64>),
}

/// A way in which a factor explains times: columns of a linear model.
#[derive(Clone, Debug)]
pub(super) struct Form {
    /// A value for each run.
    pub columns: Vec<Vec<f64>>,
    /// Where it is one column of 0 and 1: the value that runs with 1 have.
    pub value: Option<String>,
}

/// A value that fewer runs have, or all others but so many, is no contrast.
const LEAST: usize = 3;
/// Points in time that are looked at as the first of the slower runs.
const PLACES: usize = 20;
const DAY_S: f64 = 86_400.0;

impl Values {
    /// How many values there are.
    pub fn count(&self) -> usize {
        match self {
            Values::Names(_) | Values::Sets(_) => self.members().len(),
            Values::Numbers(numbers) => distinct(numbers.iter().map(|number| number.to_bits())),
            Values::Times(times) => distinct(times.iter()),
        }
    }

    /// For each name the runs that have it.
    fn members(&self) -> BTreeMap<&str, Vec<usize>> {
        let mut members: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        match self {
            Values::Names(names) => {
                names.iter().enumerate().for_each(|(run, name)| members.entry(name).or_default().push(run));
            }
            Values::Sets(sets) => {
                for (run, set) in sets.iter().enumerate() {
                    set.iter().for_each(|name| members.entry(name).or_default().push(run));
                }
            }
            Values::Numbers(_) | Values::Times(_) => {}
        }
        members.values_mut().for_each(Vec::dedup);
        members
    }

    /// The ways in which it can explain times; none where it is the same in all runs.
    pub(super) fn forms(&self) -> Vec<Form> {
        match self {
            Values::Names(names) => of_members(&self.members(), names.len()),
            Values::Sets(sets) => of_members(&self.members(), sets.len()),
            Values::Numbers(numbers) if self.count() > 1 => {
                vec![Form { columns: vec![numbers.clone()], value: None }]
            }
            Values::Times(times) if self.count() > 1 => of_times(times),
            Values::Numbers(_) | Values::Times(_) => Vec::new(),
        }
    }
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> usize {
    values.collect::<std::collections::BTreeSet<T>>().len()
}

/// Each name against all others, and all of them together.
fn of_members(members: &BTreeMap<&str, Vec<usize>>, runs: usize) -> Vec<Form> {
    let is_contrast = |of: &&Vec<usize>| of.len() >= LEAST && runs - of.len() >= LEAST;
    let column = |of: &Vec<usize>| {
        let mut column = vec![0.0; runs];
        of.iter().for_each(|&run| column[run] = 1.0);
        column
    };
    let single = members.iter().filter(|(_, of)| is_contrast(of));
    let mut forms: Vec<Form> =
        single.map(|(name, of)| Form { columns: vec![column(of)], value: Some((*name).to_owned()) }).collect();
    // Of two names either one is both.
    if forms.len() > 2 && 3 * forms.len() < 2 * runs {
        forms.push(Form { columns: forms.iter().map(|form| form.columns[0].clone()).collect(), value: None });
    }
    forms
}

/// A steady change, a change at one of some points in time, and a daily course.
fn of_times(times: &[i64]) -> Vec<Form> {
    let (first, last) = (times.iter().min().copied().unwrap_or(0), times.iter().max().copied().unwrap_or(0));
    let since = |time: i64| (time - first) as f64;
    let trend = times.iter().map(|&time| since(time) / since(last)).collect();
    let mut forms = vec![Form { columns: vec![trend], value: None }];
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let places = sorted.len().min(PLACES + 1);
    for place in 1..places {
        let from = sorted[place * sorted.len() / places];
        let column: Vec<f64> = times.iter().map(|&time| f64::from(u8::from(time >= from))).collect();
        let with = column.iter().sum::<f64>() as usize;
        if with >= LEAST && times.len() - with >= LEAST {
            forms.push(Form { columns: vec![column], value: Some(from.to_string()) });
        }
    }
    if since(last) > DAY_S {
        let angle = |&time: &i64| std::f64::consts::TAU * (time as f64 / DAY_S).fract();
        let of = |of: fn(f64) -> f64| times.iter().map(angle).map(of).collect();
        forms.push(Form { columns: vec![of(f64::sin), of(f64::cos)], value: None });
    }
    forms
}
