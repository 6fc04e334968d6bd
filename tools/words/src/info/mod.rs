//! The results of `info`, as the keys of its JSON.

pub mod ends;
pub mod interruptions;
pub mod nodes;
pub mod requested;
pub mod samples;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use mpitrace_analysis::messages::{self, Messages, Unmatched};
use mpitrace_analysis::run::Run;
use mpitrace_format::layout::{
    CounterEntry, RankHeader, abi, clock_source, counter_flags, counter_source, keeps, message,
};
use mpitrace_format::metadata::{self, Metadata, UNKNOWN};
use mpitrace_live as live;
use mpitrace_live::{Snapshot, Stuck, StuckKind};
use mpitrace_synchronise::Method;
use mpitrace_trace::call_site::Site;
use mpitrace_trace::call_site::built;
use mpitrace_trace::calls::algorithms::{Seen, Visible};
use mpitrace_trace::calls::whole_run::{self, AllCalls};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::{CallSite, Mismatch, Operation, Operations, Unfinished};
use mpitrace_trace::reader::{Part, Trace};
use mpitrace_trace::undone::Undone;
use requested::Requested;
use serde::Serialize;

use crate::base::description::Description;
use crate::info::ends::EndFacts;
use crate::info::interruptions::Interruptions;
use crate::info::samples::SampleFacts;
use crate::job::deaths;
use crate::job::ended::Ended;
use crate::job::mismatches;
use crate::job::places::{self, StuckFacts, WhereFacts};

/// The facts of a trace, by the keys of JSON.
#[derive(Debug, Serialize)]
pub struct Facts {
    /// The ranks that are in the trace.
    pub ranks: u32,
    /// The size of MPI_COMM_WORLD.
    pub world_size: u32,
    /// Calls whose records are in the trace.
    pub records: u64,
    /// Calls that were not kept.
    pub dropped: u64,
    /// Calls whose records went with a process that was killed.
    pub lost: u64,
    /// Calls made while the program had paused recording.
    pub paused: u64,
    /// Calls that returned an error of functions that are recorded.
    pub failed: u64,
    /// Calls that returned an error of other functions.
    pub failed_others: u64,
    /// Calls that the tracer may have delayed.
    pub perturbed: u64,
    /// True if every rank came to `MPI_Finalize` and every part is there and whole.
    pub complete: bool,
    /// The faults of an incomplete trace, a line each.
    pub problems: Vec<String>,
    /// The ranks that left nothing in the trace.
    pub missing: Vec<u32>,
    /// The job's nodes without a rank in the trace, where the batch system named its nodes and ranks are missing.
    pub missing_hosts: Vec<String>,
    /// The binary interface of the MPI library; `null`: not known.
    pub abi: Option<&'static str>,
    /// The MPI library's own words on its version.
    pub library: String,
    /// The names of the counters.
    pub counters: Vec<String>,
    /// Counters that were asked for and not counted on some rank, or not in full, and why.
    pub counters_limited: BTreeMap<String, String>,
    /// Totals of the counters of messages and their time from MPI_Init on, also behind the last collective.
    pub counter_totals: BTreeMap<String, TotalFacts>,
    /// Events that shared their counter with others: values are scaled up.
    pub counters_scaled: BTreeSet<String>,
    /// The facts of the clocks.
    pub clock: ClockFacts,
    /// The interruptions of the threads.
    pub interruptions: Interruptions,
    /// The samples that `mpitrace run` took; `null`: none were to be taken.
    pub samples: Option<SampleFacts>,
    /// By node, its world ranks.
    pub hosts: BTreeMap<String, Vec<u32>>,
    /// By the processors that they may run on, the world ranks.
    pub affinity: BTreeMap<String, Vec<u32>>,
    /// The least and the largest frequency (kHz) that the kernel stated in MPI_Init of a rank's processor; `null`: of
    /// none.
    pub frequency_khz: Option<[u64; 2]>,
    /// The settings of the tracer.
    pub settings: Settings,
    /// The run metadata: names and values.
    pub factors: BTreeMap<String, String>,
    /// The operations, in order.
    pub operations: Vec<OperationFacts>,
    /// Operations of which not all calls were kept, with those that were not.
    pub all_calls: Vec<AllCalls>,
    /// The records of messages; `null`: none were recorded.
    pub messages: Option<MessageFacts>,
    /// Calls at one position of a communicator that may not belong together, of each communicator the first 64.
    pub mismatches: Vec<Mismatch>,
    /// How many there are.
    pub mismatched: u64,
    /// Calls left out and requests not completed by a program that ended by itself.
    #[serde(flatten)]
    pub undone: Undone,
    /// The repetitions that some rank entered and did not leave.
    pub unfinished: Vec<Unfinished>,
    /// Where the ranks were when an incomplete trace ended.
    #[serde(rename = "where")]
    pub places: Vec<WhereFacts>,
    /// Which ranks others waited for then.
    pub stuck: Option<StuckFacts>,
    /// The verdict in words, where no other line says it.
    #[serde(skip)]
    pub verdict: Option<String>,
    /// How ranks died, or the launcher ended the job, in words.
    #[serde(skip)]
    pub deaths: Option<String>,
    /// No rank died, and the launcher killed all.
    #[serde(skip)]
    pub ended_by_launcher: bool,
    /// Ranks that did not end well and are in no recorded call.
    pub outside: Vec<u32>,
    /// When the time of each rank ended, in an incomplete trace.
    pub ends: Vec<EndFacts>,
    /// How the job ended; null: by MPI_Finalize.
    pub ended: Option<Ended>,
}

