//! Run times over time: mean and median by bins with their intervals, and autocorrelation (Hunold & Carpen-Amarie
//! 2016, figures 4, 17, 18 and 38 to 40, and 16 and 41 to 43).

use mpitrace_show::draw::axis::{AxisKind, extent};
use mpitrace_show::draw::plot::{Bar, FAR, Ink, Mark, PALETTE, Plot, Range, Shape};
use mpitrace_statistics::{Bin, Course, normal_quantile};

use super::view::{ALL, BLACK, DASHED, View};

const MEAN: Ink = Ink::of_colour(PALETTE[2]);
const MEDIAN: Ink = Ink::of_colour(PALETTE[3]);

/// Mean and median of bins of the repetitions, with the test for drift above.
pub fn drift(view: View) -> Plot {
    let Course { bins, change, tau, p } = &view.timed().course;
    let said = match (change, tau.zip(*p)) {
        (Some(change), Some((tau, p))) => {
            let drifts = if p <= 0.05 { "drifts" } else { "no drift seen" };
            format!("{drifts}: {:+.1} % from the first to the last, tau {tau:.2}, p {}", 100.0 * change, probability(p))
        }
        _ => "too few repetitions to test for drift".to_owned(),
    };
    let title = format!("Run time by bins; {said}");
    let ends = |bin: &Bin| {
        let intervals = bin.mean_interval_ns.into_iter().chain(bin.median_interval_ns).flatten();
        intervals.chain([bin.mean_ns, bin.median_ns]).collect::<Vec<f64>>()
    };
    let Some(y) = Range::of_times("run time", bins.iter().flat_map(ends), FAR) else { return Plot::empty(title) };
    let mut plot = Plot::new(title, view.repetitions(), y);
    // Side by side, so that neither hides the other.
    let place = |bin: &Bin, share: f64| {
        let (first, last) = (bin.first_repetition as f64, bin.last_repetition as f64);
        first + (last - first) * share
    };
    let mut add = |name: &str, ink: Ink, shape: Shape, share: f64, of: fn(&Bin) -> (f64, Option<[f64; 2]>)| {
        let bar = |bin: &Bin| {
            let at = place(bin, share);
            of(bin).1.map(|[low, high]| Bar { x: (at, at), y: (low, high) })
        };
        plot.add("interval", None, ink, Mark::Bars(bins.iter().filter_map(bar).collect()));
        let points: Vec<(f64, f64)> = bins.iter().map(|bin| (place(bin, share), of(bin).0)).collect();
        let dash = if shape == Shape::Triangle { DASHED } else { None };
        plot.add("line", None, ink, Mark::Line { points: points.clone(), width: 1.0, dash });
        plot.add(name, Some(name.to_owned()), ink, Mark::Points { shape, points, rows: Vec::new() });
    };
    add("mean", MEAN, Shape::Triangle, 0.4, |bin| (bin.mean_ns, bin.mean_interval_ns));
    add("median", MEDIAN, Shape::Circle, 0.6, |bin| (bin.median_ns, bin.median_interval_ns));
    plot
}

fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

/// The autocorrelation of the good repetitions at each lag, with the limits that 95 % of independent ones are within.
pub fn autocorrelation(view: View) -> Plot {
    let timed = view.timed();
    let (found, n) = (&timed.good.autocorrelation, timed.counts[3] as f64);
    let title = "Autocorrelation of the good repetitions";
    let Some((low, high)) = extent(found.iter().copied()) else { return Plot::empty(title) };
    let limit = normal_quantile(0.975) / n.sqrt();
    let range = (low.min(-limit) - 0.05, high.max(limit).max(0.2) + 0.05);
    let lags = (0.0, found.len() as f64 + 1.0);
    let x = Range::new("lag, repetitions", lags, AxisKind::Count);
    let mut plot = Plot::new(title, x, Range::new("autocorrelation", range, AxisKind::Share));
    let bar = |(lag, &r): (usize, &f64)| Bar { x: (lag as f64 + 0.85, lag as f64 + 1.15), y: (r.min(0.0), r.max(0.0)) };
    let beyond = found.iter().filter(|r| r.abs() > limit).count();
    let legend = format!("{beyond} of {} lags beyond the limits", found.len());
    plot.add("autocorrelation", Some(legend), ALL, Mark::Bars(found.iter().enumerate().map(bar).collect()));
    plot.add("zero", None, BLACK, Mark::Line { points: vec![(lags.0, 0.0), (lags.1, 0.0)], width: 0.8, dash: None });
    for (at, name) in [(limit, Some("95 % of independent repetitions".to_owned())), (-limit, None)] {
        let points = vec![(lags.0, at), (lags.1, at)];
        plot.add("limit", name, MEDIAN, Mark::Line { points, width: 1.1, dash: DASHED });
    }
    plot
}
