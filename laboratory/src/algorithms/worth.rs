//! The operations of a trace in which an algorithm can save time, and how their ranks arrive.

use std::fmt::Write;

use mpitrace_source::{Source, Traced};
use mpitrace_statistics::categories::Rule;
use mpitrace_statistics::median;

use super::{Collective, rules};

/// Repetitions of which the arrival of the ranks is replayed, in each launch: as many as there are, and so often.
const REPETITIONS: usize = 40;

/// A rank that is later than this has let all others wait whatever the algorithm is, ns.
const LATEST: f64 = 1e7;

/// An algorithm is replayed for no longer in a launch, ns.
const BUDGET: u64 = 400_000_000;

/// An operation to be replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct Worth {
    /// Its number in the trace.
    pub operation: usize,
    /// The collective.
    pub collective: Collective,
    /// The message size.
    pub bytes: u64,
    /// The size of its communicator.
    pub ranks: u32,
    /// The part of all ranks' time that its calls took without waiting for late ranks.
    pub share: f64,
    root: i32,
    /// By their ranks in the communicator.
    world_ranks: Vec<u32>,
    /// For each repetition how much later than the first one each rank comes, ns.
    delays_ns: Vec<Vec<f64>>,
}

/// The time of all ranks together and of the longest one, ns.
pub fn wall_ns(traced: &Traced) -> [f64; 2] {
    let ranks = traced.run.account_of(Vec::new()).ranks;
    let each = || ranks.iter().map(|rank| rank.wall_ns);
    [each().sum(), each().fold(0.0, f64::max)]
}

/// The operations that take at least this share of the ranks' time, those that take the most first. Of those for which
/// one rule would hold, as they differ in the root or in the communicator alone, the one that takes the most.
pub fn worth(source: &Source, traced: &Traced, least_share: f64) -> Vec<Worth> {
    let [all, _] = wall_ns(traced);
    let mut found: Vec<Worth> = Vec::new();
    for description in source.operations() {
        let number = description.operation;
        let operation = &traced.run.operations.operations[number];
        let Some((collective, bytes)) = Collective::named(&description.function).zip(description.bytes) else {
            continue;
        };
        let is_whole = operation.parts.len() == description.ranks as usize && description.ranks > 1;
        // An operator of the program may not commute, and is not known here.
        if !is_whole || description.repetitions == 0 || description.reduction.as_deref() == Some("user") {
            continue;
        }
        let account = traced.account(number, Rule::default(), None);
        let saved: f64 = account.ranks.iter().map(|(_, parts)| parts.run_time - parts.waiting).sum();
        let share = saved / all;
        if share < least_share {
            continue;
        }
        let members = &traced.run.operations.communicators[operation.key.communicator].members;
        let world_ranks: Vec<u32> = members.iter().map(|&(part, _)| traced.run.trace.parts[part].rank()).collect();
        let Some(delays_ns) = delays(source, number, &world_ranks) else { continue };
        let root = description.root.unwrap_or(0);
        let ranks = description.ranks;
        found.push(Worth { operation: number, collective, bytes, ranks, share, root, world_ranks, delays_ns });
    }
    found.sort_by(|one, other| other.share.total_cmp(&one.share));
    let mut seen = Vec::new();
    found.retain(|one| {
        let rule = (one.collective, one.bytes, one.ranks);
        let is_new = !seen.contains(&rule);
        seen.push(rule);
        is_new
    });
    found
}

/// The delays in some repetitions, as far apart as they can be.
fn delays(source: &Source, number: usize, world_ranks: &[u32]) -> Option<Vec<Vec<f64>>> {
    let ranks = source.ranks(number);
    let of_rank = |rank: &u32| ranks.enter_ns(ranks.numbers.iter().position(|known| known == rank)?);
    let enters: Vec<Vec<f64>> = world_ranks.iter().map(of_rank).collect::<Option<_>>()?;
    let count = enters.first().map_or(0, Vec::len);
    let delays = |repetition: usize| {
        let first = enters.iter().map(|enters| enters[repetition]).fold(f64::INFINITY, f64::min);
        enters.iter().map(|enters| (enters[repetition] - first).min(LATEST)).collect()
    };
    (count > 0).then(|| (0..REPETITIONS).map(|place| delays(place * count / REPETITIONS)).collect())
}

/// The plan, as the program that replays the operations reads it.
pub fn plan(operations: &[Worth]) -> String {
    let mut text = String::new();
    for (number, one) in operations.iter().enumerate() {
        let name = mpitrace_format::algorithms::collective_of(one.collective.function);
        let Worth { bytes, root, ranks, .. } = one;
        let _ = write!(text, "{number} {name} {bytes} {root} {BUDGET} {ranks}");
        one.world_ranks.iter().for_each(|rank| {
            let _ = write!(text, " {rank}");
        });
        let _ = writeln!(text, " {}", one.delays_ns.len());
        for delays in &one.delays_ns {
            let words: Vec<String> = delays.iter().map(|delay| format!("{delay:.0}")).collect();
            let _ = writeln!(text, "{}", words.join(" "));
        }
    }
    text
}

impl Worth {
    /// The rule that gives it this algorithm.
    pub fn rule(&self, algorithm: u32) -> rules::Rule {
        let bytes = self.collective.rule_bytes(self.bytes, self.ranks);
        rules::Rule { collective: self.collective, ranks: self.ranks, bytes, algorithm }
    }

    /// How late the last rank comes, in the median, ns.
    pub fn late_ns(&self) -> f64 {
        let latest = |delays: &Vec<f64>| delays.iter().copied().fold(0.0, f64::max);
        median(&mut self.delays_ns.iter().map(latest).collect::<Vec<_>>()).unwrap_or(0.0)
    }
}
