//! Plots in a terminal: a canvas of characters that hold points, framed by an axis on the left and one below.
//!
//! With colours a cell holds up to eight dots in the colour of its ink; without, it shows the ink's letter.

use super::axis::{Axis, AxisKind};
use super::plot::{Bar, Ink, Layer, Mark, Plot, Range};
use crate::output::{Attribute, Style};
use crate::text;

/// How it is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Whether there are colours and further letters.
    pub style: Style,
    /// Columns.
    pub width: usize,
    /// True if the terminal has characters of dots.
    pub dots: bool,
}

/// The narrowest terminal that is drawn for.
const NARROWEST: usize = 60;
/// A wider one is not filled: the eye would lose the line.
const WIDEST: usize = 160;

impl Look {
    /// As suits the process' standard output.
    pub fn of_output(style: Style) -> Look {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
        let unicode = locale.to_ascii_uppercase().replace('-', "").contains("UTF8");
        // The kernel's console has no font with them.
        let console = variable("TERM").is_some_and(|terminal| terminal == "linux");
        let dots = style.attributes && unicode && !console;
        Look { style, width: style.width.clamp(NARROWEST, WIDEST), dots }
    }

    /// A text in the colour of an ink.
    pub fn paint(&self, ink: Ink, text: &str) -> String {
        match ink.attribute {
            None => text.to_owned(),
            Some(attribute) => self.style.paint(attribute, text),
        }
    }

    /// The mark of an ink in a legend.
    pub fn mark(&self, ink: Ink) -> String {
        self.paint(ink, &if self.dots { '\u{28ff}' } else { ink.letter }.to_string())
    }

    fn title(&self, text: &str) -> String {
        self.style.paint(Attribute::Bold, text)
    }
}

/// Columns of the labels before a plot, the edge included.
const LABEL: usize = 11;

/// A cell's dots across and down, in a character of Braille.
const DOTS: (usize, usize) = (2, 4);
/// The bit of each dot, row by row (Unicode, Braille Patterns).
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Rows of a plot.
const ROWS: usize = 12;
/// Rows of a plot of bars.
const BARS: usize = 15;

/// Draws a plot as lines of text, after an empty one: bars as rows, with their sums as numbers, points and lines over
/// axes. Nothing where there is nothing to show.
pub fn draw(plot: &Plot, look: Look) -> Vec<String> {
    if plot.layers.is_empty() {
        return Vec::new();
    }
    let mut title = plot.title.clone();
    if plot.y.kind == AxisKind::Share {
        title = format!("{title}: {}", plot.y.label);
    }
    let axis = |range: &Range| Axis::new(range.range, (0.0, 1.0), range.kind, range.logarithmic);
    let (across, up) = (axis(&plot.x), axis(&plot.y));
    let bars: Vec<(&Layer, &[Bar])> = plot.layers.iter().filter_map(Layer::bars).collect();
    if !bars.is_empty() {
        let title = look.title(&format!("{title}: {} from, {}", plot.x.label, plot.y.label));
        return [String::new(), title].into_iter().chain(rows(&bars, &across, look)).collect();
    }
    let mut lines = vec![String::new(), look.title(&title)];
    let columns = look.width - LABEL - 1;
    let mut canvas = Canvas::new(columns, ROWS);
    for layer in &plot.layers {
        let place = |(x, y): (f64, f64)| (across.place(x), up.place(y));
        match &layer.mark {
            Mark::Points { points, .. } => points.iter().for_each(|&point| canvas.point(place(point), layer.ink)),
            Mark::Line { points, .. } => {
                let name =
                    layer.legend.as_ref().map_or_else(String::new, |name| format!("  {} {name}", look.mark(layer.ink)));
                lines[1].push_str(&name);
                points.windows(2).for_each(|pair| canvas.line(place(pair[0]), place(pair[1]), layer.ink));
            }
            _ => {}
        }
    }
    lines.extend(framed(&canvas, &up, look));
    lines.push(below(&across, columns));
    lines
}

impl Layer {
    fn bars(&self) -> Option<(&Layer, &[Bar])> {
        match &self.mark {
            Mark::Bars(bars) => Some((self, bars)),
            _ => None,
        }
    }
}

