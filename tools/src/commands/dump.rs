//! `mpitrace dump`: the calls, one a row.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Args;
use mpitrace::clock::Clock;
use mpitrace::operations::{NO_RECORD, Operations};
use mpitrace::trace::layout::{DISTURBED, NO_VALUE, OPERATION_MASK, UNKNOWN_BYTES};
use mpitrace::trace::{Part, Trace};
use serde::Serialize;

use super::Input;
use crate::output::{JsonList, Output, Style};
use crate::table::{Rows, number, text};
use crate::text;

/// List the calls, one a row, rank by rank
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
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
    let trace = arguments.input.open()?;
    if let Some(rank) = arguments.rank {
        let known: Vec<u32> = trace.parts.iter().map(Part::rank).collect();
        ensure!(known.contains(&rank), "no rank {rank}: this trace has ranks {}", text::ranks(&known));
    }
    let operations = Operations::of(&trace);
    super::check_operation(arguments.operation, operations.operations.len())?;
    super::warn_if_incomplete(&trace);
    let counters: Vec<Vec<(String, &[u64])>> = trace.parts.iter().map(|part| part.counter_values().collect()).collect();
    let calls = Calls {
        trace: &trace,
        counters: &counters,
        clock: &Clock::of(&trace),
        operations: &operations,
        operation: arguments.operation,
        rank: arguments.rank,
        limit: arguments.limit.unwrap_or(usize::MAX),
    };
    if arguments.json {
        let mut list = JsonList::new(output)?;
        calls.each(|row| list.push(&row))?;
        list.end()?;
    } else if arguments.csv {
        calls.write_csv(output)?;
    } else {
        let style = output.style;
        calls.write_table(output, style)?;
    }
    Ok(super::shown(&trace))
}

/// One call on one rank.
#[derive(Debug, Serialize)]
struct Row<'a> {
    rank: u32,
    thread: u32,
    operation: u32,
    repetition: u64,
    function: &'a str,
    communicator: &'a str,
    bytes: Option<u64>,
    root: Option<i32>,
    enter_ns: f64,
    exit_ns: Option<f64>,
    /// Of the entry, the half width of its 95 % interval.
    error_ns: Option<f64>,
    #[serde(flatten)]
    request: Option<RequestTimes>,
    /// Whether the tracer itself may have delayed the call.
    disturbed: bool,
    /// `None`: it could not be read in this call.
    counters: BTreeMap<&'a str, Option<u64>>,
}

/// What a non-blocking call cost beside its own time (Hoefler et al.: overhead = init + sum of test + wait).
#[derive(Debug, Serialize)]
struct RequestTimes {
    init_ns: f64,
    test_ns: f64,
    wait_ns: f64,
    tests: u32,
}

/// The calls that are asked for.
struct Calls<'a> {
    trace: &'a Trace,
    /// For each part the counters' names and values, one for each record.
    counters: &'a [Vec<(String, &'a [u64])>],
    clock: &'a Clock,
    operations: &'a Operations,
    operation: Option<usize>,
    rank: Option<u32>,
    limit: usize,
}

/// The operation and the row in it that a record belongs to.
#[derive(Clone, Copy)]
struct Place {
    operation: u32,
    row: u32,
}

/// The place of a record of an operation that is not asked for.
const NOWHERE: Place = Place { operation: u32::MAX, row: 0 };

