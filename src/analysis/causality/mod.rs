//! A check that the global times of the calls keep the order that collectives imply.
//!
//! Who leaves a collective holds what others have brought into it, so they have entered before: no clock is needed to
//! know that. An exit that lies before such an entry shows that the global time of one of the two ranks is wrong. The
//! converse does not hold: the order leaves an offset open by as much as the operation takes. So it validates clocks,
//! and does not set them.
//!
//! No rank leaves before those that the pattern of the function makes it wait for (`account/waits.rs`) have entered.
//! Non-blocking and persistent forms obey the same rules: their entry is the start, their exit the completion. All but
//! a Barrier imply something only where data goes: of a rank that passed no bytes, or an unknown number, neither
//! the entry nor the exit counts, but that an Allgatherv brings to each rank, and a Gatherv to the root, what the
//! others passed.
//!
//! Of Alltoallv and Alltoallw the trace has the sum over all peers, of Reduce_scatter the sum of all ranks' counts: who
//! exchanged anything with whom cannot be told, and nothing is checked. Neither is anything of neighbourhood
//! collectives, and on intercommunicators, nor of functions that the table lacks.

mod check;
mod rule;
#[cfg(test)]
mod tests;

use check::Check;

use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;
use serde::Serialize;

/// The order of entries and exits, over all complete repetitions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Causality {
    /// Exits that were compared with the latest entry that they depend on: one for each repetition and rank.
    pub checked: u64,
    /// Exits that lie before an entry they depend on by more than the 95 % errors of both times together. An error that
    /// is not stated counts as 0.
    pub violated: u64,
    /// Exits that lie before such an entry by the plain times, without errors.
    pub violated_raw: u64,
    /// Where an exit lies furthest before an entry, by the plain times.
    #[serde(skip)]
    pub worst: Option<Violation>,
}

/// An exit that lies before an entry it depends on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violation {
    /// By how much, ns.
    pub by_ns: f64,
    /// The operation's number.
    pub operation: usize,
    /// The plain C name of its function.
    pub function: String,
    /// The repetition's number.
    pub repetition: u64,
    /// The world rank that left too early.
    pub left: u32,
    /// The world rank that had not yet entered.
    pub entered: u32,
}

impl Causality {
    /// Checks every complete repetition.
    pub fn new(trace: &Trace, clock: &Clock, operations: &Operations) -> Causality {
        let mut found = Causality::default();
        for (number, operation) in operations.operations.iter().enumerate() {
            if let Some(mut check) = Check::new(trace, clock, number, operation) {
                operation.complete_rows().for_each(|row| check.row(row, &mut found));
            }
        }
        found
    }
}
