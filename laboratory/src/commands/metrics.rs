//! `mpitrace benchmark metrics`: the metrics of an operation's run times, one repetition a row.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use mpitrace_commands::exit_code;
use mpitrace_show::output::{self, DataSink, Output, Style};
use mpitrace_show::table::{Rows, number, text};
use mpitrace_source::options::{Input, RuleOption, TimeOption};
use mpitrace_source::{RunTimes, Source};
use mpitrace_statistics::categories::{Category, Rule};
use mpitrace_statistics::{DEFAULT_WINDOW, Metrics, differences};
use serde::Serialize;

/// Show the metrics of Roth's thesis for the end of a warm-up, one row for each repetition
///
/// Cumulative mean, median and minimum, running mean and median, and their differences.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    /// The operation
    #[arg(long, value_name = "N")]
    operation: usize,
    #[command(flatten)]
    time: TimeOption,
    #[command(flatten)]
    rule: RuleOption,
    /// The running mean and median are of this many repetitions
    #[arg(long, value_name = "K", default_value_t = DEFAULT_WINDOW)]
    window: usize,
    /// As CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Shows them.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let source = Source::open(&arguments.input)?;
    let time = arguments.time.time;
    source.check(Some(arguments.operation), time)?;
    source.warn(time);
    let run_times = source.run_times(arguments.operation, time)?;
    let format = match (arguments.json, arguments.csv) {
        (true, _) => Format::Json,
        (_, true) => Format::Csv,
        _ => Format::Table,
    };
    write(&run_times, &arguments.rule.rule, arguments.window, format, output)?;
    Ok(exit_code(&source))
}

/// How the rows are written.
#[derive(Clone, Copy, Debug)]
enum Format {
    /// For people.
    Table,
    /// For spreadsheets.
    Csv,
    /// A list.
    Json,
}

#[derive(Debug, Serialize)]
struct MetricRow {
    repetition: u64,
    category: &'static str,
    run_time_ns: f64,
    cumulative_mean_ns: f64,
    cumulative_median_ns: f64,
    cumulative_minimum_ns: f64,
    running_mean_ns: f64,
    running_median_ns: f64,
    cumulative_mean_difference_ns: f64,
    cumulative_median_difference_ns: f64,
    cumulative_minimum_difference_ns: f64,
    running_mean_difference_ns: f64,
    running_median_difference_ns: f64,
}

/// The numbers' names, as JSON has them.
const NUMBERS: [&str; 11] = [
    "run_time_ns",
    "cumulative_mean_ns",
    "cumulative_median_ns",
    "cumulative_minimum_ns",
    "running_mean_ns",
    "running_median_ns",
    "cumulative_mean_difference_ns",
    "cumulative_median_difference_ns",
    "cumulative_minimum_difference_ns",
    "running_mean_difference_ns",
    "running_median_difference_ns",
];

impl MetricRow {
    fn numbers(&self) -> [f64; NUMBERS.len()] {
        [
            self.run_time_ns,
            self.cumulative_mean_ns,
            self.cumulative_median_ns,
            self.cumulative_minimum_ns,
            self.running_mean_ns,
            self.running_median_ns,
            self.cumulative_mean_difference_ns,
            self.cumulative_median_difference_ns,
            self.cumulative_minimum_difference_ns,
            self.running_mean_difference_ns,
            self.running_median_difference_ns,
        ]
    }
}

fn write(run_times: &RunTimes<'_>, rule: &Rule, window: usize, format: Format, output: &mut Output) -> Result<()> {
    let metrics = Metrics::new(&run_times.run_time_ns, window)?;
    let found = rule.apply(&run_times.repetition, &run_times.run_time_ns)?;
    if run_times.repetition.first().is_some_and(|&first| first > 0) {
        eprintln!(
            "mpitrace: the first repetition that was kept is {}: what is cumulative begins there",
            run_times.repetition[0]
        );
    }
    let category = &found.categories.category;
    let of = [
        &metrics.cumulative_mean,
        &metrics.cumulative_median,
        &metrics.cumulative_minimum,
        &metrics.running_mean,
        &metrics.running_median,
    ];
    let deltas = of.map(|metric| differences(metric));
    let rows = (0..run_times.repetition.len()).map(|row| MetricRow {
        repetition: run_times.repetition[row],
        category: category.get(row).map_or("", |category: &Category| category.name()),
        run_time_ns: run_times.run_time_ns[row],
        cumulative_mean_ns: of[0][row],
        cumulative_median_ns: of[1][row],
        cumulative_minimum_ns: of[2][row],
        running_mean_ns: of[3][row],
        running_median_ns: of[4][row],
        cumulative_mean_difference_ns: deltas[0][row],
        cumulative_median_difference_ns: deltas[1][row],
        cumulative_minimum_difference_ns: deltas[2][row],
        running_mean_difference_ns: deltas[3][row],
        running_median_difference_ns: deltas[4][row],
    });
    match format {
        Format::Json => output::json_rows(output, "benchmark-metrics", rows.map(Ok)),
        Format::Csv => write_csv(rows, output.data()),
        Format::Table => {
            let style = output.style;
            write_table(rows, output, style)
        }
    }
}

fn write_csv(mut rows: impl Iterator<Item = MetricRow>, output: &mut dyn Write) -> Result<()> {
    writeln!(output, "repetition,category,{}", NUMBERS.join(","))?;
    rows.try_for_each(|row| {
        write!(output, "{},{}", row.repetition, row.category)?;
        row.numbers().iter().try_for_each(|number| write!(output, ",{number}"))?;
        writeln!(output)?;
        Ok(())
    })
}

/// The columns of a table: shorter names, and `d` for a difference.
const TITLES: [&str; NUMBERS.len()] = [
    "run_time_ns",
    "cum_mean",
    "cum_median",
    "cum_min",
    "run_mean",
    "run_median",
    "d cum_mean",
    "d cum_median",
    "d cum_min",
    "d run_mean",
    "d run_median",
];

fn write_table(rows: impl Iterator<Item = MetricRow>, output: &mut dyn Write, style: Style) -> Result<()> {
    let mut columns = vec![(number("repetition"), 0), (text("category"), 7)];
    columns.extend(TITLES.iter().zip(0..).map(|(title, order)| (number(title).spare(order), 11)));
    let mut table = Rows::begin(&columns, output, style)?;
    for row in rows {
        let mut cells = vec![row.repetition.to_string(), row.category.to_owned()];
        cells.extend(row.numbers().map(|number| format!("{number:.1}")));
        table.row(output, &cells.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    Ok(table.end(output)?)
}
