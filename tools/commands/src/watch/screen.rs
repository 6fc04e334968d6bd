//! A look at a job for people: one screen.

use std::collections::BTreeSet;
use std::io::{self, Write};

use mpitrace_analysis::account::ALONE;
use mpitrace_live::Waiting;
use mpitrace_live::snapshot::{RankNow, Snapshot, State, Wait};
use mpitrace_show::output::{Attribute, Style};
use mpitrace_show::table::{Table, number, text, time};
use mpitrace_show::text;
use mpitrace_words::mismatches;
use mpitrace_words::places::{self, place};
use mpitrace_words::stack::Stack;

use super::seen::Seen;

const NS: f64 = 1e9;
/// Lines of each table.
const LISTED: usize = 12;

pub fn write(seen: &Seen, output: &mut dyn Write, style: Style) -> io::Result<()> {
    writeln!(output, "{}", style.paint(Attribute::Bold, &heading(seen)))?;
    if let Some(stuck) = &seen.stuck {
        let line = format!("STUCK: {}", places::sentence(&seen.view.snapshot, stuck));
        writeln!(output, "{}", style.paint(Attribute::Red, &line))?;
    }
    for stack in Stack::all(&seen.view.snapshot).iter().take(LISTED) {
        writeln!(output, "{}", stack.line())?;
    }
    for line in mismatches::lines(&seen.view.snapshot.mismatches, seen.view.mismatched) {
        writeln!(output, "{}", style.paint(Attribute::Red, &line))?;
    }
    for problem in &seen.summary.unreadable {
        writeln!(output, "{}", text::printable(problem))?;
    }
    let waiting = waiting(seen);
    if !waiting.is_empty() {
        writeln!(output)?;
        calls(&waiting).write(output, style)?;
    }
    writeln!(output)?;
    ranks(seen).write(output, style)?;
    if !seen.view.sums.slowest.is_empty() {
        writeln!(output)?;
        slowest(seen).write(output, style)?;
        writeln!(output, "{}", account(seen))?;
        if let Some(line) = stragglers(&seen.waiting) {
            writeln!(output, "{}", style.paint(Attribute::Bold, &line))?;
        }
    }
    Ok(())
}

fn heading(seen: &Seen) -> String {
    let here = seen.view.snapshot.ranks.len() as u32;
    let mut line = format!("job {}: ", seen.job);
    match seen.summary.world_size {
        Some(world) if world != here => line.push_str(&format!("{here} of {} seen", text::count(world.into(), "rank"))),
        Some(world) => line.push_str(&text::count(world.into(), "rank")),
        None => line.push_str(&format!("{} in MPI_Init", text::count(seen.summary.starting as u64, "process"))),
    }
    let rates: Vec<f64> = seen.view.snapshot.ranks.iter().filter_map(|rank| rank.calls_per_s).collect();
    if !rates.is_empty() {
        let most = rates.iter().copied().fold(0.0, f64::max);
        line.push_str(&format!(", up to {} collective calls/s on a rank", text::number(most)));
    }
    line
}

/// A collective call that ranks are in or wait for, and that others have not come to.
struct Call {
    name: String,
    sequence: String,
    function: String,
    inside: Vec<u32>,
    longest_s: Option<f64>,
    missing: Vec<u32>,
    missing_at: String,
}

/// The calls that ranks are in or wait for, the one entered first at the top. Ranks at one place of a communicator that
/// are in different functions have a row for each of these.
fn waiting(seen: &Seen) -> Vec<Call> {
    let snapshot = &seen.view.snapshot;
    let mut calls: Vec<(Wait, Call)> = Vec::new();
    for rank in
        snapshot.ranks.iter().filter(|rank| matches!(rank.state, State::InCall | State::Finalize | State::OtherMpi))
    {
        for &wait in &rank.waits {
            let index = calls.iter().position(|(other, _)| *other == wait).unwrap_or_else(|| {
                let missing = snapshot.missing(rank.rank, wait);
                let call = Call {
                    name: label(snapshot, wait.communicator),
                    sequence: text::optional(wait.sequence),
                    function: wait.function.unwrap_or_default().to_owned(),
                    inside: Vec::new(),
                    longest_s: None,
                    missing_at: missing_at(seen, &missing),
                    missing,
                };
                calls.push((wait, call));
                calls.len() - 1
            });
            let call = &mut calls[index].1;
            call.inside.push(rank.rank);
            let since = if rank.state == State::InCall { rank.since_s } else { None };
            call.longest_s = call.longest_s.into_iter().chain(since).reduce(f64::max);
        }
    }
    let mut calls: Vec<Call> = calls.into_iter().map(|(_, call)| call).collect();
    calls.sort_by(|one, other| other.longest_s.unwrap_or(0.0).total_cmp(&one.longest_s.unwrap_or(0.0)));
    calls
}

/// The name of a communicator, with its ranks where several have the name.
fn label(snapshot: &Snapshot, communicator: Option<usize>) -> String {
    let Some(one) = communicator.and_then(|number| snapshot.communicators.get(number)) else { return String::new() };
    if snapshot.communicators.iter().filter(|other| other.name == one.name).count() < 2 {
        return one.name.clone();
    }
    let ranks: Vec<u32> = one.members.iter().map(|&(rank, _)| rank).collect();
    format!("{} ({})", one.name, text::few_ranks(&ranks))
}

