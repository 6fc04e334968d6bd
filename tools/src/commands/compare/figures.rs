//! Pictures over message sizes and over runs, as Hunold & Carpen-Amarie (2016) draw them.

use mpitrace::comparison::{Quantile, Run, over_runs, q_q, stars};

use super::Pair;
use super::forest;
use super::result::Compared;
use super::side::OfOperation;
use crate::draw::axis::{Kind, extent};
use crate::draw::picture;
use crate::draw::plot::{Bar, FAR, GREY, Ink, Mark, PALETTE, Plot, Range, Shape};
use crate::draw::scene::{Area, Colour, Scene};

/// The content of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Figure {
    /// Each operation's effect with its interval.
    #[default]
    Forest,
    /// The medians of each set by message size, with intervals and asterisks.
    Sizes,
    /// The same over those of A.
    Normalised,
    /// Each run of each set, with its interval.
    Runs,
    /// The distribution of the runs of each set, and beside it against the normal distribution.
    Distribution,
}

/// The size of a plot.
const PANEL: (f64, f64) = (480.0, 320.0);
/// Plots in a picture.
const MOST: usize = 24;
/// Intervals are shown as far as so many times beyond all values.
const SHOWN: f64 = 1.5;
/// The colours of the sets.
const COLOURS: [Colour; 6] = [PALETTE[3], PALETTE[2], PALETTE[1], PALETTE[0], GREY, Colour(0x00, 0x9e, 0x73)];
const SHAPES: [Shape; 6] =
    [Shape::Circle, Shape::Triangle, Shape::Diamond, Shape::Cross, Shape::Circle, Shape::Triangle];

/// An operation of a set, with its letter, and what the test says of it against A.
struct OfSet<'s> {
    name: char,
    operation: &'s OfOperation,
    stars: &'static str,
}

/// Draws it; `None`: there is nothing to show.
pub fn draw(figure: Figure, pairs: &[Pair]) -> Option<Scene> {
    if figure == Figure::Forest {
        let rows = forest::rows(pairs);
        let [a, b] = pairs.first()?.names.map(|name| name.to_string());
        let names = if pairs.len() > 1 { ["the first", "the second"] } else { [a.as_str(), b.as_str()] };
        return (!rows.is_empty()).then(|| forest::draw(&rows, names));
    }
    let all = operations(pairs);
    let plots: Vec<Plot> = match figure {
        Figure::Sizes | Figure::Normalised => {
            let mut functions: Vec<&str> =
                all.iter().map(|sets| sets[0].operation.identity.function.as_str()).collect();
            functions.dedup();
            let of_function = |function: &&str| -> Vec<&Vec<OfSet>> {
                all.iter().filter(|sets| sets[0].operation.identity.function == **function).collect()
            };
            let plot = |function: &&str| by_size(function, &of_function(function), figure == Figure::Normalised);
            functions.iter().filter_map(plot).collect()
        }
        Figure::Runs => all.iter().filter_map(|sets| by_run(sets)).collect(),
        _ => all.iter().filter_map(|sets| Some([distribution(sets)?, against_normal(sets)?])).flatten().collect(),
    };
    let columns = plots.len().min(2);
    let rows = plots.len().min(MOST).div_ceil(columns.max(1));
    let (width, height) = PANEL;
    let title = format!("{figure:?} of {} operations", all.len());
    let mut scene = Scene::new(width * columns as f64, height * rows as f64, title);
    for (place, plot) in plots.iter().take(MOST).enumerate() {
        let (left, top) = (width * (place % columns) as f64, height * (place / columns) as f64);
        picture::draw(plot, &mut scene, Area { left, top, width, height });
    }
    (!plots.is_empty()).then_some(scene)
}

/// The operations that A shares with other sets, by function and size: each with those of the sets that have it.
fn operations<'s>(pairs: &'s [Pair]) -> Vec<Vec<OfSet<'s>>> {
    let mut all: Vec<Vec<OfSet>> = Vec::new();
    for pair in pairs.iter().filter(|pair| pair.names[0] == 'A') {
        for Compared { sides: [a, b], names, comparison, .. } in &pair.compared[pair.whole..] {
            let place = all.iter().position(|known| std::ptr::eq(known[0].operation, a.operation));
            let place = place.unwrap_or_else(|| {
                all.push(vec![OfSet { name: names[0], operation: a.operation, stars: "" }]);
                all.len() - 1
            });
            all[place].push(OfSet { name: names[1], operation: b.operation, stars: stars(comparison.p) });
        }
    }
    let key = |sets: &Vec<OfSet>| {
        let identity = &sets[0].operation.identity;
        (identity.function.clone(), identity.bytes)
    };
    all.sort_by_cached_key(key);
    all
}

