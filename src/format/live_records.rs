//! What the records of a live segment do not hold as a part has it: exits, and the upper halves of positions and
//! repetitions.
//!
//! A live record takes 24 bytes. Its duration is 32 bits wide; a longer call has an entry of its own. Of position and
//! repetition it has the lower half. The upper one follows from call to call: where the first calls are kept from 0 on, and
//! where the last ones are kept from the counts at the end back. So any number of calls may not have been kept after the
//! first ones or before the last ones; between two that are kept there may be nearly 2^32.

use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use crate::layout::*;

/// The records of a chunk that are kept, all columns of the same length.
pub(crate) struct Records<'a> {
    /// Index of the thread.
    pub thread: u32,
    /// Number of the chunk's draw.
    pub draw: u64,
    /// Records of the chunk that lie before these.
    pub first: u64,
    pub enter: &'a [u64],
    pub duration: &'a [u32],
    pub position: &'a [u32],
    pub repetition: &'a [u32],
    pub operation: &'a [u32],
    /// The upper half of positions that are not counted on the communicator; `None`: there are none in the chunk.
    pub above: Option<&'a [u32]>,
}

/// The columns of a part that are made of others, for the records of one chunk.
#[derive(Clone, Default)]
pub(crate) struct Derived {
    pub exit: Vec<u64>,
    pub position: Vec<u64>,
    pub repetition: Vec<u64>,
}

/// Makes them for all chunks, which are in the order of their threads, and of one thread in the order of its calls. `ring`:
/// the last calls were kept, else the first.
pub(crate) fn derive(
    ring: bool,
    chunks: &[Records<'_>],
    operations: &[OperationEntry],
    communicators: &[CommunicatorEntry],
    long_calls: &[LongCallEntry],
) -> Vec<Derived> {
    let mut derived: Vec<Derived> = chunks
        .iter()
        .map(|records| Derived {
            exit: Vec::new(),
            position: vec![0; records.enter.len()],
            repetition: vec![0; records.enter.len()],
        })
        .collect();
    let long_calls = by_record(long_calls);
    for (records, derived) in chunks.iter().zip(&mut derived) {
        derived.exit = exits(records, &long_calls);
    }
    let zero = |calls: u64| if ring { calls } else { 0 };
    let mut counts = Counts {
        direction: if ring { Direction::Back } else { Direction::On },
        repetitions: operations.iter().map(|operation| zero(operation.calls)).collect(),
        positions: communicators.iter().map(|communicator| zero(communicator.calls)).collect(),
        operations,
        communicators,
    };
    let mut number = |(chunk, range): (usize, Range<usize>)| {
        let (records, derived) = (&chunks[chunk], &mut derived[chunk]);
        let mut set = |record| (derived.position[record], derived.repetition[record]) = counts.of(records, record);
        match ring {
            true => range.rev().for_each(&mut set),
            false => range.for_each(&mut set),
        }
    };
    let mut turns = turns(chunks);
    match ring {
        true => turns.into_iter().for_each(&mut number),
        false => {
            turns.reverse();
            turns.into_iter().for_each(&mut number);
        }
    }
    derived
}

/// The records that a thread made before another one made any, with their chunk: from the last turn of all threads to
/// the first.
fn turns(chunks: &[Records<'_>]) -> Vec<(usize, Range<usize>)> {
    let mut turns = Vec::new();
    let mut threads: BinaryHeap<Cursor> = chunks
        .chunk_by(|before, after| before.thread == after.thread)
        .scan(0, |before, chunks| {
            let cursor = Cursor::last(chunks, *before);
            *before += chunks.len();
            Some(cursor)
        })
        .flatten()
        .collect();
    while let Some(Cursor { chunk, record, first, .. }) = threads.pop() {
        let other = threads.peek().map_or(0, |other| other.enter);
        let records = &chunks[chunk];
        // Those of this chunk that came after the last one of another thread.
        let from = match other {
            0 => 0,
            other => (0..record).rev().take_while(|&before| records.enter[before] >= other).last().unwrap_or(record),
        };
        turns.push((chunk, from..record + 1));
        threads.extend(match from.checked_sub(1) {
            Some(record) => Some(Cursor { enter: records.enter[record], chunk, record, first }),
            None => Cursor::last(&chunks[first..chunk], first),
        });
    }
    turns
}

/// The exits of long calls, by their records.
pub(crate) fn by_record(long_calls: &[LongCallEntry]) -> HashMap<u64, u64> {
    long_calls.iter().map(|call| (call.record, call.exit)).collect()
}

/// The exits of a chunk's records.
pub(crate) fn exits(records: &Records<'_>, long_calls: &HashMap<u64, u64>) -> Vec<u64> {
    let exit = |(record, (&enter, &duration)): (u64, (&u64, &u32))| match duration {
        NOT_RETURNED => 0,
        // A call of which the entry found no room has no exit that is known.
        LONG => long_calls.get(&live_record(records.draw, (records.first + record) as u32)).copied().unwrap_or(0),
        duration => enter.wrapping_add(u64::from(duration - DURATION_FROM)),
    };
    (0..).zip(records.enter.iter().zip(records.duration)).map(exit).collect()
}

/// A record of a thread; the heap gives the latest of all threads first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Cursor {
    enter: u64,
    chunk: usize,
    record: usize,
    /// The first chunk of its thread.
    first: usize,
}

impl Cursor {
    /// The last record in chunks of one thread, the first of which has this number.
    fn last(chunks: &[Records<'_>], first: usize) -> Option<Cursor> {
        let at = chunks.iter().rposition(|records| !records.enter.is_empty())?;
        let record = chunks[at].enter.len() - 1;
        Some(Cursor { enter: chunks[at].enter[record], chunk: first + at, record, first })
    }
}

/// Which way counts go from call to call.
#[derive(Clone, Copy)]
enum Direction {
    On,
    Back,
}

/// How many calls there had been.
struct Counts<'a> {
    direction: Direction,
    operations: &'a [OperationEntry],
    communicators: &'a [CommunicatorEntry],
    repetitions: Vec<u64>,
    positions: Vec<u64>,
}

impl Counts<'_> {
    /// Position and repetition of a record, which comes behind (or before) all that were asked for so far.
    #[inline]
    fn of(&mut self, records: &Records<'_>, record: usize) -> (u64, u64) {
        let (low_position, low_repetition) = (records.position[record], records.repetition[record]);
        let number = (records.operation[record] & OPERATION_MASK) as usize;
        let Some(operation) = self.operations.get(number) else {
            return (low_position.into(), low_repetition.into());
        };
        let repetition = self.direction.next(self.repetitions[number], low_repetition);
        self.repetitions[number] = repetition;
        let above = records.above.map_or(0, |above| above[record]);
        let communicator = operation.communicator as usize;
        let position = match self.communicators.get(communicator) {
            _ if operation.positions_from != 0 => {
                (u64::from(operation.positions_from) << 32) + (repetition & ((1 << 40) - 1))
            }
            _ if above != 0 => u64::from(above) << 32 | u64::from(low_position),
            // Many communicators with few calls each.
            Some(entry) if entry.flags & communicator_flags::FOLDED != 0 => low_position.into(),
            Some(_) => {
                let position = self.direction.next(self.positions[communicator], low_position);
                self.positions[communicator] = position;
                position
            }
            None => low_position.into(),
        };
        (position, repetition)
    }
}

