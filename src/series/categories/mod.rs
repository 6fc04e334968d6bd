//! The category of each repetition, by the robust rule.

mod category;
mod robust;

pub use category::{Categories, Category};
pub use robust::{Class, NotFinite, Robust, RobustCategories};
