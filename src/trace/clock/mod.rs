//! From the ticks of each rank to global time, with a statement of how wrong it may be.
//!
//! Ranks that read one and the same counter form a clock domain, and have one clock. Between domains there is what the
//! synchronisations have left in the trace: maps that a method has found while the program ran, or probes out of which
//! it is found here. Global time is that of the first domain, world rank 0's.

mod asymmetry;
mod curve;
mod errors;
#[cfg(test)]
mod few_synchronisations_tests;
mod joint;
mod leaders;
mod linear;
#[cfg(test)]
mod one_way_delay_tests;
mod smoother;
mod solve;
mod steps;
mod truth;

pub use asymmetry::MOST_UNEQUAL;
pub use curve::{Curve, Knot, Limits};
pub use errors::Errors;
pub use smoother::{Measured, State, smooth};
pub use solve::{Edge, least_squares};
pub use truth::Truth;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use mpitrace_format::layout::{NO_RANK, ProbeEntry, RankHeader, SyncEntry, clock_source};
use mpitrace_format::ticks::AffineMap;
use mpitrace_synchronise::Method;

use crate::reader::{Part, Trace};

/// The clock of every rank of a trace.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_synchronise::Method;
/// use mpitrace_trace::{clock::Clock, reader::Trace};
///
/// let trace = Trace::open(&[path])?;
/// let clock = Clock::new(&trace);
/// // Both ranks read one counter, of 1 GHz; time 0 is the first entry.
/// assert_eq!((clock.domains.len(), clock.is_synchronised()), (1, true));
/// let of_rank = clock.of_part(1);
/// assert_eq!((of_rank.nanoseconds(1_000_500), of_rank.reference_ns(1_000_500)), (500.0, 500.0));
/// assert_eq!((of_rank.frequency_hz(), of_rank.ticks_ns(3), of_rank.duration_ns(10, 4)), (1e9, 3.0, -6.0));
/// // No comparison of the clocks of the processors is in this trace: no error is stated.
/// assert_eq!((of_rank.error_ns(1_000_500), of_rank.hard_bounds_ns(1_000_500)), (None, None));
/// assert_eq!(of_rank.curve(), &*clock.curves[0]);
/// assert!(Clock::estimated_by(&trace, Method::Joint).is_err(), "the run has left no probes");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Clock {
    /// How the domains were synchronised; [`Method::None`] where there is one.
    pub method: Method,
    /// The ranks that read one and the same counter, each domain's in order; domains by their lowest rank.
    pub domains: Vec<Vec<u32>>,
    /// Each domain's curve against the first.
    pub curves: Vec<Arc<Curve>>,
    /// How long the leaders were at it, ns, all synchronisations together.
    pub sync_ns: f64,
    /// By index of the trace's parts.
    ranks: Vec<RankClock>,
}

/// From one rank's ticks to global time.
#[derive(Clone, Debug)]
pub struct RankClock {
    curve: Arc<Curve>,
    /// The reference clock's tick at which global time is 0.
    zero: u64,
    /// ns per tick of the reference.
    period_ns: f64,
    /// By how much the clocks of the domain may differ, as they were tested, ns; `None`: they were not.
    domain_error_ns: Option<f64>,
    /// The largest error that it states over the calls of its part, ns: found when it is first asked for.
    largest_error_ns: OnceLock<f64>,
}

/// A method that the trace does not have what it needs for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {method} out of a run that was synchronised by {run}: it can be {possible}")]
pub struct NotInTheTrace {
    method: &'static str,
    run: &'static str,
    possible: String,
}

/// The probes of a domain's leader.
#[derive(Clone, Copy, Debug)]
pub struct Leader<'a> {
    /// Nominal ticks per second.
    pub hz: f64,
    /// Its synchronisations, in order.
    pub syncs: &'a [SyncEntry],
    /// The probes that it keeps.
    pub probes: &'a [ProbeEntry],
}

/// Below this distance of the two anchors the stated frequency is better than their line: readings of the two clocks
/// are some 50 ns apart, 1e-6 of 50 ms.
const SHORTEST_LINE_NS: u64 = 50_000_000;

/// 97.5 % of a normal distribution lie below so many standard deviations.
const TWO_SIDED_95: f64 = 1.959_964;

