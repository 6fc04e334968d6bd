//! One clock of a trace: the ranks that read it, and its curve over the run.

use mpitrace_format::layout::{NO_RANK, RankHeader};
use mpitrace_trace::clock::{Clock, Curve, Knot, RankClock};
use mpitrace_trace::reader::{Part, Trace};
use serde::Serialize;

/// A domain as the rank that synchronised its clock knows it.
pub struct Domain<'a> {
    pub part: &'a Part,
    pub clock: &'a RankClock,
    pub ranks: &'a [u32],
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The lowest rank of the domain.
    pub domain: u32,
    /// Global time of the synchronisation before it, s.
    pub after_s: f64,
    /// Global time of the synchronisation behind it, s.
    pub before_s: f64,
    /// ns; positive: the clock jumped ahead.
    pub size_ns: f64,
}

/// All of them, world rank 0's first.
pub fn all<'a>(trace: &'a Trace, clock: &'a Clock) -> Vec<Domain<'a>> {
    let domain = |ranks: &'a Vec<u32>| {
        let index = leader(trace, ranks);
        Domain { part: &trace.parts[index], clock: clock.of_part(index), ranks }
    };
    clock.domains.iter().map(domain).collect()
}

/// The index of the part whose rank has synchronised the clock of these ranks, the lowest where none has.
fn leader(trace: &Trace, ranks: &[u32]) -> usize {
    let index = |rank: u32| trace.parts.binary_search_by_key(&rank, Part::rank).ok();
    let lowest = index(ranks[0]).unwrap_or_default();
    let leader = trace.parts[lowest].info().leader;
    index(leader).filter(|_| ranks.contains(&leader)).unwrap_or(lowest)
}

impl Domain<'_> {
    /// Against the reference clock.
    pub fn curve(&self) -> &Curve {
        self.clock.curve()
    }

    /// A tick of the reference, ns.
    pub fn period_ns(&self) -> f64 {
        self.clock.ticks_ns(1)
    }

    /// By how much the clock is ahead of the reference at the first synchronisation, ns.
    pub fn offset_ns(&self) -> f64 {
        let (start, _) = self.ends();
        // Reference less local. Plus 0: none is not "-0".
        -self.curve().since(start, start) * self.period_ns() + 0.0
    }

    /// How much faster than the reference the clock runs from the first synchronisation to the last, steps left out,
    /// ppm.
    pub fn drift_ppm(&self, reference: &Domain) -> f64 {
        if std::ptr::eq(self.part, reference.part) {
            return 0.0;
        }
        let (start, end) = self.ends();
        let local = end.wrapping_sub(start) as i64 as f64;
        // Around the reference's own tick, so that a float holds the difference.
        let zero = start.wrapping_add_signed(self.curve().since(start, start) as i64);
        let stepped: f64 = self.curve().knots().iter().map(|knot| knot.step).sum();
        let passed = self.curve().since(zero, end) - self.curve().since(zero, start) - stepped;
        if local <= 0.0 || passed <= 0.0 {
            return 0.0;
        }
        (local / passed / usual_ratio(self.part.info(), reference.part.info(), local / passed) - 1.0) * 1e6
    }

    /// How far the clocks of the ranks can be apart without its having shown, ns; `None`: they were not tested.
    pub fn tested_ns(&self) -> Option<f64> {
        let info = self.part.info();
        // A rank that was found to be alone needs no test.
        let known = info.domain_error > 0 || info.leader != NO_RANK || info.world_size == 1;
        known.then(|| self.clock.ticks_ns(info.domain_error))
    }

    pub fn steps(&self) -> Vec<Step> {
        let seconds = |knot: &Knot| {
            let reference = knot.local.wrapping_add_signed(self.curve().base());
            (self.clock.reference_ns(reference) + knot.offset * self.period_ns()) * 1e-9
        };
        let pairs = self.curve().knots().windows(2).filter(|pair| pair[0].step != 0.0);
        let step = |pair: &[Knot]| Step {
            domain: self.ranks[0],
            after_s: seconds(&pair[0]),
            before_s: seconds(&pair[1]),
            size_ns: -pair[0].step * self.period_ns(),
        };
        pairs.map(step).collect()
    }

    /// The clock's ticks at the first and the last synchronisation; without them at the start and at the end.
    fn ends(&self) -> (u64, u64) {
        let info = self.part.info();
        match self.part.syncs() {
            [first, .., last] => (first.begin, last.begin),
            [only] => (only.begin, info.last_anchor.tick),
            [] => (info.first_anchor.tick, info.last_anchor.tick),
        }
    }
}

/// How many ticks one counter should make while another makes one: as the machines state it, as their systems' clocks
/// tell where they do not.
fn usual_ratio(counter: &RankHeader, reference: &RankHeader, seen: f64) -> f64 {
    if counter.nominal_hz > 0 && reference.nominal_hz > 0 {
        return counter.nominal_hz as f64 / reference.nominal_hz as f64;
    }
    // Counters of the same kind: what is between them is drift, whatever their systems say.
    if (seen - 1.0).abs() < SAME_KIND {
        return 1.0;
    }
    anchored_hz(counter) / anchored_hz(reference)
}

/// Quartzes are within 1e-4 of their frequency; processors' frequencies are further apart than this.
const SAME_KIND: f64 = 1e-3;

fn anchored_hz(info: &RankHeader) -> f64 {
    let ticks = info.last_anchor.tick.saturating_sub(info.first_anchor.tick);
    let span = info.last_anchor.raw_ns.saturating_sub(info.first_anchor.raw_ns);
    if ticks == 0 || span == 0 { 1e9 } else { ticks as f64 * 1e9 / span as f64 }
}
