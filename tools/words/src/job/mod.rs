//! The events of a job: where its ranks are, how it ended, calls that do not belong together, what was left undone.

pub mod all_calls;
pub mod deaths;
pub mod ended;
pub mod mismatches;
pub mod places;
pub mod stack;
pub mod undone;
pub mod untraced;
