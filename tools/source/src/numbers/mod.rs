//! All numbers of the repetitions of an operation, by the keys of JSON: of their run times, of the ranks' completion, of
//! counters, and of the parts of non-blocking calls.

mod completion;
mod counters;
mod facts;
mod non_blocking;
mod ranks;
pub mod selection;

pub use facts::{Asked, Facts, STEPS};
pub use ranks::RankFacts;
