//! Two sets of runs, compared.

use mpitrace_changes::Names;
use mpitrace_words::changes::JobFacts;

use super::factors::Factor;
use super::result::{Compared, OneSided};

/// Two sets with the comparison of what they have in common.
pub struct Pair<'s> {
    pub names: Names,
    /// First what is no operation.
    pub compared: Vec<Compared<'s>>,
    pub whole: usize,
    pub factors: Vec<Factor>,
    /// The change of the time of the job; `None`: a side was not traced.
    pub job: Option<JobFacts>,
    /// The operations that one side alone has, those of the most time first.
    pub one_sided: Vec<OneSided<'s>>,
}
