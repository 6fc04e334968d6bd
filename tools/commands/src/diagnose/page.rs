//! The causes, for people: a sentence each.

use std::io::Write;

use anyhow::Result;
use mpitrace_show::output::{Attribute, Output};
use mpitrace_show::text;
use mpitrace_statistics::categories::Category;

use super::diagnosed::Diagnosed;

pub fn write(diagnosed: &Diagnosed<'_>, first: bool, output: &mut Output) -> Result<()> {
    let style = output.style;
    if !first {
        writeln!(output)?;
    }
    let description = diagnosed.description;
    let counts = Category::ALL.map(|category| (diagnosed.categories.count(category), category.name()));
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
    let communicator = match &description.communicator_label[..] {
        "unknown" => String::new(),
        known => format!(" on {known}"),
    };
    let title = format!(
        "operation {}: {}{}{}",
        description.operation,
        text::printable(&description.function),
        text::of_bytes(description.bytes),
        communicator
    );
    writeln!(output, "{}", style.paint(Attribute::Bold, &title))?;
    if description.repetitions == 0 {
        writeln!(output, "no repetition that every rank finished and kept")?;
        return Ok(());
    }
    writeln!(output, "{}: {}", text::count(description.repetitions as u64, "repetition"), counts.join(", "))?;
    for sentence in &diagnosed.sentences {
        writeln!(output, "* {sentence}")?;
    }
    Ok(())
}
