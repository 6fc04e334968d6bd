//! Run times along the repetitions: the points, and the metrics that the end of the warm-up is found by.

use mpitrace::categories::Category;

use super::View;
use crate::draw::axis::{Kind, extent, with_room};
use crate::draw::scene::{Anchor, Area, Colour, INK, Scene, Stroke};
use crate::draw::{Chart, PALETTE, Range};

/// What spans more than this is drawn over its logarithm.
pub const FAR: f64 = 10.0;

/// All repetitions.
pub fn all(view: &View, scene: &mut Scene, area: Area) {
    points(view, scene, area, "Run time per repetition", |_| true);
}

/// Without first and outliers.
pub fn good(view: &View, scene: &mut Scene, area: Area) {
    points(view, scene, area, "Run time per repetition, without first and outliers", |category| {
        matches!(category, Category::Warmup | Category::Good)
    });
}

/// The axis of the repetitions.
pub fn repetitions(view: &View) -> Range {
    let range = extent(view.fingerprint.points.repetition.iter().map(|&number| number as f64));
    let (low, high) = range.unwrap_or((0.0, 1.0));
    let room = (high - low) * 0.01;
    Range { label: "repetition".into(), range: (low - room, high + room), kind: Kind::Count, logarithmic: false }
}

/// An axis of run times that holds these.
pub fn run_times(values: impl IntoIterator<Item = f64>, label: &str) -> Option<Range> {
    let (low, high) = extent(values)?;
    let logarithmic = low > 0.0 && high / low > FAR;
    Some(Range { label: label.into(), range: with_room((low, high), logarithmic), kind: Kind::Time, logarithmic })
}

fn points(view: &View, scene: &mut Scene, area: Area, title: &str, wanted: impl Fn(Category) -> bool) {
    let repetition = view.fingerprint.points.repetition.iter();
    let each = repetition.zip(view.run_times()).zip(view.categories());
    let points: Vec<(f64, f64, Category)> = each
        .filter(|(_, category)| wanted(**category))
        .map(|((&number, &x), &category)| (number as f64, x, category))
        .collect();
    let Some(y) = run_times(points.iter().map(|point| point.1), "run time") else {
        return view.nothing(scene, area, title);
    };
    let mut chart = Chart::new(scene, area, title, &repetitions(view), &y, 14.0);
    chart.marks(&points);
    chart.cuts(view.timed());
    chart.inset(view.timed());
}

/// A metric: its name, its values, and how it is drawn.
type Line<'a> = (&'static str, &'a [f64], Colour, Option<(f64, f64)>);

/// The metrics of the thesis' figure 4.8.
pub fn metrics(view: &View, scene: &mut Scene, area: Area) {
    let metrics = &view.timed().metrics;
    let grey = Colour(0x55, 0x55, 0x55);
    let lines: [Line; 5] = [
        ("cumulative minimum", &metrics.cumulative_minimum, PALETTE[3], None),
        ("cumulative mean", &metrics.cumulative_mean, PALETTE[2], Some((6.0, 3.0))),
        ("cumulative median", &metrics.cumulative_median, PALETTE[1], None),
        ("running mean", &metrics.running_mean, PALETTE[0], Some((2.0, 2.0))),
        ("running median", &metrics.running_median, grey, None),
    ];
    let Some((low, high)) = extent(lines.iter().flat_map(|(_, values, _, _)| values.iter().copied())) else {
        return view.nothing(scene, area, "Metrics along the repetitions");
    };
    let logarithmic = low > 0.0 && high / low > 3.0;
    let y =
        Range { label: "run time".into(), range: with_room((low, high), logarithmic), kind: Kind::Time, logarithmic };
    let mut chart = Chart::new(scene, area, "Metrics along the repetitions", &repetitions(view), &y, 14.0);
    for (row, (name, values, colour, dash)) in lines.into_iter().enumerate() {
        let stroke = Stroke { colour, width: 1.4, dash };
        chart.line(metrics.repetition.iter().zip(values).map(|(&number, &x)| (number as f64, x)), stroke);
        let (right, middle) = (chart.inside.right() - 8.0, chart.inside.top + 12.0 + 13.0 * row as f64);
        chart.scene.text((right - 34.0, middle + 3.5), Anchor::End, 10.0, INK, name);
        chart.scene.line((right - 28.0, middle), (right, middle), stroke);
    }
    chart.cuts(view.timed());
}
