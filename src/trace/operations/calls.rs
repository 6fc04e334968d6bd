//! The calls of each rank on each communicator.

use std::ops::Range;

use mpitrace_format::layout::OPERATION_MASK;
use mpitrace_statistics::parallel;

use super::records::Calls;
use crate::reader::{Part, Trace};

/// Communicators with more calls than this are not listed together: a list takes up to 4 bytes a call.
const AT_ONCE: u64 = if cfg!(test) { 1 << 17 } else { 1 << 27 };

/// Shares of the communicators, all of which are matched before the calls of the next share are listed.
pub(super) fn shares(trace: &Trace, numbers: &[Vec<usize>], communicators: usize) -> Vec<Range<usize>> {
    // No more calls than the rank has records, even if more were made.
    let mut most = vec![0; communicators];
    for (part, numbers) in trace.parts.iter().zip(numbers) {
        for entry in part.operations() {
            most[numbers[entry.communicator as usize]] += entry.calls.min(part.records() as u64);
        }
    }
    let (mut shares, mut sum) = (Vec::new(), 0);
    let mut from = 0;
    for (communicator, calls) in most.into_iter().enumerate() {
        if sum + calls > AT_ONCE && from < communicator {
            shares.push(from..communicator);
            (from, sum) = (communicator, 0);
        }
        sum += calls;
    }
    shares.push(from..communicators);
    shares
}

/// For each of these communicators the calls of each of its members.
pub(super) fn calls_by_communicator(
    trace: &Trace,
    numbers: &[Vec<usize>],
    communicators: &Range<usize>,
) -> Vec<Vec<Calls>> {
    let mut calls: Vec<Vec<Calls>> = communicators.clone().map(|_| Vec::new()).collect();
    let of_parts = parallel::map(trace.parts.iter().zip(numbers).collect(), |(part, numbers)| {
        calls_of_part(part, &numbers.iter().map(|number| communicators.contains(number)).collect::<Vec<_>>())
    });
    for (numbers, of_part) in numbers.iter().zip(of_parts) {
        for (&number, of_communicator) in numbers.iter().zip(of_part) {
            if let Some(place) = number.checked_sub(communicators.start).filter(|&place| place < communicators.len()) {
                calls[place].push(of_communicator);
            }
        }
    }
    calls
}

/// The calls of one rank on each of its communicators; none on those that are not wanted.
fn calls_of_part(part: &Part, wanted: &[bool]) -> Vec<Calls> {
    let entries = part.operations();
    let mut calls: Vec<Calls> = part.communicators().iter().map(|_| Calls::default()).collect();
    if !wanted.contains(&true) {
        return calls;
    }
    let only = entries.first().map(|entry| entry.communicator);
    let one_communicator = entries.iter().all(|entry| Some(entry.communicator) == only);
    if one_communicator && is_sorted(part) {
        // The most common program, and the largest list, are spared.
        if let Some(only) = only {
            calls[only as usize] = Calls::first(part.records() as u32);
        }
        return calls;
    }
    let mut last = vec![0; calls.len()];
    let mut sorted = vec![true; calls.len()];
    for block in part.blocks() {
        let (operations, positions) = block.calls();
        for ((record, operation), &position) in block.range.clone().zip(&operations).zip(&positions) {
            let communicator = entries[(operation & OPERATION_MASK) as usize].communicator as usize;
            if !wanted[communicator] {
                continue;
            }
            calls[communicator].push(record as u32);
            sorted[communicator] &= last[communicator] <= position;
            last[communicator] = position;
        }
    }
    for (calls, sorted) in calls.iter_mut().zip(sorted) {
        calls.list_if_short(2);
        if !sorted {
            // Out of order where several threads took turns on one communicator.
            let mut records: Vec<u32> = calls.iter().collect();
            records.sort_by_key(|&record| part.position_of(record as usize));
            *calls = Calls::Listed(records);
        }
    }
    calls
}

fn is_sorted(part: &Part) -> bool {
    let ends = parallel::map(part.blocks().collect(), |block| block.sorted_positions());
    let Ok(ends) = ends.into_iter().collect::<Result<Vec<_>, ()>>() else { return false };
    ends.into_iter().flatten().flat_map(|(first, last)| [first, last]).is_sorted()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::synthetic::{self, SyntheticRank};

    /// A rank that calls on two communicators in turn, so many times on each.
    fn calls(in_a_run: u64) -> Vec<Calls> {
        let mut rank = SyntheticRank::new(0, 1);
        let other = rank.communicator(7, 1, 0, None);
        let operations = [0, other].map(|communicator| rank.operation("MPI_Barrier", communicator, 0));
        (0..8 * in_a_run).for_each(|k| rank.call(operations[(k / in_a_run % 2) as usize], 10 * k, 10 * k + 5));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mpitrace");
        synthetic::write(&path, &[rank]).unwrap();
        calls_of_part(&Trace::open(&[path]).unwrap().parts[0], &[true, true])
    }

    #[test]
    fn few_calls_in_short_runs_are_listed() {
        let all = calls(7);
        assert!(all.iter().all(|calls| matches!(calls, Calls::Listed(_)) && calls.len() == 28));
        assert_eq!(all[1].iter().take(8).collect::<Vec<_>>(), [7, 8, 9, 10, 11, 12, 13, 21]);
        assert!(calls(100).iter().all(|calls| matches!(calls, Calls::Runs(_)) && calls.len() == 400));
    }
}
