//! The rule with an option for each of its factors.

use anyhow::{Result, bail};
use clap::Args;
use mpitrace::categories::{Robust, Roth, Rule};

use crate::options::RuleOption;

/// The rule and its factors.
#[derive(Debug, Args)]
pub struct RuleOptions {
    #[command(flatten)]
    choice: RuleOption,
    /// roth: the warm-up ends at this repetition at the earliest [default: 10]
    #[arg(long, value_name = "K")]
    earliest_end: Option<u64>,
    /// roth: it ends where the smallest run time falls by this share of the median [default: 0.1]
    #[arg(long, value_name = "SHARE", value_parser = positive)]
    cliff: Option<f64>,
    /// roth: an outlier takes this many medians or more [default: 2]
    #[arg(long, value_name = "MEDIANS", value_parser = positive)]
    outlier_factor: Option<f64>,
    /// robust: a warm-up ends within this share of the repetitions [default: 1]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    latest_end: Option<f64>,
    /// robust: levels that differ by no more than this share are one [default: 0.02]
    #[arg(long, value_name = "SHARE", value_parser = positive)]
    smallest_change: Option<f64>,
    /// robust: an outlier lies at least this many standard deviations above its level [default: 3]
    #[arg(long, value_name = "DEVIATIONS", value_parser = positive)]
    outlier_deviations: Option<f64>,
}

impl RuleOptions {
    /// The rule that is asked for.
    ///
    /// # Errors
    /// An option of another rule: it would change nothing.
    pub fn rule(&self) -> Result<Rule> {
        let of_roth = [
            ("earliest-end", self.earliest_end.is_some()),
            ("cliff", self.cliff.is_some()),
            ("outlier-factor", self.outlier_factor.is_some()),
        ];
        let of_robust = [
            ("latest-end", self.latest_end.is_some()),
            ("smallest-change", self.smallest_change.is_some()),
            ("outlier-deviations", self.outlier_deviations.is_some()),
        ];
        let foreign: &[(&str, bool)] = match self.choice.rule {
            Rule::Roth(_) => &of_robust,
            Rule::Robust(_) => &of_roth,
            Rule::Tukey | Rule::None => &[],
        };
        if let Some((name, _)) = foreign.iter().find(|(_, given)| *given) {
            let owner = if of_roth.iter().any(|(of_roth, _)| of_roth == name) { "roth" } else { "robust" };
            bail!("--{name} is an option of --method {owner}");
        }
        Ok(match self.choice.rule {
            Rule::Roth(roth) => Rule::Roth(Roth {
                earliest_end: self.earliest_end.unwrap_or(roth.earliest_end),
                cliff: self.cliff.unwrap_or(roth.cliff),
                outlier: self.outlier_factor.unwrap_or(roth.outlier),
            }),
            Rule::Robust(robust) => Rule::Robust(Robust {
                latest_end: self.latest_end.unwrap_or(robust.latest_end),
                smallest_change: self.smallest_change.unwrap_or(robust.smallest_change),
                outlier_deviations: self.outlier_deviations.unwrap_or(robust.outlier_deviations),
            }),
            rule => rule,
        })
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
