//! The account as a table: by operation, function, communicator, message size, call site or rank.

use std::collections::HashMap;
use std::io::{self, Write};

use clap::ValueEnum;
use mpitrace::account::{Account, Parts};
use mpitrace::operations::{CallSite, Operations};
use serde::Serialize;

use super::verdict::{percent, seconds};
use crate::output::Style;
use crate::table::{Table, number, text};
use crate::text;

const NS: f64 = 1e9;

/// The subject of a row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// One operation.
    Operation,
    /// All operations of a function.
    Function,
    /// All operations on a communicator.
    Communicator,
    /// All operations of a function with a message size.
    Size,
    /// All operations that a place in the program calls; MPITRACE_CALLSITE=1 records places.
    Site,
    /// All operations of a rank.
    Rank,
}

/// By which number the rows are sorted, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// Time in the calls.
    #[default]
    Time,
    /// Waiting for other ranks.
    Waiting,
    /// Time that other ranks waited for the rank, or for the ranks.
    Caused,
    /// Repetitions.
    Repetitions,
}

/// A row: sums over ranks, seconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Group {
    /// The operation's number, the function, and so on.
    pub name: String,
    pub operations: usize,
    pub repetitions: usize,
    pub seconds: f64,
    /// Of the time of all ranks, 0 to 1.
    pub share: f64,
    #[serde(flatten)]
    pub parts: Parts,
    /// Time that other ranks waited for this rank; in other rows the same as `waiting_s`.
    pub caused_s: f64,
}

/// The rows, sorted.
pub fn groups(account: &Account, operations: &Operations, by: By, sort: Sort) -> Vec<Group> {
    let mut sums = Sums::default();
    for (index, (operation, of)) in operations.operations.iter().zip(&account.operations).enumerate() {
        let key = &operation.key;
        if key.is_region {
            continue;
        }
        let communicator = &operations.communicators[key.communicator].name;
        let bytes = key.bytes.map_or_else(String::new, |bytes| format!(" of {}", text::count(bytes, "byte")));
        let name = match by {
            By::Operation => format!("{index}: {}{bytes} on {communicator}", key.function),
            By::Function => key.function.clone(),
            By::Communicator => communicator.clone(),
            By::Size => format!("{}{bytes}", key.function),
            By::Site => key.call_site.as_ref().map_or_else(|| "not recorded".to_owned(), CallSite::to_string),
            By::Rank => {
                for (&(rank, parts), late) in of.ranks.iter().zip(&of.late) {
                    sums.add(format!("rank {rank}"), of.repetitions, parts, late.waiting_ns);
                }
                continue;
            }
        };
        let caused = of.late.iter().map(|late| late.waiting_ns).sum();
        sums.add(name, of.repetitions, of.sum(), caused);
    }
    let mut groups = sums.groups(account.rank_ns());
    let value = |group: &Group| match sort {
        Sort::Time => group.seconds,
        Sort::Waiting => group.parts.waiting,
        Sort::Caused => group.caused_s,
        Sort::Repetitions => group.repetitions as f64,
    };
    groups.sort_by(|one, other| value(other).total_cmp(&value(one)));
    groups
}

/// Writes the first rows, and how many are left out.
pub fn write(groups: &[Group], top: usize, output: &mut dyn Write, style: Style) -> io::Result<()> {
    let mut table = Table::new(&[
        text("in"),
        number("operations"),
        number("repetitions"),
        number("time"),
        number("of all"),
        number("waiting"),
        number("off processor"),
        number("tracer"),
        number("communication"),
        number("others wait"),
    ]);
    let shown = if top == 0 { groups.len() } else { top.min(groups.len()) };
    for group in &groups[..shown] {
        table.row(vec![
            text::shortened(&text::printable(&group.name), 60).into_owned(),
            group.operations.to_string(),
            group.repetitions.to_string(),
            seconds(group.seconds),
            percent(group.share),
            text::time(group.parts.waiting),
            text::time(group.parts.interrupted),
            text::time(group.parts.perturbed),
            text::time(group.parts.communication),
            seconds(group.caused_s),
        ]);
    }
    table.write(output, style)?;
    if shown < groups.len() {
        let rest: f64 = groups[shown..].iter().map(|group| group.seconds).sum();
        let left = text::count((groups.len() - shown) as u64, "more row");
        writeln!(output, "... and {left} with {} together (--top 0 shows all)", seconds(rest))?;
    }
    Ok(())
}

/// Rows under construction.
#[derive(Default)]
struct Sums {
    by_name: HashMap<String, usize>,
    rows: Vec<Group>,
}

impl Sums {
    fn add(&mut self, name: String, repetitions: usize, parts: Parts, caused_ns: f64) {
        let next = self.rows.len();
        let place = *self.by_name.entry(name.clone()).or_insert(next);
        if place == next {
            self.rows.push(Group { name, ..Group::default() });
        }
        let row = &mut self.rows[place];
        row.operations += 1;
        row.repetitions += repetitions;
        row.parts += parts;
        row.caused_s += caused_ns / NS;
    }

    fn groups(mut self, rank_ns: f64) -> Vec<Group> {
        for row in &mut self.rows {
            row.seconds = row.parts.run_time / NS;
            row.share = if rank_ns > 0.0 { row.parts.run_time / rank_ns } else { 0.0 };
        }
        self.rows
    }
}
