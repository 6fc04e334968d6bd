//! The metrics of the thesis along the repetitions (figure 4.8), and their differences (figure 4.7).

use mpitrace_show::draw::axis::{AxisKind, extent, with_room};
use mpitrace_show::draw::plot::{FAR, Ink, Mark, OTHERS, PALETTE, Plot, Range, Shape};
use mpitrace_show::draw::scene::Colour;

use super::view::{ALL, View};
use crate::fingerprint::MetricLine;

/// Of each metric, with dashes that tell them apart in grey.
const LOOKS: [(Colour, Option<(f64, f64)>); 5] = [
    (PALETTE[2], None),
    (PALETTE[3], Some((12.0, 2.0))),
    (OTHERS[0], Some((8.0, 3.0))),
    (PALETTE[0], Some((4.0, 2.0))),
    (PALETTE[1], Some((1.5, 2.0))),
];

/// No warm-up ends before this repetition (thesis, section 4.5).
const EARLIEST: f64 = 10.0;

fn lines<'a>(view: &View<'a>) -> &'a [MetricLine] {
    view.fingerprint.points.metrics.get(view.time).map_or(&[], Vec::as_slice)
}

/// Run times with the metrics over them.
pub fn metrics(view: View) -> Plot {
    let title = "Metrics of the run time";
    let Some(y) = Range::of_times("run time", view.run_times().iter().copied(), FAR) else { return Plot::empty(title) };
    let mut plot = Plot::new(title, view.repetitions(), y);
    let points = view.repetition().zip(view.run_times().iter().copied()).collect();
    plot.add(
        "run time",
        Some("run time".to_owned()),
        ALL,
        Mark::Points { shape: Shape::Dot, points, rows: Vec::new() },
    );
    add(&mut plot, lines(&view), |line| &line.values, 1.6);
    view.add_cuts(&mut plot);
    plot
}

/// The differences of the metrics from one repetition to the next, over the median of the run times.
pub fn differences(view: View) -> Plot {
    let title = "Differences of the metrics, over the median";
    let lines = lines(&view);
    // The first ones are far off, and no warm-up ends there.
    let all = || lines.iter().flat_map(|line| &line.differences);
    let later = extent(all().filter(|(repetition, _)| *repetition >= EARLIEST).map(|(_, by)| *by));
    let Some(range) = later.or_else(|| extent(all().map(|(_, by)| *by))) else {
        return Plot::empty(title);
    };
    let y = Range::new("difference / median", with_room(range, false), AxisKind::Share);
    let mut plot = Plot::new(title, view.repetitions(), y);
    add(&mut plot, lines, |line| &line.differences, 1.2);
    view.add_cuts(&mut plot);
    plot
}

fn add(plot: &mut Plot, lines: &[MetricLine], of: fn(&MetricLine) -> &Vec<(f64, f64)>, width: f64) {
    for (line, (colour, dash)) in lines.iter().zip(LOOKS) {
        plot.line(line.name, Ink::of_colour(colour), of(line).clone(), width, dash);
    }
}
