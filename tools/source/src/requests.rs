//! The costs of the requests of a non-blocking operation, and the share of its run time that the program computed.

use mpitrace_functions::blocking_name;
use mpitrace_trace::run_time::completion_times::{Overheads, Requests};

use crate::columns::ValueKind;
use crate::source::Source;

/// `5.2 %`, of a share of own work that is worth a mark: 1 % and more.
pub fn own_work_text(share: f64) -> Option<String> {
    (share >= 0.01).then(|| format!("{:.1} %", 100.0 * share))
}

impl Source {
    /// The costs of an operation's requests, for each repetition; `None` where it blocks or nothing is known of them.
    pub fn overheads(&self, operation: usize) -> Option<Overheads> {
        blocking_name(&self.operations()[operation].function)?;
        let counters = self.counters(operation);
        let column =
            |name: &str| counters.iter().find(|counter| counter.kind == ValueKind::Request && counter.name == name);
        let [Some(init), Some(test), Some(wait), Some(tests)] = ["init", "test", "wait", "tests"].map(column) else {
            return None;
        };
        let mut overheads = Overheads::default();
        let ranks = self.ranks(operation);
        for index in 0..ranks.numbers.len() {
            let columns = [init, test, wait, tests].map(|column| column.values(index));
            if let [Some(init), Some(test), Some(wait), Some(tests)] = &columns {
                let total_ns = &ranks.duration_ns(index);
                overheads.add(Requests { init_ns: init, test_ns: test, wait_ns: wait, tests, total_ns });
            }
        }
        (!overheads.overhead_ns.is_empty()).then_some(overheads)
    }

    /// The share of the time between start and completion in which the program computed, over all repetitions; `None`
    /// where the operation blocks or that is not known.
    pub fn own_work(&self, operation: usize) -> Option<f64> {
        let overheads = self.overheads(operation)?;
        let pairs = overheads.work_ns.iter().zip(&overheads.total_ns);
        let (work, total) = pairs
            .filter(|(work, total)| work.is_finite() && total.is_finite())
            .fold((0.0, 0.0), |(work, total), (own, whole)| (work + own.clamp(0.0, *whole), total + whole));
        (total > 0.0).then(|| work / total)
    }
}
