//! Makes the summary of a trace.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use mpitrace_analysis::account::{
    self, Account, Because, HowEnded, Hung, LatePartner, Loss, LossKind, Off, Polled, RankAccount, RankPart,
};
use mpitrace_analysis::efficiency;
use mpitrace_analysis::replay::{Gain, Origin};
use mpitrace_analysis::run::{Losses, Run};
use mpitrace_format::layout::{ThreadEntry, communicator_flags};
use mpitrace_statistics::median;
use mpitrace_trace::calls::samples::RunSamples;
use mpitrace_trace::calls::whole_run;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::{Part, Trace};

use super::around::Around;
use super::facts::{
    Efficiencies, HungFacts, LITTLE, Lack, LatePartnerFacts, LateRankFacts, LossFacts, OffFacts, OffRankFacts,
    OriginFacts, Plain, PollFacts, ReasonFacts, Sample, Share, Summary,
};
use super::largest::MOST;
use super::threads::ThreadFacts;
use super::together;
use super::verdict::{Evidence, Verdict};
use super::{code, counted, lack, largest, processes, unknown_waits, verdict, words};
use crate::base::description::communicator_labels;
use crate::info;

const NS: f64 = 1e9;

impl Summary {
    /// The summary of a run; `name` is how a command line names it.
    pub fn new(run: &Run, name: &str) -> Summary {
        let Run { trace, operations, clock, .. } = run;
        let account = run.account();
        let sum = account.sum();
        let rank_ns = account.rank_ns();
        let mut all_calls = whole_run::all_calls(trace, operations, clock);
        all_calls.retain(|all| !all.is_region);
        let labels = communicator_labels(trace, operations);
        let Losses { all, gains, single, in_turns } = run.losses();
        let facts = |&index: &usize| {
            let gain = gains[index].clone();
            let origin = gain.origin.iter().map(|&origin| OriginFacts::new(origin, operations)).collect();
            let reasons = reasons(&all[index], account);
            LossFacts { gain, origin, reasons, ..LossFacts::new(all[index].clone(), operations, account, &labels) }
        };
        let losses = single.iter().map(facts).collect();
        let mut lost_s: BTreeMap<LossKind, f64> = BTreeMap::new();
        account.losses(false).iter().for_each(|loss| *lost_s.entry(loss.kind).or_default() += loss.ns / NS);
        let longest = account.ranks.iter().map(|rank| rank.wall_ns).fold(0.0, f64::max);
        let mut shown: Vec<LossFacts> = in_turns.iter().map(facts).collect();
        in_order(&mut shown, account);
        for loss in &mut shown {
            let is_worth = loss.gain.likely() >= LITTLE * longest / NS;
            let in_turns = loss.loss.operation.filter(|_| loss.loss.kind == LossKind::LateRank);
            loss.moves = in_turns.filter(|_| is_worth && loss.loss.rank.is_none()).and_then(|of| run.stretches(of));
        }
        let single: Vec<&Loss> = single.iter().map(|&index| &all[index]).collect();
        let with_gains: Vec<(&Loss, &Gain)> = shown.iter().map(|loss| (&loss.loss, &loss.gain)).collect();
        let gains_most_s = together::most_s(account, &single, &with_gains);
        let (off, sharing) = (account.off_processor(), account.processors.most_shared());
        let threads = |part: &Part| part.runs().iter().any(|run| run.count > 0 && run.thread != part.main_thread());
        let mut summary = Summary {
            ranks: trace.world_size,
            untraced: trace.world_size.saturating_sub(trace.parts.len() as u32),
            with_other_worlds_s: with_other_worlds_ns(account, operations) / NS,
            complete: trace.complete,
            ended: info::ended(run),
            unknown_ends: account.ranks.iter().filter(|rank| rank.end.how == HowEnded::LastStamp).count(),
            unknown_s: unknown_s(account),
            seconds: longest / NS,
            rank_seconds: rank_ns / NS,
            around: Around::new(trace),
            running_s: account.running_ns() / NS,
            collectives_share: Share::new(account, |rank| rank.collectives_ns),
            mpi_share: Share::new(account, |rank| rank.parts.sum_of(&RankPart::MPI)),
            calls_timed: account.ranks.iter().all(|rank| rank.is_timed),
            divided: account.ranks.iter().all(|rank| rank.is_divided),
            collectives_s: sum.run_time / NS,
            calls: sum,
            parts: account.rank_parts(),
            off_processor_s: off.map(|off| off.sum() / NS),
            off_processor_by: off.map(OffFacts::new),
            without_processor: None,
            lacks_by_sharing: sharing.as_ref().is_some_and(|sharing| account.lack_is_by(sharing)),
            waiting_without_processor: lack::waiting_without_processor(account),
            sharing,
            bound: account.processors.are_own(),
            threaded: trace.parts.iter().any(threads),
            threads: ThreadFacts::new(account),
            polls: PollFacts::new(account),
            hung: HungFacts::new(account),
            synchronised: clock.is_synchronised(),
            unknown_waits_below_ns: unknown_waits::below_ns(trace, clock),
            efficiency: efficiency::whole_run(account)
                .map(|run| Efficiencies { run, regions: efficiency::regions(trace, clock, account) }),
            late_ranks: Vec::new(),
            late_partners: late_partners(account),
            off_ranks: off_ranks(account),
            lost_s,
            slow_cause: None,
            losses,
            gains_most_s,
            shown,
            mismatches: operations.mismatches.clone(),
            mismatched: operations.mismatched(),
            undone: operations.undone(trace),
            sample: account.estimate().map(|estimate| {
                let [waiting_least_s, waiting_most_s] =
                    estimate.interval(sum.waiting).map(|ns| ns.min(account.running_ns()) / NS);
                Sample { repetitions: estimate.kept, of: estimate.of, waiting_least_s, waiting_most_s }
            }),
            calls_made: calls_made(trace),
            failed_calls: sum_of(trace, |thread| u64::from(thread.failed) + u64::from(thread.failed_others)),
            failed_in_place: sum_of(trace, |thread| thread.failed_in_place),
            all_calls,
            processes: None,
            code: None,
            code_in_turns: None,
            counted: None,
            finding: None,
            finding_kind: None,
            verdict: String::new(),
            plain: Plain::default(),
            next: None,
        };
        summary.without_processor = Lack::new(&summary, account);
        summary.late_ranks = late_ranks(&summary, account);
        let Verdict { sentence, next, slow_cause, gain_s } = summary.concluded(run, name, &[]);
        (summary.plain, summary.next, summary.slow_cause) = (Plain { sentence, gain_s }, next, slow_cause);
        summary.add_findings(run, &labels);
        counted::add(&mut summary, run);
        summary
    }

