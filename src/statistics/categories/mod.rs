//! The category of each repetition: first, warm-up, outlier or good.
//!
//! [`Roth`] is the rule of Roth's thesis, for comparability; [`Robust`] is our own. [`Rule`] is the choice between
//! them.

mod category;
mod late_change;
mod one_level;
mod remarks;
mod robust;
mod roth;
mod rule;
mod slow_every;
mod two_modes;

pub use category::{Categories, Category};
pub use late_change::LateChange;
pub use one_level::{NotOneLevel, slow_from};
pub use remarks::Remarks;
pub use robust::{Class, NotFinite, Robust, RobustCategories};
pub use roth::Roth;
pub use rule::{Levels, Rule, RuleFindings};
pub use slow_every::SlowEvery;