/// Counts of the recorded messages.
#[derive(Debug, Serialize)]
pub struct MessageFacts {
    /// Messages whose sender and receiver were both found.
    pub messages: usize,
    /// Records: one for each message of a call.
    pub records: usize,
    /// Calls whose records were not kept.
    pub dropped: u64,
    /// Calls whose partner or tag is not known, since too many were met.
    pub folded: u64,
    /// Messages of which one side alone was found.
    pub unmatched: Vec<UnmatchedFacts>,
}

/// A message of which one side alone was found, with the name of its communicator.
#[derive(Debug, Serialize)]
pub struct UnmatchedFacts {
    /// The message.
    #[serde(flatten)]
    pub unmatched: Unmatched,
    /// The communicator's name; `null`: not known.
    pub communicator: Option<String>,
}

impl MessageFacts {
    fn new(run: &Run) -> Option<MessageFacts> {
        let Run { trace, operations, .. } = run;
        if !messages::are_recorded(trace) {
            return None;
        }
        let Messages { calls, messages, unmatched } = run.messages();
        let records = calls.iter().map(Vec::len).sum();
        let made: u64 = trace.parts.iter().map(Part::message_calls).sum();
        let entries = trace.parts.iter().flat_map(Part::message_operations);
        let folded = entries.filter(|entry| entry.flags & message::FOLDED != 0).map(|entry| entry.calls).sum();
        let named = |unmatched: Unmatched| {
            let communicator = unmatched.communicator.map(|id| operations.communicators[id].name.clone());
            UnmatchedFacts { unmatched, communicator }
        };
        Some(MessageFacts {
            messages: messages.len(),
            records,
            dropped: made.saturating_sub(records as u64),
            folded,
            unmatched: unmatched.iter().cloned().map(named).collect(),
        })
    }
}

/// The total of a counter over a run.
#[derive(Debug, Default, Serialize)]
pub struct TotalFacts {
    /// The unit that it counts in.
    pub unit: String,
    /// The sum over all ranks.
    pub total: u64,
    /// By world rank, its part of the sum.
    pub ranks: BTreeMap<u32, u64>,
}

