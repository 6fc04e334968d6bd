//! A delay of one direction alone, in the methods that work on probes: half of it is in every offset, none can
//! see it, and the stated hard bounds hold it.

use mpitrace_format::layout::{ProbeEntry, SyncEntry};
use mpitrace_synchronise::{Exchange, probe};

use super::linear::{self, Line};
use super::{Curve, Leader, TWO_SIDED_95, joint};

/// Ticks per second: a tick is a ns.
const HZ: f64 = 1e9;
/// How far the other clock is ahead, and how fast it runs.
const AHEAD: i64 = 1_500_000_000;
const DRIFT: f64 = 37e-6;
/// The other clock's first synchronisation, and the time between two.
const BEGIN: u64 = 1 << 40;
const BETWEEN: u64 = 2_000_000_000;

/// The second clock when the first is at `tick`.
fn shown(tick: u64) -> u64 {
    let since = (tick - BEGIN) as f64;
    tick.wrapping_add_signed(AHEAD) + (since * DRIFT).round() as u64
}

/// One exchange begun at `sent` by the second (`from_second`) or the first clock; `there` and `back` ticks on the way.
fn exchange(sent: u64, there: u64, back: u64, from_second: bool) -> Exchange {
    let clock = |second: bool, tick: u64| if second { shown(tick) } else { tick };
    let (own, other) = (|tick| clock(from_second, tick), |tick| clock(!from_second, tick));
    Exchange { sent: own(sent), remote: other(sent + there), received: own(sent + there + back) }
}

/// The second clock's probes of five synchronisations, every message from the first to the second one late by `delay`.
fn probes(delay: u64) -> Vec<ProbeEntry> {
    (0..5)
        .map(|sync| {
            let at = |number: u64| BEGIN + u64::from(sync) * BETWEEN + number * 2_000;
            // Ways of 500 and some more, which differ from message to message.
            let way = |number: u64| 500 + number * 7919 % 41;
            let forth: Vec<Exchange> = (0..40).map(|n| exchange(at(n), way(n), way(n + 3) + delay, true)).collect();
            let back: Vec<Exchange> =
                (0..40).map(|n| exchange(at(n + 50), way(n + 1) + delay, way(n + 5), false)).collect();
            ProbeEntry { sync, ..probe(0, &forth, &back) }
        })
        .collect()
}

/// By how many ns the second clock's global time is wrong in the middle of the run, and its hard bounds there.
fn error(curve: &Curve) -> (f64, (f64, f64)) {
    let middle = BEGIN + 2 * BETWEEN + BETWEEN / 3;
    let local = shown(middle);
    let at = curve.offset_at(local);
    (curve.since(middle, local), (at.hard.0 - at.offset, at.hard.1 - at.offset))
}

/// The second clock's curves by the joint method and by a straight line, where every message to it is late by `delay`.
fn curves(delay: u64) -> [Curve; 2] {
    let probes = probes(delay);
    let begins = |from: fn(u64) -> u64| {
        (0..5).map(move |sync| SyncEntry {
            index: sync,
            begin: from(BEGIN + u64::from(sync) * BETWEEN),
            ..SyncEntry::default()
        })
    };
    let (first, second): (Vec<SyncEntry>, Vec<SyncEntry>) = (begins(|tick| tick).collect(), begins(shown).collect());
    let leaders = [Leader { hz: HZ, syncs: &first, probes: &[] }, Leader { hz: HZ, syncs: &second, probes: &probes }];
    [joint::curves(&leaders, 500.0, 100.0).swap_remove(1), linear::curves(&leaders, Line::FirstAndLast).swap_remove(1)]
}

#[test]
fn half_of_it_is_in_the_offset_and_the_hard_bounds_hold_it() {
    for delay in [0, 600, 20_000] {
        let [joint, linear] = curves(delay);
        let half = delay as f64 / 2.0;
        let (off, bounds) = error(&joint);
        // The ways differ by up to 40, and the rate by as much per synchronisation.
        assert!((off.abs() - half).abs() < 25.0, "{delay}: {off}");
        assert!(bounds.0 <= -off && -off <= bounds.1, "{delay}: {off} not within {bounds:?}");
        let (off, _) = error(&linear);
        assert!((off.abs() - half).abs() < 25.0, "{delay}: {off}");
    }
}

#[test]
fn the_stated_interval_holds_it_where_no_way_takes_longer_than_stated() {
    // Ways of 500 and 500 + delay: up to 1.9 times as long.
    for delay in [0, 60, 230, 450] {
        let [joint, _] = curves(delay);
        let (off, bounds) = error(&joint);
        let at = joint.offset_at(shown(BEGIN + 2 * BETWEEN + BETWEEN / 3));
        let stated = TWO_SIDED_95 * at.variance.sqrt() + at.lasting;
        assert!(off.abs() <= stated, "{delay}: {off} not within {stated}");
        assert!(stated < (bounds.1 - bounds.0) / 4.0, "{delay}: {stated} is hardly narrower than {bounds:?}");
    }
}
