//! The numbers for people: a row for each operation, or all of one.

use std::io::{self, Write};

use anyhow::Result;
use mpitrace_show::output::{Attribute, Style};
use mpitrace_show::table::{self, Cell, Column, Table, number, text, time};
use mpitrace_show::text;
use mpitrace_statistics::categories::Category;
use mpitrace_statistics::{Description, Mode};
use mpitrace_words::all_calls;
use mpitrace_words::numbers;
use mpitrace_words::places;
use mpitrace_words::rows;

use mpitrace_analysis::account::Parts;
use mpitrace_source::numbers::Facts;
use mpitrace_trace::calls::whole_run::AllCalls;

/// So many operations are shown whatever their repetitions.
const LISTED: usize = 10;

pub fn all(all: &[Facts], output: &mut dyn Write, style: Style) -> Result<()> {
    let time_ns = |facts: &Facts| facts.account.as_ref().map_or(0.0, |account| account.parts.run_time);
    let listed = rows::by_time(all, |facts| &facts.operation, time_ns);
    // Where others have more, those of one repetition are in one line.
    let is_once = |row: &Vec<&Facts>| row.iter().map(|facts| facts.operation.repetitions).sum::<usize>() < 2;
    let is_folded = !style.is_wide() && all.len() > LISTED && !listed.iter().all(is_once);
    let (once, listed): (Vec<_>, Vec<_>) = listed.into_iter().partition(|row| is_folded && is_once(row));
    let once = once.concat();
    let mut columns = vec![
        text("line").optional(),
        number("operation").listed(),
        text("function"),
        text("communicator").spare(2),
        number("bytes"),
        number("ranks").spare(5),
        number("used").summed(),
        number("left out").summed().optional().spare(6),
        number("incomplete").summed().optional().spare(4),
    ];
    columns.extend(DESCRIBED);
    columns.extend([
        number("ESS").spare(12),
        number("modes").spare(13),
        number("outliers").summed().spare(1),
        number("waiting").optional().spare(1),
        number("off processor").optional().spare(1),
        number("in the tracer").optional().spare(1),
    ]);
    let mut table = Table::new(&columns);
    for facts in listed.concat() {
        let part = |of: fn(&Parts) -> f64| -> Cell {
            facts.account.as_ref().map(|account| account.share(of(&account.parts))).unwrap_or_default().into()
        };
        let left_out = facts.left_out.category + facts.left_out.not_finite;
        let worth = facts.summary.effective_repetitions_median.map(|worth| format!("{worth:.0}"));
        let mut row: Vec<Cell> = vec![
            facts.operation.line().into(),
            facts.operation.operation.to_string().into(),
            text::printable(&facts.operation.function).into_owned().into(),
            facts.operation.communicator_label.clone().into(),
            text::optional(facts.operation.bytes).into(),
            facts.operation.ranks.to_string().into(),
            facts.used.to_string().into(),
            text::positive(left_out as u64).into(),
            text::positive(facts.operation.incomplete).into(),
        ];
        row.extend(described(&facts.summary.description));
        row.extend([
            worth.unwrap_or_default().into(),
            facts.summary.modes.len().to_string().into(),
            text::optional(facts.summary.outliers.map(|found| found.twice_median.count)).into(),
            part(|account| account.waiting),
            part(|account| account.interrupted),
            part(|account| account.perturbed),
        ]);
        table.row_of(facts.operation.row.clone(), row);
    }
    table.write(output, style)?;
    if !once.is_empty() {
        let (count, time) =
            (text::count(once.len() as u64, "operation"), once.iter().map(|facts| time_ns(facts)).sum());
        writeln!(output, "{count} with one repetition or none: {} in all; --wide shows them", text::time(time))?;
    }
    if let Some(facts) = all.first() {
        writeln!(output)?;
        writeln!(output, "{} run times, {} repetitions; interval: of the median", facts.time, facts.category)?;
        writeln!(
            output,
            "ESS: effective sample size for the median; outliers: run times of at least twice the median"
        )?;
        writeln!(
            output,
            "waiting, off processor, in the tracer: of the time of all ranks in the calls; 0 % is left out"
        )?;
    }
    let all_calls: Vec<AllCalls> = all.iter().filter_map(|facts| facts.all_calls.clone()).collect();
    if !all_calls.is_empty() {
        writeln!(output, "\nWith the calls that are not kept; run times of single calls, within 1 %:")?;
        all_calls::table(&all_calls).write(output, style)?;
        writeln!(output)?;
    }
    write_notes(all, output)
}

