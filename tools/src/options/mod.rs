//! The options that several commands share, each declared once: which files, which run time, which rule, which
//! operation.

mod input;
mod names;
mod picture;
mod rule;
mod time;

pub use input::{Format, FromOption, Input, TraceInput, canonical};
pub use names::named;
pub use picture::PictureOption;
pub use rule::{ReductionOption, RuleOption};
pub use time::TimeOption;
