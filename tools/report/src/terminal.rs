//! The fingerprint in a terminal of 80 columns or more: run time per repetition, histogram and distribution function.

use std::io::{self, Write};

use mpitrace_show::draw::terminal::{Look, draw};
use mpitrace_show::output::Attribute;
use mpitrace_show::text;
use mpitrace_statistics::categories::Category;
use mpitrace_trace::run_time::RunTime;
use mpitrace_words::numbers::{self, NumberRow};

use super::fingerprint::Report;
use super::plots::{self, View, ink};

/// Draws the operations of a report.
pub fn write(report: &Report, time: RunTime, look: Look, output: &mut dyn Write) -> io::Result<()> {
    for line in &report.run.summary {
        let text = text::printable(line);
        let is_verdict = *line == report.run.verdict;
        writeln!(output, "{}", if is_verdict { look.style.paint(Attribute::Bold, &text) } else { text.into_owned() })?;
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

fn one(report: &Report, view: View, look: Look, output: &mut dyn Write) -> io::Result<()> {
    let subject = &view.fingerprint.subject;
    let title = format!("{}: {}, {}", subject.operation.operation, subject.title(), subject.layout());
    let title = look.style.paint(Attribute::Bold, &text::printable(&title));
    writeln!(output, "{title}\n{}", counts(report, view, look))?;
    if view.fingerprint.subject.operation.repetitions == 0 {
        return Ok(());
    }
    numbers(view).into_iter().try_for_each(|line| writeln!(output, "{line}"))?;
    let plots = plots::most_telling(view);
    plots.iter().flat_map(|plot| draw(plot, look)).try_for_each(|line| writeln!(output, "{line}"))
}

/// The number of repetitions of each category, with its mark: the legend.
fn counts(report: &Report, view: View, look: Look) -> String {
    let timed = view.timed();
    let repetitions = text::count(view.fingerprint.subject.operation.repetitions as u64, "repetition");
    let mut line = format!("{repetitions} ({}, {})", timed.time.name(), report.method);
    for category in Category::ALL {
        let count = timed.counts[category.place()];
        if count > 0 {
            line.push_str(&format!("  {} {} {count}", look.mark(ink(category)), category.name()));
        }
    }
    if view.fingerprint.subject.operation.incomplete > 0 {
        line.push_str(&format!("  incomplete {}", view.fingerprint.subject.operation.incomplete));
    }
    line
}

/// The quantiles that matter most, with their intervals.
fn numbers(view: View) -> Vec<String> {
    let timed = view.timed();
    let text = |row: &NumberRow| {
        if row.interval.is_empty() { row.value.clone() } else { format!("{} ({})", row.value, row.interval) }
    };
    let each = numbers::rows(&timed.all).into_iter().zip(numbers::rows(&timed.good));
    let shown = each.filter(|(row, _)| ["median", "p95", "p99"].contains(&row.name.as_str()));
    let line =
        |(all, good): (NumberRow, NumberRow)| format!("{:<8} all {:<33} good {}", all.name, text(&all), text(&good));
    let mut lines: Vec<String> = shown.map(|pair| line(pair).trim_end().to_owned()).collect();
    lines.extend(timed.cuts.iter().map(|cut| format!("{:<8} {}", cut.method, cut.to_text())));
    lines.extend(timed.remarks.sentences());
    lines
}
