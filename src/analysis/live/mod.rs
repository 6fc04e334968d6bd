//! Where the ranks of a job are, and why it does not go on.
//!
//! [`look`] copies the segments of a running job and opens them as a trace of the last calls, so that all analysis of
//! traces holds for them. [`place`] says where each rank is, of a running job and of the trace that a dead one left,
//! [`snapshot`] is that as plain data, and [`mod@verdict`] a function of a snapshot alone. [`movement`] compares looks.

mod knot;
pub mod look;
pub mod movement;
pub mod place;
#[cfg(test)]
mod place_tests;
pub mod process;
mod process_end;
pub mod snapshot;
mod starting;
mod stragglers;
pub mod verdict;
#[cfg(test)]
mod verdict_tests;

pub use look::{Job, Look, jobs, with_records};
pub use movement::Movement;
pub use process_end::ProcessEnd;
pub use snapshot::{Snapshot, State};
pub use starting::Starting;
pub use stragglers::{Straggler, Stragglers, Waiting};
pub use verdict::{Kind, Stuck, verdict};
