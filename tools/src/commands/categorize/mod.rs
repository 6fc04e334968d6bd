//! `mpitrace categorize`: which repetitions are first, warm-up, outlier and good.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use mpitrace::categories::{Categories, Category, Roth};
use mpitrace::clock::Clock;
use mpitrace::operations::{Operation, Operations};
use mpitrace::run_time::RunTime;
use serde::{Serialize, Serializer};

use super::Input;
use crate::output::{Attribute, JsonList, Output, Style};
use crate::table::{Rows, Table, number, text};
use crate::text;

/// Sort the repetitions of each operation into first, warmup, outlier and good
///
/// roth is the rule of Roth's thesis. The first repetition is `first`. The warm-up ends at w, the first repetition at which
/// the smallest run time so far falls by 0.1 medians or more; w is 10 or later. A repetition of 2 medians or more is an
/// outlier, all others are good. What fits twice: first before warmup before outlier.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    /// Only this operation, and the category of each of its repetitions
    #[arg(long, value_name = "N")]
    operation: Option<usize>,
    /// The rule
    #[arg(long, default_value = "roth")]
    method: Method,
    /// The run time: the longest on any rank (local), first entry to last exit (global), last entry to last exit (last)
    #[arg(long, default_value = "local")]
    time: Time,
    /// The warm-up ends at this repetition at the earliest
    #[arg(long, value_name = "K", default_value_t = Roth::default().earliest_end)]
    earliest_end: u64,
    /// It ends where the smallest run time falls by this share of the median
    #[arg(long, value_name = "SHARE", default_value_t = Roth::default().cliff, value_parser = positive)]
    cliff: f64,
    /// An outlier takes this many medians
    #[arg(long, value_name = "MEDIANS", default_value_t = Roth::default().outlier, value_parser = positive)]
    outlier_factor: f64,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// The rules that there are.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Method {
    Roth,
}

/// The run times that there are.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Time {
    Local,
    Global,
    Last,
}

impl From<Time> for RunTime {
    fn from(time: Time) -> RunTime {
        match time {
            Time::Local => RunTime::Local,
            Time::Global => RunTime::Global,
            Time::Last => RunTime::Last,
        }
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        _ => Err("not a number above 0".into()),
    }
}

/// An operation's repetitions, categorized.
#[derive(Debug, Serialize)]
struct Categorized<'a> {
    operation: usize,
    function: &'a str,
    communicator: &'a str,
    bytes: Option<u64>,
    root: Option<i32>,
    ranks: u32,
    repetitions: usize,
    incomplete: u64,
    method: &'static str,
    time: &'static str,
    first_repetition: Option<u64>,
    median_ns: Option<f64>,
    warmup_end: Option<u64>,
    counts: Counts,
    overlaps: u64,
    repetition: Vec<u64>,
    #[serde(serialize_with = "names")]
    category: Vec<Category>,
    run_time_ns: Vec<f64>,
}

#[derive(Debug, Serialize)]
struct Counts {
    first: usize,
    warmup: usize,
    outlier: usize,
    good: usize,
}

/// Categorizes them.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let trace = arguments.input.open()?;
    let operations = Operations::of(&trace);
    super::check_operation(arguments.operation, operations.operations.len())?;
    let clock = Clock::of(&trace);
    super::warn_if_incomplete(&trace);
    if arguments.time != Time::Local && clock.domains.len() > 1 && clock.method == mpitrace::clock::Method::None {
        eprintln!(
            "mpitrace: the ranks read {} clocks that nothing has synchronised: only --time local is to be trusted",
            clock.domains.len()
        );
    }
    let Method::Roth = arguments.method;
    let rule = Roth { earliest_end: arguments.earliest_end, cliff: arguments.cliff, outlier: arguments.outlier_factor };
    let run_time = RunTime::from(arguments.time);
    let wanted = |number: &usize| arguments.operation.is_none_or(|wanted| wanted == *number);
    // One at a time: the run times of all operations together are as large as half the trace.
    let mut each = (0..operations.operations.len()).filter(wanted).map(|number| {
        let (repetition, run_time_ns) = operations.operations[number].run_times(&trace, &clock, run_time);
        let categories = rule.categorize(&repetition, &run_time_ns);
        Categorized::new(&operations, number, run_time, repetition, run_time_ns, categories)
    });
    if arguments.json {
        let mut list = JsonList::new(output)?;
        each.try_for_each(|categorized| list.push(&categorized))?;
        list.end()?;
        return Ok(super::shown(&trace));
    }
    let style = output.style;
    let mut table = table();
    let mut overlaps = 0;
    let mut listed = None;
    for categorized in each {
        table.row(categorized.cells());
        overlaps += categorized.overlaps;
        listed = arguments.operation.map(|_| categorized);
    }
    table.write(output, style)?;
    if overlaps > 0 {
        writeln!(output, "\noverlaps: also fit a category that comes later in first, warmup, outlier, good")?;
    }
    if let Some(categorized) = listed {
        writeln!(output)?;
        categorized.write_repetitions(output, style)?;
    }
    Ok(super::shown(&trace))
}

