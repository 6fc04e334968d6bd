//! Performance variables of the MPI library (MPI_T), read around each call.

/// A value of a performance variable that is read.
pub struct Variable {
    /// As the library names it, with the element behind it where it has several.
    pub name: String,
    /// What it counts in.
    pub unit: &'static str,
    /// Whether it is a level and not a counter.
    pub level: bool,
}

/// All that are read.
pub fn all() -> &'static [Variable] {
    &[]
}

/// How many values a reading gives.
pub fn count() -> usize {
    0
}

/// How many words a reading takes.
pub fn words() -> usize {
    0
}

/// Reads them all for a call on this communicator.
pub fn read_into(_communicator: usize, _reading: &mut [u64]) {}

/// The values of a call out of the readings before and after it.
pub fn difference(_before: &[u64], _after: &[u64], _values: &mut [u64]) {}
