//! An operation's categories as JSON and as a table.

use std::io::Write;

use anyhow::{Context, Result};
use mpitrace::algorithms::Algorithm;
use mpitrace::categories::{Category, Found, Levels, Remarks, Rule};
use mpitrace::run_time::RunTime;
use mpitrace_show::output::{Attribute, Style};
use mpitrace_show::table::{Cell, Rows, Table, number, text, time};
use mpitrace_show::text;
use serde::Serialize;

use crate::source::{Description, RunTimes, Source, own_work_text};

#[derive(Debug, Serialize)]
pub struct Categorized<'a> {
    #[serde(flatten)]
    pub operation: &'a Description,
    method: &'static str,
    time: RunTime,
    first_repetition: Option<u64>,
    #[serde(flatten)]
    pub found: Found,
    #[serde(flatten)]
    remarks: Remarks,
    /// Of a non-blocking operation: the share of its run times in which the program itself computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    own_work: Option<f64>,
    pub repetition: Vec<u64>,
    pub run_time_ns: Vec<f64>,
    /// The algorithm of each repetition; not there where none is seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    algorithm: Option<Vec<Option<String>>>,
}

const CHANGES_SHOWN: usize = 4;

impl<'a> Categorized<'a> {
    /// # Errors
    /// Run times that do not exist, or that the rule cannot sort.
    pub fn new(source: &'a Source, number: usize, rule: Rule, time: RunTime) -> Result<Self> {
        let RunTimes { repetition, run_time_ns } = source.run_times(number, time)?;
        let found = rule.apply(&repetition, &run_time_ns).with_context(|| format!("operation {number}"))?;
        let remarks = found.remarks(&repetition, &run_time_ns);
        let named = |all: Vec<Option<Algorithm>>| all.iter().map(|one| one.map(|one| one.to_string())).collect();
        Ok(Categorized {
            operation: &source.operations()[number],
            method: rule.name(),
            time,
            first_repetition: repetition.first().copied(),
            found,
            remarks,
            own_work: source.own_work(number),
            repetition: repetition.into_owned(),
            run_time_ns,
            algorithm: source.algorithms(number).map(named),
        })
    }

    pub fn own_work(&self) -> Option<String> {
        self.own_work.and_then(own_work_text)
    }

    pub fn notes(&self) -> impl Iterator<Item = String> + use<'_> {
        self.remarks.sentences().map(|remark| format!("operation {}: {remark}", self.operation.operation))
    }

    pub fn cells(&self) -> Vec<Cell> {
        let Found { categories, levels } = &self.found;
        let count = |category: Category| categories.count(category).to_string().into();
        vec![
            self.operation.operation.to_string().into(),
            text::printable(&self.operation.function).into_owned().into(),
            self.operation.communicator_label.clone().into(),
            text::optional(self.operation.bytes).into(),
            text::optional(self.operation.root).into(),
            self.operation.ranks.to_string().into(),
            self.repetition.len().to_string().into(),
            text::positive(self.operation.incomplete).into(),
            time(categories.median_ns),
            self.own_work().unwrap_or_default().into(),
            text::optional(levels.as_ref().map(|levels| levels.class.name())).into(),
            text::optional(categories.warmup_end).into(),
            levels.as_ref().map(changes).unwrap_or_default().into(),
            count(Category::First),
            count(Category::Warmup),
            count(Category::Outlier),
            count(Category::Good),
        ]
    }

    pub fn write_repetitions(&self, output: &mut dyn Write, style: Style) -> Result<()> {
        let last = self.repetition.last().map_or(0, |last| last.to_string().len());
        let longest = self.run_time_ns.iter().copied().fold(0.0, f64::max);
        let width = format!("{longest:.1}").len();
        let columns = [
            (number("repetition"), last),
            (number("run_time_ns"), width),
            (text("category"), 0),
            (text("algorithm"), 0),
        ];
        let columns = &columns[..if self.algorithm.is_some() { 4 } else { 3 }];
        let mut rows = Rows::begin(columns, output, style)?;
        let repetitions = self.repetition.iter().zip(&self.found.categories.category).zip(&self.run_time_ns);
        for (row, ((number, category), run_time)) in repetitions.enumerate() {
            let name = match category {
                Category::First | Category::Warmup => style.paint(Attribute::Yellow, category.name()),
                Category::Outlier => style.paint(Attribute::Red, category.name()),
                Category::Good => category.name().to_owned(),
            };
            let algorithm = self.algorithm.as_ref().and_then(|all| all[row].as_deref()).unwrap_or_default();
            let cells = [&number.to_string(), &format!("{run_time:.1}"), &name, algorithm];
            rows.row(output, &cells[..columns.len()])?;
        }
        Ok(())
    }
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
        number("operation"),
        text("function"),
        text("communicator").spare(1),
        number("bytes"),
        number("root").optional().spare(8),
        number("ranks").spare(7),
        number("repetitions").spare(2),
        number("incomplete").optional().spare(3),
        number("median"),
        number("own work").optional().spare(4),
        text("class").optional(),
        number("end of warm-up").optional().spare(6),
        text("changes").optional().spare(5),
        number("first").spare(9),
        number("warmup"),
        number("outlier"),
        number("good"),
    ])
}
