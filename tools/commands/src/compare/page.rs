//! The comparison for people: a row for each operation, and what explains it.

use std::io::Write;

use anyhow::Result;
use mpitrace_changes::Names;
use mpitrace_show::output::{Attribute, Output, Style};
use mpitrace_show::table::{Table, number, text};
use mpitrace_show::text;
use mpitrace_statistics::comparison::{Quantile, Verdict, stars};
use mpitrace_words::changes::in_calls;
use mpitrace_words::share::signed;

use super::changed;
use super::factors::Factor;
use super::pair::Pair;
use super::reduce::LeftOut;
use super::result::{Basis, Compared, OfSide, OneSided};
use super::runs::ALGORITHM;
use super::sentence;
use super::side::OfOperation;

/// Rows of operations that one side alone has.
const ONE_SIDED: usize = 8;
/// Characters of a recorded value that are shown.
const LONGEST: usize = 120;
/// Operations of an algorithm that are named.
const NAMED: usize = 3;

pub fn write(pairs: &[Pair], output: &mut Output) -> Result<()> {
    for (place, pair) in pairs.iter().enumerate() {
        if pairs.len() > 1 {
            let [a, b] = pair.names;
            writeln!(output, "{}{a} and {b}:", if place > 0 { "\n" } else { "" })?;
        }
        write_pair(pair, output)?;
    }
    if pairs.len() > 1 {
        writeln!(output, "\nDifferences that stand, corrected for {} pairs of sets:", pairs.len())?;
        sentence::standing(pairs).iter().try_for_each(|line| writeln!(output, "{}", text::printable(line)))?;
    }
    Ok(())
}

fn write_pair(pair: &Pair, output: &mut Output) -> Result<()> {
    let Pair { names, compared, factors, .. } = pair;
    let [a, b] = names;
    let style = output.style;
    if let Some(job) = &pair.job {
        for line in text::wrapped(&text::printable(&job.sentence), style.width) {
            writeln!(output, "{}", style.paint(Attribute::Bold, &line))?;
        }
        writeln!(output)?;
        changed::write(job, output)?;
        writeln!(output)?;
    }
    let heads = ["runs", "left out", "calls", "time", "median"];
    let heads: Vec<String> = heads.iter().flat_map(|head| names.map(|name| format!("{head} {name}"))).collect();
    let against = format!("{b} against {a}");
    let mut columns = vec![text("operation"), text("on").optional().spare(4)];
    let spare = [6, 6, 7, 7, 3, 3, 5, 5, 0, 0];
    columns.extend(heads.iter().zip(spare).map(|(head, order)| number(head).optional().spare(order)));
    // The sentences below the table have the interval, too.
    columns.extend([number(&against), text("95 %").spare(2), text("p").spare(1), text("verdict")]);
    let mut table = Table::new(&columns);
    for one in compared {
        table.row(cells(one, compared, style));
    }
    let (listed, others) = pair.one_sided.split_at(pair.one_sided.len().min(ONE_SIDED));
    for one in listed {
        table.row(one_sided(one, &pair.one_sided));
    }
    table.write(output, style)?;
    if !others.is_empty() {
        let seconds: f64 = others.iter().filter_map(|one| one.operation.typical()).map(|(seconds, _)| seconds).sum();
        let more = text::count(others.len() as u64, "more operation");
        writeln!(output, "({more} of one side alone: {} of a rank)", text::time(1e9 * seconds))?;
    }
    writeln!(output)?;
    let are_compared = compared.len() > pair.whole;
    for (side, name) in names.iter().enumerate().filter(|_| are_compared) {
        writeln!(output, "{}", left_out(*name, compared.iter().map(|compared| &compared.sides[side])))?;
    }
    write_sentences(compared, output)?;
    write_factors(factors, names, output)?;
    for crossing in compared.iter().filter(|compared| compared.comparison.verdict() == Verdict::Crossing) {
        write_crossing(crossing, output)?;
    }
    Ok(())
}