/// The clocks of a run.
#[derive(Debug, Serialize)]
pub struct ClockFacts {
    /// The counter that time stamps are read from; `null`: the ranks read different ones.
    pub source: Option<&'static str>,
    /// How fast it ticks, Hz; `null`: there is no rank.
    pub frequency_hz: Option<f64>,
    /// How the clocks were synchronised.
    #[serde(serialize_with = "mpitrace_show::output::method_name")]
    pub method: Method,
    /// The ranks that share a clock, one list for each clock.
    pub domains: Vec<Vec<u32>>,
    /// How far the clocks of the first domain's ranks can be apart without its having shown.
    pub tested_ns: Option<f64>,
    /// From MPI_Init to MPI_Finalize on the lowest rank.
    pub duration_ns: Option<f64>,
}

/// The settings of the tracer in a run.
#[derive(Debug, Serialize)]
pub struct Settings {
    /// How many calls a rank can keep in memory.
    pub capacity: u64,
    /// Which calls are kept.
    pub keeps: &'static str,
}

/// An operation with what `info` says of it.
#[derive(Debug, Serialize)]
pub struct OperationFacts {
    /// The operation.
    #[serde(flatten)]
    pub description: Description,
    /// The place in the program that calls it, where the run has told places apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_site: Option<SiteFacts>,
    /// Complete repetitions after a mismatch, whose calls may be matched incorrectly.
    #[serde(skip_serializing_if = "is_zero")]
    pub doubtful: u64,
    /// The algorithms that the MPI library took, with the calls of all ranks: `None` inside where they are not visible,
    /// not there for what is no collective.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[allow(clippy::option_option, reason = "JSON tells null from what is not there")]
    pub algorithms: Option<Option<BTreeMap<String, u64>>>,
    /// The algorithm that a variable asks for, of a library that does not tell the one that it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_algorithm: Option<Requested>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A call site, with the words for it.
#[derive(Debug, Serialize)]
pub struct SiteFacts {
    #[serde(flatten)]
    site: Site,
    /// The site, as the text has it.
    pub text: String,
}

impl From<&CallSite> for SiteFacts {
    fn from(call_site: &CallSite) -> SiteFacts {
        let site = Site::clone(&call_site.resolve());
        SiteFacts { text: site.to_string(), site }
    }
}

impl Facts {
    /// Collects them. What differs between ranks is that of the lowest.
    pub fn new(run: &Run) -> Facts {
        let Run { trace, operations, clock, .. } = run;
        let first = trace.parts.first();
        let factors = first.map(built::metadata).unwrap_or_default();
        let unfinished = operations.unfinished(trace);
        let (snapshot, stuck) = match trace.complete {
            true => (Snapshot::default(), None),
            false => live::at_the_end(trace, operations, clock),
        };
        let knot = stuck.as_ref().map_or_else(Vec::new, |stuck| live::held_by(&snapshot, stuck));
        let ends = ends::all(trace, clock, operations, &knot);
        let sum = |of_thread: fn(&mpitrace_format::layout::ThreadEntry) -> u64| -> u64 {
            trace.parts.iter().flat_map(|part| part.threads()).map(of_thread).sum()
        };
        Facts {
            ranks: trace.world_size,
            world_size: trace.world_size,
            records: trace.records(),
            dropped: trace.dropped(),
            lost: trace.lost(),
            paused: sum(|thread| thread.paused),
            failed: sum(|thread| thread.failed.into()),
            failed_others: sum(|thread| thread.failed_others.into()),
            perturbed: trace.parts.iter().map(Part::delayed).sum(),
            complete: trace.complete,
            problems: trace.problems.clone(),
            missing: trace.missing.iter().cloned().flatten().collect(),
            missing_hosts: nodes::missing(trace, &factors),
            abi: first.and_then(|part| abi_name(part.info().abi)),
            library: metadata::get(&factors, "library").unwrap_or(UNKNOWN).to_owned(),
            counters: first.map(|part| part.counter_columns().map(|(name, _)| name).collect()).unwrap_or_default(),
            counters_limited: limited(trace),
            counter_totals: totals(trace),
            counters_scaled: scaled(trace),
            clock: ClockFacts::new(trace, clock),
            interruptions: Interruptions::new(trace),
            samples: None,
            hosts: by_rank(trace, "host"),
            frequency_khz: frequency_khz(by_rank(trace, "frequency_khz").keys()),
            affinity: by_rank(trace, "affinity"),
            settings: first.map_or(Settings::DEFAULT, |part| Settings::new(part.info())),
            factors: factors.into_iter().collect(),
            operations: operation_facts(trace, operations),
            all_calls: whole_run::all_calls(trace, operations, clock),
            messages: MessageFacts::new(run),
            undone: operations.undone(trace),
            mismatched: operations.mismatched(),
            places: WhereFacts::all(&snapshot),
            verdict: stuck.as_ref().and_then(|stuck| verdict(&snapshot, stuck, &operations.mismatches)),
            deaths: deaths::deaths(&snapshot),
            ended_by_launcher: snapshot.ended_by_launcher().is_some(),
            mismatches: operations.mismatches.clone(),
            outside: outside(trace, &unfinished),
            ended: Ended::new(&snapshot, stuck.as_ref(), &ends),
            ends,
            stuck: stuck.map(|stuck| StuckFacts::new(&snapshot, &stuck)),
            unfinished,
        }
    }
}

impl Facts {
    /// With the samples beside the files of the trace.
    pub fn with_samples(mut self, trace: &Trace, files: &[PathBuf]) -> Facts {
        self.samples = SampleFacts::new(trace, files);
        self
    }
}

/// How a job ended; `None`: by MPI_Finalize.
pub fn ended(run: &Run) -> Option<Ended> {
    let Run { trace, operations, clock, .. } = run;
    if trace.complete {
        return None;
    }
    let (snapshot, stuck) = live::at_the_end(trace, operations, clock);
    Ended::new(&snapshot, stuck.as_ref(), &ends::all(trace, clock, operations, run.knot()))
}

/// The verdict in words. Deaths and the first mismatches have lines of their own.
fn verdict(snapshot: &Snapshot, stuck: &Stuck, mismatches: &[Mismatch]) -> Option<String> {
    match (stuck.kind, snapshot.name(stuck.communicator), stuck.sequence) {
        (StuckKind::Mismatch, Some(name), Some(sequence)) => mismatches::line_beyond(mismatches, name, sequence),
        (StuckKind::DeadRank, ..) if deaths::deaths(snapshot).is_some() => None,
        _ => Some(places::sentence(snapshot, stuck)),
    }
}

impl Settings {
    const DEFAULT: Settings = Settings { capacity: 1 << 20, keeps: "all" };

