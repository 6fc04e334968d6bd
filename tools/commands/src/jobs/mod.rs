//! `mpitrace jobs`: the traces of many runs as a table.

#[cfg(feature = "columns")]
mod archive;
#[cfg(feature = "columns")]
mod columns;
mod conclusions;
mod find;
mod grouped;
mod headline;
mod index;
pub mod metrics;
mod row;
mod why;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use mpitrace_show::date;
use mpitrace_show::destination::{Content, Destination};
use mpitrace_show::output::{self, Output};
use mpitrace_show::table::{Table, number, text};
use mpitrace_show::text;
use mpitrace_statistics::jobs::SlowNode;
use mpitrace_words::summary::{percent, seconds};
use serde::Serialize;

use crate::exit::FINDING;
use conclusions::SlowerProgram;
use find::FoundRuns;
use grouped::By;
use headline::Kind;

pub use find::keep;
pub use row::RunRow;

/// Show the traces of many runs as a table, one row for each run
///
/// Folders are searched with all folders below them. The row of a trace is computed once, by `run` or here, and kept in
/// $XDG_CACHE_HOME/mpitrace. First come the run that lost most, those that hung, aborted or were killed, nodes on which
/// ranks compute for longer than the same ranks of the same program on other nodes, beyond chance, and programs that
/// became slower; then the 20 runs that lost most, the worst last. Exit code 1 if a trace cannot be read.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Folders of traces, or traces
    #[arg(value_name = "DIR", required_unless_present = "archive")]
    paths: Vec<PathBuf>,
    /// Only runs that began on this date or later: 2026-11-22, 2026-11-22T09:30:00Z, or 7d ago (h, d, w)
    #[arg(long, value_name = "DATE", value_parser = since)]
    since: Option<i64>,
    /// Only those of this user
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Only those of this program
    #[arg(long, value_name = "NAME")]
    program: Option<String>,
    /// All runs, sorted by this column, the worst last (started: the latest last; hours: of all ranks; lost: hours)
    #[arg(long, value_name = "COLUMN")]
    sort: Option<Sort>,
    /// One row for each of these instead of each run
    #[arg(long, value_name = "WHAT")]
    by: Option<By>,
    /// Why the runs of a program differ: what node, start time, algorithm, interruptions, library, build, arguments and
    /// settings explain of the variance of their times
    #[arg(long, conflicts_with_all = ["by", "format"])]
    why: bool,
    /// Runs for other tools, on standard output
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["by", "json"])]
    format: Option<Format>,
    /// Keep the rows in this Parquet file, and show those that it has of other traces, which may be gone, as well
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// The column by which rows are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sort {
    Started,
    Time,
    Mpi,
    Waiting,
    OffProcessor,
    Efficiency,
    Hours,
    #[value(alias = "loss")]
    Lost,
}

/// So many runs are shown where no column is named.
const SHOWN: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A row a run, compressed
    Parquet,
    /// Sums by program and user, for Prometheus' node_exporter
    Openmetrics,
}

/// The seconds since 1970 of a date, or of so long ago.
fn since(text: &str) -> Result<i64, String> {
    let now = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() as i64);
    let ago = || Some(now - date::length(text)?);
    let date = date::seconds(text).or_else(ago);
    date.ok_or_else(|| "a date is expected, as in 2026-11-22, or a length of time, as in 7d (h, d, w)".to_owned())
}

impl Arguments {
    /// True if the row is wanted. One of which it is not known when it began is of all dates.
    fn wants(&self, row: &RunRow) -> bool {
        let is_of = |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        let began = || row.started.as_deref().and_then(date::seconds);
        let is_late = self.since.is_none_or(|since| began().is_none_or(|began| began >= since));
        is_late && is_of(&self.user, &row.user) && is_of(&self.program, &row.program)
    }
}

