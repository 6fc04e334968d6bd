//! How the run times are distributed: histograms, distribution function, box plot, autocorrelation.

use mpitrace::categories::Category;

use super::View;
use super::marks::{ORDER, colour};
use super::run_times;
use crate::draw::axis::{Kind, extent};
use crate::draw::scene::{Anchor, Area, Colour, INK, Scene, Stroke};
use crate::draw::{Chart, PALETTE, Range};
use crate::report::fingerprint::BoxPlot;
use crate::report::histogram::Histogram;
use crate::report::histogram::place;

const GREY: Colour = Colour(0x44, 0x44, 0x44);

/// All repetitions.
pub fn histogram(view: &View, scene: &mut Scene, area: Area) {
    bars(view, scene, area, "Histogram", &view.timed().histogram);
}

/// Without first and outliers.
pub fn histogram_good(view: &View, scene: &mut Scene, area: Area) {
    bars(view, scene, area, "Histogram, without first and outliers", &view.timed().histogram_good);
}

fn bars(view: &View, scene: &mut Scene, area: Area, title: &str, histogram: &Histogram) {
    let bins = histogram.drawn();
    let Some(most) = bins.iter().map(|(_, _, counts)| counts.iter().sum::<u64>()).max() else {
        return view.nothing(scene, area, title);
    };
    let range = (histogram.from_ns, histogram.to_ns);
    let x = Range { label: "run time".into(), range, kind: Kind::Time, logarithmic: histogram.logarithmic };
    let range = (0.0, most as f64 * 1.05);
    let y = Range { label: "repetitions".into(), range, kind: Kind::Count, logarithmic: false };
    let mut chart = Chart::new(scene, area, title, &x, &y, 14.0);
    for (from, to, counts) in bins {
        let mut below = 0.0;
        for category in ORDER {
            let count = counts[place(category)] as f64;
            if count > 0.0 {
                chart.bar((from, to), (below, below + count), colour(category));
                below += count;
            }
        }
    }
    chart.inset(view.timed());
}

/// The empirical distribution function of all repetitions and of the good ones.
pub fn ecdf(view: &View, scene: &mut Scene, area: Area) {
    let title = "Distribution function";
    let timed = view.timed();
    let Some(x) = run_times::run_times(timed.ecdf.at_ns.iter().copied(), "run time") else {
        return view.nothing(scene, area, title);
    };
    let y =
        Range { label: "share that takes no longer".into(), range: (0.0, 1.02), kind: Kind::Share, logarithmic: false };
    let mut chart = Chart::new(scene, area, title, &x, &y, 14.0);
    let of_both = [(&timed.ecdf, "all", GREY, None), (&timed.ecdf_good, "good", PALETTE[3], Some((6.0, 3.0)))];
    for (row, (ecdf, name, colour, dash)) in of_both.into_iter().enumerate() {
        let stroke = Stroke { colour, width: 1.6, dash };
        let before = std::iter::once(&0.0).chain(&ecdf.share);
        let steps = ecdf.at_ns.iter().zip(before).zip(&ecdf.share);
        chart.line(steps.flat_map(|((&x, &from), &to)| [(x, from), (x, to)]), stroke);
        let (right, middle) = (chart.inside.right() - 8.0, chart.inside.bottom() - 28.0 + 14.0 * row as f64);
        chart.scene.text((right - 34.0, middle + 3.5), Anchor::End, 10.0, INK, name);
        chart.scene.line((right - 28.0, middle), (right, middle), stroke);
    }
}

/// Box plots of all repetitions and of each category.
pub fn boxes(view: &View, scene: &mut Scene, area: Area) {
    let title = "Box plot by category";
    let boxes = &view.timed().boxes;
    let Some(x) = run_times::run_times(boxes.iter().flat_map(|plot| [plot.min, plot.max]), "run time") else {
        return view.nothing(scene, area, title);
    };
    let y = Range { label: String::new(), range: (0.0, boxes.len() as f64), kind: Kind::Names, logarithmic: false };
    let rows = boxes.len() as f64;
    let mut chart = Chart::new(scene, area, title, &x, &y, 14.0);
    let height = chart.inside.height / rows;
    for (row, plot) in boxes.iter().enumerate() {
        let middle = chart.inside.top + height * (row as f64 + 0.5);
        one_box(&mut chart, plot, middle, (height * 0.3).min(14.0));
    }
}

fn one_box(chart: &mut Chart, plot: &BoxPlot, middle: f64, half: f64) {
    let category = Category::ALL.into_iter().find(|category| category.name() == plot.of);
    let colour = category.map_or(GREY, colour);
    let pen = Stroke::solid(colour, 1.4);
    let at = |value: f64| chart.x.place(value);
    let [min, low, lower, median, upper, high, max] =
        [plot.min, plot.low, plot.lower, plot.median, plot.upper, plot.high, plot.max].map(at);
    let scene = &mut *chart.scene;
    scene.text((chart.inside.left - 6.0, middle + 3.8), Anchor::End, 10.5, INK, plot.of);
    scene.edge(Area { left: lower, top: middle - half, width: (upper - lower).max(0.5), height: 2.0 * half }, pen);
    for (from, to) in [(low, lower), (upper, high)] {
        scene.line((from, middle), (to, middle), pen);
    }
    for end in [low, high] {
        scene.line((end, middle - half / 2.0), (end, middle + half / 2.0), pen);
    }
    scene.line((median, middle - half), (median, middle + half), Stroke::solid(colour, 3.0));
    for end in [min, max] {
        let cross = format!("M{:.1} {:.1}l5 5m-5 0l5 -5", end - 2.5, middle - 2.5);
        scene.path(cross, None, Some(Stroke::solid(colour, 1.2)), None);
    }
}

/// Of the good repetitions in their order.
pub fn autocorrelation(view: &View, scene: &mut Scene, area: Area) {
    let title = "Autocorrelation of the good repetitions";
    let found = &view.timed().autocorrelation;
    let values = found.at_lag.iter().copied().chain([-1.5 * found.band, 1.5 * found.band]);
    let Some((low, high)) = extent(values).filter(|_| !found.at_lag.is_empty()) else {
        return view.nothing(scene, area, title);
    };
    let lags = found.at_lag.len() as f64;
    let x = Range { label: "lag, repetitions".into(), range: (0.0, lags + 1.0), kind: Kind::Count, logarithmic: false };
    let range = ((low * 1.1).min(-0.1), (high * 1.1).max(0.1));
    let y = Range { label: "autocorrelation".into(), range, kind: Kind::Share, logarithmic: false };
    let mut chart = Chart::new(scene, area, title, &x, &y, 14.0);
    chart.bar((0.0, lags + 1.0), (-found.band, found.band), Colour(0xe4, 0xe4, 0xe4));
    for (index, &value) in found.at_lag.iter().enumerate() {
        let lag = index as f64 + 1.0;
        chart.bar((lag - 0.25, lag + 0.25), (value.min(0.0), value.max(0.0)), PALETTE[3]);
    }
}
