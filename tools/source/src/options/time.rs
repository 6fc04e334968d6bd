//! The definition of the run time.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mpitrace_statistics::names::Named;
use mpitrace_trace::run_time::RunTime;

/// The run time that is meant.
#[derive(Clone, Copy, Debug, Args)]
pub struct TimeOption {
    /// The run time of a repetition
    #[arg(long, value_name = "TIME", default_value = RunTime::default().name(), value_parser = parser())]
    pub time: RunTime,
}

fn parser() -> impl TypedValueParser<Value = RunTime> {
    let names = RunTime::ALL.map(|time| PossibleValue::new(time.name()).help(time.help()));
    PossibleValuesParser::new(names).map(|name| RunTime::named(&name).unwrap_or_default())
}
