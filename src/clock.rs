//! From ticks to time.
//!
//! Ranks that read the same counter (same running kernel, same kind of counter) form a clock domain and share one rate and
//! one origin. Between domains the time stands as CLOCK_REALTIME tells it, with no statement of its error.

use crate::trace::Trace;
use crate::trace::layout::{Anchor, RankHeader, clock_source};

/// The clock of every rank of a trace.
#[derive(Debug)]
pub struct Clock {
    /// The ranks that read one and the same counter, each domain's in order; domains by their lowest rank.
    pub domains: Vec<Vec<u32>>,
    /// By index of the trace's parts.
    ranks: Vec<RankClock>,
}

/// An affine map from one rank's ticks to global time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankClock {
    /// A tick close to the others that will be asked for: differences to it are exact in 64 bits.
    origin: u64,
    /// Global time at `origin`, ns.
    origin_ns: f64,
    /// ns per tick.
    period_ns: f64,
}

/// Below this distance of the two anchors the stated frequency is better than their line: readings of the two clocks are
/// some 50 ns apart, 1e-6 of 50 ms.
const SHORTEST_LINE_NS: u64 = 50_000_000;

impl Clock {
    /// Fits the clocks. Time 0 is the earliest entry of a call in the domain of the lowest rank.
    pub fn of(trace: &Trace) -> Clock {
        let mut keys: Vec<([u8; 16], u32)> = Vec::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        for (index, part) in trace.parts.iter().enumerate() {
            let key = (part.info().boot_id, part.info().clock_source);
            // A rank that does not know its kernel's identity shares its clock with nobody.
            match keys.iter().position(|&known| known == key && key.0 != [0; 16]) {
                Some(domain) => members[domain].push(index),
                None => {
                    keys.push(key);
                    members.push(vec![index]);
                }
            }
        }

        let mut ranks = vec![RankClock { origin: 0, origin_ns: 0.0, period_ns: 1.0 }; trace.parts.len()];
        let mut reference: Option<(RankClock, Anchor)> = None;
        for domain in &members {
            let longest = domain.iter().map(|&index| trace.parts[index].info()).max_by_key(|info| span_ns(info));
            let Some(info) = longest else { continue };
            let earliest = domain.iter().filter_map(|&index| trace.parts[index].enter().iter().min()).min();
            let origin = earliest.copied().unwrap_or(info.first_anchor.tick);
            let mut clock = RankClock { origin, origin_ns: 0.0, period_ns: period_ns(info) };
            match &reference {
                None => reference = Some((clock, info.first_anchor)),
                Some((first, anchor)) => {
                    // The same instant has the same realtime in both domains, as well as the hosts' clocks are set.
                    let realtime = info.first_anchor.realtime_ns.wrapping_sub(anchor.realtime_ns) as i64;
                    let at_anchor = first.nanoseconds(anchor.tick) + realtime as f64;
                    clock.origin_ns = at_anchor - clock.nanoseconds(info.first_anchor.tick);
                }
            }
            for &index in domain {
                ranks[index] = clock;
            }
        }
        let domains =
            members.iter().map(|domain| domain.iter().map(|&index| trace.parts[index].rank()).collect()).collect();
        Clock { domains, ranks }
    }

    /// The clock of the `index`-th part.
    pub fn of_part(&self, index: usize) -> &RankClock {
        &self.ranks[index]
    }
}

impl RankClock {
    /// How fast the counter ticks, as the two anchors or the machine tell.
    pub fn frequency_hz(&self) -> f64 {
        1e9 / self.period_ns
    }

    /// Global time of a tick of this rank, ns.
    pub fn nanoseconds(&self, tick: u64) -> f64 {
        self.origin_ns + self.duration_ns(self.origin, tick)
    }

    /// So many ticks, ns.
    pub fn ticks_ns(&self, ticks: u64) -> f64 {
        self.duration_ns(0, ticks)
    }

    /// From one tick of this rank to another, ns; negative if `to` lies before `from`.
    pub fn duration_ns(&self, from: u64, to: u64) -> f64 {
        to.wrapping_sub(from) as i64 as f64 * self.period_ns
    }
}

fn span_ns(info: &RankHeader) -> u64 {
    info.last_anchor.raw_ns.saturating_sub(info.first_anchor.raw_ns)
}

/// ns per tick: the line through the two anchors, or where they lie close together what the machine states.
fn period_ns(info: &RankHeader) -> f64 {
    if info.clock_source == clock_source::MONOTONIC_RAW {
        return 1.0;
    }
    let ticks = info.last_anchor.tick.saturating_sub(info.first_anchor.tick);
    let span = span_ns(info);
    if (span < SHORTEST_LINE_NS || ticks == 0) && info.nominal_hz > 0 {
        return 1e9 / info.nominal_hz as f64;
    }
    if ticks == 0 || span == 0 {
        return 1.0;
    }
    span as f64 / ticks as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_large_ticks_are_exact() {
        let clock = RankClock { origin: 1 << 62, origin_ns: 0.0, period_ns: 0.5 };
        assert_eq!(clock.nanoseconds((1 << 62) + 3), 1.5);
        assert_eq!(clock.nanoseconds((1 << 62) - 1), -0.5);
    }
}
