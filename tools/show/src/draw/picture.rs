//! A plot as paths and texts: axes with a grid, the legend between title and axes, the marks.

use std::collections::HashSet;

use super::axis::{Axis, AxisKind};
use super::glyphs::{self, fitted, width as wide};
use super::plot::{Bar, Image, Layer, Mark, Plot, Range, Shape};
use super::scene::{Anchor, Area, Colour, FAINT, GRID, INK, Item, PAPER, Scene, Stroke, rectangle};
use crate::text;

/// Left of the axes of a plot that is at least so wide: those below each other have one left edge.
const LEFT: f64 = 66.0;
const WIDE: f64 = 400.0;
/// The label of the axis that goes up, with the room beside it; and the room beside the labels of ticks.
const UPRIGHT: f64 = 22.0;
const BESIDE: f64 = 8.0;
const RIGHT: f64 = 14.0;
/// Between two labels of ticks.
const APART: f64 = 7.0;
/// Beside a scale of colours.
const RIGHT_OF_MAP: f64 = 78.0;
const TOP: f64 = 26.0;
/// Above a plot without a title.
const UNTITLED: f64 = 8.0;
const BOTTOM: f64 = 40.0;
/// The size of small letters, pixels.
pub const SMALL: f64 = 10.5;
/// The least size of letters: 6 points.
const LEAST: f64 = 8.0;
/// The size of the legend, and the height of its lines.
const LEGEND: (f64, f64) = (9.5, 13.0);
/// The width of a mark in the legend.
const KEY: f64 = 20.0;

/// Where a plot was drawn.
pub struct Frame {
    /// The axis from left to right.
    pub x: Axis,
    /// The axis from the bottom up.
    pub y: Axis,
    /// Within the axes.
    pub inside: Area,
    /// The left edge of the plot.
    area_left: f64,
}

/// Draws a plot into an area of a picture; `None`: there is nothing to show.
pub fn draw(plot: &Plot, scene: &mut Scene, area: Area) -> Option<Frame> {
    let (title, size) = fitted(&plot.title, 12.5, LEAST, area.width - 16.0);
    scene.text((area.left + 8.0, area.top + 16.0), Anchor::Start, size, INK, title);
    if plot.layers.is_empty() {
        let middle = (area.left + area.width / 2.0, area.top + area.height / 2.0);
        scene.text(middle, Anchor::Middle, 12.0, FAINT, "nothing to show");
        return None;
    }
    let above = area.top + if plot.title.is_empty() { UNTITLED } else { TOP };
    let room = left_of_axes(plot, area.width, area.bottom() - BOTTOM - above);
    let right = if plot.scale.is_some() { RIGHT_OF_MAP } else { RIGHT };
    let (left, width) = (area.left + room, area.width - room - right);
    // The last label may go as far as the edge.
    let x = axis(&plot.x, (left, left + width));
    let last = across(&x).last().map_or(0.0, |(place, label)| place + wide(label, SMALL) / 2.0);
    let width = width - (last - area.right() + 2.0).max(0.0);
    let top = above + legend(scene, plot, above, (left, width), area);
    let inside = Area { left, top, width, height: area.bottom() - BOTTOM - top };
    let ends = (inside.bottom(), inside.top);
    // The first name is at the top.
    let up = if plot.y.kind == AxisKind::Names { (ends.1, ends.0) } else { ends };
    let frame =
        Frame { x: axis(&plot.x, (inside.left, inside.right())), y: axis(&plot.y, up), inside, area_left: area.left };
    frame.axes(scene, plot, area);
    for (number, layer) in plot.layers.iter().enumerate() {
        frame.layer(scene, number, layer);
    }
    scene.edge(inside, Stroke::solid(FAINT, 1.0));
    if let Some(range) = plot.scale {
        scale(scene, inside, range);
    }
    Some(frame)
}

fn axis(range: &Range, places: (f64, f64)) -> Axis {
    let axis = Axis::new(range.range, places, range.kind, range.logarithmic);
    range.unit.map_or(axis.clone(), |unit| axis.in_unit(unit))
}

