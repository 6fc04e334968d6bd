//! Marks by category, the cuts of the rules, and the counts of the categories in the corner.

use std::collections::HashSet;

use mpitrace::categories::Category;

use crate::draw::scene::{Anchor, Area, Colour, GRID, INK, PAPER, Stroke};
use crate::draw::{Chart, PALETTE, SMALL};
use crate::report::fingerprint::{Timed, letter};
use crate::report::histogram::place;

/// The good ones first, so that what is out of the ordinary lies on top.
pub const ORDER: [Category; 4] = [Category::Good, Category::Warmup, Category::Outlier, Category::First];

/// The colour of a category.
pub fn colour(category: Category) -> Colour {
    PALETTE[place(category)]
}

impl Chart<'_> {
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

    /// The end of the warm-up by each rule, and changes of the level.
    pub fn cuts(&mut self, timed: &Timed) {
        for (number, cut) in timed.cuts.iter().enumerate() {
            let dash = if number == 0 { (7.0, 3.0) } else { (2.0, 3.0) };
            let stroke = |dash| Stroke { colour: INK, width: 1.1, dash: Some(dash) };
            for &at in cut.change_points.iter().filter(|&&at| Some(at) != cut.warmup_end) {
                self.vertical(at as f64, stroke((1.0, 4.0)));
            }
            if let Some(end) = cut.warmup_end {
                self.vertical(end as f64, stroke(dash));
                let at = (self.x.place(end as f64) + 4.0, self.inside.top + 12.0 + 13.0 * number as f64);
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
