//! The calls of one operation by a rank, as the account needs them.

use mpitrace_format::layout::*;
use mpitrace_trace::clock::{Clock, RankClock};
use mpitrace_trace::operations::Operation;
use mpitrace_trace::reader::{Column, Cursor, Part, Trace};

use super::parts::OffProcessor;
use crate::reasons::{Gap, InCalls, Off};

/// The counter of time in calls that are not recorded.
const OTHER_MPI: &str = "p2p-time";
/// Behind a region the next call is looked for behind so many others.
const REGIONS: u32 = 64;

/// The communicator's key and the sequence number of a call, the same on all its ranks.
pub(crate) type PlaceOfCall = ([u64; 2], u64);
/// All calls on communicators of one rank, in which no rank waits.
pub(super) const OF_ONE_RANK: PlaceOfCall = ([0; 2], 0);

pub(crate) struct Member<'a> {
    /// Index of its part.
    pub index: usize,
    /// Where its record stands among those of a repetition.
    pub place: usize,
    part: &'a Part,
    clock: &'a RankClock,
    /// Init, test and wait of its requests, ticks.
    requests: Option<[Column<'a>; 3]>,
    /// For each call the time in calls that are not recorded since the thread's call before, ns; `None`: not counted.
    other_mpi: Option<Column<'a>>,
    /// For each call the ticks in point-to-point calls that can wait since the thread's call before; `None`: they were
    /// not timed, and in it: there were none.
    point_to_point: Option<Option<Column<'a>>>,
    /// Where other calls that can wait have their time.
    elsewhere: Option<Column<'a>>,
    /// No difference between its times and another rank's is known better, ns.
    pub error_ns: f64,
}

/// Reads what one member recorded, call after call. Each thread has its own.
pub(super) struct Records<'a> {
    times: Cursor<'a>,
    operations: Cursor<'a>,
}

impl<'a> Records<'a> {
    pub fn new(part: &'a Part) -> Records<'a> {
        Records { times: part.times_cursor(), operations: part.operation_cursor() }
    }

    /// Ticks at the entry and at the exit.
    pub fn times(&mut self, record: u32) -> (u64, u64) {
        self.times.times(record as usize)
    }

    /// The operation with its flags.
    pub fn operation(&mut self, record: u32) -> u32 {
        self.operations.value(record as usize) as u32
    }
}

/// The moves of a thread to another processor: each is true if it was moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Migrated {
    /// Between two calls.
    pub before: bool,
    /// In a call.
    pub inside: bool,
}

/// A call as its rank saw it, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// Global time of the entry.
    pub enter: f64,
    /// The time that the start of a call with a request took; else 0.
    pub init: f64,
    /// Global time from which on the rank could do nothing but wait: the entry of a blocking call, of another one the
    /// beginning of what was spent in tests and waits, before its completion.
    pub waits_from: f64,
    /// From there to the end of the call.
    pub may_wait: f64,
    /// In MPI: from entry to exit, or in the start, the tests and the waits.
    pub run_time: f64,
}

impl<'a> Member<'a> {
    fn new(index: usize, place: usize, part: &'a Part, clock: &'a RankClock) -> Self {
        let requests = part.request_columns().map(|[init, test, wait, _]| [init, test, wait]);
        let is_time = |entry: &&CounterEntry| part.text(entry.name).as_deref() == Some(OTHER_MPI);
        let other_mpi = part.counters().iter().find(is_time).and_then(|entry| part.counter_column(entry));
        let point_to_point = part.waits_are_stamped().then(|| part.recorded(&recorded::P2P));
        let elsewhere = part.recorded(&recorded::ELSEWHERE);
        let error_ns = clock.largest_error_ns(part);
        Member { index, place, part, clock, requests, other_mpi, point_to_point, elsewhere, error_ns }
    }

