//! What may tell why a repetition was slow.

/// What a metric is. In the order in which two that tell as much are named: what happened to a rank before what it
/// counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// When a rank entered, after the first of all ranks, ns.
    Lateness,
    /// 1 where the tracer itself may have delayed the rank, else 0.
    Disturbed,
    /// Something that the system does to a rank: it was taken off its processor, moved to another, or touched new
    /// memory.
    System,
    /// A number of something else.
    Counter,
    /// A time, ns.
    Timer,
    /// What the request of a non-blocking call cost, ns, or a number of tests.
    Request,
    /// Something that grows with the time that a rank spends, as it spins while it waits: processor time, cycles,
    /// instructions.
    Elapsed,
    /// How long a rank was in the call, ns: where the time is, not why.
    Duration,
}

/// A metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// What it is.
    pub quantity: Quantity,
    /// What it counts in.
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

/// Counters of what passes with the time.
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
    /// What a counter of this name is.
    pub fn of_counter(name: &str) -> Quantity {
        // perf: `context-switches:u`, `cs`.
        let plain = name.split([':', '/']).next().unwrap_or(name);
        match plain {
            plain if SYSTEM.contains(&plain) => Quantity::System,
            plain if ELAPSED.contains(&plain) => Quantity::Elapsed,
            _ => Quantity::Counter,
        }
    }

    /// Whether it may be why a repetition is slow, and not only what that looks like.
    pub fn may_be_cause(self) -> bool {
        !matches!(self, Quantity::Elapsed | Quantity::Duration)
    }

    /// Whether less of it may be a cause, too. A rank that is less late is what others look like when one is later.
    pub(super) fn counts_when_lower(self) -> bool {
        matches!(self, Quantity::Counter | Quantity::Timer | Quantity::Request)
    }

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Lateness => "lateness",
            Quantity::Disturbed => "perturbed",
            Quantity::System => "system",
            Quantity::Counter => "counter",
            Quantity::Timer => "timer",
            Quantity::Request => "request",
            Quantity::Elapsed => "elapsed",
            Quantity::Duration => "duration",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_known_by_their_names() {
        let names = ["context-switches:u", "page-faults", "task-clock", "PAPI_TOT_CYC", "PAPI_L3_TCM", "css"];
        let expected = [
            Quantity::System,
            Quantity::System,
            Quantity::Elapsed,
            Quantity::Elapsed,
            Quantity::Counter,
            Quantity::Counter,
        ];
        assert_eq!(names.map(Quantity::of_counter), expected);
    }
}