/// The room for the labels and the names of ticks left of a plot that is so wide; `height`: of the axis, about.
fn left_of_axes(plot: &Plot, width: f64, height: f64) -> f64 {
    let longest = |labels: &mut dyn Iterator<Item = &str>| labels.map(|label| wide(label, SMALL)).fold(0.0, f64::max);
    if plot.y.kind == AxisKind::Names {
        // Names leave at least half for the plot.
        return (BESIDE + 4.0 + longest(&mut plot.y.names.iter().map(String::as_str))).min(width / 2.0).max(LEFT);
    }
    let ticks = up(&axis(&plot.y, (height, 0.0)), height);
    let label = if plot.y.label.is_empty() { 2.0 } else { UPRIGHT };
    let room = label + BESIDE + longest(&mut ticks.iter().map(|(_, label)| label.as_str()));
    if width < WIDE { room } else { room.max(LEFT) }
}

/// The ticks of an axis from left to right, as many as have room for their labels; at least two where they have it.
fn across(axis: &Axis) -> Vec<(f64, String)> {
    let half = |tick: &(f64, String)| wide(&tick.1, SMALL) / 2.0;
    let is_close = |a: &(f64, String), b: &(f64, String)| b.0 - a.0 < half(a) + half(b) + APART;
    let have_room = |ticks: &[(f64, String)]| !ticks.windows(2).any(|pair| is_close(&pair[0], &pair[1]));
    let mut wanted = (axis.places.1 - axis.places.0) / axis.apart();
    let mut ticks = axis.ticks(wanted);
    while !have_room(&ticks) && wanted >= 1.0 {
        wanted *= 0.8;
        ticks = axis.ticks(wanted);
    }
    let more = [2.0, 3.0, 4.0, 6.0].map(|most| axis.ticks(most));
    let more = more.into_iter().find(|found| found.len() > 1 && have_room(found));
    ticks = more.filter(|_| ticks.len() < 2).unwrap_or(ticks);
    ticks.dedup_by(|next, kept| is_close(kept, next));
    ticks
}

/// The ticks of an axis from the bottom up, which has this height.
fn up(axis: &Axis, height: f64) -> Vec<(f64, String)> {
    let mut ticks = axis.ticks(height / 38.0);
    ticks.dedup_by(|next, kept| (kept.0 - next.0).abs() < SMALL + 1.0);
    ticks
}

/// The first letter of a picture's texts that the built-in font of PNG and PDF does not have.
pub fn missing_letter(scene: &Scene) -> Option<char> {
    let text = |item: &Item| match item {
        Item::Text { text, .. } => glyphs::missing(text),
        _ => None,
    };
    scene.items.iter().find_map(text)
}

/// A line of text above all plots of a picture.
pub fn line_above(scene: &mut Scene, text: &str) {
    let (text, size) = fitted(text, 11.0, LEAST, scene.width - 16.0);
    scene.text((8.0, 16.0), Anchor::Start, size, FAINT, text);
}

/// The names of the layers and colours that have one, in as many lines as they need; returns their height. They begin
/// above the axes, or where that leaves no room for the longest one, at the edge of the area.
fn legend(scene: &mut Scene, plot: &Plot, top: f64, (left, width): (f64, f64), area: Area) -> f64 {
    let (size, line) = LEGEND;
    let names = plot.colours.iter().map(|(name, _)| *name);
    let names = names.chain(plot.layers.iter().filter_map(|layer| layer.legend.as_deref()));
    let longest = names.map(|name| KEY + wide(name, size)).fold(0.0, f64::max);
    let (left, width) = if longest > width { (area.left + 8.0, area.width - 16.0) } else { (left, width) };
    let (mut x, mut y) = (left, top);
    let mut entry = |text: &str, key: &dyn Fn(&mut Scene, (f64, f64))| {
        let (text, size) = fitted(text, size, LEAST, width - KEY);
        let wide = KEY + wide(&text, size);
        if x > left && x + wide > left + width {
            (x, y) = (left, y + line);
        }
        key(scene, (x, y + 1.5));
        scene.text((x + KEY - 3.0, y + 5.0), Anchor::Start, size, INK, text);
        x += wide + 8.0;
    };
    for (name, colour) in &plot.colours {
        entry(name, &|scene, at| swatch(scene, *colour, at));
    }
    for layer in &plot.layers {
        layer.legend.iter().for_each(|text| entry(text, &|scene, at| key(scene, layer, at)));
    }
    if x > left { y + line - top } else { 0.0 }
}

