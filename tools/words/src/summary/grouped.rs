//! The account as a table: by operation, function, communicator, message size, call site, rank or line.

use std::collections::HashMap;
use std::io::{self, Write};

use clap::ValueEnum;
use mpitrace_analysis::account::{
    self, Account, PartnerAccount, Parts, RankPart, RankParts, RegionAccount, ThreadAccount,
};
use mpitrace_analysis::messages::{Messages, each_call};
use mpitrace_analysis::run::Run;
use mpitrace_code::CodeLine;
use mpitrace_show::output::Style;
use mpitrace_show::table::{Cell, Table, number, text, time};
use mpitrace_show::text;
use mpitrace_trace::calls::samples::RunSamples;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::{CallSite, Operations};
use mpitrace_trace::reader::Trace;
use serde::Serialize;

use crate::base::counted_names::counted_names;
use crate::base::description::communicator_labels;

use super::facts::OffFacts;
use super::units::{percent, seconds};

const NS: f64 = 1e9;
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
    /// All operations and recorded messages that a place in the program calls; MPITRACE_CALLSITE=1 records places.
    Site,
    /// All operations of a rank.
    Rank,
    /// A thread of a rank that makes MPI calls.
    Thread,
    /// A rank and a partner of its point-to-point calls.
    Partner,
    /// A region of the program (`mpitrace_region`), with the operations in it.
    Region,
    /// A line of the program that ran between the calls, by the samples of the run.
    Line,
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
    /// How many operations are in it.
    pub operations: usize,
    /// Repetitions; in the row of a partner, point-to-point calls that can wait; in that of a place with messages these
    /// calls, too.
    pub repetitions: usize,
    /// The waiting of a rank in a call, in the mean of all; `null`: not known, or the row is of no calls.
    pub waiting_per_call_s: Option<f64>,
    /// In these calls; of a region the time in it.
    pub seconds: f64,
    /// The share of the time of all ranks, 0 to 1; in the row of a rank or of a thread that of its own time. Of ranks
    /// with several threads in MPI their time is that of these.
    pub share: f64,
    /// The parts of its time.
    #[serde(flatten)]
    pub parts: Parts,
    /// In the row of a rank or of a thread its time in parts.
    #[serde(rename = "parts")]
    pub time: Option<RankParts>,
    /// In the row of a partner the messages that were sent to it, and their bytes.
    pub messages: Option<u64>,
    /// In the row of a partner the bytes of these messages.
    pub bytes: Option<u64>,
    /// In the row of a region the time off the processor in collective calls and outside of calls.
    pub off_processor_s: Option<f64>,
    /// In the row of a rank the reasons of its time off the processor, in calls and outside of them; `null`: not known.
    pub off_processor_by: Option<OffFacts>,
    /// Time that other ranks waited for this rank; in other rows the same as `waiting_s`.
    pub caused_s: f64,
    #[serde(skip)]
    calls: usize,
    /// Time of other threads in MPI than that of MPI_Init, beside `time`.
    #[serde(skip)]
    beside_ns: f64,
}

/// The rows by line of the program, sorted: a sample is a repetition.
pub fn of_lines(run: &Run, samples: &RunSamples, sort: Sort) -> Vec<Group> {
    let code = mpitrace_code::code_of_losses(run, samples);
    let lines = mpitrace_code::by_line(&run.trace, &run.operations, samples, &run.losses().all, &code);
    let rank_s = run.account().rank_ns() / NS;
    let group = |line: CodeLine| Group {
        name: line.frame,
        repetitions: line.samples as usize,
        seconds: line.seconds,
        share: if rank_s > 0.0 { line.seconds / rank_s } else { 0.0 },
        caused_s: line.caused_s,
        ..Group::default()
    };
    sorted(lines.into_iter().map(group).collect(), sort)
}

