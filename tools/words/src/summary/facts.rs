//! The content of the summary, by the keys of its JSON.

use mpitrace_analysis::account::{Account, Because, Kind, Loss, Parts, RankAccount, RankPart, RankParts};
use mpitrace_analysis::causes::Causes;
use mpitrace_analysis::efficiency::{self, Efficiency, RegionEfficiency};
use mpitrace_analysis::replay::{self, Gain, Origin};
use mpitrace_statistics::categories::Rule;
use mpitrace_statistics::median;
use mpitrace_trace::calls::whole_run::{self, AllCalls};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::{CallSite, Mismatch, Operations};
use mpitrace_trace::reader::Trace;
use mpitrace_trace::undone::Undone;
use serde::Serialize;

use super::processes::OfRank;
use super::unknown_waits;
use super::verdict::{Evidence, Verdict};
use crate::description::communicator_labels;

const NS: f64 = 1e9;

/// Losses that are listed in JSON; smaller ones are left out.
const LISTED: usize = 50;

/// Where the ranks' time went. Times in seconds, summed over the ranks.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    pub ranks: u32,
    /// True if every rank finished and kept all calls.
    pub complete: bool,
    /// Ranks whose end is not known: their time is that up to the last that is known of them.
    pub unknown_ends: usize,
    /// The longest time of any rank from MPI_Init to MPI_Finalize.
    pub seconds: f64,
    /// That time of all ranks.
    pub rank_seconds: f64,
    /// The share of that time that the ranks spend in collective calls, as far as it is known also of calls that were not
    /// kept.
    pub collectives_share: Share,
    /// The share of all MPI calls that are timed, without MPI_Init and MPI_Finalize.
    pub mpi_share: Share,
    /// True if calls that can wait were timed on all ranks, beside collectives.
    pub calls_timed: bool,
    #[serde(skip)]
    pub divided: bool,
    /// In the calls of complete repetitions; the sum of the four that follow.
    pub collectives_s: f64,
    #[serde(flatten)]
    pub calls: Parts,
    pub parts: RankParts,
    /// True if the ranks' clocks are synchronised. Waiting is not known where they are not.
    pub synchronised: bool,
    /// The length below which waits are not known, since the clocks are not: they count as communication. `null`: the
    /// errors of the clocks are not known.
    pub unknown_waits_below_ns: Option<f64>,
    /// `null`: no rank was outside of MPI.
    pub efficiency: Option<Efficiencies>,
    pub losses: Vec<LossFacts>,
    /// The losses in the text: one of all ranks where they are late in turns.
    #[serde(skip)]
    pub shown: Vec<LossFacts>,
    pub mismatches: Vec<Mismatch>,
    pub mismatched: u64,
    #[serde(flatten)]
    pub undone: Undone,
    /// `null`: the trace holds no sample. Of one, the times above are estimates for all calls.
    pub sample: Option<Sample>,
    /// Operations of which not all calls were kept, with those that were not. Without a sample the times above are of kept
    /// calls, but for `collectives_share`.
    pub all_calls: Vec<AllCalls>,
    /// For each rank the processes that took its processor; `null`: not looked at.
    pub processes: Option<Vec<OfRank>>,
    pub verdict: String,
    pub next: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    pub repetitions: u64,
    /// The number of all repetitions.
    pub of: u64,
    /// The ends of the interval of `waiting_s`, of 99 %.
    pub waiting_least_s: f64,
    pub waiting_most_s: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Efficiencies {
    #[serde(flatten)]
    pub run: Efficiency,
    pub regions: Vec<RegionEfficiency>,
}

/// A share of the ranks' time, 0 to 1.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Share {
    /// The share of the time of all ranks together.
    pub all: f64,
    /// The least share of a rank's own time.
    pub min: f64,
    pub median: f64,
    pub max: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct LossFacts {
    /// The reason why the rank was late is `null` where it is not known, and between computing and other MPI calls, which
    /// takes `MPITRACE_EVENTS=p2p-time` to tell apart.
    #[serde(flatten)]
    pub loss: Loss,
    /// The late rank was on its processor, and computed or was in other MPI calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_processor: Option<bool>,
    /// `null` outside of collective calls, like the three that follow.
    pub function: Option<String>,
    pub communicator: Option<String>,
    /// The communicator in the text, with its ranks where several have the name.
    #[serde(skip)]
    pub label: Option<String>,
    pub bytes: Option<u64>,
    pub call_site: Option<CallSite>,
    pub seconds: f64,
    /// The share of the time of all ranks, 0 to 1.
    pub share: f64,
    #[serde(flatten)]
    pub gain: Gain,
    /// From the late rank to where its delay begins; without a rank: it is not known from here on.
    pub origin: Vec<OriginFacts>,
}

/// A rank in the chain from a loss to where it begins.
#[derive(Clone, Debug, Serialize)]
pub struct OriginFacts {
    pub rank: Option<u32>,
    pub because: Option<Because>,
    pub call_site: Option<CallSite>,
}

impl Summary {
    /// The summary of a trace; `name` is how a command line names it.
    pub fn new(trace: &Trace, operations: &Operations, clock: &Clock, name: &str) -> Summary {
        Summary::of_account(&Account::new(trace, clock, operations, Rule::default()), trace, operations, clock, name)
    }