    /// The conclusion; `for_threads` are the ranks that are late since they wait for threads of their own.
    fn concluded(&self, run: &Run, name: &str, for_threads: &[u32]) -> Verdict {
        let (trace, account) = (&run.trace, run.account());
        let causes = |operation: usize| run.causes(operation);
        let has_counters = trace.parts.iter().any(|part| part.counter_columns().next().is_some());
        let holds = |rank: u32| account::holds_through(trace, &run.clock, &run.operations, account, run.waits(), rank);
        let (shared, bound, threaded) = (self.lacks_by_sharing, self.bound, self.threaded);
        let (causes, holds): (&dyn Fn(usize) -> _, &dyn Fn(u32) -> bool) = (&causes, &holds);
        Verdict::new(
            self,
            &Evidence { account, causes, holds, has_counters, shared, bound, threaded, for_threads },
            name,
        )
    }

    /// With what `mpitrace run` observed beside the files of the trace: processes on the nodes, samples of the ranks.
    pub fn with_observed(mut self, run: &Run, files: &[PathBuf]) -> Summary {
        let Some(observed) = RunSamples::open(&run.trace, files).ok().flatten() else { return self };
        code::add(&mut self, run, &observed);
        let for_threads = code::waiting_for_threads(&self);
        if !for_threads.is_empty() {
            let Verdict { sentence, gain_s, .. } = self.concluded(run, "", &for_threads);
            self.plain = Plain { sentence, gain_s };
        }
        self.add_code_of_findings(run, &observed);
        self.around = self.around.with_ends(&run.trace, &run.clock, &observed);
        self.processes = processes::taken(observed);
        self.name_takers(run.account());
        self
    }
}

impl OffFacts {
    /// Time off the processor in ns.
    pub(super) fn new(off: Off) -> OffFacts {
        let Off { preempted, asleep, throttled, unknown } = off;
        OffFacts {
            preempted_s: preempted / NS,
            asleep_s: asleep / NS,
            throttled_s: throttled / NS,
            unknown_s: unknown / NS,
        }
    }
}

