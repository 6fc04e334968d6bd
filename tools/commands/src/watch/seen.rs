//! A look at the job, as the screen and JSON show it.

use mpitrace_live::summary::View;
use mpitrace_live::{Stuck, Summary, Waiting};

/// A look.
pub struct Seen {
    pub job: String,
    pub summary: Summary,
    pub view: View,
    pub waiting: Waiting,
    pub stuck: Option<Stuck>,
}
