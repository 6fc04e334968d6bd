//! Which counters and timers differ between slow repetitions and the good ones.
//!
//! A cause need not go with the run time as a whole. Roth (section 4.2.2) dropped cache misses since they did not:
//! outliers take far longer with as many, other repetitions have many and take no longer. Within the warm-up against
//! the good repetitions they were the cause (section 4.6.3). So each metric is held against groups: the warm-up, the
//! outliers and the slower modes, each against the good ones or those of the fastest mode. The test is one of ranks,
//! which a few wild values do not move, with an effect size; corrected for how many were tried, and for repetitions
//! that are not independent.
//!
//! A metric that differs is not yet a cause: both may have a third one.

mod conclude;
mod contrast;
mod examine;
mod groups;
mod metric;
mod ranks;
mod sample;
mod separation;
mod shares;
mod significance;
#[cfg(test)]
mod tests;
mod whiten;

pub use conclude::{Diagnosis, Finding, LEVEL, NOTICEABLE};
pub use examine::{Examination, Examined, Separated};
pub(crate) use groups::groups;
pub use groups::{Group, GroupKind, Repetitions};
pub use metric::{Metric, Quantity};
pub use separation::Separation;
