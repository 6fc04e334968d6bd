//! The joint method: all probes of all synchronisations together, after the run.
//!
//! The offsets of one synchronisation are the weighted least-squares solution over its edges; the offsets of one clock
//! are then smoothed over time. What the probes prove under the stated limits of the clocks is carried along as hard
//! bounds.

use std::collections::HashMap;

use mpitrace_format::layout::ProbeEntry;
use mpitrace_format::ticks::AffineMap;

use super::Leader;
use super::asymmetry;
use super::curve::{Curve, Knot, Limits};
use super::smoother::{self, Measured};
use super::solve::{self, Edge};
use super::steps;

/// A tick counter read twice in a row, out of order as it may be, differs by some ns.
const READING_NS: f64 = 1.0;
/// Two nominal frequencies measured to some 100 ppm are the same if they differ by less.
const SAME_FREQUENCY: f64 = 3e-4;
/// Rates that differ by less are those of one steady clock.
const ALIKE: f64 = 2e-6;

/// The curve of each leader's clock against the first one's. `max_ppm` and `wander_ppb` (per second) limit the clocks.
pub(super) fn curves(leaders: &[Leader<'_>], max_ppm: f64, wander_ppb: f64) -> Vec<Curve> {
    let Some(reference) = leaders.first() else { return Vec::new() };
    let syncs = leaders.iter().map(|leader| leader.syncs.len()).min().unwrap_or(0);
    let problem = Problem {
        leaders,
        scales: leaders.iter().map(|leader| scale(leader, reference)).collect(),
        bases: bases(leaders, reference),
        hz: reference.hz,
        epochs: Vec::new(),
        narrowest: HashMap::new(),
        syncs,
    };
    let problem = Problem { epochs: problem.epochs(), narrowest: problem.narrowest(), ..problem };
    // The first pass knows no rates; what it finds is good enough to move the bounds of one synchronisation, which lie
    // a few milliseconds apart, to one moment.
    let flat = vec![vec![0.0; leaders.len()]; syncs];
    let rough = problem.solve(&flat, &vec![0.0; syncs]);
    let rates = problem.rates(&rough);
    let limits = Limits {
        walk: 0.0,
        // Per tick and per second: the rate is without a unit, its change is not.
        wander: wander_ppb * 1e-9 / reference.hz,
        max_rate: max_ppm * 1e-6,
    };
    let doubts: Vec<f64> = (0..syncs).map(|sync| problem.doubt_of_rates(sync, &rates, &limits)).collect();
    let solved = problem.solve(&rates, &doubts);
    let hard: Vec<_> = (0..syncs).map(|sync| problem.constraints(sync, &rates[sync], doubts[sync])).collect();
    (0..leaders.len())
        .map(|node| match node {
            0 => Curve::identity(),
            _ => problem.curve(node, &solved, &rates, &doubts, &hard, limits),
        })
        .collect()
}

/// From a leader's ticks to the reference's nominal frequency, around its first synchronisation.
fn scale(leader: &Leader<'_>, reference: &Leader<'_>) -> AffineMap {
    let ratio = reference.hz / leader.hz;
    let around = leader.syncs.first().map_or(0, |sync| sync.begin);
    // The same nominal frequency, as exactly as it is known: then ticks are left as they are.
    let skew = if (ratio - 1.0).abs() < SAME_FREQUENCY { 0.0 } else { ratio - 1.0 };
    AffineMap { local0: around, reference0: around, skew }
}

/// reference - local of each leader at the first synchronisation, roughly: all else is measured from there.
fn bases(leaders: &[Leader<'_>], reference: &Leader<'_>) -> Vec<i64> {
    let scales: Vec<AffineMap> = leaders.iter().map(|leader| scale(leader, reference)).collect();
    let mut bases: Vec<Option<i64>> = vec![None; leaders.len()];
    bases[0] = Some(0);
    // A hypercube is as deep as it has dimensions.
    for _ in 0..=leaders.len().ilog2() + 1 {
        for (node, leader) in leaders.iter().enumerate() {
            for probe in leader.probes.iter().filter(|probe| probe.sync == 0) {
                let peer = probe.peer as usize;
                let Some(peer_scale) = scales.get(peer) else { continue };
                let ahead = peer_scale.apply(probe.lower_at.wrapping_add_signed(probe.lower));
                let ahead = ahead.wrapping_sub(scales[node].apply(probe.lower_at)) as i64;
                match (bases[node], bases[peer]) {
                    (None, Some(base)) => bases[node] = Some(base.wrapping_add(ahead)),
                    (Some(base), None) => bases[peer] = Some(base.wrapping_sub(ahead)),
                    _ => {}
                }
            }
        }
    }
    bases.into_iter().map(Option::unwrap_or_default).collect()
}

struct Problem<'a> {
    leaders: &'a [Leader<'a>],
    scales: Vec<AffineMap>,
    bases: Vec<i64>,
    /// Nominal ticks per second of the reference.
    hz: f64,
    /// For each synchronisation and leader the moment that its offset is told for: the middle of its probes.
    epochs: Vec<Vec<u64>>,
    /// For each edge the shortest round trip at any synchronisation, ticks.
    narrowest: HashMap<(usize, usize), f64>,
    syncs: usize,
}

