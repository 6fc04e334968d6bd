//! A clock that steps in a run of few synchronisations: the stated error holds the step, or it is known that a step of
//! that size would not show.

use mpitrace_format::layout::{ProbeEntry, SyncEntry};
use mpitrace_synchronise::{Exchange, probe};

use super::{Curve, Leader, TWO_SIDED_95, joint};

/// Ticks per second: a tick is a ns.
const HZ: f64 = 1e9;
const AHEAD: i64 = 1_500_000_000;
/// The other clock's first synchronisation, and the whole run.
const BEGIN: u64 = 1 << 40;
const RUN: u64 = 2_500_000_000;

/// The second clock: its rate, the size of its step, and when it steps.
#[derive(Clone, Copy, Debug)]
struct Other {
    ppm: f64,
    step: i64,
    at: u64,
}

impl Other {
    /// The tick that it shows when the first one is at `tick`.
    fn shown(&self, tick: u64) -> u64 {
        let drift = ((tick - BEGIN) as f64 * self.ppm * 1e-6).round() as i64;
        tick.wrapping_add_signed(AHEAD + drift + if tick >= self.at { self.step } else { 0 })
    }

    /// One exchange begun at `sent` by the second (`from_second`) or the first clock; `there` and `back` ticks on the
    /// way.
    fn exchange(&self, sent: u64, there: u64, back: u64, from_second: bool) -> Exchange {
        let clock = |second: bool, tick: u64| if second { self.shown(tick) } else { tick };
        let (own, other) = (|tick| clock(from_second, tick), |tick| clock(!from_second, tick));
        Exchange { sent: own(sent), remote: other(sent + there), received: own(sent + there + back) }
    }

    /// Its curve, out of so many synchronisations at equal distances.
    fn curve(&self, count: u32) -> Curve {
        let begin = |sync: u32| BEGIN + u64::from(sync) * (RUN / u64::from(count - 1));
        let probes: Vec<ProbeEntry> = (0..count)
            .map(|sync| {
                let at = |number: u64| begin(sync) + number * 2_000;
                // Ways of 500 and some more, which differ from message to message.
                let way = |number: u64| 500 + number * 7919 % 41;
                let exchange = |n: u64, second| self.exchange(at(n), way(n), way(n + 3), second);
                let forth: Vec<Exchange> = (0..40).map(|n| exchange(n, true)).collect();
                let back: Vec<Exchange> = (50..90).map(|n| exchange(n, false)).collect();
                ProbeEntry { sync, ..probe(0, &forth, &back) }
            })
            .collect();
        let entry = |index: u32, begin: u64| SyncEntry { index, begin, ..SyncEntry::default() };
        let first: Vec<SyncEntry> = (0..count).map(|sync| entry(sync, begin(sync))).collect();
        let second: Vec<SyncEntry> = (0..count).map(|sync| entry(sync, self.shown(begin(sync)))).collect();
        let leaders =
            [Leader { hz: HZ, syncs: &first, probes: &[] }, Leader { hz: HZ, syncs: &second, probes: &probes }];
        joint::curves(&leaders, 500.0, 100.0).swap_remove(1)
    }

    /// True if the stated errors hold at all times.
    fn is_held(&self, curve: &Curve) -> bool {
        (1..200u64).all(|part| {
            let tick = BEGIN + RUN / 200 * part;
            let local = self.shown(tick);
            let at = curve.offset_at(local);
            curve.since(tick, local).abs() <= TWO_SIDED_95 * at.variance.sqrt() + at.lasting
        })
    }
}

fn others(step: i64) -> impl Iterator<Item = Other> {
    let places = [0.1, 0.35, 0.6, 0.9].map(|share| BEGIN + (share * RUN as f64) as u64);
    [-30.0, 0.0, 3.0, 37.0].into_iter().flat_map(move |ppm| places.map(|at| Other { ppm, step, at }))
}

#[test]
fn a_step_is_within_the_stated_error_or_known_to_be_unseen() {
    for step in [-67_000, -8_000, 8_000, 30_000, 67_000] {
        for other in others(step) {
            for count in 2..=5 {
                let curve = other.curve(count);
                let unseen = curve.unseen_step();
                assert!(
                    other.is_held(&curve) || unseen.is_some_and(|unseen| unseen >= step.abs() as f64),
                    "{other:?}, {count} synchronisations: {unseen:?}"
                );
                assert_eq!(unseen.is_some(), count == 2, "three tell that something has stepped: {other:?}");
            }
        }
    }
}

#[test]
fn without_a_step_none_is_found_and_the_stated_error_is_small() {
    for other in others(0) {
        for count in 2..=5 {
            let curve = other.curve(count);
            assert!(other.is_held(&curve), "{other:?}, {count}");
            assert!(curve.knots().iter().all(|knot| knot.step == 0.0), "{other:?}, {count}");
            let middle = curve.offset_at(other.shown(BEGIN + RUN / 2));
            assert!(TWO_SIDED_95 * middle.variance.sqrt() + middle.lasting < 1000.0, "{other:?}, {count}: {middle:?}");
        }
    }
}

/// A rate of 500 ppm for 2.5 s, and what the clocks have drifted apart.
#[test]
fn what_two_synchronisations_do_not_show_is_as_large_as_drift_can_be() {
    let unseen = |ppm: f64| Other { ppm, step: 0, at: BEGIN }.curve(2).unseen_step().unwrap();
    assert!((unseen(0.0) - 1.25e6).abs() < 1e3, "{}", unseen(0.0));
    assert!((unseen(40.0) - 1.35e6).abs() < 1e3, "{}", unseen(40.0));
    // Faster than any clock may run: it has stepped.
    let stepped = Other { ppm: 0.0, step: 2_000_000, at: BEGIN + RUN / 2 }.curve(2);
    assert_eq!(stepped.unseen_step(), None);
    assert!((stepped.knots()[0].step.abs() - 2e6).abs() < 1e3);
}
