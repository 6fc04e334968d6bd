//! The category of each repetition: first, warm-up, outlier or good.
//!
//! [`Roth`] is the rule of Roth's thesis, for comparability; [`Robust`] is our own.

mod category;
mod robust;
mod roth;

pub use category::{Categories, Category};
pub use robust::{Class, NotFinite, Robust, RobustCategories};
pub use roth::Roth;
