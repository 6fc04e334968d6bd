//! `mpitrace report`: the fingerprint of each operation.

mod one;
mod two;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use clap::Args;
use mpitrace::account::Account;
use mpitrace::categories::Rule;

use super::info;
use crate::options::{Input, PictureOption, RuleOption, TimeOption};
use crate::output::Output;
use crate::report::fingerprint::Run;
use crate::report::tracer;
use crate::source::Source;
use crate::summary::Summary;

/// Show the fingerprint of each operation: a page, pictures, or plots in the terminal
///
/// A fingerprint is all that the run times of an operation look like: numbers with their intervals, histogram, box
/// plot, distribution function, run time per repetition, late ranks, and the counters, each by category. --method
/// chooses the rule of the colours; the end of the warm-up is shown by both rules.
#[derive(Debug, Args)]
// With --compare the files come there.
#[command(mut_arg("files", |files| files.required(false).required_unless_present("compare")))]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    /// Lay two runs over each other
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with = "files")]
    compare: Option<Vec<PathBuf>>,
    /// OUT.html: one page that needs nothing else; otherwise a folder for pictures, as SVG, PNG and PDF
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Only this operation
    #[arg(long, value_name = "N", conflicts_with = "compare")]
    operation: Option<usize>,
    /// Of the pictures this kind alone, such as histogram
    #[arg(long, value_name = "NAME", requires = "output", conflicts_with = "compare")]
    plot: Option<String>,
    #[command(flatten)]
    picture: PictureOption,
    #[command(flatten)]
    rule: RuleOption,
    #[command(flatten)]
    time: TimeOption,
    /// As JSON: everything that the page shows
    #[arg(long)]
    json: bool,
}

/// Where it goes.
enum Place<'a> {
    Page(&'a Path),
    Folder(&'a Path),
    Terminal,
    /// JSON on stdout is all.
    Nowhere,
}

/// Shows them.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let time = arguments.time.time;
    if let Some(option) = arguments.picture.given().filter(|_| arguments.compare.is_some()) {
        bail!("{option} is for the pictures of one run, not for --compare");
    }
    let place = place(arguments)?;
    match arguments.compare.as_deref() {
        Some([a, b]) => two::run(arguments, [a, b], time, place, output),
        _ => one::run(arguments, time, place, output),
    }
}

/// Whether something can be written there is asked before anything is computed.
fn place(arguments: &Arguments) -> Result<Place<'_>> {
    let Some(path) = arguments.output.as_deref() else {
        return Ok(if arguments.json { Place::Nowhere } else { Place::Terminal });
    };
    if path.extension().is_some_and(|ending| ending == "html") {
        if let Some(option) = arguments.picture.given() {
            bail!("{option} is for pictures: -o names a folder, not {}", path.display());
        }
        ensure!(arguments.plot.is_none(), "--plot chooses among pictures: -o names a folder, not {}", path.display());
        ensure!(!path.is_dir(), "{}: is a folder", path.display());
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        ensure!(folder.is_dir(), "{}: there is no folder {}", path.display(), folder.display());
        return Ok(Place::Page(path));
    }
    if path.exists() && !path.is_dir() {
        bail!("{}: is a file, and pictures need a folder; a page's name ends in .html", path.display());
    }
    if let Some(ending) = path.extension().and_then(|ending| ending.to_str())
        && ["htm", "pdf", "png", "svg", "jpg", "gif"].contains(&ending)
    {
        bail!("{}: a page's name ends in .html, and pictures need a folder", path.display());
    }
    Ok(Place::Folder(path))
}

fn generator() -> String {
    format!("mpitrace {}", env!("CARGO_PKG_VERSION"))
}

/// What the operations of a run have in common.
fn run_facts(source: &Source) -> Run {
    let Some(traced) = source.traced() else { return Run::default() };
    let facts = info::facts::Facts::of(&traced.trace, &traced.operations, &traced.clock);
    let lines = info::page::lines(&facts).into_iter().map(|(title, line)| (title.to_owned(), line));
    let accounts = (0..traced.operations.operations.len()).map(|number| traced.account(number, Rule::default(), None));
    let account = Account::of_operations(&traced.trace, &traced.clock, accounts.collect());
    let summary = Summary::of_account(&account, &traced.trace, &traced.operations, &traced.clock, "FILE").lines();
    Run {
        summary,
        timeline: None,
        facts: lines.collect(),
        tracer: tracer::facts(&traced.trace, &traced.clock),
        factors: facts.factors,
    }
}

/// What people call a file.
fn name(file: &Path) -> String {
    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