/// The rows, sorted. Operations on communicators and files whose names differ by a number that counts are one row if
/// `is_joined`.
pub fn groups(run: &Run, by: By, sort: Sort, is_joined: bool) -> Vec<Group> {
    let Run { trace, operations, clock, .. } = run;
    let account = run.account();
    let groups = match by {
        By::Line => Vec::new(),
        By::Region => of_regions(account::regions(trace, clock, operations), account.rank_ns()),
        By::Partner => of_partners(account),
        By::Thread => of_threads(account::threads(trace, clock, operations, &account.ranks)),
        _ => {
            let labels = communicator_labels(trace, operations);
            let joined = if is_joined { counted_names(&operations.communicators) } else { vec![None; labels.len()] };
            let mut sums = of_operations(account, operations, &(labels, joined), by);
            if by == By::Site {
                add_messages(run.messages(), trace, clock, &mut sums);
            }
            let beside: f64 = account.ranks.iter().map(|rank| rank.beside.mpi_ns).sum();
            sums.groups(account.rank_ns() + beside)
        }
    };
    sorted(groups, sort)
}

fn sorted(mut groups: Vec<Group>, sort: Sort) -> Vec<Group> {
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
        repetitions: region.repetitions,
        seconds: region.ns / NS,
        share: region.ns / rank_ns,
        name: region.name,
        parts: region.calls,
        off_processor_s: Some((region.calls.interrupted + region.off_ns) / NS),
        ..Group::default()
    };
    regions.into_iter().map(group).collect()
}

fn of_threads(threads: Vec<ThreadAccount>) -> Vec<Group> {
    let group = |of: ThreadAccount| {
        let (whole, in_calls) = (of.parts.sum(), of.parts.sum_of(&RankPart::COLLECTIVES));
        let main = if of.is_main { ", MPI_Init" } else { "" };
        Group {
            name: format!("rank {} thread {}{main}", of.rank, of.tid),
            repetitions: of.calls as usize,
            seconds: in_calls / NS,
            share: if whole > 0.0 { in_calls / whole } else { 0.0 },
            parts: of.collectives,
            time: Some(of.parts),
            ..Group::default()
        }
    };
    threads.into_iter().map(group).collect()
}

fn of_partners(account: &Account) -> Vec<Group> {
    let is_known = account.partners.iter().any(|of| of.waiting_ns > 0.0);
    let group = |of: &PartnerAccount| {
        let partner = of.partner.map_or_else(|| "several or not known".to_owned(), |rank| format!("rank {rank}"));
        let whole = account.ranks.iter().find(|rank| rank.rank == of.rank).map_or(0.0, |rank| rank.wall_ns);
        Group {
            name: format!("rank {} with {partner}", of.rank),
            repetitions: of.calls as usize,
            seconds: of.ns / NS,
            share: if whole > 0.0 { of.ns / whole } else { 0.0 },
            parts: Parts::split(of.ns, Some(of.waiting_ns).filter(|_| is_known && of.partner.is_some()), 0.0),
            caused_s: of.waiting_ns / NS,
            messages: Some(of.messages),
            bytes: Some(of.bytes),
            ..Group::default()
        }
    };
    account.partners.iter().map(group).collect()
}

/// Adds the message calls that were recorded to the places that make them.
fn add_messages(messages: &Messages, trace: &Trace, clock: &Clock, sums: &mut Sums) {
    let waits = messages.waits(trace, clock);
    for ((part, calls), waits) in trace.parts.iter().zip(&messages.calls).zip(&waits) {
        let site = |name| part.text(name).and_then(|text| CallSite::parse(&text));
        let names = part.message_operations().iter().map(|entry| of_site(site(entry.call_site).as_ref()));
        let names: Vec<String> = names.collect();
        let waited: HashMap<u32, f64> = waits.iter().map(|wait| (wait.call, wait.ns())).collect();
        for range in each_call(calls) {
            let call = &calls[range.start];
            let waited = waited.get(&(range.start as u32)).copied().unwrap_or(0.0);
            let row = sums.named(names[call.record.operation as usize].clone());
            row.repetitions += 1;
            row.parts += Parts::split(call.exit_ns - call.enter_ns, Some(waited), 0.0);
            row.caused_s += waited / NS;
            row.calls += 1;
        }
    }
}

fn of_site(site: Option<&CallSite>) -> String {
    site.map_or_else(|| "not recorded".to_owned(), CallSite::to_string)
}

