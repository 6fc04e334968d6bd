//! The fingerprint in a terminal of 80 columns or more: histogram, run time per repetition and distribution function.

mod plots;

use std::io::{self, Write};

use mpitrace::categories::Category;
use mpitrace::run_time::RunTime;

use super::comparison::Comparison;
use super::fingerprint::{Fingerprint, Report, Timed};
use super::histogram::place;
use crate::draw::terminal::{self, Look};
use crate::output::Attribute;
use crate::text;

/// What is drawn with: for each category one, the least ordinary last, and one for all of them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ink {
    All,
    Good,
    Warmup,
    Outlier,
    First,
    /// The first of two runs.
    A,
    /// The second.
    B,
}

impl Ink {
    fn of(category: Category) -> Ink {
        match category {
            Category::First => Ink::First,
            Category::Warmup => Ink::Warmup,
            Category::Outlier => Ink::Outlier,
            Category::Good => Ink::Good,
        }
    }
}

impl terminal::Ink for Ink {
    // The good ones are the background of the others.
    fn sign(self) -> char {
        match self {
            Ink::All => '#',
            Ink::Good => '.',
            Ink::Warmup => 'w',
            Ink::Outlier => 'o',
            Ink::First => 'f',
            Ink::A => 'a',
            Ink::B => 'b',
        }
    }

    fn attribute(self) -> Option<Attribute> {
        match self {
            Ink::All => None,
            Ink::First => Some(Attribute::Magenta),
            Ink::Warmup => Some(Attribute::Yellow),
            Ink::Outlier | Ink::B => Some(Attribute::Red),
            Ink::Good | Ink::A => Some(Attribute::Cyan),
        }
    }
}

/// Draws the operations of a report.
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
        one(report, fingerprint, fingerprint.index_of(time), look, output)?;
    }
    for note in &report.notes {
        writeln!(output, "\n{note}")?;
    }
    Ok(())
}

/// Draws the distribution functions of two runs over each other.
pub fn write_comparison(comparison: &Comparison, time: RunTime, look: Look, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "A {}, B {}", text::printable(&comparison.names[0]), text::printable(&comparison.names[1]))?;
    for pair in &comparison.pairs {
        let of_time = pair.distances.iter().find(|distance| distance.time == time);
        let Some(distance) = of_time.or(pair.distances.first()) else { continue };
        let title = format!("{}, {} run time, {}", pair.operation_key, distance.time.name(), comparison.method);
        writeln!(output, "\n{}", look.title(&text::printable(&title)))?;
        writeln!(output, "{}\n{}", distance.words.join("\n"), distance.told())?;
        let of = |side: usize| pair.sides[side].times.iter().find(|timed| timed.time == distance.time);
        if let (Some(a), Some(b)) = (of(0), of(1)) {
            plots::both(&a.ecdf_good, &b.ecdf_good, look)
                .into_iter()
                .try_for_each(|line| writeln!(output, "{line}"))?;
        }
    }
    comparison.notes.iter().try_for_each(|note| writeln!(output, "\n{note}"))
}

fn one(report: &Report, fingerprint: &Fingerprint, time: usize, look: Look, output: &mut dyn Write) -> io::Result<()> {
    let Some(timed) = fingerprint.times.get(time) else { return Ok(()) };
    let subject = &fingerprint.subject;
    let title = format!("{}: {}, {}", subject.operation, subject.title(), subject.layout());
    writeln!(output, "{}", look.title(&text::printable(&title)))?;
    writeln!(output, "{}", counts(report, fingerprint, timed, look))?;
    if fingerprint.repetitions == 0 {
        return Ok(());
    }
    for line in numbers(timed) {
        writeln!(output, "{line}")?;
    }
    for line in plots::run_times(fingerprint, time, look).into_iter().chain(plots::histogram(timed, look)) {
        writeln!(output, "{line}")?;
    }
    plots::ecdf(timed, look).into_iter().try_for_each(|line| writeln!(output, "{line}"))
}

/// How many repetitions there are of each category; what stands for it is the legend.
fn counts(report: &Report, fingerprint: &Fingerprint, timed: &Timed, look: Look) -> String {
    let mut line = format!(
        "{}, {} run time, {}",
        text::count(fingerprint.repetitions as u64, "repetition"),
        timed.time.name(),
        report.method
    );
    for category in Category::ALL {
        let count = timed.counts[place(category)];
        if count > 0 {
            line.push_str(&format!("  {} {} {count}", look.mark(Ink::of(category)), category.name()));
        }
    }
    if fingerprint.incomplete > 0 {
        line.push_str(&format!("  incomplete {}", fingerprint.incomplete));
    }
    line
}

/// The quantiles that matter most, with their intervals.
fn numbers(timed: &Timed) -> Vec<String> {
    let mut lines = Vec::new();
    for name in ["median", "95 % quantile", "99 % quantile"] {
        let Some(number) = timed.numbers.iter().find(|number| number.name == name) else { continue };
        let of = |estimate: Option<super::fingerprint::Estimate>| {
            estimate.map_or_else(String::new, |estimate| {
                let interval = estimate
                    .interval
                    .map_or_else(String::new, |(low, high)| format!(" ({} to {})", text::time(low), text::time(high)));
                format!("{}{interval}", text::time(estimate.value))
            })
        };
        lines.push(format!("{name:<14} all {:<33} good {}", of(number.all), of(number.good)).trim_end().to_owned());
    }
    for cut in &timed.cuts {
        let end = cut.warmup_end.map_or("no warm-up".to_owned(), |end| format!("the warm-up ends at repetition {end}"));
        let class = cut.class.as_ref().map_or_else(String::new, |class| format!(", {class}"));
        lines.push(format!("{:<14} {end}{class}", cut.method));
    }
    lines.extend(timed.not_one_level.iter().map(ToString::to_string));
    lines
}
