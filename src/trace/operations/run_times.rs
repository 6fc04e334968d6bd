//! The run times of an operation's repetitions, and the values of other columns, block by block.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("app.mpitrace");
//! # mpitrace_testing::synthetic::write_example(&path)?;
//! use mpitrace_trace::{clock::Clock, operations::Operations, reader::Trace, run_time::RunTime};
//!
//! let trace = Trace::open(&[path])?;
//! let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
//! let allreduce = &operations.operations[0];
//! assert_eq!(allreduce.run_time_values(&trace, &clock, RunTime::Local), [2500.0; 10]);
//! let complete = allreduce.complete();
//! assert_eq!(allreduce.run_times_of(&trace, &clock, RunTime::Last, &complete, 0..3), [2000.0; 3]);
//! let (enter, exit) = allreduce.ticks_of(1, &trace.parts[1], &complete, 0..1);
//! assert_eq!((enter, exit), (vec![1_000_500], vec![1_002_500]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ops::Range;

use mpitrace_statistics::parallel;

use super::complete::{CompleteRows, SomeRows};
use super::{NO_RECORD, Operation};
use crate::clock::{Clock, RankClock};
use crate::reader::{Column, Part, Trace};
use crate::run_time::{RunTime, Span, Spans};

/// Repetitions that are looked at together: what is needed of them stays in the processor's nearer caches.
const TOGETHER: usize = 2048;

impl Operation {
    /// The run times (ns) of the complete repetitions.
    pub fn run_time_values(&self, trace: &Trace, clock: &Clock, run_time: RunTime) -> Vec<f64> {
        let complete = self.complete();
        self.run_times_of(trace, clock, run_time, &complete, 0..complete.len())
    }

    /// The run times of the complete repetitions at these places.
    pub fn run_times_of(
        &self,
        trace: &Trace,
        clock: &Clock,
        run_time: RunTime,
        complete: &CompleteRows,
        places: Range<usize>,
    ) -> Vec<f64> {
        let count = places.len();
        let mut values = vec![f64::NAN; count];
        let share = parallel::share(count);
        parallel::map(values.chunks_mut(share).enumerate().collect(), |(number, values)| {
            let member = |&part: &usize| Member { part: &trace.parts[part], clock: clock.of_part(part) };
            let members: Vec<Member> = self.parts.iter().map(member).collect();
            let mut block = Block::default();
            for (index, values) in values.chunks_mut(TOGETHER).enumerate() {
                let first = places.start + number * share + index * TOGETHER;
                let rows = first..first + values.len();
                let records =
                    |member: usize, records: &mut Vec<u32>| self.records_of(member, complete, rows.clone(), records);
                match run_time {
                    RunTime::Local => block.longest(&members, records, values),
                    _ => block.between_ranks(run_time, &members, records, values),
                }
            }
        });
        values
    }

    /// Ticks at the entries and at the exits of a member, of whose part this is, in some of the complete repetitions:
    /// in those at these places.
    pub fn ticks_of(
        &self,
        member: usize,
        part: &Part,
        complete: &CompleteRows,
        places: Range<usize>,
    ) -> (Vec<u64>, Vec<u64>) {
        let mut records = Vec::with_capacity(places.len());
        self.records_of(member, complete, places, &mut records);
        let (mut enter, mut exit) = (Vec::with_capacity(records.len()), Vec::with_capacity(records.len()));
        part.read_times(&records, &mut enter, &mut exit);
        (enter, exit)
    }

    /// Hands on the values of a member's column, in the order of the repetitions: of all that are kept, or of those
    /// that are complete.
    pub(crate) fn values_of(&self, member: usize, column: Column<'_>, complete: bool, mut to: impl FnMut(u64)) {
        let some = complete.then(|| self.complete());
        let count = some.as_ref().map_or(self.rows.len(), CompleteRows::len);
        let (mut cursor, mut records) = (column.cursor(), Vec::with_capacity(TOGETHER.min(count)));
        for first in (0..count).step_by(TOGETHER) {
            let places = first..count.min(first + TOGETHER);
            records.clear();
            match &some {
                Some(complete) => self.records_of(member, complete, places, &mut records),
                None => {
                    self.rows.records_of(member, places, &mut records);
                    records.retain(|&record| record != NO_RECORD);
                }
            }
            column.each(&mut cursor, &records, &mut to);
        }
    }

    /// Appends the records of a member to a list.
    fn records_of(&self, member: usize, complete: &CompleteRows, places: Range<usize>, records: &mut Vec<u32>) {
        match complete.some(places) {
            SomeRows::Consecutive(rows) => self.rows.records_of(member, rows, records),
            SomeRows::Listed(some) => records.extend(some.iter().map(|&row| self.records(row as usize).get(member))),
        }
    }
}

struct Member<'a> {
    part: &'a Part,
    clock: &'a RankClock,
}

#[derive(Default)]
struct Block {
    records: Vec<u32>,
    enter: Vec<u64>,
    exit: Vec<u64>,
    spans: Vec<Spans>,
}

impl Block {
    fn read(&mut self, index: usize, member: &Member, records: impl Fn(usize, &mut Vec<u32>)) {
        self.records.clear();
        records(index, &mut self.records);
        member.part.read_times(&self.records, &mut self.enter, &mut self.exit);
    }

