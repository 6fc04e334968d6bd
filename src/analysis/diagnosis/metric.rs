//! Metrics that may differ between slow and good repetitions.

/// The kind of a metric. In the order in which two that differ as much are named: what happened to a rank before what
/// it counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Something that the system does to a rank: it was taken off its processor, moved to another, or touched new
    /// memory.
    System,
    /// A number of something else.
    Counter,
    /// A time, ns.
    Timer,
    /// The cost of a request of a non-blocking call, ns, or a number of tests.
    Request,
}

/// A metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// The quantity that it measures.
    pub quantity: Quantity,
    /// The unit that it counts in.
    pub unit: String,
    /// The rank; `None`: the sum over all of them.
    pub rank: Option<u32>,
}

/// How a counter is called by what the system does: the start of its name, as perf, Linux and PAPI have it.
const SYSTEM: [&str; 9] = [
    "context-switches",
    "cs",
    "cpu-migrations",
    "migrations",
    "page-faults",
    "faults",
    "minor-faults",
    "major-faults",
    "alignment-faults",
];

/// Counters that grow with the time that a rank spends, as it spins while it waits: they differ between slow and fast
/// repetitions in any case.
const ELAPSED: [&str; 12] = [
    "task-clock",
    "cpu-clock",
    "cycles",
    "cpu-cycles",
    "ref-cycles",
    "bus-cycles",
    "instructions",
    "branches",
    "branch-instructions",
    "PAPI_TOT_CYC",
    "PAPI_REF_CYC",
    "PAPI_TOT_INS",
];

impl Quantity {
    /// The kind of a counter by its name; `None` where it grows with the time in any case.
    pub fn of_counter(name: &str) -> Option<Quantity> {
        // perf: `context-switches:u`, `cs`.
        let plain = name.split([':', '/']).next().unwrap_or(name);
        match plain {
            plain if SYSTEM.contains(&plain) => Some(Quantity::System),
            plain if ELAPSED.contains(&plain) => None,
            _ => Some(Quantity::Counter),
        }
    }

    /// True if less of it may be a cause, too.
    pub(super) fn counts_when_lower(self) -> bool {
        self != Quantity::System
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_known_by_their_names() {
        let names = ["context-switches:u", "page-faults", "task-clock", "PAPI_TOT_CYC", "PAPI_L3_TCM", "css"];
        let (system, counter) = (Some(Quantity::System), Some(Quantity::Counter));
        let expected = [system, system, None, None, counter, counter];
        assert_eq!(names.map(Quantity::of_counter), expected);
    }
}