fn swatch(scene: &mut Scene, colour: Colour, (x, y): (f64, f64)) {
    scene.fill(Area { left: x + 2.0, top: y - 4.5, width: 9.0, height: 9.0 }, colour);
}

/// The mark of a layer in a legend, with its left end here.
pub fn key(scene: &mut Scene, layer: &Layer, (x, y): (f64, f64)) {
    let colour = layer.ink.colour;
    let middle = x + 7.0;
    match &layer.mark {
        Mark::Points { shape, .. } => {
            let (fill, stroke) = shape.pens(colour);
            scene.path(shape.path(middle, y), fill, stroke, None);
        }
        Mark::Line { width, dash, .. } => {
            scene.line((x, y), (x + 14.0, y), Stroke { colour, width: *width, dash: *dash });
        }
        Mark::Rules { dash, .. } => {
            scene.line((x, y), (x + 14.0, y), Stroke { colour, width: 1.1, dash: Some(*dash) });
        }
        Mark::Bars(_) | Mark::Labels(_) | Mark::BoxPlot { .. } | Mark::Image(_) => {
            swatch(scene, colour, (x, y));
        }
    }
}

impl Frame {
    fn axes(&self, scene: &mut Scene, plot: &Plot, area: Area) {
        let Area { left, top, height, .. } = self.inside;
        let (right, bottom) = (self.inside.right(), self.inside.bottom());
        let mut grid = String::new();
        for (place, label) in across(&self.x) {
            grid.push_str(&format!("M{place:.1} {top:.1}V{bottom:.1}"));
            scene.tick((place, bottom + 14.0), Anchor::Middle, SMALL, INK, label);
        }
        let ticks = match plot.y.kind {
            AxisKind::Names => self.names(&plot.y.names, height / 12.5),
            _ => up(&self.y, height),
        };
        for (place, label) in ticks {
            if plot.y.kind != AxisKind::Names {
                grid.push_str(&format!("M{left:.1} {place:.1}H{right:.1}"));
            }
            scene.tick((left - 6.0, place + 3.8), Anchor::End, SMALL, INK, label);
        }
        let (stroke, layer) = (Some(Stroke::solid(GRID, 0.8)), Some((usize::MAX, "grid".to_owned())));
        scene.items.push(Item::Path { data: grid, fill: None, stroke, within: None, layer });
        // In the middle of the axis, or as near to it as the edges of the area allow.
        let within = |label: String, middle: f64, (from, to): (f64, f64)| {
            let (label, size) = fitted(&label, SMALL, LEAST, to - from);
            let half = wide(&label, size) / 2.0;
            (label, size, middle.clamp(from + half, (to - half).max(from + half)))
        };
        let (x, y) = (named(&plot.x, &self.x), named(&plot.y, &self.y));
        let (x, size, at) = within(x, (left + right) / 2.0, (area.left + 4.0, area.right() - 4.0));
        scene.text((at, bottom + 31.0), Anchor::Middle, size, FAINT, x);
        let above = if plot.title.is_empty() { 4.0 } else { TOP - 4.0 };
        let (y, size, at) = within(y, (top + bottom) / 2.0, (area.top + above, area.bottom() - 4.0));
        scene.upright((area.left + 14.0, at), size, FAINT, y);
    }

    /// Places with names, at most about so many, as far as they have room.
    fn names(&self, names: &[String], most: f64) -> Vec<(f64, String)> {
        let room = self.inside.left - self.area_left - BESIDE;
        let step = (names.len() as f64 / most.max(1.0)).ceil().max(1.0) as usize;
        let each = names.iter().enumerate().step_by(step);
        each.map(|(row, name)| (self.y.place(row as f64), fitted(name, SMALL, SMALL, room).0)).collect()
    }

