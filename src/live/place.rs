//! Where each rank of a trace is, or was when the trace ended: out of its records, the words of its threads and the
//! state of the rank.

use std::collections::HashMap;

use mpitrace_format::layout::{
    AwaitedMessage, LastStamp, OPERATION_MASK, PartnerEntry, activity, awaited, communicator_flags, partner, state,
};
use mpitrace_format::metadata;
use mpitrace_functions::{Form, Function, Pattern};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::{CallSite, Operations};
use mpitrace_trace::partners::Partners;
use mpitrace_trace::reader::{Part, Trace};

use super::process::Process;
use super::snapshot::{CommunicatorNow, FINALIZE, INIT, MessageWait, Partner, RankNow, Snapshot, State, Wait};

/// The process of a rank, as it was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Seen {
    /// Nothing: a trace.
    #[default]
    Nothing,
    /// It has ended, or another process has its number.
    Ended,
    /// It lives.
    Lives(Process),
}

/// How the names of functions begin in which a rank waits for its requests.
const WAITS: [&str; 3] = ["MPI_Wait", "MPI_Test", "MPI_Request_get_status"];

/// The positions from this one on are not counted on the communicator: starts of persistent requests, and regions.
pub(super) const OF_THEIR_OWN: u64 = 1 << 63;

/// The last call of a rank is looked for among so many last records.
const LAST: usize = 64;

/// A thread that has polled within so many seconds goes on polling.
const POLLED_S: f64 = 3.0;

/// True if the rank of a part does nothing but poll, so many seconds after this tick, and so waits for what it polls.
/// Another thread that has called MPI may make what it waits for go on. Of a trace that is known where `mpitrace run`
/// saw it.
fn only_polls(part: &Part, seen: &Seen, since_s: impl Fn(u64) -> Option<f64>) -> bool {
    let ([_], [last], [polls]) = (part.threads(), part.last_stamps(), part.polls()) else { return false };
    let is_fresh = || since_s(last.tick).is_some_and(|seconds| seconds < POLLED_S);
    let polled = match seen {
        Seen::Lives(_) => is_fresh(),
        Seen::Nothing => polled_s(part).is_some_and(|seconds| seconds >= POLLED_S),
        Seen::Ended => false,
    };
    polled && last.inside == LastStamp::POLLING && polls.since > 0
}

/// For so long `mpitrace run` saw the rank of a part do nothing but poll before it ended, s.
pub(super) fn polled_s(part: &Part) -> Option<f64> {
    let ns: u64 = metadata::get(&part.metadata(), metadata::POLLED_NS)?.parse().ok()?;
    Some(ns as f64 / 1e9)
}

