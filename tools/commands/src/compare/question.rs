//! How two sets of runs are compared.

use mpitrace_source::options::Format;
use mpitrace_statistics::categories::Rule;
use mpitrace_statistics::comparison::Settings;
use mpitrace_trace::run_time::RunTime;

/// The test, and what of the files it is made with.
pub struct Question {
    pub settings: Settings,
    pub rule: Rule,
    pub time: RunTime,
    pub from: Option<Format>,
    /// The runs of a set are so many trials; `None`: each is one.
    pub trials: Option<usize>,
}
