//! What was found, for people: sentences first, the table behind.

use std::io::Write;

use anyhow::Result;
use mpitrace::categories::Category;
use mpitrace::diagnosis::{Correlation, Diagnosis, Examined, Separated};

use super::{Diagnosed, words};
use crate::output::{Attribute, Output};
use crate::table::{Table, number, text as words_of};
use crate::text;

/// So many metrics of each group are shown; `--json` has all.
const SHOWN: usize = 8;

/// Writes an operation.
pub fn write(diagnosed: &Diagnosed<'_>, first: bool, output: &mut Output) -> Result<()> {
    let style = output.style;
    if !first {
        writeln!(output)?;
    }
    let description = diagnosed.description;
    let counts = Category::ALL.map(|category| (diagnosed.categories.count(category), category.name()));
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
    let title = format!(
        "operation {}: {} {}",
        description.operation,
        text::printable(&description.function),
        description.bytes.map(|bytes| format!("of {bytes} bytes ")).unwrap_or_default()
    );
    writeln!(output, "{}", style.paint(Attribute::Bold, title.trim_end()))?;
    if description.repetitions == 0 {
        writeln!(output, "no repetition that every rank finished and kept")?;
        return Ok(());
    }
    writeln!(output, "{}: {}", text::count(description.repetitions as u64, "repetition"), counts.join(", "))?;
    for sentence in words::sentences(diagnosed) {
        writeln!(output, "* {sentence}")?;
    }
    let (table, left) = table(&diagnosed.diagnosis);
    if let Some(table) = table {
        writeln!(output)?;
        table.write(output, style)?;
    }
    if left > 0 {
        writeln!(output, "--json has {} more", text::count(left as u64, "row"))?;
    }
    Ok(())
}

/// The strongest metrics of each group, and how many are left out.
fn table(diagnosis: &Diagnosis) -> (Option<Table<'static>>, usize) {
    let mut table = Table::new(&[
        words_of("group"),
        words_of("metric"),
        number("rank").optional(),
        number("median"),
        number("of others"),
        number("delta"),
        number("p"),
        number("share").optional(),
        number("pearson").optional(),
        number("spearman").optional(),
        number("good").optional(),
    ]);
    let (mut rows, mut left) = (0, 0);
    for (index, group) in diagnosis.groups.iter().enumerate() {
        let separated = |examined: &'_ Examined| examined.separations[index];
        let mut strongest: Vec<(&Examined, Separated)> =
            diagnosis.metrics.iter().filter_map(|examined| Some((examined, separated(examined)?))).collect();
        strongest.retain(|(_, separated)| separated.separation.delta != 0.0);
        strongest.sort_by(|one, other| {
            let key = |(examined, separated): &(&Examined, Separated)| {
                (examined.metric.quantity.may_be_cause(), separated.separation.delta.abs())
            };
            let (one, other) = (key(one), key(other));
            other.0.cmp(&one.0).then(other.1.total_cmp(&one.1))
        });
        left += strongest.len().saturating_sub(SHOWN);
        for (examined, separated) in strongest.into_iter().take(SHOWN) {
            table.row(cells(&words::short(group), examined, &separated));
            rows += 1;
        }
    }
    ((rows > 0).then_some(table), left)
}

fn cells(group: &str, examined: &Examined, separated: &Separated) -> Vec<String> {
    let (metric, found) = (&examined.metric, &separated.separation);
    let within = |wanted: Option<Category>| examined.correlations.iter().find(move |one| one.within == wanted);
    let spearman = |one: &Correlation| one.spearman.map(|one| format!("{:.2}", one.r));
    let all = within(None);
    vec![
        group.to_owned(),
        text::printable(&metric.name).into_owned(),
        metric.rank.map_or_else(|| "all".to_owned(), |rank| rank.to_string()),
        words::value(metric, found.median),
        words::value(metric, found.median_others),
        format!("{:.2}", found.delta),
        probability(separated.p_corrected),
        separated.explained.filter(words::is_share).map(words::percent).unwrap_or_default(),
        all.and_then(|one| one.pearson).map(|one| format!("{:.2}", one.r)).unwrap_or_default(),
        all.and_then(spearman).unwrap_or_default(),
        within(Some(Category::Good)).and_then(spearman).unwrap_or_default(),
    ]
}

fn probability(p: f64) -> String {
    match p {
        small if small < 1e-4 => "< 1e-4".to_owned(),
        _ => format!("{p:.4}"),
    }
}
