//! The calls in which ranks were when an incomplete trace ended, and who kept them waiting.

use super::{NO_RECORD, Operation, Operations};
use crate::reader::Trace;

/// A repetition that some rank entered and did not leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The operation's number.
    pub operation: usize,
    /// The repetition's number.
    pub repetition: u64,
    /// The world ranks that are in the call.
    pub inside: Vec<u32>,
    /// Those that have left it.
    pub returned: Vec<u32>,
    /// Those that never entered it.
    pub never_entered: Vec<u32>,
    /// Those that entered it and did not keep it: paused, full, or ended in an error.
    pub not_kept: Vec<u32>,
    /// How many ranks of the communicator left nothing in the trace.
    pub missing: u32,
}

impl Operations {
    /// The unfinished repetitions, by operation and number.
    pub fn unfinished(&self, trace: &Trace) -> Vec<Unfinished> {
        let numbered = self.operations.iter().enumerate();
        numbered.flat_map(|(number, operation)| self.of_operation(trace, number, operation)).collect()
    }

    fn of_operation(&self, trace: &Trace, number: usize, operation: &Operation) -> Vec<Unfinished> {
        let exits: Vec<&[u64]> = operation.parts.iter().map(|&part| trace.parts[part].exit()).collect();
        let is_inside = |(&record, exit): (&u32, &&[u64])| record != NO_RECORD && exit[record as usize] == 0;
        let rows = (0..operation.repetition.len()).filter(|&row| !operation.complete[row]);
        rows.filter(|&row| operation.records(row).iter().zip(&exits).any(is_inside))
            .map(|row| self.of_row(trace, number, row))
            .collect()
    }

    fn of_row(&self, trace: &Trace, number: usize, row: usize) -> Unfinished {
        let operation = &self.operations[number];
        let communicator = &self.communicators[operation.key.communicator];
        let records = operation.records(row);
        let mut unfinished = Unfinished {
            operation: number,
            repetition: operation.repetition[row],
            inside: Vec::new(),
            returned: Vec::new(),
            never_entered: Vec::new(),
            not_kept: Vec::new(),
            missing: communicator.size.saturating_sub(communicator.members.len() as u32),
        };
        let mut kept = communicator.members.iter().zip(records);
        let kept = kept.find(|(_, record)| **record != NO_RECORD);
        let position = kept.map_or(0, |(&(part, _), &record)| trace.parts[part].position()[record as usize]);
        for (&(part, index), &record) in communicator.members.iter().zip(records) {
            let content = &trace.parts[part];
            // Which other ranks take part in a call on a folded communicator is not known.
            if communicator.folded && (record == NO_RECORD || content.exit()[record as usize] != 0) {
                continue;
            }
            let list = if record == NO_RECORD {
                // The next call of this rank on the communicator has the position `calls`.
                match content.communicators()[index].calls > position {
                    true => &mut unfinished.not_kept,
                    false => &mut unfinished.never_entered,
                }
            } else if content.exit()[record as usize] == 0 {
                &mut unfinished.inside
            } else {
                &mut unfinished.returned
            };
            list.push(content.rank());
        }
        unfinished
    }
}
