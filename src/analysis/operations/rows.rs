//! The repetitions of one operation: their records, their numbers, and whether they are complete.

use std::collections::{BTreeSet, HashMap};

use super::calls::ABSENT;
use super::communicators::Communicator;
use super::matching::{FirstCall, Found};
use super::{NO_RECORD, Operation};
use crate::parallel;
use crate::reader::{Part, Trace};

/// Counts the repetitions of one operation, on a communicator with its first mismatch at this position.
pub(super) fn finish(
    trace: &Trace,
    communicator: &Communicator,
    shares: &[HashMap<u32, BTreeSet<usize>>],
    found: Found,
    first_mismatch: Option<u64>,
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
    let counts: Vec<(usize, &[u64])> =
        counting.iter().map(|&(member, _)| (member, parts[member].repetition())).collect();

    let exits: Vec<&[u64]> = parts.iter().map(|part| part.exit()).collect();
    let all_here = parts.len() == communicator.size as usize && !communicator.folded;
    let finished = |(&record, exit): (&u32, &&[u64])| record != NO_RECORD && exit[record as usize] != 0;
    let is_complete = |row: &[u32]| all_here && row.iter().zip(&exits).all(finished);

    let mut records = by_position(&parts, found.whole, &found.partial);
    let rows = records.len() / parts.len();
    let (mut repetition, mut complete) = (vec![0; rows], vec![false; rows]);
    // The number of a row that nobody has counted follows from the one before.
    let counted_all = found.partial.is_empty() && !counts.is_empty();
    let at_once = if counted_all { parallel::share(rows) } else { rows.max(1) };
    let of_pieces = records.chunks(at_once * parts.len());
    let places = of_pieces.zip(repetition.chunks_mut(at_once)).zip(complete.chunks_mut(at_once));
    parallel::map(places.collect(), |((records, numbers), complete)| {
        let mut next = 0;
        for ((row, number), complete) in records.chunks_exact(parts.len()).zip(numbers).zip(complete) {
            let counted = counts.iter().find(|(member, _)| row[*member] != NO_RECORD);
            *number = counted.map_or(next, |(member, counts)| counts[row[*member] as usize]);
            next = number.saturating_add(1);
            *complete = is_complete(row);
        }
    });
    if !repetition.is_sorted() {
        // Persistent collectives that were started in turn: their positions are apart.
        let mut order: Vec<usize> = (0..rows).collect();
        order.sort_by_key(|&row| repetition[row]);
        repetition = order.iter().map(|&row| repetition[row]).collect();
        complete = order.iter().map(|&row| complete[row]).collect();
        records = order.iter().flat_map(|&row| &records[row * parts.len()..(row + 1) * parts.len()]).copied().collect();
    }
    let whole = complete.iter().filter(|&&complete| complete).count() as u64;
    let after = |position: u64| first_mismatch.is_some_and(|first| position > first);
    let is_doubtful = |(row, complete): (&[u32], &bool)| *complete && after(parts[0].position()[row[0] as usize]);
    let doubtful = match first_mismatch {
        Some(_) => records.chunks_exact(parts.len()).zip(&complete).filter(|&of| is_doubtful(of)).count() as u64,
        None => 0,
    };
    let operation = Operation {
        key: found.key,
        parts: communicator.members.iter().map(|&(part, _)| part).collect(),
        size: communicator.size,
        incomplete: total.max(rows as u64).saturating_sub(whole),
        repetition,
        records,
        complete,
        doubtful,
    };
    (found.first_call, operation)
}

/// The whole and the partial rows, each by position, in one list by position.
fn by_position(parts: &[&Part], whole: Vec<Vec<u32>>, partial: &[u32]) -> Vec<u32> {
    let length = whole.iter().map(Vec::len).sum::<usize>() + partial.len();
    if partial.is_empty() {
        // The first piece grows: half of the copies where there are two.
        let mut pieces = whole.into_iter();
        let mut all = pieces.next().unwrap_or_default();
        all.reserve_exact(length - all.len());
        pieces.for_each(|piece| all.extend_from_slice(&piece));
        return all;
    }
    let position = |row: &[u32]| {
        let mut kept = parts.iter().zip(row).filter(|(_, record)| **record != NO_RECORD);
        kept.next().map(|(part, &record)| part.position()[record as usize])
    };
    let mut all = Vec::with_capacity(length);
    let mut partial = partial.chunks_exact(parts.len()).peekable();
    for row in whole.iter().flat_map(|piece| piece.chunks_exact(parts.len())) {
        let here = position(row);
        while let Some(before) = partial.next_if(|row| position(row) < here) {
            all.extend_from_slice(before);
        }
        all.extend_from_slice(row);
    }
    partial.for_each(|row| all.extend_from_slice(row));
    all
}
