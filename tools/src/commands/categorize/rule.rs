//! The methods and their options.

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use mpitrace::categories::{Categories, NotFinite, Robust, RobustCategories, Roth};

use crate::source::RunTimes;

/// The method and its options.
#[derive(Debug, Args)]
pub struct RuleArguments {
    /// The rule
    #[arg(long, default_value = "roth")]
    method: Method,
    /// roth: the warm-up ends at this repetition at the earliest [default: 10]
    #[arg(long, value_name = "K")]
    earliest_end: Option<u64>,
    /// roth: it ends where the smallest run time falls by this share of the median [default: 0.1]
    #[arg(long, value_name = "SHARE", value_parser = positive)]
    cliff: Option<f64>,
    /// An outlier takes this many medians, by robust those of its own level
    #[arg(long, value_name = "MEDIANS", default_value_t = Roth::default().outlier, value_parser = positive)]
    outlier_factor: f64,
    /// robust: a warm-up ends within this share of the repetitions [default: 0.25]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    latest_end: Option<f64>,
    /// robust: levels that differ by no more than this share are one [default: 0.02]
    #[arg(long, value_name = "SHARE", value_parser = positive)]
    smallest_change: Option<f64>,
    /// robust: an outlier is so many quartile distances above the upper quartile [default: 3]
    #[arg(long, value_name = "DISTANCES", value_parser = positive)]
    fence: Option<f64>,
    /// robust: and so many standard deviations, by the median absolute deviation, above the median [default: 5]
    #[arg(long, value_name = "DEVIATIONS", value_parser = positive)]
    mad: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Method {
    Roth,
    Robust,
}

/// A rule with all of its factors.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// Of the thesis.
    Roth(Roth),
    /// Our own.
    Robust(Robust),
}

/// What a rule finds.
#[derive(Debug)]
pub enum Found {
    /// Of the thesis.
    Roth(Categories),
    /// Our own.
    Robust(RobustCategories),
}

impl RuleArguments {
    /// The rule that is asked for.
    ///
    /// # Errors
    /// An option of the other method: it would change nothing.
    pub fn rule(&self) -> Result<Rule> {
        let of_roth = [("earliest-end", self.earliest_end.is_some()), ("cliff", self.cliff.is_some())];
        let of_robust = [
            ("latest-end", self.latest_end.is_some()),
            ("smallest-change", self.smallest_change.is_some()),
            ("fence", self.fence.is_some()),
            ("mad", self.mad.is_some()),
        ];
        let (foreign, owner) = match self.method {
            Method::Roth => (&of_robust[..], "robust"),
            Method::Robust => (&of_roth[..], "roth"),
        };
        let given = foreign.iter().find(|(_, given)| *given);
        ensure!(given.is_none(), "--{} is an option of --method {owner}", given.map_or("", |(name, _)| name));
        let (roth, robust) = (Roth::default(), Robust::default());
        Ok(match self.method {
            Method::Roth => Rule::Roth(Roth {
                earliest_end: self.earliest_end.unwrap_or(roth.earliest_end),
                cliff: self.cliff.unwrap_or(roth.cliff),
                outlier: self.outlier_factor,
            }),
            Method::Robust => Rule::Robust(Robust {
                latest_end: self.latest_end.unwrap_or(robust.latest_end),
                smallest_change: self.smallest_change.unwrap_or(robust.smallest_change),
                outlier: self.outlier_factor,
                fence: self.fence.unwrap_or(robust.fence),
                mad: self.mad.unwrap_or(robust.mad),
                ..robust
            }),
        })
    }
}

impl Rule {
    /// The name in options and in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Rule::Roth(_) => "roth",
            Rule::Robust(_) => "robust",
        }
    }

    /// Applies it.
    ///
    /// # Errors
    /// A run time that is not finite.
    pub fn apply(&self, run_times: &RunTimes<'_>) -> Result<Found, NotFinite> {
        let (repetition, run_time_ns) = (&run_times.repetition, &run_times.run_time_ns);
        Ok(match self {
            Rule::Roth(rule) => Found::Roth(rule.categorize(repetition, run_time_ns)),
            Rule::Robust(rule) => Found::Robust(rule.categorize(repetition, run_time_ns)?),
        })
    }
}

impl Found {
    /// The categories alone.
    pub fn categories(&self) -> &Categories {
        match self {
            Found::Roth(categories) => categories,
            Found::Robust(found) => &found.categories,
        }
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        _ => Err("not a number above 0".into()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err("not a number from 0 to 1".into()),
    }
}
