//! The category of each repetition: first, warm-up, outlier or good.
//!
//! [`Roth`] is the rule of Roth's thesis, for comparability; [`Robust`] is our own. [`Rule`] is the choice between
//! them.

mod one_level;
mod remarks;
mod roth;
mod rule;
mod slow_every;

pub use mpitrace_series::categories::{Categories, Category, Class, NotFinite, Robust, RobustCategories};
pub use one_level::NotOneLevel;
pub(crate) use one_level::slow_from;
pub use remarks::Remarks;
pub use roth::Roth;
pub use rule::{Found, Levels, Rule};
pub use slow_every::SlowEvery;