impl Clock {
    /// Finds the clocks. Time 0 is the earliest entry of a call in the domain of the lowest rank.
    pub fn new(trace: &Trace) -> Clock {
        let method = trace.parts.first().and_then(|part| Method::numbered(part.info().clock_method));
        Clock::solved_by(trace, method.unwrap_or(Method::None))
    }

    /// The clock by another method than the run's, out of the same probes.
    ///
    /// # Errors
    /// The run has not left what the method needs: `joint`, `linear` and `skampi` can be had of the probes of a `joint`
    /// or a `linear` run, `none` of every one; the others follow messages of their own.
    pub fn estimated_by(trace: &Trace, method: Method) -> Result<Clock, NotInTheTrace> {
        let run = trace.parts.first().and_then(|part| Method::numbered(part.info().clock_method));
        let run = run.unwrap_or(Method::None);
        let probed = matches!(run, Method::Joint | Method::Linear);
        if method == run || method == Method::None || probed && method.is_from_probes() {
            return Ok(Clock::solved_by(trace, method));
        }
        let possible = if probed { Method::names_from_probes() } else { format!("{} or none", run.name()) };
        Err(NotInTheTrace { method: method.name(), run: run.name(), possible })
    }

    fn solved_by(trace: &Trace, method: Method) -> Clock {
        let members = domains(trace);
        let parts = |domain: &[usize]| domain.iter().map(|&index| &trace.parts[index]).collect::<Vec<_>>();
        let method = if members.len() > 1 { method } else { Method::None };
        let leaders: Option<Vec<&Part>> = members.iter().map(|domain| leader(&parts(domain))).collect();
        let curves = leaders.filter(|_| method != Method::None).and_then(|leaders| leaders::curves(method, &leaders));
        let (curves, method) = match (curves, members.first()) {
            (Some(curves), _) => (curves, method),
            (None, Some(first)) => (realtime_curves(trace, &members, first), Method::None),
            (None, None) => (Vec::new(), Method::None),
        };
        let curves: Vec<Arc<Curve>> = curves.into_iter().map(Arc::new).collect();

        let reference = members.first().and_then(|domain| longest(trace, domain));
        let earliest = |domain: &Vec<usize>| domain.iter().filter_map(|&index| trace.parts[index].lowest_entry()).min();
        let zero = members.first().and_then(earliest).or(reference.map(|info| info.first_anchor.tick)).unwrap_or(0);
        let period_ns = reference.map_or(1.0, period_ns);
        let mut ranks: Vec<Option<RankClock>> = vec![None; trace.parts.len()];
        for (domain, curve) in members.iter().zip(&curves) {
            for &index in domain {
                let info = trace.parts[index].info();
                // Alone with its clock, as the run has found out, or since there is no other rank.
                let alone = info.leader != NO_RANK || info.world_size == 1;
                let tested = (info.domain_error > 0 || alone).then_some(info.domain_error);
                ranks[index] = Some(RankClock {
                    curve: curve.clone(),
                    zero,
                    period_ns,
                    domain_error_ns: tested.map(|ticks| ticks as f64 * period_ns),
                    largest_error_ns: OnceLock::new(),
                });
            }
        }
        let numbers = |domain: &Vec<usize>| domain.iter().map(|&index| trace.parts[index].rank()).collect();
        let syncs = trace.parts.first().map_or(&[][..], Part::syncs);
        Clock {
            method,
            domains: members.iter().map(numbers).collect(),
            curves,
            sync_ns: syncs.iter().fold(0.0, |sum, sync| sum + sync.end.wrapping_sub(sync.begin) as f64 * period_ns),
            ranks: ranks.into_iter().flatten().collect(),
        }
    }

    /// True if times of different ranks can be compared: there is one clock, or a method has synchronised the clocks.
    pub fn is_synchronised(&self) -> bool {
        self.domains.len() < 2 || self.method != Method::None
    }

    /// The clock of the `index`-th part.
    pub fn of_part(&self, index: usize) -> &RankClock {
        &self.ranks[index]
    }
}

