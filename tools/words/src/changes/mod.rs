//! The changes between two sets of runs: the facts of JSON, and sentences.

mod facts;
mod make;
mod parts;
mod sentence;
#[cfg(test)]
mod tests;

pub use facts::{Decided, JobFacts, PartFacts, SideFacts};
pub use parts::in_calls;
pub use sentence::{Subject, sentence};
