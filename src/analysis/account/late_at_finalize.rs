//! The rank for which others wait in MPI_Finalize, and why it came late: what it did since its last recorded call.

use mpitrace_format::layout::interruption_flags::{BETWEEN, TIMED, WAITING};
use mpitrace_format::layout::{InterruptionEntry, NO_RECORD, OPERATION_MASK, elsewhere, recorded, wait_class};
use mpitrace_trace::clock::{Clock, RankClock};
use mpitrace_trace::reader::{Part, Trace};

use super::late::{Late, Longer, Wait};
use super::meeting::Meeting;
use super::member::{OF_ONE_RANK, PlaceOfCall, place_of_call};
use super::{LatePartner, RankAccount, RankPart};
use crate::messages::MessageWait;
use crate::messages::waits::{chain, within};
use crate::reasons::{Gap, InCalls, Off};

/// A rank that enters MPI_Finalize last, while others wait for it there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LateAtFinalize {
    /// The world rank.
    pub rank: u32,
    /// The time that the others waited, and the reasons.
    pub late: Late,
    /// When each rank entered it, by part, global time, ns.
    pub(crate) entries: Vec<f64>,
    /// The index of the late rank's part.
    pub(crate) part: usize,
    /// When it left its last recorded call, or MPI_Init, global time, ns.
    left_ns: f64,
    /// The ranks for which it waited in point-to-point calls since then, one for the other, to the one with which that
    /// begins.
    pub(crate) chain: Vec<u32>,
}

/// The smallest share of the ranks' time of which the reasons are looked for.
const WORTH: f64 = 0.001;

impl LateAtFinalize {
    /// `None`: no rank waited. `ranks`: the account of each part.
    pub(super) fn new(trace: &Trace, clock: &Clock, meeting: &Meeting, ranks: &[RankAccount]) -> Option<Self> {
        let waited = |part: usize| ranks[part].parts[RankPart::WaitingFinalize];
        let waiting_ns: f64 = (0..ranks.len()).map(waited).sum();
        if waiting_ns <= 0.0 {
            return None;
        }
        let part = meeting.last();
        let entries = (0..ranks.len()).map(|part| meeting.entry(part)).collect();
        let whole: f64 = ranks.iter().map(|rank| rank.wall_ns).sum();
        let (late, left_ns) = if waiting_ns < WORTH * whole {
            let late = Late { waiting_ns, unknown_ns: waiting_ns, repetitions: 1, ..Late::default() };
            (late, meeting.entry(part))
        } else {
            why(trace, clock, meeting, waited)
        };
        Some(LateAtFinalize { rank: trace.parts[part].rank(), late, entries, part, left_ns, chain: Vec::new() })
    }

    /// Finds the ranks for which it waited in message calls: by the waits of each part, or else by the ranks that were
    /// late for the exchange of messages before the end.
    pub(super) fn follow(&mut self, trace: &Trace, waits: &[Vec<MessageWait>], late_partners: &[LatePartner]) {
        if self.late.in_calls.point_to_point <= 0.0 {
            return;
        }
        let end_ns = self.entries[self.part];
        let mut parts = Vec::new();
        let of_part = waits.get(self.part).map_or(&[][..], Vec::as_slice);
        let longest = within(of_part, self.left_ns, end_ns).max_by(|one, other| one.1.total_cmp(&other.1));
        if let Some((other, _)) = longest {
            parts.push(other);
            parts.extend(chain(waits, other, self.left_ns, end_ns).into_iter().filter(|part| *part != self.part));
        }
        self.chain = parts.into_iter().map(|part| trace.parts[part].rank()).collect();
        if self.chain.is_empty() {
            let is_waiting = |late: &&LatePartner| late.rank.is_none_or(|rank| rank == self.rank);
            let late = late_partners.iter().filter(is_waiting).find(|late| late.late != self.rank);
            self.chain.extend(late.map(|late| late.late));
        }
    }

    /// By how much earlier all have entered MPI_Finalize without the part of the lateness that is due to one reason,
    /// `ns` over all ranks that wait.
    pub(crate) fn gain_ns(&self, ns: f64) -> f64 {
        let end = self.entries[self.part];
        let waiting = self.entries.iter().filter(|entry| **entry < end).count();
        let own = end - ns / waiting.max(1) as f64;
        let others = self.entries.iter().enumerate().filter(|(part, _)| *part != self.part).map(|(_, entry)| *entry);
        (end - others.fold(own, f64::max)).max(0.0)
    }
}

/// Why the last rank was late, and when it left its last recorded call, ns.
fn why(trace: &Trace, clock: &Clock, meeting: &Meeting, waited: impl Fn(usize) -> f64) -> (Late, f64) {
    let tail = |(index, part): (usize, &Part)| Tail::new(part, clock.of_part(index), meeting.entry(index));
    let tails: Vec<Tail> = trace.parts.iter().enumerate().map(tail).collect();
    let late = meeting.last();
    let own = &tails[late];
    let others = tails.iter().enumerate().filter(|(part, _)| *part != late).map(|(_, tail)| tail.calls);
    let is_timed = trace.parts.iter().all(Part::waits_are_stamped);
    let longer = is_timed.then(|| Longer::Timed(own.calls.beyond_median(&others.collect::<Vec<InCalls>>())));
    let errors = clock.errors_ns(trace);
    let waits = tails.iter().enumerate().filter(|(part, _)| waited(*part) > 0.0).map(|(part, tail)| {
        let later = own.left_ns - tail.left_ns;
        let is_later = later > errors[part] + errors[late];
        let ns = waited(part);
        let left_later_ns = if is_later { later.min(ns) } else { 0.0 };
        let is_alone = own.last_call == Some(OF_ONE_RANK);
        let is_in_same_call = own.last_call.is_some() && (is_alone || own.last_call == tail.last_call);
        Wait { late, ns, left_later_ns, is_in_same_call, other: tail.gap.unwrap_or_default() }
    });
    (Late::new(own.gap, longer, own.off_in_last, &waits.collect::<Vec<Wait>>()), own.left_ns)
}