fn ink(name: char) -> Ink {
    let place = (name as usize - 'A' as usize) % COLOURS.len();
    Ink { letter: name, ..Ink::of_colour(COLOURS[place]) }
}

fn shape(name: char) -> Shape {
    SHAPES[(name as usize - 'A' as usize) % SHAPES.len()]
}

/// The median over the runs of their medians, with its interval.
fn median(operation: &OfOperation) -> Option<Quantile> {
    over_runs(
        &operation
            .runs
            .iter()
            .map(|run| Quantile { value_ns: run.median_ns, ..run.settled_median })
            .collect::<Vec<_>>(),
    )
}

/// Points with their intervals, and a line through them.
fn add(plot: &mut Plot, name: char, points: &[(f64, Quantile)], has_line: bool) {
    let values: Vec<(f64, f64)> = points.iter().map(|(x, of)| (*x, of.value_ns)).collect();
    let bar = |(x, of): &(f64, Quantile)| of.interval_ns.map(|[low, high]| Bar { x: (*x, *x), y: (low, high) });
    plot.add("interval", None, ink(name), Mark::Bars(points.iter().filter_map(bar).collect()));
    if has_line {
        plot.add("line", None, ink(name), Mark::Line { points: values.clone(), width: 1.0, dash: None });
    }
    let mark = Mark::Points { shape: shape(name), points: values, rows: Vec::new() };
    plot.add(name, Some(name.to_string()), ink(name), mark);
}

/// Of the sizes of a function, each with its sets. `None`: of fewer than two sizes.
fn by_size(function: &str, sizes: &[&Vec<OfSet>], is_normalised: bool) -> Option<Plot> {
    let mut lines: Vec<(char, Vec<(f64, Quantile)>)> = Vec::new();
    let mut found: Vec<(f64, char, &str)> = Vec::new();
    for sets in sizes {
        // No bytes are half a byte on a scale of logarithms.
        let Some(x) = sets[0].operation.identity.bytes.map(|bytes| (bytes as f64).max(0.5)) else { continue };
        let scale = if is_normalised { 1.0 / median(sets[0].operation)?.value_ns } else { 1.0 };
        for set in *sets {
            let Some(Quantile { value_ns, interval_ns }) = median(set.operation) else { continue };
            let interval_ns = interval_ns.map(|ends| ends.map(|end| end * scale));
            let scaled = Quantile { value_ns: value_ns * scale, interval_ns };
            found.push((x, set.name, set.stars));
            match lines.iter_mut().find(|(name, _)| *name == set.name) {
                Some((_, points)) => points.push((x, scaled)),
                None => lines.push((set.name, vec![(x, scaled)])),
            }
        }
    }
    let points = || lines.iter().flat_map(|(_, points)| points);
    let (first, last) = extent(points().map(|(x, _)| *x)).filter(|(first, last)| first < last)?;
    // An interval that is far wider than all values says that little is known, however wide it is.
    let (low, high) = extent(points().map(|(_, of)| of.value_ns)).filter(|(low, _)| *low > 0.0)?;
    let ends = points().flat_map(|(_, of)| of.interval_ns.unwrap_or([of.value_ns; 2]));
    let (low, high) = extent(ends.map(|end| end.clamp(low / SHOWN, high * SHOWN)))?;
    // Above all there is a row of asterisks for each set.
    let row = (high / low).powf(0.07).max(1.02);
    let range = (low / row, high * row.powi(lines.len() as i32 + 1));
    let (label, kind) =
        if is_normalised { ("over the median of A", Kind::Share) } else { ("median over the runs", Kind::Time) };
    let y = Range { logarithmic: true, ..Range::new(label, range, kind) };
    let sizes = Range::new("message size, bytes", (first / 1.4, last * 1.4), Kind::Count);
    let mut plot = Plot::new(format!("{function} by message size"), Range { logarithmic: true, ..sizes }, y);
    for (place, (name, points)) in lines.iter().enumerate() {
        add(&mut plot, *name, points, true);
        let of_set = found.iter().filter(|(_, set, stars)| set == name && !stars.is_empty());
        let labels = of_set.map(|(x, _, stars)| ((*x, high * row.powi(place as i32)), (*stars).to_owned())).collect();
        plot.add("asterisks", None, ink(*name), Mark::Labels(labels));
    }
    Some(plot)
}

