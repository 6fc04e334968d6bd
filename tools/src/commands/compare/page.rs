//! The comparison for people: a row for each operation, and what explains it.

use std::io::Write;

use anyhow::Result;
use mpitrace::comparison::drift::{Bin, Drift};
use mpitrace::comparison::{Average, Quantile, Verdict, stars};

use super::factors::Factor;
use super::forest::{self, Row};
use super::reduce::LeftOut;
use super::result::{Compared, OfSide};
use super::share::{percent, signed};
use super::{Question, sentence};
use crate::draw::terminal::Look;
use crate::output::{Attribute, Output, Style};
use crate::table::{Table, number, text};
use crate::text;

const SIDES: [&str; 2] = ["A", "B"];

/// Writes it.
pub fn write(
    compared: &[Compared],
    rows: &[Row],
    question: &Question,
    factors: &[Factor],
    output: &mut Output,
) -> Result<()> {
    let style = output.style;
    let average = question.settings.average.name();
    let averages = SIDES.map(|side| format!("{average} {side}"));
    let mut table = Table::new(&[
        text("operation"),
        text("communicator").optional(),
        text("datatype").optional(),
        text("reduction").optional(),
        number("runs A"),
        number("runs B"),
        number("left out A"),
        number("left out B"),
        number(&averages[0]),
        number(&averages[1]),
        number("B against A"),
        text("95 %"),
        number("p"),
        text(""),
        text("verdict"),
    ]);
    for one in compared {
        table.row(cells(one, compared, question, style));
    }
    table.write(output, style)?;
    writeln!(output)?;
    for (side, name) in SIDES.iter().enumerate() {
        writeln!(output, "{}", left_out(name, compared.iter().map(|compared| &compared.sides[side])))?;
    }
    write_sentences(compared, output)?;
    write_forest(rows, output)?;
    write_factors(factors, output)?;
    for crossing in compared.iter().filter(|compared| compared.verdict() == Verdict::Crossing) {
        write_crossing(crossing, output)?;
    }
    if question.trials.is_some() {
        write_reproducibility(compared, output, style)?;
    }
    if question.drift.is_some() {
        write_drift(compared, output, style)?;
    }
    Ok(())
}