    fn layer(&self, scene: &mut Scene, number: usize, layer: &Layer) {
        let colour = layer.ink.colour;
        let mut data = String::new();
        let (mut fill, mut stroke) = (None, None);
        match &layer.mark {
            Mark::Points { shape, points, .. } => {
                self.uncovered(points).for_each(|(_, (x, y))| data.push_str(&shape.path(x, y)));
                (fill, stroke) = shape.pens(colour);
            }
            Mark::Line { points, width, dash } => {
                data = polyline(points.iter().map(|&(x, y)| (self.x.place(x), self.y.place(y))));
                stroke = Some(Stroke { colour, width: *width, dash: *dash });
            }
            Mark::Bars(bars) => {
                bars.iter().for_each(|bar| data.push_str(&rectangle(self.bar(bar))));
                fill = Some(colour);
            }
            Mark::Labels(labels) => {
                for ((x, y), text) in labels.iter().filter(|((x, y), _)| self.x.has(*x) && self.y.has(*y)) {
                    let at = (self.x.place(*x), self.y.place(*y) - 3.0);
                    scene.tick(at, Anchor::Middle, SMALL, colour, text.clone());
                }
            }
            Mark::Rules { at, dash } => {
                let (top, bottom) = (self.inside.top, self.inside.bottom());
                at.iter().for_each(|&x| data.push_str(&format!("M{:.1} {bottom:.1}L{0:.1} {top:.1}", self.x.place(x))));
                stroke = Some(Stroke { colour, width: 1.1, dash: Some(*dash) });
            }
            Mark::BoxPlot { row, values } => {
                data = self.box_plot(*row, values);
                stroke = Some(Stroke::solid(colour, 1.4));
            }
            Mark::Image(Image { width, pixels, .. }) => {
                scene.items.push(Item::Image {
                    area: self.inside,
                    width: *width,
                    pixels: pixels.clone(),
                    layer: number,
                });
            }
        }
        if !data.is_empty() {
            let layer = Some((number, layer.name.clone()));
            scene.items.push(Item::Path { data, fill, stroke, within: Some(self.inside), layer });
        }
    }

    /// The points within the axes that are not covered by another of the same layer: their numbers and places.
    pub fn uncovered<'p>(&'p self, points: &'p [(f64, f64)]) -> impl Iterator<Item = (usize, (f64, f64))> + 'p {
        let mut covered = HashSet::new();
        points.iter().enumerate().filter(|(_, (x, y))| self.x.has(*x) && self.y.has(*y)).filter_map(
            move |(number, &(x, y))| {
                let place = (self.x.place(x), self.y.place(y));
                covered.insert(((place.0 * 2.0) as i64, (place.1 * 2.0) as i64)).then_some((number, place))
            },
        )
    }

    fn bar(&self, bar: &Bar) -> Area {
        let (left, right) = (self.x.place(bar.x.0), self.x.place(bar.x.1));
        let (one, other) = (self.y.place(bar.y.0), self.y.place(bar.y.1));
        let (top, bottom) = (one.min(other), one.max(other));
        Area { left, top: top.min(bottom - 0.6), width: (right - left).max(0.6), height: (bottom - top).max(0.6) }
    }

    fn box_plot(&self, row: usize, values: &[f64; 7]) -> String {
        let [min, low, lower, median, upper, high, max] = values.map(|value| self.x.place(value));
        let middle = self.y.place(row as f64);
        let half = ((self.y.place(row as f64 + 1.0) - middle).abs() * 0.3).min(14.0);
        let (top, bottom) = (middle - half, middle + half);
        let edge = Area { left: lower, top, width: (upper - lower).max(0.5), height: 2.0 * half };
        let mut data = rectangle(edge);
        for (from, to) in [(low, lower), (upper, high)] {
            data.push_str(&format!("M{from:.1} {middle:.1}L{to:.1} {middle:.1}"));
        }
        for end in [low, high] {
            data.push_str(&format!("M{end:.1} {:.1}L{end:.1} {:.1}", middle - half / 2.0, middle + half / 2.0));
        }
        for beside in [median - 0.7, median + 0.7] {
            data.push_str(&format!("M{beside:.1} {top:.1}L{beside:.1} {bottom:.1}"));
        }
        [min, max].iter().for_each(|&end| data.push_str(&Shape::Cross.path(end, middle)));
        data
    }
}

/// The label of an axis with its unit; none without a label.
fn named(range: &Range, axis: &Axis) -> String {
    match axis.unit {
        unit if unit.is_empty() || range.label.is_empty() || range.is_labelled => range.label.clone(),
        unit => format!("{}, {unit}", range.label),
    }
}

