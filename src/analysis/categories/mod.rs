//! The category of each repetition: first, warm-up, outlier or good.
//!
//! [`Roth`] is the rule of Roth's thesis, for comparability; [`Robust`] is our own. [`Rule`] is the choice between
//! them.

mod category;
mod robust;
mod roth;
mod rule;

pub use category::{Categories, Category};
pub use robust::{Class, NotFinite, Robust, RobustCategories};
pub use roth::Roth;
pub use rule::{Found, Levels, Rule};
