//! Two runs of one operation over each other: A solid in blue, B dashed in vermilion.

use super::distribution::functions;
use super::{DASHED, SIDES};
use crate::draw::axis::{Kind, extent, with_room};
use crate::draw::plot::{FAR, Mark, Plot, Range, Shape};
use crate::report::comparison::{Distance, Pair};
use crate::report::fingerprint::Timed;

const DASHES: [Option<(f64, f64)>; 2] = [None, DASHED];
const NAMES: [&str; 2] = ["A", "B"];

/// The plots by one definition of the run time, with their names; none where a side does not have it.
pub fn overlays(pair: &Pair, distance: &Distance) -> Vec<(&'static str, Plot)> {
    let Some(sides) = sides(pair, distance) else { return Vec::new() };
    let ecdf = |title, of: fn(&Timed) -> &crate::report::fingerprint::Ecdf| {
        functions(title, &[0, 1].map(|side: usize| (of(sides[side]), NAMES[side], SIDES[side], DASHES[side])))
    };
    vec![
        ("run-time", points(pair, sides)),
        ("density", density(sides)),
        ("ecdf", ecdf("Distribution function", |timed| &timed.ecdf)),
        ("ecdf-good", ecdf("Distribution function of the good repetitions", |timed| &timed.ecdf_good)),
    ]
}

/// The numbers of both sides.
pub fn sides<'p>(pair: &'p Pair, distance: &Distance) -> Option<[&'p Timed; 2]> {
    let of_side = |side: usize| pair.sides[side].times.iter().find(|timed| timed.time == distance.time);
    Some([of_side(0)?, of_side(1)?])
}

fn points(pair: &Pair, sides: [&Timed; 2]) -> Plot {
    let title = "Run time per repetition";
    let of_side = |side: usize| -> Vec<(f64, f64)> {
        let points = &pair.sides[side].points;
        let run_times = &points.run_time_ns[pair.sides[side].index_of(sides[side].time)];
        points.repetition.iter().map(|&number| number as f64).zip(run_times.iter().copied()).collect()
    };
    let both = [0, 1].map(of_side);
    let (Some(y), Some(x)) = (
        Range::of_times("run time", both.iter().flatten().map(|point| point.1), FAR),
        extent(both.iter().flatten().map(|point| point.0)),
    ) else {
        return Plot::empty(title);
    };
    let mut plot = Plot::new(title, Range::new("repetition", x, Kind::Count), y);
    let [a, b] = both;
    // The smaller marks on top.
    for (side, shape, points) in [(1, Shape::Triangle, b), (0, Shape::Dot, a)] {
        let mark = Mark::Points { shape, points, rows: Vec::new() };
        plot.add(NAMES[side], Some(NAMES[side].to_owned()), SIDES[side], mark);
    }
    plot
}

/// Shares of the repetitions for each µs, since the bins of the two sides differ.
fn density(sides: [&Timed; 2]) -> Plot {
    let title = "Distribution without first and outliers";
    let outlines = sides.map(|timed| {
        let bins = timed.histogram_good.edges_and_counts();
        let all: u64 = bins.iter().flat_map(|bin| bin.2).sum();
        let outline = bins.iter().flat_map(|(from, to, counts)| {
            let share = counts.iter().sum::<u64>() as f64 / all.max(1) as f64 / (to - from) * 1e3;
            [(*from, share), (*to, share)]
        });
        let outline: Vec<(f64, f64)> = outline.collect();
        let ends = outline.first().zip(outline.last()).map(|(first, last)| ((first.0, 0.0), (last.0, 0.0)));
        let (start, end) = ends.unzip();
        start.into_iter().chain(outline).chain(end).collect::<Vec<(f64, f64)>>()
    });
    let all = || outlines.iter().flatten();
    let (Some(x), Some((_, most))) =
        (Range::of_times("run time", all().map(|point| point.0), FAR), extent(all().map(|point| point.1)))
    else {
        return Plot::empty(title);
    };
    let y = Range::new("share for each µs", (0.0, with_room((0.0, most), false).1), Kind::Share);
    let mut plot = Plot::new(title, x, y);
    for (side, outline) in outlines.into_iter().enumerate() {
        plot.line(NAMES[side], SIDES[side], outline, 1.6, DASHES[side]);
    }
    plot
}