/// The number with this lower half that is the last one up to a count that was reached since.
pub fn number_before(count: u64, low: u32) -> u64 {
    Direction::Back.next(count, low)
}

/// Calls of several threads may be that much out of order: there are no more threads.
const OUT_OF_ORDER: u32 = 1 << 12;

impl Direction {
    /// The number with this lower half that comes next after another.
    fn next(self, other: u64, low: u32) -> u64 {
        match self {
            Direction::On => {
                let on = low.wrapping_sub(other as u32).wrapping_add(OUT_OF_ORDER);
                other.wrapping_add(on.into()).wrapping_sub(OUT_OF_ORDER.into())
            }
            Direction::Back => {
                let back = (other as u32).wrapping_sub(low).wrapping_add(OUT_OF_ORDER);
                other.wrapping_sub(back.into()).wrapping_add(OUT_OF_ORDER.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    const BOUND: u64 = 1 << 32;

    /// Calls as (enter, exit, position, repetition, operation), and what a live segment has of them.
    struct Live {
        thread: u32,
        draw: u64,
        enter: Vec<u64>,
        duration: Vec<u32>,
        position: Vec<u32>,
        repetition: Vec<u32>,
        operation: Vec<u32>,
        above: Option<Vec<u32>>,
    }

    impl Live {
        fn of(thread: u32, draw: u64, calls: &[(u64, u64, u64, u64, u32)]) -> Live {
            let duration = |&(enter, exit, ..): &(u64, u64, u64, u64, u32)| match exit {
                0 => NOT_RETURNED,
                exit => u32::try_from(exit - enter + u64::from(DURATION_FROM)).unwrap_or(LONG),
            };
            Live {
                thread,
                draw,
                enter: calls.iter().map(|call| call.0).collect(),
                duration: calls.iter().map(duration).collect(),
                position: calls.iter().map(|call| call.2 as u32).collect(),
                repetition: calls.iter().map(|call| call.3 as u32).collect(),
                operation: calls.iter().map(|call| call.4).collect(),
                above: None,
            }
        }

        fn records(&self) -> Records<'_> {
            Records {
                thread: self.thread,
                draw: self.draw,
                first: 0,
                enter: &self.enter,
                duration: &self.duration,
                position: &self.position,
                repetition: &self.repetition,
                operation: &self.operation,
                above: self.above.as_deref(),
            }
        }
    }

    fn operation(calls: u64, positions_from: u32) -> OperationEntry {
        OperationEntry { calls, positions_from, ..Zeroable::zeroed() }
    }

    fn communicator(calls: u64, flags: u32) -> CommunicatorEntry {
        CommunicatorEntry { calls, flags, ..Zeroable::zeroed() }
    }

    #[test]
    fn numbers_go_on_beyond_32_bits_with_calls_left_out() {
        let calls: Vec<(u64, u64, u64, u64, u32)> = (0..100u64)
            .filter(|call| call % 7 != 3)
            .map(|call| (10 + 10 * call, 15 + 10 * call, BOUND - 50 + call, BOUND - 20 + call / 2, call as u32 % 2))
            .collect();
        let [first, second] = [Live::of(0, 1, &calls[..30]), Live::of(0, 2, &calls[30..])];
        let operations = [operation(BOUND + 30, 0), operation(BOUND + 30, 0)];
        let derived =
            derive(true, &[first.records(), second.records()], &operations, &[communicator(BOUND + 50, 0)], &[]);
        let found: Vec<(u64, u64, u64)> = derived
            .iter()
            .flat_map(|of| (0..of.exit.len()).map(|at| (of.exit[at], of.position[at], of.repetition[at])))
            .collect();
        let expected: Vec<(u64, u64, u64)> = calls.iter().map(|call| (call.1, call.2, call.3)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn threads_that_take_turns_over_the_bound_keep_their_order() {
        // One thread makes the calls before the bound and long after it, the other those in between.
        let spread = |call: u64| (1 + call, 2 + call, call << 30, call << 30, 0);
        let one = Live::of(0, 1, &[spread(1), spread(2), spread(9)]);
        let other = Live::of(1, 2, &[spread(3), spread(4), spread(5), spread(6), spread(7), spread(8)]);
        let operations = [operation((9 << 30) + 1, 0)];
        let derived =
            derive(true, &[one.records(), other.records()], &operations, &[communicator((9 << 30) + 1, 0)], &[]);
        assert_eq!(derived[0].position, [1 << 30, 2 << 30, 9 << 30]);
        assert_eq!(derived[1].position, [3, 4, 5, 6, 7, 8].map(|call| call << 30));
        assert_eq!(derived[0].repetition, derived[0].position);
    }

    #[test]
    fn positions_of_their_own_are_not_counted_on_the_communicator() {
        let region = (3 << 62 | 5 << 40) + BOUND + 1;
        let start = 1 << 63 | 7 << 40 | 9;
        let mut live = Live::of(0, 1, &[(1, 2, region, BOUND + 1, 0), (3, 4, start, 9, 1), (5, 6, 3, 12, 2)]);
        live.above = Some(vec![0, (start >> 32) as u32, 0]);
        let operations = [operation(BOUND + 2, (region >> 40 << 8) as u32), operation(10, 0), operation(BOUND, 0)];
        let operations = operations.map(|operation| OperationEntry { communicator: 0, ..operation });
        let mut folded = operations[2];
        folded.communicator = 1;
        let communicators = [communicator(0, 0), communicator(0, communicator_flags::FOLDED)];
        let derived = derive(true, &[live.records()], &[operations[0], operations[1], folded], &communicators, &[]);
        assert_eq!(derived[0].position, [region, start, 3]);
    }

    #[test]
    fn a_long_call_has_an_entry_and_one_under_way_no_exit() {
        let live = Live::of(3, 8, &[(100, 100, 0, 0, 0), (200, 198 + BOUND, 1, 1, 0), (300, 0, 2, 2, 0)]);
        let long = [
            LongCallEntry { record: live_record(7, 1), exit: 1 },
            LongCallEntry { record: live_record(8, 1), exit: 198 + BOUND },
        ];
        let derived = derive(true, &[live.records()], &[operation(3, 0)], &[communicator(3, 0)], &long);
        assert_eq!(derived[0].exit, [100, 198 + BOUND, 0]);
    }

    #[test]
    fn any_number_of_calls_may_be_left_out_after_the_first_and_before_the_last() {
        // The largest gap between two calls that are kept.
        let gap = BOUND - u64::from(OUT_OF_ORDER) - 1;
        let first = Live::of(0, 1, &[(1, 2, 0, 0, 0), (3, 4, 1, 1, 0), (5, 6, gap, gap, 0)]);
        let gone = [operation(9 * BOUND + 1, 0)];
        let derived = derive(false, &[first.records()], &gone, &[communicator(10 * BOUND, 0)], &[]);
        assert_eq!((&derived[0].position, &derived[0].repetition), (&vec![0, 1, gap], &vec![0, 1, gap]));
        let (position, repetition) = (10 * BOUND - 1, 9 * BOUND);
        let last = Live::of(0, 1, &[(1, 2, position - gap, repetition - gap, 0), (3, 4, position, repetition, 0)]);
        let derived = derive(true, &[last.records()], &gone, &[communicator(10 * BOUND, 0)], &[]);
        assert_eq!(derived[0].position, [position - gap, position]);
        assert_eq!(derived[0].repetition, [repetition - gap, repetition]);
    }
}