    /// Durations only: they need no global time, which is most of the work.
    fn longest(&mut self, members: &[Member], records: impl Fn(usize, &mut Vec<u32>), values: &mut [f64]) {
        for (index, member) in members.iter().enumerate() {
            self.read(index, member, &records);
            let times = self.enter.iter().zip(&self.exit);
            match member.clock.steady() {
                Some(clock) => values
                    .iter_mut()
                    .zip(times)
                    .for_each(|(value, (&enter, &exit))| *value = value.max(clock.duration_ns(enter, exit))),
                None => values
                    .iter_mut()
                    .zip(times)
                    .for_each(|(value, (&enter, &exit))| *value = value.max(member.clock.duration_ns(enter, exit))),
            }
        }
    }

    fn between_ranks(
        &mut self,
        run_time: RunTime,
        members: &[Member],
        records: impl Fn(usize, &mut Vec<u32>),
        values: &mut [f64],
    ) {
        self.spans.clear();
        self.spans.resize(values.len(), Spans::default());
        for (index, member) in members.iter().enumerate() {
            self.read(index, member, &records);
            for (spans, (&enter, &exit)) in self.spans.iter_mut().zip(self.enter.iter().zip(&self.exit)) {
                spans.add(Span {
                    enter_ns: member.clock.nanoseconds(enter),
                    exit_ns: member.clock.nanoseconds(exit),
                    duration_ns: member.clock.duration_ns(enter, exit),
                });
            }
        }
        values.iter_mut().zip(&self.spans).for_each(|(value, spans)| *value = spans.run_time(run_time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::Operations;
    use mpitrace_testing::synthetic::{SyntheticRank, write};

    /// Three operations in turn on two communicators, of which one rank does not finish the last calls.
    fn ranks() -> Vec<SyntheticRank> {
        let mut random = fastrand::Rng::with_seed(7);
        let mut rank = |number: u32| {
            let mut rank = SyntheticRank::new(number, 3);
            let other = rank.communicator(5, 3, number, None);
            let operations = [
                rank.operation("MPI_Allreduce", 0, 8),
                rank.operation("MPI_Bcast", other, 8),
                rank.operation("MPI_Allreduce", other, 16),
            ];
            let mut tick = 1000 + 10 * u64::from(number);
            for call in 0..40_000 {
                let enter = tick + random.u64(1..50);
                tick = enter + random.u64(1..5000);
                // In runs of 100 on each communicator, but for the last calls, which take turns.
                let turn = if call < 39_000 { call / 100 } else { call };
                let is_open = number == 1 && call >= 39_990;
                rank.call(operations[turn % 3], enter, if is_open { 0 } else { tick });
            }
            rank
        };
        (0..3).map(&mut rank).collect()
    }

    #[test]
    fn run_times_are_those_of_single_repetitions_however_they_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        write(&path, &ranks()).unwrap();
        let traces = [(); 2].map(|()| Trace::open(&[&path]).unwrap());
        traces[1].spend_budget();
        let (operations, clock) = (Operations::new(&traces[0]), Clock::new(&traces[0]));
        assert_eq!(operations.operations.len(), 3);
        for operation in &operations.operations {
            assert!(operation.repetitions() < operation.repetition.len(), "some are not complete");
            for run_time in RunTime::ALL {
                let expected: Vec<f64> = operation
                    .complete_rows()
                    .map(|row| {
                        let records = operation.records(row);
                        run_time.value(operation.parts.iter().enumerate().map(|(member, &part)| {
                            let (part, clock) = (&traces[0].parts[part], clock.of_part(part));
                            let record = records.get(member) as usize;
                            let (enter, exit) = part.times_of(record);
                            Span {
                                enter_ns: clock.nanoseconds(enter),
                                exit_ns: clock.nanoseconds(exit),
                                duration_ns: clock.duration_ns(enter, exit),
                            }
                        }))
                    })
                    .collect();
                for trace in &traces {
                    assert_eq!(operation.run_time_values(trace, &clock, run_time), expected, "{}", run_time.name());
                }
            }
        }
    }

    #[test]
    fn only_the_repetitions_that_are_asked_for_have_run_times() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        write(&path, &ranks()).unwrap();
        let trace = Trace::open(&[&path]).unwrap();
        let clock = Clock::new(&trace);
        let all = Operations::new(&trace);
        let last = all.operations.iter().filter_map(|operation| operation.repetition.last()).max().unwrap();
        for wanted in [0..u64::MAX, 0..1, 100..9000, last - 5..last + 1, last + 1..u64::MAX] {
            let mut limited = Operations::new(&trace);
            for (operation, whole) in limited.operations.iter_mut().zip(&all.operations) {
                operation.limit_to(&wanted);
                let (numbers, times) = whole.run_times(&trace, &clock, RunTime::Local);
                let expected: (Vec<u64>, Vec<f64>) =
                    numbers.into_iter().zip(times).filter(|(number, _)| wanted.contains(number)).unzip();
                assert_eq!(operation.run_times(&trace, &clock, RunTime::Local), expected, "{wanted:?}");
                assert_eq!(operation.repetitions(), expected.0.len());
                let (rows, complete) = (operation.complete_rows(), operation.complete());
                assert!(rows.eq((0..complete.len()).map(|index| complete.get(index))));
                // What was not kept of the run is not another number for that.
                assert_eq!(operation.incomplete, whole.incomplete);
            }
        }
    }
}
