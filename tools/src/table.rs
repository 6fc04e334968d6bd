//! Tables for people: columns set apart by blanks, numbers to the right, as wide as they must be.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use crate::output::{Attribute, Style};

/// Between two columns.
const GAP: usize = 2;

/// A column's title and the side to which its cells are set.
#[derive(Clone, Copy, Debug)]
pub struct Column<'t> {
    title: &'t str,
    right: bool,
    /// Left out where all cells are empty.
    optional: bool,
}

/// A column of text.
pub const fn text(title: &str) -> Column<'_> {
    Column { title, right: false, optional: false }
}

/// A column of numbers.
pub const fn number(title: &str) -> Column<'_> {
    Column { title, right: true, optional: false }
}

impl<'t> Column<'t> {
    /// The same, left out of a table in which all of its cells are empty.
    pub const fn optional(self) -> Column<'t> {
        Column { optional: true, ..self }
    }
}

/// A table that is laid out when all of its rows are known.
#[derive(Debug)]
pub struct Table<'t> {
    columns: Vec<Column<'t>>,
    rows: Vec<Vec<String>>,
}

impl<'t> Table<'t> {
    /// An empty table.
    pub fn new(columns: &[Column<'t>]) -> Self {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row: a cell for each column.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// Writes the titles and the rows.
    pub fn write(&self, output: &mut dyn Write, style: Style) -> io::Result<()> {
        let shown: Vec<usize> = (0..self.columns.len())
            .filter(|&index| !self.columns[index].optional || self.rows.iter().any(|row| !row[index].is_empty()))
            .collect();
        let columns: Vec<(Column<'_>, usize)> = shown
            .iter()
            .map(|&index| {
                let widest = self.rows.iter().map(|row| row[index].width()).max();
                (self.columns[index], widest.unwrap_or(0))
            })
            .collect();
        let mut rows = Rows::begin(&columns, output, style)?;
        for row in &self.rows {
            let cells: Vec<&str> = shown.iter().map(|&index| row[index].as_str()).collect();
            rows.row(output, &cells)?;
        }
        Ok(())
    }
}

/// The rows of a table too long to be laid out as a whole: how wide its columns are is stated beforehand.
#[derive(Debug)]
pub struct Rows<'t> {
    columns: Vec<(Column<'t>, usize)>,
    line: String,
}

impl<'t> Rows<'t> {
    /// Writes the titles.
    pub fn begin(columns: &[(Column<'t>, usize)], output: &mut dyn Write, style: Style) -> io::Result<Rows<'t>> {
        let columns = columns.iter().map(|&(column, width)| (column, width.max(column.title.width()))).collect();
        let mut rows = Rows { columns, line: String::new() };
        let titles: Vec<&str> = rows.columns.iter().map(|(column, _)| column.title).collect();
        rows.lay_out(&titles);
        writeln!(output, "{}", style.paint(Attribute::Bold, &rows.line))?;
        Ok(rows)
    }

    /// Writes a row. A cell wider than its column moves those behind it.
    pub fn row(&mut self, output: &mut dyn Write, cells: &[&str]) -> io::Result<()> {
        self.lay_out(cells);
        self.line.push('\n');
        output.write_all(self.line.as_bytes())
    }

    fn lay_out(&mut self, cells: &[&str]) {
        self.line.clear();
        // Blanks are written before the next cell only, so that no line ends in them.
        let mut blanks = 0;
        for ((column, width), cell) in self.columns.iter().zip(cells) {
            let free = width.saturating_sub(cell.width());
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
        assert_eq!(rendered(&table, Style::Plain), expected);
    }

    #[test]
    fn only_a_terminal_gets_attributes() {
        let table = Table::new(&[text("name")]);
        assert_eq!(rendered(&table, Style::Terminal), "\x1b[1mname\x1b[0m\n");
    }

    #[test]
    fn wide_characters_take_two_places() {
        let mut table = Table::new(&[text("a"), text("b")]);
        table.row(vec!["通信".into(), "1".into()]);
        table.row(vec!["x".into(), "2".into()]);
        assert_eq!(rendered(&table, Style::Plain), "a     b\n通信  1\nx     2\n");
    }
}
