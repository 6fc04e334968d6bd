//! The numbers for people: a row for each operation, or all of one.

use std::io::{self, Write};

use anyhow::Result;
use mpitrace::categories::Category;
use mpitrace::statistics::Mode;

use super::facts::Facts;
use super::non_blocking::Progress;
use crate::all_calls;
use crate::numbers::{self, ends};
use crate::output::{Attribute, Style};
use crate::table::{Table, number, text};
use crate::text;
use mpitrace::account::Parts;
use mpitrace::whole_run::AllCalls;

/// A row for each operation.
pub fn all(all: &[Facts], output: &mut dyn Write, style: Style) -> Result<()> {
    let mut table = Table::new(&[
        number("operation"),
        text("function"),
        text("communicator"),
        number("bytes"),
        number("ranks"),
        number("used"),
        number("left out").optional(),
        number("incomplete").optional(),
        number("min"),
        number("median"),
        text("interval"),
        number("p95"),
        number("p99"),
        number("max"),
        number("mean"),
        number("sd"),
        number("mad"),
        number("ESS"),
        number("modes"),
        number("outliers"),
        number("waiting").optional(),
        number("interrupted").optional(),
        number("perturbed").optional(),
    ]);
    for facts in all {
        let part = |of: fn(&Parts) -> f64| {
            facts.account.as_ref().map(|account| account.share(of(&account.parts))).unwrap_or_default()
        };
        let d = &facts.summary.description;
        let left_out = facts.left_out.category + facts.left_out.not_finite;
        table.row(vec![
            facts.operation.operation.to_string(),
            text::printable(&facts.operation.function).into_owned(),
            text::printable(&facts.operation.communicator).into_owned(),
            text::optional(facts.operation.bytes),
            facts.operation.ranks.to_string(),
            facts.used.to_string(),
            positive(left_out as u64),
            positive(facts.operation.incomplete),
            time(d.min_ns),
            time(d.median_ns),
            d.median_interval.map(ends).unwrap_or_default(),
            time(d.p95_ns),
            time(d.p99_ns),
            time(d.max_ns),
            time(d.mean_ns),
            time(d.sd_ns),
            time(d.mad_ns),
            facts.summary.effective_repetitions_median.map(|worth| format!("{worth:.0}")).unwrap_or_default(),
            facts.summary.modes.len().to_string(),
            text::optional(facts.summary.outliers.map(|found| found.twice_median.count)),
            part(|account| account.waiting),
            part(|account| account.interrupted),
            part(|account| account.perturbed),
        ]);
    }
    table.write(output, style)?;
    if let Some(facts) = all.first() {
        writeln!(output)?;
        writeln!(output, "{} run times, {} repetitions; interval: of the median", facts.time, facts.category)?;
        writeln!(
            output,
            "ESS: effective sample size for the median; outliers: run times of at least twice the median"
        )?;
        writeln!(output, "waiting, interrupted, perturbed: of the time of all ranks in the calls; 0 % is left out")?;
    }
    let all_calls: Vec<AllCalls> = all.iter().filter_map(|facts| facts.all_calls.clone()).collect();
    if !all_calls.is_empty() {
        writeln!(output, "\nWith the calls that are not kept; run times of single calls, within 1 %:")?;
        all_calls::table(&all_calls).write(output, style)?;
        writeln!(output)?;
    }
    for facts in all {
        for note in &facts.notes {
            writeln!(output, "operation {}: {}", facts.operation.operation, text::printable(note))?;
        }
    }
    Ok(())
}

/// Everything about one operation.
pub fn one(facts: &Facts, output: &mut dyn Write, style: Style) -> Result<()> {
    head(facts, output)?;
    values(facts, output, style)?;
    series(facts, output)?;
    modes(&facts.summary.modes, output, style)?;
    times_together(facts, output, style)?;
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
    let bytes = operation.bytes.map(|bytes| format!(", {bytes} bytes")).unwrap_or_default();
    let (function, communicator) = (text::printable(&operation.function), text::printable(&operation.communicator));
    writeln!(output, "{function} on {communicator}{bytes}, {}", text::count(operation.ranks.into(), "rank"))?;
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
            text::time(mode.peak),
            format!("{:.1} %", 100.0 * mode.share),
            text::time(mode.range[0]),
            text::time(mode.range[1]),
            mode.first.to_string(),
            mode.quartiles.map(|place| place.to_string()).join(" "),
            mode.last.to_string(),
            format!("{:.1}", mode.run_length),
        ]);
    }
    table.write(output, style)
}

