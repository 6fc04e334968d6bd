//! The clocks over the run as pictures (Hunold & Carpen-Amarie 2016, figures 1, 5 to 8 and 33 to 37; Hoefler et al.
//! 2010, figure 5).
//!
//! Marks and dashes differ, so that the pictures can be read without colours too.

use clap::ValueEnum;
use mpitrace_report::pictures::Picture;
use mpitrace_show::draw::axis::{AxisKind, extent, with_room};
use mpitrace_show::draw::plot::{Bar, GREY, Ink, Mark, OTHERS, PALETTE, Plot, Range, Shape};
use mpitrace_show::draw::scene;
use mpitrace_show::text;
use mpitrace_synchronise::Method;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::reader::Trace;

use super::domain::{self, Domain};
use super::durations;
use super::samples::Samples;

/// The content of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ClockPlot {
    /// By how much each clock is ahead of the first one, from 0 at the start: its drift.
    Drift,
    /// The offset of each clock to its own straight line, with errors, hard bounds and synchronisations.
    #[default]
    Offset,
    /// How far global time by each other method, out of the same probes, is from that of the run.
    Methods,
    /// How far global time by each other method is from that of the run, against the time that its synchronisations
    /// take.
    Duration,
}

/// Clocks of one picture: of more, those are shown that leave their lines furthest.
const SHOWN: usize = 12;
/// Every so many points the error is drawn.
const BAR_EVERY: usize = 10;
/// Hard bounds that are so many times as far apart as the offsets with their errors are cut off.
const WIDEST_BOUNDS: f64 = 8.0;
const PANEL: (f64, f64) = (760.0, 240.0);

const CURVE: Ink = Ink::of_colour(PALETTE[3]);
const ERROR: Ink = Ink::of_colour(PALETTE[2]);
const BOUNDS: Ink = Ink::of_colour(GREY);
const STEP: Ink = Ink::of_colour(scene::INK);
const INKS: [Ink; 6] = [
    CURVE,
    ERROR,
    Ink::of_colour(OTHERS[0]),
    Ink::of_colour(PALETTE[0]),
    Ink::of_colour(PALETTE[1]),
    Ink::of_colour(GREY),
];
const DASHES: [Option<(f64, f64)>; 4] = [None, Some((7.0, 3.0)), Some((2.0, 2.0)), Some((9.0, 2.0))];

/// Its plots. `None`: all ranks read one clock, or no other method can be had of the run's probes.
pub fn of(plot: ClockPlot, trace: &Trace, clock: &Clock) -> Option<Picture> {
    let domains = domain::all(trace, clock);
    let (first, others) = domains.split_first()?;
    let mut clocks: Vec<(&Domain, Samples)> = others.iter().map(|domain| (domain, Samples::of(domain))).collect();
    let reach = |samples: &Samples| {
        extent(samples.points.iter().map(|point| point.off_line_ns)).map_or(0.0, |(low, high)| high - low)
    };
    clocks.sort_by(|a, b| reach(&b.1).total_cmp(&reach(&a.1)));
    clocks.truncate(SHOWN);
    clocks.sort_by_key(|(domain, _)| domain.ranks[0]);
    let plots = match plot {
        ClockPlot::Drift => vec![drift(&clocks, first)?],
        ClockPlot::Offset => clocks.iter().filter_map(|(domain, samples)| offset(domain, samples, first)).collect(),
        ClockPlot::Methods => {
            clocks.iter().filter_map(|(domain, samples)| methods(trace, clock, domain, samples)).collect()
        }
        ClockPlot::Duration => vec![durations::plot(trace, clock, &clocks, first)?],
    };
    let picture = Picture { name: "Clocks".to_owned(), plots, panel: PANEL, columns: 1, above: None };
    (!picture.plots.is_empty()).then_some(picture)
}

fn time(samples: &Samples) -> Option<Range> {
    let range = extent(samples.points.iter().map(|point| point.at_ns))?;
    let room = 0.01 * (range.1 - range.0);
    Some(Range::new("time since the first call", (range.0 - room, range.1 + room), AxisKind::Time))
}

/// A line with the look of its place among others.
fn line(plot: &mut Plot, place: usize, name: &str, points: Vec<(f64, f64)>) {
    plot.line(name, INKS[place % INKS.len()], points, 1.6, DASHES[place % DASHES.len()]);
}

fn drift(clocks: &[(&Domain, Samples)], first: &Domain) -> Option<Plot> {
    let ahead = |samples: &Samples| {
        let start = samples.points.first().map_or(0.0, |point| point.ahead_ns);
        samples.points.iter().map(|point| (point.at_ns, point.ahead_ns - start)).collect::<Vec<_>>()
    };
    let lines: Vec<Vec<(f64, f64)>> = clocks.iter().map(|(_, samples)| ahead(samples)).collect();
    let range = with_room(extent(lines.iter().flatten().map(|(_, y)| *y))?, false);
    let title = format!("Drift of the clocks against that of {}", text::named_ranks(first.ranks));
    let mut plot = Plot::new(title, time(&clocks.first()?.1)?, Range::new("ahead", range, AxisKind::Time));
    for (place, ((domain, _), points)) in clocks.iter().zip(lines).enumerate() {
        let name = format!("{}: {:+.3} ppm", text::named_ranks(domain.ranks), domain.drift_ppm(first));
        line(&mut plot, place, &name, points);
    }
    Some(plot)
}

