//! The calls of a trace, one after the other: what `dump` lists and every export is made of.

use anyhow::Result;
use mpitrace_analysis::account::{CallAccount, CallAccounts};
use mpitrace_analysis::run::Run;
use mpitrace_format::layout::{DISTURBED, NO_VALUE, OPERATION_MASK, RunEntry, UNKNOWN_BYTES, recorded};
use mpitrace_show::progress::Progress;
use mpitrace_source::Traced;
use mpitrace_statistics::categories::Rule;
use mpitrace_trace::calls::algorithms::{Seen, Visible};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::{NO_RECORD, Operations};
use mpitrace_trace::partners::Partners;
use mpitrace_trace::reader::{Column, Part, Trace};
use serde::{Serialize, Serializer};

use crate::recorded::{Recorded, RecordedColumns, RecordedValue};

/// A call of a rank, with what is known of it.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    /// Rank in MPI_COMM_WORLD.
    pub rank: u32,
    /// Number of the thread in its rank, from 0.
    pub thread: u32,
    /// Number of the operation.
    pub operation: u32,
    /// Number of the repetition in its operation, from 0.
    pub repetition: u64,
    /// Name of the MPI function.
    pub function: &'a str,
    /// Name of the communicator.
    pub communicator: &'a str,
    /// This rank's own message size.
    pub bytes: Option<u64>,
    /// Root rank in the communicator; `None`: the function has no root.
    pub root: Option<i32>,
    /// Global time of the entry, ns from the start of the trace.
    pub enter_ns: f64,
    /// Global time of the exit, ns from the start of the trace. `None`: it did not return.
    pub exit_ns: Option<f64>,
    /// The half width of the 95 % interval of the entry.
    pub error_ns: Option<f64>,
    /// Values of the columns that not every record has.
    pub recorded: Recorded<'a>,
    /// True if the tracer itself may have delayed the call.
    pub perturbed: bool,
    /// Parts of the call's run time, ns.
    pub account: CallAccount,
    /// Values of the trace's counters.
    pub counters: Counters<'a>,
    /// Where the trace has it.
    pub place: Place,
}

/// The values of the trace's counters for a call.
#[derive(Clone, Copy, Debug)]
pub struct Counters<'a> {
    names: &'a [String],
    columns: &'a [Option<Column<'a>>],
    record: usize,
}

/// Where the record of a call is stored.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Index of the part.
    pub part: usize,
    /// Index of the record in it.
    pub record: usize,
    /// Index of the repetition in its operation.
    pub row: usize,
}

/// Which calls of a trace are wanted; the default is all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection {
    /// Only those of this operation.
    pub operation: Option<usize>,
    /// Only those of this rank.
    pub rank: Option<u32>,
    /// At most so many.
    pub limit: Option<usize>,
}

/// The calls of a trace.
pub struct Calls<'t> {
    /// The opened run.
    pub traced: &'t Traced,
    /// Its trace.
    pub trace: &'t Trace,
    /// Its global clock.
    pub clock: &'t Clock,
    /// Its operations and their repetitions.
    pub operations: &'t Operations,
    /// Rule by which repetitions get a category.
    pub rule: Rule,
    /// The counters of the trace; a rank may lack one of them.
    pub counter_names: Vec<String>,
    parts: Vec<Columns<'t>>,
    partners: &'t Partners,
    /// For each operation whether a request stands for its calls.
    has_request: Vec<bool>,
    /// For each operation whether its algorithms are seen.
    seen: Vec<Seen>,
    accounts: CallAccounts<'t>,
    progress: Option<Progress>,
}

/// A part's columns that are not looked up for every call.
struct Columns<'t> {
    part: &'t Part,
    /// Behind the last record of each run of a thread.
    run_ends: Vec<usize>,
    recorded: RecordedColumns<'t>,
    /// By the index of the counter's name.
    counters: Vec<Option<Column<'t>>>,
}