fn cells(one: &Compared, all: &[Compared], style: Style) -> Vec<String> {
    let key = one.identity.key();
    // What the key leaves open is shown where two operations share it.
    let ambiguous = all.iter().filter(|other| other.identity.key() == key).count() > 1;
    let rest = if ambiguous { one.identity.rest() } else { one.identity.site().unwrap_or_default() };
    let of = |side: usize| &one.sides[side];
    let median = |side: usize| text::time(of(side).median_ns);
    let calls = |side: usize| in_calls(of(side).operation.typical().map(|(_, calls)| calls));
    let seconds = |side: usize| time_of_rank(of(side).operation);
    let runs = |side: usize| of(side).operation.runs.len().to_string();
    let left_out = |side: usize| of(side).operation.left_out.total().to_string();
    let interval = one.effect_interval().map(|[low, high]| format!("{} to {}", signed(low), signed(high)));
    let [a, b] = one.names;
    let in_all = if one.basis == Basis::Total { " in all" } else { "" };
    let verdict = match one.comparison.verdict() {
        Verdict::A => style.paint(Attribute::Red, &format!("{a} is faster{in_all}")),
        Verdict::B => format!("{b} is faster{in_all}"),
        Verdict::Crossing => style.paint(Attribute::Yellow, "crossing"),
        _ if !one.enough || one.comparison.p.is_none() => "too few runs".to_owned(),
        Verdict::None => format!("no difference{in_all}"),
        Verdict::Undecided => "not decided".to_owned(),
    };
    vec![
        text::printable(&key).into_owned(),
        text::printable(&rest).into_owned(),
        runs(0),
        runs(1),
        left_out(0),
        left_out(1),
        calls(0),
        calls(1),
        seconds(0),
        seconds(1),
        median(0),
        median(1),
        one.effect().map(signed).unwrap_or_default(),
        interval.unwrap_or_default(),
        one.comparison
            .p
            .map(|p| format!("{} {}", probability(p), stars(Some(p))))
            .unwrap_or_default()
            .trim_end()
            .to_owned(),
        verdict,
    ]
}

/// The time of a rank in all calls of a run.
fn time_of_rank(operation: &OfOperation) -> String {
    operation.typical().map_or_else(String::new, |(seconds, _)| text::time(1e9 * seconds))
}

/// The row of an operation that one side alone has.
fn one_sided(one: &OneSided, all: &[OneSided]) -> Vec<String> {
    let identity = &one.operation.identity;
    let key = identity.key();
    let ambiguous = all.iter().filter(|other| other.operation.identity.key() == key).count() > 1;
    let rest = if ambiguous { identity.rest() } else { identity.site().unwrap_or_default() };
    let own = OfSide::new(one.operation);
    let of_side = |value: String| {
        let mut both = [String::new(), String::new()];
        both[one.side] = value;
        both
    };
    let median = if one.operation.runs.is_empty() { String::new() } else { text::time(own.median_ns) };
    let values = [
        one.operation.runs.len().to_string(),
        one.operation.left_out.total().to_string(),
        in_calls(one.operation.typical().map(|(_, calls)| calls)),
        time_of_rank(one.operation),
        median,
    ];
    let mut cells = vec![text::printable(&key).into_owned(), text::printable(&rest).into_owned()];
    cells.extend(values.into_iter().flat_map(of_side));
    let verdict = if one.side == 0 { "gone" } else { "new" };
    cells.extend([String::new(), String::new(), String::new(), verdict.to_owned()]);
    cells
}

/// A p-value with two digits that count.
fn probability(p: f64) -> String {
    if p < 0.0001 {
        return format!("{p:.1e}");
    }
    let digits = if p < 0.001 { 5 } else { 4 };
    format!("{p:.digits$}")
}

