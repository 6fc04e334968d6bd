//! Cells that hold points.

use super::{Ink, Look};

/// A cell's dots across and down, in a character of Braille.
const DOTS: (usize, usize) = (2, 4);
/// The bit of each dot, row by row (Unicode, Braille Patterns).
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// What is drawn in rows and columns of characters.
pub struct Canvas {
    columns: usize,
    rows: usize,
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Default)]
struct Cell {
    dots: u8,
    ink: Option<Ink>,
}

impl Canvas {
    pub fn new(columns: usize, rows: usize) -> Canvas {
        Canvas { columns, rows, cells: vec![Cell::default(); columns * rows] }
    }

    /// A point at shares of the width (from the left) and the height (from below). Of several in a cell the one that is
    /// least ordinary colours it.
    pub fn point(&mut self, across: f64, up: f64, ink: Ink) {
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
            let character = |cell: &Cell| match cell.ink {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Style;

    #[test]
    fn dots_and_letters_lie_where_the_points_are() {
        let mut canvas = Canvas::new(3, 2);
        canvas.point(0.0, 1.0, Ink::Good);
        canvas.point(0.4, 0.0, Ink::Good);
        canvas.point(0.4, 0.0, Ink::Outlier);
        let plain = Look { style: Style::Plain, width: 80, dots: false };
        assert_eq!([canvas.row(0, plain), canvas.row(1, plain)], [".", " o"]);
        let dots = Look { style: Style::Terminal, width: 80, dots: true };
        assert_eq!(canvas.row(0, dots), "\x1b[36m\u{2801}\x1b[0m");
        assert_eq!(canvas.row(1, dots), " \x1b[31m\u{2840}\x1b[0m");
    }
}
