//! A counter against the run time (thesis, figures 4.3 and 4.13b), and along the repetitions (4.12 and 4.13a).

use mpitrace::categories::Category;

use super::View;
use super::run_times::{repetitions, run_times};
use crate::draw::axis::{Kind, extent, with_room};
use crate::draw::scene::{Area, Scene};
use crate::draw::{Chart, Range};
use crate::report::fingerprint::Counter;

/// The value on the slowest rank against the run time.
pub fn against_run_time(view: &View, counter: &Counter, scene: &mut Scene, area: Area) {
    let title = format!("{} against run time", counter.name);
    let points = points(view, counter.slowest.iter().copied(), view.run_times().iter().copied());
    let (Some(x), Some(y)) = (values(counter), run_times(points.iter().map(|point| point.1), "run time")) else {
        return view.nothing(scene, area, &title);
    };
    let mut chart = Chart::new(scene, area, &title, &x, &y, 14.0);
    chart.marks(&points);
    chart.inset(view.timed());
}

/// The value on the slowest rank in each repetition.
pub fn per_repetition(view: &View, counter: &Counter, scene: &mut Scene, area: Area) {
    let title = format!("{} per repetition", counter.name);
    let numbers = view.fingerprint.points.repetition.iter().map(|&number| number as f64);
    let points = points(view, numbers, counter.slowest.iter().copied());
    let Some(y) = values(counter) else { return view.nothing(scene, area, &title) };
    let mut chart = Chart::new(scene, area, &title, &repetitions(view), &y, 14.0);
    chart.marks(&points);
    chart.cuts(view.timed());
    chart.inset(view.timed());
}

fn points(view: &View, across: impl Iterator<Item = f64>, up: impl Iterator<Item = f64>) -> Vec<(f64, f64, Category)> {
    across.zip(up).zip(view.categories()).map(|((x, y), &category)| (x, y, category)).collect()
}

fn values(counter: &Counter) -> Option<Range> {
    let range = with_room(extent(counter.slowest.iter().copied())?, false);
    let kind = if counter.unit == "ns" { Kind::Time } else { Kind::Count };
    Some(Range { label: counter.name.clone(), range, kind, logarithmic: false })
}