    fn new(info: &RankHeader) -> Settings {
        let keeps = if info.keeps == keeps::SAMPLE { "sample" } else { "all" };
        Settings { capacity: info.capacity, keeps }
    }
}

/// The name of the counter that a rank reads its time stamps from; `None`: not a known one.
pub fn clock_name(info: &RankHeader) -> Option<&'static str> {
    match info.clock_source {
        clock_source::TSC => Some("tsc"),
        clock_source::CNTVCT => Some("cntvct"),
        clock_source::MONOTONIC_RAW => Some("monotonic_raw"),
        _ => None,
    }
}

impl ClockFacts {
    fn new(trace: &Trace, clock: &Clock) -> ClockFacts {
        let info = trace.parts.first().map(|part| part.info());
        let duration = info
            .filter(|_| !trace.parts[0].incomplete())
            .map(|info| clock.of_part(0).duration_ns(info.first_anchor.tick, info.last_anchor.tick));
        ClockFacts {
            source: info.and_then(clock_name),
            frequency_hz: info.map(|_| clock.of_part(0).frequency_hz()),
            method: clock.method,
            domains: clock.domains.clone(),
            tested_ns: info
                .filter(|info| info.domain_error > 0)
                .map(|info| clock.of_part(0).ticks_ns(info.domain_error)),
            duration_ns: duration.filter(|&duration| duration > 0.0),
        }
    }
}