/// Where the ranks of a trace are. `seen` has an entry for each part; a trace that a job left behind has none.
///
/// In a segment that was copied the rank's last anchor is the present: [`RankNow::unmoved_s`] is then the time since
/// the rank has entered or left a recorded call. In a trace it is infinite.
pub fn snapshot(trace: &Trace, operations: &Operations, clock: &Clock, seen: &[Seen]) -> Snapshot {
    let mut numbers: HashMap<(usize, usize), usize> = HashMap::new();
    for communicator in &operations.communicators {
        for &member in &communicator.members {
            numbers.insert(member, communicator.id);
        }
    }
    let is_live = !seen.is_empty();
    let partners = Partners::new(trace, operations);
    let ranks = trace.parts.iter().enumerate().map(|(index, part)| {
        let seen = seen.get(index).unwrap_or(&Seen::Nothing);
        let since_s =
            |tick| is_live.then(|| clock.of_part(index).duration_ns(tick, part.info().last_anchor.tick) / 1e9);
        let doing = Doing::new(part, only_polls(part, seen, since_s));
        let mut now = rank_now(part, &doing, seen, &|entry| numbers.get(&(index, entry)).copied(), &since_s);
        if matches!(now.state, State::Finalize | State::Ended) {
            now.last_call = doing.last_call();
            now.interpreter = interpreter(part);
        }
        if matches!(now.state, State::InCall | State::OtherMpi) {
            let waited_for = || doing.waited_for.first().copied().filter(|_| !now.waits.is_empty());
            let record = doing.earliest().or_else(waited_for);
            let of_record = record.and_then(|record| doing.call_site(record));
            now.call_site = of_record.or(doing.site.clone()).map(|site| site.to_string());
            let inside = doing.earliest().or(doing.starting);
            let operator = |record| part.text(part.operations()[doing.entry(record)].reduction);
            now.has_null_operator = inside.and_then(operator).is_some_and(|operator| operator == "MPI_OP_NULL");
        }
        if now.state == State::OtherMpi && now.waits_for_some_rank() {
            (now.messages, now.has_more_messages) = messages(trace, index, &partners);
        }
        if let Seen::Lives(process) = seen
            && process.sleeps()
        {
            now.waits_in = process.threads.iter().filter_map(|thread| thread.waits_in.clone()).collect();
        }
        if !is_live {
            let known = part.metadata();
            now.ended = metadata::get(&known, metadata::ENDED).and_then(|end| end.parse().ok());
            let stacks = metadata::get(&known, metadata::STACKS).into_iter().flat_map(|stacks| stacks.split("\n\n"));
            let why_not = metadata::get(&known, metadata::NO_STACK).map(|why| Err(why.to_owned()));
            now.stacks = stacks.map(|frames| Ok(frames.lines().map(str::to_owned).collect())).chain(why_not).collect();
        }
        now
    });
    let ranks = ranks.collect();
    let known = |name| trace.parts.iter().find_map(|part| metadata::get(&part.metadata(), name).map(str::to_owned));
    let mut snapshot = Snapshot {
        ranks,
        world_size: trace.world_size,
        communicators: communicators(trace, operations),
        mismatches: operations.mismatches.clone(),
        // Of a rank whose end was not seen it is not known.
        exit_code: (!is_live).then(|| known(metadata::EXIT_CODE)?.parse().ok()).flatten(),
        library: known("library").unwrap_or_default(),
        has_standard_abi: known("abi").is_some_and(|abi| abi == "standard"),
    };
    snapshot.mark_lost_launcher();
    snapshot
}

/// The tick at which the rank entered the recorded call that it is inside of; `None`: it is in none.
pub(super) fn inside_since(part: &Part) -> Option<u64> {
    let doing = Doing::new(part, false);
    doing.earliest().map(|record| doing.enter(record))
}

/// Programs that run scripts, by how their names begin. They call MPI_Finalize behind an exception too.
const INTERPRETERS: [&str; 3] = ["python", "julia", "Rscript"];

/// The interpreter that the rank runs, by its file's name.
fn interpreter(part: &Part) -> Option<String> {
    let known = part.metadata();
    let program = metadata::get(&known, "command")?.split(' ').next()?;
    let file = program.rsplit('/').next().unwrap_or(program);
    INTERPRETERS.iter().any(|name| file.starts_with(name)).then(|| file.to_owned())
}

/// The calls of the threads of a rank.
struct Doing<'p> {
    part: &'p Part,
    /// Records of calls that a rank waits in: blocking calls that have not returned, each the last one of its thread.
    inside: Vec<usize>,
    /// Records of requests that are not complete, and without which a Wait call of the rank does not return.
    waited_for: Vec<usize>,
    /// The record of a request whose start has not returned.
    starting: Option<usize>,
    /// The kind and the function of the thread that is in MPI outside of the recorded calls.
    activity: (u32, Option<String>),
    /// Where the program makes that call, or starts the request; `None`: not recorded.
    site: Option<CallSite>,
    /// The last tick of any recorded call.
    last: Option<u64>,
}