/// Bars on each other as rows of text, each for an equal part of the axis; the longest as wide as there is room.
fn rows(layers: &[(&Layer, &[Bar])], across: &Axis, look: Look) -> Vec<String> {
    let mut sums = vec![vec![0.0; layers.len()]; BARS];
    for (place, (_, bars)) in layers.iter().enumerate() {
        for bar in *bars {
            // The edges of bars and rows may be the same value, but for its last digit.
            let row = (across.place(bar.x.0) * BARS as f64 + 1e-6) as usize;
            sums[row.min(BARS - 1)][place] += bar.y.1 - bar.y.0;
        }
    }
    let total = |row: &Vec<f64>| row.iter().sum::<f64>();
    let most = sums.iter().map(total).fold(1.0, f64::max);
    let digits = format!("{most:.0}").len();
    // One is seen as well, of each layer.
    let room = look.width - LABEL - digits - 2 - layers.len();
    let row = |(number, sums): (usize, &Vec<f64>)| {
        let start = across.value(number as f64 / BARS as f64);
        let bar = |(&sum, (layer, _)): (&f64, &(&Layer, &[Bar]))| {
            let cells = (sum / most * room as f64).round().max(f64::from(sum > 0.0)) as usize;
            let cell = if look.dots { '\u{2588}' } else { layer.ink.letter };
            if cells > 0 { look.paint(layer.ink, &cell.to_string().repeat(cells)) } else { String::new() }
        };
        let bars: String = sums.iter().zip(layers).map(bar).collect();
        let line = format!("{:>width$} |{:>digits$.0} {bars}", text::time(start), total(sums), width = LABEL - 2);
        line.trim_end().to_owned()
    };
    sums.iter().enumerate().map(row).collect()
}

struct Canvas {
    columns: usize,
    rows: usize,
    cells: Vec<Cell>,
}

#[derive(Clone, Copy)]
struct Cell {
    dots: u8,
    ink: Option<Ink>,
}

impl Canvas {
    fn new(columns: usize, rows: usize) -> Canvas {
        Canvas { columns, rows, cells: vec![Cell { dots: 0, ink: None }; columns * rows] }
    }

    /// A point at shares of the width (from the left) and the height (from below). The last one in a cell colours it.
    fn point(&mut self, (across, up): (f64, f64), ink: Ink) {
        if !across.is_finite() || !up.is_finite() {
            return;
        }
        let dot = |share: f64, dots: usize| ((share * dots as f64) as usize).min(dots - 1);
        let x = dot(across.clamp(0.0, 1.0), self.columns * DOTS.0);
        let y = dot(1.0 - up.clamp(0.0, 1.0), self.rows * DOTS.1);
        let cell = &mut self.cells[y / DOTS.1 * self.columns + x / DOTS.0];
        cell.dots |= BITS[y % DOTS.1][x % DOTS.0];
        cell.ink = Some(ink);
    }

