//! The waiting for each rank in the last repetitions.

use std::collections::BTreeMap;

use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

use super::walk::Walk;

/// The waiting in the complete repetitions that ended after a time.
#[derive(Clone, Debug, Default)]
pub struct WaitsSince {
    /// By how long all other ranks together waited for a world rank, ns.
    pub by_rank: BTreeMap<u32, f64>,
    /// When the first one of all operations that is seen ended, also before that time, ns. `None`: there is none.
    pub first_ns: Option<f64>,
    /// When the last one ended, ns.
    pub last_ns: Option<f64>,
}

/// The waiting in all operations; a repetition counts where its last rank left it after `since_ns`.
pub fn waits_since(trace: &Trace, clock: &Clock, operations: &Operations, since_ns: f64) -> WaitsSince {
    let mut found = WaitsSince::default();
    for operation in &operations.operations {
        let Some(walk) = Walk::over(trace, clock, operation) else { continue };
        let mut step = walk.step();
        for row in operation.complete_rows() {
            step.look(&walk, row);
            let calls = (0..walk.members.len()).map(|at| step.call(at));
            let ended = calls.map(|call| call.waits_from + call.may_wait).fold(f64::NEG_INFINITY, f64::max);
            found.first_ns = Some(found.first_ns.map_or(ended, |first| first.min(ended)));
            found.last_ns = Some(found.last_ns.map_or(ended, |last| last.max(ended)));
            if ended > since_ns {
                for &(at, late) in &step.late {
                    *found.by_rank.entry(trace.parts[walk.members[at].index].rank()).or_default() += late.waiting_ns;
                }
            }
        }
    }
    found
}
