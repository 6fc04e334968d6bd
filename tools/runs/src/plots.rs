//! Plots of a program's scaling: time, efficiencies and parts by the number of ranks.

use mpitrace_scaling::{Level, Scaling};
use mpitrace_show::draw::axis::{AxisKind, extent};
use mpitrace_show::draw::plot::{GREY, Ink, Plot, Range};
use mpitrace_statistics::comparison::Quantile;
use mpitrace_statistics::models::Estimate;

use mpitrace_report::plots::sets::Set;

/// The size of a plot on pages and in pictures of several.
pub const PANEL: (f64, f64) = (480.0, 320.0);
/// Parts that have lines of their own.
const PARTS: usize = 6;
/// A part that is less of the time on all numbers of ranks has none.
const SMALL: f64 = 0.005;
/// A law that is less likely is not named.
const LIKELY: f64 = 0.5;
const NS: f64 = 1e9;

/// Time, efficiencies and parts, in this order; `labels` are the names of the parts.
pub fn plots(scaling: &Scaling, labels: &[String]) -> Vec<Plot> {
    [time(scaling), Some(efficiencies(scaling)), parts(scaling, labels)].into_iter().flatten().collect()
}

fn quantile(estimate: &Estimate, factor: f64) -> Quantile {
    Quantile {
        value_ns: factor * estimate.value,
        interval_ns: estimate.interval.map(|ends| ends.map(|end| factor * end)),
    }
}

/// The axis of ranks, as far as the prediction.
fn ranks(scaling: &Scaling) -> Range {
    let predicted = scaling.prediction.as_ref().map(|prediction| prediction.ranks);
    let all = scaling.levels.iter().map(|level| level.ranks).chain(predicted).map(f64::from);
    let (first, last) = extent(all).unwrap_or((1.0, 2.0));
    Range { logarithmic: true, ..Range::new("ranks", (first / 1.25, last * 1.25), AxisKind::Bytes) }
}

/// The time with its intervals, the ideal, and the prediction. `None`: no time is known.
fn time(scaling: &Scaling) -> Option<Plot> {
    let points: Vec<(f64, Quantile)> =
        scaling.levels.iter().map(|level| (f64::from(level.ranks), quantile(&level.seconds, NS))).collect();
    let predicted: Vec<(f64, Quantile)> =
        scaling.prediction.iter().map(|found| (f64::from(found.ranks), quantile(&found.seconds, NS))).collect();
    let (first, reference) = points.first().map(|(p, of)| (*p, of.value_ns))?;
    let targets = || points.iter().chain(&predicted).map(|(p, _)| *p);
    let ideal: Vec<(f64, f64)> = targets().map(|p| (p, reference * scaling.mode.mode.ideal(first, p))).collect();
    let ends = points.iter().chain(&predicted).flat_map(|(_, of)| of.interval_ns.unwrap_or([of.value_ns; 2]));
    let mut y = Range::of_times("time", ends.chain(ideal.iter().map(|(_, y)| *y)), 1.0)?;
    y.logarithmic = y.range.0 > 0.0;
    let mut plot = Plot::new("Time by ranks", ranks(scaling), y);
    plot.line("ideal", Ink::of_colour(GREY), ideal, 1.0, Some((4.0, 3.0)));
    let measured = Set { name: "measured".to_owned(), place: 3 };
    measured.through(&mut plot, points.iter().map(|(p, of)| (*p, of.value_ns)).collect());
    measured.intervals(&mut plot, &points);
    Set { name: "predicted".to_owned(), place: 2 }.intervals(&mut plot, &predicted);
    Some(plot)
}

/// The efficiencies of [`Level`] that are known of all.
fn efficiencies(scaling: &Scaling) -> Plot {
    type Of = fn(&Level) -> Option<Estimate>;
    let all: [(&str, Of); 6] = [
        ("global efficiency", |level| Some(level.global_efficiency)),
        ("parallel efficiency", |level| Some(level.parallel_efficiency)),
        ("load balance", |level| Some(level.load_balance)),
        ("communication", |level| Some(level.communication_efficiency)),
        ("transfer", |level| level.transfer),
        ("computation scaling", |level| Some(level.computation_scaling)),
    ];
    let of_set = |(place, (name, of)): (usize, (&str, Of))| {
        let set = Set { name: name.to_owned(), place };
        let points =
            scaling.levels.iter().filter_map(|level| Some((f64::from(level.ranks), quantile(&of(level)?, 1.0))));
        (set, points.collect::<Vec<(f64, Quantile)>>())
    };
    let sets: Vec<(Set, Vec<(f64, Quantile)>)> = all.into_iter().enumerate().map(of_set).collect();
    let ends =
        sets.iter().flat_map(|(_, points)| points).flat_map(|(_, of)| of.interval_ns.unwrap_or([of.value_ns; 2]));
    let (low, high) = extent(ends).unwrap_or((0.0, 1.0));
    // An interval of few runs may reach far beyond all efficiencies.
    let y = Range::new("efficiency", (low.clamp(0.0, 0.5) * 0.95, high.clamp(1.0, 1.5) * 1.05), AxisKind::Share);
    let mut plot = Plot::new("Efficiencies by ranks", ranks(scaling), y);
    for (set, points) in &sets {
        set.through(&mut plot, points.iter().map(|(p, of)| (*p, of.value_ns)).collect());
        set.intervals(&mut plot, points);
    }
    plot
}

/// The largest parts. `None`: there is none.
fn parts(scaling: &Scaling, labels: &[String]) -> Option<Plot> {
    let whole: Vec<f64> = scaling.levels.iter().map(|level| level.seconds.value).collect();
    let share = |seconds: &[f64]| seconds.iter().zip(&whole).map(|(part, all)| part / all).fold(0.0, f64::max);
    let mut largest: Vec<usize> = (0..scaling.parts.len()).collect();
    largest.retain(|&part| share(&scaling.parts[part].seconds) >= SMALL);
    largest.sort_by(|&one, &other| share(&scaling.parts[other].seconds).total_cmp(&share(&scaling.parts[one].seconds)));
    largest.truncate(PARTS);
    let least = whole.iter().copied().fold(f64::INFINITY, f64::min) * SMALL * 0.1;
    let points = |part: usize| -> Vec<(f64, f64)> {
        let of = scaling.levels.iter().zip(&scaling.parts[part].seconds);
        // On a scale of logarithms nothing has no place.
        of.filter(|(_, seconds)| **seconds > least)
            .map(|(level, seconds)| (f64::from(level.ranks), NS * seconds))
            .collect()
    };
    let all: Vec<Vec<(f64, f64)>> = largest.iter().map(|&part| points(part)).collect();
    let mut y = Range::of_times("time of a rank, mean", all.iter().flatten().map(|(_, y)| *y), 1.0)?;
    y.logarithmic = y.range.0 > 0.0;
    let mut plot = Plot::new("Parts by ranks", ranks(scaling), y);
    for ((place, &part), points) in largest.iter().enumerate().zip(all) {
        let law = scaling.parts[part].growth.laws.first().filter(|of| of.share >= LIKELY);
        let law = law.map_or_else(String::new, |of| format!(", {}", of.law.name()));
        let set = Set { name: format!("{}{law}", labels[part]), place };
        set.through(&mut plot, points.clone());
        set.points(&mut plot, points);
    }
    Some(plot)
}
