//! How many repetitions and runs are enough, and when a program may stop.

pub mod enough;
pub mod stopping;
