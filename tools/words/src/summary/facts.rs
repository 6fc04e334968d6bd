//! The content of the summary, by the keys of its JSON.

use std::collections::BTreeMap;

use mpitrace_analysis::account::{Because, Loss, LossKind, Parts, RankPart, RankParts, Sharing};
use mpitrace_analysis::causes::CauseKind;
use mpitrace_analysis::efficiency::{Efficiency, RegionEfficiency};
use mpitrace_analysis::findings::{Found, Stretches};
use mpitrace_analysis::replay::Gain;
use mpitrace_code::{CodeOfFinding, CodeOfLoss, CountedBefore};
use mpitrace_trace::calls::whole_run::AllCalls;
use mpitrace_trace::operations::{CallSite, Mismatch};
use mpitrace_trace::undone::Undone;
use serde::Serialize;

use super::around::Around;
use super::processes::{OfRank, Taken};
use super::threads::ThreadFacts;
use crate::job::ended::Ended;

const NS: f64 = 1e9;

/// A smaller share of the job is little to gain.
pub(super) const LITTLE: f64 = 0.03;

/// Where the ranks' time went. Times in seconds, summed over the ranks.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The ranks of the job.
    pub ranks: u32,
    /// The ranks of the job that are not in the trace: waiting for them is not known.
    pub untraced: u32,
    /// In collective calls with ranks of another world, beside the waiting for ranks of this one, s: waiting for the
    /// others is not known.
    pub with_other_worlds_s: f64,
    /// True if every rank finished and kept all calls.
    pub complete: bool,
    /// How the job ended; `null`: by MPI_Finalize.
    pub ended: Option<Ended>,
    /// Ranks whose end is not known: their time is that up to their last time stamp.
    pub unknown_ends: usize,
    /// These ended so much later at most, the longest of them; `null`: not known, or there is none.
    pub unknown_s: Option<f64>,
    /// The longest time of any rank from MPI_Init to MPI_Finalize.
    pub seconds: f64,
    /// The times of all ranks from MPI_Init to MPI_Finalize together, s.
    pub rank_seconds: f64,
    /// The times of the ranks' processes before MPI_Init and after MPI_Finalize, which are in no other number.
    #[serde(flatten)]
    pub around: Around,
    /// The times from the return of MPI_Init to the last rank's entry into MPI_Finalize of all ranks together, without
    /// the tracer's own part, s. All shares are of it.
    pub running_s: f64,
    /// The share of that time that the ranks spend in collective calls, as far as it is known also of calls that were
    /// not kept.
    pub collectives_share: Share,
    /// The share of all MPI calls that are timed, without MPI_Init and MPI_Finalize.
    pub mpi_share: Share,
    /// True if calls that can wait were timed on all ranks, beside collectives.
    pub calls_timed: bool,
    /// True if the time outside of collective calls was divided: calls that can wait had time stamps.
    #[serde(skip)]
    pub divided: bool,
    /// In the calls of complete repetitions; the sum of the four that follow.
    pub collectives_s: f64,
    /// The parts of the collective calls.
    #[serde(flatten)]
    pub calls: Parts,
    /// The parts of the ranks' time outside of these.
    pub parts: RankParts,
    /// Off the processor between MPI_Init and MPI_Finalize, in calls and outside of them; `null`: not known of all
    /// ranks.
    pub off_processor_s: Option<f64>,
    /// The reasons of that time.
    pub off_processor_by: Option<OffFacts>,
    /// The part of it in which they were ready to run; `null`: another part of the ranks' time is larger.
    pub without_processor: Option<Lack>,
    /// Ranks that may run only on processors that are fewer than they are; `null`: none are known.
    pub sharing: Option<Sharing>,
    /// True if these account for most of the time without a processor; else something else ran there.
    #[serde(skip)]
    pub lacks_by_sharing: bool,
    /// The waiting for ranks that had no processor.
    #[serde(skip)]
    pub waiting_without_processor: RankParts,
    /// True if each rank has processors of its own.
    #[serde(skip)]
    pub bound: bool,
    /// True if several threads of a rank call MPI.
    #[serde(skip)]
    pub threaded: bool,
    /// The time in MPI on other threads than those that called MPI_Init; `null`: no other thread called MPI.
    pub threads: Option<ThreadFacts>,
    /// Calls that test requests or look for messages; `null`: there were none, or they were not timed.
    pub polls: Option<PollFacts>,
    /// `null`: no rank hung when the job was ended.
    pub hung: Option<HungFacts>,
    /// True if the ranks' clocks are synchronised. Waiting is not known where they are not.
    pub synchronised: bool,
    /// The length below which waits are not known, since the clocks are not: they count as communication. `null`: the
    /// errors of the clocks are not known.
    pub unknown_waits_below_ns: Option<f64>,
    /// `null`: no rank was outside of MPI.
    pub efficiency: Option<Efficiencies>,
    /// The ranks that others wait for, the one that they wait for longest first. The delay that a rank only passes on
    /// counts for the one with which it begins.
    pub late_ranks: Vec<LateRankFacts>,
    /// The ranks that others, which are in point-to-point calls, wait for where message calls were not recorded; the
    /// one that they wait for longest first.
    pub late_partners: Vec<LatePartnerFacts>,
    /// The ranks that lost time off their processors: in collective calls beside the waiting, and outside of MPI.
    pub off_ranks: Vec<OffRankFacts>,
    /// The sums of all losses by kind, s.
    pub lost_s: BTreeMap<LossKind, f64>,
    /// The cause of more than half of the loss in the first or in slow repetitions, if the conclusion is about that.
    pub slow_cause: Option<SlowCause>,
    /// The losses, the largest first.
    pub losses: Vec<LossFacts>,
    /// The gain of the job at most without all losses of the text, s: the least, over the ranks, of what a rank loses
    /// itself and of its work for which others wait, and no more than all gains together.
    pub gains_most_s: f64,
    /// The losses as in the text, by gain: one of all ranks where they are late in turns.
    #[serde(rename = "losses_by_gain")]
    pub shown: Vec<LossFacts>,
    /// Calls that do not belong together, of each communicator the first 64.
    pub mismatches: Vec<Mismatch>,
    /// How many there are.
    pub mismatched: u64,
    /// What the program left undone.
    #[serde(flatten)]
    pub undone: Undone,
    /// `null`: the trace holds no sample. Of one, the times above are estimates for all calls.
    pub sample: Option<Sample>,
    /// The collective calls that were begun, kept or not, on all ranks together.
    pub calls_made: u64,
    /// The calls of every kind that returned an error, on all ranks together.
    pub failed_calls: u64,
    /// Failed calls that have their place among the calls of their operations, without a record.
    #[serde(skip)]
    pub failed_in_place: u64,
    /// Operations of which not all calls were kept, with those that were not. Without a sample the times above are of
    /// kept calls, but for `collectives_share`.
    pub all_calls: Vec<AllCalls>,
    /// For each rank the processes that took its processor; `null`: not looked at.
    pub processes: Option<Vec<OfRank>>,
    /// The code behind the largest loss that has some, as a sentence; `null`: none is known.
    pub code: Option<String>,
    /// That code, where several ranks are late because of it, each in its turn; `null`: it is of one loss.
    pub code_in_turns: Option<CodeInTurns>,
    /// The counters of the late rank before the calls of the largest loss that has some, as a sentence; `null`: none.
    pub counted: Option<String>,
    /// The habit of the program that costs most time, as a sentence: the largest of the losses that have
    /// [`LossFacts::found`]; `null`: none is worth a sentence.
    pub finding: Option<String>,
    /// The kind of that loss.
    #[serde(skip)]
    pub finding_kind: Option<LossKind>,
    /// The conclusion, in one or two sentences.
    pub verdict: String,
    /// The conclusion without what is found beside the account.
    #[serde(skip)]
    pub plain: Plain,
    /// The command to go on with; `null`: none.
    pub next: Option<String>,
}

