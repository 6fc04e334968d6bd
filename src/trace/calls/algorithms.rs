//! Which algorithms the MPI library took for the calls of a trace.

use std::collections::BTreeMap;

use mpitrace_format::algorithms::{VISIBLE, collective_of, functions};
use mpitrace_format::layout::recorded;
use mpitrace_format::metadata;

pub use mpitrace_format::algorithms::Algorithm;

use crate::operations::{NO_RECORD, Operation};
use crate::reader::Trace;

/// The algorithms of an operation's calls.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_trace::calls::algorithms::Seen;
/// use mpitrace_trace::{operations::Operations, reader::Trace};
///
/// let trace = Trace::open(&[path])?;
/// let operations = Operations::new(&trace);
/// // A library whose algorithms are no functions of known names.
/// let seen = Seen::new(&trace, "MPI_Allreduce");
/// assert_eq!((&seen, seen.algorithm(1)), (&Seen::Never, None));
/// assert_eq!(seen.calls(&trace, &operations.operations[0]), None);
/// assert_eq!(seen.of_repetitions(&trace, &operations.operations[0]), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The function is no collective that has some, or the trace is older.
    Never,
    /// There are none of a known name, or calls of them may go past the tracer.
    NotVisible,
    /// They are seen.
    Visible {
        /// The collective, as [`Algorithm::new`] takes it.
        collective: String,
    },
}

impl Seen {
    /// The visibility of those of a function in a trace.
    pub fn new(trace: &Trace, function: &str) -> Seen {
        let metadata = trace.parts.first().map(|part| part.metadata()).unwrap_or_default();
        let Some(visible) = metadata::get(&metadata, VISIBLE) else { return Seen::Never };
        let collective = collective_of(function);
        if visible.split(' ').any(|other| other == collective) {
            return Seen::Visible { collective };
        }
        // MPI_Iallreduce and MPI_Allreduce_init.
        let blocking = collective.trim_end_matches("_init");
        let has_some = |name: &str| functions().iter().any(|function| function.collective == name);
        match has_some(blocking) || blocking.strip_prefix('i').is_some_and(has_some) {
            true => Seen::NotVisible,
            false => Seen::Never,
        }
    }

    /// The algorithm of a call with this value in its record.
    pub fn algorithm(&self, value: u64) -> Option<Algorithm> {
        match self {
            Seen::Visible { collective } => Algorithm::new(value, collective),
            Seen::Never | Seen::NotVisible => None,
        }
    }

    /// How many calls of an operation had each algorithm, over all ranks; `None`: they are not seen.
    pub fn calls(&self, trace: &Trace, operation: &Operation) -> Option<BTreeMap<Algorithm, u64>> {
        let Seen::Visible { .. } = self else { return None };
        let mut values: BTreeMap<u64, u64> = BTreeMap::new();
        for (member, &part) in operation.parts.iter().enumerate() {
            let Some(column) = trace.parts[part].recorded(&recorded::ALGORITHM) else { continue };
            for row in 0..operation.repetition.len() {
                let record = operation.records(row).get(member);
                if record != NO_RECORD {
                    *values.entry(column.get(record as usize)).or_default() += 1;
                }
            }
        }
        let mut calls = BTreeMap::new();
        for (value, count) in values {
            if let Some(algorithm) = self.algorithm(value) {
                *calls.entry(algorithm).or_default() += count;
            }
        }
        Some(calls)
    }

    /// The algorithm of each complete repetition of an operation on its lowest rank; `None`: they are not seen.
    pub fn of_repetitions(&self, trace: &Trace, operation: &Operation) -> Option<Vec<Option<Algorithm>>> {
        let Seen::Visible { .. } = self else { return None };
        let column = trace.parts[*operation.parts.first()?].recorded(&recorded::ALGORITHM)?;
        let of_row = |row| self.algorithm(column.get(operation.records(row).get(0) as usize));
        Some(operation.complete_rows().map(of_row).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::Operations;
    use mpitrace_format::algorithms::NOT_VISIBLE;
    use mpitrace_testing::synthetic::{self, SyntheticRank};

    #[test]
    fn only_what_the_tracer_is_said_to_have_seen_is_stated() {
        let number = |symbol: &str| 1 + functions().iter().position(|other| other.symbol == symbol).unwrap() as u64;
        let ring = number("ompi_coll_base_allreduce_intra_ring");
        let doubling = number("ompi_coll_base_allreduce_intra_recursivedoubling");
        let seen = |visible: Option<&str>| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.mpitrace");
            let ranks = [0, 1].map(|rank| {
                let mut rank = SyntheticRank::new(rank, 2);
                rank.metadata.extend(visible.map(|visible| (VISIBLE.to_owned(), visible.to_owned())));
                let all = rank.operation("MPI_Allreduce", 0, 8);
                for call in 0..30u64 {
                    rank.call(all, 1000 * (call + 1), 1000 * (call + 1) + 10);
                    rank.algorithm(if call < 10 { ring } else { ring | doubling << 16 });
                }
                let started = rank.operation("MPI_Iallreduce", 0, 8);
                rank.call(started, 50_000, 50_010);
                rank
            });
            synthetic::write(&path, &ranks).unwrap();
            let trace = Trace::open(&[path]).unwrap();
            let operations = Operations::new(&trace);
            let operation = &operations.operations[0];
            let [blocking, started] = ["MPI_Allreduce", "MPI_Iallreduce"].map(|function| Seen::new(&trace, function));
            let shown = |(algorithm, calls): (Algorithm, u64)| (algorithm.to_string(), calls);
            let calls = blocking.calls(&trace, operation).map(|calls| calls.into_iter().map(shown).collect::<Vec<_>>());
            let last = blocking.of_repetitions(&trace, operation).map(|all| all[29].unwrap().to_string());
            (calls, last, started)
        };
        let names = ["ring", "ring > recursive_doubling"].map(str::to_owned);
        let (calls, last, started) = seen(Some("barrier allreduce"));
        assert_eq!(calls, Some(names.clone().into_iter().zip([20, 40]).collect()));
        assert_eq!((last.as_ref(), started), (Some(&names[1]), Seen::NotVisible));
        assert_eq!(seen(Some("barrier")), (None, None, Seen::NotVisible));
        assert_eq!(seen(Some(NOT_VISIBLE)), (None, None, Seen::NotVisible));
        assert_eq!(seen(None), (None, None, Seen::Never));
    }
}
