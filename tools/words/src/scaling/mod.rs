//! The scaling of a program, and why its runs differ, for people.

mod facts;
mod labels;
mod sentences;
mod tables;
mod why;

pub use facts::ScaleFacts;
pub use labels::{amount, part_label};
pub use tables::write;
pub use why::{WhyFacts, write_why};
