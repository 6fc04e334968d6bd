//! The difference of two sets of runs in parts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mpitrace_analysis::account::{Because, RankPart, alone};
use mpitrace_statistics::comparison::{Alternative, welch};
use mpitrace_statistics::{CONFIDENCE, moments};

use super::breakdown::Breakdown;
use super::code::InFunction;
use super::identity::Identity;

/// The runs without the slowest quarter stand for a side: one that was disturbed says little of what changed.
const SLOWEST: usize = 4;
/// A function is named if its computing differs by so many standard errors of counted samples.
const BEYOND_CHANCE: f64 = 3.0;

const NS: f64 = 1e9;

/// A part of the time that may have changed.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// An operation without the waiting in its calls: its identities in A and B; `None`: it is new, or gone.
    Operation(Box<[Option<Identity>; 2]>),
    /// Waiting for a rank that is late for this reason; without a rank: for the other ones, or for ranks in turns.
    Waiting(Option<u32>, Option<Because>),
    /// Computing in a function of the program.
    Function(String),
    /// The rest of a part of the ranks' time.
    Part(RankPart),
}

/// The change of a part.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The part.
    pub what: What,
    /// The time of a rank in it, in the mean of all ranks and of the runs that stand for A and B, s.
    pub seconds: [f64; 2],
    /// Calls of a rank, likewise; `None`: they are not counted.
    pub calls: Option<[f64; 2]>,
    /// How much longer it takes in B, s.
    pub change_s: f64,
    /// The interval of that, of 95 % by Welch's test over the runs; `None`: a side has one run, or no run differs from
    /// another.
    pub interval_s: Option<[f64; 2]>,
    /// The world rank that has most of the change; `None`: no single one has, or not known.
    pub rank: Option<u32>,
    /// The host of B on whose ranks most of the change is; `None`: no single one, or all ranks are on one.
    pub node: Option<String>,
    /// The change of the time off the processor in an operation, s.
    pub off_change_s: f64,
}

/// The change of the time of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobChange {
    /// The typical time of the runs of A and of B, s.
    pub seconds: [f64; 2],
    /// How much longer B takes, s.
    pub change_s: f64,
}

/// The difference of two sets of runs: the changes of all parts and the remainder add up to that of the job.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    /// The job.
    pub job: JobChange,
    /// The parts, the largest change first.
    pub parts: Vec<Change>,
    /// The rest, s: ranks that end before the last one, and runs that are not like those of their side.
    pub remainder_s: f64,
    /// Ranks in A and in B.
    pub ranks: [usize; 2],
    /// The runs of A and B, and those that stand for them.
    pub runs: [usize; 2],
    /// See `runs`.
    pub kept: [usize; 2],
}

/// The values of a part in the runs of both sides: the time of a rank, ns.
struct Row {
    what: What,
    values: [Vec<f64>; 2],
    calls: Option<[Vec<f64>; 2]>,
    /// Off the processor in an operation, the mean over the runs.
    off: [f64; 2],
    /// By world rank, the mean over the runs.
    by_rank: [BTreeMap<u32, f64>; 2],
}

impl Row {
    fn new(what: What, runs: [usize; 2]) -> Row {
        Row { what, values: runs.map(|runs| vec![0.0; runs]), calls: None, off: [0.0; 2], by_rank: Default::default() }
    }

    fn mean(&self, side: usize) -> f64 {
        mean(&self.values[side])
    }

    fn change(&self) -> f64 {
        self.mean(1) - self.mean(0)
    }

    fn add(&mut self, other: &Row) {
        for side in [0, 1] {
            self.values[side].iter_mut().zip(&other.values[side]).for_each(|(own, other)| *own += other);
            other.by_rank[side].iter().for_each(|(rank, ns)| *self.by_rank[side].entry(*rank).or_default() += ns);
        }
    }

    fn add_calls(&mut self, side: usize, run: usize, calls: f64) {
        let of_runs = [0, 1].map(|side| vec![0.0; self.values[side].len()]);
        self.calls.get_or_insert(of_runs)[side][run] += calls;
    }

    fn done(self, hosts: &BTreeMap<u32, String>) -> Change {
        let [a, b] = &self.values;
        let interval = welch(a, b, Alternative::TwoSided, CONFIDENCE).map(|found| found.interval.map(|ns| ns / NS));
        Change {
            seconds: [self.mean(0) / NS, self.mean(1) / NS],
            calls: self.calls.as_ref().map(|[a, b]| [mean(a), mean(b)]),
            change_s: self.change() / NS,
            interval_s: interval,
            rank: self.rank_of_change(),
            node: self.node_of_change(hosts),
            off_change_s: (self.off[1] - self.off[0]) / NS,
            what: self.what,
        }
    }

