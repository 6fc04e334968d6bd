//! Good repetitions that are not one level, as commands show them.

use std::fmt;

use mpitrace::categories;
use serde::Serialize;

/// What is wrong with the good repetitions, for JSON and in words.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NotOneLevel {
    /// The slowest of the good repetitions.
    slow: usize,
    /// All good ones.
    good: usize,
    /// Each of the slow ones takes so many times the level or more.
    ratio: f64,
}

impl From<categories::NotOneLevel> for NotOneLevel {
    fn from(found: categories::NotOneLevel) -> NotOneLevel {
        let categories::NotOneLevel { slow, good, ratio } = found;
        NotOneLevel { slow, good, ratio }
    }
}

impl fmt::Display for NotOneLevel {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let NotOneLevel { slow, good, ratio } = self;
        let digits = usize::from(*ratio < 10.0);
        write!(
            f,
            "the good repetitions are not one level: {slow} of {good} take {ratio:.digits$} times the level or more"
        )
    }
}