/// A conclusion that stands if nothing else would gain more.
#[derive(Clone, Debug, Default)]
pub struct Plain {
    /// In one or two sentences.
    pub sentence: String,
    /// What would be gained, s; `None`: it stands in any case.
    pub gain_s: Option<f64>,
}

/// Calls that test requests or look for messages and find nothing, of all ranks together. With no other call of MPI
/// between them they are a row, up to the one that finds something.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PollFacts {
    /// The calls, those that found something included.
    pub calls: u64,
    /// The rows.
    pub rows: u64,
    /// The time of the rows, s.
    pub seconds: f64,
    /// The part of it in which the program computed, s: among `computing`. The rest is waiting.
    pub computing_s: f64,
    /// The ends of its interval, of 95 %, s.
    pub computing_least_s: f64,
    /// The program computed for so long at most, s.
    pub computing_most_s: f64,
}

/// The time since the last movement of any rank of the job, or of those of a verdict, until the job was ended; all
/// ranks together.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HungFacts {
    /// The estimate, s.
    pub seconds: f64,
    /// At least, s.
    pub least_s: f64,
    /// `null`: not known.
    pub most_s: Option<f64>,
    /// The longest of any rank.
    pub longest_s: f64,
}

/// Time off the processor by reason, s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct OffFacts {
    /// Something else ran there.
    pub preempted_s: f64,
    /// The rank slept, or waited in a call without its processor.
    pub asleep_s: f64,
    /// A processor quota held the rank.
    pub throttled_s: f64,
    /// The reason is not known.
    pub unknown_s: f64,
}