fn cells(one: &Compared, all: &[Compared], question: &Question, style: Style) -> Vec<String> {
    let key = one.identity.key();
    // What the key leaves open is shown where two operations share it.
    let ambiguous = all.iter().filter(|other| other.identity.key() == key).count() > 1;
    let rest = |word: Option<&String>| match word {
        Some(word) if ambiguous => text::printable(word).into_owned(),
        _ => String::new(),
    };
    let of = |side: usize| &one.sides[side];
    let average = |side: usize| match question.settings.average {
        Average::Median => text::time(of(side).median_ns),
        Average::Mean => text::time(of(side).mean_ns),
    };
    let runs = |side: usize| of(side).operation.runs.len().to_string();
    let left_out = |side: usize| of(side).operation.left_out.total().to_string();
    let verdict = match one.verdict() {
        Verdict::A => style.paint(Attribute::Red, "A is faster"),
        Verdict::B => "B is faster".to_owned(),
        Verdict::Crossing => style.paint(Attribute::Yellow, "crossing"),
        Verdict::None => String::new(),
    };
    vec![
        text::printable(&key).into_owned(),
        rest(Some(&one.identity.communicator)),
        rest(one.identity.datatype.as_ref()),
        rest(one.identity.reduction.as_ref()),
        runs(0),
        runs(1),
        left_out(0),
        left_out(1),
        average(0),
        average(1),
        one.effect().map(signed).unwrap_or_default(),
        one.effect_interval().map(|[low, high]| format!("{} to {}", signed(low), signed(high))).unwrap_or_default(),
        one.comparison.p.map(probability).unwrap_or_default(),
        stars(one.comparison.p).to_owned(),
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

fn left_out<'c>(name: &str, sides: impl Iterator<Item = &'c OfSide<'c>>) -> String {
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

/// One for each operation of which something can be said.
fn write_sentences(compared: &[Compared], output: &mut Output) -> Result<()> {
    let sentences: Vec<(String, String)> = compared
        .iter()
        .filter_map(|compared| Some((text::printable(&compared.identity.key()).into_owned(), sentence::of(compared)?)))
        .collect();
    if !sentences.is_empty() {
        writeln!(output)?;
    }
    sentences.iter().try_for_each(|(key, sentence)| writeln!(output, "{key}: {sentence}"))?;
    Ok(())
}

/// All operations on one scale, where there are several.
fn write_forest(rows: &[Row], output: &mut Output) -> Result<()> {
    if rows.len() < 2 || rows.iter().all(|row| row.interval.is_none()) {
        return Ok(());
    }
    writeln!(output, "\nB against A with intervals of 95 % (* a difference, o none found):")?;
    let width = Look::of_output(output.style).width;
    forest::lines(rows, width).iter().try_for_each(|line| writeln!(output, "{line}"))?;
    Ok(())
}

/// What was recorded and differs between the sides.
fn write_factors(factors: &[Factor], output: &mut Output) -> Result<()> {
    if factors.is_empty() {
        return Ok(());
    }
    writeln!(output, "\nRecorded differences between the sides:")?;
    let value = |value: &Option<String>| match value {
        Some(value) => text::printable(value).into_owned(),
        None => "not set".to_owned(),
    };
    for factor in factors {
        writeln!(output, "  {}: A {}, B {}", text::printable(&factor.name), value(&factor.a), value(&factor.b))?;
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
    for (name, [a, b]) in [("median", &crossing.median), ("95th percentile", &crossing.p95)] {
        let faster = if a.value_ns < b.value_ns { "A" } else { "B" };
        writeln!(output, "  {name}: A {}, B {}: {faster} is faster", shown(a), shown(b))?;
    }
    Ok(())
}

fn write_reproducibility(compared: &[Compared], output: &mut Output, style: Style) -> Result<()> {
    let mut table = Table::new(&[text("operation"), text("side"), number("largest difference"), text("trials")]);
    for compared in compared {
        for (side, name) in compared.sides.iter().zip(SIDES) {
            let (largest, trials) = match &side.reproducibility {
                Some(found) => {
                    let trials: Vec<String> = found.normalised.iter().map(|trial| format!("{trial:.4}")).collect();
                    (percent(found.largest_difference), trials.join(" "))
                }
                None => (String::new(), "a trial has no run".to_owned()),
            };
            table.row(vec![text::printable(&compared.identity.key()).into_owned(), name.to_owned(), largest, trials]);
        }
    }
    writeln!(output, "\nThe mean of each trial over the smallest:")?;
    Ok(table.write(output, style)?)
}

fn write_drift(compared: &[Compared], output: &mut Output, style: Style) -> Result<()> {
    for compared in compared {
        for (side, name) in compared.sides.iter().zip(SIDES) {
            let Some(drift) = &side.drift else {
                continue;
            };
            writeln!(output, "\n{}, {name}: {}", text::printable(&compared.identity.key()), drifting(drift))?;
            let interval_of = [number("repetitions"), number("good"), number("mean"), text("95 %"), number("median")];
            let mut table = Table::new(&[&interval_of[..], &[text("95 %")]].concat());
            drift.bins.iter().for_each(|bin| table.row(bin_cells(bin)));
            table.write(output, style)?;
        }
    }
    Ok(())
}

fn drifting(drift: &Drift) -> String {
    let change = drift.change.map_or("no drift is visible".to_owned(), |change| {
        format!("{} from the first bin to the last", percent(change))
    });
    match drift.drifts {
        Some(true) => format!("{change}, intervals apart"),
        Some(false) => format!("{change}, within the intervals"),
        None => change,
    }
}

fn bin_cells(bin: &Bin) -> Vec<String> {
    let value =
        |quantile: &Option<Quantile>| quantile.map(|quantile| text::time(quantile.value_ns)).unwrap_or_default();
    let interval = |quantile: &Option<Quantile>| {
        let interval = quantile.and_then(|quantile| quantile.interval_ns);
        interval.map(|[low, high]| format!("{} to {}", text::time(low), text::time(high))).unwrap_or_default()
    };
    let numbers = format!("{}-{}", bin.first_repetition, bin.last_repetition);
    let (mean, median) = (&bin.mean, &bin.median);
    vec![numbers, bin.count.to_string(), value(mean), interval(mean), value(median), interval(median)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_as_long_as_they_must_be() {
        assert_eq!([0.03, 0.00057, 1.2e-7, 1.0].map(probability), ["0.0300", "0.00057", "1.2e-7", "1.0000"]);
    }
}