impl<'t> Calls<'t> {
    /// The calls of an opened run, with the default rule of categories.
    pub fn new(traced: &'t Traced) -> Calls<'t> {
        let Run { trace, operations, clock, .. } = &traced.run;
        let values: Vec<Vec<(String, Column)>> =
            trace.parts.iter().map(|part| part.counter_columns().chain(part.columns_before()).collect()).collect();
        let mut counter_names: Vec<String> = Vec::new();
        for (name, _) in values.iter().flatten() {
            if !counter_names.contains(name) {
                counter_names.push(name.clone());
            }
        }
        let columns = |(part, values): (&'t Part, &Vec<(String, Column<'t>)>)| {
            let value = |name| values.iter().find(|(other, _)| other == name).map(|(_, values)| *values);
            let counters = counter_names.iter().map(value).collect();
            let mut end = 0;
            let run_end = |run: &RunEntry| {
                end += run.count as usize;
                end
            };
            let run_ends = part.runs().iter().map(run_end).collect();
            Columns { part, run_ends, recorded: RecordedColumns::new(part), counters }
        };
        let visible = Visible::new(trace);
        Calls {
            traced,
            trace,
            clock,
            has_request: operations.operations.iter().map(|operation| operation.key.has_request()).collect(),
            seen: operations.operations.iter().map(|operation| visible.of(&operation.key.function)).collect(),
            operations,
            partners: traced.run.partners(),
            rule: Rule::default(),
            parts: trace.parts.iter().zip(&values).map(columns).collect(),
            counter_names,
            accounts: CallAccounts::new(trace, clock, operations),
            progress: None,
        }
    }

    /// The calls with categories by another rule.
    pub fn with_rule(self, rule: Rule) -> Self {
        Calls { rule, ..self }
    }

    /// True if the algorithms of any operation are seen.
    pub fn any_algorithm(&self) -> bool {
        self.seen.iter().any(|seen| matches!(seen, Seen::Visible { .. }))
    }

    /// Shows on a terminal how far it is.
    pub fn with_progress(mut self, operation: Option<usize>) -> Self {
        let of_one = |number: usize| {
            let operation = &self.operations.operations[number];
            (operation.repetition.len() * operation.parts.len()) as u64
        };
        self.progress = Some(Progress::new(operation.map_or(self.trace.records(), of_one)));
        self
    }

    /// Visits the calls in the order of the ranks, and each rank's in the order in which it kept them.
    pub fn each<'s>(&'s self, selection: Selection, mut visit: impl FnMut(Row<'s>) -> Result<()>) -> Result<()> {
        let mut left = selection.limit.unwrap_or(usize::MAX);
        for (index, columns) in self.parts.iter().enumerate() {
            if left == 0 || selection.rank.is_some_and(|rank| rank != columns.part.rank()) {
                continue;
            }
            let places = self.places(index, selection.operation).into_iter().enumerate();
            for (record, (operation, row)) in places.filter(|(_, (operation, _))| *operation != NOWHERE).take(left) {
                visit(self.row(Place { part: index, record, row: row as usize }, operation))?;
                self.step();
                left -= 1;
            }
        }
        Ok(())
    }

    /// Visits the calls of one operation: in the order of the ranks, and for each rank these rows of the
    /// operation, as far as the rank has kept them.
    pub fn of_operation<'s>(
        &'s self,
        number: usize,
        rows: &[usize],
        mut visit: impl FnMut(Row<'s>) -> Result<()>,
    ) -> Result<()> {
        let operation = &self.operations.operations[number];
        for (member, &part) in operation.parts.iter().enumerate() {
            for &row in rows {
                let record = operation.records(row).get(member);
                if record != NO_RECORD {
                    let place = Place { part, record: record as usize, row };
                    visit(self.row(place, number as u32))?;
                    self.step();
                }
            }
        }
        Ok(())
    }