/// `labels`, `joined`: the names of the communicators, and those that they have in common with others of their row.
fn of_operations(
    account: &Account,
    operations: &Operations,
    (labels, joined): &(Vec<String>, Vec<Option<String>>),
    by: By,
) -> Sums {
    let mut sums = Sums::default();
    if by == By::Rank {
        for rank in &account.ranks {
            let row = sums.named(format!("rank {}", rank.rank));
            (row.time, row.beside_ns) = (Some(rank.parts), rank.beside.mpi_ns);
            row.off_processor_by = rank.off_processor.map(OffFacts::new);
        }
    }
    for (index, (operation, of)) in operations.operations.iter().zip(&account.operations).enumerate() {
        let key = &operation.key;
        if key.is_region {
            continue;
        }
        let joined = joined[key.communicator].as_ref();
        let communicator = joined.unwrap_or(&labels[key.communicator]);
        let bytes = text::of_bytes(key.bytes);
        let name = match by {
            By::Operation if joined.is_some() => format!("{}{bytes} on {communicator}", key.function),
            By::Operation => format!("{index}: {}{bytes} on {communicator}", key.function),
            By::Function => key.function.clone(),
            By::Communicator => communicator.clone(),
            By::Size => format!("{}{bytes}", key.function),
            By::Site => of_site(key.call_site.as_ref()),
            By::Region | By::Partner | By::Thread | By::Rank | By::Line => {
                for (&(rank, parts), late) in of.ranks.iter().zip(&of.late) {
                    sums.add(format!("rank {rank}"), of.repetitions, 1, parts, late.waiting_ns);
                }
                continue;
            }
        };
        let caused = of.late.iter().map(|late| late.waiting_ns).sum();
        sums.add(name, of.repetitions, of.ranks.len(), of.sum(), caused);
    }
    sums
}

/// Writes the rows as a table with a title.
pub fn write(groups: &[Group], by: By, sort: Sort, output: &mut dyn Write, style: Style) -> io::Result<()> {
    if groups.is_empty() {
        return writeln!(output, "No rows: the trace has none of these.");
    }
    let titles = cells(&Group::default(), by, sort);
    let columns = titles.iter().map(|&(title, spare, _)| match by {
        By::Partner => number(title).spare(spare).optional(),
        // Of jobs that did not end well.
        By::Rank | By::Thread if title == HUNG => number(title).spare(spare).optional(),
        _ => number(title).spare(spare),
    });
    let mut table = Table::new(&[text("in")].into_iter().chain(columns).collect::<Vec<_>>());
    let shown = if style.is_wide() { groups.len() } else { ROWS.min(groups.len()) };
    for group in &groups[..shown] {
        let name = text::printable(&group.name);
        let name = if by == By::Site && !style.is_wide() { text::end_of(&name, style.width / 2) } else { name.into() };
        table.row([name.into()].into_iter().chain(cells(group, by, sort).into_iter().map(|(.., cell)| cell)).collect());
    }
    table.write(output, style)?;
    if shown < groups.len() {
        let rest: f64 = groups[shown..].iter().map(|group| group.seconds).sum();
        let left = text::count((groups.len() - shown) as u64, "more row");
        writeln!(output, "... and {left} with {} together (--wide shows all)", seconds(rest))?;
    }
    Ok(())
}

const HUNG: &str = "hung";

