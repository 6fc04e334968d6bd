//! The values of counters in each category.

use std::collections::BTreeMap;

use mpitrace_statistics::median;
use serde::Serialize;

use super::selection::Selection;
use crate::{Counter, Source, ValueKind};

/// The values of a counter in the repetitions of a category, those of all ranks together.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Values {
    pub values: usize,
    pub median: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
}

/// For each counter its values in each category. All complete repetitions are in here, also those of other categories
/// than the one asked for: that is what one compares.
pub fn by_name(
    source: &Source,
    number: usize,
    selection: &Selection<'_>,
) -> BTreeMap<String, BTreeMap<&'static str, Values>> {
    let ranks = source.ranks(number).numbers.len();
    let counters = source.counters(number);
    let counted = counters.iter().filter(|counter| counter.kind != ValueKind::Request);
    counted.map(|counter| (counter.name.clone(), by_category(counter, ranks, selection))).collect()
}

fn by_category(counter: &Counter<'_>, ranks: usize, selection: &Selection<'_>) -> BTreeMap<&'static str, Values> {
    let mut values: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    for index in 0..ranks {
        let Some(column) = counter.values(index) else { continue };
        for (value, category) in column.into_iter().zip(&selection.categories.category) {
            if value.is_finite() {
                values.entry(category.name()).or_default().push(value);
            }
        }
    }
    let facts = |(category, mut values): (&'static str, Vec<f64>)| {
        let facts = Values {
            values: values.len(),
            min: values.iter().copied().min_by(f64::total_cmp),
            max: values.iter().copied().max_by(f64::total_cmp),
            median: median(&mut values),
        };
        (category, facts)
    };
    values.into_iter().map(facts).collect()
}
