//! The repetitions of one operation: their records, their numbers, and whether they are complete.

use std::collections::{BTreeSet, HashMap};

use super::communicators::Communicator;
use super::complete::Completeness;
use super::cursor::ABSENT;
use super::found::{FirstCall, FoundOperation, Whole};
use super::rows::{Numbers, RepetitionRow, Rows};
use super::{NO_RECORD, Operation};
use crate::reader::{Part, Trace};

/// Counts the repetitions of one operation, on a communicator with its first mismatch at this position.
pub(super) fn finish(
    trace: &Trace,
    communicator: &Communicator,
    shares: &[HashMap<u32, BTreeSet<usize>>],
    found: FoundOperation,
    first_mismatch: Option<u64>,
    lacks_calls: bool,
) -> (FirstCall, Operation) {
    let parts: Vec<&Part> = communicator.members.iter().map(|&(part, _)| &trace.parts[part]).collect();
    // A member that calls this operation in one way only, and no other in that way, has itself counted the repetitions,
    // those that it did not keep included.
    let counting: Vec<(usize, u32)> = (0..parts.len())
        .filter_map(|member| {
            let mut ways = found.tuples.iter().map(|(tuple, _)| tuple[member]).filter(|&local| local != ABSENT);
            let way = ways.next()?;
            let alone = ways.all(|other| other == way) && shares[member].get(&way).is_some_and(|all| all.len() == 1);
            alone.then_some((member, way))
        })
        .collect();
    let calls = counting.iter().map(|&(member, way)| parts[member].operations()[way as usize].calls);
    let total = calls.max().unwrap_or(0);

    let Whole { mut rows, numbers, open: mut except } = joined(parts.len(), found.whole);
    // The first member's numbers are available.
    let mut numbers = Some(numbers).filter(|_| counting.first().is_some_and(|&(member, _)| member == 0));
    if !found.partial.is_empty() {
        rows = rows_by_position(&parts, &rows, &found.partial);
        numbers = None;
        let finished = |(record, part): (u32, &&Part)| record != NO_RECORD && part.times_of(record as usize).1 != 0;
        except = (0..rows.len()).filter(|&row| !rows.row(row).iter().zip(&parts).all(finished)).collect();
    }
    let mut numbers = numbers.unwrap_or_else(|| counted(&parts, &counting, &rows));
    if !numbers.is_sorted() {
        // Persistent collectives that were started in turn: their positions are apart.
        let all: Vec<u64> = numbers.iter().collect();
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&row| all[row]);
        let mut sorted = Rows::new(parts.len());
        order.iter().for_each(|&row| sorted.push_listed(rows.row(row).iter()));
        except = (0..rows.len()).filter(|&row| except.binary_search(&order[row]).is_ok()).collect();
        numbers = order.iter().map(|&row| all[row]).collect();
        rows = sorted;
    }
    let all_here = parts.len() == communicator.size as usize && !communicator.folded;
    let complete = Completeness { none: !all_here, except };
    let whole = complete.count(&(0..rows.len())) as u64;
    let is_after = |row: usize, first: u64| parts[0].position_of(rows.row(row).get(0) as usize) > first;
    let doubtful = first_mismatch
        .map_or(0, |first| complete.rows(0..rows.len()).filter(|&row| is_after(row, first)).count() as u64);
    let operation = Operation {
        entries: if lacks_calls { entries(communicator, &found.tuples) } else { Vec::new() },
        key: found.key,
        parts: communicator.members.iter().map(|&(part, _)| part).collect(),
        size: communicator.size,
        incomplete: total.max(rows.len() as u64).saturating_sub(whole),
        looked_at: 0..rows.len(),
        repetition: numbers,
        rows,
        complete,
        doubtful,
        sampled: None,
    };
    (found.first_call, operation)
}

/// The entries of each member, one member after the other: where sizes vary, there are many times as many tuples.
fn entries(communicator: &Communicator, tuples: &[(Box<[u32]>, u64)]) -> Vec<(u32, u32)> {
    let of_member = |(member, &(part, _)): (usize, &(usize, usize))| {
        let mut locals: Vec<u32> = tuples.iter().map(|(tuple, _)| tuple[member]).collect();
        locals.retain(|&local| local != ABSENT);
        locals.sort_unstable();
        locals.dedup();
        locals.into_iter().map(move |local| (part as u32, local))
    };
    communicator.members.iter().enumerate().flat_map(of_member).collect()
}

fn joined(members: usize, pieces: Vec<Whole>) -> Whole {
    let mut all = Whole { rows: Rows::new(members), ..Whole::default() };
    for Whole { rows, numbers, open } in pieces {
        let before = all.rows.len();
        all.open.extend(open.into_iter().map(|row| before + row));
        all.rows.append(rows);
        all.numbers.append(&numbers);
    }
    all
}

/// The numbers that members have counted; that of a row that none has counted follows from the one before.
fn counted(parts: &[&Part], counting: &[(usize, u32)], rows: &Rows) -> Numbers {
    let mut next = 0;
    let number = |row: usize| {
        let row = rows.row(row);
        let counted = counting.iter().find(|(member, _)| row.get(*member) != NO_RECORD);
        let number = counted.map_or(next, |&(member, _)| parts[member].repetition_of(row.get(member) as usize));
        next = number.saturating_add(1);
        number
    };
    (0..rows.len()).map(number).collect()
}

/// The whole and the partial rows, each by position, in one list by position.
fn rows_by_position(parts: &[&Part], whole: &Rows, partial: &[u32]) -> Rows {
    let position = |records: &mut dyn Iterator<Item = u32>| {
        let mut kept = parts.iter().zip(records).filter(|(_, record)| *record != NO_RECORD);
        kept.next().map(|(part, record)| part.position_of(record as usize))
    };
    let of_row = |row: RepetitionRow| position(&mut row.iter());
    let of_partial = |row: &[u32]| position(&mut row.iter().copied());
    let mut all = Rows::new(parts.len());
    let mut partial = partial.chunks_exact(parts.len()).peekable();
    for row in (0..whole.len()).map(|row| whole.row(row)) {
        let here = of_row(row);
        while let Some(before) = partial.next_if(|row| of_partial(row) < here) {
            all.push_listed(before.iter().copied());
        }
        all.push_listed(row.iter());
    }
    partial.for_each(|row| all.push_listed(row.iter().copied()));
    all
}