impl<'a> Categorized<'a> {
    fn new(
        operations: &'a Operations,
        number: usize,
        run_time: RunTime,
        repetition: Vec<u64>,
        run_time_ns: Vec<f64>,
        categories: Categories,
    ) -> Self {
        let operation: &Operation = &operations.operations[number];
        Categorized {
            operation: number,
            function: &operation.key.function,
            communicator: &operations.communicators[operation.key.communicator].name,
            bytes: operation.key.bytes,
            root: super::root(&operation.key),
            ranks: operation.size,
            repetitions: repetition.len(),
            incomplete: operation.incomplete,
            method: "roth",
            time: run_time.name(),
            first_repetition: repetition.first().copied(),
            median_ns: categories.median_ns,
            warmup_end: categories.warmup_end,
            counts: Counts {
                first: categories.count(Category::First),
                warmup: categories.count(Category::Warmup),
                outlier: categories.count(Category::Outlier),
                good: categories.count(Category::Good),
            },
            overlaps: categories.overlaps,
            repetition,
            category: categories.category,
            run_time_ns,
        }
    }

    /// The operation's row in the table.
    fn cells(&self) -> Vec<String> {
        let positive = |number: u64| text::optional(Some(number).filter(|&number| number > 0));
        vec![
            self.operation.to_string(),
            text::printable(self.function).into_owned(),
            text::printable(self.communicator).into_owned(),
            text::optional(self.bytes),
            text::optional(self.root),
            self.ranks.to_string(),
            self.repetitions.to_string(),
            positive(self.incomplete),
            self.median_ns.map(text::time).unwrap_or_default(),
            text::optional(self.warmup_end),
            self.counts.first.to_string(),
            self.counts.warmup.to_string(),
            self.counts.outlier.to_string(),
            self.counts.good.to_string(),
            positive(self.overlaps),
        ]
    }

    fn write_repetitions(&self, output: &mut dyn Write, style: Style) -> Result<()> {
        let last = self.repetition.last().map_or(0, |last| last.to_string().len());
        let longest = self.run_time_ns.iter().copied().fold(0.0, f64::max);
        let width = format!("{longest:.1}").len();
        let columns = [(number("repetition"), last), (number("run_time_ns"), width), (text("category"), 0)];
        let mut rows = Rows::begin(&columns, output, style)?;
        for ((number, category), run_time) in self.repetition.iter().zip(&self.category).zip(&self.run_time_ns) {
            let name = match category {
                Category::First | Category::Warmup => style.paint(Attribute::Yellow, category.name()),
                Category::Outlier => style.paint(Attribute::Red, category.name()),
                Category::Good => category.name().to_owned(),
            };
            rows.row(output, &[&number.to_string(), &format!("{run_time:.1}"), &name])?;
        }
        Ok(())
    }
}

fn table() -> Table<'static> {
    Table::new(&[
        number("operation"),
        text("function"),
        text("communicator"),
        number("bytes"),
        number("root").optional(),
        number("ranks"),
        number("repetitions"),
        number("incomplete").optional(),
        number("median"),
        number("w").optional(),
        number("first"),
        number("warmup"),
        number("outlier"),
        number("good"),
        number("overlaps").optional(),
    ])
}

fn names<S: Serializer>(categories: &[Category], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(categories.iter().map(|category| category.name()))
}
