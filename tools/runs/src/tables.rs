//! The efficiencies as the table that centres use, and the parts that grow.

use std::io::{self, Write};

use mpitrace_scaling::{GrowingPart, Growth, LawShare, Level, Scaling};
use mpitrace_show::output::Output;
use mpitrace_show::table::{Column, Table, number, text as text_column};
use mpitrace_show::text;
use mpitrace_statistics::models::Estimate;

use crate::facts::ScaleFacts;
use crate::labels::{amount, part_label, plain, share};
use mpitrace_words::summary::seconds;

/// Rows of parts that are shown where there is not all the room.
const ROWS: usize = 10;
/// A part that is less of the time on most ranks is not shown there.
const SMALL: f64 = 0.005;

/// Writes sentences and tables.
///
/// # Errors
/// The output cannot be written.
pub fn write(facts: &ScaleFacts, output: &mut Output) -> io::Result<()> {
    let style = output.style;
    for line in facts.sentences.iter().flat_map(|sentence| text::wrapped(sentence, style.width)) {
        writeln!(output, "{line}")?;
    }
    writeln!(output)?;
    write_levels(&facts.scaling.levels, output)?;
    writeln!(output)?;
    let all = &facts.scaling.parts;
    let last = facts.scaling.levels.last().map_or(0.0, |level| level.seconds.value);
    let is_shown =
        |part: &&GrowingPart<_>| style.is_wide() || part.seconds.last().is_some_and(|seconds| *seconds >= SMALL * last);
    let named = all.iter().filter(is_shown).map(|part| (part_label(&part.part), part));
    let shown: Vec<(String, &GrowingPart<_>)> = named.take(if style.is_wide() { all.len() } else { ROWS }).collect();
    write_parts("time of a rank, mean", &shown, &facts.scaling, output)?;
    if shown.len() < all.len() {
        let left = text::count((all.len() - shown.len()) as u64, "smaller part");
        writeln!(output, "({left} left out; --wide shows all)")?;
    }
    let named = facts.scaling.regions.iter().map(|region| (text::printable(&region.part).into_owned(), region));
    let regions: Vec<(String, &GrowingPart<String>)> = named.collect();
    if !regions.is_empty() {
        writeln!(output)?;
        write_parts("region of the program", &regions, &facts.scaling, output)?;
    }
    Ok(())
}

/// A row for each efficiency, a column for each number of ranks.
fn write_levels(levels: &[Level], output: &mut Output) -> io::Result<()> {
    let titles: Vec<String> = levels.iter().map(|level| level.ranks.to_string()).collect();
    // The first and the last number of ranks stay.
    let column = |(place, title)| match place {
        0 => number(title),
        place if place + 1 == levels.len() => number(title),
        place => number(title).spare(u8::try_from(place).unwrap_or(u8::MAX)),
    };
    let columns = titles.iter().map(String::as_str).enumerate().map(column);
    let mut table = Table::new(&[text_column("ranks")].into_iter().chain(columns).collect::<Vec<Column>>());
    let mut row = |name: &str, cell: &dyn Fn(&Level) -> String| {
        let cells: Vec<String> = levels.iter().map(cell).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            table.row([name.to_owned()].into_iter().chain(cells).collect());
        }
    };
    let optional = |of: &Option<Estimate>| of.as_ref().map_or_else(String::new, share);
    row("runs", &|level| level.runs.to_string());
    row("time", &|level| amount(&level.seconds));
    row("speedup", &|level| plain(&level.speedup));
    row("global efficiency", &|level| share(&level.global_efficiency));
    row("- parallel efficiency", &|level| share(&level.parallel_efficiency));
    row("-- load balance", &|level| share(&level.load_balance));
    row("-- communication efficiency", &|level| share(&level.communication_efficiency));
    row("--- serialisation", &|level| optional(&level.serialisation));
    row("--- transfer", &|level| optional(&level.transfer));
    row("- computation scaling", &|level| share(&level.computation_scaling));
    row("-- instruction scaling", &|level| optional(&level.instruction_scaling));
    row("-- IPC scaling", &|level| optional(&level.ipc_scaling));
    row("-- frequency scaling", &|level| optional(&level.frequency_scaling));
    let style = output.style;
    table.write(output, style)
}

/// A row for each part.
fn write_parts<K>(
    title: &str,
    rows: &[(String, &GrowingPart<K>)],
    scaling: &Scaling,
    output: &mut Output,
) -> io::Result<()> {
    let ranks = |level: Option<&Level>| format!("on {}", level.map_or(0, |level| level.ranks));
    let [first, last] = [scaling.levels.first(), scaling.levels.last()].map(ranks);
    let predicted =
        scaling.prediction.as_ref().map_or_else(String::new, |found| format!("predicted on {}", found.ranks));
    let columns = [
        text_column(title),
        number(&first).spare(3),
        number(&last),
        number("beyond the ideal"),
        text_column("grows as").spare(1),
        number("exponent").spare(4),
        number(&predicted).optional(),
    ];
    let mut table = Table::new(&columns);
    for (name, part) in rows {
        table.row(vec![
            name.clone(),
            part.seconds.first().map_or_else(String::new, |time| seconds(*time)),
            part.seconds.last().map_or_else(String::new, |time| seconds(*time)),
            amount(&part.excess_s),
            laws(&part.growth),
            part.growth.exponent.as_ref().map_or_else(String::new, plain),
            part.predicted_s.as_ref().map_or_else(String::new, amount),
        ]);
    }
    let style = output.style;
    table.write(output, style)
}

/// A law that is less likely is not shown.
const LIKELY: f64 = 0.3;

/// The likeliest law with its share.
fn laws(growth: &Growth) -> String {
    let name = |of: &LawShare| format!("{} ({:.0} %)", of.law.name(), 100.0 * of.share);
    growth.laws.first().filter(|of| of.share >= LIKELY).map_or_else(String::new, name)
}
