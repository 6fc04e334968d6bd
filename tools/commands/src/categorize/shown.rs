//! An operation's categories as a table.

use std::io::Write;

use anyhow::Result;
use mpitrace_show::output::{Attribute, Style};
use mpitrace_show::table::{Cell, Rows, Table, number, text, time};
use mpitrace_show::text;
use mpitrace_source::Categorized;
use mpitrace_statistics::categories::{Category, Levels, RuleFindings};

const CHANGES_SHOWN: usize = 4;

/// The cells of an operation's row.
pub fn cells(of: &Categorized) -> Vec<Cell> {
    let RuleFindings { categories, levels } = &of.found;
    let count = |category: Category| categories.count(category).to_string().into();
    vec![
        of.operation.line().into(),
        of.operation.operation.to_string().into(),
        text::printable(&of.operation.function).into_owned().into(),
        of.operation.communicator_label.clone().into(),
        text::optional(of.operation.bytes).into(),
        text::optional(of.operation.root).into(),
        of.operation.ranks.to_string().into(),
        of.repetition.len().to_string().into(),
        text::positive(of.operation.incomplete).into(),
        time(categories.median_ns),
        of.own_work().unwrap_or_default().into(),
        text::optional(levels.as_ref().map(|levels| levels.class.name())).into(),
        text::optional(categories.warmup_end).into(),
        levels.as_ref().map(changes).unwrap_or_default().into(),
        count(Category::First),
        count(Category::Warmup),
        count(Category::Outlier),
        count(Category::Good),
    ]
}

/// Writes a row for each repetition.
pub fn write_repetitions(of: &Categorized, output: &mut dyn Write, style: Style) -> Result<()> {
    let last = of.repetition.last().map_or(0, |last| last.to_string().len());
    let longest = of.run_time_ns.iter().copied().fold(0.0, f64::max);
    let width = format!("{longest:.1}").len();
    let columns =
        [(number("repetition"), last), (number("run_time_ns"), width), (text("category"), 0), (text("algorithm"), 0)];
    let columns = &columns[..if of.algorithm.is_some() { 4 } else { 3 }];
    let mut rows = Rows::begin(columns, output, style)?;
    let repetitions = of.repetition.iter().zip(&of.found.categories.category).zip(&of.run_time_ns);
    for (row, ((number, category), run_time)) in repetitions.enumerate() {
        let name = match category {
            Category::First | Category::Warmup => style.paint(Attribute::Yellow, category.name()),
            Category::Outlier => style.paint(Attribute::Red, category.name()),
            Category::Good => category.name().to_owned(),
        };
        let algorithm = of.algorithm.as_ref().and_then(|all| all.get(row)).unwrap_or_default();
        let cells = [&number.to_string(), &format!("{run_time:.1}"), &name, algorithm];
        rows.row(output, &cells[..columns.len()])?;
    }
    Ok(())
}

/// The first few change points: `60, 612`, `12, 80, 90, 110, and 7 more`.
fn changes(levels: &Levels) -> String {
    let shown: Vec<String> = levels.change_points.iter().take(CHANGES_SHOWN).map(u64::to_string).collect();
    match levels.change_points.len().saturating_sub(CHANGES_SHOWN) {
        0 => shown.join(", "),
        more => format!("{}, and {more} more", shown.join(", ")),
    }
}

pub fn table() -> Table<'static> {
    Table::new(&[
        text("line").optional(),
        number("operation").listed(),
        text("function"),
        text("communicator").spare(1),
        number("bytes"),
        number("root").optional().spare(8),
        number("ranks").spare(7),
        number("repetitions").summed().spare(2),
        number("incomplete").summed().optional().spare(3),
        number("median"),
        number("own work").optional().spare(4),
        text("class").optional(),
        number("end of warm-up").optional().spare(6),
        text("changes").optional().spare(5),
        number("first").summed().spare(9),
        number("warmup").summed(),
        number("outlier").summed(),
        number("good").summed(),
    ])
}