    /// A straight line, both ends included.
    fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink) {
        let (across, up) = (to.0 - from.0, to.1 - from.1);
        let dots = (across.abs() * (self.columns * DOTS.0) as f64).max(up.abs() * (self.rows * DOTS.1) as f64);
        let steps = (2.0 * dots).ceil().max(1.0) as usize;
        for step in 0..=steps {
            let share = step as f64 / steps as f64;
            self.point((from.0 + share * across, from.1 + share * up), ink);
        }
    }

    /// The characters of a row, without blanks at its end.
    fn row(&self, row: usize, look: Look) -> String {
        let cells = &self.cells[row * self.columns..(row + 1) * self.columns];
        let used = cells.iter().rposition(|cell| cell.ink.is_some()).map_or(0, |last| last + 1);
        let mut line = String::new();
        for same in cells[..used].chunk_by(|a, b| a.ink == b.ink) {
            let character = |cell: &Cell| match cell.ink {
                None => ' ',
                Some(_) if look.dots => char::from_u32(0x2800 + u32::from(cell.dots)).unwrap_or(' '),
                Some(ink) => ink.letter,
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
fn framed(canvas: &Canvas, up: &Axis, look: Look) -> Vec<String> {
    let ticks = up.ticks(6.0);
    let rows = canvas.rows;
    let row_of = |place: f64| (((1.0 - place) * rows as f64) as usize).min(rows - 1);
    (0..rows)
        .map(|row| {
            let label = ticks.iter().find(|(place, _)| row_of(*place) == row).map(|(_, label)| label.as_str());
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
fn below(across: &Axis, columns: usize) -> String {
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
    use crate::draw::plot::{PALETTE, Shape};

    const GOOD: Ink = Ink { colour: PALETTE[3], letter: '.', attribute: Some(Attribute::Cyan) };
    const OUTLIER: Ink = Ink { colour: PALETTE[2], letter: 'o', attribute: Some(Attribute::Red) };

    #[test]
    fn dots_and_letters_are_where_the_points_are() {
        let mut canvas = Canvas::new(3, 2);
        canvas.point((0.0, 1.0), GOOD);
        canvas.point((0.4, 0.0), GOOD);
        canvas.point((0.4, 0.0), OUTLIER);
        let plain = Look { style: Style::PLAIN, width: 80, dots: false };
        assert_eq!([canvas.row(0, plain), canvas.row(1, plain)], [".", " o"]);
        let dots = Look { style: Style { attributes: true, ..Style::PLAIN }, width: 80, dots: true };
        assert_eq!(canvas.row(0, dots), "\x1b[36m\u{2801}\x1b[0m");
        assert_eq!(canvas.row(1, dots), " \x1b[31m\u{2840}\x1b[0m");
    }

    #[test]
    fn bars_are_coloured_and_as_long_as_the_terminal_is_wide() {
        let across = Range::new("run time", (0.0, 60.0), AxisKind::Time);
        let mut plot = Plot::new("Histogram", across, Range::default());
        let bars = |counts: &[(usize, f64)]| {
            let bar = |&(bin, count): &(usize, f64)| Bar { x: (bin as f64, bin as f64 + 1.0), y: (0.0, count) };
            Mark::Bars(counts.iter().map(bar).collect())
        };
        let good: Vec<(usize, f64)> = (0..60).map(|bin| (bin, if bin < 4 { 225.0 } else { 0.0 })).collect();
        plot.add("good", None, GOOD, bars(&good));
        plot.add("outlier", None, OUTLIER, bars(&[(59, 3.0)]));
        for width in [80, 120] {
            let lines = draw(&plot, Look { style: Style { attributes: true, ..Style::PLAIN }, width, dots: true });
            assert_eq!(lines.len(), 2 + BARS);
            let cells = |line: &str| line.chars().filter(|&letter| letter == '\u{2588}').count();
            assert!(lines[2].contains("|900 \x1b[36m\u{2588}") && lines[2].ends_with("\x1b[0m"), "{:?}", lines[2]);
            assert_eq!(cells(&lines[2]), width - LABEL - 7, "{:?}", lines[2]);
            let last = &lines[lines.len() - 1];
            assert!(last.ends_with("|  3 \x1b[31m\u{2588}\x1b[0m"), "few are seen as well: {last:?}");
        }
    }

    #[test]
    fn lines_are_drawn_through_and_named() {
        let share = Range::new("share", (0.0, 1.0), AxisKind::Share);
        let mut plot = Plot::new("Distribution", Range::new("run time", (0.0, 10.0), AxisKind::Count), share);
        plot.line("all", GOOD, vec![(0.0, 0.0), (0.0, 1.0), (10.0, 1.0)], 1.0, None);
        plot.add("points", None, OUTLIER, Mark::Points { shape: Shape::Dot, points: vec![(5.0, 0.5)], rows: vec![0] });
        let lines = draw(&plot, Look { style: Style::PLAIN, width: 80, dots: false });
        assert_eq!(lines[1], "Distribution: share  . all");
        assert!(lines[2].ends_with(&format!("+{}", ".".repeat(68))), "{:?}", lines[2]);
        assert!(lines[2..14].iter().all(|line| line.chars().nth(LABEL) == Some('.')), "{lines:?}");
        assert_eq!(lines[2..].iter().filter(|line| line.contains('o')).count(), 1);
    }
}
