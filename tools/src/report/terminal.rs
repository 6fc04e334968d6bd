//! The fingerprint in a terminal of 80 columns or more: run time per repetition, histogram and distribution function.

use std::io::{self, Write};

use mpitrace::categories::Category;
use mpitrace::run_time::RunTime;

use super::comparison::Comparison;
use super::fingerprint::{Estimate, Report};
use super::histogram::place;
use super::plots::{self, View, ink};
use crate::draw::terminal::{Look, draw};
use crate::output::Attribute;
use crate::text;

/// Draws the operations of a report.
///
/// # Errors
/// The output cannot be written.
pub fn write(report: &Report, time: RunTime, look: Look, output: &mut dyn Write) -> io::Result<()> {
    for line in &report.run.summary {
        for line in text::wrapped(&text::printable(line), look.width) {
            writeln!(output, "{line}")?;
        }
    }
    if !report.run.summary.is_empty() {
        writeln!(output)?;
    }
    if report.fingerprints.is_empty() {
        writeln!(output, "no operation was recorded")?;
    }
    for (index, fingerprint) in report.fingerprints.iter().enumerate() {
        if index > 0 {
            writeln!(output)?;
        }
        one(report, View { fingerprint, time: fingerprint.index_of(time) }, look, output)?;
    }
    for note in &report.notes {
        writeln!(output, "\n{note}")?;
    }
    Ok(())
}

/// Draws the distribution functions of two runs over each other.
///
/// # Errors
/// The output cannot be written.
pub fn write_comparison(comparison: &Comparison, time: RunTime, look: Look, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "A {}, B {}", text::printable(&comparison.names[0]), text::printable(&comparison.names[1]))?;
    for pair in &comparison.pairs {
        let Some(distance) = pair.distance_by(time) else { continue };
        let title = format!("{}, {} run time, {}", pair.operation_key, distance.time.name(), comparison.method);
        writeln!(output, "\n{}", title_of(&title, look))?;
        writeln!(output, "{}\n{}", distance.words.join("\n"), distance.to_text())?;
        for (_, plot) in plots::overlays(pair, distance).iter().filter(|(name, _)| *name == "ecdf-good") {
            draw(plot, look).into_iter().try_for_each(|line| writeln!(output, "{line}"))?;
        }
    }
    comparison.notes.iter().try_for_each(|note| writeln!(output, "\n{note}"))
}

fn title_of(text: &str, look: Look) -> String {
    look.style.paint(Attribute::Bold, &text::printable(text))
}

fn one(report: &Report, view: View, look: Look, output: &mut dyn Write) -> io::Result<()> {
    let subject = &view.fingerprint.subject;
    let title = format!("{}: {}, {}", subject.operation, subject.title(), subject.layout());
    writeln!(output, "{}\n{}", title_of(&title, look), counts(report, view, look))?;
    if view.fingerprint.repetitions == 0 {
        return Ok(());
    }
    numbers(view).into_iter().try_for_each(|line| writeln!(output, "{line}"))?;
    let plots = plots::most_telling(view);
    plots.iter().flat_map(|plot| draw(plot, look)).try_for_each(|line| writeln!(output, "{line}"))
}

/// The number of repetitions of each category, with its mark: the legend.
fn counts(report: &Report, view: View, look: Look) -> String {
    let timed = view.timed();
    let repetitions = text::count(view.fingerprint.repetitions as u64, "repetition");
    let mut line = format!("{repetitions}, {} run time, {}", timed.time.name(), report.method);
    for category in Category::ALL {
        let count = timed.counts[place(category)];
        if count > 0 {
            line.push_str(&format!("  {} {} {count}", look.mark(ink(category)), category.name()));
        }
    }
    if view.fingerprint.incomplete > 0 {
        line.push_str(&format!("  incomplete {}", view.fingerprint.incomplete));
    }
    line
}

/// The quantiles that matter most, with their intervals.
fn numbers(view: View) -> Vec<String> {
    let timed = view.timed();
    let mut lines = Vec::new();
    for name in ["median", "95 % quantile", "99 % quantile"] {
        let Some(number) = timed.numbers.iter().find(|number| number.name == name) else { continue };
        let text_of = |estimate: Option<Estimate>| {
            estimate.map_or_else(String::new, |estimate| {
                let ends = |(low, high)| format!(" ({} to {})", text::time(low), text::time(high));
                number.text_of(estimate.value) + &estimate.interval.map_or_else(String::new, ends)
            })
        };
        let (all, good) = (text_of(number.all), text_of(number.good));
        lines.push(format!("{name:<14} all {all:<33} good {good}").trim_end().to_owned());
    }
    lines.extend(timed.cuts.iter().map(|cut| format!("{:<14} {}", cut.method, cut.to_text())));
    lines.extend(timed.not_one_level.iter().map(ToString::to_string));
    lines
}
