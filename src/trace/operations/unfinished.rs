//! The calls in which ranks were when an incomplete trace ended, and the ranks that kept them waiting.

use serde::Serialize;

use super::{NO_RECORD, Operation, Operations};
use crate::reader::{Part, Trace};

/// A repetition that some rank entered and did not leave.
///
/// ```
/// # use mpitrace_testing::synthetic::{self, SyntheticRank};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// use mpitrace_format::layout::state;
/// use mpitrace_trace::{operations::Operations, reader::Trace};
///
/// // Rank 0 is in a barrier that rank 1 never enters.
/// let ranks = [0, 1].map(|number| {
///     let mut rank = SyntheticRank::new(number, 2);
///     rank.header.state = state::RUNNING;
///     let barrier = rank.operation("MPI_Barrier", 0, 0);
///     rank.call(barrier, 1000, 3000);
///     if number == 0 {
///         rank.call(barrier, 9000, 0);
///     }
///     rank
/// });
/// synthetic::write(&path, &ranks)?;
///
/// let trace = Trace::open(&[path])?;
/// let unfinished = &Operations::new(&trace).unfinished(&trace)[0];
/// assert_eq!((unfinished.repetition, &unfinished.inside[..], &unfinished.never_entered[..]), (1, &[0][..], &[1][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unfinished {
    /// The operation's number.
    pub operation: usize,
    /// The repetition's number.
    pub repetition: u64,
    /// The plain C name.
    pub function: String,
    /// The communicator's name.
    pub communicator: String,
    /// The world ranks that are in the call.
    pub inside: Vec<u32>,
    /// The ranks that have left it.
    pub returned: Vec<u32>,
    /// The ranks that never entered it.
    pub never_entered: Vec<u32>,
    /// The ranks that entered it and did not keep it: paused, full, or ended in an error.
    pub not_kept: Vec<u32>,
    /// How many ranks of the communicator left nothing in the trace.
    pub missing: u32,
}

/// For each part the records of the calls that did not return, ascending.
struct Open(Vec<Vec<usize>>);

impl Open {
    fn new(trace: &Trace) -> Open {
        let of_part = |part: &Part| {
            part.blocks().flat_map(|block| block.open().into_iter().map(move |at| block.range.start + at)).collect()
        };
        Open(trace.parts.iter().map(of_part).collect())
    }

    fn has(&self, part: usize, record: u32) -> bool {
        record != NO_RECORD && self.0[part].binary_search(&(record as usize)).is_ok()
    }
}

impl Operations {
    /// The unfinished repetitions, by operation and number.
    pub fn unfinished(&self, trace: &Trace) -> Vec<Unfinished> {
        let is_incomplete = |operation: &Operation| operation.repetitions() < operation.repetition.len();
        if !self.operations.iter().any(is_incomplete) {
            return Vec::new();
        }
        let open = Open::new(trace);
        let numbered = self.operations.iter().enumerate().filter(|(_, operation)| is_incomplete(operation));
        numbered.flat_map(|(number, operation)| self.unfinished_of_operation(trace, &open, number, operation)).collect()
    }

    fn unfinished_of_operation(
        &self,
        trace: &Trace,
        open: &Open,
        number: usize,
        operation: &Operation,
    ) -> Vec<Unfinished> {
        let is_inside = |(record, &part): (u32, &usize)| open.has(part, record);
        let rows = (0..operation.repetition.len()).filter(|&row| !operation.is_complete(row));
        rows.filter(|&row| operation.records(row).iter().zip(&operation.parts).any(is_inside))
            .map(|row| self.unfinished_of_row(trace, open, number, row))
            .collect()
    }

    fn unfinished_of_row(&self, trace: &Trace, open: &Open, number: usize, row: usize) -> Unfinished {
        let operation = &self.operations[number];
        let communicator = &self.communicators[operation.key.communicator];
        let records = operation.records(row);
        let mut unfinished = Unfinished {
            operation: number,
            repetition: operation.repetition.get(row),
            function: operation.key.function.clone(),
            communicator: communicator.name.clone(),
            inside: Vec::new(),
            returned: Vec::new(),
            never_entered: Vec::new(),
            not_kept: Vec::new(),
            missing: communicator.size.saturating_sub(communicator.members.len() as u32),
        };
        let mut kept = communicator.members.iter().zip(records.iter());
        let kept = kept.find(|(_, record)| *record != NO_RECORD);
        let position = kept.map_or(0, |(&(part, _), record)| trace.parts[part].position_of(record as usize));
        for (&(part, index), record) in communicator.members.iter().zip(records.iter()) {
            let content = &trace.parts[part];
            let is_inside = open.has(part, record);
            // Which other ranks take part in a call on a folded communicator is not known.
            if communicator.folded && !is_inside {
                continue;
            }
            let list = if record == NO_RECORD {
                // The next call of this rank on the communicator has the position `calls`.
                match content.communicators()[index].calls > position {
                    true => &mut unfinished.not_kept,
                    false => &mut unfinished.never_entered,
                }
            } else if is_inside {
                &mut unfinished.inside
            } else {
                &mut unfinished.returned
            };
            list.push(content.rank());
        }
        unfinished
    }
}