/// Each run of each set.
fn by_run(sets: &[OfSet]) -> Option<Plot> {
    let of_set = |set: &OfSet| -> Vec<(f64, Quantile)> {
        let shift = 0.12 * (f64::from(set.name as u32) - f64::from('A' as u32));
        set.operation.runs.iter().map(|run| (run.number as f64 + 1.0 + shift, run.settled_median)).collect()
    };
    let all: Vec<(char, Vec<(f64, Quantile)>)> = sets.iter().map(|set| (set.name, of_set(set))).collect();
    let points = || all.iter().flat_map(|(_, points)| points);
    let last = points().map(|(x, _)| *x).fold(1.0, f64::max);
    let y = Range::of_times("median", points().flat_map(|(_, of)| of.interval_ns.unwrap_or([of.value_ns; 2])), FAR)?;
    let mut plot = Plot::new(title(sets), Range::new("run", (0.5, last + 0.5), Kind::Count), y);
    all.iter().for_each(|(name, points)| add(&mut plot, *name, points, false));
    Some(plot)
}

fn title(sets: &[OfSet]) -> String {
    sets[0].operation.identity.key()
}

fn medians(set: &OfSet) -> Vec<f64> {
    let mut medians: Vec<f64> = set.operation.runs.iter().map(|run: &Run| run.median_ns).collect();
    medians.sort_unstable_by(f64::total_cmp);
    medians
}

/// The share of the runs of each set that take no longer.
fn distribution(sets: &[OfSet]) -> Option<Plot> {
    let x = Range::of_times("median of a run", sets.iter().flat_map(medians), FAR)?;
    let mut plot = Plot::new(title(sets), x, Range::new("share of the runs", (0.0, 1.02), Kind::Share));
    for set in sets {
        let all = medians(set);
        let step =
            |(at, &x): (usize, &f64)| [(x, at as f64 / all.len() as f64), (x, (at + 1) as f64 / all.len() as f64)];
        let points = all.iter().enumerate().flat_map(step).collect();
        plot.line(&set.name.to_string(), ink(set.name), points, 1.6, None);
    }
    Some(plot)
}

/// The runs of each set against the normal distribution, in standard deviations.
fn against_normal(sets: &[OfSet]) -> Option<Plot> {
    let of_set = |set: &OfSet| -> Vec<(f64, f64)> {
        let medians = medians(set);
        let (mean, deviation) = mpitrace::statistics::moments(&medians)
            .and_then(|of| Some((of.mean, of.standard_deviation.filter(|deviation| *deviation > 0.0)?)))
            .unwrap_or((0.0, 1.0));
        q_q(&medians).iter().map(|&[normal, value]| (normal, (value - mean) / deviation)).collect()
    };
    let all: Vec<(char, Vec<(f64, f64)>)> = sets.iter().map(|set| (set.name, of_set(set))).collect();
    let (low, high) = extent(all.iter().flat_map(|(_, points)| points).flat_map(|&(x, y)| [x, y]))?;
    let range = (low - 0.3, high + 0.3);
    let title = format!("{}: Q-Q", title(sets));
    let x = Range::new("normal distribution, standard deviations", range, Kind::Share);
    let mut plot = Plot::new(title, x, Range::new("runs, standard deviations", range, Kind::Share));
    let line = Mark::Line { points: vec![(range.0, range.0), (range.1, range.1)], width: 1.0, dash: Some((4.0, 3.0)) };
    plot.add("normal", None, Ink::of_colour(GREY), line);
    for (name, points) in all {
        let mark = Mark::Points { shape: shape(name), points, rows: Vec::new() };
        plot.add(name, Some(name.to_string()), ink(name), mark);
    }
    Some(plot)
}