/// The time of a rank from its last recorded call to MPI_Finalize.
struct Tail {
    /// When it left that call, or MPI_Init if there is none, global time, ns.
    left_ns: f64,
    calls: InCalls,
    /// `None`: not known.
    gap: Option<Gap>,
    /// Off its processor in that call; `None`: not known.
    off_in_last: Option<Off>,
    /// Which call that is; `None`: not known.
    last_call: Option<PlaceOfCall>,
}

impl Tail {
    fn new(part: &Part, clock: &RankClock, end_ns: f64) -> Tail {
        let main = part.main_thread();
        let last = last_record(part);
        let init = part.info().first_anchor.tick + part.rank_times().init;
        let left_ns = clock.nanoseconds(last.map_or(init, |record| part.times_of(record as usize).1.max(init)));
        let between = (end_ns - left_ns).max(0.0);
        let entry = part.threads().get(main as usize);
        let is_watched = part.thread_runs().iter().find(|run| !run.is_beside).is_some_and(|run| run.is_watched);
        let is_known = is_watched && entry.is_some_and(|entry| entry.unlisted == 0);
        let behind = part.interruptions().iter().rev().take_while(|entry| entry.record == NO_RECORD);
        let off = off(behind.filter(|entry| entry.thread == main), BETWEEN).filter(|_| is_known);
        let off_ns = off.map_or(0.0, |off| off.sum());
        let calls = in_calls(part, clock);
        let calls = calls.to(calls.sum().min((between - off_ns).max(0.0)));
        let worked_ns = (between - calls.sum() - off_ns).max(0.0);
        let in_last = last.map_or(&[][..], |record| part.interruptions_of(record));
        Tail {
            left_ns,
            calls,
            gap: off.map(|off| Gap { off, worked_ns, is_timed: true }),
            off_in_last: off_in(in_last).filter(|_| is_known),
            last_call: last.and_then(|record| place_of_call(part, record, part.operation_of(record as usize))),
        }
    }
}

fn off_in(entries: &[InterruptionEntry]) -> Option<Off> {
    off(entries.iter(), 0)
}

/// Time off the processor between calls, or with `place` 0 in one; `None`: not known of all.
fn off<'e>(entries: impl Iterator<Item = &'e InterruptionEntry>, place: u32) -> Option<Off> {
    let mut sum = Off::default();
    for entry in entries.filter(|entry| entry.flags & (BETWEEN | WAITING) == place) {
        if entry.flags & TIMED == 0 {
            return None;
        }
        sum += Off::of_entry(entry);
    }
    Some(sum)
}

/// The last call that the thread that called MPI_Init has recorded; regions are none.
pub(super) fn last_record(part: &Part) -> Option<u32> {
    let is_region =
        |record: u32| part.operations()[(part.operation_of(record as usize) & OPERATION_MASK) as usize].is_region();
    records(part).flat_map(Iterator::rev).find(|&record| !is_region(record))
}

/// The records of that thread, the last ones first.
fn records(part: &Part) -> impl Iterator<Item = std::ops::Range<u32>> {
    let runs = part.thread_runs();
    let begin = |at: usize| at.checked_sub(1).map_or(0, |before| runs[before].behind as u32);
    let own = runs.iter().enumerate().rev().filter(|(_, run)| !run.is_beside);
    own.map(move |(at, run)| begin(at)..run.behind as u32)
}

/// The thread's time in calls that can wait since its last recorded call: of all less that before its records.
fn in_calls(part: &Part, clock: &RankClock) -> InCalls {
    let Some((_, times)) = part.init_thread() else { return InCalls::default() };
    let mut stored = [0u64; wait_class::COUNT];
    if let Some(column) = part.recorded(&recorded::P2P) {
        let own = records(part).flatten().map(|record| column.get(record as usize));
        stored[wait_class::POINT_TO_POINT] = own.sum();
    }
    if let Some(column) = part.recorded(&recorded::ELSEWHERE) {
        let own = records(part).flatten().map(|record| elsewhere::ticks_and_class(column.get(record as usize)));
        own.for_each(|(ticks, class)| stored[class] += ticks);
    }
    let ns = |class: usize| clock.ticks_ns(times.ticks[class].saturating_sub(stored[class]));
    InCalls {
        point_to_point: ns(wait_class::POINT_TO_POINT),
        one_sided: ns(wait_class::ONE_SIDED),
        io: ns(wait_class::IO),
        other_mpi: ns(wait_class::OTHER_MPI),
        tracer: 0.0,
    }
}
