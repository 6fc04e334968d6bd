//! The comparison for people: a row for each operation, and what explains it.

use std::io::Write;

use anyhow::Result;
use mpitrace_show::output::{Attribute, Output, Style};
use mpitrace_show::table::{Table, number, text};
use mpitrace_show::text;
use mpitrace_statistics::comparison::{Quantile, Verdict, stars};

use super::factors::Factor;
use super::identity::Names;
use super::pair::Pair;
use super::reduce::LeftOut;
use super::result::{Compared, OfSide};
use super::sentence;
use super::share::signed;

/// Characters of a recorded value that are shown.
const LONGEST: usize = 120;

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
    let heads = [("runs", a), ("runs", b), ("left out", a), ("left out", b), ("median", a), ("median", b)];
    let heads: Vec<String> = heads.iter().map(|(head, name)| format!("{head} {name}")).collect();
    let against = format!("{b} against {a}");
    let mut columns = vec![text("operation"), text("on").optional().spare(4)];
    let spare = [5, 5, 6, 6, 0, 0];
    columns.extend(heads.iter().zip(spare).map(|(head, order)| number(head).spare(order)));
    // The sentences below the table have the interval, too.
    columns.extend([number(&against), text("95 %").spare(2), text("p").spare(1), text("verdict")]);
    let mut table = Table::new(&columns);
    for one in compared {
        table.row(cells(one, compared, style));
    }
    table.write(output, style)?;
    writeln!(output)?;
    for (side, name) in names.iter().enumerate() {
        writeln!(output, "{}", left_out(*name, compared.iter().map(|compared| &compared.sides[side])))?;
    }
    write_sentences(compared, output)?;
    write_factors(factors, *names, output)?;
    for crossing in compared.iter().filter(|compared| compared.comparison.verdict() == Verdict::Crossing) {
        write_crossing(crossing, output)?;
    }
    Ok(())
}

fn cells(one: &Compared, all: &[Compared], style: Style) -> Vec<String> {
    let key = one.identity.key();
    // What the key leaves open is shown where two operations share it.
    let ambiguous = all.iter().filter(|other| other.identity.key() == key).count() > 1;
    let rest = if ambiguous { one.identity.rest() } else { String::new() };
    let of = |side: usize| &one.sides[side];
    let median = |side: usize| text::time(of(side).median_ns);
    let runs = |side: usize| of(side).operation.runs.len().to_string();
    let left_out = |side: usize| of(side).operation.left_out.total().to_string();
    let interval = one.effect_interval().map(|[low, high]| format!("{} to {}", signed(low), signed(high)));
    let [a, b] = one.names;
    let verdict = match one.comparison.verdict() {
        Verdict::A => style.paint(Attribute::Red, &format!("{a} is faster")),
        Verdict::B => format!("{b} is faster"),
        Verdict::Crossing => style.paint(Attribute::Yellow, "crossing"),
        Verdict::None if one.enough && one.comparison.p.is_some() => "no difference".to_owned(),
        Verdict::None => "too few runs".to_owned(),
    };
    vec![
        text::printable(&key).into_owned(),
        text::printable(&rest).into_owned(),
        runs(0),
        runs(1),
        left_out(0),
        left_out(1),
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

fn write_factors(factors: &[Factor], [a, b]: Names, output: &mut Output) -> Result<()> {
    if factors.is_empty() {
        return Ok(());
    }
    writeln!(output, "\nRecorded differences between the sides:")?;
    let value = |value: &Option<String>| match value {
        Some(value) => text::printable(value).into_owned(),
        None => "not recorded".to_owned(),
    };
    for factor in factors {
        let (of_a, of_b) = (value(&factor.a), value(&factor.b));
        let [of_a, of_b] = [of_a, of_b].map(|value| text::shortened(&value, LONGEST).into_owned());
        writeln!(output, "  {}: {a} {of_a}, {b} {of_b}", text::printable(&factor.name))?;
    }
    Ok(())
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