fn missing_at(seen: &Seen, missing: &[u32]) -> String {
    let ranks = seen.view.snapshot.ranks.iter().filter(|rank| missing.binary_search(&rank.rank).is_ok());
    match &places::grouped(ranks, |rank| place(&seen.view.snapshot, rank))[..] {
        [(place, _)] => place.clone(),
        groups => groups.iter().map(|(place, group)| format!("{} {place}", group.len())).collect::<Vec<_>>().join(", "),
    }
}

fn calls(calls: &[Call]) -> Table<'static> {
    let mut table = Table::new(&[
        text("communicator"),
        number("call").spare(2),
        text("function"),
        text("inside"),
        number("since"),
        text("not come"),
        text("these are").optional(),
    ]);
    for call in calls.iter().take(LISTED) {
        table.row(vec![
            text::printable(&call.name).into_owned(),
            call.sequence.clone(),
            text::printable(&call.function).into_owned(),
            text::ranks(&call.inside),
            call.longest_s.map_or_else(String::new, |seconds| text::time(seconds * NS)),
            if call.missing.is_empty() { "-".to_owned() } else { text::ranks(&call.missing) },
            call.missing_at.clone(),
        ]);
    }
    table
}

fn ranks(seen: &Seen) -> Table<'static> {
    let mut table = Table::new(&[
        text("ranks"),
        text("where"),
        number("at least for").optional(),
        number("calls/s").optional(),
        text("waits in").optional().spare(1),
    ]);
    let groups = places::grouped(&seen.view.snapshot.ranks, |rank| place(&seen.view.snapshot, rank));
    for (place, group) in groups.iter().take(LISTED) {
        let numbers: Vec<u32> = group.iter().map(|rank| rank.rank).collect();
        let least = group.iter().map(|rank| rank.unmoved_s).fold(f64::INFINITY, f64::min);
        let rates: Vec<f64> = group.iter().filter_map(|rank| rank.calls_per_s).collect();
        let rate = (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64);
        table.row(vec![
            text::ranks(&numbers),
            place.clone(),
            if least.is_finite() { text::time(least * NS) } else { String::new() },
            rate.map(text::number).unwrap_or_default(),
            kernel_waits(group),
        ]);
    }
    if groups.len() > LISTED {
        let others: usize = groups.iter().skip(LISTED).map(|(_, ranks)| ranks.len()).sum();
        table.row(vec![
            format!("{others} more"),
            "elsewhere (--json has them all)".to_owned(),
            String::new(),
            String::new(),
            String::new(),
        ]);
    }
    table
}

/// The functions of the kernel that ranks off their processors wait in, where the kernel says them.
fn kernel_waits(ranks: &[&RankNow]) -> String {
    let names: BTreeSet<&str> = ranks.iter().flat_map(|rank| &rank.waits_in).map(String::as_str).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// The operations on which the ranks have spent the most time in the calls that were looked at.
fn slowest(seen: &Seen) -> Table<'static> {
    let mut table = Table::new(&[
        text("slowest operations"),
        text("communicator").spare(1),
        number("bytes"),
        number("repetitions"),
        number("median"),
        number("longest"),
    ]);
    for operation in &seen.view.sums.slowest {
        let label = label(&seen.view.snapshot, Some(operation.communicator));
        table.row(vec![
            text::printable(&operation.function).into_owned().into(),
            text::printable(&label).into_owned().into(),
            text::optional(operation.bytes).into(),
            operation.repetitions.to_string().into(),
            time(operation.median_ns),
            time(operation.longest_ns),
        ]);
    }
    table
}

/// The waiting so far in the calls that were looked at.
fn account(seen: &Seen) -> String {
    let sums = &seen.view.sums;
    let waiting = if sums.run_time_ns > 0.0 { sums.waiting_ns / sums.run_time_ns } else { 0.0 };
    let which = if seen.summary.is_partial { "in the last calls" } else { "so far" };
    format!(
        "{which}: {} in collective calls on all ranks, {} ({:.0} %) of it waiting for other ranks",
        text::time(sums.run_time_ns),
        text::time(sums.waiting_ns),
        100.0 * waiting
    )
}

/// The rank that others wait for, since the start and in the last seconds.
fn stragglers(waiting: &Waiting) -> Option<String> {
    let first = waiting.stragglers.first()?;
    let all: f64 = waiting.stragglers.iter().map(|one| one.waiting_s).sum();
    let since = if waiting.since_start { "so far" } else { "in the calls that were seen" };
    let (rank, longest, share) = (first.rank, text::time(first.waiting_s * NS), 100.0 * first.waiting_s / all);
    let mut line = match first.waiting_s >= ALONE * all {
        true => format!("rank {rank} is the straggler: others waited {longest} for it {since} ({share:.0} %)"),
        false => format!("ranks are late in turns: others waited {longest} for rank {rank} {since} ({share:.0} %)"),
    };
    let recent =
        waiting.stragglers.iter().max_by(|one, other| one.recent_waiting_s.total_cmp(&other.recent_waiting_s))?;
    if recent.recent_waiting_s > 0.0 {
        let of = if recent.rank == rank { String::new() } else { format!(" for rank {}", recent.rank) };
        let waited = text::time(recent.recent_waiting_s * NS);
        line.push_str(&format!(", {waited}{of} in the last {:.0} s", waiting.recent_s));
    }
    Some(line)
}