impl Calls<'_> {
    /// Visits the rows in the order of the ranks, and each rank's in the order in which it kept them.
    fn each<'s>(&'s self, mut visit: impl FnMut(Row<'s>) -> Result<()>) -> Result<()> {
        let mut left = self.limit;
        for (index, part) in self.trace.parts.iter().enumerate() {
            if left == 0 || self.rank.is_some_and(|rank| rank != part.rank()) {
                continue;
            }
            let places = self.places(index);
            let mut record = 0;
            for run in part.runs() {
                for _ in 0..run.count {
                    let place = places[record];
                    if place.operation != NOWHERE.operation && left > 0 {
                        visit(self.row(index, record, run.thread, place))?;
                        left -= 1;
                    }
                    record += 1;
                }
            }
        }
        Ok(())
    }

    /// For each record of a part where it belongs.
    fn places(&self, index: usize) -> Vec<Place> {
        let mut places = vec![NOWHERE; self.trace.parts[index].records()];
        for (number, operation) in (0u32..).zip(&self.operations.operations) {
            if self.operation.is_some_and(|wanted| wanted != number as usize) {
                continue;
            }
            let members = operation.parts.iter().enumerate().filter(|(_, part)| **part == index);
            for (member, _) in members {
                for row in 0..operation.repetition.len() {
                    let record = operation.records(row)[member];
                    if record != NO_RECORD {
                        places[record as usize] = Place { operation: number, row: row as u32 };
                    }
                }
            }
        }
        places
    }

    fn row(&self, index: usize, record: usize, thread: u32, place: Place) -> Row<'_> {
        let (part, clock) = (&self.trace.parts[index], self.clock.of_part(index));
        let operation = &self.operations.operations[place.operation as usize];
        let own = part.operation()[record];
        let own_bytes = part.operations()[(own & OPERATION_MASK) as usize].bytes;
        let exit = Some(part.exit()[record]).filter(|&tick| tick != 0);
        Row {
            rank: part.rank(),
            thread,
            operation: place.operation,
            repetition: operation.repetition[place.row as usize],
            function: &operation.key.function,
            communicator: &self.operations.communicators[operation.key.communicator].name,
            bytes: Some(own_bytes).filter(|&bytes| bytes != UNKNOWN_BYTES),
            root: super::root(&operation.key),
            enter_ns: clock.nanoseconds(part.enter()[record]),
            exit_ns: exit.map(|tick| clock.nanoseconds(tick)),
            error_ns: clock.error_ns(part.enter()[record]),
            request: part.requests().filter(|_| operation.key.has_request()).map(|requests| RequestTimes {
                init_ns: clock.ticks_ns(requests.init[record]),
                test_ns: clock.ticks_ns(requests.test[record]),
                wait_ns: clock.ticks_ns(requests.wait[record]),
                tests: requests.tests[record],
            }),
            disturbed: own & DISTURBED != 0,
            counters: self.counters[index]
                .iter()
                .map(|(name, values)| (name.as_str(), Some(values[record]).filter(|&value| value != NO_VALUE)))
                .collect(),
        }
    }

    fn write_csv(&self, output: &mut dyn Write) -> Result<()> {
        write!(
            output,
            "rank,thread,operation,repetition,function,communicator,bytes,root,enter_ns,exit_ns,error_ns,disturbed,\
             init_ns,test_ns,wait_ns,tests"
        )?;
        let counters = self.counter_names();
        counters.iter().try_for_each(|name| write!(output, ",{}", csv_field(name)))?;
        writeln!(output)?;
        self.each(|row| Ok(row.write_csv(&counters, output)?))
    }

    fn write_table(&self, output: &mut dyn Write, style: Style) -> Result<()> {
        let operations = &self.operations.operations;
        let digits = |value: u64| value.to_string().len();
        let widest =
            |text: fn(&Self, usize) -> usize| (0..operations.len()).map(|number| text(self, number)).max().unwrap_or(0);
        // 15 digits before the point: eleven days.
        let time = 16;
        let counters = self.counter_names();
        let mut columns = vec![
            (number("rank"), digits(self.trace.world_size.into())),
            (number("thread"), 0),
            (number("operation"), 0),
            (
                number("repetition"),
                widest(|calls, number| {
                    let last = calls.operations.operations[number].repetition.last();
                    last.map_or(0, |last| last.to_string().len())
                }),
            ),
            (text("function"), widest(|calls, number| calls.function(number).chars().count())),
            (text("communicator"), widest(|calls, number| calls.communicator(number).chars().count())),
            (number("bytes"), 8),
            (number("root"), 0),
            (number("enter_ns"), time),
            (number("exit_ns"), time),
            (number("took_ns"), 12),
            (text("disturbed"), 0),
        ];
        columns.extend(counters.iter().map(|name| (number(name), 8)));
        let mut rows = Rows::begin(&columns, output, style)?;
        self.each(|row| {
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
                if row.disturbed { "yes" } else { "" }.to_owned(),
            ];
            cells.extend(counters.iter().map(|name| text::optional(row.counters.get(name).copied().flatten())));
            rows.row(output, &cells.iter().map(String::as_str).collect::<Vec<_>>())?;
            Ok(())
        })
    }

    /// The counters of the trace; a rank may lack one of them.
    fn counter_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.counters.iter().flatten() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    fn function(&self, number: usize) -> &str {
        &self.operations.operations[number].key.function
    }

    fn communicator(&self, number: usize) -> &str {
        &self.operations.communicators[self.operations.operations[number].key.communicator].name
    }
}

impl Row<'_> {
    fn write_csv(&self, counters: &[&str], output: &mut dyn Write) -> io::Result<()> {
        write!(output, "{},{},{},{},", self.rank, self.thread, self.operation, self.repetition)?;
        write!(output, "{},{},", csv_field(self.function), csv_field(self.communicator))?;
        write!(output, "{},{},", text::optional(self.bytes), text::optional(self.root))?;
        write!(output, "{},{},", self.enter_ns, text::optional(self.exit_ns))?;
        write!(output, "{},{},", text::optional(self.error_ns), self.disturbed)?;
        match &self.request {
            Some(RequestTimes { init_ns, test_ns, wait_ns, tests }) => {
                write!(output, "{init_ns},{test_ns},{wait_ns},{tests}")?;
            }
            None => write!(output, ",,,")?,
        }
        counters
            .iter()
            .try_for_each(|name| write!(output, ",{}", text::optional(self.counters.get(name).copied().flatten())))?;
        writeln!(output)
    }
}

/// The text as a field of CSV (RFC 4180).
fn csv_field(text: &str) -> std::borrow::Cow<'_, str> {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")).into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_quotes_what_would_divide_a_row() {
        assert_eq!(csv_field("MPI_COMM_WORLD"), "MPI_COMM_WORLD");
        assert_eq!(csv_field("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
    }
}
