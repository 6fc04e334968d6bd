//! A counter against the run time (thesis, figures 4.3, 4.4 and 4.13b), and along the repetitions (4.12 and 4.13a).

use mpitrace_show::draw::axis::{AxisKind, extent, with_room};
use mpitrace_show::draw::plot::{FAR, Mark, Plot, Range};

use super::view::{ORDER, View, ink, shape};
use crate::fingerprint::{Counter, Dot};

/// The value on the slowest rank against the run time.
pub fn against_run_time(view: View, counter: &Counter) -> Plot {
    let title = format!("{} against run time", counter.name);
    let y = Range::of_times("run time", view.run_times().iter().copied(), FAR);
    let (Some(x), Some(y)) = (values(counter), y) else { return Plot::empty(title) };
    let mut plot = Plot::new(title, x, y);
    let points: Vec<(f64, f64)> = counter.slowest.iter().copied().zip(view.run_times().iter().copied()).collect();
    view.add_points(&mut plot, &points, |_| true);
    plot
}

/// The value on the slowest rank in each repetition.
pub fn per_repetition(view: View, counter: &Counter) -> Plot {
    let title = format!("{} per repetition", counter.name);
    let Some(y) = values(counter) else { return Plot::empty(title) };
    let mut plot = Plot::new(title, view.repetitions(), y);
    let points: Vec<(f64, f64)> = view.repetition().zip(counter.slowest.iter().copied()).collect();
    view.add_points(&mut plot, &points, |_| true);
    view.add_cuts(&mut plot);
    plot
}

/// The value on each rank in each repetition against the time of that rank there: each rank a dot (figures 4.3, 4.4 and
/// 4.13), with Pearson's and Spearman's coefficient. `place`: the counter's among all.
pub fn each_rank(view: View, place: usize) -> Plot {
    let points = &view.fingerprint.points;
    let counter = &points.counters[place];
    let [r, rho] = counter.correlation.map(|of| of.map_or("not known".to_owned(), |of| format!("{of:.2}")));
    let title = format!("{} and run time of each rank: Pearson {r}, Spearman {rho}", counter.name);
    let of_dots = || points.dots.iter().map(|dot| dot.counters[place]);
    let y = Range::of_times("run time of the rank", points.dots.iter().map(|dot| dot.run_time_ns), FAR);
    let (Some(x), Some(y)) = (range(counter, of_dots()), y) else { return Plot::empty(title) };
    let mut plot = Plot::new(title, x, y);
    let categories = &points.category[view.time];
    for category in ORDER {
        let is_of = |dot: &&Dot| categories[dot.row] == category && dot.counters[place].is_finite();
        let dots = points.dots.iter().filter(is_of).map(|dot| (dot.counters[place], dot.run_time_ns)).collect();
        let mark = Mark::Points { shape: shape(category), points: dots, rows: Vec::new() };
        plot.add(category.name(), Some(category.name().to_owned()), ink(category), mark);
    }
    plot
}

fn values(counter: &Counter) -> Option<Range> {
    range(counter, counter.slowest.iter().copied())
}

fn range(counter: &Counter, values: impl Iterator<Item = f64>) -> Option<Range> {
    let range = with_room(extent(values)?, false);
    let kind = if counter.unit == "ns" { AxisKind::Time } else { AxisKind::Count };
    Some(Range::new(counter.name.clone(), range, kind))
}