    /// The summary of a run whose account is known.
    pub fn of_account(account: &Account, trace: &Trace, operations: &Operations, clock: &Clock, name: &str) -> Summary {
        let sum = account.sum();
        let rank_ns = account.rank_ns();
        let [mut losses, mut shown] = [account.losses(false), account.losses(true)];
        losses.truncate(LISTED);
        shown.truncate(LISTED);
        // What is not listed is late in turns.
        let (listed, own) = (losses.len(), shown.iter().filter(|loss| !losses.contains(loss)).cloned());
        let all: Vec<Loss> = losses.iter().cloned().chain(own).collect();
        let gains = replay::gains(trace, clock, operations, account, &all);
        let mut all_calls = whole_run::all_calls(trace, operations, clock);
        all_calls.retain(|all| !all.is_region);
        let labels = communicator_labels(trace, operations);
        let facts = |loss: &Loss| {
            let place = all.iter().position(|other| other == loss);
            let gain = place.map_or_else(Gain::default, |place| gains[place].clone());
            let origin = gain.origin.iter().map(|&origin| OriginFacts::new(origin, operations)).collect();
            LossFacts { gain, origin, ..LossFacts::new(loss.clone(), operations, account, &labels) }
        };
        let losses = all[..listed].iter().map(facts).collect();
        let shown = shown.iter().map(facts).collect();
        let longest = account.ranks.iter().map(|rank| rank.wall_ns).fold(0.0, f64::max);
        let mut summary = Summary {
            ranks: trace.world_size,
            complete: trace.complete,
            unknown_ends: account.ranks.iter().filter(|rank| !rank.end_is_known).count(),
            seconds: longest / NS,
            rank_seconds: rank_ns / NS,
            collectives_share: Share::new(account, |rank| rank.collectives_ns),
            mpi_share: Share::new(account, |rank| rank.parts.sum_of(&RankPart::MPI)),
            calls_timed: account.ranks.iter().all(|rank| rank.is_timed),
            divided: account.ranks.iter().all(|rank| rank.is_divided),
            collectives_s: sum.run_time / NS,
            calls: sum,
            parts: account.rank_parts(),
            synchronised: clock.is_synchronised(),
            unknown_waits_below_ns: unknown_waits::below_ns(trace, clock),
            efficiency: efficiency::whole_run(account)
                .map(|run| Efficiencies { run, regions: efficiency::regions(trace, clock, account) }),
            losses,
            shown,
            mismatches: operations.mismatches.clone(),
            mismatched: operations.mismatched(),
            undone: operations.undone(trace),
            sample: account.estimate().map(|estimate| {
                let [waiting_least_s, waiting_most_s] = estimate.interval(sum.waiting).map(|ns| ns / NS);
                Sample { repetitions: estimate.kept, of: estimate.of, waiting_least_s, waiting_most_s }
            }),
            all_calls,
            processes: None,
            verdict: String::new(),
            next: None,
        };
        let causes = |operation: usize| {
            Causes::without_counters(trace, clock, &operations.operations[operation], Rule::default())
        };
        let has_counters = trace.parts.iter().any(|part| part.counter_columns().next().is_some());
        let evidence = Evidence { account, causes: &causes, has_counters };
        let Verdict { sentence, next } = Verdict::new(&summary, &evidence, name);
        (summary.verdict, summary.next) = (sentence, next);
        summary
    }

    pub fn not_kept(&self) -> u64 {
        self.all_calls.iter().map(|all| all.all.calls - all.all.kept).sum()
    }

    /// The share of the ranks' time that one of the parts (ns) is.
    pub fn share(&self, ns: f64) -> f64 {
        if self.rank_seconds > 0.0 { ns / NS / self.rank_seconds } else { 0.0 }
    }
}

impl Share {
    fn new(account: &Account, of: impl Fn(&RankAccount) -> f64) -> Share {
        let shares = account.ranks.iter().filter(|rank| rank.wall_ns > 0.0);
        let mut shares: Vec<f64> = shares.map(|rank| of(rank) / rank.wall_ns).collect();
        shares.sort_by(f64::total_cmp);
        let in_all: f64 = account.ranks.iter().map(&of).sum();
        match (shares.first().copied(), shares.last().copied(), median(&mut shares)) {
            (Some(min), Some(max), Some(median)) => Share { all: in_all / account.rank_ns(), min, median, max },
            _ => Share::default(),
        }
    }
}

impl OriginFacts {
    fn new(origin: Origin, operations: &Operations) -> OriginFacts {
        let key = origin.operation.map(|operation| &operations.operations[operation].key);
        let call_site = key.and_then(|key| key.call_site.clone());
        OriginFacts { rank: origin.rank, because: origin.because, call_site }
    }
}

impl LossFacts {
    fn new(loss: Loss, operations: &Operations, account: &Account, labels: &[String]) -> LossFacts {
        let rank_ns = account.rank_ns();
        let message = loss.message.map(|index| &account.late_messages[index]);
        let key = loss.operation.map(|operation| &operations.operations[operation].key);
        LossFacts {
            on_processor: loss.because.filter(|_| loss.kind == Kind::LateRank).map(|because| !because.is_off()),
            function: key.map(|key| &key.function).or(message.map(|message| &message.function)).cloned(),
            communicator: key.map(|key| operations.communicators[key.communicator].name.clone()),
            label: key.map(|key| labels[key.communicator].clone()),
            bytes: key.and_then(|key| key.bytes),
            call_site: key.map_or(message.and_then(|message| message.call_site.clone()), |key| key.call_site.clone()),
            seconds: loss.ns / NS,
            share: if rank_ns > 0.0 { loss.ns / rank_ns } else { 0.0 },
            gain: Gain::default(),
            origin: Vec::new(),
            loss,
        }
    }

    /// `, mostly for rank 1`, where that is known.
    pub(super) fn partner(&self) -> String {
        self.loss.partner.map_or_else(String::new, |rank| format!(", mostly for rank {rank}"))
    }
}
