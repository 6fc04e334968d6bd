//! The state that lasts as long as the tracing.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock};

use crate::base::own_file::OwnFile;
use crate::job::settings::Settings;
use crate::job::traced_ranks::TracedRanks;
use crate::mpi::Comm;
use crate::mpi::collectives::Collectives;
use crate::mpi::node_meeting::NodeMeeting;
use crate::record::buffer::trace_buffer::TraceBuffer;

/// The run of this process; empty until MPI is initialised, in whichever way.
pub static RUN: OnceLock<Run> = OnceLock::new();

/// The run of this process. `None` also in a child that it has forked off, which has no part in it.
pub fn of_this_process() -> Option<&'static Run> {
    RUN.get().filter(|run| run.process == std::process::id())
}

/// The state that lasts as long as the tracing.
pub struct Run {
    pub settings: Settings,
    /// Empty where there was no memory for it: then this rank only takes part at Finalize.
    pub live: OnceLock<&'static TraceBuffer>,
    pub rank: u32,
    pub world_size: u32,
    /// The part that `MPI_Init` has added; a program may also live on sessions alone.
    pub world: OnceLock<World>,
    /// Where a relative output path starts: the working directory when MPI was initialised.
    pub folder: PathBuf,
    /// The process that this is: a child that it forks is not the run's.
    pub process: u32,
    /// The trace is written, or has failed to be.
    pub ended: AtomicBool,
    /// The trace with the place in it for the time of MPI_Finalize, which is known when that has returned.
    pub unfinished: Mutex<Option<(OwnFile, u64)>>,
}

/// The common state of the ranks of MPI_COMM_WORLD.
pub struct World {
    /// The run's token, once it is agreed on.
    pub token: OnceLock<[u8; 16]>,
    /// Holds, where not all ranks are traced, the files by which the others know.
    pub traced_ranks: TracedRanks,
    /// Where all ranks meet that are on one node.
    pub meeting: Option<&'static NodeMeeting>,
    /// The tracer's own duplicate of MPI_COMM_WORLD, where messages are needed. Where not all ranks are traced there is
    /// neither, so that none may be asked.
    pub comm: OnceLock<Comm>,
}

impl World {
    /// The functions that the ranks call together; `None`: none may be asked.
    pub fn together(&self) -> Option<Collectives> {
        let by_messages = self.comm.get().copied().map(Collectives::Messages);
        by_messages.or(self.meeting.map(Collectives::Memory))
    }

    /// The run's token; zeros before it is agreed on.
    pub fn token(&self) -> [u8; 16] {
        self.token.get().copied().unwrap_or_default()
    }
}