/// The time in which ranks were ready to run without a processor.
#[derive(Clone, Debug, Serialize)]
pub struct Lack {
    /// Of all ranks together, in calls and outside of them, s.
    pub seconds: f64,
    /// The share of `running_s`.
    pub share: f64,
    /// The rank that lacked one for most of it; `null`: several.
    pub rank: Option<u32>,
    /// The processes that took most of it; `null`: not looked at, or several.
    pub taken_by: Option<Taken>,
}

/// The repetitions of a trace that holds a sample.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// The repetitions that are in the trace.
    pub repetitions: u64,
    /// The number of all repetitions.
    pub of: u64,
    /// The ends of the interval of `waiting_s`, of 99 %.
    pub waiting_least_s: f64,
    /// The waiting time of all calls at most, s.
    pub waiting_most_s: f64,
}

/// The parallel efficiencies of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Efficiencies {
    /// The efficiency of the whole run.
    #[serde(flatten)]
    pub run: Efficiency,
    /// The efficiencies of the regions of the program.
    pub regions: Vec<RegionEfficiency>,
}

/// A share of the ranks' time, 0 to 1.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Share {
    /// The share of the time of all ranks together.
    pub all: f64,
    /// The least share of a rank's own time.
    pub min: f64,
    /// The median of the ranks.
    pub median: f64,
    /// The largest of any rank.
    pub max: f64,
}

/// A loss, by the keys of JSON.
#[derive(Clone, Debug, Serialize)]
pub struct LossFacts {
    /// The reason why the rank was late is `null` where it is not known, and between computing and other MPI calls,
    /// which takes `MPITRACE_EVENTS=p2p-time` to tell apart.
    #[serde(flatten)]
    pub loss: Loss,
    /// The late rank was on its processor, and computed or was in other MPI calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_processor: Option<bool>,
    /// `null` outside of collective calls, like the three that follow.
    pub function: Option<String>,
    /// The communicator's name; `null`: the loss is not in one operation.
    pub communicator: Option<String>,
    /// The communicator in the text, with its ranks where several have the name.
    #[serde(skip)]
    pub label: Option<String>,
    /// The message size, bytes; `null`: the loss is not in one operation, or not known.
    pub bytes: Option<u64>,
    /// The place in the program; `null`: not recorded.
    pub call_site: Option<CallSite>,
    /// The time lost, summed over the ranks, s.
    pub seconds: f64,
    /// The share of `running_s`, 0 to 1.
    pub share: f64,
    /// The time by which the run would be shorter without the loss.
    #[serde(flatten)]
    pub gain: Gain,
    /// Why the rank was late in these calls, or off its processor, each reason with its seconds: also those of other
    /// losses of it in these calls.
    pub reasons: Vec<ReasonFacts>,
    /// The code that made the rank late, by the samples of the run; empty: none, or they do not support it.
    pub code: Vec<CodeOfLoss>,
    /// The counters of which the late rank has more before these calls than those that wait; empty: none are known.
    pub counted: Vec<CountedBefore>,
    /// The numbers of what is found beside the account: such a loss overlaps with others.
    #[serde(flatten)]
    pub found: Option<Found>,
    /// The function in which most of that lies, by the samples of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<CodeOfFinding>,
    /// Of ranks that are late in turns: the stretches in which it is one and the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves: Option<Stretches>,
    /// From the late rank to where its delay begins; without a rank: it is not known from here on.
    pub origin: Vec<OriginFacts>,
}

