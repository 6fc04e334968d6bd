//! The account as a table: by operation, function, communicator, message size, call site or rank.

use std::collections::HashMap;
use std::io::{self, Write};

use clap::ValueEnum;
use mpitrace::account::{Account, PartnerAccount, Parts, RankPart, RankParts, RegionAccount};
use mpitrace::operations::{CallSite, Operations};
use serde::Serialize;

use super::verdict::{percent, seconds};
use crate::output::Style;
use crate::table::{Cell, Table, number, text, time};
use crate::text;

const NS: f64 = 1e9;
/// Rows that are written.
const ROWS: usize = 20;

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
    /// A rank and a partner of its point-to-point calls.
    Partner,
    /// A region of the program (`mpitrace_region`), with the operations in it.
    Region,
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
    /// Of a partner: point-to-point calls that can wait.
    pub repetitions: usize,
    /// In these calls; of a region the time in it.
    pub seconds: f64,
    /// Of the time of all ranks, 0 to 1; of a rank of its own time.
    pub share: f64,
    #[serde(flatten)]
    pub parts: Parts,
    /// Of a rank: the time of the thread that called MPI_Init in its parts.
    #[serde(rename = "parts")]
    pub time: Option<RankParts>,
    /// Of a partner: messages that were sent to it, and their bytes.
    pub messages: Option<u64>,
    pub bytes: Option<u64>,
    /// Time that other ranks waited for this rank; in other rows the same as `waiting_s`.
    pub caused_s: f64,
}

/// The rows, sorted. `labels` are the names of the communicators; `regions` are wanted by [`By::Region`] alone.
pub fn groups(
    account: &Account,
    operations: &Operations,
    labels: &[String],
    regions: impl FnOnce() -> Vec<RegionAccount>,
    by: By,
    sort: Sort,
) -> Vec<Group> {
    let mut groups = match by {
        By::Region => of_regions(regions(), account.rank_ns()),
        By::Partner => of_partners(account),
        _ => of_operations(account, operations, labels, by),
    };
    let value = |group: &Group| match sort {
        Sort::Time => group.seconds,
        Sort::Waiting => group.parts.waiting,
        Sort::Caused => group.caused_s,
        Sort::Repetitions => group.repetitions as f64,
    };
    groups.sort_by(|one, other| value(other).total_cmp(&value(one)));
    groups
}

fn of_regions(regions: Vec<RegionAccount>, rank_ns: f64) -> Vec<Group> {
    let group = |region: RegionAccount| Group {
        name: region.name,
        repetitions: region.repetitions,
        seconds: region.ns / NS,
        share: region.ns / rank_ns,
        parts: region.calls,
        ..Group::default()
    };
    regions.into_iter().map(group).collect()
}

fn of_partners(account: &Account) -> Vec<Group> {
    let group = |of: &PartnerAccount| {
        let partner = of.partner.map_or_else(|| "several or not known".to_owned(), |rank| format!("rank {rank}"));
        let whole = account.ranks.iter().find(|rank| rank.rank == of.rank).map_or(0.0, |rank| rank.wall_ns);
        Group {
            name: format!("rank {} with {partner}", of.rank),
            repetitions: of.calls as usize,
            seconds: of.ns / NS,
            share: if whole > 0.0 { of.ns / whole } else { 0.0 },
            parts: Parts::split(of.ns, Some(of.waiting_ns), 0.0),
            caused_s: of.waiting_ns / NS,
            messages: Some(of.messages),
            bytes: Some(of.bytes),
            ..Group::default()
        }
    };
    account.partners.iter().map(group).collect()
}

fn of_operations(account: &Account, operations: &Operations, labels: &[String], by: By) -> Vec<Group> {
    let mut sums = Sums::default();
    if by == By::Rank {
        for rank in &account.ranks {
            sums.of(format!("rank {}", rank.rank)).time = Some(rank.parts);
        }
    }
    for (index, (operation, of)) in operations.operations.iter().zip(&account.operations).enumerate() {
        let key = &operation.key;
        if key.is_region {
            continue;
        }
        let communicator = &labels[key.communicator];
        let bytes = text::of_bytes(key.bytes);
        let name = match by {
            By::Operation => format!("{index}: {}{bytes} on {communicator}", key.function),
            By::Function => key.function.clone(),
            By::Communicator => communicator.clone(),
            By::Size => format!("{}{bytes}", key.function),
            By::Site => key.call_site.as_ref().map_or_else(|| "not recorded".to_owned(), CallSite::to_string),
            By::Region | By::Partner | By::Rank => {
                for (&(rank, parts), late) in of.ranks.iter().zip(&of.late) {
                    sums.add(format!("rank {rank}"), of.repetitions, parts, late.waiting_ns);
                }
                continue;
            }
        };
        let caused = of.late.iter().map(|late| late.waiting_ns).sum();
        sums.add(name, of.repetitions, of.sum(), caused);
    }
    sums.groups(account.rank_ns())
}