    /// The members of an operation, in the order of its parts.
    pub fn all(trace: &'a Trace, clock: &'a Clock, operation: &Operation) -> Vec<Member<'a>> {
        Member::at_places(trace, clock, operation, 0..operation.parts.len())
    }

    /// The members of an operation at these places among its parts.
    pub fn at_places(
        trace: &'a Trace,
        clock: &'a Clock,
        operation: &Operation,
        places: impl IntoIterator<Item = usize>,
    ) -> Vec<Member<'a>> {
        let member = |place: usize| {
            let index = operation.parts[place];
            Member::new(index, place, &trace.parts[index], clock.of_part(index))
        };
        places.into_iter().map(member).collect()
    }

    /// Two facts that hold for all its calls: interruptions are known, and so is time in other calls. `None`: more than
    /// times and flags may be recorded of some call, or one of the two facts may hold for some calls only.
    pub(super) fn plain(&self) -> Option<(bool, bool)> {
        let [run] = self.part.thread_runs() else { return None };
        let has_more = self.requests.is_some()
            || self.other_mpi.is_some()
            || self.point_to_point.flatten().is_some()
            || self.elsewhere.is_some()
            || self.part.has_regions()
            || self.part.is_sample();
        (!has_more).then_some((run.is_watched, self.point_to_point.is_some()))
    }

    /// The communicator of an operation of its part, where it is one of several ranks on which it is known which calls
    /// belong together.
    pub(super) fn communicator_key(&self, operation: u32) -> Option<[u64; 2]> {
        let place = place_of_call(self.part, 0, operation)?;
        Some(place.0).filter(|key| *key != OF_ONE_RANK.0)
    }

    /// Global time of a tick, ns.
    #[inline]
    pub(super) fn nanoseconds(&self, tick: u64) -> f64 {
        self.clock.nanoseconds(tick)
    }

    /// Has no block at hand yet.
    pub(super) fn read(&self) -> Records<'a> {
        Records::new(self.part)
    }

    pub(super) fn operation_of(&self, record: u32) -> u32 {
        self.part.operation_of(record as usize)
    }

    /// True: a record with this operation is of a region of the program.
    fn is_region(&self, operation: u32) -> bool {
        self.part.has_regions() && self.part.operations()[(operation & OPERATION_MASK) as usize].is_region()
    }

    pub fn call(&self, record: u32) -> Call {
        self.call_with(record, self.part.times_of(record as usize))
    }

    /// The call with this record, where its ticks are known.
    pub fn call_with(&self, record: u32, (enter, exit): (u64, u64)) -> Call {
        let record = record as usize;
        let began = self.clock.nanoseconds(enter);
        let took = self.clock.duration_ns(enter, exit);
        let request = self.requests.map(|columns| columns.map(|column| column.get(record)));
        match request {
            Some([init, test, wait]) if init > 0 => {
                // A row of tests is a wait; where they lie is not known, but that the last one completes the call.
                let wait = self.clock.ticks_ns(test.saturating_add(wait)).min(took);
                let init = self.clock.ticks_ns(init);
                let run_time = init + wait;
                Call { enter: began, init, waits_from: began + took - wait, may_wait: wait, run_time }
            }
            _ => Call { enter: began, init: 0.0, waits_from: began, may_wait: took, run_time: took },
        }
    }

    /// The time off the processor in a call, as far as it is known.
    pub fn off_processor(&self, record: u32) -> OffProcessor {
        self.off_processor_with(record, self.operation_of(record))
    }

    /// The time off the processor in the call with this record, where its operation is known.
    pub fn off_processor_with(&self, record: u32, operation: u32) -> OffProcessor {
        if self.is_region(operation) {
            return self.off_in_region(record).unwrap_or_default();
        }
        match self.thread_is_watched(record, operation) {
            true if operation & INTERRUPTED == 0 => OffProcessor::Known(Off::default(), 0.0),
            true => self.off(record, 0).map_or(OffProcessor::Unknown, |(off, error)| OffProcessor::Known(off, error)),
            false => OffProcessor::Unknown,
        }
    }

    /// The time off the processor in a region: that of the calls in it and between these. Of that before its first
    /// call, and before the next call after it, any part may lie in it.
    fn off_in_region(&self, record: u32) -> Option<OffProcessor> {
        let run = self.part.thread_run(record).filter(|run| run.is_watched)?;
        let (_, end) = self.part.times_of(record as usize);
        let (mut off, mut partly, mut is_first, mut regions) = (Off::default(), Off::default(), true, 0);
        for inner in record + 1..run.behind as u32 {
            let operation = self.operation_of(inner);
            let is_behind = self.part.times_of(inner as usize).0 >= end;
            if self.is_region(operation) {
                regions += u32::from(is_behind);
                if regions > REGIONS {
                    return None;
                }
                continue;
            }
            let before = self.off_before(inner, operation)?;
            if is_first || is_behind {
                partly += before
            } else {
                off += before
            }
            if is_behind {
                break;
            }
            off += self.off_processor_with(inner, operation).known()?;
            is_first = false;
        }
        let half = partly.scaled(0.5);
        off += half;
        Some(OffProcessor::Known(off, half.sum()))
    }

    /// How often the thread was interrupted in a call; `None`: not known.
    pub fn interruptions(&self, record: u32) -> Option<u64> {
        let operation = self.operation_of(record);
        if !self.thread_is_watched(record, operation) {
            return None;
        }
        if operation & INTERRUPTED == 0 {
            return Some(0);
        }
        let entries = self.part.interruptions_of(record).iter();
        let inside = entries.filter(|entry| entry.flags & interruption_flags::BETWEEN == 0);
        // One of which the number of switches is not known is at least one. Without an entry it is not known.
        Some(inside.map(|entry| u64::from(entry.switches.max(1))).sum()).filter(|&sum: &u64| sum > 0)
    }

    /// The thread's kept call before this one; a region of the program is no call.
    pub fn previous(&self, record: u32) -> Option<u32> {
        let first = match self.part.thread_runs() {
            [run] if u64::from(record) < run.behind => 0,
            runs => {
                let run = runs.partition_point(|run| run.behind <= u64::from(record));
                run.checked_sub(1).map_or(0, |before| runs[before].behind as u32)
            }
        };
        let mut before = (first..record).rev();
        let previous = before.find(|&record| !self.part.has_regions() || !self.is_region(self.operation_of(record)));
        previous.filter(|&previous| !self.part.is_sample() || self.follows(previous, record))
    }

    /// True if the calls of two records are known to follow each other: on one communicator.
    fn follows(&self, previous: u32, record: u32) -> bool {
        let place = |record: u32| {
            let operation = (self.operation_of(record) & OPERATION_MASK) as usize;
            (self.part.operations()[operation].communicator, self.part.position_of(record as usize))
        };
        let (communicator, position) = place(previous);
        place(record) == (communicator, position.wrapping_add(1))
    }

    /// Global time at which the thread left its kept call before this one, ns. `None`: there is none, or it was not
    /// complete yet when the thread entered this one.
    pub(super) fn previous_exit(&self, record: u32, records: &mut Records) -> Option<f64> {
        let (_, exit) = records.times(self.previous(record)?);
        (exit > 0 && exit <= records.times(record).0).then(|| self.clock.nanoseconds(exit))
    }

    /// Time off the processor in that call, ns; `None`: not known.
    pub(super) fn off_in_previous(&self, record: u32, records: &mut Records) -> Option<Off> {
        let previous = self.previous(record)?;
        self.off_processor_with(previous, records.operation(previous)).known()
    }

    /// Which call that is; `None`: not known.
    pub(super) fn place_of_call(&self, record: u32, records: &mut Records) -> Option<PlaceOfCall> {
        self.place_of_call_with(record, records.operation(record))
    }

    /// Which call the one with this record is, where its operation is known.
    pub(super) fn place_of_call_with(&self, record: u32, operation: u32) -> Option<PlaceOfCall> {
        place_of_call(self.part, record, operation)
    }

    /// The moves of the thread to another processor: after an interruption in a call, or between the kept call before
    /// and this one.
    pub fn migrated(&self, record: u32) -> Migrated {
        let flags = self.part.operation_of(record as usize);
        if flags & (INTERRUPTED | INTERRUPTED_BEFORE) == 0 {
            return Migrated::default();
        }
        let mut migrated = Migrated::default();
        for entry in self.part.interruptions_of(record) {
            let known = entry.processor_before != NO_PROCESSOR && entry.processor_after != NO_PROCESSOR;
            let moved = known && entry.processor_before != entry.processor_after;
            match entry.flags & interruption_flags::BETWEEN {
                0 => migrated.inside |= moved,
                _ => migrated.before |= moved,
            }
        }
        migrated
    }

    /// Time off the processor between the thread's kept call before and this one, outside of calls that are timed, ns;
    /// `None`: not known.
    pub(super) fn off_before(&self, record: u32, operation: u32) -> Option<Off> {
        let watched = self.thread_is_watched(record, operation);
        match operation & INTERRUPTED_BEFORE {
            0 => watched.then(Off::default),
            _ => self.off(record, interruption_flags::BETWEEN).map(|(off, _)| off),
        }
    }

    /// The thread's time between its kept call before and this one; `None`: not known.
    pub(super) fn gap_before(&self, record: u32, operation: u32, records: &mut Records) -> Option<Gap> {
        let off = self.off_before(record, operation)?;
        if off == Off::default() {
            return Some(Gap::default());
        }
        let left = self.previous_exit(record, records);
        let between = left.map_or(0.0, |left| self.clock.nanoseconds(records.times(record).0) - left);
        let in_calls = self.in_calls_before(record).map_or(0.0, |calls| calls.sum());
        let worked_ns = (between - in_calls - off.sum()).max(0.0);
        Some(Gap { off, worked_ns, is_timed: left.is_some() })
    }

    /// Time in point-to-point calls that can wait, since the thread's kept call before, ns; `None`: not timed.
    pub fn point_to_point_before(&self, record: u32) -> Option<f64> {
        Some(self.point_to_point?.map_or(0.0, |column| self.clock.ticks_ns(column.get(record as usize))))
    }

    /// True: time in calls that can wait is known.
    pub(super) fn times_calls(&self) -> bool {
        self.point_to_point.is_some()
    }

    /// Time in calls that can wait, since the thread's kept call before, by kind; `None`: not timed.
    pub fn in_calls_before(&self, record: u32) -> Option<InCalls> {
        let point_to_point = self.point_to_point_before(record)?;
        let (ticks, class) = elsewhere::ticks_and_class(self.elsewhere.map_or(0, |column| column.get(record as usize)));
        let mut calls = InCalls { point_to_point, ..InCalls::default() };
        *match class {
            wait_class::ONE_SIDED => &mut calls.one_sided,
            wait_class::IO => &mut calls.io,
            _ => &mut calls.other_mpi,
        } = self.clock.ticks_ns(ticks);
        Some(calls)
    }

    /// Time in point-to-point and other MPI calls that are not recorded, since the thread's kept call before, ns;
    /// `None`: not counted.
    pub fn other_mpi_before(&self, record: u32) -> Option<f64> {
        let value = self.other_mpi?.get(record as usize);
        (value != NO_VALUE).then_some(value as f64)
    }

    fn off(&self, record: u32, between: u32) -> Option<(Off, f64)> {
        let entries = self.part.interruptions_of(record).iter();
        let mut found = None;
        for entry in entries.filter(|entry| entry.flags & interruption_flags::BETWEEN == between) {
            if entry.flags & interruption_flags::WAITING != 0 {
                found.get_or_insert((Off::default(), 0.0));
                continue;
            }
            if entry.flags & interruption_flags::TIMED == 0 {
                return None;
            }
            let (mut off, error) = found.unwrap_or((Off::default(), 0.0));
            off += Off::of_entry(entry);
            found = Some((off, error + entry.error_ns as f64));
        }
        found
    }

    /// True: interruptions of this call are known.
    fn thread_is_watched(&self, record: u32, operation: u32) -> bool {
        if self.is_region(operation) {
            return false;
        }
        self.part.thread_run(record).is_some_and(|run| run.is_watched)
    }

    /// True: the call was not of the thread that called MPI_Init.
    pub(super) fn is_beside(&self, record: u32) -> bool {
        self.part.thread_run(record).is_some_and(|run| run.is_beside)
    }
}

