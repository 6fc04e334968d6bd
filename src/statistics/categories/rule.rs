//! The choice of a rule: its name, its help, and what it finds in a series of run times.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::roth::Roth;
use super::{Categories, Category, Class, NotFinite, Robust};
use crate::{Sample, median_of, tukey_fences};

/// A rule that sorts repetitions into categories, with its factors.
///
/// ```
/// use mpitrace_statistics::categories::{Category, Rule};
///
/// let names = |rules: Vec<Rule>| rules.iter().map(Rule::name).collect::<Vec<_>>();
/// assert_eq!(names(Rule::of_warmup()), ["robust", "roth"]);
/// assert_eq!(names(Rule::all()), ["robust", "roth", "tukey", "none"]);
/// let tukey = Rule::named("tukey").expect("a rule");
/// assert!(tukey.help().starts_with("Outliers only"));
/// let found = tukey.apply(&[0, 1, 2, 3, 4], &[2e3, 2e3, 9e3, 2e3, 2e3])?;
/// assert_eq!(found.categories.category[2], Category::Outlier);
/// assert!(Rule::default().apply(&[0], &[f64::NAN]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Change points that are more than noise.
    Robust(Robust),
    /// The rule of Roth's thesis.
    Roth(Roth),
    /// Outliers only: what lies outside Tukey's fences, on either side.
    Tukey,
    /// Every repetition is good.
    None,
}

/// The findings of a rule in a series of run times.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleFindings {
    /// The category of each repetition.
    pub categories: Categories,
    /// The levels of the series; [`Rule::Robust`] alone finds them.
    pub levels: Option<Levels>,
}

/// The levels of a series, and what they make of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    /// The behaviour of the operation over time.
    pub class: Class,
    /// The numbers of the repetitions at which the level changes.
    pub change_points: Vec<u64>,
    /// The medians between the changes, ns.
    pub level_ns: Vec<f64>,
}

impl Levels {
    /// The level of the repetition with this number, ns; 1 where it has none.
    pub(super) fn of_repetition(levels: Option<&Levels>, number: u64) -> f64 {
        let at = |levels: &Levels| {
            let level = levels.change_points.partition_point(|&change| change <= number);
            levels.level_ns.get(level).copied()
        };
        levels.and_then(at).unwrap_or(1.0)
    }
}

/// With the counts of the categories; the keys of the levels only where the rule finds levels.
impl Serialize for RuleFindings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Categories { category, warmup_end, median_ns, overlaps } = &self.categories;
        let count = |of: Category| (of.name(), self.categories.count(of));
        let counts: BTreeMap<&str, usize> = Category::ALL.map(count).into_iter().collect();
        let names: Vec<&str> = category.iter().map(|category| category.name()).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("median_ns", median_ns)?;
        map.serialize_entry("warmup_end", warmup_end)?;
        map.serialize_entry("overlaps", overlaps)?;
        map.serialize_entry("counts", &counts)?;
        map.serialize_entry("category", &names)?;
        if let Some(Levels { class, change_points, level_ns }) = &self.levels {
            map.serialize_entry("class", class.name())?;
            map.serialize_entry("change_points", change_points)?;
            map.serialize_entry("level_ns", level_ns)?;
        }
        map.end()
    }
}

/// The rule where none is asked for.
impl Default for Rule {
    fn default() -> Self {
        Rule::Robust(Robust)
    }
}

impl Rule {
    /// The rules that find a warm-up, with their usual factors, in the order in which help lists them.
    pub fn of_warmup() -> Vec<Rule> {
        vec![Rule::Robust(Robust), Rule::Roth(Roth::default())]
    }

    /// All rules, with their usual factors, in the order in which help lists them.
    pub fn all() -> Vec<Rule> {
        [Rule::of_warmup(), vec![Rule::Tukey, Rule::None]].concat()
    }

    /// The rule with this name and its usual factors.
    pub fn named(name: &str) -> Option<Rule> {
        Rule::all().into_iter().find(|rule| rule.name() == name)
    }

    /// The name in options and in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Rule::Roth(_) => "roth",
            Rule::Robust(_) => "robust",
            Rule::Tukey => "tukey",
            Rule::None => "none",
        }
    }

    /// The description of what it does, in one line of help.
    pub fn help(&self) -> &'static str {
        match self {
            Rule::Roth(_) => "First, warm-up and outliers by the rule of Roth's thesis",
            Rule::Robust(_) => "First, warm-up and outliers by change points of the level",
            Rule::Tukey => "Outliers only: more than 1.5 interquartile ranges outside the quartiles, on either side",
            Rule::None => "Nothing: every repetition is good",
        }
    }

    /// Applies it to run times in ns, of the repetitions with these numbers, ascending.
    ///
    /// # Errors
    /// A run time that is not finite, where the rule needs all of them ([`Rule::Robust`]).
    pub fn apply(&self, repetition: &[u64], run_time_ns: &[f64]) -> Result<RuleFindings, NotFinite> {
        let categories = match self {
            Rule::Roth(rule) => rule.categorize(repetition, run_time_ns),
            Rule::Robust(rule) => {
                let found = rule.categorize(repetition, run_time_ns)?;
                let levels =
                    Levels { class: found.class, change_points: found.change_points, level_ns: found.level_ns };
                return Ok(RuleFindings { categories: found.categories, levels: Some(levels) });
            }
            Rule::Tukey => of_categories(tukey(run_time_ns), run_time_ns),
            Rule::None => of_categories(vec![Category::Good; run_time_ns.len()], run_time_ns),
        };
        Ok(RuleFindings { categories, levels: None })
    }
}

/// Outliers are smaller than Q1 - 1.5 IQR or larger than Q3 + 1.5 IQR (Hunold & Carpen-Amarie 2016, 3.5).
fn tukey(run_time_ns: &[f64]) -> Vec<Category> {
    let [lower, upper] = tukey_fences(&Sample::new(run_time_ns)).unwrap_or_default();
    let category = |&x: &f64| if x < lower || x > upper { Category::Outlier } else { Category::Good };
    run_time_ns.iter().map(category).collect()
}

fn of_categories(category: Vec<Category>, run_time_ns: &[f64]) -> Categories {
    Categories { category, warmup_end: None, median_ns: median_of(run_time_ns), overlaps: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_found_by_its_name() {
        for rule in Rule::all() {
            assert_eq!(Rule::named(rule.name()), Some(rule));
        }
        assert_eq!(Rule::named("guess"), None);
        assert!(Rule::of_warmup().contains(&Rule::default()));
    }

    #[test]
    fn a_rule_finds_what_its_own_type_finds() {
        let numbers: Vec<u64> = (0..100).collect();
        let mut x: Vec<f64> = (0..100).map(|i| 100.0 + f64::from(i % 10)).collect();
        x[..20].fill(150.0);
        x[60] = 10.0;
        let of = |rule: Rule| rule.apply(&numbers, &x).unwrap();
        assert_eq!(of(Rule::Roth(Roth::default())).categories, Roth::default().categorize(&numbers, &x));
        let robust = Robust.categorize(&numbers, &x).unwrap();
        let found = of(Rule::default());
        assert_eq!(found.categories, robust.categories);
        assert_eq!(found.levels.map(|levels| levels.class), Some(robust.class));
        assert_eq!(of(Rule::Tukey).categories.count(Category::Outlier), 21);
        assert_eq!(of(Rule::None).categories.count(Category::Good), 100);
    }
}