impl PollFacts {
    fn new(account: &Account) -> Option<PollFacts> {
        let mut all = Polled::default();
        account.ranks.iter().for_each(|rank| all += rank.polled);
        let [computing_least_s, computing_most_s] = all.interval_ns().map(|ns| ns / NS);
        let Polled { polls: calls, rows, ns, computing_ns, .. } = all;
        let (seconds, computing_s) = (ns / NS, computing_ns / NS);
        (calls > 0).then_some(PollFacts { calls, rows, seconds, computing_s, computing_least_s, computing_most_s })
    }
}

impl HungFacts {
    fn new(account: &Account) -> Option<HungFacts> {
        let Hung { ns, least_ns, most_ns } = account.hung();
        let longest = account.ranks.iter().map(|rank| rank.hung.ns).fold(0.0, f64::max);
        let is_known = ns > 0.0 || most_ns.is_none_or(|most| most > 0.0);
        is_known.then(|| HungFacts {
            seconds: ns / NS,
            least_s: least_ns / NS,
            most_s: most_ns.map(|ns| ns / NS),
            longest_s: longest / NS,
        })
    }
}

/// Why the rank of a loss was late in the calls that it is of, or off its processor.
fn reasons(loss: &Loss, account: &Account) -> Vec<ReasonFacts> {
    let of_operation = |operation: usize| {
        let of = &account.operations[operation];
        let at = of.ranks.iter().position(|(rank, _)| Some(*rank) == loss.rank)?;
        Some(of.late[at].reasons().collect::<Vec<_>>())
    };
    let at_finalize = || Some(account.late_at_finalize.as_ref()?.late.reasons().collect::<Vec<_>>());
    let known = match (loss.kind, loss.operation, loss.message) {
        (LossKind::LateRank, _, Some(index)) if loss.rank.is_some() => Some(account.late_messages[index].reasons()),
        (LossKind::LateRank, Some(operation), _) => of_operation(operation),
        (LossKind::LateRank, None, None) => at_finalize(),
        _ => None,
    };
    let reasons = known.unwrap_or_else(|| loss.because.map(|because| (Some(because), loss.ns)).into_iter().collect());
    ReasonFacts::sorted(reasons)
}

impl ReasonFacts {
    fn sorted(mut reasons: Vec<(Option<Because>, f64)>) -> Vec<ReasonFacts> {
        reasons.retain(|(_, ns)| *ns > 0.0);
        reasons.sort_by(|one, other| other.1.total_cmp(&one.1));
        reasons.into_iter().map(|(because, ns)| ReasonFacts { because, seconds: ns / NS }).collect()
    }
}

/// The ranks that others wait for in point-to-point calls.
fn late_partners(account: &Account) -> Vec<LatePartnerFacts> {
    let facts = |late: &LatePartner| {
        let own = account.beside_its_waiters(late.late, largest::of_partner(late));
        let reasons = ReasonFacts::sorted(own.reasons().collect());
        LatePartnerFacts { rank: late.late, waiting_rank: late.rank, seconds: late.ns / NS, reasons }
    };
    account.late_partners.iter().map(facts).collect()
}

/// The ranks that lost time off their processors, by rank.
fn off_ranks(account: &Account) -> Vec<OffRankFacts> {
    let lost = verdict::off_ranks(account).into_iter().filter(|(_, off)| off.sum() > 0.0);
    lost.map(|(rank, off)| OffRankFacts { rank, by: OffFacts::new(off) }).collect()
}

/// The ranks that others wait for, by what they wait.
fn late_ranks(summary: &Summary, account: &Account) -> Vec<LateRankFacts> {
    let (ranks, lates) = largest::lates(summary, account);
    let all_ns: f64 = lates.iter().map(|late| late.waiting_ns).sum();
    let of_rank = ranks.into_iter().zip(lates).filter(|(_, late)| late.waiting_ns > 0.0).map(|(rank, late)| {
        let reasons = ReasonFacts::sorted(account.beside_its_waiters(rank, late).reasons().collect());
        LateRankFacts { rank, seconds: late.waiting_ns / NS, share: late.waiting_ns / all_ns, reasons }
    });
    let mut found: Vec<LateRankFacts> = of_rank.collect();
    found.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    found
}