impl Sort {
    /// The larger, the later in the table; rows that are equal come by their beginning.
    fn key(self, row: &RunRow) -> f64 {
        let all = row.rank_seconds.max(f64::MIN_POSITIVE);
        match self {
            Sort::Started => 0.0,
            Sort::Time => row.seconds,
            Sort::Mpi => row.mpi_share,
            Sort::Waiting => row.waiting_s / all,
            Sort::OffProcessor => row.off_processor_s / all,
            Sort::Efficiency => -row.efficiency.unwrap_or(f64::INFINITY),
            Sort::Hours => row.rank_seconds,
            Sort::Lost => row.lost_s(),
        }
    }
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    if arguments.format == Some(Format::Openmetrics) {
        // Prometheus takes a counter that falls for one that began again, and adds all of it.
        ensure!(
            arguments.since.is_none(),
            "--since with --format openmetrics: counters would fall as runs become older"
        );
        if arguments.archive.is_none() {
            eprintln!("mpitrace: these counters fall when traces are removed: --archive FILE keeps their rows");
        }
    }
    let FoundRuns { mut rows, unreadable } = find::rows(&arguments.paths)?;
    if let Some(file) = &arguments.archive {
        rows = archived(file, rows)?;
    }
    let found = rows.len();
    rows.retain(|row| arguments.wants(row));
    let by_time = |one: &RunRow, other: &RunRow| (&one.started, &one.file).cmp(&(&other.started, &other.file));
    let sort = arguments.sort.unwrap_or(Sort::Started);
    rows.sort_by(|one, other| sort.key(one).total_cmp(&sort.key(other)).then_with(|| by_time(one, other)));
    if rows.is_empty() && arguments.format.is_none() && !arguments.json {
        writeln!(output, "no runs{}", if found > 0 { format!(" match (found: {found})") } else { String::new() })?;
    }
    match (arguments.format, arguments.by) {
        (None, _) if rows.is_empty() && !arguments.json => {}
        (Some(format), _) => write_format(&rows, format, output)?,
        (None, _) if arguments.why => {
            let all = why::all(&rows);
            match arguments.json {
                true => output::json_rows(output, "jobs-why", all.iter().map(Ok))?,
                false => why::write(&all, output)?,
            }
        }
        (None, Some(by)) => {
            let groups = grouped::groups(&rows, by);
            match arguments.json {
                true => output::json_rows(output, "jobs-by", groups.iter().map(Ok))?,
                false => grouped::write(&groups, by, output)?,
            }
        }
        (None, None) if arguments.json => {
            let (slow, slower) = rayon::join(|| conclusions::slow_nodes(&rows), || conclusions::slower_programs(&rows));
            let concluded = |row| Ok(ConcludedRow::new(row, &slow, &slower));
            output::json_rows(output, "jobs", rows.iter().map(concluded))?;
        }
        (None, None) => write(&rows, arguments.sort, output)?,
    }
    Ok(if unreadable > 0 { ExitCode::from(FINDING) } else { ExitCode::SUCCESS })
}

/// A row as JSON has it.
#[derive(Serialize)]
struct ConcludedRow<'r> {
    #[serde(flatten)]
    row: &'r RunRow,
    kind: Kind,
    /// Nodes of the run that are slow.
    slow_hosts: Vec<&'r str>,
    /// By how much its program became slower before it; `null`: it did not.
    slower_by: Option<f64>,
}

