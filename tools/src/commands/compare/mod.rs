//! `mpitrace compare`: two sets of runs, tested.

mod factors;
mod forest;
pub mod identity;
mod page;
mod reduce;
mod result;
mod runs;
mod sentence;
mod share;
mod side;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use clap::Args;
use mpitrace::categories::Rule;
use mpitrace::comparison::{Alternative, Settings, Test, Verdict};
use mpitrace::run_time::RunTime;

use super::FINDING;
use crate::options::{Format, FromOption, ReductionOption, TimeOption, named};
use crate::output::{self, Output};
use crate::progress::Progress;
use side::Side;

/// Compare two sets of runs: which is faster, by how much, and is it chance?
///
/// Each file is a run. The first rows are the whole job, from MPI_Init to MPI_Finalize, and its ranks' time in MPI; then
/// come the operations. First, warm-up and outliers are left out per run, and counted; each run is one median; the
/// medians of A and B are tested, corrected for the number of operations by Holm's method: * 0.05, ** 0.01, *** 0.001.
/// A crossing is an operation of which one side is faster in the median and slower in the 95th percentile, outliers
/// included, both by intervals that are apart, with two runs a side or more. What was recorded of the runs and differs
/// between the sides is listed: it may be the reason. Exit code 1 where B is slower.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The runs of A
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    a: Vec<PathBuf>,
    /// The runs of B
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    b: Vec<PathBuf>,
    /// The alternative of the test; less: A's run times are less than B's
    #[arg(long, default_value = Alternative::default().name(), value_parser = named::<Alternative>())]
    alternative: Alternative,
    /// The test: on the means of the logarithms of the runs' numbers (welch), or on their ranks (wilcoxon), which takes
    /// more runs
    #[arg(long, default_value = Test::default().name(), value_parser = named::<Test>())]
    test: Test,
    #[command(flatten)]
    rule: ReductionOption,
    #[command(flatten)]
    time: TimeOption,
    #[command(flatten)]
    from: FromOption,
    /// Also a forest plot, of each operation's effect with its interval: FILE.svg, .png or .pdf
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// The options of a comparison.
struct Question {
    settings: Settings,
    rule: Rule,
    time: RunTime,
    from: Option<Format>,
}

impl Arguments {
    fn question(&self) -> Question {
        Question {
            settings: Settings { test: self.test, alternative: self.alternative },
            rule: self.rule.rule,
            time: self.time.time,
            from: self.from.format,
        }
    }
}

/// Compares them.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let question = arguments.question();
    // Before anything is computed.
    let forest = match arguments.output.as_deref() {
        Some(path) => Some((path, forest::Written::by_name(path)?)),
        None => None,
    };
    let runs_a = runs::group("a", &arguments.a, question.from)?;
    let runs_b = runs::group("b", &arguments.b, question.from)?;
    let progress = Progress::new((runs_a.len() + runs_b.len()) as u64);
    let a = Side::read(&runs_a, &question, &progress)?;
    let b = Side::read(&runs_b, &question, &progress)?;
    drop(progress);
    let paired = identity::pair(a.identities(), b.identities());
    if paired.pairs.is_empty() {
        let of = |side: &Side| side.keys().unwrap_or_else(|| "none".into());
        bail!("A and B have no operation in common; A has {}, B has {}", of(&a), of(&b));
    }
    let operations = result::compare(&paired.pairs, &a.operations, &b.operations, &question);
    let factors = factors::between(a.recorded(), b.recorded());
    let notes = [
        runs::in_both(&arguments.a, &arguments.b),
        a.notes("A"),
        b.notes("B"),
        paired.notes(),
        result::notes(&operations, &question),
    ]
    .concat();
    for note in notes {
        eprintln!("mpitrace: {}", crate::text::printable(&note));
    }
    // The whole job is one question, not one among those about its operations.
    let mut compared = result::compare(&a.common(&b), &a.whole, &b.whole, &question);
    let whole = compared.len();
    compared.extend(operations);
    let rows = forest::rows(&compared);
    if let Some((path, written)) = forest {
        ensure!(!rows.is_empty(), "{}: no operation has an effect to show", path.display());
        forest::write(&rows, path, written)?;
    }
    if arguments.json {
        output::json_rows(output, "compare", compared.iter().map(|compared| Ok(compared.json(&question, &factors))))?;
    } else {
        page::write(&compared, &rows, &factors, output)?;
    }
    // A job may be slower for what lies outside of its calls, and for outliers.
    let slower = compared[whole..].iter().any(|compared| compared.verdict() == Verdict::A);
    Ok(if slower { ExitCode::from(FINDING) } else { ExitCode::SUCCESS })
}