fn write_notes(all: &[Facts], output: &mut dyn Write) -> Result<()> {
    let each = all.iter().flat_map(|facts| facts.notes.iter().map(|note| (note, facts.operation.operation as u32)));
    for (note, of) in places::grouped(each, |(note, _)| *note) {
        let of: Vec<u32> = of.into_iter().map(|(_, number)| number).collect();
        let noun = if of.len() == 1 { "operation" } else { "operations" };
        writeln!(output, "{noun} {}: {}", text::few(&of), text::printable(note))?;
    }
    Ok(())
}

pub fn one(facts: &Facts, output: &mut dyn Write, style: Style) -> Result<()> {
    head(facts, output)?;
    values(facts, output, style)?;
    series(facts, output)?;
    modes(&facts.summary.modes, output, style)?;
    times_together(facts, output)?;
    account(facts, output)?;
    counters(facts, output, style)?;
    per_rank(facts, output, style)?;
    if !facts.notes.is_empty() {
        writeln!(output)?;
    }
    for note in &facts.notes {
        writeln!(output, "{}", style.paint(Attribute::Yellow, &text::printable(note)))?;
    }
    Ok(())
}

fn head(facts: &Facts, output: &mut dyn Write) -> io::Result<()> {
    let operation = &facts.operation;
    let (function, bytes) = (text::printable(&operation.function), text::of_bytes(operation.bytes));
    let (communicator, ranks) = (&operation.communicator_label, text::count(operation.ranks.into(), "rank"));
    let line = Some(operation.line()).filter(|line| !line.is_empty()).map(|line| format!(", {line}"));
    writeln!(output, "{function}{bytes} on {communicator}, {ranks}{}", line.unwrap_or_default())?;
    let counts = Category::ALL.map(|category| format!("{} {}", facts.counts[category.name()], category.name()));
    let counts = counts.join(", ");
    writeln!(output, "repetitions  {}: {counts} ({})", operation.repetitions, facts.method)?;
    writeln!(output, "used         {} ({}), {} run times", facts.used, facts.category, facts.time)?;
    let left = &facts.left_out;
    writeln!(
        output,
        "left out     {} of other categories, {} not finite, {} incomplete",
        left.category, left.not_finite, operation.incomplete
    )?;
    match &facts.all_calls {
        Some(all) => writeln!(output, "all calls    {}", all_calls::line(all)),
        None => Ok(()),
    }
}

fn values(facts: &Facts, output: &mut dyn Write, style: Style) -> io::Result<()> {
    if facts.used == 0 {
        return Ok(());
    }
    writeln!(output)?;
    let mut table = Table::new(&[text("run time"), number("value"), text("interval"), text("of").optional()]);
    for row in numbers::rows(&facts.summary) {
        table.row(vec![row.name, row.value, row.interval, row.of_interval]);
    }
    table.write(output, style)
}

fn series(facts: &Facts, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output)?;
    let mut before = "";
    for (title, line) in numbers::facts(&facts.summary) {
        writeln!(output, "{:<12} {line}", if title == before { "" } else { title })?;
        before = title;
    }
    Ok(())
}

fn account(facts: &Facts, output: &mut dyn Write) -> io::Result<()> {
    let Some(account) = &facts.account else { return Ok(()) };
    let parts = account.words();
    if parts.is_empty() {
        return Ok(());
    }
    writeln!(output)?;
    writeln!(output, "account      {} of all ranks: {}", text::time(account.parts.run_time), parts)
}

fn modes(modes: &[Mode], output: &mut dyn Write, style: Style) -> io::Result<()> {
    if modes.len() < 2 {
        return Ok(());
    }
    writeln!(output)?;
    let mut table = Table::new(&[
        number("mode"),
        number("share"),
        number("from"),
        number("to"),
        number("first"),
        number("quartiles of its places"),
        number("last"),
        number("in a row"),
    ]);
    for mode in modes {
        table.row(vec![
            time(mode.peak),
            format!("{:.1} %", 100.0 * mode.share).into(),
            time(mode.range[0]),
            time(mode.range[1]),
            mode.first.to_string().into(),
            mode.quartiles.map(|place| place.to_string()).join(" ").into(),
            mode.last.to_string().into(),
            format!("{:.1}", mode.run_length).into(),
        ]);
    }
    table.write(output, style)
}