/// The cells of a row behind its name: title, order in which columns are left out, and value.
fn cells(group: &Group, by: By, sort: Sort) -> Vec<(&'static str, u8, Cell)> {
    let Parts { perturbed, communication, .. } = group.parts;
    let known = waiting(&group.parts);
    let (waiting, off) = (time(known), time(interrupted(&group.parts)));
    let count = |number: u64| Cell::Text(number.to_string());
    let in_ns = |seconds: Option<f64>| time(seconds.map(|seconds| seconds * NS));
    let (repetitions, spent, share) =
        (count(group.repetitions as u64), time(group.seconds * NS), share_cell(group.share));
    let caused = time(known.map(|_| group.caused_s * NS));
    match by {
        By::Rank | By::Thread => {
            let parts = group.time.unwrap_or_default();
            let of = |part: &[RankPart]| share_cell(parts.sum_of(part) / parts.sum());
            let mut cells = vec![
                ("time", 0, time(parts.sum())),
                ("computing", 3, of(&[RankPart::Computing])),
                ("off processor", 2, of(&RankPart::OFF)),
                ("point-to-point", 4, of(&[RankPart::PointToPoint])),
                ("collectives", 0, share),
                ("waiting", 1, of(&[RankPart::Waiting])),
                ("communicating", 5, of(&[RankPart::Communication])),
                (HUNG, 6, if parts[RankPart::Hung] > 0.0 { of(&[RankPart::Hung]) } else { Cell::Text(String::new()) }),
                ("others wait", 0, caused),
            ];
            // It is not known for which thread of a rank the others waited.
            if by == By::Thread {
                cells.pop();
            }
            cells
        }
        By::Partner => vec![
            ("calls that can wait", 2, repetitions),
            ("time in them", 0, spent),
            ("of its time", 0, share),
            ("waiting for it", 0, waiting),
            ("messages sent", 1, count(group.messages.unwrap_or(0))),
            ("bytes", 1, count(group.bytes.unwrap_or(0))),
        ],
        By::Line => vec![
            ("samples", 1, repetitions),
            ("time", 0, spent),
            ("of all", 0, share),
            ("others wait", 0, time(Some(group.caused_s * NS))),
        ],
        By::Region => vec![
            ("repetitions", 1, repetitions),
            ("time", 0, spent),
            ("of all", 0, share),
            ("waiting", 2, waiting),
            ("off processor", 3, in_ns(group.off_processor_s)),
            ("communicating", 4, time(communication)),
        ],
        _ => vec![
            ("operations", 7, count(group.operations as u64)),
            ("repetitions", 3, repetitions),
            ("time", 0, spent),
            ("of all", 0, share),
            ("waiting", 1, waiting),
            ("waiting per call", 2, in_ns(group.waiting_per_call_s)),
            ("off processor", 4, off),
            ("in the tracer", 6, time(perturbed)),
            ("communicating", 5, time(communication)),
            // The column that the rows are sorted by stays.
            ("others wait", if sort == Sort::Caused { 0 } else { 8 }, caused),
        ],
    }
}

/// The waiting in calls, ns; `None`: of none it is known for which ranks they wait.
fn waiting(parts: &Parts) -> Option<f64> {
    Some(parts.waiting).filter(|&ns| ns > 0.0 || parts.unsplit < parts.communication || parts.run_time == 0.0)
}

/// The time off the processor in calls; `None`: of none it is known.
fn interrupted(parts: &Parts) -> Option<f64> {
    Some(parts.interrupted).filter(|&ns| ns > 0.0 || parts.untimed < parts.run_time || parts.run_time == 0.0)
}

fn share_cell(share: f64) -> Cell {
    Cell::Text(percent(share).replace("less than", "<"))
}

#[derive(Default)]
struct Sums {
    by_name: HashMap<String, usize>,
    rows: Vec<Group>,
}

impl Sums {
    fn named(&mut self, name: String) -> &mut Group {
        let next = self.rows.len();
        let place = *self.by_name.entry(name.clone()).or_insert(next);
        if place == next {
            self.rows.push(Group { name, ..Group::default() });
        }
        &mut self.rows[place]
    }

    /// Adds an operation of so many ranks.
    fn add(&mut self, name: String, repetitions: usize, ranks: usize, parts: Parts, caused_ns: f64) {
        let row = self.named(name);
        row.operations += 1;
        row.repetitions += repetitions;
        row.calls += repetitions * ranks;
        row.parts += parts;
        row.caused_s += caused_ns / NS;
    }

    /// `all_ns`: the time of all ranks, and that of their other threads in MPI.
    fn groups(mut self, all_ns: f64) -> Vec<Group> {
        for row in &mut self.rows {
            row.seconds = row.parts.run_time / NS;
            let whole = row.time.map_or(all_ns, |parts| parts.sum() + row.beside_ns);
            row.share = if whole > 0.0 { row.parts.run_time / whole } else { 0.0 };
            let is_known = waiting(&row.parts).is_some() && row.calls > 0;
            row.waiting_per_call_s = is_known.then(|| row.parts.waiting / NS / row.calls as f64);
        }
        self.rows
    }
}