/// Indices of the parts that share a clock, by their lowest rank: as the run has found it out, else by kernel and
/// counter.
fn domains(trace: &Trace) -> Vec<Vec<usize>> {
    let mut keys: HashMap<([u8; 16], u32, u32), usize> = HashMap::new();
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (index, part) in trace.parts.iter().enumerate() {
        let info = part.info();
        let key = match info.leader {
            NO_RANK => (info.boot_id, info.clock_source, NO_RANK),
            leader => ([0; 16], 0, leader),
        };
        // A rank that does not know its kernel's identity shares its clock with no other rank.
        let shared = info.leader != NO_RANK || info.boot_id != [0; 16];
        match keys.get(&key).filter(|_| shared) {
            Some(&domain) => members[domain].push(index),
            None => {
                keys.insert(key, members.len());
                members.push(vec![index]);
            }
        }
    }
    members
}

fn leader<'t>(domain: &[&'t Part]) -> Option<&'t Part> {
    domain.iter().find(|part| part.info().leader == part.rank() && !part.syncs().is_empty()).copied()
}

fn longest<'t>(trace: &'t Trace, domain: &[usize]) -> Option<&'t RankHeader> {
    domain.iter().map(|&index| trace.parts[index].info()).max_by_key(|info| span_ns(info))
}

/// One instant has one CLOCK_REALTIME in all domains, as well as the hosts' clocks are set.
fn realtime_curves(trace: &Trace, members: &[Vec<usize>], first: &[usize]) -> Vec<Curve> {
    let Some(reference) = longest(trace, first) else { return Vec::new() };
    let line = |domain: &Vec<usize>| {
        let info = longest(trace, domain)?;
        let realtime = info.first_anchor.realtime_ns.wrapping_sub(reference.first_anchor.realtime_ns) as i64;
        let ticks = (realtime as f64 / period_ns(reference)).round() as i64;
        Some(Curve::line(AffineMap {
            local0: info.first_anchor.tick,
            reference0: reference.first_anchor.tick.wrapping_add_signed(ticks),
            skew: period_ns(info) / period_ns(reference) - 1.0,
        }))
    };
    let of_domain =
        |(index, domain)| if index == 0 { Curve::identity() } else { line(domain).unwrap_or(Curve::identity()) };
    members.iter().enumerate().map(of_domain).collect()
}

/// A clock of which only durations are asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SteadyClock {
    pace: f64,
    period_ns: f64,
}

impl SteadyClock {
    /// As [`RankClock::duration_ns`].
    #[inline]
    pub(crate) fn duration_ns(self, from: u64, to: u64) -> f64 {
        to.wrapping_sub(from) as i64 as f64 * self.pace * self.period_ns
    }
}

impl RankClock {
    /// How fast the reference counter ticks, as the two anchors or the machine tell.
    pub fn frequency_hz(&self) -> f64 {
        1e9 / self.period_ns
    }

    /// Global time of a tick of this rank, ns.
    #[inline]
    pub fn nanoseconds(&self, tick: u64) -> f64 {
        self.curve.since(self.zero, tick) * self.period_ns
    }

    /// So many ticks, ns.
    #[inline]
    pub fn ticks_ns(&self, ticks: u64) -> f64 {
        ticks as f64 * self.period_ns
    }

    /// The clock with one pace, if that never changes against the reference's.
    pub(crate) fn steady(&self) -> Option<SteadyClock> {
        Some(SteadyClock { pace: self.curve.steady_pace()?, period_ns: self.period_ns })
    }

    /// From one tick of this rank to another, ns; negative if `to` lies before `from`.
    #[inline]
    pub fn duration_ns(&self, from: u64, to: u64) -> f64 {
        // One pace for both: what lies between is short against what a rate needs to change.
        SteadyClock { pace: self.curve.pace(from), period_ns: self.period_ns }.duration_ns(from, to)
    }

    /// The half width of an interval of the global time that covers the true one in at least 95 % of all cases, ns, if
    /// no way between two nodes takes more than [`MOST_UNEQUAL`] times as long as the way back; `None` where the method
    /// states none.
    ///
    /// Within a domain it is what the test of its clocks has left open. What is a bound is added, not averaged.
    pub fn error_ns(&self, tick: u64) -> Option<f64> {
        let domain = self.domain_error_ns.filter(|_| self.curve.states_error)?;
        let at = self.curve.offset_at(tick);
        Some((TWO_SIDED_95 * at.variance.sqrt() + at.lasting) * self.period_ns + domain)
    }