    /// The rank that has most of the change, if the sides have the same ones.
    fn rank_of_change(&self) -> Option<u32> {
        let [a, b] = &self.by_rank;
        if a.len() < 2 || !a.keys().eq(b.keys()) {
            return None;
        }
        let sign = self.change().signum();
        let in_direction: Vec<f64> = a.iter().zip(b).map(|((_, a), (_, b))| (sign * (b - a)).max(0.0)).collect();
        alone(&in_direction).and_then(|at| a.keys().nth(at).copied())
    }

    /// The host that has most of the change.
    fn node_of_change(&self, hosts: &BTreeMap<u32, String>) -> Option<String> {
        if let What::Waiting(Some(rank), _) = self.what {
            return hosts.get(&rank).cloned();
        }
        let sign = self.change().signum();
        let mut by_host: BTreeMap<&String, f64> = hosts.values().map(|host| (host, 0.0)).collect();
        for (rank, b) in &self.by_rank[1] {
            let a = self.by_rank[0].get(rank).copied().unwrap_or(0.0);
            *by_host.get_mut(hosts.get(rank)?)? += (sign * (b - a)).max(0.0);
        }
        let of_hosts: Vec<f64> = by_host.values().copied().collect();
        alone(&of_hosts).and_then(|at| by_host.keys().nth(at).map(|host| (*host).clone()))
    }
}

fn mean(values: &[f64]) -> f64 {
    moments(values).map_or(0.0, |moments| moments.mean)
}

impl Changes {
    /// The changes between the runs of A and of B. `pairs`: the operations of both that are the same. `job`: its times.
    /// `None`: a side has no run.
    pub fn between(
        a: &[Breakdown],
        b: &[Breakdown],
        pairs: &[(&Identity, &Identity)],
        job: JobChange,
    ) -> Option<Changes> {
        let runs = [a.len(), b.len()];
        let sides = [typical(a), typical(b)];
        let kept = sides.each_ref().map(Vec::len);
        let ranks = [a.first()?.ranks, b.first()?.ranks];
        let mut rows = operations(&sides, pairs);
        rows.extend(waiting(&sides));
        let functions = computing(&sides);
        let parts = RankPart::ALL.iter().map(|&part| of_part(&sides, part, &functions));
        rows.extend(parts.collect::<Vec<Row>>());
        rows.extend(functions);
        rows.retain(|row| row.values.iter().flatten().any(|ns| *ns != 0.0));
        // A rank that is on another host in each run says nothing of a host.
        let hosts = &b.first()?.hosts;
        let same = b.iter().all(|run| run.hosts == *hosts);
        let hosts = if same { hosts.clone() } else { BTreeMap::new() };
        let mut parts: Vec<Change> = rows.into_iter().map(|row| row.done(&hosts)).collect();
        parts.sort_by(|one, other| other.change_s.abs().total_cmp(&one.change_s.abs()));
        let remainder_s = job.change_s - parts.iter().map(|part| part.change_s).sum::<f64>();
        Some(Changes { job, parts, remainder_s, ranks, runs, kept })
    }
}

/// The runs that stand for a side.
fn typical(runs: &[Breakdown]) -> Vec<&Breakdown> {
    let mut order: Vec<&Breakdown> = runs.iter().collect();
    order.sort_by(|one, other| one.job_ns.total_cmp(&other.job_ns));
    order.truncate(runs.len() - runs.len() / SLOWEST);
    order
}

type Sides<'r> = [Vec<&'r Breakdown>; 2];

fn counts(sides: &Sides) -> [usize; 2] {
    sides.each_ref().map(Vec::len)
}

fn operations(sides: &Sides, pairs: &[(&Identity, &Identity)]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    // By side: the row of each operation.
    let mut places: [HashMap<Identity, usize>; 2] = Default::default();
    for &(of_a, of_b) in pairs {
        for (one, places) in [of_a, of_b].into_iter().zip(&mut places) {
            places.insert(one.clone(), rows.len());
        }
        let what = What::Operation(Box::new([Some(of_a.clone()), Some(of_b.clone())]));
        rows.push(Row::new(what, counts(sides)));
    }
    for (side, runs) in sides.iter().enumerate() {
        for (number, run) in runs.iter().enumerate() {
            for (identity, spent) in &run.operations {
                let place = *places[side].entry(identity.clone()).or_insert_with(|| {
                    let mut both = [None, None];
                    both[side] = Some(identity.clone());
                    rows.push(Row::new(What::Operation(Box::new(both)), counts(sides)));
                    rows.len() - 1
                });
                // Collective calls on files are one by function.
                if identity.is_whole {
                    places[1 - side].entry(identity.clone()).or_insert(place);
                    if let What::Operation(both) = &mut rows[place].what {
                        both[side] = Some(identity.clone());
                    }
                }
                let ranks = run.ranks.max(1) as f64;
                rows[place].values[side][number] += spent.ns / ranks;
                rows[place].off[side] += spent.off_ns / ranks / runs.len() as f64;
                rows[place].add_calls(side, number, spent.calls / ranks);
            }
        }
    }
    rows
}

