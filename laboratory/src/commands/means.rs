//! `mpitrace benchmark means`: the distribution of the means of samples of an operation's run times.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use mpitrace_commands::exit_code;
use mpitrace_show::output::{self, DataSink, Output};
use mpitrace_show::table::{Cell, Table, number, text, time};
use mpitrace_show::text;
use mpitrace_source::Source;
use mpitrace_source::numbers::selection::{Selection, Wanted};
use mpitrace_source::options::{Input, RuleOption, TimeOption};
use mpitrace_statistics::comparison::{SIGNIFICANCE, shapiro_wilk};
use mpitrace_statistics::{Sample, moments, sample_means};
use mpitrace_words::description::Description;
use serde::Serialize;

/// Show the distribution of the means of samples of run times, and from which size on it is normal
///
/// Samples are drawn at random, with replacement; the test is that of Shapiro and Wilk.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    /// Only this operation
    #[arg(long, value_name = "N")]
    operation: Option<usize>,
    #[command(flatten)]
    time: TimeOption,
    /// Only the repetitions of this category
    #[arg(long, default_value = "all")]
    category: Wanted,
    #[command(flatten)]
    rule: RuleOption,
    /// Repetitions of a sample
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_values_t = [10, 20, 30, 50, 100, 200, 300, 500])]
    sizes: Vec<usize>,
    /// Samples of each size
    #[arg(long, value_name = "N", default_value_t = 500)]
    samples: usize,
    /// The seed by which they are drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// As CSV: each mean
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// The means of samples of one size; ns.
#[derive(Debug, Serialize)]
struct Means {
    #[serde(flatten)]
    operation: Description,
    /// Repetitions that are drawn from.
    repetitions: usize,
    size: usize,
    mean_ns: Option<f64>,
    /// The standard deviation of the means.
    standard_deviation_ns: Option<f64>,
    /// The one that independent repetitions lead to: s / size^0.5.
    expected_deviation_ns: Option<f64>,
    p2_5_ns: Option<f64>,
    p97_5_ns: Option<f64>,
    /// The statistic of Shapiro and Wilk's test; `None`: all means are equal, or there are too few or too many.
    w: Option<f64>,
    p: Option<f64>,
    /// False if p <= 0.05.
    normal: Option<bool>,
    #[serde(skip)]
    means_ns: Vec<f64>,
}

impl Means {
    fn new(arguments: &Arguments, operation: &Description, run_time_ns: &[f64], size: usize) -> Means {
        let means_ns = sample_means(run_time_ns, size, arguments.samples, arguments.seed);
        let (of_means, sample) = (moments(&means_ns), Sample::new(&means_ns));
        let test = shapiro_wilk(&means_ns);
        let deviation = moments(run_time_ns).and_then(|moments| moments.standard_deviation);
        Means {
            operation: operation.clone(),
            repetitions: run_time_ns.len(),
            size,
            mean_ns: of_means.map(|moments| moments.mean),
            standard_deviation_ns: of_means.and_then(|moments| moments.standard_deviation),
            expected_deviation_ns: deviation.map(|deviation| deviation / (size as f64).sqrt()),
            p2_5_ns: sample.quantile(0.025),
            p97_5_ns: sample.quantile(0.975),
            w: test.map(|test| test.w),
            p: test.map(|test| test.p),
            normal: test.map(|test| test.p > SIGNIFICANCE),
            means_ns,
        }
    }
}

/// Shows them.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let source = Source::open(&arguments.input)?;
    let time = arguments.time.time;
    source.check(arguments.operation, time)?;
    source.warn(time);
    let mut all = Vec::new();
    for number in source.wanted(arguments.operation) {
        let selected = Selection::new(&source, number, time, arguments.rule.rule, arguments.category)?.run_time_ns;
        let operation = &source.operations()[number];
        all.extend(arguments.sizes.iter().map(|&size| Means::new(arguments, operation, &selected, size)));
    }
    match (arguments.json, arguments.csv) {
        (true, _) => output::json_rows(output, "benchmark-means", all.iter().map(Ok))?,
        (_, true) => write_csv(&all, output.data())?,
        _ => write_table(&all, output)?,
    }
    Ok(exit_code(&source))
}

fn write_csv(all: &[Means], output: &mut dyn Write) -> Result<()> {
    writeln!(output, "operation,size,mean_ns")?;
    for one in all {
        for mean in &one.means_ns {
            writeln!(output, "{},{},{mean}", one.operation.operation, one.size)?;
        }
    }
    Ok(())
}

fn write_table(all: &[Means], output: &mut Output) -> Result<()> {
    let mut table = Table::new(&[
        number("operation"),
        text("function"),
        number("bytes").spare(3),
        number("of"),
        number("size"),
        number("mean"),
        number("sd").spare(1),
        number("expected sd").spare(4),
        number("2.5 %"),
        number("97.5 %"),
        number("W").spare(2),
        text("normal"),
    ]);
    for one in all {
        let mut cells: Vec<Cell> = vec![
            one.operation.operation.to_string().into(),
            text::printable(&one.operation.function).into_owned().into(),
            text::optional(one.operation.bytes).into(),
            one.repetitions.to_string().into(),
            one.size.to_string().into(),
        ];
        let times = [one.mean_ns, one.standard_deviation_ns, one.expected_deviation_ns, one.p2_5_ns, one.p97_5_ns];
        cells.extend(times.map(time));
        let p = one.p.map(|p| format!("{p:.3}")).unwrap_or_default();
        cells.push(one.w.map(|w| format!("{w:.3}")).unwrap_or_default().into());
        cells.push(match one.normal {
            Some(true) => format!("may be (p {p})").into(),
            Some(false) => format!("no (p {p})").into(),
            None => String::new().into(),
        });
        table.row(cells);
    }
    let style = output.style;
    Ok(table.write(output, style)?)
}