impl<'r> ConcludedRow<'r> {
    fn new(row: &'r RunRow, slow: &[(String, SlowNode)], slower: &[SlowerProgram]) -> ConcludedRow<'r> {
        let hosts = row.hosts.iter().map(|host| host.host.as_str());
        let slow_hosts = hosts.filter(|host| slow.iter().any(|(name, _)| name == host)).collect();
        ConcludedRow { row, kind: Kind::of(row), slow_hosts, slower_by: conclusions::slower_by(slower, row) }
    }
}

/// The rows with those of the archive.
fn archived(file: &std::path::Path, rows: Vec<RunRow>) -> Result<Vec<RunRow>> {
    #[cfg(feature = "columns")]
    {
        archive::merged(file, rows)
    }
    #[cfg(not(feature = "columns"))]
    anyhow::bail!("{}: this mpitrace was built without Parquet ({} runs)", file.display(), rows.len())
}

fn write_format(rows: &[RunRow], format: Format, output: &mut Output) -> Result<()> {
    let mut destination = Destination::new("-".as_ref(), output, &[])?;
    match format {
        Format::Openmetrics => destination.stream(Content::Text, |sink| Ok(metrics::write(rows, sink)?)),
        #[cfg(feature = "columns")]
        Format::Parquet => destination.stream(Content::Compressed, |sink| columns::write(rows, sink)),
        #[cfg(not(feature = "columns"))]
        Format::Parquet => anyhow::bail!("this mpitrace was built without Parquet"),
    }
}

fn write(rows: &[RunRow], sort: Option<Sort>, output: &mut Output) -> Result<()> {
    let (mut lines, of_many) = rayon::join(|| headline::lines(rows), || conclusions::lines(rows));
    lines.extend(of_many);
    let style = output.style;
    for line in lines {
        for part in text::wrapped(&line, style.width) {
            writeln!(output, "{part}")?;
        }
    }
    let mut shown: Vec<&RunRow> = rows.iter().collect();
    if sort.is_none() {
        shown.sort_by(|one, other| Sort::Lost.key(one).total_cmp(&Sort::Lost.key(other)));
        shown.drain(..rows.len().saturating_sub(SHOWN));
    }
    table(&shown).write(output, style)?;
    let name = sort.unwrap_or(Sort::Lost).to_possible_value().filter(|_| rows.len() > 1);
    let name = name.map(|name| name.get_name().replace('-', " ")).unwrap_or_default();
    match (sort, rows.len() - shown.len()) {
        (_, 1..) => {
            writeln!(output, "{} of {} runs, sorted by {name}: --sort {name} shows all.", shown.len(), rows.len())?
        }
        (None | Some(Sort::Started), _) => {}
        _ if rows.len() > 1 => writeln!(output, "Sorted by {name}, the worst last.")?,
        _ => {}
    }
    Ok(())
}

/// The share that a loss is of the ranks' time, short.
fn lost(seconds: f64, of: f64) -> String {
    match seconds / of.max(f64::MIN_POSITIVE) {
        small if small < 0.001 => "< 0.1 %".to_owned(),
        share => percent(share),
    }
}

fn table(rows: &[&RunRow]) -> Table<'static> {
    let columns = [
        text("started").optional().spare(4),
        text("job").optional().spare(10),
        text("user").optional(),
        text("program").optional(),
        number("nodes").spare(8),
        number("ranks"),
        number("time").spare(2),
        number("rank h"),
        number("hung").optional().spare(5),
        number("in MPI").spare(6),
        number("waiting").spare(7),
        number("off processor").spare(9),
        number("efficiency"),
        number("lost").spare(1),
        number("lost h"),
        text("reason"),
        text("ended"),
        text("file").spare(3),
    ];
    let mut table = Table::new(&columns);
    for row in rows {
        let shown = |value: &Option<String>| text::printable(value.as_deref().unwrap_or_default()).into_owned();
        let share = |part: f64| if row.rank_seconds > 0.0 { percent(part / row.rank_seconds) } else { String::new() };
        table.row(vec![
            // To the minute.
            row.started.as_ref().map_or_else(String::new, |time| time[..16].replace('T', " ")),
            shown(&row.job),
            shown(&row.user),
            shown(&row.program),
            row.nodes.to_string(),
            row.ranks.to_string(),
            format!("{}{}", if row.seconds_is_bound { ">= " } else { "" }, seconds(row.seconds)),
            headline::hours(row.rank_seconds),
            if row.hung_s > 0.0 { share(row.hung_s) } else { String::new() },
            percent(row.mpi_share),
            share(row.waiting_s),
            share(row.off_processor_s),
            row.efficiency.map_or_else(String::new, percent),
            row.largest_loss.as_ref().map_or_else(String::new, |_| lost(row.lost_s(), row.rank_seconds)),
            row.largest_loss.as_ref().map_or_else(String::new, |_| headline::hours(row.lost_s())),
            headline::reason(row),
            text::printable(&row.ended).into_owned(),
            text::printable(&row.file).into_owned(),
        ]);
    }
    table
}