fn times_together(facts: &Facts, output: &mut dyn Write) -> io::Result<()> {
    if let Some(c) = &facts.completion {
        let (local, global, last) = (shown(c.local_ns), shown(c.global_ns), shown(c.last_ns));
        writeln!(output, "\ncompletion   local {local}, global {global}, last {last}")?;
        let (arrival, exit) = (shown(c.arrival_spread_ns), shown(c.exit_spread_ns));
        writeln!(output, "             arrival spread {arrival}, exit spread {exit} (all medians)")?;
        if let (Some(last_in), Some(last_out)) = (c.last_in, c.last_out) {
            writeln!(
                output,
                "             last in: rank {} ({:.0} %), last out: rank {} ({:.0} %)",
                last_in.rank,
                100.0 * last_in.share,
                last_out.rank,
                100.0 * last_out.share
            )?;
        }
    }
    if let Some(n) = &facts.non_blocking {
        let overhead = shown(n.overhead_ns);
        let (init, test, wait) = (shown(n.init_ns), shown(n.test_ns), shown(n.wait_ns));
        writeln!(output, "\nnon-blocking overhead {overhead}: start {init}, tests {test}, wait {wait} (medians)")?;
        match (n.overlap, n.blocking_ns, n.at_once_ns) {
            (Some(overlap), Some(blocking), _) => {
                let (share, blocking) = (100.0 * overlap, text::time(blocking));
                writeln!(output, "             overlap {share:.0} %: 1 - overhead / {blocking} of the blocking call")?;
            }
            (Some(overlap), None, Some(at_once)) => {
                let (share, at_once) = (100.0 * overlap, text::time(at_once));
                let against = format!("1 - overhead with work / {at_once} of it waited for at once");
                writeln!(output, "             overlap {share:.0} %: {against}")?;
            }
            _ => writeln!(
                output,
                "             overlap unknown: the trace has no blocking call of this kind, and not this one both with \
                 and without work"
            )?,
        }
        let tests = n.tests.map(|tests| format!("{tests:.0} tests")).unwrap_or_default();
        writeln!(
            output,
            "             work {} between start and completion, {tests}, interval {}",
            shown(n.work_ns),
            shown(n.interval_ns)
        )?;
    }
    Ok(())
}

fn shown(ns: Option<f64>) -> String {
    ns.map(text::time).unwrap_or_default()
}

fn counters(facts: &Facts, output: &mut dyn Write, style: Style) -> io::Result<()> {
    if facts.counters.is_empty() {
        return Ok(());
    }
    writeln!(output)?;
    let columns = [text("counter"), text("category"), number("values"), number("median"), number("min"), number("max")];
    let mut table = Table::new(&columns);
    for (name, categories) in &facts.counters {
        for (category, values) in Category::ALL.iter().filter_map(|of| categories.get_key_value(of.name())) {
            table.row(vec![
                text::printable(name).into_owned(),
                (*category).to_owned(),
                values.values.to_string(),
                text::optional(values.median),
                text::optional(values.min),
                text::optional(values.max),
            ]);
        }
    }
    table.write(output, style)
}

fn per_rank(facts: &Facts, output: &mut dyn Write, style: Style) -> io::Result<()> {
    let Some(ranks) = &facts.per_rank else { return Ok(()) };
    writeln!(output)?;
    let mut columns = vec![number("rank")];
    columns.extend(DESCRIBED);
    columns.extend([
        number("last in").optional(),
        number("last out").optional(),
        number("exit after first").optional().spare(1),
        text("95 %").optional().spare(12),
    ]);
    let mut table = Table::new(&columns);
    for rank in ranks {
        let mut row = vec![rank.rank.to_string().into()];
        row.extend(described(&rank.description));
        row.extend([
            text::optional(rank.last_in).into(),
            text::optional(rank.last_out).into(),
            time(rank.exit_after_first_ns),
            table::interval(rank.exit_after_first_interval_ns),
        ]);
        table.row(row);
    }
    table.write(output, style)
}

const DESCRIBED: [Column<'static>; 9] = [
    number("min").spare(7),
    number("median"),
    text("interval").spare(3),
    number("p95"),
    number("p99").spare(8),
    number("max"),
    number("mean").spare(9),
    number("sd").spare(10),
    number("mad").spare(11),
];

fn described(d: &Description) -> [Cell; 9] {
    let interval = table::interval(d.median_interval.map(|of| [of.lower_ns, of.upper_ns]));
    [
        time(d.min_ns),
        time(d.median_ns),
        interval,
        time(d.p95_ns),
        time(d.p99_ns),
        time(d.max_ns),
        time(d.mean_ns),
        time(d.sd_ns),
        time(d.mad_ns),
    ]
}
