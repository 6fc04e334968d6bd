//! Plots of several sets beside each other, as Hunold & Carpen-Amarie (2016) draw them: medians by message size, and
//! values against the normal distribution.

use std::collections::HashMap;

use mpitrace_show::draw::axis::{AxisKind, NO_BYTES, extent};
use mpitrace_show::draw::plot::{Bar, GREY, Ink, Mark, OTHERS, PALETTE, Plot, Range, Shape};
use mpitrace_show::draw::scene::Colour;
use mpitrace_statistics::comparison::Quantile;

use crate::fingerprint::{self, Overview};

/// The colours of the sets.
const COLOURS: [Colour; 7] = [PALETTE[3], PALETTE[2], PALETTE[1], PALETTE[0], GREY, OTHERS[0], OTHERS[1]];
/// Dashes of lines, by which the sets can be told apart in grey.
const DASHES: [Option<(f64, f64)>; 7] =
    [None, Some((6.0, 3.0)), Some((2.0, 2.0)), Some((12.0, 3.0)), Some((1.0, 4.0)), Some((4.0, 1.5)), Some((9.0, 6.0))];
const SHAPES: [Shape; 7] =
    [Shape::Circle, Shape::Triangle, Shape::Diamond, Shape::Cross, Shape::Square, Shape::Plus, Shape::Dot];
/// Intervals are shown as far as so many times beyond all values.
const SHOWN: f64 = 1.5;

/// A set, by its name and its place among all.
#[derive(Clone, Debug)]
pub struct Set {
    /// The name, as the legend has it.
    pub name: String,
    /// Its place among all sets, from 0.
    pub place: usize,
}

/// The medians of a set at message sizes, with asterisks where they differ from those of the first set.
pub struct Line {
    /// The set.
    pub set: Set,
    /// The message size in bytes, and the median of the run time, ns, with its interval.
    pub points: Vec<(f64, Quantile)>,
    /// The message size in bytes, and the asterisks there.
    pub stars: Vec<(f64, &'static str)>,
}

impl Set {
    fn ink(&self) -> Ink {
        let letter = char::from(b'A' + (self.place % 26) as u8);
        Ink { letter, ..Ink::of_colour(COLOURS[self.place % COLOURS.len()]) }
    }

    /// Adds points.
    pub fn points(&self, plot: &mut Plot, points: Vec<(f64, f64)>) {
        let mark = Mark::Points { shape: SHAPES[self.place % SHAPES.len()], points, rows: Vec::new() };
        plot.add_of(&self.name, self.name.as_str(), Some(self.name.clone()), self.ink(), mark);
    }

    /// Adds points with their intervals.
    pub fn intervals(&self, plot: &mut Plot, points: &[(f64, Quantile)]) {
        let bar = |(x, of): &(f64, Quantile)| of.interval_ns.map(|[low, high]| Bar { x: (*x, *x), y: (low, high) });
        plot.add_of(&self.name, "interval", None, self.ink(), Mark::Bars(points.iter().filter_map(bar).collect()));
        self.points(plot, points.iter().map(|(x, of)| (*x, of.value_ns)).collect());
    }

    /// Adds the outline of a histogram, which has the place of the set in its dashes too.
    pub fn outline(&self, plot: &mut Plot, points: Vec<(f64, f64)>) {
        self.named_line(plot, points);
    }

    /// Adds a density.
    pub fn curve(&self, plot: &mut Plot, points: Vec<(f64, f64)>) {
        plot.add_of(&self.name, "density", None, self.ink(), Mark::Line { points, width: 0.9, dash: self.dash() });
    }

    /// Adds a line through points.
    pub fn through(&self, plot: &mut Plot, points: Vec<(f64, f64)>) {
        plot.add_of(&self.name, "line", None, self.ink(), Mark::Line { points, width: 1.0, dash: self.dash() });
    }

    /// Adds a line of steps.
    pub fn steps(&self, plot: &mut Plot, points: Vec<(f64, f64)>) {
        self.named_line(plot, points);
    }

    fn named_line(&self, plot: &mut Plot, points: Vec<(f64, f64)>) {
        let mark = Mark::Line { points, width: 1.6, dash: self.dash() };
        plot.add_of(&self.name, self.name.as_str(), Some(self.name.clone()), self.ink(), mark);
    }

