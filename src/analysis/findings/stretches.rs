//! Lateness that moves: the rank for which the others wait changes, and stays the same for a while.

use serde::Serialize;

use super::Known;
use crate::account::walk::Walk;

/// Of more repetitions, as many as fit are looked at together.
const UNITS: usize = 4096;
/// Of more ranks the ones for which others wait longest are looked at.
const RANKS: usize = 256;
/// A change costs the mean waiting of so many repetitions: what stays for less is no stretch.
const CHANGE: f64 = 4.0;
/// A stretch has so many repetitions, in the median, ...
const LONG: usize = 8;
/// ... there are so many of them, ...
const FEWEST: usize = 3;
/// ... and so much of the waiting is for the rank of the stretch that it lies in.
const EXPLAINED: f64 = 2.0 / 3.0;

/// Repetitions in a row in which the others wait mostly for one rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stretch {
    /// The world rank.
    pub rank: u32,
    /// From the start of the trace to the entry of its last call, s.
    pub until_s: f64,
    /// Its repetitions.
    pub repetitions: usize,
}

/// The stretches of an operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stretches {
    /// In the order of time.
    pub stretches: Vec<Stretch>,
    /// The repetitions of a stretch, in the median.
    pub repetitions: usize,
    /// The share of the waiting that is for the rank of the stretch, 0 to 1.
    pub share: f64,
}

/// The stretches of an operation in which the ranks are late in turns; `None`: they are not late for longer at a time.
pub(crate) fn stretches(run: Known, number: usize) -> Option<Stretches> {
    let operation = &run.operations.operations[number];
    let walk = Walk::over(run.trace, run.clock, operation)?;
    let of = &run.account.operations[number];
    let mut ranks: Vec<usize> = (0..of.late.len()).filter(|&at| of.late[at].waiting_ns > 0.0).collect();
    ranks.sort_by(|&one, &other| of.late[other].waiting_ns.total_cmp(&of.late[one].waiting_ns));
    ranks.truncate(RANKS);
    let rows = operation.complete();
    if ranks.len() < 2 || operation.sampled.is_some() {
        return None;
    }
    let apart = rows.len().div_ceil(UNITS).max(1);
    let mut units: Vec<Unit> = Vec::with_capacity(rows.len().div_ceil(apart));
    let mut step = walk.step();
    for place in 0..rows.len() {
        step.look(&walk, rows.get(place));
        if place % apart == 0 {
            units.push(Unit { for_rank: vec![0.0; ranks.len()], all: 0.0, until: 0.0, repetitions: 0 });
        }
        let Some(unit) = units.last_mut() else { continue };
        unit.repetitions += 1;
        unit.until = (0..walk.members.len()).map(|at| step.call(at).enter).fold(unit.until, f64::max);
        for (at, late) in &step.late {
            unit.all += late.waiting_ns;
            if let Some(place) = ranks.iter().position(|rank| rank == at) {
                unit.for_rank[place] += late.waiting_ns;
            }
        }
    }
    let start = (0..run.trace.parts.len())
        .map(|part| run.clock.of_part(part).nanoseconds(run.trace.parts[part].info().first_anchor.tick));
    let start = start.fold(f64::INFINITY, f64::min);
    let rank_of = |at: usize| of.ranks[ranks[at]].0;
    found(&units, apart, start, rank_of)
}

/// Some repetitions: the waiting for each rank and all, ns, and when the last rank came, ns.
#[derive(Clone, Debug)]
struct Unit {
    for_rank: Vec<f64>,
    all: f64,
    until: f64,
    repetitions: usize,
}

fn found(units: &[Unit], apart: usize, start: f64, rank_of: impl Fn(usize) -> u32) -> Option<Stretches> {
    let all: f64 = units.iter().map(|unit| unit.all).sum();
    if units.is_empty() || all <= 0.0 {
        return None;
    }
    let change = (CHANGE / apart as f64).max(1.0) * all / units.len() as f64;
    let mut stretches: Vec<(usize, Stretch)> = Vec::new();
    let mut explained = 0.0;
    for (unit, late) in units.iter().zip(cheapest(units, change)) {
        explained += unit.for_rank[late];
        let until_s = (unit.until - start) / 1e9;
        match stretches.last_mut() {
            Some((known, stretch)) if *known == late => {
                stretch.until_s = until_s;
                stretch.repetitions += unit.repetitions;
            }
            _ => stretches.push((late, Stretch { rank: rank_of(late), until_s, repetitions: unit.repetitions })),
        }
    }
    let mut lengths: Vec<usize> = stretches.iter().map(|(_, stretch)| stretch.repetitions).collect();
    lengths.sort_unstable();
    // Of an even number the larger one: the last stretch may be cut off.
    let repetitions = lengths[lengths.len() / 2];
    let share = explained / all;
    let stretches: Vec<Stretch> = stretches.into_iter().map(|(_, stretch)| stretch).collect();
    (stretches.len() >= FEWEST && repetitions >= LONG && share >= EXPLAINED).then_some(Stretches {
        stretches,
        repetitions,
        share,
    })
}

/// For each unit the rank of its stretch, so that the waiting for other ranks and the changes cost the least together.
fn cheapest(units: &[Unit], change: f64) -> Vec<usize> {
    let ranks = units.first().map_or(0, |unit| unit.for_rank.len());
    let mut costs = vec![0.0; ranks];
    // For each unit and rank the rank of the unit before.
    let mut from: Vec<Vec<u16>> = Vec::with_capacity(units.len());
    for unit in units {
        let (best, least) = lowest(&costs);
        from.push((0..ranks).map(|rank| if costs[rank] <= least + change { rank } else { best } as u16).collect());
        for (rank, cost) in costs.iter_mut().enumerate() {
            *cost = cost.min(least + change) + unit.all - unit.for_rank[rank];
        }
    }
    let mut rank = lowest(&costs).0;
    let mut path: Vec<usize> = from
        .iter()
        .rev()
        .map(|before| {
            let here = rank;
            rank = usize::from(before[rank]);
            here
        })
        .collect();
    path.reverse();
    path
}

fn lowest(costs: &[f64]) -> (usize, f64) {
    let lowest = costs.iter().enumerate().min_by(|one, other| one.1.total_cmp(other.1));
    lowest.map_or((0, 0.0), |(rank, &cost)| (rank, cost))
}