fn left_out<'c>(name: char, sides: impl Iterator<Item = &'c OfSide<'c>>) -> String {
    let (mut sum, mut good) = (LeftOut::default(), 0);
    for side in sides {
        sum += side.operation.left_out;
        good += side.operation.good;
    }
    let LeftOut { first, warmup, outlier, incomplete } = sum;
    let of = good + sum.total();
    format!(
        "{name}: {} of {of} repetitions left out: {first} first, {warmup} warm-up, {} and {incomplete} incomplete",
        sum.total(),
        text::count(outlier, "outlier")
    )
}

fn write_sentences(compared: &[Compared], output: &mut Output) -> Result<()> {
    let sentences: Vec<(String, String)> = compared
        .iter()
        .filter_map(|compared| {
            Some((text::printable(&compared.identity.key()).into_owned(), sentence::of_comparison(compared)?))
        })
        .collect();
    if !sentences.is_empty() {
        writeln!(output)?;
    }
    sentences.iter().try_for_each(|(key, sentence)| writeln!(output, "{key}: {sentence}"))?;
    Ok(())
}

fn write_factors(factors: &[Factor], [a, b]: &Names, output: &mut Output) -> Result<()> {
    if factors.is_empty() {
        return Ok(());
    }
    writeln!(output, "\nRecorded differences between the sides:")?;
    let value = |value: &Option<String>| match value {
        Some(value) => text::printable(value).into_owned(),
        None => "not recorded".to_owned(),
    };
    let (algorithms, others): (Vec<&Factor>, Vec<&Factor>) =
        factors.iter().partition(|factor| factor.name.starts_with(ALGORITHM));
    for line in joined(&algorithms, [*a, *b], value) {
        writeln!(output, "  {line}")?;
    }
    for factor in others {
        let (of_a, of_b) = (value(&factor.a), value(&factor.b));
        let [of_a, of_b] = [of_a, of_b].map(|value| text::shortened(&value, LONGEST).into_owned());
        writeln!(output, "  {}: {a} {of_a}, {b} {of_b}", text::printable(&factor.name))?;
    }
    Ok(())
}

/// The operations of the same two algorithms in one line: `algorithm: A ring, B linear (MPI_Bcast/8/4/0,
/// MPI_Bcast/16/4/0 and 3 more)`.
fn joined(algorithms: &[&Factor], [a, b]: Names, value: impl Fn(&Option<String>) -> String) -> Vec<String> {
    let mut lines: Vec<(&Factor, Vec<&str>)> = Vec::new();
    for factor in algorithms {
        let key = &factor.name[ALGORITHM.len()..];
        match lines.iter_mut().find(|(known, _)| (&known.a, &known.b) == (&factor.a, &factor.b)) {
            Some((_, keys)) => keys.push(key),
            None => lines.push((factor, vec![key])),
        }
    }
    let line = |(factor, keys): (&Factor, Vec<&str>)| {
        let more = keys.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let named = text::printable(&keys[..keys.len().min(NAMED)].join(", ")).into_owned();
        let [of_a, of_b] = [&factor.a, &factor.b].map(|known| text::shortened(&value(known), LONGEST).into_owned());
        format!("algorithm: {a} {of_a}, {b} {of_b} ({named}{more})")
    };
    lines.into_iter().map(line).collect()
}

fn write_crossing(compared: &Compared, output: &mut Output) -> Result<()> {
    let crossing = &compared.comparison.crossing;
    let shown = |quantile: &Quantile| {
        let interval = quantile.interval_ns.map(|[low, high]| format!(" [{}, {}]", text::time(low), text::time(high)));
        format!("{}{}", text::time(quantile.value_ns), interval.unwrap_or_default())
    };
    writeln!(output, "\n{} crosses, outliers included:", text::printable(&compared.identity.key()))?;
    let [a, b] = compared.names;
    for (name, [of_a, of_b]) in [("median", &crossing.median), ("95th percentile", &crossing.p95)] {
        let faster = if of_a.value_ns < of_b.value_ns { a } else { b };
        writeln!(output, "  {name}: {a} {}, {b} {}: {faster} is faster", shown(of_a), shown(of_b))?;
    }
    Ok(())
}
