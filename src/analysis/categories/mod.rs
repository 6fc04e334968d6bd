//! The category of each repetition: first, warm-up, outlier or good.
//!
//! [`Roth`] is the rule of Roth's thesis, for comparability; [`Robust`] is our own. [`Rule`] is the choice between
//! them.

mod roth;
mod rule;

pub use mpitrace_series::categories::{Categories, Category, Class, NotFinite, Robust, RobustCategories};
pub use roth::Roth;
pub use rule::{Found, Levels, Rule};
