//! The time of each thread that makes MPI calls, in its parts.

use std::collections::HashMap;

use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

use super::calls::{Spent, for_each_call};
use super::meeting::Met;
use super::parts::Parts;
use super::rank::RankAccount;
use super::rank_parts::RankParts;
use super::spans::{Span, spans};
use super::thread::Thread;

/// The time of a thread of a rank that makes MPI calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThreadAccount {
    /// The world rank.
    pub rank: u32,
    /// The kernel's number of the thread.
    pub tid: u32,
    /// True: it called MPI_Init.
    pub is_main: bool,
    /// Its collective calls that are kept and returned.
    pub calls: u64,
    /// The parts of its collective calls in complete repetitions.
    pub collectives: Parts,
    /// Its time in parts: of the thread that called MPI_Init that of the rank without what other threads did, of others
    /// from its first call on to its last one, or to the last reading of its processor time.
    pub parts: RankParts,
}

/// The threads that make MPI calls, by part of the trace and in order of their indices. `ranks` are the accounts of
/// their ranks.
pub fn threads(trace: &Trace, clock: &Clock, operations: &Operations, ranks: &[RankAccount]) -> Vec<ThreadAccount> {
    let mut complete: HashMap<(usize, u32), (u64, Parts)> = HashMap::new();
    for operation in operations.operations.iter().filter(|operation| !operation.key.is_region) {
        for_each_call(trace, clock, operation, |spent: Spent| {
            let Some(run) = trace.parts[spent.part].thread_run(spent.record) else { return };
            let (calls, parts) = complete.entry((spent.part, run.thread)).or_default();
            *calls += 1;
            *parts += spent.parts;
        });
    }
    let mut found = Vec::new();
    for ((index, part), rank) in trace.parts.iter().enumerate().zip(ranks) {
        let main = part.main_thread();
        for (thread, entry) in (0..).zip(part.threads()) {
            let of_rank = clock.of_part(index);
            let own = spans(part, Some(thread));
            let is_main = thread == main;
            let last_exit = own.last().map_or(0, |span| span.end);
            let known = match is_main {
                true => Some((Thread::new(part, of_rank, Met::default()), rank.wall_ns)),
                false => Thread::beside(part, of_rank, thread as usize, last_exit),
            };
            let Some((known, whole)) = known else { continue };
            let (calls, collectives) = complete.get(&(index, thread)).copied().unwrap_or_default();
            let in_collectives = of_rank.ticks_ns(own.iter().map(Span::ticks).sum());
            found.push(ThreadAccount {
                rank: part.rank(),
                tid: entry.tid,
                is_main,
                calls,
                collectives,
                parts: known.divide(whole, in_collectives, collectives),
            });
        }
    }
    found
}
