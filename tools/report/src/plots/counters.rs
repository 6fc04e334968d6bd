//! A counter against the run time (thesis, figures 4.3 and 4.13b), and along the repetitions (4.12 and 4.13a).

use mpitrace_show::draw::axis::{AxisKind, extent, with_room};
use mpitrace_show::draw::plot::{FAR, Plot, Range};

use super::view::View;
use crate::fingerprint::Counter;

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

fn values(counter: &Counter) -> Option<Range> {
    let range = with_room(extent(counter.slowest.iter().copied())?, false);
    let kind = if counter.unit == "ns" { AxisKind::Time } else { AxisKind::Count };
    Some(Range::new(counter.name.clone(), range, kind))
}