/// Which call the one with this record is, and with this operation with its flags; `None`: not known.
pub(crate) fn place_of_call(part: &Part, record: u32, operation: u32) -> Option<PlaceOfCall> {
    let operation = part.operations().get((operation & OPERATION_MASK) as usize)?;
    let of = part.communicators().get(operation.communicator as usize)?;
    match of.size {
        1 => Some(OF_ONE_RANK),
        _ if of.flags & communicator_flags::IDENTIFIED == 0 => None,
        _ => Some((of.key, part.position_of(record as usize))),
    }
}

/// The ranks that take part, by their ranks in the communicator; and the place of the root among them ([`places`]).
pub(super) fn members<'a>(
    trace: &'a Trace,
    clock: &'a Clock,
    operation: &Operation,
    row: usize,
) -> (Vec<Member<'a>>, Option<Option<usize>>) {
    let (places, root) = places(trace, operation, row);
    (Member::at_places(trace, clock, operation, places), root)
}

/// The places of an operation's parts, by their ranks in the communicator; and the place of the root among these, if
/// there is one. `None` in its place: an intercommunicator, whose groups wait for each other in other ways.
pub(crate) fn places(trace: &Trace, operation: &Operation, row: usize) -> (Vec<usize>, Option<Option<usize>>) {
    let mut is_intercommunicator = false;
    let mut ranked = Vec::with_capacity(operation.parts.len());
    for (place, (&index, record)) in operation.parts.iter().zip(operation.records(row).iter()).enumerate() {
        let part = &trace.parts[index];
        let called = part.operations()[(part.operation_of(record as usize) & OPERATION_MASK) as usize];
        let communicator = &part.communicators()[called.communicator as usize];
        is_intercommunicator |= communicator.flags & communicator_flags::INTER != 0;
        ranked.push((communicator.rank, place));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    let root =
        operation.key.root.and_then(|root| ranked.iter().position(|&(rank, _)| i64::from(rank) == i64::from(root)));
    let places = ranked.into_iter().map(|(_, place)| place).collect();
    (places, (!is_intercommunicator).then_some(root))
}
