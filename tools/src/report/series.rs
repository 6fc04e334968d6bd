//! The run times of an operation that a report is made of.

/// The run times by one definition, in order.
#[derive(Clone, Copy, Debug)]
pub struct Series<'a> {
    /// The numbers of the repetitions.
    pub repetition: &'a [u64],
    /// ns.
    pub run_time_ns: &'a [f64],
    /// When the first rank entered, ns of global time; empty where that is not known.
    pub enter_ns: &'a [f64],
}

impl<'a> Series<'a> {
    /// All three as long as the series, but for times of entry that are not known.
    pub fn of(repetition: &'a [u64], run_time_ns: &'a [f64], enter_ns: &'a [f64]) -> Series<'a> {
        Series { repetition, run_time_ns, enter_ns }
    }
}
