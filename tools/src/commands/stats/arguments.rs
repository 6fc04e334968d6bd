//! The options of `stats`.

use clap::Args;

use super::selection::Wanted;
use crate::options::{Input, RuleOption, TimeOption};

/// Show the statistics of the run times of each operation
///
/// Quantiles with intervals that hold for any distribution, spread, modes, dependence of the repetitions on each other
/// and completion times. They are of the repetitions that every rank finished and kept, or of those of one --category.
/// One row for each operation; with --operation all numbers of one.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    pub input: Input,
    /// Only this operation, with all of its numbers
    #[arg(long, value_name = "N")]
    pub operation: Option<usize>,
    #[command(flatten)]
    pub time: TimeOption,
    /// Only the repetitions of this category
    #[arg(long, default_value = "all")]
    pub category: Wanted,
    #[command(flatten)]
    pub rule: RuleOption,
    /// The numbers of each rank as well
    #[arg(long)]
    pub per_rank: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}