fn polyline(places: impl Iterator<Item = (f64, f64)>) -> String {
    let mut data = String::new();
    for (index, (x, y)) in places.filter(|(x, y)| x.is_finite() && y.is_finite()).enumerate() {
        data.push_str(&format!("{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' }));
    }
    data
}

impl Shape {
    /// The path of one shape. It begins at its place and goes on in relative steps, so that a reader can move it.
    pub fn path(self, x: f64, y: f64) -> String {
        let steps = match self {
            Shape::Dot => "h-1h2",
            Shape::Triangle => "m0 -2.8l3 5h-6z",
            Shape::Cross => "m-2.5 -2.5l5 5m-5 0l5 -5",
            Shape::Diamond => "m0 -4l4 4l-4 4l-4 -4z",
            Shape::Circle => "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z",
            Shape::Square => "m-2.7 -2.7h5.4v5.4h-5.4z",
            Shape::Plus => "m-3.2 0h6.4m-3.2 -3.2v6.4",
        };
        format!("M{x:.1} {y:.1}{steps}")
    }

    /// How it is filled, and how its edge is drawn.
    pub fn pens(self, colour: Colour) -> (Option<Colour>, Option<Stroke>) {
        match self {
            Shape::Dot => (None, Some(Stroke::solid(colour, 2.0))),
            Shape::Cross | Shape::Plus => (None, Some(Stroke::solid(colour, 1.2))),
            Shape::Triangle | Shape::Diamond => (Some(colour), None),
            Shape::Circle | Shape::Square => (Some(PAPER), Some(Stroke::solid(colour, 1.5))),
        }
    }
}

/// Viridis at nine places (Smith and van der Walt, public domain): even in lightness, also for the colour-blind.
const VIRIDIS: [Colour; 9] = [
    Colour(0x44, 0x01, 0x54),
    Colour(0x47, 0x2d, 0x7b),
    Colour(0x3b, 0x52, 0x8b),
    Colour(0x2c, 0x72, 0x8e),
    Colour(0x21, 0x91, 0x8c),
    Colour(0x28, 0xae, 0x80),
    Colour(0x5e, 0xc9, 0x62),
    Colour(0xad, 0xdc, 0x30),
    Colour(0xfd, 0xe7, 0x25),
];
/// Shades of a scale.
const SHADES: usize = 64;

/// The colour of a share, 0 to 1. Colours grow lighter in one direction only, so that they can be read in grey.
pub fn shade(share: f64) -> Colour {
    let place = share.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let below = (place as usize).min(VIRIDIS.len() - 2);
    let part = place - below as f64;
    let mix = |from: u8, to: u8| (f64::from(from) + (f64::from(to) - f64::from(from)) * part).round() as u8;
    let (a, b) = (VIRIDIS[below], VIRIDIS[below + 1]);
    Colour(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// The colours with what they mean, beside a map.
fn scale(scene: &mut Scene, inside: Area, range: (f64, f64)) {
    let left = inside.right() + 10.0;
    let pixels = (0..SHADES).rev().map(|step| shade((step as f64 + 0.5) / SHADES as f64)).collect();
    let area = Area { left, top: inside.top, width: 10.0, height: inside.height };
    scene.items.push(Item::Image { area, width: 1, pixels, layer: usize::MAX });
    let axis = Axis::new(range, (inside.bottom(), inside.top), AxisKind::Time, true);
    for (place, _) in axis.ticks(5.0) {
        let label = text::round_time(axis.value(place));
        scene.text((left + 13.0, place + 3.5), Anchor::Start, 9.5, INK, label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::plot::{Ink, PALETTE};

    fn plot(points: Vec<(f64, f64)>) -> Plot {
        let range = |label: &str| Range::new(label, (0.0, 10.0), AxisKind::Count);
        let mut plot = Plot::new("a plot", range("x"), range("y"));
        let mark = Mark::Points { shape: Shape::Cross, points, rows: Vec::new() };
        plot.add("outlier", Some("outlier 3".into()), Ink::of_colour(PALETTE[2]), mark);
        plot
    }

    #[test]
    fn the_legend_is_above_the_axes_and_marks_are_in_their_places() {
        let mut scene = Scene::new(400.0, 300.0, String::new());
        let area = Area { left: 0.0, top: 0.0, width: 400.0, height: 300.0 };
        let frame = draw(&plot(vec![(5.0, 5.0), (5.0, 5.0), (20.0, 5.0)]), &mut scene, area).unwrap();
        let legend = scene.items.iter().find_map(|item| match item {
            Item::Text { at, text, .. } if text == "outlier 3" => Some(at.1),
            _ => None,
        });
        assert!(legend.unwrap() < frame.inside.top, "no legend over data");
        let marks = scene.items.iter().find_map(|item| match item {
            Item::Path { data, layer: Some((0, name)), .. } if name == "outlier" => Some(data.clone()),
            _ => None,
        });
        let middle = (frame.inside.left + frame.inside.width / 2.0, frame.inside.top + frame.inside.height / 2.0);
        // Of two equal points one is drawn, and none outside of the axes.
        assert_eq!(marks.unwrap(), Shape::Cross.path(middle.0, middle.1));
    }

    #[test]
    fn a_small_picture_has_its_legend_above_the_data_and_room_for_it() {
        let mut plot = plot(vec![(5.0, 5.0)]);
        plot.title.clear();
        let names = ["first 1", "warmup 254", "good 1738", "robust: w = 255", "roth: w = 256"];
        for name in names {
            plot.add(name, Some(name.into()), Ink::of_colour(INK), Mark::Rules { at: vec![5.0], dash: (1.0, 1.0) });
        }
        // 84 x 60 mm.
        let (width, height) = (317.0, 227.0);
        let mut scene = Scene::new(width, height, String::new());
        let frame = draw(&plot, &mut scene, Area { left: 0.0, top: 0.0, width, height }).unwrap();
        let place = |name: &str| {
            scene.items.iter().find_map(|item| match item {
                Item::Text { at, text, .. } if text == name => Some(at.1),
                _ => None,
            })
        };
        assert!(names.iter().all(|name| place(name).unwrap() < frame.inside.top), "no legend over data");
        assert!(frame.inside.height > height / 2.0, "{}", frame.inside.height);
    }

    #[test]
    fn no_text_leaves_a_small_picture_and_labels_of_ticks_are_apart() {
        let (width, height) = (317.48, 226.77);
        let far = |label: &str, kind| Range { logarithmic: true, ..Range::new(label, (3.0, 2.9e9), kind) };
        let label = "median of the good repetitions over the runs of each set, and of all of them";
        for (x, y) in
            [(AxisKind::Time, AxisKind::Time), (AxisKind::Bytes, AxisKind::Share), (AxisKind::Share, AxisKind::Names)]
        {
            let y = match y {
                AxisKind::Names => Range::of_names("", vec!["MPI_Neighbor_alltoallw_init/4096/128/-".to_owned(); 2]),
                kind => far(label, kind),
            };
            let mut plot = Plot::new(label, far(label, x), y);
            let mark = Mark::Points { shape: Shape::Plus, points: vec![(5.0, 0.5)], rows: Vec::new() };
            plot.add("a", Some(label.to_owned()), Ink::of_colour(INK), mark);
            let mut scene = Scene::new(width, height, String::new());
            draw(&plot, &mut scene, Area { left: 0.0, top: 0.0, width, height }).unwrap();
            let mut ticks = Vec::new();
            for item in &scene.items {
                let Item::Text { at, anchor, size, text, upright, is_tick, .. } = item else { continue };
                let (place, most) = if *upright { (height - at.1, height) } else { (at.0, width) };
                let from = place + crate::draw::glyphs::start(*anchor, wide(text, *size));
                assert!(from >= 0.0 && from + wide(text, *size) <= most, "{text} at {from}, {size}");
                if *is_tick && *anchor == Anchor::Middle {
                    ticks.push((from, from + wide(text, *size)));
                }
            }
            assert!(ticks.len() > 1 && ticks.windows(2).all(|pair| pair[0].1 + APART < pair[1].0 + 1e-6), "{ticks:?}");
        }
    }

    #[test]
    fn a_plot_without_marks_says_so() {
        let mut scene = Scene::new(400.0, 300.0, String::new());
        assert!(
            draw(&plot(Vec::new()), &mut scene, Area { left: 0.0, top: 0.0, width: 400.0, height: 300.0 }).is_none()
        );
        let texts =
            scene.items.iter().filter(|item| matches!(item, Item::Text { text, .. } if text == "nothing to show"));
        assert_eq!(texts.count(), 1);
    }
}
