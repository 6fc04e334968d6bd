//! A plot within a picture: axes with a grid, lines, bars and other marks in data coordinates.

use super::axis::{Axis, Kind};
use super::scene::{Anchor, Area, Colour, FAINT, GRID, INK, Item, PAPER, Scene, Stroke, rectangle};

/// Of Okabe and Ito's palette, which the colour-blind can distinguish: purple, orange, vermilion, blue.
pub const PALETTE: [Colour; 4] =
    [Colour(0xcc, 0x79, 0xa7), Colour(0xe6, 0x9f, 0x00), Colour(0xd5, 0x5e, 0x00), Colour(0x00, 0x72, 0xb2)];

/// An axis before its places are known.
#[derive(Clone, Debug)]
pub struct Range {
    pub label: String,
    pub range: (f64, f64),
    pub kind: Kind,
    pub logarithmic: bool,
}

/// A plot within an area of a picture.
pub struct Chart<'s> {
    pub scene: &'s mut Scene,
    pub x: Axis,
    pub y: Axis,
    /// Within the axes.
    pub inside: Area,
}

const LEFT: f64 = 66.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 40.0;
/// The size of labels.
pub const SMALL: f64 = 10.5;

impl<'s> Chart<'s> {
    /// Draws the axes in the area; `right` is left free beside the axes.
    pub fn new(scene: &'s mut Scene, area: Area, title: &str, x: &Range, y: &Range, right: f64) -> Chart<'s> {
        let inside = Area {
            left: area.left + LEFT,
            top: area.top + TOP,
            width: area.width - LEFT - right,
            height: area.height - TOP - BOTTOM,
        };
        scene.text((area.left + 8.0, area.top + 16.0), Anchor::Start, 12.5, INK, title);
        let across = Axis::new(x.range, (inside.left, inside.right()), x.kind, x.logarithmic);
        let up = Axis::new(y.range, (inside.bottom(), inside.top), y.kind, y.logarithmic);
        let mut chart = Chart { scene, x: across, y: up, inside };
        chart.axes(area, &x.label, &y.label);
        chart
    }

    fn axes(&mut self, area: Area, x_label: &str, y_label: &str) {
        let Area { left, top, .. } = self.inside;
        let (right, bottom) = (self.inside.right(), self.inside.bottom());
        let grid = Stroke::solid(GRID, 0.8);
        for (place, label) in self.x.ticks(self.inside.width / 75.0) {
            self.scene.line((place, top), (place, bottom), grid);
            self.scene.text((place, bottom + 14.0), Anchor::Middle, SMALL, INK, label);
        }
        for (place, label) in self.y.ticks(self.inside.height / 38.0) {
            self.scene.line((left, place), (right, place), grid);
            self.scene.text((left - 6.0, place + 3.8), Anchor::End, SMALL, INK, label);
        }
        self.scene.edge(self.inside, Stroke::solid(FAINT, 1.0));
        let named = |label: &str, axis: &Axis| match axis.unit {
            _ if label.is_empty() => String::new(),
            "" => label.to_owned(),
            unit => format!("{label}, {unit}"),
        };
        let (x, y) = (named(x_label, &self.x), named(y_label, &self.y));
        self.scene.text(((left + right) / 2.0, bottom + 31.0), Anchor::Middle, SMALL, FAINT, x);
        self.scene.upright((area.left + 14.0, (top + bottom) / 2.0), SMALL, FAINT, y);
    }

    /// A line through values.
    pub fn line(&mut self, points: impl Iterator<Item = (f64, f64)>, stroke: Stroke) {
        let places: Vec<(f64, f64)> = points.map(|(x, y)| (self.x.place(x), self.y.place(y))).collect();
        self.scene.lines(&places, stroke, Some(self.inside));
    }

    /// The rectangle between values.
    pub fn bar(&mut self, x: (f64, f64), y: (f64, f64), colour: Colour) {
        let (left, right) = (self.x.place(x.0), self.x.place(x.1));
        let (bottom, top) = (self.y.place(y.0), self.y.place(y.1));
        let area =
            Area { left, top: top.min(bottom - 0.6), width: (right - left).max(0.6), height: (bottom - top).max(0.6) };
        self.scene.items.push(Item::Path {
            data: rectangle(area),
            fill: Some(colour),
            stroke: None,
            within: Some(self.inside),
        });
    }

    /// The area between two lines over the same values of x: x, low, high.
    pub fn band(&mut self, points: &[(f64, f64, f64)], colour: Colour) {
        let place = |x: f64, y: f64| (self.x.place(x), self.y.place(y));
        let lower = points.iter().map(|&(x, low, _)| place(x, low));
        let upper = points.iter().rev().map(|&(x, _, high)| place(x, high));
        let mut data = String::new();
        for (index, (x, y)) in lower.chain(upper).enumerate() {
            data.push_str(&format!("{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' }));
        }
        if !data.is_empty() {
            data.push('z');
        }
        self.scene.path(data, Some(colour), None, Some(self.inside));
    }

    /// A vertical line over the whole height.
    pub fn vertical(&mut self, at: f64, stroke: Stroke) {
        let (place, ends) = (self.x.place(at), self.y.ends());
        self.scene.lines(&[(place, ends.0), (place, ends.1)], stroke, Some(self.inside));
    }

    /// An upright bar with caps, from low to high.
    pub fn error_bar(&mut self, x: f64, (low, high): (f64, f64), stroke: Stroke) {
        let (x, low, high) = (self.x.place(x), self.y.place(low), self.y.place(high));
        self.scene.path(error_bar(x, low, high), None, Some(stroke), Some(self.inside));
    }

    /// A hollow circle.
    pub fn circle(&mut self, x: f64, y: f64, colour: Colour) {
        let data = circle(self.x.place(x), self.y.place(y));
        self.scene.path(data, Some(PAPER), Some(Stroke::solid(colour, 1.5)), Some(self.inside));
    }
}

/// The path of an error bar with caps, in places.
pub fn error_bar(x: f64, low: f64, high: f64) -> String {
    let left = x - 2.5;
    format!("M{x:.1} {low:.1}L{x:.1} {high:.1}M{left:.1} {low:.1}h5M{left:.1} {high:.1}h5")
}

/// The path of a small circle, in places.
pub fn circle(x: f64, y: f64) -> String {
    format!("M{:.1} {y:.1}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z", x - 3.0)
}
