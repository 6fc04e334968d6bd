//! Matches the calls on each communicator by their positions.

use std::collections::HashMap;
use std::ops::Range;

use mpitrace_statistics::parallel;

use super::calls;
use super::communicators;
use super::cursor::{ABSENT, Cursor};
use super::finish::finish;
use super::found::FirstCall;
use super::matching::Matching;
use super::mismatch::{DESCRIBED, Mismatch};
use super::records::Calls;
use super::stretch::Stretch;
use super::{NO_RECORD, Operation, Operations, sampled};
use crate::reader::{Part, Trace};

pub(super) fn operations(trace: &Trace) -> Operations {
    let (mut communicators, numbers) = communicators::number(trace);
    let by_part: Vec<ByCommunicator> = trace.parts.iter().map(ByCommunicator::new).collect();
    let (mut operations, mut mismatches) = (Vec::new(), Vec::new());
    let lacks_calls = trace.lacks_calls();
    for together in calls::shares(trace, &numbers, communicators.len()) {
        let calls = calls::calls_by_communicator(trace, &numbers, &together);
        for (communicator, calls) in communicators[together].iter_mut().zip(calls) {
            let matched = Matching::new(trace, communicator).run(&calls, &by_part, lacks_calls);
            operations.extend(matched.operations);
            mismatches.extend(matched.mismatches);
            communicator.mismatches = matched.mismatched;
        }
    }
    operations.sort_by_key(|(first_call, _)| *first_call);
    let mut operations: Vec<Operation> = operations.into_iter().map(|(_, operation)| operation).collect();
    let unseen = sampled::weigh(trace, &mut operations);
    Operations { communicators, operations, mismatches, unseen }
}

struct Matched {
    operations: Vec<(FirstCall, Operation)>,
    mismatches: Vec<Mismatch>,
    mismatched: u64,
}

/// The operations of a part by communicator.
struct ByCommunicator {
    /// Where those of each communicator begin, and the end.
    starts: Vec<usize>,
    operations: Vec<u32>,
}

impl ByCommunicator {
    fn new(part: &Part) -> ByCommunicator {
        let mut starts = vec![0; part.communicators().len() + 1];
        part.operations().iter().for_each(|entry| starts[entry.communicator as usize + 1] += 1);
        for communicator in 1..starts.len() {
            starts[communicator] += starts[communicator - 1];
        }
        let mut operations: Vec<u32> = (0..part.operations().len() as u32).collect();
        operations.sort_by_key(|&operation| part.operations()[operation as usize].communicator);
        ByCommunicator { starts, operations }
    }
}

impl Matching<'_> {
    fn run(mut self, calls: &[Calls], by_part: &[ByCommunicator], lacks_calls: bool) -> Matched {
        let stretch = |cursors| Stretch::new(Matching::new(self.trace, self.communicator), cursors);
        let stretches = match self.communicator.folded {
            true => {
                let mut functions = HashMap::new();
                let parts = self.parts().zip(calls);
                vec![stretch(parts.map(|(part, calls)| Cursor::by_function(part, calls, &mut functions)).collect())]
            }
            false => parallel::map(self.stretches(calls), |numbers| {
                let members = self.parts().zip(calls).zip(numbers).enumerate();
                // The first member's repetitions are those that are looked at.
                let cursor = |(member, ((part, calls), numbers))| Cursor::new(part, calls, numbers, member == 0);
                stretch(members.map(cursor).collect())
            }),
        };
        let mut gaps = Vec::new();
        for stretch in stretches {
            for (found, whole) in stretch.matching.found.into_iter().zip(stretch.whole) {
                let operations = found.tuples.iter().map(|(tuple, position)| self.of_tuple(tuple, *position));
                // They make one operation, here as there.
                if let Some(operation) = operations.last() {
                    self.found[operation].whole.push(whole);
                }
            }
            gaps.push((stretch.gaps, stretch.beside_gaps));
        }
        // What some ranks lack is sorted in last, when it is known what their calls can belong to.
        let members = self.communicator.members.len();
        let mut mismatches = Vec::new();
        let (mut mismatched, mut first) = (0, None);
        for (gaps, beside_gaps) in gaps {
            for (&gap, beside) in gaps.iter().zip(beside_gaps.chunks_exact(2 * members)) {
                let (tuple, records) = beside.split_at(members);
                let Some((kind, groups)) = self.groups(tuple).clone() else {
                    let operation = self.of_partial_tuple(tuple, gap);
                    self.found[operation].partial.extend_from_slice(records);
                    continue;
                };
                mismatched += 1;
                first = first.or(Some(gap));
                if mismatches.len() < DESCRIBED {
                    mismatches.push(Mismatch::at_place(self.trace, self.communicator, gap, tuple, (kind, &groups)));
                }
                // Each group is a repetition that the others have not come to.
                for group in groups {
                    let only = |all: &[u32], none: u32| -> Vec<u32> {
                        (0..members).map(|member| if group.contains(&member) { all[member] } else { none }).collect()
                    };
                    let operation = self.of_partial_tuple(&only(tuple, ABSENT), gap);
                    self.found[operation].partial.extend(only(records, NO_RECORD));
                }
            }
        }
        self.add_operations_without_records(by_part);
        let Matching { trace, communicator, found, shares, .. } = self;
        let finish = |found| finish(trace, communicator, &shares, found, first, lacks_calls);
        Matched { operations: found.into_iter().map(finish).collect(), mismatches, mismatched }
    }

    /// Stretches of positions for the processors: for each the numbers of the calls of each member.
    fn stretches(&self, calls: &[Calls]) -> Vec<Vec<Range<usize>>> {
        let Some((part, longest)) = self.parts().zip(calls).max_by_key(|(_, calls)| calls.len()) else {
            return Vec::new();
        };
        let mut from = vec![0; calls.len()];
        let pieces = parallel::pieces(longest.len());
        let ends = pieces.iter().skip(1).map(|piece| Some(longest.position(part, piece.start))).chain([None]);
        let stretch = |end: Option<u64>| {
            let members = self.parts().zip(calls).zip(&mut from);
            let numbers = members.map(|((part, calls), from)| {
                let until = end.map_or(calls.len(), |end| calls.before(part, end));
                std::mem::replace(from, until)..until
            });
            numbers.collect()
        };
        ends.map(stretch).collect()
    }

    /// Operations of which no record was kept on any rank (paused, full) still were called.
    fn add_operations_without_records(&mut self, by_part: &[ByCommunicator]) {
        for member in 0..self.communicator.members.len() {
            let (part, local_communicator) = self.communicator.members[member];
            let ByCommunicator { starts, operations } = &by_part[part];
            for &local in &operations[starts[local_communicator]..starts[local_communicator + 1]] {
                let called = self.trace.parts[part].operations()[local as usize].calls > 0;
                if called && !self.shares[member].contains_key(&local) {
                    let mut tuple = vec![ABSENT; self.communicator.members.len()];
                    tuple[member] = local;
                    self.of_tuple(&tuple, u64::MAX);
                }
            }
        }
    }
}
