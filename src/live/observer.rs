//! The ranks of a job on one node, looked at again and again.

use std::collections::HashMap;

use mpitrace_format::TraceError;

use super::look::{Job, Look};
use super::movement::Movement;
use super::place::Seen;
use super::process::Process;
use super::summary::Summary;
use super::waits::Waits;

/// Records that are looked at, of all ranks together. 2^18 took 61 ms of processor time a look.
const RECORDS: u64 = 1 << 15;
/// So many records of each rank are copied at least.
const FEWEST_RECORDS: u64 = 256;

/// Looks at the ranks of a job on this node, with the results of the earlier ones.
#[derive(Debug, Default)]
pub struct Observer {
    movement: Movement,
    waits: Waits,
}

impl Observer {
    /// Looks at this time, s. `None`: the job has no records here, or none any more. The processes are those of the
    /// ranks that live.
    ///
    /// # Errors
    /// There is no memory for a look.
    pub fn look(&mut self, job: Option<&Job>, now: f64) -> Result<(Summary, HashMap<u32, Process>), TraceError> {
        let ranks = job.map_or(1, |job| job.segments.len().max(1) as u64);
        let look = Look::new(job, (RECORDS / ranks).max(FEWEST_RECORDS))?;
        let mut snapshot = look.snapshot();
        self.movement.add(&look, now, &mut snapshot);
        self.waits.count(&look);
        let mut summary = Summary::new(&look, &snapshot, &self.waits);
        summary.nodes = usize::from(job.is_some());
        summary.world_size = job.and_then(Job::world_size);
        Ok((summary, processes(&look)))
    }
}

fn processes(look: &Look) -> HashMap<u32, Process> {
    let of_parts = look.trace.parts.iter().zip(&look.seen).filter_map(|(part, seen)| match seen {
        Seen::Lives(process) if process.pid > 0 => Some((part.rank(), process.clone())),
        _ => None,
    });
    let starting = look.starting.iter().filter_map(|starting| Some((starting.place?.0, starting.process.clone())));
    starting.chain(of_parts).collect()
}