/// Writes the first rows, and how many are left out.
pub fn write(groups: &[Group], by: By, sort: Sort, output: &mut dyn Write, style: Style) -> io::Result<()> {
    // With the order in which columns are left out.
    let (head, spare): (&[&str], &[u8]) = match by {
        By::Rank => (
            &["time", "computing", "off processor", "point-to-point", "collectives", "waiting", "communicating"],
            &[0, 3, 2, 4, 0, 1, 5],
        ),
        By::Partner => {
            (&["calls that can wait", "time in them", "of its time", "messages sent", "bytes"], &[2, 0, 0, 1, 1])
        }
        By::Region => {
            (&["repetitions", "time", "of all", "waiting", "off processor", "communicating"], &[1, 0, 0, 2, 3, 4])
        }
        _ => (
            &[
                "operations",
                "repetitions",
                "time",
                "of all",
                "waiting",
                "off processor",
                "in the tracer",
                "communicating",
            ],
            &[6, 3, 0, 0, 1, 2, 5, 4],
        ),
    };
    // The column that the rows are sorted by stays.
    let last = if by == By::Rank || sort == Sort::Caused { 0 } else { 7 };
    let others = (!matches!(by, By::Region | By::Partner)).then_some(number("others wait").spare(last));
    let head = head.iter().zip(spare).map(|(name, &order)| number(name).spare(order));
    let mut table = Table::new(&[text("in")].into_iter().chain(head).chain(others).collect::<Vec<_>>());
    let shown = if style.is_wide() { groups.len() } else { ROWS.min(groups.len()) };
    for group in &groups[..shown] {
        let mut row: Vec<Cell> = vec![text::printable(&group.name).into_owned().into()];
        let Parts { waiting, interrupted, perturbed, communication, .. } = group.parts;
        let [operations, repetitions] = [group.operations, group.repetitions].map(|n| Cell::Text(n.to_string()));
        let (seconds, share) = (time(group.seconds * NS), share_cell(group.share));
        match (by, group.time) {
            (By::Rank, Some(parts)) => {
                let [computing, messages, waiting, communication] =
                    [RankPart::Computing, RankPart::PointToPoint, RankPart::Waiting, RankPart::Communication]
                        .map(|part| share_cell(parts[part] / parts.sum()));
                let off = share_cell(parts.sum_of(&RankPart::OFF) / parts.sum());
                row.extend([time(parts.sum()), computing, off, messages, share, waiting, communication]);
            }
            (By::Partner, _) => {
                let sent = [group.messages, group.bytes].map(|sent| Cell::Text(sent.unwrap_or(0).to_string()));
                row.extend([repetitions, seconds, share].into_iter().chain(sent));
            }
            (By::Region, _) => {
                row.extend([repetitions, seconds, share]);
                row.extend([waiting, interrupted, communication].map(time));
            }
            _ => {
                row.extend([operations, repetitions, seconds, share]);
                row.extend([waiting, interrupted, perturbed, communication].map(time));
            }
        }
        row.extend(others.map(|_| time(group.caused_s * NS)));
        table.row(row);
    }
    table.write(output, style)?;
    if shown < groups.len() {
        let rest: f64 = groups[shown..].iter().map(|group| group.seconds).sum();
        let left = text::count((groups.len() - shown) as u64, "more row");
        writeln!(output, "... and {left} with {} together (--wide shows all)", seconds(rest))?;
    }
    Ok(())
}

fn share_cell(share: f64) -> Cell {
    Cell::Text(percent(share).replace("less than", "<"))
}

/// Rows under construction.
#[derive(Default)]
struct Sums {
    by_name: HashMap<String, usize>,
    rows: Vec<Group>,
}

impl Sums {
    fn of(&mut self, name: String) -> &mut Group {
        let next = self.rows.len();
        let place = *self.by_name.entry(name.clone()).or_insert(next);
        if place == next {
            self.rows.push(Group { name, ..Group::default() });
        }
        &mut self.rows[place]
    }

    fn add(&mut self, name: String, repetitions: usize, parts: Parts, caused_ns: f64) {
        let row = self.of(name);
        row.operations += 1;
        row.repetitions += repetitions;
        row.parts += parts;
        row.caused_s += caused_ns / NS;
    }

    fn groups(mut self, rank_ns: f64) -> Vec<Group> {
        for row in &mut self.rows {
            row.seconds = row.parts.run_time / NS;
            let whole = row.time.map_or(rank_ns, |parts| parts.sum());
            row.share = if whole > 0.0 { row.parts.run_time / whole } else { 0.0 };
        }
        self.rows
    }
}
