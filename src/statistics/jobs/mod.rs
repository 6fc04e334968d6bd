//! Conclusions from many runs: which node is slow, and which program became slower.

mod nodes;
mod slowdown;

pub use nodes::{NodeOfJob, SlowNode, slow_nodes};
pub use slowdown::{LEAST_RUNS, Slowdown, slowdown};

/// The level of what is said of many runs, corrected for the number of nodes or programs: it comes without being asked
/// for, so it must be right.
const LEVEL: f64 = 0.01;

/// A smaller difference is not worth a word.
const LEAST: f64 = 0.02;
