//! Plots in a terminal: a canvas of characters that hold points, framed by an axis on the left and one below.
//!
//! With colours a cell holds up to eight dots in the colour of its ink; without, it shows the ink's letter.

use super::axis::Axis;
use crate::output::{Attribute, Style};

/// What is drawn with. Of several inks in a cell the greatest colours it.
pub trait Ink: Copy + Ord {
    /// The letter where there is no colour.
    fn sign(self) -> char;

    /// The colour; `None`: the terminal's own.
    fn attribute(self) -> Option<Attribute>;
}

/// How it is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub style: Style,
    /// Columns.
    pub width: usize,
    /// Whether the terminal has characters of dots.
    pub dots: bool,
}

/// The narrowest terminal that is drawn for.
const NARROWEST: usize = 80;
/// A wider one is not filled: the eye would lose the line.
const WIDEST: usize = 160;

impl Look {
    /// As suits the process' standard output.
    pub fn of(style: Style) -> Look {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
        let unicode = locale.to_ascii_uppercase().replace('-', "").contains("UTF8");
        // The kernel's console has no font with them.
        let console = variable("TERM").is_some_and(|terminal| terminal == "linux");
        let width = match style {
            Style::Plain => NARROWEST,
            Style::Terminal => terminal_size::terminal_size().map_or(NARROWEST, |(width, _)| width.0.into()),
        };
        let dots = style == Style::Terminal && unicode && !console;
        Look { style, width: width.clamp(NARROWEST, WIDEST), dots }
    }

    /// A text in the colour of an ink.
    pub fn paint(&self, ink: impl Ink, text: &str) -> String {
        match ink.attribute() {
            None => text.to_owned(),
            Some(attribute) => self.style.paint(attribute, text),
        }
    }

    /// What stands for an ink in a legend.
    pub fn mark(&self, ink: impl Ink) -> String {
        self.paint(ink, &if self.dots { '\u{28ff}' } else { ink.sign() }.to_string())
    }

    /// A text in bold.
    pub fn title(&self, text: &str) -> String {
        self.style.paint(Attribute::Bold, text)
    }
}

/// Columns of the labels before a plot, the edge included.
pub const LABEL: usize = 11;

/// A cell's dots across and down, in a character of Braille.
const DOTS: (usize, usize) = (2, 4);
/// The bit of each dot, row by row (Unicode, Braille Patterns).
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// What is drawn in rows and columns of characters.
pub struct Canvas<I> {
    columns: usize,
    rows: usize,
    cells: Vec<Cell<I>>,
}

#[derive(Clone, Copy)]
struct Cell<I> {
    dots: u8,
    ink: Option<I>,
}

impl<I: Ink> Canvas<I> {
    /// An empty canvas.
    pub fn new(columns: usize, rows: usize) -> Canvas<I> {
        Canvas { columns, rows, cells: vec![Cell { dots: 0, ink: None }; columns * rows] }
    }

    /// A point at shares of the width (from the left) and the height (from below). Of several in a cell the one that is
    /// least ordinary colours it.
    pub fn point(&mut self, across: f64, up: f64, ink: I) {
        let dot = |share: f64, dots: usize| ((share * dots as f64) as usize).min(dots - 1);
        let x = dot(across.clamp(0.0, 1.0), self.columns * DOTS.0);
        let y = dot(1.0 - up.clamp(0.0, 1.0), self.rows * DOTS.1);
        let cell = &mut self.cells[y / DOTS.1 * self.columns + x / DOTS.0];
        cell.dots |= BITS[y % DOTS.1][x % DOTS.0];
        if cell.ink.is_none_or(|known| ink > known) {
            cell.ink = Some(ink);
        }
    }

    /// The characters of a row, without blanks at its end.
    pub fn row(&self, row: usize, look: Look) -> String {
        let cells = &self.cells[row * self.columns..(row + 1) * self.columns];
        let used = cells.iter().rposition(|cell| cell.ink.is_some()).map_or(0, |last| last + 1);
        let mut line = String::new();
        for same in cells[..used].chunk_by(|a, b| a.ink == b.ink) {
            let character = |cell: &Cell<I>| match cell.ink {
                None => ' ',
                Some(_) if look.dots => char::from_u32(0x2800 + u32::from(cell.dots)).unwrap_or(' '),
                Some(ink) => ink.sign(),
            };
            let text: String = same.iter().map(character).collect();
            match same[0].ink {
                None => line.push_str(&text),
                Some(ink) => line.push_str(&look.paint(ink, &text)),
            }
        }
        line
    }
}

/// The rows with the labels of their axis before them.
pub fn framed(canvas: &Canvas<impl Ink>, up: &Axis, look: Look) -> Vec<String> {
    let ticks = up.ticks(5.0);
    let rows = canvas.rows;
    (0..rows)
        .map(|row| {
            let low = 1.0 - (row + 1) as f64 / rows as f64;
            let high = low + 1.0 / rows as f64;
            let within = |place: f64| place >= low && (place < high || row == 0 && place <= high + 1e-9);
            let label = ticks.iter().find(|(place, _)| within(*place)).map(|(_, label)| label.as_str());
            let label = label.map_or_else(String::new, |label| match up.unit {
                "" => label.to_owned(),
                unit => format!("{label} {unit}"),
            });
            let edge = if label.is_empty() { '|' } else { '+' };
            format!("{label:>width$} {edge}{}", canvas.row(row, look), width = LABEL - 2).trim_end().to_owned()
        })
        .collect()
}

/// The axis below the rows: its line, and the labels under it.
pub fn below(across: &Axis, columns: usize) -> String {
    let mut line = vec!['-'; columns];
    let mut labels = vec![' '; columns + LABEL];
    let mut free = 0;
    for (place, label) in across.ticks(5.0) {
        let column = ((place * columns as f64) as usize).min(columns - 1);
        line[column] = '+';
        let label: Vec<char> = match across.unit {
            "" => label.chars().collect(),
            unit => format!("{label} {unit}").chars().collect(),
        };
        let start = (LABEL + column).saturating_sub(label.len() / 2).min(labels.len() - label.len());
        if start >= free {
            labels[start..start + label.len()].copy_from_slice(&label);
            free = start + label.len() + 1;
        }
    }
    let indent = " ".repeat(LABEL - 1);
    let labels: String = labels.into_iter().collect();
    format!("{indent}+{}\n{}", line.into_iter().collect::<String>(), labels.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Pen {
        Good,
        Outlier,
    }

    impl Ink for Pen {
        fn sign(self) -> char {
            if self == Pen::Good { '.' } else { 'o' }
        }

        fn attribute(self) -> Option<Attribute> {
            Some(if self == Pen::Good { Attribute::Cyan } else { Attribute::Red })
        }
    }

    #[test]
    fn dots_and_letters_lie_where_the_points_are() {
        let mut canvas = Canvas::new(3, 2);
        canvas.point(0.0, 1.0, Pen::Good);
        canvas.point(0.4, 0.0, Pen::Good);
        canvas.point(0.4, 0.0, Pen::Outlier);
        let plain = Look { style: Style::Plain, width: 80, dots: false };
        assert_eq!([canvas.row(0, plain), canvas.row(1, plain)], [".", " o"]);
        let dots = Look { style: Style::Terminal, width: 80, dots: true };
        assert_eq!(canvas.row(0, dots), "\x1b[36m\u{2801}\x1b[0m");
        assert_eq!(canvas.row(1, dots), " \x1b[31m\u{2840}\x1b[0m");
    }
}
