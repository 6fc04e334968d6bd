//! `mpitrace report`: the fingerprint of each operation.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use clap::Args;
use mpitrace_report::detail::{Detail, SHOWN};
use mpitrace_report::fingerprint::{Fingerprint, Overview, Report, Run};
use mpitrace_report::measured::Measured;
use mpitrace_report::picture_option::PictureOption;
use mpitrace_report::pictures::{ENDINGS, Written};
use mpitrace_report::timeline::Timeline;
use mpitrace_report::{make, page, pictures, terminal};
use mpitrace_show::destination::{Content, write_file};
use mpitrace_show::draw::terminal::Look;
use mpitrace_show::output::{self, Output};
use mpitrace_show::progress::{self, Progress};
use mpitrace_show::shell;
use mpitrace_source::Source;
use mpitrace_source::memory;
use mpitrace_source::options::{Input, RuleOption, TimeOption};
use mpitrace_statistics::categories::Rule;
use mpitrace_words::summary::Summary;

use super::info;
use crate::exit::exit_code;

/// Show the fingerprint of each operation: a page, pictures, or plots in the terminal
///
/// A fingerprint shows the run times of an operation: numbers with their intervals, histogram, box plot, distribution
/// function, run time per repetition, late ranks, and the counters, each by category. --method chooses the rule of the
/// colours; the end of the warm-up is shown by both rules.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    /// OUT.html: one page that needs nothing else; OUT.svg, .png or .pdf: the one picture of --plot and --operation,
    /// .csv: its values; otherwise a folder for pictures, in all four
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Only this operation
    #[arg(long, value_name = "N")]
    operation: Option<usize>,
    /// Only this kind of picture, such as histogram
    #[arg(long, value_name = "NAME", requires = "output")]
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

