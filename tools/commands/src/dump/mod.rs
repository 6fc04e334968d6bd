//! `mpitrace dump`: the calls, one a row.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Args;
use mpitrace_analysis::run::Need;
use mpitrace_export::call_columns::{self, CallColumn, Kind, Value};
use mpitrace_export::messages::{MessageRow, MessageRows};
use mpitrace_export::rows::{Calls, Row, Selection};
use mpitrace_show::output::{self, DataSink, JsonRows, Output, Style};
use mpitrace_show::progress;
use mpitrace_show::table::{Rows, number, text};
use mpitrace_show::text::{self, csv_field};
use mpitrace_source::Traced;
use mpitrace_source::options::TraceInput;
use mpitrace_source::{check_operation, warn_if_incomplete};
use mpitrace_trace::reader::Part;

/// List the calls, one row for each, rank by rank
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
    /// List the message calls instead (of runs with MPITRACE_P2P=records)
    #[arg(long, conflicts_with = "operation")]
    messages: bool,
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

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let need = if arguments.messages { Need::Messages } else { Need::Operations };
    let traced = progress::during("reading", || Traced::open(&arguments.input.files, need))?;
    let trace = &traced.run.trace;
    if let Some(rank) = arguments.rank {
        let known: Vec<u32> = trace.parts.iter().map(Part::rank).collect();
        ensure!(known.contains(&rank), "no rank {rank}: this trace has ranks {}", text::ranks(&known));
    }
    let calls = Calls::new(&traced);
    if arguments.messages {
        return messages(arguments, &calls, output);
    }
    check_operation(arguments.operation, calls.operations.operations.len())?;
    warn_if_incomplete(trace);
    let selection = Selection { operation: arguments.operation, rank: arguments.rank, limit: arguments.limit };
    if arguments.json {
        let mut list = JsonRows::new(output, "dump")?;
        calls.each(selection, |row| list.push(&row))?;
        list.end()?;
    } else if arguments.csv {
        write_csv(&calls, selection, output.data())?;
    } else {
        let style = output.style;
        write_table(&calls, selection, output, style)?;
    }
    Ok(crate::exit::concluded(trace.complete))
}

fn messages(arguments: &Arguments, calls: &Calls, output: &mut Output) -> Result<ExitCode> {
    let rows = MessageRows::recorded(calls)?;
    warn_if_incomplete(calls.trace);
    let all = rows.all().filter(|row| arguments.rank.is_none_or(|rank| rank == row.rank));
    let wanted = all.take(arguments.limit.unwrap_or(usize::MAX));
    if arguments.json {
        output::json_rows(output, "dump-messages", wanted.map(Ok))?;
    } else if arguments.csv {
        let output = output.data();
        writeln!(output, "{}", MessageRow::NAMES.join(","))?;
        for row in wanted {
            let cell = |value| match value {
                Value::Text(text) => csv_field(text).to_string(),
                value => value.to_string(),
            };
            writeln!(output, "{}", row.values().map(cell).join(","))?;
        }
    } else {
        let style = output.style;
        let columns = MessageRow::NAMES.iter().zip(MessageRow::WIDTHS).zip(MessageRow::SPARE);
        let columns: Vec<_> = columns.map(|((name, width), order)| (number(name).spare(order), width)).collect();
        let mut table = Rows::begin(&columns, output, style)?;
        for row in wanted {
            let cell = |value| match value {
                Value::Real(value) => format!("{value:.1}"),
                Value::Text(value) => text::printable(value).to_string(),
                value => value.to_string(),
            };
            table.row(output, &row.values().map(cell).each_ref().map(String::as_str))?;
        }
        table.end(output)?;
    }
    Ok(crate::exit::concluded(calls.trace.complete))
}

fn write_csv(calls: &Calls, selection: Selection, output: &mut dyn Write) -> Result<()> {
    let names: Vec<&str> = call_columns::data_columns().map(|column| column.name).collect();
    write!(output, "{}", names.join(","))?;
    calls.counter_names.iter().try_for_each(|name| write!(output, ",{}", csv_field(name)))?;
    writeln!(output)?;
    calls.each(selection, |row| Ok(write_csv_row(&row, calls.counter_names.len(), output)?))
}

fn write_table(calls: &Calls, selection: Selection, output: &mut dyn Write, style: Style) -> Result<()> {
    let any_algorithm = calls.any_algorithm();
    let is_shown =
        |column: &&CallColumn| column.width.is_some() && (any_algorithm || !matches!(column.kind, Kind::Algorithm));
    let shown: Vec<&CallColumn> = call_columns::all_columns().filter(is_shown).collect();
    let title = |column: &&CallColumn| {
        let width = column.width.map_or(0, |width| width(calls));
        match column.kind {
            Kind::OfOperation(_) | Kind::Flag | Kind::Algorithm => (text(column.name).spare(column.spare), width),
            _ => (number(column.name).spare(column.spare), width),
        }
    };
    let mut columns: Vec<_> = shown.iter().map(title).collect();
    columns.extend(calls.counter_names.iter().map(|name| (number(name).spare(2), 8)));
    let mut rows = Rows::begin(&columns, output, style)?;
    calls.each(selection, |row| {
        let cell = |column: &&CallColumn| match column.value(&row) {
            Value::Unknown => column.unknown.to_owned(),
            Value::Real(value) => format!("{value:.1}"),
            Value::Flag(value) => if value { "yes" } else { "" }.to_owned(),
            Value::Text(value) => text::printable(value).to_string(),
            value => value.to_string(),
        };
        let mut cells: Vec<String> = shown.iter().map(cell).collect();
        cells.extend((0..calls.counter_names.len()).map(|index| text::optional(row.counters.get(index))));
        rows.row(output, &cells.iter().map(String::as_str).collect::<Vec<_>>())?;
        Ok(())
    })?;
    Ok(rows.end(output)?)
}

/// Counters are the last columns: so many.
fn write_csv_row(row: &Row, counters: usize, output: &mut dyn Write) -> io::Result<()> {
    for (index, column) in call_columns::data_columns().enumerate() {
        let separator = if index == 0 { "" } else { "," };
        match column.value(row) {
            Value::Text(value) => write!(output, "{separator}{}", csv_field(value))?,
            value => write!(output, "{separator}{value}")?,
        }
    }
    (0..counters).try_for_each(|index| write!(output, ",{}", text::optional(row.counters.get(index))))?;
    writeln!(output)
}
