//! Which algorithms the MPI library took for the calls of a trace.

use std::collections::BTreeMap;

use mpitrace_format::algorithms::{VISIBLE, collective_of, functions};
use mpitrace_format::layout::recorded;
use mpitrace_format::metadata;

pub use mpitrace_format::algorithms::Algorithm;

use crate::operations::Operation;
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

/// The collectives of a trace whose algorithms are seen. To read them takes a pass over the trace's metadata.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_trace::calls::algorithms::{Seen, Visible};
/// use mpitrace_trace::reader::Trace;
///
/// let visible = Visible::new(&Trace::open(&[path])?);
/// assert_eq!((visible.of("MPI_Allreduce"), visible.of("MPI_Send")), (Seen::Never, Seen::Never));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Visible {
    /// Names of collectives, separated by blanks; `None`: the trace is older.
    collectives: Option<String>,
}

impl Visible {
    /// Reads them.
    pub fn new(trace: &Trace) -> Visible {
        let metadata = trace.parts.first().map(|part| part.metadata()).unwrap_or_default();
        Visible { collectives: metadata::get(&metadata, VISIBLE).map(str::to_owned) }
    }

    /// The visibility of the algorithms of a function.
    pub fn of(&self, function: &str) -> Seen {
        let Some(visible) = &self.collectives else { return Seen::Never };
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
}

impl Seen {
    /// The visibility of the algorithms of a function in a trace. For several functions [`Visible`] is read once.
    pub fn new(trace: &Trace, function: &str) -> Seen {
        Visible::new(trace).of(function)
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
            // Most calls have the algorithm of the call before.
            let (mut same, mut count) = (0, 0);
            operation.values_of(member, column, false, |value| {
                if value != same {
                    *values.entry(same).or_default() += count;
                    (same, count) = (value, 0);
                }
                count += 1;
            });
            *values.entry(same).or_default() += count;
        }
        let mut calls = BTreeMap::new();
        for (value, count) in values.into_iter().filter(|(_, count)| *count > 0) {
            if let Some(algorithm) = self.algorithm(value) {
                *calls.entry(algorithm).or_default() += count;
            }
        }
        Some(calls)
    }

    /// The algorithm of each complete repetition of an operation on its lowest rank; `None`: they are not seen.
    pub fn of_repetitions(&self, trace: &Trace, operation: &Operation) -> Option<Repetitions> {
        let Seen::Visible { .. } = self else { return None };
        let column = trace.parts[*operation.parts.first()?].recorded(&recorded::ALGORITHM)?;
        let mut found = Repetitions { occurring: Vec::new(), place: Vec::with_capacity(operation.repetitions()) };
        let mut last = None;
        operation.values_of(0, column, true, |value| {
            let same = last.filter(|(other, _)| *other == value).map(|(_, place)| place);
            let place = same.unwrap_or_else(|| found.place_of(self.algorithm(value)));
            last = Some((value, place));
            found.place.push(place);
        });
        Some(found)
    }
}

/// The algorithm of each complete repetition of an operation: 4 bytes a repetition.
///
/// ```
/// use mpitrace_trace::calls::algorithms::{Algorithm, Repetitions};
///
/// let [one, other] = [2, 3].map(|number| Algorithm::new(number, "allgather"));
/// let repetitions: Repetitions = [other, one, None, one].into_iter().collect();
/// assert_eq!((repetitions.get(3), repetitions.get(2), repetitions.iter().count()), (one, None, 4));
/// assert_eq!((repetitions.occurring(), repetitions.places()), (&[other, one, None][..], &[0, 1, 2, 1][..]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repetitions {
    occurring: Vec<Option<Algorithm>>,
    place: Vec<u32>,
}

impl Repetitions {
    /// The algorithms that occur, in the order in which they first do; `None` stands for those that were not seen.
    pub fn occurring(&self) -> &[Option<Algorithm>] {
        &self.occurring
    }

    /// For each repetition an index into [`Repetitions::occurring`].
    pub fn places(&self) -> &[u32] {
        &self.place
    }

    /// The algorithm of a repetition, which is there, by its place among the complete ones.
    pub fn get(&self, repetition: usize) -> Option<Algorithm> {
        self.occurring[self.place[repetition] as usize]
    }

    /// The algorithms of all repetitions, in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<Algorithm>> {
        self.place.iter().map(|&place| self.occurring[place as usize])
    }

    /// The index of an algorithm among those that occur, as it does now.
    fn place_of(&mut self, algorithm: Option<Algorithm>) -> u32 {
        let known = self.occurring.iter().position(|other| *other == algorithm);
        known.unwrap_or_else(|| {
            self.occurring.push(algorithm);
            self.occurring.len() - 1
        }) as u32
    }
}

impl FromIterator<Option<Algorithm>> for Repetitions {
    fn from_iter<I: IntoIterator<Item = Option<Algorithm>>>(all: I) -> Repetitions {
        let mut found = Repetitions::default();
        for algorithm in all {
            let place = found.place_of(algorithm);
            found.place.push(place);
        }
        found
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
            let last = blocking.of_repetitions(&trace, operation).map(|all| all.get(29).unwrap().to_string());
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
