//! A plot: marks in the coordinates of the data, with their axes. [`super::picture`] draws it into a scene,
//! [`super::terminal`] in characters.

use super::axis::AxisKind;
use super::scene::Colour;
use crate::output::Attribute;
use crate::text::Unit;

/// A range of more than this ratio is drawn over its logarithm.
pub const FAR: f64 = 10.0;

/// Colours after Okabe and Ito's palette, which the colour-blind can distinguish: purple, orange, vermilion, blue. Each
/// of these and the others below prints as a grey of its own.
pub const PALETTE: [Colour; 4] =
    [Colour(0x74, 0x1f, 0x64), Colour(0xe6, 0x9f, 0x00), Colour(0xd5, 0x5e, 0x00), Colour(0x00, 0x72, 0xb2)];

/// Further ones: green, sky blue, yellow.
pub const OTHERS: [Colour; 3] = [Colour(0x2e, 0xba, 0x92), Colour(0x84, 0xce, 0xf8), Colour(0xf0, 0xe4, 0x42)];

/// The colour of what is no category: all repetitions, the steps of a clock.
pub const GREY: Colour = Colour(0x28, 0x28, 0x28);

/// A plot with one title, two axes and layers of marks, the last one on top. Without layers it shows that there is
/// nothing to show.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    /// The title; may be empty.
    pub title: String,
    /// The axis from left to right.
    pub x: Range,
    /// The axis from the bottom up.
    pub y: Range,
    /// The marks, from below to the top.
    pub layers: Vec<Layer>,
    /// Names of the colours within an image, for the legend.
    pub colours: Vec<(&'static str, Colour)>,
    /// The ends of a scale of colours beside the axes, ns.
    pub scale: Option<(f64, f64)>,
}

/// An axis before its places are known.
#[derive(Clone, Debug, Default)]
pub struct Range {
    /// The label, without the unit.
    pub label: String,
    /// The least and the greatest value, in the unit of the kind.
    pub range: (f64, f64),
    /// The unit.
    pub kind: AxisKind,
    /// True: places go by the logarithms of the values, which are above 0.
    pub logarithmic: bool,
    /// The names of the values 0, 1, ... of [`AxisKind::Names`]; the first is at the upper end.
    pub names: Vec<String>,
    /// The unit of times; `None`: the one that suits the range.
    pub unit: Option<Unit>,
    /// True: the label stands as it is, without a unit.
    pub is_labelled: bool,
}

/// Marks of one meaning.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The meaning of the marks, such as a category.
    pub name: String,
    /// The set of runs that they are of; empty: there is one.
    pub set: String,
    /// The text in the legend; `None`: not in the legend.
    pub legend: Option<String>,
    /// The colour, and the letter in its place.
    pub ink: Ink,
    /// The marks.
    pub mark: Mark,
}

/// A colour, and its place holder where there are only letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ink {
    /// The colour.
    pub colour: Colour,
    /// The letter in a terminal without colours.
    pub letter: char,
    /// The colour in a terminal; `None`: the terminal's own.
    pub attribute: Option<Attribute>,
}

/// Marks, in values of the axes.
#[derive(Clone, Debug)]
pub enum Mark {
    /// A shape at each point; `rows`: the row of each point in a table of what else is known of it, or nothing.
    Points {
        /// The shape of each.
        shape: Shape,
        /// The points: values on the axes.
        points: Vec<(f64, f64)>,
        /// For each point the row of the table that it is of; empty: none.
        rows: Vec<usize>,
    },
    /// A line through points; `dash`: on, off.
    Line {
        /// The points, in order.
        points: Vec<(f64, f64)>,
        /// The width, pixels.
        width: f64,
        /// On and off, pixels; `None`: solid.
        dash: Option<(f64, f64)>,
    },
    /// Rectangles: from and to on both axes.
    Bars(Vec<Bar>),
    /// Texts above points.
    Labels(Vec<((f64, f64), String)>),
    /// Upright lines over the whole height.
    Rules {
        /// Values on the axis.
        at: Vec<f64>,
        /// On and off, pixels.
        dash: (f64, f64),
    },
    /// Least, lower whisker, quartiles, upper whisker and greatest value, on this row.
    BoxPlot {
        /// The row, on an axis of names.
        row: usize,
        /// The seven values, ascending.
        values: [f64; 7],
    },
    /// Coloured cells.
    Image(Image),
}

/// A rectangle, in values of the axes.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// From and to on the horizontal axis.
    pub x: (f64, f64),
    /// From and to on the vertical axis.
    pub y: (f64, f64),
}

