//! Why repetitions are slow: which counter, timer or rank differs between them and the good ones.
//!
//! A cause need not go with the run time as a whole. Roth (section 4.2.2) dropped cache misses since they did not:
//! outliers take far longer with as many, other repetitions have many and take no longer. Within the warm-up against
//! the good repetitions they were the cause (section 4.6.3). So each metric is asked two things: does the run time
//! follow it, over all repetitions and within each category; and does it tell the warm-up, the outliers and the modes
//! from the good ones. The second is answered by a rank test, which a few wild values do not move, with an effect size;
//! corrected for how many were tried, and for repetitions that are not independent.
//!
//! What tells a group is not yet its cause: what the two share may be a third thing.

mod conclude;
mod contrast;
mod correlation;
mod dependence;
mod examine;
mod groups;
mod metric;
mod ranks;
mod separation;
mod shares;
mod significance;
#[cfg(test)]
mod tests;
mod whiten;

pub use conclude::{Diagnosis, Finding, LEVEL, NOTABLE, NOTICEABLE, RELATED, Relation};
pub use correlation::Coefficient;
pub use examine::{Correlation, Examination, Examined, Separated};
pub(crate) use groups::groups;
pub use groups::{Group, Kind, Kind as GroupKind, Repetitions};
pub use metric::{Metric, Quantity};
pub use separation::Separation;
