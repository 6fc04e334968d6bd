//! The rows of a table that are one: those of one key.

use std::borrow::Cow;

use crate::cell::Cell;
use crate::{alike, text};

/// How the cells of a column become one.
#[derive(Clone, Copy, Debug, Default)]
pub enum Joins {
    /// The cell that all rows have, or the range of times, or the text with `*` in place of numbers that differ.
    #[default]
    Equal,
    /// The sum of counts.
    Sum,
    /// A list of numbers.
    List,
}

/// A row, and the key that it shares with those that it is one with.
#[derive(Clone, Debug)]
pub struct Row {
    pub key: Option<String>,
    pub cells: Vec<Cell>,
}

/// The rows, each at the place of the first of its key, and whether any are of several.
pub fn joined<'r>(rows: &'r [Row], columns: &[Joins]) -> (Vec<Cow<'r, [Cell]>>, bool) {
    let groups = alike::grouped(rows, |row| row.key.as_deref());
    let is_any = groups.iter().any(|group| group.len() > 1);
    let one = |group: Vec<&'r Row>| match group[..] {
        [row] => Cow::Borrowed(&row.cells[..]),
        _ => {
            let cell = |(place, joins): (usize, &Joins)| {
                let cells: Vec<&Cell> = group.iter().map(|row| &row.cells[place]).collect();
                cell(&cells, *joins)
            };
            Cow::Owned(columns.iter().enumerate().map(cell).collect())
        }
    };
    (groups.into_iter().map(one).collect(), is_any)
}

/// The cell of several.
fn cell(cells: &[&Cell], joins: Joins) -> Cell {
    let times = || cells.iter().map(|cell| cell.time()).collect::<Option<Vec<f64>>>();
    let texts: Vec<&str> = cells.iter().map(|cell| cell.text().unwrap_or_default()).collect();
    match joins {
        Joins::Sum => {
            let numbers = texts.iter().filter_map(|text| text.parse::<u64>().ok());
            let is_none = texts.iter().all(|text| text.is_empty());
            Cell::Text(if is_none { String::new() } else { numbers.sum::<u64>().to_string() })
        }
        Joins::List => Cell::Text(list(&texts)),
        Joins::Equal => match times() {
            Some(times) => {
                let [least, most] = [f64::min, f64::max].map(|of| times.iter().copied().fold(times[0], of));
                if least == most { Cell::Time(least) } else { Cell::Interval([least, most]) }
            }
            // Of intervals, and of times that some have not, there is none of all.
            None if cells.iter().any(|cell| cell.text().is_none()) => Cell::Text(String::new()),
            None => Cell::Text(alike::common(&texts).filter(|text| is_shown(text, &texts)).unwrap_or_default()),
        },
    }
}

/// True for a text that all have, and for a name that counts; a number that differs is no `*`.
fn is_shown(common: &str, texts: &[&str]) -> bool {
    common == texts[0] || common.contains(char::is_alphabetic)
}

/// `3-102`; of more than a few ranges `3, 7, 11, ...`.
fn list(texts: &[&str]) -> String {
    let mut numbers: Vec<u32> = texts.iter().filter_map(|text| text.parse().ok()).collect();
    numbers.sort_unstable();
    text::few(&numbers)
}
