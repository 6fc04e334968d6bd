//! The state of a thread, and how its calls nest.

mod interruptions;
mod interval;
mod kept;
mod message_state;
pub mod messages;
mod nesting;
mod partner_entry;
pub mod partners;
mod poll_state;
mod polls;
mod pool;
mod sampled;
pub mod sends;
mod stamps;
mod state;
mod tls;
pub mod waits;

pub use crate::base::processor::frame;
pub use nesting::{catch_panic, guarded, guarded_on, is_nested, is_passing, timed};
pub use poll_state::QUICK;
pub use pool::{create, current_or_new, start};
pub use state::{PLACE_OF_ALGORITHM, PLACE_OF_ATTENTION, Record, ThreadRef, at_end, attend_to, attention, current};
pub use waits::Waiting;
