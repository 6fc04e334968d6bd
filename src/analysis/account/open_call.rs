//! The call in which a rank was when it ended. Its time up to then is in no sum yet.

use std::collections::HashMap;

use mpitrace_format::layout::{IN_COLLECTIVE, LastStamp, OPERATION_MASK, wait_class};
use mpitrace_functions::Form;

use super::rank_parts::{CALLS, RankPart};
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::{Part, Trace};

/// The call of the thread that called MPI_Init.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenCall {
    /// The tick at its entry.
    pub enter: u64,
    /// The part that its time is.
    pub part: RankPart,
}

/// The open call of each part of a trace, where it has one.
pub(super) fn open_calls(trace: &Trace, operations: &Operations) -> Vec<Option<OpenCall>> {
    let found: Vec<_> = trace.parts.iter().map(|part| found(part, part.main_thread())).collect();
    let mut communicators: HashMap<(usize, usize), usize> = HashMap::new();
    if found.iter().flatten().any(|(_, record)| record.is_some()) {
        for communicator in operations.communicators.iter().filter(|communicator| !communicator.folded) {
            communicators.extend(communicator.members.iter().map(|&member| (member, communicator.id)));
        }
    }
    let waits = |index: usize, record: usize| {
        let part = &trace.parts[index];
        let entry = &part.operations()[(part.operation_of(record) & OPERATION_MASK) as usize];
        let known = communicators.get(&(index, entry.communicator as usize));
        let position = part.position_of(record);
        known.is_some_and(|&id| {
            let begun = |&(part, entry): &(usize, usize)| trace.parts[part].communicators()[entry].calls;
            operations.communicators[id].members.iter().any(|member| begun(member) <= position)
        })
    };
    let of_part = |(index, found): (usize, Option<(OpenCall, Option<usize>)>)| {
        let (call, record) = found?;
        let part = if record.is_some_and(|record| waits(index, record)) { RankPart::Waiting } else { call.part };
        Some(OpenCall { part, ..call })
    };
    found.into_iter().enumerate().map(of_part).collect()
}

/// The call of this thread of a rank that did not come to the end of MPI_Finalize, and its record where it has one.
fn found(part: &Part, thread: u32) -> Option<(OpenCall, Option<usize>)> {
    if part.finalize_enter().is_some() || !part.incomplete() {
        return None;
    }
    let stamped = part.last_stamps().get(thread as usize).filter(|last| last.tick > 0 && last.inside > 0);
    let polled = part.polls().get(thread as usize);
    let stamped = stamped.map(|last| {
        let of_class = |class: usize| CALLS.iter().find(|(other, _)| *other == class).map(|(_, part)| *part);
        let is_collective = last.inside == IN_COLLECTIVE || last.inside as usize == 1 + wait_class::REQUESTS;
        let class = (last.inside as usize).wrapping_sub(1);
        let part = match last.inside {
            LastStamp::POLLING => Some(RankPart::PointToPoint),
            _ if is_collective => None,
            _ => of_class(class),
        };
        let since = polled.filter(|polls| last.inside == LastStamp::POLLING && polls.since > 0);
        let enter = since.map_or(last.tick, |polls| polls.since);
        (OpenCall { enter, part: part.unwrap_or(RankPart::Communication) }, None)
    });
    let recorded =
        recorded(part, thread).map(|(record, enter)| (OpenCall { enter, part: RankPart::Communication }, Some(record)));
    stamped.into_iter().chain(recorded).max_by_key(|(call, _)| call.enter)
}

/// The last record of a thread, and its entry, where it is of a call that has not returned.
fn recorded(part: &Part, thread: u32) -> Option<(usize, u64)> {
    let (mut end, mut last) = (0, None);
    for run in part.runs() {
        end += run.count as usize;
        if run.count > 0 && run.thread == thread {
            last = Some(end - 1);
        }
    }
    let record = last?;
    let (enter, exit) = part.times_of(record);
    let entry = &part.operations()[(part.operation_of(record) & OPERATION_MASK) as usize];
    let is_blocking = !entry.is_region() && !Form::of_name(&part.text(entry.function)?).has_request();
    (exit == 0 && is_blocking).then_some((record, enter))
}