/// For each reason the waiting for the rank that has most of the change, and that for the others.
fn waiting(sides: &Sides) -> Vec<Row> {
    let mut by_reason: BTreeMap<Option<Because>, BTreeMap<u32, Row>> = BTreeMap::new();
    for (side, runs) in sides.iter().enumerate() {
        for (number, run) in runs.iter().enumerate() {
            for waited in &run.waiting {
                let what = What::Waiting(Some(waited.rank), waited.because);
                let of_reason = by_reason.entry(waited.because).or_default();
                let row = of_reason.entry(waited.rank).or_insert_with(|| Row::new(what, counts(sides)));
                row.values[side][number] += waited.ns / run.ranks.max(1) as f64;
                *row.by_rank[side].entry(waited.rank).or_default() += waited.ns / runs.len() as f64;
            }
        }
    }
    let mut rows = Vec::new();
    for (because, mut of_ranks) in by_reason {
        let all: f64 = of_ranks.values().map(Row::change).sum();
        let in_direction: Vec<f64> = of_ranks.values().map(|row| (all.signum() * row.change()).max(0.0)).collect();
        let named = alone(&in_direction).and_then(|at| of_ranks.keys().nth(at).copied());
        rows.extend(named.and_then(|rank| of_ranks.remove(&rank)));
        let mut others = Row::new(What::Waiting(None, because), counts(sides));
        of_ranks.values().for_each(|row| others.add(row));
        rows.push(others);
    }
    rows
}

/// The functions whose computing has changed; the others are what is left of computing.
fn computing(sides: &Sides) -> Vec<Row> {
    if sides.iter().flatten().any(|run| run.computing.is_empty()) {
        return Vec::new();
    }
    let functions: BTreeSet<&str> =
        sides.iter().flatten().flat_map(|run| run.computing.iter().map(|one| one.function.as_str())).collect();
    let functions = functions.into_iter().filter_map(|function| {
        let mut row = Row::new(What::Function(function.to_owned()), counts(sides));
        let mut variance = 0.0;
        for (side, runs) in sides.iter().enumerate() {
            for (number, run) in runs.iter().enumerate() {
                let Some(found) = run.computing.iter().find(|one| one.function == function) else { continue };
                let ranks = run.ranks.max(1) as f64;
                row.values[side][number] = found.ns() / ranks;
                variance += found.variance / (ranks * runs.len() as f64).powi(2);
                add_by_rank(&mut row, side, runs.len(), run, found);
            }
        }
        (row.change().abs() > BEYOND_CHANCE * variance.sqrt()).then_some(row)
    });
    functions.collect()
}

fn add_by_rank(row: &mut Row, side: usize, runs: usize, run: &Breakdown, found: &InFunction) {
    for ((rank, _), ns) in run.rest.iter().zip(&found.by_part) {
        *row.by_rank[side].entry(*rank).or_default() += ns / runs as f64;
    }
}

/// The rest of a part, by rank; `named`: the functions that are apart from the rest of computing.
fn of_part(sides: &Sides, part: RankPart, named: &[Row]) -> Row {
    let mut row = Row::new(What::Part(part), counts(sides));
    for (side, runs) in sides.iter().enumerate() {
        for (number, run) in runs.iter().enumerate() {
            let ranks = run.ranks.max(1) as f64;
            row.values[side][number] = run.rest.iter().map(|(_, parts)| parts[part]).sum::<f64>() / ranks;
            for (rank, parts) in &run.rest {
                *row.by_rank[side].entry(*rank).or_default() += parts[part] / runs.len() as f64;
            }
            if part == RankPart::PointToPoint {
                row.add_calls(side, number, run.point_to_point_calls as f64 / ranks);
            }
            if part == RankPart::Computing {
                let is_named = |one: &&InFunction| {
                    named.iter().any(|row| matches!(&row.what, What::Function(name) if *name == one.function))
                };
                for found in run.computing.iter().filter(|one| !is_named(one)) {
                    row.values[side][number] += found.ns() / ranks;
                    add_by_rank(&mut row, side, runs.len(), run, found);
                }
            }
        }
    }
    row
}
