//! What can be asked of `stats`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mpitrace::run_time::RunTime;
use mpitrace::statistics::schemes::{Measurement, Removal, Scheme};
use mpitrace::stopping::Rule;

use crate::options::{Input, RuleOption, TimeOption};

/// A scheme has its own.
const NOT_WITH_SCHEME: [&str; 7] = ["time", "timing", "per_rank", "runs", "confidence", "half_width", "seed"];

/// The statistics of the run times of each operation
///
/// Quantiles with intervals that hold for any distribution, spread, modes, dependence of the repetitions on each other,
/// where the series settles, completion times, and how many repetitions are enough. All repetitions count that every
/// rank finished and kept, unless --category or --remove leaves some out; what is left out is counted. With --operation
/// all of it on a page, else a row for each operation; --json has everything for each.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    pub input: Input,
    /// Only this operation, with all of its numbers
    #[arg(long, value_name = "N")]
    pub operation: Option<usize>,
    #[command(flatten)]
    pub time: TimeOption,
    /// The run time, by its name in MPIBlib: the root's own (root), the longest on any rank (maximum), first entry to
    /// last exit (global)
    #[arg(long, conflicts_with = "time", value_name = "METHOD")]
    pub timing: Option<Timing>,
    /// Only the repetitions of this category
    #[arg(long, default_value = "all")]
    pub category: Wanted,
    #[command(flatten)]
    pub rule: RuleOption,
    /// Leave out outliers: outside of Tukey's fences, or above twice the 99th percentile (mpibench). The default of a
    /// scheme is its benchmark's own
    #[arg(long, value_name = "RULE")]
    pub remove: Option<Remove>,
    /// The numbers of each rank as well
    #[arg(long)]
    pub per_rank: bool,
    /// Instead: one number by a data processing scheme of Hunold and Carpen-Amarie, of the repetitions that count. Which
    /// ones a benchmark counts --repetitions says; its release of today may measure otherwise
    #[arg(long, value_name = "SCHEME", conflicts_with_all = NOT_WITH_SCHEME)]
    pub scheme: Option<SchemeName>,
    /// How the scheme measures: each call (ms1), or a loop from its first entry to its last exit (ms2)
    #[arg(long, value_name = "SCHEME", requires = "scheme")]
    pub measurement: Option<MeasurementName>,
    /// How many repetitions a loop has: for ps3, ps7 and ps8; all, if it is not given
    #[arg(long = "loop", value_name = "K", requires = "scheme", value_parser = clap::value_parser!(u32).range(1..))]
    pub in_loop: Option<u32>,
    /// The confidence of the intervals
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, value_parser = share)]
    pub confidence: f64,
    /// Enough repetitions make half of the interval this share of the value
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = share)]
    pub half_width: f64,
    /// For non-blocking operations: the time of the work between start and wait alone, for the overhead by work
    #[arg(long, value_name = "NS", conflicts_with_all = ["scheme", "synchronisation_check"])]
    pub work: Option<f64>,
    /// Also show where a program that uses the stopping rule would have stopped: at least MIN and at most MAX
    /// repetitions, with --half-width and --confidence
    #[arg(long, value_name = "MIN,MAX", value_parser = between, conflicts_with_all = ["scheme", "synchronisation_check"])]
    pub stopping: Option<Rule>,
    /// Further runs of the same job, to find how many runs are enough; FILE itself counts once
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub runs: Vec<PathBuf>,
    /// The seed of the bootstrap: the same one gives the same interval
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Instead: how the benchmark synchronises its ranks, how far apart they started, and which repetitions it discards
    #[arg(long, conflicts_with_all = ["scheme", "per_rank", "runs", "remove", "time", "timing"])]
    pub synchronisation_check: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// The timing methods of MPIBlib (Lastovetsky et al.).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Timing {
    /// On the root, else on rank 0.
    Root,
    /// The longest on any rank.
    Maximum,
    /// From the first entry to the last exit.
    Global,
}

/// Which repetitions are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Wanted {
    All,
    First,
    Warmup,
    Outlier,
    Good,
    /// All after the warm-up: outlier and good
    Steady,
}

/// The rules of outliers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Remove {
    None,
    Tukey,
    Mpibench,
}

/// The data processing schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemeName {
    /// MPIBlib: mean of the longest time on any rank, with its interval
    Ps2,
    /// OSU, mpicroscope: least, largest and mean of the ranks' means
    Ps3,
    /// MPIBlib in global time: mean of first entry to last exit, with its interval
    Ps4,
    /// MPIBench: least, largest and mean of all times of all ranks up to twice their 99th percentile
    Ps5,
    /// NBCBench: least, largest, mean and median of each rank, the largest over the ranks
    Ps6,
    /// Intel MPI Benchmarks, Phloem: least, largest and mean of the ranks' loops
    Ps7,
    /// mpptest: the least of the root's loops
    Ps8,
}

/// The measurement schemes that a trace can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MeasurementName {
    Ms1,
    Ms2,
}

impl Arguments {
    /// Which run time is meant; the root's own counts as local, since it needs no global time.
    pub fn run_time(&self) -> RunTime {
        match self.timing {
            Some(Timing::Root | Timing::Maximum) => RunTime::Local,
            Some(Timing::Global) => RunTime::Global,
            None => self.time.time,
        }
    }

    /// Its name.
    pub fn time_name(&self) -> &'static str {
        match self.timing {
            Some(Timing::Root) => "root",
            _ => self.run_time().name(),
        }
    }

    /// Which outliers are left out, where no scheme says so by itself.
    pub fn removal(&self) -> Removal {
        self.remove.map_or(Removal::None, Removal::from)
    }
}

impl From<Remove> for Removal {
    fn from(rule: Remove) -> Removal {
        match rule {
            Remove::None => Removal::None,
            Remove::Tukey => Removal::Tukey,
            Remove::Mpibench => Removal::MpiBench,
        }
    }
}

impl From<SchemeName> for Scheme {
    fn from(name: SchemeName) -> Scheme {
        match name {
            SchemeName::Ps2 => Scheme::Ps2,
            SchemeName::Ps3 => Scheme::Ps3,
            SchemeName::Ps4 => Scheme::Ps4,
            SchemeName::Ps5 => Scheme::Ps5,
            SchemeName::Ps6 => Scheme::Ps6,
            SchemeName::Ps7 => Scheme::Ps7,
            SchemeName::Ps8 => Scheme::Ps8,
        }
    }
}

impl From<MeasurementName> for Measurement {
    fn from(name: MeasurementName) -> Measurement {
        match name {
            MeasurementName::Ms1 => Measurement::Ms1,
            MeasurementName::Ms2 => Measurement::Ms2,
        }
    }
}

/// The name that the option's value has.
pub fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// The minimum and maximum of a stopping rule; its error and confidence are separate options.
fn between(text: &str) -> Result<Rule, String> {
    let numbers =
        text.split_once(',').and_then(|(minimum, maximum)| Some((minimum.parse().ok()?, maximum.parse().ok()?)));
    let (minimum, maximum) = numbers.ok_or("expected two whole numbers separated by a comma")?;
    Rule { minimum, maximum, ..Rule::default() }.check().map_err(|why| why.to_string())
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err("not a number between 0 and 1".into()),
    }
}