    /// How long the call was on the rank's own clock, ns; `None`: it did not return. Free of the rounding of large
    /// times.
    pub fn duration_ns(&self, place: Place) -> Option<f64> {
        let part = self.parts[place.part].part;
        let (enter, exit) = part.times_of(place.record);
        (exit != 0).then(|| self.clock.of_part(place.part).duration_ns(enter, exit))
    }

    fn step(&self) {
        self.progress.iter().for_each(Progress::step);
    }

    /// For each record of a part its operation and the row in that.
    fn places(&self, index: usize, only: Option<usize>) -> Vec<(u32, u32)> {
        let mut places = vec![(NOWHERE, 0); self.parts[index].part.records()];
        for (number, operation) in (0u32..).zip(&self.operations.operations) {
            if only.is_some_and(|wanted| wanted != number as usize) {
                continue;
            }
            let members = operation.parts.iter().enumerate().filter(|(_, part)| **part == index);
            for (member, _) in members {
                for row in 0..operation.repetition.len() {
                    let record = operation.records(row).get(member);
                    if record != NO_RECORD {
                        places[record as usize] = (number, row as u32);
                    }
                }
            }
        }
        places
    }

    fn row(&self, place: Place, number: u32) -> Row<'_> {
        let Place { part: index, record, row } = place;
        let (columns, clock) = (&self.parts[index], self.clock.of_part(index));
        let part = columns.part;
        let run = columns.run_ends.partition_point(|&end| end <= record);
        let operation = &self.operations.operations[number as usize];
        let own = part.operation_of(record);
        let entry = &part.operations()[(own & OPERATION_MASK) as usize];
        let (enter, exit) = part.times_of(record);
        let exit = Some(exit).filter(|&tick| tick != 0);
        Row {
            rank: part.rank(),
            thread: part.runs().get(run).map_or(0, |run| run.thread),
            operation: number,
            repetition: operation.repetition.get(row),
            function: &operation.key.function,
            communicator: &self.operations.communicators[operation.key.communicator].name,
            bytes: Some(entry.bytes).filter(|&bytes| bytes != UNKNOWN_BYTES),
            root: operation.key.root.filter(|&root| root >= 0),
            enter_ns: clock.nanoseconds(enter),
            exit_ns: exit.map(|tick| clock.nanoseconds(tick)),
            error_ns: clock.error_ns(enter),
            recorded: Recorded {
                columns: &columns.recorded,
                clock,
                partners: self.partners,
                seen: &self.seen[number as usize],
                part: index,
                record,
                of_request: self.has_request[number as usize],
                is_region: entry.is_region(),
            },
            perturbed: own & DISTURBED != 0,
            account: self.accounts.of_call(number as usize, row, index, record as u32),
            counters: Counters { names: &self.counter_names, columns: &columns.counters, record },
            place,
        }
    }
}

impl Row<'_> {
    /// How long starting the call took, ns; `None`: it has no request.
    pub fn starting_ns(&self) -> Option<f64> {
        match self.recorded.get(&recorded::INIT)? {
            RecordedValue::Ns(ns) => Some(ns),
            _ => None,
        }
    }
}

/// The operation of a record that is not asked for.
const NOWHERE: u32 = u32::MAX;

impl<'a> Counters<'a> {
    /// The value of the counter with this index in [`Calls::counter_names`], where the rank has it and could read it.
    pub fn get(&self, index: usize) -> Option<u64> {
        self.columns[index].and_then(|values| self.value(values))
    }

    /// The counters that the rank has; `None`: one could not be read in this call.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, Option<u64>)> {
        let columns = self.names.iter().zip(self.columns);
        columns.filter_map(move |(name, values)| Some((name.as_str(), self.value((*values)?))))
    }

    fn value(&self, values: Column) -> Option<u64> {
        Some(values.get(self.record)).filter(|&value| value != NO_VALUE)
    }
}

impl Serialize for Counters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl From<Option<usize>> for Selection {
    fn from(operation: Option<usize>) -> Selection {
        Selection { operation, ..Selection::default() }
    }
}