/// The code for which ranks are late in turns: the sums of their losses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CodeInTurns {
    /// The function, and how much longer the ranks run it together.
    #[serde(flatten)]
    pub code: CodeOfLoss,
    /// The time by which the run would be shorter without the function.
    #[serde(flatten)]
    pub gain: Gain,
}

/// How long other ranks waited for a rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LateRankFacts {
    /// The world rank.
    pub rank: u32,
    /// Summed over the ranks that waited, s.
    pub seconds: f64,
    /// The share of the waiting for all late ranks, 0 to 1.
    pub share: f64,
    /// Why it was late, with the seconds of each reason, the largest first. Of its preemption the part that is only due
    /// to those that waited for it, on processors that it shares with them, is left out.
    pub reasons: Vec<ReasonFacts>,
}

/// How long other ranks were in point-to-point calls before a late rank came.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatePartnerFacts {
    /// The world rank that is late.
    pub rank: u32,
    /// The one that waits for it for two thirds of the time; `null`: several.
    pub waiting_rank: Option<u32>,
    /// Summed over the ranks that waited, s.
    pub seconds: f64,
    /// Why it was late, as in [`LateRankFacts`].
    pub reasons: Vec<ReasonFacts>,
}

/// The time that a rank lost off its processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OffRankFacts {
    /// The world rank.
    pub rank: u32,
    /// By reason.
    #[serde(flatten)]
    pub by: OffFacts,
}

/// The cause of most of the loss in slow repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SlowCause {
    /// The kind of the cause.
    pub kind: CauseKind,
    /// The world rank; `null`: no single one.
    pub rank: Option<u32>,
    /// The communication that it takes, s.
    pub seconds: f64,
}

/// A reason for which a rank was late.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReasonFacts {
    /// `null`: not known.
    pub because: Option<Because>,
    /// Summed over the ranks that waited, s.
    pub seconds: f64,
}

/// A rank in the chain from a loss to where it begins.
#[derive(Clone, Debug, Serialize)]
pub struct OriginFacts {
    /// The world rank; `null`: not known from here on.
    pub rank: Option<u32>,
    /// Why it was late.
    pub because: Option<Because>,
    /// The place in the program; `null`: not recorded.
    pub call_site: Option<CallSite>,
}

impl Summary {
    /// The sentence that is set off: how the job ended, where that was not by `MPI_Finalize`; else the conclusion.
    pub fn first_sentence(&self) -> &str {
        self.ended.as_ref().map_or(&self.verdict, |ended| &ended.sentence)
    }

    /// How many calls that have not failed have no record.
    pub fn not_kept(&self) -> u64 {
        let without_record: u64 = self.all_calls.iter().map(|all| all.all.calls - all.all.kept).sum();
        without_record.saturating_sub(self.failed_in_place)
    }

    /// True if there is little to gain in waiting: all gains together are a small share of the job.
    pub(super) fn gains_are_little(&self) -> bool {
        self.is_little(self.gains_most_s)
    }

    /// True if a gain, s, is a small share of the job. If MPI_Init and MPI_Finalize take most of the job, the limit is
    /// 1.5 times as large: a few ms differ from run to run.
    pub(super) fn is_little(&self, gain_s: f64) -> bool {
        let times = if self.share_beside() > 0.5 { 1.5 } else { 1.0 };
        gain_s < times * LITTLE * self.seconds
    }

    /// The share of the job that MPI_Init and MPI_Finalize take.
    pub(super) fn share_beside(&self) -> f64 {
        let beside_s = self.parts.sum_of(&[RankPart::Init, RankPart::WaitingInit, RankPart::Finalize]) / NS;
        if self.rank_seconds > 0.0 { beside_s / self.rank_seconds } else { 0.0 }
    }

    /// The share of the ranks' time between MPI_Init and MPI_Finalize that one of the parts (ns) is.
    pub fn share(&self, ns: f64) -> f64 {
        if self.running_s > 0.0 { ns / NS / self.running_s } else { 0.0 }
    }
}

impl LossFacts {
    /// `, mostly for rank 1`, where that is known.
    pub(super) fn partner(&self) -> String {
        self.loss.partner.map_or_else(String::new, |rank| format!(", mostly for rank {rank}"))
    }
}