enum ReportTarget<'a> {
    Page(&'a Path),
    /// One kind of plot.
    File(&'a Path, Written, &'a str),
    Folder(&'a Path),
    Terminal,
    Nowhere,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let time = arguments.time.time;
    let place = place(arguments)?;
    let source = progress::during("reading", || Source::open(&arguments.input))?;
    source.check(arguments.operation, time)?;
    source.warn(time);
    source.warn_of_memory(arguments.operation, memory::PAGE);
    let report = report(&source, arguments, &place)?;
    match place {
        ReportTarget::Page(path) => {
            write_file(path, Content::Text, |file| page::write(&report, file))?;
        }
        ReportTarget::File(path, written, plot) => {
            pictures::write_one(&report, time, (path, written), plot, &arguments.picture.format())?;
        }
        ReportTarget::Folder(folder) => {
            let only = arguments.plot.as_deref();
            pictures::write(&report, time, folder, only, &arguments.picture.format())?;
        }
        ReportTarget::Terminal => {
            let look = Look::of_output(output.style);
            terminal::write(&report, time, look, output)?;
        }
        ReportTarget::Nowhere => {}
    }
    if arguments.json {
        output::json(output, "report", &report)?;
    }
    Ok(exit_code(&source))
}

fn report(source: &Source, arguments: &Arguments, place: &ReportTarget<'_>) -> Result<Report> {
    let for_terminal = matches!(place, ReportTarget::Terminal);
    let time = arguments.time.time;
    let wanted: Vec<usize> = source.wanted(arguments.operation).collect();
    let counters = wanted.iter().map(|&number| source.counters(number).len()).max().unwrap_or(0);
    let pictures = matches!(place, ReportTarget::Folder(_) | ReportTarget::File(..));
    let detail = Detail { pictures, ..Detail::new(wanted.len().min(SHOWN), counters, arguments.json) };
    let mut fingerprints = Vec::new();
    let mut overview = Vec::new();
    let mut notes = Vec::new();
    let progress = Progress::new(wanted.len() as u64);
    for number in wanted {
        let rule = arguments.rule.rule;
        let measured = if for_terminal {
            Measured::for_terminal(source, number, time)?
        } else {
            Measured::new(source, number, detail.cells)?
        };
        let fingerprint = make::fingerprint(measured, rule, &detail)?;
        progress.step();
        overview.push(make::overview(source, &fingerprint, rule, time));
        fingerprints.push(fingerprint);
        let of_operation = source.notes(number).iter().map(|note| format!("operation {number}: {note}"));
        notes.extend(of_operation);
    }
    if let Some(Range { start, end }) = arguments.input.repetitions {
        let to = if end == u64::MAX { String::new() } else { end.to_string() };
        notes.push(format!("of each operation only the repetitions {start}..{to} are looked at"));
    }
    notes.extend(keep_longest(&mut fingerprints, &mut overview));
    let files = shell::all_quoted(&arguments.input.files);
    let run = if for_terminal {
        only_summary(source, &files)
    } else {
        Run { timeline: source.traced().and_then(Timeline::new), ..run_facts(source, &files) }
    };
    Ok(Report {
        name: names(&arguments.input.files),
        generator: format!("mpitrace {}", env!("CARGO_PKG_VERSION")),
        complete: source.complete(),
        time: time.name(),
        method: arguments.rule.rule.name(),
        run,
        overview,
        fingerprints,
        notes,
    })
}

fn names(files: &[PathBuf]) -> String {
    let first = files.first().map(|file| name(file)).unwrap_or_default();
    match files.len() {
        0 | 1 => first,
        several => format!("{first} and {} more", several - 1),
    }
}

/// Keeps the operations that took longest in all, where there are more than are shown; says so.
fn keep_longest(fingerprints: &mut Vec<Fingerprint>, overview: &mut [Overview]) -> Option<String> {
    let operations = overview.len();
    if operations <= SHOWN {
        return None;
    }
    let took = |row: &Overview| row.median_ns.unwrap_or(0.0) * row.operation.repetitions as f64;
    let mut order: Vec<usize> = (0..operations).collect();
    order.sort_by(|&a, &b| took(&overview[b]).total_cmp(&took(&overview[a])));
    for &place in &order[SHOWN..] {
        overview[place].shown = false;
    }
    let mut shown = overview.iter().map(|row| row.shown);
    fingerprints.retain(|_| shown.next().unwrap_or(false));
    Some(format!(
        "{SHOWN} of {operations} operations are shown, those with the most time (median times repetitions); \
         --operation shows any other"
    ))
}

/// The destination. It is checked before anything is computed.
fn place(arguments: &Arguments) -> Result<ReportTarget<'_>> {
    let Some(path) = arguments.output.as_deref() else {
        return Ok(if arguments.json { ReportTarget::Nowhere } else { ReportTarget::Terminal });
    };
    if path.extension().is_some_and(|ending| ending == "html") {
        if let Some(option) = arguments.picture.given() {
            bail!("{option} is for pictures: -o names a folder or a picture, not {}", path.display());
        }
        ensure!(
            arguments.plot.is_none(),
            "--plot chooses among pictures: -o names a folder or a picture, not {}",
            path.display()
        );
        ensure!(!path.is_dir(), "{}: is a folder", path.display());
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        ensure!(folder.is_dir(), "{}: there is no folder {}", path.display(), folder.display());
        return Ok(ReportTarget::Page(path));
    }
    if let Some(written) = Written::by_ending(path).filter(|_| !path.is_dir()) {
        arguments.picture.check(written, path)?;
        let Some(plot) = arguments.plot.as_deref() else {
            bail!("{}: holds one picture: choose it with --plot, or let -o name a folder", path.display());
        };
        return Ok(ReportTarget::File(path, written, plot));
    }
    if path.exists() && !path.is_dir() {
        bail!("{}: is a file; the name of a page ends in .html, of a picture in {ENDINGS}", path.display());
    }
    if let Some(ending) = path.extension().and_then(|ending| ending.to_str())
        && ["htm", "jpg", "gif"].contains(&ending)
    {
        bail!("{}: the name of a page ends in .html, of a picture in {ENDINGS}", path.display());
    }
    if let Some(option) = arguments.picture.given_of_labels() {
        ensure!(arguments.plot.is_some(), "{option} is for one kind of plot: choose it with --plot");
    }
    Ok(ReportTarget::Folder(path))
}

fn run_facts(source: &Source, name: &str) -> Run {
    let Some(traced) = source.traced() else { return Run::default() };
    let facts = mpitrace_words::info::Facts::new(&traced.run).with_samples(&traced.run.trace, traced.files());
    let lines = info::page::lines(&facts).into_iter().map(|(title, line)| (title.to_owned(), line));
    Run { facts: lines.collect(), factors: facts.factors, ..only_summary(source, name) }
}

fn only_summary(source: &Source, name: &str) -> Run {
    let Some(traced) = source.traced() else { return Run::default() };
    traced.run.account_knowing(|number| traced.account(number, Rule::default(), None));
    let summary = Summary::new(&traced.run, name).with_observed(&traced.run, traced.files());
    Run { summary: summary.lines(), verdict: summary.first_sentence().to_owned(), ..Run::default() }
}

fn name(file: &Path) -> String {
    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