    /// The bounds of the global time if the stated limits of the clocks hold, ns from its estimate.
    pub fn hard_bounds_ns(&self, tick: u64) -> Option<(f64, f64)> {
        let domain = self.domain_error_ns.filter(|_| self.curve.states_error)?;
        let at = self.curve.offset_at(tick);
        Some(((at.hard.0 - at.offset) * self.period_ns - domain, (at.hard.1 - at.offset) * self.period_ns + domain))
    }

    /// Global time of a tick of the reference clock, ns.
    pub fn reference_ns(&self, tick: u64) -> f64 {
        tick.wrapping_sub(self.zero) as i64 as f64 * self.period_ns
    }

    /// The curve of the rank's domain.
    pub fn curve(&self) -> &Curve {
        &self.curve
    }
}

fn span_ns(info: &RankHeader) -> u64 {
    info.last_anchor.raw_ns.saturating_sub(info.first_anchor.raw_ns)
}

/// Ticks per second as the machine states them, else as they were measured at Init: what is left is in the clock's
/// curve. The two anchors tell more exactly, but a step of the clock would spoil that.
fn nominal_hz(info: &RankHeader) -> f64 {
    match (info.nominal_hz, info.measured_hz) {
        (0, hz) if hz > 0.0 => hz,
        (0, _) => 1e9 / period_ns(info),
        (hz, _) => hz as f64,
    }
}

/// ns per tick: the line through the two anchors, or where they lie close together what the machine states.
pub(crate) fn period_ns(info: &RankHeader) -> f64 {
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
    use mpitrace_format::file;
    use mpitrace_format::layout::PartEntry;
    use mpitrace_format::part::Content;
    use mpitrace_testing::synthetic::SyntheticRank;

    use super::*;

    /// A rank whose clock is its domain's leader's within 10 ns, and the leader's the reference's within 2 to 3 ticks.
    #[test]
    fn the_bounds_are_wider_by_what_the_clocks_of_a_domain_may_differ() {
        let knot = Knot { local: 100, offset: 7.0, hard: (5.0, 10.0), lasting: 4.0, ..Knot::default() };
        let curve = Arc::new(Curve::new(AffineMap::IDENTITY, 0, vec![knot], Limits::default(), true));
        let (zero, largest_error_ns) = (0, OnceLock::new());
        let clock = RankClock { curve, zero, period_ns: 0.5, domain_error_ns: Some(10.0), largest_error_ns };
        assert_eq!(clock.hard_bounds_ns(100), Some((-11.0, 11.5)));
        assert_eq!(clock.error_ns(100), Some(12.0));
    }

    /// Of three ranks with one leader, the one that has synchronised is found, whatever the others have.
    #[test]
    fn the_leader_of_a_domain_is_the_rank_that_it_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mpitrace");
        let file = std::fs::File::create(&path).unwrap();
        let mut offset = file::parts_start(3);
        let syncs = SyncEntry::default();
        for number in 0..3u32 {
            let mut rank = SyntheticRank::new(number, 3);
            rank.header.leader = 1;
            let content = Content { syncs: bytemuck::bytes_of(&syncs), ..rank.content(&[]) };
            let entry = PartEntry { offset, length: content.length(), rank: number, padding: 0 };
            content.write_at(&file, offset).unwrap();
            file::write_part_entries(&file, number, &[entry]).unwrap();
            offset += entry.length;
        }
        file::write_header(&file, SyntheticRank::new(0, 3).header.job, 3, 3, offset, true).unwrap();
        let trace = Trace::open(&[&path]).unwrap();
        let parts: Vec<&Part> = trace.parts.iter().collect();
        assert_eq!(leader(&parts).map(Part::rank), Some(1));
    }

    #[test]
    fn differences_of_large_ticks_are_exact() {
        let curve = Arc::new(Curve::identity());
        let clock = RankClock {
            curve,
            zero: 1 << 62,
            period_ns: 0.5,
            domain_error_ns: None,
            largest_error_ns: OnceLock::new(),
        };
        assert_eq!(clock.nanoseconds((1 << 62) + 3), 1.5);
        assert_eq!(clock.nanoseconds((1 << 62) - 1), -0.5);
    }
}
