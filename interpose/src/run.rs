//! What lasts from Init to Finalize.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::live::Live;
use crate::presence::Presence;
use crate::settings::Settings;

/// What lasts from Init to Finalize.
pub struct Run {
    pub settings: Settings,
    /// Empty where there was no memory for it: then this rank only takes part at Finalize.
    pub live: OnceLock<&'static Live>,
    pub rank: u32,
    pub world_size: u32,
    /// The run's token.
    pub job: [u8; 16],
    /// Holds, where not all ranks are traced, what tells the others so.
    pub presence: Presence,
    /// The tracer's own duplicate of MPI_COMM_WORLD; `None` where not all ranks are traced, so that none may be asked.
    pub world: Option<usize>,
    /// Where a relative output path starts: the working directory at Init.
    pub folder: PathBuf,
}