impl<'p> Doing<'p> {
    /// `polls`: [`only_polls`].
    fn new(part: &'p Part, polls: bool) -> Doing<'p> {
        // The last record of each thread.
        let mut last_of_thread: HashMap<u32, usize> = HashMap::new();
        let mut end = 0;
        for run in part.runs() {
            end += run.count as usize;
            if run.count > 0 {
                last_of_thread.insert(run.thread, end - 1);
            }
        }
        let last_of_thread: Vec<usize> = last_of_thread.into_values().collect();
        let mut doing = Doing {
            part,
            inside: Vec::new(),
            waited_for: Vec::new(),
            starting: None,
            activity: (0, None),
            site: None,
            last: None,
        };
        let has_returned = |record| part.request_of(record).is_some_and(|request| request.init > 0);
        for block in part.blocks() {
            let [enter, exit] = block.times();
            doing.last = enter.iter().chain(&exit).copied().chain(doing.last).max();
            for open in block.open() {
                let record = block.range.start + open;
                if Form::of_name(&doing.function(record)).has_request() {
                    doing.waited_for.extend(Some(record).filter(|&record| part.is_waited_for(record)));
                    if last_of_thread.contains(&record) && !has_returned(record) {
                        doing.starting = Some(record);
                    }
                } else if last_of_thread.contains(&record) {
                    doing.inside.push(record);
                }
            }
        }
        // Between two polls a thread keeps the word of the function.
        let is_between = |thread: usize| {
            !polls && part.last_stamps().get(thread).is_some_and(|last| last.inside == LastStamp::POLLING)
        };
        let words = part.threads().iter().map(|thread| activity::decoded(thread.activity)).enumerate();
        let words = words.filter(|(thread, (kind, _))| *kind != activity::COMPUTING && !is_between(*thread));
        if let Some((kind, name)) = words.map(|(_, word)| word).max_by_key(|(kind, _)| *kind) {
            let text = part.text(name);
            let named = text.as_deref().map(|text| text.split_once(' ').unwrap_or((text, "")));
            doing.activity = (kind, named.map(|(function, _)| function.to_owned()));
            doing.site = named.and_then(|(_, site)| CallSite::parse(site));
        }
        if let Some(record) = doing.starting.filter(|_| doing.site.is_none()) {
            doing.site = doing.call_site(record);
        }
        doing
    }

    fn entry(&self, record: usize) -> usize {
        (self.part.operation_of(record) & OPERATION_MASK) as usize
    }

    fn function(&self, record: usize) -> String {
        let operation = self.part.operations()[self.entry(record)];
        self.part.text(operation.function).unwrap_or_else(|| "?".to_owned())
    }

    /// Where the program makes the call; `None`: not recorded.
    fn call_site(&self, record: usize) -> Option<CallSite> {
        self.part.text(self.part.operations()[self.entry(record)].call_site).and_then(|text| CallSite::parse(&text))
    }

    /// The last call that other ranks may wait in, with its place in the program where that is recorded.
    fn last_call(&self) -> Option<String> {
        let waits_for_none = |function: &str| Function::named(function).is_none_or(|of| of.pattern == Pattern::None);
        let records = (0..self.part.records()).rev().take(LAST);
        let waited = records.filter(|&record| !waits_for_none(&self.function(record)));
        let record = waited.max_by_key(|&record| self.enter(record))?;
        let site = self.call_site(record).map(|site| format!(" by {site}")).unwrap_or_default();
        Some(format!("{}{site}", self.function(record)))
    }

    /// The record of the call that was entered first, of those that the rank is inside of.
    fn earliest(&self) -> Option<usize> {
        self.inside.iter().copied().min_by_key(|&record| self.enter(record))
    }

    fn enter(&self, record: usize) -> u64 {
        self.part.times_of(record).0
    }

    /// The call as one that other ranks have to come to; `None` where positions say nothing of that.
    fn wait(&self, record: usize, number: &dyn Fn(usize) -> Option<usize>) -> Option<Wait> {
        let sequence = self.part.position_of(record);
        let entry = self.part.operations()[self.entry(record)].communicator as usize;
        let is_folded = self.part.communicators()[entry].flags & communicator_flags::FOLDED != 0;
        let communicator = number(entry).filter(|_| sequence < OF_THEIR_OWN && !is_folded)?;
        let function = Function::named(&self.function(record)).map(|function| function.name);
        Some(Wait { function, communicator: Some(communicator), sequence: Some(sequence) })
    }

    /// A collective call that is not kept, while recording is paused or the arrays are full: the last one on the
    /// communicator, where the rank calls this function on one alone.
    fn unkept(&self, function: &str, number: &dyn Fn(usize) -> Option<usize>) -> Option<Wait> {
        let known = Function::named(function).filter(|function| !function.form.has_request())?;
        let part = self.part;
        let of_function =
            part.operations().iter().filter(|entry| part.text(entry.function).as_deref() == Some(function));
        let mut entries: Vec<u32> = of_function.map(|entry| entry.communicator).collect();
        entries.dedup();
        let &[entry] = &entries[..] else { return None };
        let calls = part.communicators()[entry as usize].calls;
        let (communicator, sequence) = (number(entry as usize)?, calls.checked_sub(1)?);
        Some(Wait { function: Some(known.name), communicator: Some(communicator), sequence: Some(sequence) })
    }
}

fn rank_now(
    part: &Part,
    doing: &Doing<'_>,
    seen: &Seen,
    number: &dyn Fn(usize) -> Option<usize>,
    since_s: &dyn Fn(u64) -> Option<f64>,
) -> RankNow {
    let earliest = doing.earliest();
    let (kind, mut function) = doing.activity.clone();
    let mut waits: Vec<Wait> = doing.inside.iter().filter_map(|&record| doing.wait(record, number)).collect();
    let mut since = doing.last;
    let in_mpi = match earliest {
        Some(record) => {
            (function, since) = (Some(doing.function(record)), Some(doing.enter(record)));
            Some(State::InCall)
        }
        None if kind == activity::COMPUTING => doing.starting.map(|record| {
            (function, since) = (Some(doing.function(record)), Some(doing.enter(record)));
            State::OtherMpi
        }),
        None => {
            let unkept = function.as_deref().and_then(|function| doing.unkept(function, number));
            // A Wait that was left by longjmp leaves its marks.
            let is_wait = |name: &str| WAITS.iter().any(|begin| name.starts_with(begin));
            let is_in_wait = kind == activity::POINT_TO_POINT && function.as_deref().is_some_and(is_wait);
            let waited_for = doing.waited_for.iter().filter_map(|&record| doing.wait(record, number));
            let is_collective = unkept.is_some();
            if is_collective {
                // When it was entered is not kept.
                since = None;
            }
            waits = unkept.into_iter().chain(waited_for.filter(|_| is_in_wait)).collect();
            Some(if is_collective { State::InCall } else { State::OtherMpi })
        }
    };
    let between = match seen {
        Seen::Lives(process) if process.sleeps() => State::OffProcessor,
        _ => State::Computing,
    };
    let of_rank = match part.info().state {
        state::STARTING => Some(State::Init),
        state::FINALIZING => Some(State::Finalize),
        state::FINALIZED | state::OUT_OF_MEMORY => Some(State::Ended),
        state::ABORTED => Some(State::Abort),
        state::SESSION => Some(in_mpi.unwrap_or(State::Session)),
        _ => None,
    };
    let state = match seen {
        Seen::Ended if of_rank != Some(State::Ended) => State::Dead,
        Seen::Lives(process) if process.is_stopped() => State::Stopped,
        _ => of_rank.or(in_mpi).unwrap_or(between),
    };
    match state {
        State::Finalize => {
            let wait = Wait { function: Some(FINALIZE), communicator: None, sequence: None };
            (function, waits) = (Some(FINALIZE.to_owned()), vec![wait])
        }
        State::Abort => (function, waits) = (Some(ABORT.to_owned()), Vec::new()),
        State::Init => (function, waits) = (Some(INIT.to_owned()), Vec::new()),
        _ => {}
    }
    let since_s = since.and_then(since_s).filter(|seconds| *seconds >= 0.0);
    RankNow {
        function,
        in_point_to_point: kind == activity::POINT_TO_POINT && earliest.is_none(),
        in_error_handler: kind == activity::ERROR_HANDLER,
        has_threads: part.threads().len() > 1,
        is_of_trace: *seen == Seen::Nothing,
        waits,
        since_s,
        unmoved_s: since_s.unwrap_or(f64::INFINITY),
        ..RankNow::new(part.rank(), state)
    }
}

/// The messages that the rank of a part waits for, and true if there are more. Which of several threads has to wait for
/// which is not concluded.
fn messages(trace: &Trace, index: usize, partners: &Partners) -> (Vec<MessageWait>, bool) {
    let part = &trace.parts[index];
    let [_] = part.threads() else { return (Vec::new(), false) };
    let listed = part.awaited(0);
    let wait = |message: &AwaitedMessage| {
        let any = partner::any_source(message.partner);
        let world_rank = partners.world_rank(index, message.partner);
        let place = match message.flags & awaited::WINDOW {
            0 => partner::place(message.partner).map(|(communicator, _)| communicator),
            _ => u32::try_from(message.tag).ok(),
        };
        let local = any.or(place);
        let communicator = local.and_then(|local| partners.communicator(index, local));
        let receives = message.flags & awaited::RECEIVE != 0;
        MessageWait {
            partner: match (any, world_rank) {
                (Some(_), _) => Partner::Any,
                (None, Some(rank)) => Partner::Rank(rank),
                (None, None) => partners.member(index, message.partner).map_or(Partner::Unknown, Partner::Member),
            },
            tag: message.tag,
            communicator,
            receives,
            sends: message.flags & awaited::SEND != 0,
            sent: world_rank
                .filter(|_| receives)
                .and_then(|from| sent(trace, partners, from, part.rank(), communicator?)),
        }
    };
    let is_cut = listed.last().is_some_and(|message| message.flags & awaited::CUT != 0);
    (listed.iter().map(wait).collect(), is_cut)
}

/// The messages that one rank has sent another on a communicator.
fn sent(trace: &Trace, partners: &Partners, from: u32, to: u32, communicator: usize) -> Option<u64> {
    let index = trace.parts.binary_search_by_key(&from, |part| part.rank()).ok()?;
    let is_to = |with: u64| {
        let on = partner::place(with).and_then(|(local, _)| partners.communicator(index, local));
        partners.world_rank(index, with) == Some(to) && on == Some(communicator)
    };
    let entries = trace.parts[index].partners();
    are_all_sent(entries).then(|| entries.iter().filter(|entry| is_to(entry.partner)).map(|entry| entry.messages).sum())
}

/// False: there are messages to ranks beyond the bound of the table, which may be to any.
pub(super) fn are_all_sent(entries: &[PartnerEntry]) -> bool {
    !entries.iter().any(|entry| matches!(entry.partner, partner::UNKNOWN | partner::OTHERS) && entry.messages > 0)
}

const ABORT: &str = "MPI_Abort";

fn communicators(trace: &Trace, operations: &Operations) -> Vec<CommunicatorNow> {
    let of = |communicator: &mpitrace_trace::operations::Communicator| {
        let begun = |&(part, entry): &(usize, usize)| {
            let part = &trace.parts[part];
            (part.rank(), part.communicators()[entry].calls)
        };
        let members = if communicator.folded { Vec::new() } else { communicator.members.iter().map(begun).collect() };
        CommunicatorNow { name: communicator.name.clone(), size: communicator.size, members }
    };
    operations.communicators.iter().map(of).collect()
}