/// Sorts losses by gain. The preemption of a rank that is mostly due to those that wait for it comes behind what it
/// does itself.
fn in_order(losses: &mut Vec<LossFacts>, account: &Account) {
    let calls = |of: &Loss| (of.late(), of.rank, of.operation, of.message, of.at_finalize);
    let computes = |of: &Loss| matches!(of.because, Some(Because::Computing | Because::OnProcessor));
    let work = losses.iter().filter(|one| one.loss.late().is_some() && computes(&one.loss));
    let work: HashMap<_, (f64, f64)> = work.map(|one| (calls(&one.loss), (one.loss.ns, one.gain.likely()))).collect();
    let key = |one: &LossFacts| {
        let (loss, gain) = (&one.loss, one.gain.likely());
        let late = loss.late().filter(|_| loss.because == Some(Because::Preempted));
        match late.zip(work.get(&calls(loss))) {
            Some((rank, &(work_ns, of_work)))
                if account.processors.preempted_by_waiting(rank, loss.ns, work_ns) > MOST * loss.ns =>
            {
                (gain.min(of_work), false)
            }
            _ => (gain, true),
        }
    };
    let mut keyed: Vec<((f64, bool), LossFacts)> = losses.drain(..).map(|one| (key(&one), one)).collect();
    keyed.sort_by(|(one, _), (other, _)| other.0.total_cmp(&one.0).then(other.1.cmp(&one.1)));
    losses.extend(keyed.into_iter().map(|(_, loss)| loss));
}

/// The time in collective calls with ranks of another world, beside the waiting for those of this one, ns.
fn with_other_worlds_ns(account: &Account, operations: &Operations) -> f64 {
    let is_with = |number: usize| {
        let communicator = operations.operations[number].key.communicator;
        operations.communicators[communicator].origin.flags & communicator_flags::OUTSIDE != 0
    };
    let calls = account.operations.iter().enumerate().filter(|(number, _)| is_with(*number));
    calls.map(|(_, calls)| calls.sum().communication).sum()
}

/// The calls that all ranks have begun.
fn calls_made(trace: &Trace) -> u64 {
    let entries = trace.parts.iter().flat_map(|part| part.operations());
    entries.filter(|entry| !entry.is_region()).map(|entry| entry.calls).sum()
}

/// Over the threads of all ranks.
fn sum_of(trace: &Trace, of: impl Fn(&ThreadEntry) -> u64) -> u64 {
    trace.parts.iter().flat_map(|part| part.threads()).map(of).sum()
}

/// How much later than it is known a rank may have ended.
fn unknown_s(account: &Account) -> Option<f64> {
    let unknown = account.ranks.iter().filter(|rank| rank.end.how == HowEnded::LastStamp);
    let later = unknown.map(|rank| Some((rank.end.latest_ns? - rank.end.at_ns) / NS));
    later.collect::<Option<Vec<f64>>>()?.into_iter().max_by(f64::total_cmp)
}

impl Share {
    fn new(account: &Account, of: impl Fn(&RankAccount) -> f64) -> Share {
        let shares =
            account.ranks.iter().map(|rank| (rank, rank.parts.running())).filter(|(_, running)| *running > 0.0);
        let mut shares: Vec<f64> = shares.map(|(rank, running)| (of(rank) / running).min(1.0)).collect();
        shares.sort_by(f64::total_cmp);
        let in_all: f64 = account.ranks.iter().map(&of).sum();
        match (shares.first().copied(), shares.last().copied(), median(&mut shares)) {
            (Some(min), Some(max), Some(median)) => Share { all: in_all / account.running_ns(), min, median, max },
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
    pub(super) fn new(loss: Loss, operations: &Operations, account: &Account, labels: &[String]) -> LossFacts {
        let running_ns = account.running_ns();
        let message = loss.message.map(|index| &account.late_messages[index]);
        let key = loss.operation.map(|operation| &operations.operations[operation].key);
        LossFacts {
            on_processor: loss.because.filter(|_| loss.kind == LossKind::LateRank).map(|because| !because.is_off()),
            function: key
                .map(|key| &key.function)
                .or(message.map(|message| &message.function))
                .cloned()
                .or(loss.at_finalize.then(|| words::FINALIZE.to_owned())),
            communicator: key.map(|key| operations.communicators[key.communicator].name.clone()),
            label: key.map(|key| labels[key.communicator].clone()),
            bytes: key.and_then(|key| key.bytes),
            call_site: key.map_or(message.and_then(|message| message.call_site.clone()), |key| key.call_site.clone()),
            seconds: loss.ns / NS,
            share: if running_ns > 0.0 { loss.ns / running_ns } else { 0.0 },
            gain: Gain::default(),
            reasons: Vec::new(),
            code: Vec::new(),
            counted: Vec::new(),
            found: None,
            place: None,
            moves: None,
            origin: Vec::new(),
            loss,
        }
    }
}
