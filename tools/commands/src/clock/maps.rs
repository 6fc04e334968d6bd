//! The maps from the clocks of each domain to global time, for the traces of other tools.

use mpitrace_format::layout::Anchor;
use mpitrace_format::metadata;
use mpitrace_words::info::clock_name;
use serde::Serialize;

use super::domain::Domain;

/// Between two points the straight line is off by no more, ns: far below any error of the clocks.
const OFF_NS: f64 = 0.5;
const HALVED: u32 = 12;

#[derive(Debug, Serialize)]
pub struct Map<'a> {
    ranks: &'a [u32],
    host: Option<String>,
    source: Option<&'static str>,
    /// In order of time; straight lines lead from one to the next.
    points: Vec<Point>,
}

#[derive(Debug, Serialize)]
struct Point {
    tick: u64,
    monotonic_raw_ns: u64,
    realtime_ns: u64,
    global_ns: f64,
    error_ns: Option<f64>,
}

impl<'a> Map<'a> {
    pub fn new(domain: &Domain<'a>) -> Map<'a> {
        let info = domain.part.info();
        let first = info.first_anchor.tick;
        // Of a rank that was killed early there is the first reading alone.
        let last = info.last_anchor.tick.max(domain.part.last_tick()).max(first);
        let mut ticks = vec![first];
        let pieces = domain.curve().knots().len().max(1) as u64;
        let bound = |piece: u64| first + ((last - first) as u128 * u128::from(piece) / u128::from(pieces)) as u64;
        for piece in 0..pieces {
            add(&mut ticks, [bound(piece), bound(piece + 1)], HALVED, &|tick| domain.clock.nanoseconds(tick));
        }
        ticks.dedup();
        let host = metadata::get(&domain.part.metadata(), "host").map(str::to_owned);
        let source = clock_name(info);
        Map { ranks: domain.ranks, host, source, points: ticks.iter().map(|&tick| Point::new(domain, tick)).collect() }
    }
}

impl Point {
    fn new(domain: &Domain, tick: u64) -> Point {
        let info = domain.part.info();
        let anchors = [&info.first_anchor, &info.last_anchor];
        let at = |reading| between(anchors, tick, domain.clock.duration_ns(tick, tick.wrapping_add(1)), reading);
        Point {
            tick,
            monotonic_raw_ns: at(|anchor| anchor.raw_ns),
            realtime_ns: at(|anchor| anchor.realtime_ns),
            global_ns: domain.clock.nanoseconds(tick),
            error_ns: domain.clock.error_ns(tick),
        }
    }
}

/// The end of an interval, with points before it where the curve is no line.
fn add(ticks: &mut Vec<u64>, [from, to]: [u64; 2], halved: u32, global: &impl Fn(u64) -> f64) {
    let length = to - from;
    let off = |quarter: u64| {
        let tick = from + length / 4 * quarter;
        let share = (tick - from) as f64 / length as f64;
        (global(tick) - global(from) - (global(to) - global(from)) * share).abs()
    };
    if length >= 8 && halved > 0 && (1..4).any(|quarter| off(quarter) > OFF_NS) {
        let middle = from + length / 2;
        add(ticks, [from, middle], halved - 1, global);
        return add(ticks, [middle, to], halved - 1, global);
    }
    ticks.push(to);
}

/// A clock of the system at a tick: on the line through its two readings; where there is one, at the counter's pace.
fn between([first, last]: [&Anchor; 2], tick: u64, period_ns: f64, reading: fn(&Anchor) -> u64) -> u64 {
    let pace = match last.tick.saturating_sub(first.tick) {
        0 => period_ns,
        ticks => reading(last).wrapping_sub(reading(first)) as i64 as f64 / ticks as f64,
    };
    let passed = tick.wrapping_sub(first.tick) as i64 as f64 * pace;
    reading(first).wrapping_add_signed(passed.round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_needs_its_ends_alone_and_a_curve_as_many_points_as_keep_it_near() {
        let points = |global: &dyn Fn(u64) -> f64| {
            let mut ticks = vec![1000];
            add(&mut ticks, [1000, 2_000_000], HALVED, &|tick| global(tick));
            ticks
        };
        assert_eq!(points(&|tick| 2.0 * tick as f64 + 7.0), [1000, 2_000_000]);
        let curve = |tick: u64| tick as f64 + (tick as f64 / 3e5).sin() * 1000.0;
        let ticks = points(&curve);
        assert!((20..500).contains(&ticks.len()) && ticks.is_sorted(), "{}", ticks.len());
        for pair in ticks.windows(2) {
            let middle = pair[0].midpoint(pair[1]);
            let share = (middle - pair[0]) as f64 / (pair[1] - pair[0]) as f64;
            let line = curve(pair[0]) + (curve(pair[1]) - curve(pair[0])) * share;
            assert!((line - curve(middle)).abs() < 2.0 * OFF_NS, "{pair:?}");
        }
    }

    #[test]
    fn clocks_of_the_system_are_on_the_line_through_their_two_readings() {
        let first = Anchor { tick: 1000, raw_ns: 950, realtime_ns: 1_700_000_000_000_000_000, width: 0 };
        let last = Anchor { tick: 5000, raw_ns: 2950, realtime_ns: 1_700_000_000_000_004_000, width: 0 };
        let read = |last, tick| {
            let anchors = [&first, last];
            let raw = between(anchors, tick, 9.0, |anchor| anchor.raw_ns);
            (raw, between(anchors, tick, 9.0, |anchor| anchor.realtime_ns) - first.realtime_ns)
        };
        assert_eq!(read(&last, 3000), (1950, 2000));
        assert_eq!(read(&last, 6000), (3450, 5000));
        // There is one reading alone.
        assert_eq!(read(&Anchor::default(), 1100), (1850, 900));
    }
}
