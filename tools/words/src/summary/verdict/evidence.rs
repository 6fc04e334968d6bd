//! The evidence for a conclusion, beside the summary.

use mpitrace_analysis::account::Account;
use mpitrace_analysis::causes::Causes;

pub(in crate::summary) struct Evidence<'e> {
    pub account: &'e Account,
    /// The causes of an operation that need no counter.
    pub causes: &'e dyn Fn(usize) -> Causes,
    /// True if the others wait for this rank in each third of the run.
    pub holds: &'e dyn Fn(u32) -> bool,
    pub has_counters: bool,
    /// Ranks share processors, and keep each other from these.
    pub shared: bool,
    /// Each rank has processors of its own.
    pub bound: bool,
    /// Several threads of a rank call MPI.
    pub threaded: bool,
    /// The ranks that are late since they wait for threads of their own.
    pub for_threads: &'e [u32],
}