/// Shapes that can be distinguished in grey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A filled circle.
    Dot,
    /// A triangle.
    Triangle,
    /// Two crossed lines.
    Cross,
    /// A square on its corner.
    Diamond,
    /// An open circle.
    Circle,
    /// An open square.
    Square,
    /// An upright cross.
    Plus,
}

/// Coloured cells that fill the axes, and the values behind them.
#[derive(Clone, Debug)]
pub struct Image {
    /// Pixels in a row.
    pub width: usize,
    /// Row by row from the upper end.
    pub pixels: Vec<Colour>,
    /// The names of the rows of cells, from the upper end.
    pub rows: Vec<String>,
    /// The edges of the columns of cells, in values of x.
    pub edges: Vec<f64>,
    /// Name, unit of [`AxisKind`], and the values: for each row one for each column.
    pub values: Vec<(&'static str, AxisKind, Vec<Vec<f64>>)>,
}

impl Plot {
    /// A plot without marks on these axes.
    pub fn new(title: impl Into<String>, x: Range, y: Range) -> Plot {
        Plot { title: title.into(), x, y, ..Plot::default() }
    }

    /// A plot with a title alone, which says that there is nothing to show.
    pub fn empty(title: impl Into<String>) -> Plot {
        Plot { title: title.into(), ..Plot::default() }
    }

    /// Adds a layer; one of no marks is left out.
    pub fn add(&mut self, name: impl Into<String>, legend: Option<String>, ink: Ink, mark: Mark) {
        self.add_of("", name, legend, ink, mark);
    }

    /// Adds a layer of a set; one of no marks is left out.
    pub fn add_of(&mut self, set: &str, name: impl Into<String>, legend: Option<String>, ink: Ink, mark: Mark) {
        if !mark.is_empty() {
            self.layers.push(Layer { name: name.into(), set: set.to_owned(), legend, ink, mark });
        }
    }

    /// Adds a line, with its name in the legend.
    pub fn line(&mut self, name: &str, ink: Ink, points: Vec<(f64, f64)>, width: f64, dash: Option<(f64, f64)>) {
        self.add(name, Some(name.to_owned()), ink, Mark::Line { points, width, dash });
    }
}

impl Mark {
    fn is_empty(&self) -> bool {
        match self {
            Mark::Points { points, .. } | Mark::Line { points, .. } => points.is_empty(),
            Mark::Bars(bars) => bars.is_empty(),
            Mark::Labels(labels) => labels.is_empty(),
            Mark::Rules { at, .. } => at.is_empty(),
            Mark::BoxPlot { .. } | Mark::Image(_) => false,
        }
    }
}

impl Range {
    /// An axis with this label, from the least to the greatest value, in places proportional to them.
    pub fn new(label: impl Into<String>, range: (f64, f64), kind: AxisKind) -> Range {
        Range { label: label.into(), range, kind, ..Range::default() }
    }

    /// An axis of times (ns) that holds these values with some room, logarithmic where they span more than `far`.
    /// `None`: no value is finite.
    pub fn of_times(label: &str, values: impl IntoIterator<Item = f64>, far: f64) -> Option<Range> {
        let (low, high) = super::axis::extent(values)?;
        let logarithmic = low > 0.0 && high / low > far;
        let range = super::axis::with_room((low, high), logarithmic);
        Some(Range { logarithmic, ..Range::new(label, range, AxisKind::Time) })
    }

    /// An axis with a row for each of these names.
    pub fn of_names(label: &str, names: Vec<String>) -> Range {
        Range { names: names.clone(), ..Range::new(label, (-0.5, names.len() as f64 - 0.5), AxisKind::Names) }
    }
}

impl Colour {
    /// How light it is in grey, 0 to 255 (ITU-R BT.601).
    pub fn luminance(self) -> f64 {
        0.299 * f64::from(self.0) + 0.587 * f64::from(self.1) + 0.114 * f64::from(self.2)
    }
}

impl Ink {
    /// An ink that no terminal has to show.
    pub const fn of_colour(colour: Colour) -> Ink {
        Ink { colour, letter: '*', attribute: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_colour_is_a_grey_of_its_own() {
        let mut greys: Vec<f64> =
            PALETTE.into_iter().chain(OTHERS).chain([GREY]).map(|colour| colour.luminance()).collect();
        greys.sort_unstable_by(f64::total_cmp);
        assert!(greys.windows(2).all(|pair| pair[1] - pair[0] > 20.0), "{greys:?}");
    }
}
