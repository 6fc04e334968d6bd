//! Run times along the repetitions: the points, and the metrics that the end of the warm-up is found by.

use mpitrace::categories::Category;

use super::{DASHED, View};
use crate::draw::axis::{Kind, extent, with_room};
use crate::draw::plot::{FAR, GREY, Ink, PALETTE, Plot, Range};

/// All repetitions.
pub fn all(view: View) -> Plot {
    points(view, "Run time per repetition", |_| true)
}

/// Without first and outliers.
pub fn good(view: View) -> Plot {
    let is_ordinary = |category| matches!(category, Category::Warmup | Category::Good);
    points(view, "Run time per repetition, without first and outliers", is_ordinary)
}

fn points(view: View, title: &str, is_wanted: impl Fn(Category) -> bool) -> Plot {
    let categories = &view.fingerprint.points.category[view.time];
    let shown = view.run_times().iter().zip(categories).filter(|(_, category)| is_wanted(**category));
    let Some(y) = Range::of_times("run time", shown.map(|(&run_time, _)| run_time), FAR) else {
        return Plot::empty(title);
    };
    let mut plot = Plot::new(title, view.repetitions(), y);
    let points: Vec<(f64, f64)> = view.repetition().zip(view.run_times().iter().copied()).collect();
    view.add_points(&mut plot, &points, is_wanted);
    view.add_cuts(&mut plot);
    plot
}

/// The metrics of the thesis' figure 4.8.
pub fn metrics(view: View) -> Plot {
    let title = "Metrics along the repetitions";
    let metrics = &view.timed().metrics;
    let lines: [(&str, &[f64], _, _); 5] = [
        ("cumulative minimum", &metrics.cumulative_minimum, PALETTE[3], None),
        ("cumulative mean", &metrics.cumulative_mean, PALETTE[2], DASHED),
        ("cumulative median", &metrics.cumulative_median, PALETTE[1], None),
        ("running mean", &metrics.running_mean, PALETTE[0], Some((2.0, 2.0))),
        ("running median", &metrics.running_median, GREY, None),
    ];
    let Some((low, high)) = extent(lines.iter().flat_map(|(_, values, _, _)| values.iter().copied())) else {
        return Plot::empty(title);
    };
    // A warm-up of a factor of three is already flat at its end on a linear axis.
    let logarithmic = low > 0.0 && high / low > 3.0;
    let y = Range { logarithmic, ..Range::new("run time", with_room((low, high), logarithmic), Kind::Time) };
    let mut plot = Plot::new(title, view.repetitions(), y);
    for (name, values, colour, dash) in lines {
        let points = metrics.repetition.iter().zip(values).map(|(&number, &x)| (number as f64, x));
        plot.line(name, Ink::of_colour(colour), points.collect(), 1.4, dash);
    }
    view.add_cuts(&mut plot);
    plot
}
