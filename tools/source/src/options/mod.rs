//! The options that several commands share, each declared once: which files, which run time, which rule, which
//! operation.

mod input;
mod names;
mod rule;
mod time;

pub use input::{Format, FromOption, Input, TraceInput, canonical};
pub use names::named;
pub use rule::{ReductionOption, RuleOption};
pub use time::TimeOption;
