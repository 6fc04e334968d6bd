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
use mpitrace::comparison::{Alternative, Average, Settings, Test, Verdict};
use mpitrace::run_time::RunTime;

use super::FINDING;
use crate::options::{Format, FromOption, PictureOption, ReductionOption, TimeOption, named};
use crate::output::{self, Output};
use crate::progress::Progress;
use side::Side;

/// Compare two sets of runs: which is faster, by how much, and is it chance?
///
/// Each file is a run. First, warm-up and outliers are left out per run, and counted; each run is one median; the
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
    /// What is tested; less: A's run times are less than B's
    #[arg(long, default_value = Alternative::default().name(), value_parser = named::<Alternative>())]
    alternative: Alternative,
    /// The test: on the means of the logarithms of the runs' numbers (welch), or on their ranks (wilcoxon), which takes
    /// more runs
    #[arg(long, default_value = Test::default().name(), value_parser = named::<Test>())]
    test: Test,
    /// What stands for a run
    #[arg(long, default_value = Average::default().name(), value_parser = named::<Average>())]
    statistic: Average,
    #[command(flatten)]
    rule: ReductionOption,
    #[command(flatten)]
    time: TimeOption,
    #[command(flatten)]
    from: FromOption,
    /// Also the run time over so many bins of the repetitions: does it drift?
    #[arg(long, value_name = "BINS", value_parser = clap::value_parser!(u32).range(2..))]
    drift: Option<u32>,
    /// The runs of each side, in the order given, are so many trials: also how well a trial's mean comes out again
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    trials: Option<u32>,
    /// Also a forest plot, of each operation's effect with its interval: FILE.svg, .png or .pdf
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    picture: PictureOption,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// What is asked for.
struct Question {
    settings: Settings,
    rule: Rule,
    time: RunTime,
    from: Option<Format>,
    drift: Option<usize>,
    trials: Option<usize>,
}

impl Arguments {
    fn question(&self) -> Question {
        Question {
            settings: Settings { test: self.test, alternative: self.alternative, average: self.statistic },
            rule: self.rule.rule,
            time: self.time.time,
            from: self.from.format,
            drift: self.drift.map(|bins| bins as usize),
            trials: self.trials.map(|trials| trials as usize),
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
    let files = [("a", &arguments.a), ("b", &arguments.b)]
        .map(|(name, files)| Ok((name, runs::group(name, files, question.from)?)));
    let [a, b]: [Result<_>; 2] = files;
    let ((name_a, runs_a), (name_b, runs_b)) = (a?, b?);
    if let Some(trials) = question.trials {
        for (name, runs) in [(name_a, &runs_a), (name_b, &runs_b)] {
            let count = runs.len();
            ensure!(count % trials == 0, "--{name}: {count} runs cannot be shared out evenly among {trials} trials");
        }
    }
    let progress = Progress::new((runs_a.len() + runs_b.len()) as u64);
    let a = Side::read(&runs_a, &question, &progress)?;
    let b = Side::read(&runs_b, &question, &progress)?;
    drop(progress);
    let paired = identity::pair(a.identities(), b.identities());
    if paired.pairs.is_empty() {
        let of = |side: &Side| side.keys().unwrap_or_else(|| "none".into());
        bail!("A and B have no operation in common; A has {}, B has {}", of(&a), of(&b));
    }
    let compared = result::compare(&paired.pairs, &a, &b, &question);
    let factors = factors::between(a.recorded(), b.recorded());
    let notes = [
        runs::in_both(&arguments.a, &arguments.b),
        a.notes("A"),
        b.notes("B"),
        paired.notes(),
        result::notes(&compared, &question),
    ]
    .concat();
    for note in notes {
        eprintln!("mpitrace: {}", crate::text::printable(&note));
    }
    let rows = forest::rows(&compared);
    if let Some((path, written)) = forest {
        ensure!(!rows.is_empty(), "{}: no operation has an effect to show", path.display());
        forest::write(&rows, &arguments.picture.format_or(forest::usual_size(&rows)), path, written)?;
    }
    if arguments.json {
        output::json_rows(output, "compare", compared.iter().map(|compared| Ok(compared.json(&question, &factors))))?;
    } else {
        page::write(&compared, &rows, &question, &factors, output)?;
    }
    let slower = compared.iter().any(|compared| compared.verdict() == Verdict::A);
    Ok(if slower { ExitCode::from(FINDING) } else { ExitCode::SUCCESS })
}
