//! The crates of `src/` under one name.

pub use mpitrace_analysis::{account, causality, causes, diagnosis, efficiency, jobs, messages, replay};
pub use mpitrace_live as live;
pub use mpitrace_statistics::{self as statistics, categories, comparison, names};
pub use mpitrace_trace::call_site::built;
pub use mpitrace_trace::calls::{algorithms, samples, whole_run};
pub use mpitrace_trace::run_time::completion_times;
pub use mpitrace_trace::undone as message_types;
pub use mpitrace_trace::undone as not_matched;
pub use mpitrace_trace::{call_site, clock, import, partners, reader, run_time};

/// Operations, and what is left undone.
pub mod operations {
    pub use mpitrace_trace::operations::*;
    pub use mpitrace_trace::undone::{Amounts, CalledAlone, LeftOut, NeverFreed, NotCalled, NotCompleted, Undone};
}
