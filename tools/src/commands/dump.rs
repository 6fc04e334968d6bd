//! `mpitrace dump`: the calls, one a row.

use std::borrow::Cow;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Args;
use mpitrace::account::CallAccount;
use mpitrace::reader::Part;

use crate::export::cells::COLUMNS;
use crate::export::rows::{Calls, Selection};
use crate::options::TraceInput;
use crate::output::{JsonRows, Output, Style};
use crate::source::Traced;
use crate::table::{Rows, number, text};
use crate::text::{self, csv_field};

/// List the calls, one a row, rank by rank
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: TraceInput,
    /// Only the calls of this operation
    #[arg(long, value_name = "N")]
    operation: Option<usize>,
    /// Only the calls of this rank
    #[arg(long, value_name = "R")]
    rank: Option<u32>,
    /// At most this many rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// As CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Lists them.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let traced = Traced::open(&arguments.input.files)?;
    let trace = &traced.trace;
    if let Some(rank) = arguments.rank {
        let known: Vec<u32> = trace.parts.iter().map(Part::rank).collect();
        ensure!(known.contains(&rank), "no rank {rank}: this trace has ranks {}", text::ranks(&known));
    }
    let calls = Calls::new(&traced);
    super::check_operation(arguments.operation, calls.operations.operations.len())?;
    super::warn_if_incomplete(trace);
    let selection = Selection { operation: arguments.operation, rank: arguments.rank, limit: arguments.limit };
    let listing = Listing { calls: &calls, selection };
    if arguments.json {
        let mut list = JsonRows::new(output, "dump")?;
        let accounts = calls.accounts();
        calls.each(selection, |row| list.push(&accounts.with(row)))?;
        list.end()?;
    } else if arguments.csv {
        listing.write_csv(output)?;
    } else {
        let style = output.style;
        listing.write_table(output, style)?;
    }
    Ok(super::shown(trace))
}

/// The calls that are asked for.
struct Listing<'c> {
    calls: &'c Calls<'c>,
    selection: Selection,
}

impl Listing<'_> {
    fn write_csv(&self, output: &mut dyn Write) -> Result<()> {
        let names = COLUMNS.iter().map(|column| column.0.into());
        let names: Vec<Cow<str>> = names.chain(self.calls.counter_names.iter().map(|name| csv_field(name))).collect();
        writeln!(output, "{}", names.join(","))?;
        let counters = self.calls.counter_names.len();
        let accounts = self.calls.accounts();
        self.calls.each(self.selection, |row| {
            let row = accounts.with(row);
            for (number, column) in COLUMNS.iter().enumerate() {
                output.write_all(if number > 0 { b"," } else { b"" })?;
                column.1.write_csv(&row, output)?;
            }
            (0..counters).try_for_each(|index| write!(output, ",{}", text::optional(row.counters.get(index))))?;
            Ok(writeln!(output)?)
        })
    }

    fn write_table(&self, output: &mut dyn Write, style: Style) -> Result<()> {
        let calls = self.calls;
        let operations = &calls.operations.operations;
        let digits = |value: u64| value.to_string().len();
        let widest =
            |text: fn(&Self, usize) -> usize| (0..operations.len()).map(|number| text(self, number)).max().unwrap_or(0);
        // 15 digits before the point: eleven days.
        let time = 16;
        let mut columns = vec![
            (number("rank"), digits(calls.trace.world_size.into())),
            (number("thread"), 0),
            (number("operation"), 0),
            (
                number("repetition"),
                widest(|listing, number| {
                    let last = listing.calls.operations.operations[number].repetition.last();
                    last.map_or(0, |last| last.to_string().len())
                }),
            ),
            (text("function"), widest(|listing, number| listing.function(number).chars().count())),
            (text("communicator"), widest(|listing, number| listing.communicator(number).chars().count())),
            (number("bytes"), 8),
            (number("root"), 0),
            (number("enter_ns"), time),
            (number("exit_ns"), time),
            (number("took_ns"), 12),
            (text("perturbed"), 0),
            (number("waiting_ns"), 12),
            (number("interrupted_ns"), 0),
            (number("interruptions"), 0),
            (number("cpu"), 0),
        ];
        columns.extend(calls.counter_names.iter().map(|name| (number(name), 8)));
        let mut rows = Rows::begin(&columns, output, style)?;
        let accounts = calls.accounts();
        calls.each(self.selection, |row| {
            let CallAccount { waiting_ns, interrupted_ns, interruptions, cpu, .. } = accounts.account(&row);
            let tenths = |time: Option<f64>| time.map(|time| format!("{time:.1}")).unwrap_or_default();
            let exit = row.exit_ns.map(|exit| format!("{exit:.1}"));
            let took = row.exit_ns.map(|exit| format!("{:.1}", exit - row.enter_ns));
            let mut cells = vec![
                row.rank.to_string(),
                row.thread.to_string(),
                row.operation.to_string(),
                row.repetition.to_string(),
                text::printable(row.function).to_string(),
                text::printable(row.communicator).to_string(),
                text::optional(row.bytes),
                text::optional(row.root),
                format!("{:.1}", row.enter_ns),
                exit.unwrap_or_else(|| "not returned".to_owned()),
                took.unwrap_or_default(),
                if row.perturbed { "yes" } else { "" }.to_owned(),
                tenths(waiting_ns),
                tenths(interrupted_ns),
                text::optional(interruptions),
                text::optional(cpu),
            ];
            cells.extend((0..calls.counter_names.len()).map(|index| text::optional(row.counters.get(index))));
            rows.row(output, &cells.iter().map(String::as_str).collect::<Vec<_>>())?;
            Ok(())
        })
    }

    fn function(&self, number: usize) -> &str {
        &self.calls.operations.operations[number].key.function
    }

    fn communicator(&self, number: usize) -> &str {
        let operations = self.calls.operations;
        &operations.communicators[operations.operations[number].key.communicator].name
    }
}
