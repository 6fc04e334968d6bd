//! Run times along the repetitions.

use mpitrace_show::draw::plot::{FAR, Plot, Range};
use mpitrace_statistics::categories::Category;

use super::view::View;

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
