//! The causes, for people: a sentence each, the operation with the most time first.

use std::io::Write;

use anyhow::Result;
use mpitrace_show::output::{Attribute, Output};
use mpitrace_show::text;
use mpitrace_statistics::categories::Category;

use super::diagnosed::Diagnosed;

/// Operations of fewer repetitions are in one line, where nothing is said of them: they have nothing to compare.
const FEW: usize = 3;

/// The text about an operation.
pub struct Page {
    number: usize,
    title: String,
    repetitions: usize,
    counts: String,
    sentences: Vec<String>,
    all_ns: f64,
    /// It has too few repetitions to compare, and nothing is known of these.
    is_short: bool,
}

impl Page {
    pub fn new(diagnosed: &Diagnosed<'_>) -> Page {
        let description = diagnosed.description;
        let counts = Category::ALL.map(|category| (diagnosed.categories.count(category), category.name()));
        let counts: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
        let communicator = match &description.communicator_label[..] {
            "unknown" => String::new(),
            known => format!(" on {known}"),
        };
        let line = Some(description.line()).filter(|line| !line.is_empty());
        Page {
            number: description.operation,
            title: format!(
                "operation {}: {}{}{}{}",
                description.operation,
                text::printable(&description.function),
                text::of_bytes(description.bytes),
                communicator,
                line.map_or_else(String::new, |line| format!(" at {line}"))
            ),
            repetitions: description.repetitions,
            counts: counts.join(", "),
            sentences: diagnosed.sentences.clone(),
            all_ns: diagnosed.all_ns,
            is_short: description.repetitions < FEW
                && diagnosed.causes.causes.is_empty()
                && diagnosed.diagnosis.groups.is_empty(),
        }
    }
}

/// Writes them; `is_asked_for`: an operation was named.
pub fn write(mut pages: Vec<Page>, is_asked_for: bool, output: &mut Output) -> Result<()> {
    pages.sort_by(|one, other| other.all_ns.total_cmp(&one.all_ns).then(one.number.cmp(&other.number)));
    let (short, pages): (Vec<Page>, Vec<Page>) = pages.into_iter().partition(|page| !is_asked_for && page.is_short);
    let style = output.style;
    for (place, page) in pages.iter().enumerate() {
        if place > 0 {
            writeln!(output)?;
        }
        writeln!(output, "{}", style.paint(Attribute::Bold, &page.title))?;
        if page.repetitions == 0 {
            writeln!(output, "no repetition that every rank finished and kept")?;
            continue;
        }
        writeln!(output, "{}: {}", text::count(page.repetitions as u64, "repetition"), page.counts)?;
        for sentence in &page.sentences {
            writeln!(output, "* {sentence}")?;
        }
    }
    if !short.is_empty() {
        let all_ns: f64 = short.iter().map(|page| page.all_ns).sum();
        let most = FEW - 1;
        let (separator, other) = if pages.is_empty() { ("", "") } else { ("\n", "other ") };
        writeln!(
            output,
            "{separator}nothing to compare: {} of at most {}, {} in all",
            text::count(short.len() as u64, &format!("{other}operation")),
            text::count(most as u64, "repetition"),
            text::time(all_ns)
        )?;
    }
    Ok(())
}
