//! What all plots have: axes with a grid, marks by category, and the counts of the categories in the corner.

use std::collections::HashSet;

use mpitrace::categories::Category;

use super::scene::{Anchor, Area, Colour, FAINT, GRID, INK, Item, PAPER, Scene, Stroke, rectangle};
use crate::report::axis::{Axis, Kind};
use crate::report::fingerprint::{Timed, letter};
use crate::report::histogram::place;

/// Of Okabe and Ito's palette, which the colour-blind can tell apart, in the order of [`Category::ALL`].
pub const COLOURS: [Colour; 4] =
    [Colour(0xcc, 0x79, 0xa7), Colour(0xe6, 0x9f, 0x00), Colour(0xd5, 0x5e, 0x00), Colour(0x00, 0x72, 0xb2)];
/// The good ones first, so that what is out of the ordinary lies on top.
pub const ORDER: [Category; 4] = [Category::Good, Category::Warmup, Category::Outlier, Category::First];

/// The colour of a category.
pub fn colour(category: Category) -> Colour {
    COLOURS[place(category)]
}

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
const SMALL: f64 = 10.5;

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
            "" => label.to_owned(),
            unit => format!("{label}, {unit}"),
        };
        let (x, y) = (named(x_label, &self.x), named(y_label, &self.y));
        self.scene.text(((left + right) / 2.0, bottom + 31.0), Anchor::Middle, SMALL, FAINT, x);
        self.scene.upright((area.left + 14.0, (top + bottom) / 2.0), SMALL, FAINT, y);
    }

    /// A mark for each point, by category: dots, triangles, crosses, diamonds, to be told apart also in grey.
    pub fn marks(&mut self, points: &[(f64, f64, Category)]) {
        for category in ORDER {
            let mut data = String::new();
            let mut drawn = HashSet::new();
            for &(x, y, _) in points.iter().filter(|point| point.2 == category) {
                if !(self.x.has(x) && self.y.has(y)) {
                    continue;
                }
                let (x, y) = (self.x.place(x), self.y.place(y));
                // Where a mark is already there is nothing to add.
                if drawn.insert(((x * 2.0) as i64, (y * 2.0) as i64)) {
                    data.push_str(&mark(category, x, y));
                }
            }
            let colour = Some(colour(category));
            match category {
                Category::Outlier => {
                    let stroke = colour.map(|colour| Stroke::solid(colour, 1.2));
                    self.scene.path(data, None, stroke, Some(self.inside));
                }
                _ => self.scene.path(data, colour, None, Some(self.inside)),
            }
        }
    }

    /// A dot or a triangle for each point.
    pub fn dots(&mut self, points: impl Iterator<Item = (f64, f64)>, colour: Colour, triangles: bool) {
        let kind = if triangles { Category::Warmup } else { Category::Good };
        let mut data = String::new();
        let mut drawn = HashSet::new();
        for (x, y) in points {
            let (x, y) = (self.x.place(x), self.y.place(y));
            if drawn.insert(((x * 2.0) as i64, (y * 2.0) as i64)) {
                data.push_str(&mark(kind, x, y));
            }
        }
        self.scene.path(data, Some(colour), None, Some(self.inside));
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

    /// The end of the warm-up by each rule, and changes of the level.
    pub fn cuts(&mut self, timed: &Timed) {
        let ends = self.y.ends();
        for (number, cut) in timed.cuts.iter().enumerate() {
            let dash = if number == 0 { (7.0, 3.0) } else { (2.0, 3.0) };
            let mut vertical = |at: u64, dash: (f64, f64)| {
                let place = self.x.place(at as f64);
                let stroke = Stroke { colour: INK, width: 1.1, dash: Some(dash) };
                self.scene.lines(&[(place, ends.0), (place, ends.1)], stroke, Some(self.inside));
                place
            };
            cut.change_points.iter().filter(|&&at| Some(at) != cut.warmup_end).for_each(|&at| {
                vertical(at, (1.0, 4.0));
            });
            if let Some(end) = cut.warmup_end {
                let place = vertical(end, dash);
                let at = (place + 4.0, self.inside.top + 12.0 + 13.0 * number as f64);
                self.scene.text(at, Anchor::Start, SMALL, INK, format!("{}: w = {end}", cut.method));
            }
        }
    }

    /// How many repetitions each category has, as bars in the corner; with the mark, so that it is a legend too.
    pub fn inset(&mut self, timed: &Timed) {
        let shown: Vec<Category> =
            Category::ALL.into_iter().filter(|&category| timed.counts[place(category)] > 0).collect();
        let most = timed.counts.iter().copied().max().unwrap_or(1).max(1) as f64;
        let (width, row) = (140.0, 12.0);
        let area = Area {
            left: self.inside.right() - width - 6.0,
            top: self.inside.top + 6.0,
            width,
            height: shown.len() as f64 * row + 6.0,
        };
        self.scene.fill(area, PAPER);
        self.scene.edge(area, Stroke::solid(GRID, 0.8));
        for (index, category) in shown.into_iter().enumerate() {
            let middle = area.top + 3.0 + row * (index as f64 + 0.5);
            let count = timed.counts[place(category)];
            self.legend_mark(category, area.left + 9.0, middle);
            self.scene.text((area.left + 18.0, middle + 3.2), Anchor::Start, 9.0, INK, category.name());
            let bar = Area {
                left: area.left + 61.0,
                top: middle - 4.0,
                width: (34.0 * count as f64 / most).max(1.0),
                height: 8.0,
            };
            self.scene.fill(bar, colour(category));
            self.scene.text((area.left + 98.0, middle + 3.2), Anchor::Start, 9.0, INK, count.to_string());
        }
    }

    fn legend_mark(&mut self, category: Category, x: f64, y: f64) {
        let data = mark(category, x, y);
        match category {
            Category::Outlier => self.scene.path(data, None, Some(Stroke::solid(colour(category), 1.2)), None),
            _ => self.scene.path(data, Some(colour(category)), None, None),
        }
    }
}

/// The path of a mark.
fn mark(category: Category, x: f64, y: f64) -> String {
    match letter(category) {
        'g' => format!("M{:.1} {:.1}h2v2h-2z", x - 1.0, y - 1.0),
        'w' => format!("M{x:.1} {:.1}l3 5h-6z", y - 2.8),
        'o' => format!("M{:.1} {:.1}l5 5m-5 0l5 -5", x - 2.5, y - 2.5),
        _ => format!("M{x:.1} {:.1}l4 4l-4 4l-4 -4z", y - 4.0),
    }
}
