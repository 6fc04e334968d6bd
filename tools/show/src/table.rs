//! Tables for people: columns set apart by blanks, numbers to the right, as wide as they must be and no wider than the
//! page: what is wanted least is left out first.

use std::borrow::Cow;
use std::io::{self, Write};
use std::iter::zip;

pub use crate::cell::{Cell, interval, time};
use crate::joined::{Joins, Row, joined};
use crate::output::{Attribute, Style};
use crate::text::{self, columns as width_of};

const GAP: usize = 2;
/// A column of text is shortened to no less.
const SHORTEST: usize = 12;
const CUT: &str = "...";

/// A column's title and the side to which its cells are set.
#[derive(Clone, Copy, Debug)]
pub struct Column<'t> {
    title: &'t str,
    /// The unit of all of its cells; behind the title.
    unit: &'static str,
    right: bool,
    /// Left out where all cells are empty.
    optional: bool,
    /// Columns with more are left out first; 0: never.
    spare: u8,
    /// Narrower than its cells, which are shortened.
    is_cut: bool,
    joins: Joins,
}

const fn column(title: &str, right: bool) -> Column<'_> {
    Column { title, unit: "", right, optional: false, spare: 0, is_cut: false, joins: Joins::Equal }
}

/// A column of text.
pub const fn text(title: &str) -> Column<'_> {
    column(title, false)
}

/// A column of numbers.
pub const fn number(title: &str) -> Column<'_> {
    column(title, true)
}

impl<'t> Column<'t> {
    /// A column that is left out of a table in which all of its cells are empty.
    pub const fn optional(self) -> Column<'t> {
        Column { optional: true, ..self }
    }

    /// A column of counts: rows that are shown as one have their sum.
    pub const fn summed(self) -> Column<'t> {
        Column { joins: Joins::Sum, ..self }
    }

    /// A column of numbers that name something: rows that are shown as one have all of them.
    pub const fn listed(self) -> Column<'t> {
        Column { joins: Joins::List, ..self }
    }

    fn heading(&self) -> Cow<'t, str> {
        if self.unit.is_empty() { self.title.into() } else { format!("{} {}", self.title, self.unit).into() }
    }

    /// A column that is left out where there is no room for all; those with the largest number first.
    pub const fn spare(self, order: u8) -> Column<'t> {
        Column { spare: order, ..self }
    }
}

/// A table that is laid out when all of its rows are known.
#[derive(Debug)]
pub struct Table<'t> {
    columns: Vec<Column<'t>>,
    rows: Vec<Row>,
}

