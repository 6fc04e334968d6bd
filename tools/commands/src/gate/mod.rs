//! `mpitrace gate`: is a program slower than its baseline? For continuous integration.

mod baseline;
mod result;
mod written;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::{Args, value_parser};
use mpitrace_show::output::{self, Output};
use mpitrace_statistics::comparison::Decision;

use super::{compare, run};
use crate::exit::FINDING;
use baseline::Baseline;
use result::Outcome;

/// Run a program several times and fail if it is slower than its baseline
///
/// The baseline's folder has a file `command`: the command line that runs it, a word a line, or all of it on one line
/// without quotes. Then runs of both alternate in random order. Or it has traces of earlier runs (`mpitrace run --runs
/// 10 -o DIR/x.mpitrace`), with which the runs are compared; what else has changed since then on the machine counts,
/// too.
///
/// The time of the whole job decides. Exit code 0: passed; 1: slower; 3: not decided, since a difference of 5 % might
/// not have been seen: make more runs. The output folder gets the traces, summary.md, junit.xml, bmf.json (Bencher's
/// format) and gate.json.
#[derive(Debug, Args)]
#[command(override_usage = "mpitrace gate [OPTIONS] --baseline DIR -- LAUNCHER ...")]
pub struct Arguments {
    /// The folder of the baseline
    #[arg(long, value_name = "DIR")]
    baseline: PathBuf,
    /// Runs of each
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = value_parser!(u32).range(2..=10_000))]
    runs: u32,
    /// A new folder for traces and results
    #[arg(short, long, value_name = "DIR", default_value = "mpitrace-gate")]
    output: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// The command that starts the job
    #[arg(value_name = "LAUNCHER", required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
}

/// The exit code where nothing is decided.
const NOT_DECIDED: u8 = 3;

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let baseline = Baseline::find(&arguments.baseline)?;
    let folder = &arguments.output;
    let new = std::fs::create_dir(folder);
    new.with_context(|| format!("{}: cannot be made; move it away, or name another folder (-o)", folder.display()))?;
    let name = std::path::absolute(folder)?.join("x.mpitrace");
    let begun = std::time::Instant::now();
    let [before, now] = traces(arguments, &baseline, &name)?;
    let seconds = begun.elapsed().as_secs_f64();
    let before_side = compare::read_set('A', &before)?;
    let outcome = Outcome::new(&before_side, &compare::read_set('B', &now)?, &baseline, seconds)?;
    written::all(&outcome, folder)?;
    if arguments.json {
        output::json(output, "gate", &outcome)?;
    } else {
        writeln!(output, "{}", outcome.sentence)?;
    }
    Ok(match outcome.decision {
        Decision::Passed => ExitCode::SUCCESS,
        Decision::Slower => ExitCode::from(FINDING),
        Decision::NotDecided => ExitCode::from(NOT_DECIDED),
    })
}

/// The traces of the baseline and of now, after their runs.
fn traces(arguments: &Arguments, baseline: &Baseline, name: &Path) -> Result<[Vec<PathBuf>; 2]> {
    let runs = arguments.runs;
    let (code, traces) = match baseline {
        Baseline::Command(command) => {
            let code = run::shuffled(&[command, &arguments.command], runs, name)?;
            (code, [0, 1].map(|job| run::traces_of(job, 2, runs, name)))
        }
        Baseline::Traces(before) => {
            let code = run::shuffled(&[&arguments.command], runs, name)?;
            (code, [before.clone(), run::traces_of(0, 1, runs, name)])
        }
    };
    ensure!(code == 0, "a run ended with exit code {code}: nothing is compared");
    let missing = traces.iter().flatten().find(|trace| !trace.exists());
    ensure!(missing.is_none(), "a run left no trace: nothing is compared; `mpitrace doctor` says what works here");
    Ok(traces)
}