/// The offsets of all leaders at one synchronisation.
struct Solved {
    offsets: Vec<f64>,
    variances: Vec<f64>,
    /// The share of the variances that is the same at all synchronisations.
    lasting: f64,
    /// For each node how far the middle of the bounds of one of its edges may be off at all of them, at most, ticks.
    widest: Vec<f64>,
    /// The sum of squares by which edges contradict each other, in standard deviations, and how many could.
    contradiction: (f64, f64),
}

/// The bounds by an edge of `x[from] - x[to]` at the epochs of both sides, ticks.
struct Bounds {
    from: usize,
    to: usize,
    lower: f64,
    upper: f64,
    /// How far from there the bounds were taken, ticks.
    reach: f64,
    /// By how much the least lay above the most, ticks.
    contradiction: f64,
    /// The variance of its middle at this synchronisation alone, ticks^2, beside what the bounds have room for.
    passing: f64,
    /// How far its middle may be off at all of them, ticks.
    lasting: f64,
}

impl Problem<'_> {
    fn epoch(&self, node: usize, sync: usize) -> u64 {
        self.epochs[sync][node]
    }

    fn epochs(&self) -> Vec<Vec<u64>> {
        let mut sums = vec![vec![(0i128, 0i128); self.leaders.len()]; self.syncs];
        for (from, leader) in self.leaders.iter().enumerate() {
            for probe in leader.probes.iter().filter(|probe| (probe.sync as usize) < self.syncs) {
                let to = probe.peer as usize;
                let sums = &mut sums[probe.sync as usize];
                for (at, ahead) in [(probe.lower_at, probe.lower), (probe.upper_at, probe.upper)] {
                    sums[from] = (sums[from].0 + i128::from(at), sums[from].1 + 1);
                    if let Some(sum) = sums.get_mut(to) {
                        *sum = (sum.0 + i128::from(at.wrapping_add_signed(ahead)), sum.1 + 1);
                    }
                }
            }
        }
        let epoch = |sync: usize, node: usize| match sums[sync][node] {
            (_, 0) => self.leaders[node].syncs[sync].begin,
            (sum, count) => (sum / count) as u64,
        };
        (0..self.syncs)
            .map(|sync| (0..self.leaders.len()).map(|node| self.scales[node].apply(epoch(sync, node))).collect())
            .collect()
    }

    fn narrowest(&self) -> HashMap<(usize, usize), f64> {
        let mut narrowest = HashMap::new();
        for (from, leader) in self.leaders.iter().enumerate() {
            for probe in leader.probes {
                // Both ends of one exchange. The tightest bounds may have held at moments far apart, between which the
                // clocks drift.
                let trip = f64::from(probe.least_round_trip);
                if trip > 0.0 {
                    let known = narrowest.entry((from, probe.peer as usize)).or_insert(trip);
                    *known = trip.min(*known);
                }
            }
        }
        narrowest
    }

    fn bounds<'s>(&'s self, sync: usize, rates: &'s [f64]) -> impl Iterator<Item = Bounds> + 's {
        self.leaders.iter().enumerate().flat_map(move |(from, leader)| {
            let probes = leader.probes.iter().filter(move |probe| probe.sync as usize == sync);
            probes.filter_map(move |probe| self.bounds_of(from, probe, sync, rates))
        })
    }

    fn bounds_of(&self, from: usize, probe: &ProbeEntry, sync: usize, rates: &[f64]) -> Option<Bounds> {
        let to = probe.peer as usize;
        let to_scale = self.scales.get(to)?;
        let base = self.bases[from].wrapping_sub(self.bases[to]);
        let (epoch_from, epoch_to) = (self.epoch(from, sync), self.epoch(to, sync));
        let moved = |at: u64, ahead: i64| {
            let other = to_scale.apply(at.wrapping_add_signed(ahead));
            let here = self.scales[from].apply(at);
            let since = here.wrapping_sub(epoch_from) as i64 as f64;
            let other_since = other.wrapping_sub(epoch_to) as i64 as f64;
            let difference = (other.wrapping_sub(here) as i64).wrapping_sub(base) as f64;
            (difference - rates[from] * since + rates[to] * other_since, since.abs().max(other_since.abs()))
        };
        let (lower, lower_reach) = moved(probe.lower_at, probe.lower);
        let (upper, upper_reach) = moved(probe.upper_at, probe.upper);
        let reading = READING_NS * 1e-9 * self.hz;
        // The tightest of n bounds whose excess is exponential with mean `spread` is off by spread / n.
        let excess = f64::from(probe.spread) / f64::from(probe.exchanges.max(1));
        let narrowest = self.narrowest.get(&(from, to)).copied().unwrap_or(0.0);
        // Only a clock that stepped between the two can put the least above the most.
        let reach = lower_reach.max(upper_reach);
        let contradiction = lower - upper - 2.0 * ALIKE * reach - 4.0 * reading;
        let (lower, upper) = (lower.min(upper), lower.max(upper));
        Some(Bounds {
            from,
            to,
            lower,
            upper,
            reach,
            contradiction: contradiction.max(0.0),
            passing: reading * reading + excess * excess,
            lasting: asymmetry::bound_of_middle(narrowest),
        })
    }

    /// `doubts`: by how much the rates may be wrong, at each synchronisation.
    fn solve(&self, rates: &[Vec<f64>], doubts: &[f64]) -> Vec<Solved> {
        let distance = |sync: usize, bounds: &Bounds| bounds.upper - bounds.lower + doubts[sync] * bounds.reach;
        // Of each edge how close the bounds could be. Those of both directions together are closer than the ends of any
        // one exchange.
        let mut closest = self.narrowest.clone();
        for (sync, rates) in rates.iter().enumerate() {
            for bounds in self.bounds(sync, rates) {
                let closest = closest.entry((bounds.from, bounds.to)).or_insert(f64::INFINITY);
                *closest = distance(sync, &bounds).min(*closest);
            }
        }
        (0..self.syncs)
            .map(|sync| {
                let (mut passing, mut lasting) = (0.0, 0.0);
                let mut widest = vec![0.0f64; self.leaders.len()];
                let edges: Vec<Edge> = self
                    .bounds(sync, &rates[sync])
                    .map(|bounds| {
                        // Bounds that are wider than they could be have room for the truth to lie anywhere.
                        let closest = closest.get(&(bounds.from, bounds.to)).copied().unwrap_or(0.0);
                        let room = (distance(sync, &bounds) - closest).max(bounds.contradiction);
                        let variance = bounds.passing + room * room / 12.0;
                        passing += variance;
                        let unequal = asymmetry::variance(bounds.lasting);
                        lasting += unequal;
                        for node in [bounds.from, bounds.to] {
                            widest[node] = widest[node].max(bounds.lasting);
                        }
                        Edge {
                            from: bounds.from,
                            to: bounds.to,
                            difference: (bounds.lower + bounds.upper) / 2.0,
                            weight: 1.0 / (variance + unequal),
                        }
                    })
                    .collect();
                let (offsets, variances) = solve::least_squares(self.leaders.len(), &edges);
                let residual = |edge: &Edge| {
                    let left = edge.difference - (offsets[edge.from] - offsets[edge.to]);
                    edge.weight * left * left
                };
                let contradiction =
                    (edges.iter().map(residual).sum(), (edges.len() as f64 - self.leaders.len() as f64 + 1.0).max(0.0));
                Solved { offsets, variances, lasting: lasting / (passing + lasting), widest, contradiction }
            })
            .collect()
    }

    /// The rate of each clock's offset at each synchronisation, from those around it.
    fn rates(&self, solved: &[Solved]) -> Vec<Vec<f64>> {
        let slopes = |node: usize| -> Vec<f64> {
            let slope = |sync: usize| {
                let length = self.epoch(node, sync + 1).wrapping_sub(self.epoch(node, sync)) as i64 as f64;
                (solved[sync + 1].offsets[node] - solved[sync].offsets[node]) / length.max(1.0)
            };
            (0..self.syncs.saturating_sub(1)).map(slope).collect()
        };
        let mut rates = vec![vec![0.0; self.leaders.len()]; self.syncs];
        for node in 0..self.leaders.len() {
            let slopes = slopes(node);
            let usual = mpitrace_statistics::median(&mut slopes.clone()).unwrap_or(0.0);
            for (sync, rates) in rates.iter_mut().enumerate() {
                let around = &slopes[sync.saturating_sub(1)..(sync + 1).min(slopes.len())];
                // Beside a step the slope of the other side counts.
                let nearest = around.iter().copied().min_by(|a, b| (a - usual).abs().total_cmp(&(b - usual).abs()));
                let alike = around.iter().all(|slope| (slope - usual).abs() < ALIKE);
                rates[node] = match nearest {
                    Some(_) if alike => around.iter().sum::<f64>() / around.len() as f64,
                    Some(nearest) => nearest,
                    None => 0.0,
                };
            }
        }
        rates
    }

    /// By how much the rates at a synchronisation may be wrong: they are those between synchronisations, true but for
    /// what they change there.
    fn doubt_of_rates(&self, sync: usize, rates: &[Vec<f64>], limits: &Limits) -> f64 {
        if self.syncs < 2 {
            return 2.0 * limits.max_rate;
        }
        let (before, after) = (sync.saturating_sub(1), (sync + 1).min(self.syncs - 1));
        let length = self.epoch(0, after).wrapping_sub(self.epoch(0, before)) as i64 as f64;
        let widths = self.widest(before, &rates[before]) + self.widest(after, &rates[after]);
        2.0 * limits.wander * length + widths / length.max(1.0)
    }

    fn widest(&self, sync: usize, rates: &[f64]) -> f64 {
        self.bounds(sync, rates).map(|bounds| bounds.upper - bounds.lower).fold(0.0, f64::max)
    }

    /// The bounds of each clock's offset: bounds on all offsets out of bounds on differences, by relaxation
    /// (Bellman-Ford).
    fn constraints(&self, sync: usize, rates: &[f64], slack: f64) -> Vec<(f64, f64)> {
        let mut hard = vec![(f64::NEG_INFINITY, f64::INFINITY); self.leaders.len()];
        hard[0] = (0.0, 0.0);
        let edges: Vec<Bounds> = self.bounds(sync, rates).collect();
        for _ in 0..self.leaders.len().min(64) {
            let mut changed = false;
            for edge in &edges {
                let (lower, upper) = (edge.lower - slack * edge.reach, edge.upper + slack * edge.reach);
                let tighten = |bound: &mut (f64, f64), lower: f64, upper: f64| {
                    let tighter = (bound.0.max(lower), bound.1.min(upper));
                    let any = tighter != *bound;
                    *bound = tighter;
                    any
                };
                let (from, to) = (hard[edge.from], hard[edge.to]);
                changed |= edge.from != 0 && tighten(&mut hard[edge.from], to.0 + lower, to.1 + upper);
                changed |= edge.to != 0 && tighten(&mut hard[edge.to], from.0 - upper, from.1 - lower);
            }
            if !changed {
                break;
            }
        }
        hard
    }

    fn curve(
        &self,
        node: usize,
        solved: &[Solved],
        rates: &[Vec<f64>],
        doubts: &[f64],
        hard: &[Vec<(f64, f64)>],
        limits: Limits,
    ) -> Curve {
        let ns = 1e9 / self.hz;
        let zero = if self.syncs > 0 { self.epoch(node, 0) } else { 0 };
        let kept: Vec<usize> = (0..self.syncs).filter(|&sync| solved[sync].variances[node].is_finite()).collect();
        // Where the edges contradict each other by more than their errors, these are larger than they seemed.
        let (squares, count) = solved
            .iter()
            .fold((0.0, 0.0), |sum, solved| (sum.0 + solved.contradiction.0, sum.1 + solved.contradiction.1));
        let scale = if count > 0.0 { (squares / count).max(1.0) } else { 1.0 };
        let variance = |sync: usize| solved[sync].variances[node] * scale;
        let lasting_at = |sync: usize| {
            let Solved { widest, lasting, .. } = &solved[sync];
            asymmetry::bound_of_node(widest[node], widest[0], variance(sync) * lasting)
        };
        let lasting = kept.iter().map(|&sync| lasting_at(sync)).fold(0.0, f64::max);
        let mut measured: Vec<Measured> = kept
            .iter()
            .map(|&sync| Measured {
                at: self.epoch(node, sync).wrapping_sub(zero) as i64 as f64 / self.hz,
                offset: solved[sync].offsets[node] * ns,
                variance: variance(sync) * (1.0 - solved[sync].lasting) * ns * ns,
                step: 0.0,
            })
            .collect();
        let bounds: Vec<(f64, f64)> =
            kept.iter().map(|&sync| (hard[sync][node].0 * ns, hard[sync][node].1 * ns)).collect();
        steps::mark(&mut measured, &bounds, &limits, self.hz);
        for (&sync, measured) in kept.iter().zip(&mut measured) {
            let edges = self.bounds(sync, &rates[sync]).filter(|edge| edge.from == node || edge.to == node);
            let within = edges.map(|edge| edge.contradiction - 2.0 * doubts[sync] * edge.reach);
            let within = within.fold(0.0, f64::max) * ns;
            if measured.step == 0.0 && within > 0.0 {
                measured.step = within;
            }
        }
        let (states, walk) = smoother::smooth(&measured);
        let knots = kept
            .iter()
            .zip(&states)
            .zip(&measured)
            .map(|((&sync, state), measured)| Knot {
                local: self.epoch(node, sync),
                offset: state.mean[0] / ns,
                rate: state.mean[1] * 1e-9,
                variance: [state.variance[0] / ns / ns, state.variance[1] / ns * 1e-9, state.variance[2] * 1e-18],
                with_next: [
                    state.with_next[0] / ns / ns,
                    state.with_next[1] / ns * 1e-9,
                    state.with_next[2] / ns * 1e-9,
                    state.with_next[3] * 1e-18,
                ],
                lasting,
                hard: hard[sync][node],
                step: measured.step / ns,
            })
            .collect();
        // (ns/s)^2 per s, to a variance of the rate per tick.
        let limits = Limits { walk: walk * 1e-18 / self.hz, ..limits };
        Curve::new(self.scales[node], self.bases[node], knots, limits, true)
    }
}