    fn dash(&self) -> Option<(f64, f64)> {
        DASHES[self.place % DASHES.len()]
    }
}

/// A message size on a scale of logarithms: no bytes are half a byte.
pub fn size(bytes: u64) -> f64 {
    (bytes as f64).max(NO_BYTES)
}

/// Medians over message sizes. `None`: of fewer than two sizes.
pub fn by_size(title: impl Into<String>, (label, kind): (&str, AxisKind), lines: &[Line]) -> Option<Plot> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let (first, last) = extent(points().map(|(x, _)| *x)).filter(|(first, last)| first < last)?;
    // An interval that is far wider than all values says that little is known, however wide it is.
    let (low, high) = extent(points().map(|(_, of)| of.value_ns)).filter(|(low, _)| *low > 0.0)?;
    let ends = points().flat_map(|(_, of)| of.interval_ns.unwrap_or([of.value_ns; 2]));
    let (low, high) = extent(ends.map(|end| end.clamp(low / SHOWN, high * SHOWN)))?;
    // Above all there is a row of asterisks for each set that has some.
    let row = (high / low).powf(0.07).max(1.02);
    let rows = lines.iter().rposition(|line| !line.stars.is_empty()).map_or(0, |last| last + 1);
    let range = (low / row, high * row.powi(rows as i32 + 1));
    let y = Range { logarithmic: true, ..Range::new(label, range, kind) };
    let sizes = Range::new("message size, bytes", (first / 1.4, last * 1.4), AxisKind::Bytes);
    let mut plot = Plot::new(title, Range { logarithmic: true, ..sizes }, y);
    for (place, Line { set, points, stars }) in lines.iter().enumerate() {
        let through = points.iter().map(|(x, of)| (*x, of.value_ns)).collect();
        set.through(&mut plot, through);
        set.intervals(&mut plot, points);
        let labels = stars.iter().map(|(x, stars)| ((*x, high * row.powi(place as i32)), (*stars).to_owned()));
        plot.add_of(&set.name, "asterisks", None, set.ink(), Mark::Labels(labels.collect()));
    }
    Some(plot)
}

/// Points of a line over message sizes: more cannot be told apart.
const MOST_SIZES: usize = 512;

/// Leaves so many points of a line at most, evenly apart by their numbers, the first and the last among them.
fn thin<T>(points: &mut Vec<T>) {
    let last = points.len().saturating_sub(1);
    if points.len() > MOST_SIZES {
        let mut left = (0..MOST_SIZES).map(|number| number * last / (MOST_SIZES - 1)).peekable();
        let mut at = 0..;
        points.retain(|_| at.next().is_some_and(|at| left.next_if_eq(&at).is_some()));
    }
}

/// The medians of a run's good repetitions over message sizes: a line for all operations that differ in nothing else,
/// of those with the most time. `None`: no operation has several sizes.
pub fn of_operations(overview: &[Overview]) -> Option<Plot> {
    // With the time of the operations.
    let mut found: Vec<(f64, Line)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for row in overview {
        let (Some(bytes), Some(median)) = (row.operation.bytes, &row.good_median) else { continue };
        let interval_ns = median.interval.map(|interval| [interval.lower_ns, interval.upper_ns]);
        let name = fingerprint::title(&row.operation, None);
        let place = *places.entry(name.clone()).or_insert(found.len());
        if place == found.len() {
            found.push((0.0, Line { set: Set { name, place }, points: Vec::new(), stars: Vec::new() }));
        }
        let (time_ns, line) = &mut found[place];
        *time_ns += row.time_ns;
        line.points.push((size(bytes), Quantile { value_ns: median.value_ns, interval_ns }));
    }
    found.retain_mut(|(_, line)| {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        thin(&mut line.points);
        line.points.first().zip(line.points.last()).is_some_and(|(first, last)| first.0 < last.0)
    });
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let title = match found.len().saturating_sub(COLOURS.len()) {
        0 => "By message size".to_owned(),
        more => format!("By message size: those with the most time ({more} more)"),
    };
    let mut lines: Vec<Line> = found.into_iter().take(COLOURS.len()).map(|(_, line)| line).collect();
    lines.iter_mut().enumerate().for_each(|(place, line)| line.set.place = place);
    by_size(title, ("median of the good repetitions", AxisKind::Time), &lines)
}

/// Sets of values against the normal distribution: the quantile that belongs to a value, and the value, both in
/// standard deviations.
pub fn against_normal(title: impl Into<String>, of: &str, sets: Vec<(Set, Vec<(f64, f64)>)>) -> Option<Plot> {
    let (low, high) = extent(sets.iter().flat_map(|(_, points)| points).flat_map(|&(x, y)| [x, y]))?;
    let range = (low - 0.3, high + 0.3);
    let x = Range::new("normal distribution, standard deviations", range, AxisKind::Share);
    let mut plot = Plot::new(title, x, Range::new(format!("{of}, standard deviations"), range, AxisKind::Share));
    let line = Mark::Line { points: vec![(range.0, range.0), (range.1, range.1)], width: 1.0, dash: Some((4.0, 3.0)) };
    plot.add("normal", None, Ink::of_colour(GREY), line);
    sets.into_iter().for_each(|(set, points)| set.points(&mut plot, points));
    Some(plot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_over_many_sizes_keeps_its_ends_and_points_evenly_apart() {
        for count in [0, 1, MOST_SIZES, MOST_SIZES + 1, 10 * MOST_SIZES + 7] {
            let mut points: Vec<usize> = (0..count).collect();
            thin(&mut points);
            assert_eq!(points.len(), count.min(MOST_SIZES));
            assert_eq!(
                (points.first().copied(), points.last().copied()),
                ((count > 0).then_some(0), count.checked_sub(1))
            );
            let apart: Vec<usize> = points.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let (least, most) = (apart.iter().min(), apart.iter().max());
            assert!(least.zip(most).is_none_or(|(least, most)| most - least <= 1), "{apart:?}");
        }
    }
}