/// The range of a panel, ns, and whether hard bounds are cut off.
fn range(samples: &Samples) -> Option<((f64, f64), bool)> {
    let error =
        |sign: f64| samples.points.iter().map(move |point| point.off_line_ns + sign * point.error_ns.unwrap_or(0.0));
    let (low, high) = extent(error(-1.0).chain(error(1.0)))?;
    // A curve on its line needs a panel with a height too.
    let width = (high - low).max(2.0);
    let (low, high) = (f64::midpoint(low, high) - width / 2.0, f64::midpoint(low, high) + width / 2.0);
    let bounds = extent(samples.points.iter().filter_map(|point| point.hard_ns).flat_map(|(low, high)| [low, high]));
    Some(match bounds {
        Some((least, most)) if most - least > WIDEST_BOUNDS * width => (with_room((low, high), false), true),
        Some((least, most)) => (with_room((low.min(least), high.max(most)), false), false),
        None => (with_room((low, high), false), false),
    })
}

fn offset(domain: &Domain, samples: &Samples, first: &Domain) -> Option<Plot> {
    let (range, cut) = range(samples)?;
    let (ahead, drift) = (domain.offset_ns(), domain.drift_ppm(first));
    let cut = if cut { "; hard bounds are further apart" } else { "" };
    let (of, direction) = (text::time(ahead.abs()), if ahead < 0.0 { "behind" } else { "ahead" });
    let ranks = text::named_ranks(domain.ranks);
    let title = format!("{ranks}: {of} {direction} at the start, {drift:+.3} ppm; without its line{cut}");
    let mut plot = Plot::new(title, time(samples)?, Range::new("ahead of its line", range, AxisKind::Time));
    let mut add = |name: &str, ink: Ink, mark: Mark| plot.add(name, Some(name.to_owned()), ink, mark);
    let bound = |of: fn((f64, f64)) -> f64| -> Vec<(f64, f64)> {
        samples.points.iter().filter_map(|point| Some((point.at_ns, of(point.hard_ns?)))).collect()
    };
    let dash = Some((2.0, 3.0));
    add("hard bounds", BOUNDS, Mark::Line { points: bound(|(low, _)| low), width: 1.0, dash });
    let at = samples.steps.iter().flat_map(|step| [step.after_s, step.before_s]).map(|at| at * 1e9).collect();
    add("the clock stepped in between", STEP, Mark::Rules { at, dash: (5.0, 3.0) });
    let bars = samples.points.iter().skip(BAR_EVERY / 2).step_by(BAR_EVERY).filter_map(|point| {
        let error = point.error_ns?;
        Some(Bar { x: (point.at_ns, point.at_ns), y: (point.off_line_ns - error, point.off_line_ns + error) })
    });
    add("95 % interval", ERROR, Mark::Bars(bars.collect()));
    let points = samples.points.iter().map(|point| (point.at_ns, point.off_line_ns)).collect();
    add("offset", CURVE, Mark::Line { points, width: 1.8, dash: None });
    let points = samples.synchronisations.clone();
    add("synchronisation", CURVE, Mark::Points { shape: Shape::Circle, points, rows: Vec::new() });
    plot.add("hard bounds", None, BOUNDS, Mark::Line { points: bound(|(_, high)| high), width: 1.0, dash });
    Some(plot)
}

/// What is left of the offset after synchronisation by each other method that the probes allow.
fn methods(trace: &Trace, clock: &Clock, domain: &Domain, samples: &Samples) -> Option<Plot> {
    let index = trace.parts.iter().position(|part| std::ptr::eq(part, domain.part))?;
    let others =
        Method::all().filter(|method| method.is_from_probes() && *method != Method::None && *method != clock.method);
    let estimated = others.filter_map(|method| Some((method, Clock::estimated_by(trace, method).ok()?)));
    let lines: Vec<(Method, Vec<(f64, f64)>)> = estimated
        .filter(|(method, other)| other.method == *method)
        .map(|(method, other)| (method, samples.against(domain.clock, other.of_part(index))))
        .collect();
    let errors = samples.points.iter().filter_map(|point| point.error_ns).flat_map(|error| [-error, error]);
    let ends = lines.iter().flat_map(|(_, points)| points).map(|(_, y)| *y).chain(errors);
    let range = with_room(extent(ends)?, false);
    let own = clock.method.name();
    let title = format!("{}: global time by other methods, less that by {own}", text::named_ranks(domain.ranks));
    let mut plot = Plot::new(title, time(samples)?, Range::new("later", range, AxisKind::Time));
    let bar = |at_ns: f64, error: f64| Bar { x: (at_ns, at_ns), y: (-error, error) };
    let bars = samples.points.iter().step_by(BAR_EVERY).filter_map(|point| Some(bar(point.at_ns, point.error_ns?)));
    let legend = Some(format!("95 % interval of {own}"));
    plot.add("95 % interval", legend, BOUNDS, Mark::Bars(bars.collect()));
    let is_known = !lines.is_empty();
    lines.into_iter().enumerate().for_each(|(place, (method, points))| line(&mut plot, place, method.name(), points));
    is_known.then_some(plot)
}
