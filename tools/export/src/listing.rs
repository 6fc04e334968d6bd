//! Calls and messages as lines: a table for people, CSV, or JSON.

use std::io::{self, Write};

use anyhow::Result;
use mpitrace_show::output::{self, DataSink, JsonRows, Output, Style};
use mpitrace_show::table::{Rows, number, text};
use mpitrace_show::text::{self, csv_field};

use crate::call_columns::{self, CallColumn, Kind, Value};
use crate::messages::{MessageRow, MessageRows};
use crate::rows::{Calls, Row, Selection};

/// The form of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Table,
    /// RFC 4180.
    Csv,
    /// An object for each line.
    Json,
}

/// Writes the wanted calls, a row each.
///
/// # Errors
/// Of writing, and of reading the trace.
pub fn calls(calls: &Calls, selection: Selection, form: Form, output: &mut Output) -> Result<()> {
    match form {
        Form::Json => {
            let mut list = JsonRows::new(output, "dump")?;
            calls.each(selection, |row| list.push(&row))?;
            list.end()
        }
        Form::Csv => write_csv(calls, selection, output.data()),
        Form::Table => {
            let style = output.style;
            write_table(calls, selection, output, style)
        }
    }
}

/// Writes the message calls of the wanted rank, a row each; those of an operation are not known.
///
/// # Errors
/// Of writing.
pub fn messages(rows: &MessageRows, wanted: Selection, form: Form, output: &mut Output) -> Result<()> {
    let all = rows.all().filter(|row| wanted.rank.is_none_or(|rank| rank == row.rank));
    let wanted = all.take(wanted.limit.unwrap_or(usize::MAX));
    if form == Form::Json {
        output::json_rows(output, "dump-messages", wanted.map(Ok))?;
    } else if form == Form::Csv {
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
    Ok(())
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