fn operation_facts(trace: &Trace, operations: &Operations) -> Vec<OperationFacts> {
    let factors: Metadata = trace.parts.first().map(|part| part.metadata()).unwrap_or_default();
    let visible = Visible::new(trace);
    let facts = |(description, operation): (Description, &Operation)| OperationFacts {
        requested_algorithm: Requested::new(&factors, &description.function, description.bytes, description.ranks),
        description,
        call_site: operation.key.call_site.as_ref().map(SiteFacts::from),
        doubtful: operation.doubtful,
        algorithms: algorithms(trace, operation, &visible.of(&operation.key.function)),
    };
    Description::all(trace, operations).into_iter().zip(&operations.operations).map(facts).collect()
}

#[allow(clippy::option_option, reason = "the outer one: it is no collective")]
fn algorithms(trace: &Trace, operation: &Operation, seen: &Seen) -> Option<Option<BTreeMap<String, u64>>> {
    let named = || seen.calls(trace, operation).map(|calls| calls.into_iter().map(|(one, n)| (one.to_string(), n)));
    (*seen != Seen::Never).then(|| named().map(Iterator::collect))
}

fn abi_name(number: u32) -> Option<&'static str> {
    match number {
        abi::OPENMPI => Some("openmpi"),
        abi::MPICH => Some("mpich"),
        abi::STANDARD => Some("standard"),
        _ => None,
    }
}

/// The least and the largest of the ranks' frequencies that are known.
fn frequency_khz<'a>(values: impl Iterator<Item = &'a String>) -> Option<[u64; 2]> {
    let known = values.filter_map(|value| value.parse().ok());
    known.fold(None, |found: Option<[u64; 2]>, khz| {
        let [least, most] = found.unwrap_or([khz; 2]);
        Some([least.min(khz), most.max(khz)])
    })
}

/// The values of a factor that every rank has of its own, with the ranks that have them.
fn by_rank(trace: &Trace, name: &str) -> BTreeMap<String, Vec<u32>> {
    let mut values: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for part in &trace.parts {
        let factors: Metadata = part.metadata();
        let value = metadata::get(&factors, name).unwrap_or(UNKNOWN);
        values.entry(value.to_owned()).or_default().push(part.rank());
    }
    values
}

fn outside(trace: &Trace, unfinished: &[Unfinished]) -> Vec<u32> {
    let mut ranks: Vec<u32> = trace.parts.iter().filter(|part| part.incomplete()).map(|part| part.rank()).collect();
    let inside: HashSet<u32> = unfinished.iter().flat_map(|call| call.inside.iter().copied()).collect();
    ranks.retain(|rank| !inside.contains(rank));
    ranks
}

fn limited(trace: &Trace) -> BTreeMap<String, String> {
    let of_part = |part: &Part| -> Vec<(String, String)> {
        let entries = part.counters().iter().filter(|entry| entry.reason != 0);
        entries.filter_map(|entry| Some((part.text(entry.name)?, part.text(entry.reason)?))).collect()
    };
    trace.parts.iter().flat_map(of_part).collect()
}

fn totals(trace: &Trace) -> BTreeMap<String, TotalFacts> {
    let mut totals: BTreeMap<String, TotalFacts> = BTreeMap::new();
    for part in &trace.parts {
        let counted = |entry: &&CounterEntry| entry.source == counter_source::MESSAGES && entry.column > 0;
        for entry in part.counters().iter().filter(counted) {
            let Some(name) = part.text(entry.name) else { continue };
            let of_all = totals.entry(name).or_default();
            of_all.unit = part.text(entry.unit).unwrap_or_default();
            of_all.total = of_all.total.saturating_add(entry.total);
            of_all.ranks.insert(part.rank(), entry.total);
        }
    }
    totals
}

fn scaled(trace: &Trace) -> BTreeSet<String> {
    let of_part = |part: &Part| -> Vec<String> {
        let entries = part.counters().iter().filter(|entry| entry.flags & counter_flags::SCALED != 0);
        entries.filter_map(|entry| part.text(entry.name)).collect()
    };
    trace.parts.iter().flat_map(of_part).collect()
}
