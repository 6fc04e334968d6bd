//! Many runs of one program for people: how it scales, and why its runs differ. What comes in are results of
//! `mpitrace_scaling`. What goes out are the structures that JSON is made of, with their sentences, tables and plots.

mod facts;
mod labels;
pub mod plots;
mod sentences;
mod tables;
mod why;

pub use facts::ScaleFacts;
pub use labels::part_label;
pub use tables::write;
pub use why::{WhyFacts, write_why};