fn times_together(facts: &Facts, output: &mut dyn Write, style: Style) -> io::Result<()> {
    if let Some(c) = &facts.completion {
        let (local, global, last) = (time(c.local_ns), time(c.global_ns), time(c.last_ns));
        writeln!(output, "\ncompletion   local {local}, global {global}, last {last}")?;
        let (arrival, exit) = (time(c.arrival_spread_ns), time(c.exit_spread_ns));
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
        let overhead = time(n.overhead_ns);
        let (init, test, wait) = (time(n.init_ns), time(n.test_ns), time(n.wait_ns));
        writeln!(output, "\nnon-blocking overhead {overhead}: start {init}, tests {test}, wait {wait} (medians)")?;
        match (n.overlap, n.blocking_ns) {
            (Some(overlap), Some(blocking)) => {
                let (share, blocking) = (100.0 * overlap, text::time(blocking));
                writeln!(output, "             overlap {share:.0} %: 1 - overhead / {blocking} of the blocking call")?;
            }
            _ => writeln!(output, "             overlap unknown: no blocking call of the same kind in this trace")?,
        }
        let tests = n.tests.map(|tests| format!("{tests:.0} tests")).unwrap_or_default();
        writeln!(
            output,
            "             work {} between start and completion, {tests}, interval {}",
            time(n.work_ns),
            time(n.interval_ns)
        )?;
        progress(&n.progress, output, style)?;
    }
    Ok(())
}

/// The table by the interval of the tests, where there is more than one.
fn progress(rows: &[Progress], output: &mut dyn Write, style: Style) -> io::Result<()> {
    if rows.len() < 2 {
        return Ok(());
    }
    let columns = ["interval", "repetitions", "tests", "overhead", "wait", "overlap"].map(number);
    let mut table = Table::new(&columns);
    for row in rows {
        table.row(vec![
            text::time(row.interval_ns),
            row.repetitions.to_string(),
            format!("{:.0}", row.tests),
            text::time(row.overhead_ns),
            text::time(row.wait_ns),
            row.overlap.map(|overlap| format!("{:.0} %", 100.0 * overlap)).unwrap_or_default(),
        ]);
    }
    table.write(output, style)
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
    let mut table = Table::new(&[
        number("rank"),
        number("min"),
        number("median"),
        text("interval"),
        number("p95"),
        number("p99"),
        number("max"),
        number("mean"),
        number("sd"),
        number("mad"),
        number("last in").optional(),
        number("last out").optional(),
        number("exit after first").optional(),
        text("95 %").optional(),
    ]);
    for rank in ranks {
        let d = &rank.description;
        table.row(vec![
            rank.rank.to_string(),
            time(d.min_ns),
            time(d.median_ns),
            d.median_interval.map(ends).unwrap_or_default(),
            time(d.p95_ns),
            time(d.p99_ns),
            time(d.max_ns),
            time(d.mean_ns),
            time(d.sd_ns),
            time(d.mad_ns),
            text::optional(rank.last_in),
            text::optional(rank.last_out),
            time(rank.exit_after_first_ns),
            rank.exit_after_first_interval_ns.map(|ends| ends.map(text::time).join(" to ")).unwrap_or_default(),
        ]);
    }
    table.write(output, style)
}

/// A time, or nothing.
fn time(ns: Option<f64>) -> String {
    ns.map(text::time).unwrap_or_default()
}

/// A number, or nothing for 0.
fn positive(number: u64) -> String {
    text::optional(Some(number).filter(|&number| number > 0))
}
