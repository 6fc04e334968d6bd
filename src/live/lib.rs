//! Where the ranks of a job are, and why it does not go on.
//!
//! What comes in are the segments of processes that run, and what the kernel tells of these processes; or the trace
//! that a dead job left. What goes out is a [`Snapshot`], plain data that says where each rank is, a [`Stuck`] that
//! says why none of them goes on, and a [`Summary`] that adds up what the nodes of a job have seen.
//!
//! [`look`] copies the segments of a running job and opens them as a trace of the last calls, so that all analysis of
//! traces holds for them. [`place`] says where each rank is, of a running job and of the trace that a dead one left,
//! [`snapshot`] is that as plain data, and [`mod@verdict`] a function of a snapshot alone. An [`Observer`] compares the
//! looks at one node, and makes a [`Summary`] of each; those of all nodes add up.

#[cfg(test)]
mod abort_tests;
pub mod calls;
mod copy;
#[cfg(test)]
mod copy_tests;
mod error_class;
mod held;
mod knot;
pub mod look;
mod moved;
mod movement;
mod observer;
pub mod place;
#[cfg(test)]
mod place_tests;
pub mod process;
mod process_end;
pub mod ranks;
pub mod snapshot;
mod starting;
mod stood;
#[cfg(test)]
mod stood_tests;
mod stragglers;
pub mod summary;
#[cfg(test)]
mod summary_tests;
pub mod verdict;
#[cfg(test)]
mod verdict_tests;
mod waits;

pub use copy::{Copied, copy};
pub use error_class::{ErrorClass, can_get_message};
pub use held::{held, held_by};
pub use look::{Job, Look, with_records};
pub use moved::{Moved, moved};
pub use observer::Observer;
pub use process_end::ProcessEnd;
pub use snapshot::{Snapshot, State};
pub use starting::Starting;
pub use stood::at_the_end;
pub use stragglers::{Straggler, Stragglers, Waiting};
pub use summary::Summary;
pub use verdict::{Stuck, StuckKind, verdict};