impl<'t> Table<'t> {
    /// An empty table.
    pub fn new(columns: &[Column<'t>]) -> Self {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row: a cell for each column.
    pub fn row(&mut self, cells: Vec<impl Into<Cell>>) {
        self.row_of(None, cells);
    }

    /// Adds a row that is shown as one with the others of its key: with the sums of counts, and the ranges of times.
    pub fn row_of(&mut self, key: Option<String>, cells: Vec<impl Into<Cell>>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(Row { key, cells: cells.into_iter().map(Into::into).collect() });
    }

    /// Writes the titles and the rows.
    pub fn write(&self, output: &mut dyn Write, style: Style) -> io::Result<()> {
        let joins: Vec<Joins> = self.columns.iter().map(|column| column.joins).collect();
        let (rows, is_joined) = match style.is_wide() {
            true => (self.rows.iter().map(|row| (&row.cells[..]).into()).collect(), false),
            false => joined(&self.rows, &joins),
        };
        let units: Vec<Option<text::Unit>> = (0..self.columns.len()).map(|index| unit(&rows, index)).collect();
        let cells = |row| zip(row, &units).map(|(cell, unit): (&Cell, _)| cell.shown(*unit)).collect();
        let rows: Vec<Vec<Cow<'_, str>>> = rows.iter().map(|row| cells(row.iter())).collect();
        let kept = |index: &usize| !self.columns[*index].optional || rows.iter().any(|row| !row[*index].is_empty());
        let kept: Vec<usize> = (0..self.columns.len()).filter(kept).collect();
        let column = |&index: &usize| {
            let unit = units[index].map_or("", |unit| unit.name);
            let widest = rows.iter().map(|row| width_of(&row[index])).max().unwrap_or(0);
            (Column { unit, ..self.columns[index] }, widest)
        };
        let columns: Vec<(Column<'_>, usize)> = kept.iter().map(column).collect();
        let mut written = Rows::begin(&columns, output, style)?;
        for row in &rows {
            let cells: Vec<&str> = kept.iter().map(|&index| &*row[index]).collect();
            written.row(output, &cells)?;
        }
        written.end(output)?;
        match is_joined {
            true => {
                writeln!(
                    output,
                    "(a row of several operations has sums, and times from least to most; --wide shows each)"
                )
            }
            false => Ok(()),
        }
    }
}

/// The unit of the times in a column.
fn unit(rows: &[Cow<'_, [Cell]>], index: usize) -> Option<text::Unit> {
    let mut times: Vec<f64> = rows.iter().filter_map(|row| row[index].ns()).collect();
    if times.is_empty() {
        return None;
    }
    times.retain(|&ns| ns != 0.0);
    times.sort_by(f64::total_cmp);
    Some(text::Unit::for_time(times.get(times.len() / 2).copied().unwrap_or(0.0)))
}

/// The rows of a table too long to be laid out as a whole: how wide its columns are is stated beforehand.
#[derive(Debug)]
pub struct Rows<'t> {
    columns: Vec<(Column<'t>, usize)>,
    /// Places of the columns for which there is room.
    shown: Vec<usize>,
    line: String,
    width: usize,
}

impl<'t> Rows<'t> {
    /// Writes the titles of the columns for which there is room.
    pub fn begin(columns: &[(Column<'t>, usize)], output: &mut dyn Write, style: Style) -> io::Result<Rows<'t>> {
        let wide_enough = |&(column, width): &(Column<'t>, usize)| (column, width.max(width_of(&column.heading())));
        let columns = columns.iter().map(wide_enough).collect();
        let mut rows = Rows { columns, shown: Vec::new(), line: String::new(), width: style.width };
        rows.fit();
        let titles: Vec<Cow<'_, str>> = rows.columns.iter().map(|(column, _)| column.heading()).collect();
        rows.lay_out(&titles.iter().map(Cow::as_ref).collect::<Vec<_>>());
        writeln!(output, "{}", style.paint(Attribute::Bold, &rows.line))?;
        Ok(rows)
    }

    /// Writes a row. A cell wider than its column moves those behind it.
    pub fn row(&mut self, output: &mut dyn Write, cells: &[&str]) -> io::Result<()> {
        self.lay_out(cells);
        self.line.push('\n');
        output.write_all(self.line.as_bytes())
    }

    /// Names the columns that were left out.
    pub fn end(&self, output: &mut dyn Write) -> io::Result<()> {
        let left_out = |place: &usize| !self.shown.contains(place) && !self.columns[*place].0.title.is_empty();
        let titles = (0..self.columns.len()).filter(left_out).map(|place| self.columns[place].0.title);
        match titles.collect::<Vec<_>>()[..] {
            [] => Ok(()),
            ref titles => writeln!(output, "(not shown: {}; --wide shows all)", titles.join(", ")),
        }
    }

    fn taken(&self) -> usize {
        self.shown.iter().map(|&place| self.columns[place].1 + GAP).sum::<usize>().saturating_sub(GAP)
    }

    /// Takes the columns for which there is room, the most wanted first, and shortens texts where too much is left.
    fn fit(&mut self) {
        let mut wanted: Vec<usize> = (0..self.columns.len()).collect();
        wanted.sort_by_key(|&place| self.columns[place].0.spare);
        for place in wanted {
            self.shown.push(place);
            if self.columns[place].0.spare > 0 && self.taken() > self.width {
                self.shown.pop();
            }
        }
        self.shown.sort_unstable();
        while let Some(over) = self.taken().checked_sub(self.width).filter(|&over| over > 0) {
            let texts = self.shown.iter().copied().filter(|&place| !self.columns[place].0.right);
            let Some(widest) = texts.max_by_key(|&place| self.columns[place].1) else { break };
            let (column, width) = &mut self.columns[widest];
            if *width <= SHORTEST {
                break;
            }
            column.is_cut = true;
            *width = width.saturating_sub(over).max(SHORTEST);
        }
    }

    fn lay_out(&mut self, cells: &[&str]) {
        self.line.clear();
        // Blanks are written before the next cell only, so that no line ends in them.
        let mut blanks = 0;
        for &place in &self.shown {
            let (column, width) = self.columns[place];
            let cell = match column.is_cut && width_of(cells[place]) > width {
                true => &text::cut(cells[place], width, CUT),
                false => cells[place],
            };
            let free = width.saturating_sub(width_of(cell));
            let (before, after) = if column.right { (free, 0) } else { (0, free) };
            blanks += before;
            if !cell.is_empty() {
                self.line.extend(std::iter::repeat_n(' ', blanks));
                self.line.push_str(cell);
                blanks = 0;
            }
            blanks += after + GAP;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(table: &Table, style: Style) -> String {
        let mut bytes = Vec::new();
        table.write(&mut bytes, style).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn text_goes_left_and_numbers_go_right() {
        let mut table = Table::new(&[text("name"), number("size"), number("root").optional(), text("unit")]);
        table.row(["MPI_Bcast", "8", "", "µs"].map(str::to_owned).to_vec());
        table.row(["x", "123456", "", ""].map(str::to_owned).to_vec());
        let expected = "name         size  unit\nMPI_Bcast       8  µs\nx          123456\n";
        assert_eq!(rendered(&table, Style::PLAIN), expected);
    }

    #[test]
    fn what_is_wanted_least_is_left_out_where_there_is_no_room() {
        let mut table =
            Table::new(&[text("name"), number("median").spare(1), number("sd").spare(3), number("").spare(2)]);
        table.row(["MPI_Allreduce on ocean", "10", "2", "11"].map(str::to_owned).to_vec());
        let of_width = |width| rendered(&table, Style { width, ..Style::PLAIN });
        let all = "name                    median  sd\nMPI_Allreduce on ocean      10   2  11\n";
        assert_eq!(of_width(38), all);
        let some =
            "name                    median\nMPI_Allreduce on ocean      10\n(not shown: sd; --wide shows all)\n";
        assert_eq!(of_width(33), some);
        let cut = "name\nMPI_Allreduce on ...\n(not shown: median, sd; --wide shows all)\n";
        assert_eq!(of_width(20), cut);
    }

    #[test]
    fn times_of_a_column_have_one_unit() {
        let mut table = Table::new(&[number("median").optional(), number("sd").optional()]);
        for ns in [35.38, 8172.0, 981_800.0] {
            table.row(vec![time(ns), time(None)]);
        }
        assert_eq!(rendered(&table, Style::PLAIN), "median µs\n   0.0354\n     8.17\n      982\n");
    }

    #[test]
    fn rows_of_one_key_are_one_unless_all_is_to_be_printed() {
        let columns = [number("operation").listed(), text("file"), number("calls").summed(), number("median")];
        let mut table = Table::new(&[&columns[..], &[number("interval"), text("class")]].concat());
        let key = Some("write".to_owned());
        for (place, (key, name)) in [(key.clone(), "a.01"), (None, "b"), (key, "a.02")].into_iter().enumerate() {
            let ns = 1000.0 * (place + 1) as f64;
            let (operation, calls) = (place.to_string(), (10 + place).to_string());
            let cells = [operation.into(), name.to_owned().into(), calls.into(), time(ns)];
            table.row_of(key, [&cells[..], &[interval(Some([ns, ns])), "steady".to_owned().into()]].concat());
        }
        let joined = "operation  file  calls     median µs   interval µs  class\n     \
                      0, 2  a.*      22  1.00 to 3.00                steady\n        \
                      1  b        11          2.00  2.00 to 2.00  steady\n\
                      (a row of several operations has sums, and times from least to most; --wide shows each)\n";
        assert_eq!(rendered(&table, Style { width: 100, ..Style::PLAIN }), joined);
        assert_eq!(rendered(&table, Style { width: usize::MAX, ..Style::PLAIN }).lines().count(), 4);
    }

    #[test]
    fn only_a_terminal_gets_attributes() {
        let table = Table::new(&[text("name")]);
        assert_eq!(rendered(&table, Style { attributes: true, ..Style::PLAIN }), "\x1b[1mname\x1b[0m\n");
    }

    #[test]
    fn wide_characters_take_two_places() {
        let mut table = Table::new(&[text("a"), text("b")]);
        table.row(vec!["通信".to_owned(), "1".to_owned()]);
        table.row(vec!["x".to_owned(), "2".to_owned()]);
        assert_eq!(rendered(&table, Style::PLAIN), "a     b\n通信  1\nx     2\n");
    }
}
