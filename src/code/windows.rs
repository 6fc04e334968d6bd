//! The samples of each rank in a time between two calls.

use mpitrace_analysis::account::{Before, LateArrival};
use mpitrace_trace::calls::samples::RunSamples;
use mpitrace_trace::operations::Operation;
use mpitrace_trace::reader::Trace;

/// A sample: by the ticks of its rank.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    pub tick: u64,
    pub stack: u32,
    /// The time that it stands for, ns.
    pub ns: f64,
}

/// Which samples are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Of {
    /// The processor time of the thread that called MPI_Init.
    Thread,
    /// The time in which the thread that called MPI_Init was asleep.
    Asleep,
    /// The processor time of all other threads.
    Others,
}

/// The samples of the threads of each rank, by part, in the order of time.
#[derive(Debug, Default)]
pub struct Windows {
    parts: Vec<Vec<Taken>>,
}

/// A late arrival with its samples.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    /// Index of the late rank's part.
    pub part: usize,
    /// By how much it was late, ns.
    pub late_ns: f64,
    /// Ranks that waited.
    pub others: u32,
    /// The late rank's samples: stack, and the processor time of each, ns.
    pub own: Vec<(u32, f64)>,
    /// The samples of the ranks that waited.
    pub of_others: Vec<(u32, f64)>,
}

impl Windows {
    pub fn new(trace: &Trace, run: &RunSamples, whose: Of) -> Windows {
        let mut parts = vec![Vec::new(); trace.parts.len()];
        let (ticks, threads) = match whose {
            Of::Asleep => (&run.asleep, &run.samples.asleep),
            Of::Thread | Of::Others => (&run.threads, &run.samples.threads),
        };
        for ((part, ticks), thread) in ticks.iter().zip(threads) {
            let of = &trace.parts[*part];
            let main = of.threads().get(of.main_thread() as usize);
            if main.is_some_and(|main| (main.tid == thread.tid) == (whose != Of::Others)) {
                let taken = |(tick, (_, stack)): (&u64, &(u64, u32))| Taken {
                    tick: *tick,
                    stack: *stack,
                    ns: thread.period_ns as f64,
                };
                parts[*part].extend(ticks.iter().zip(&thread.samples).map(taken));
            }
        }
        parts.iter_mut().for_each(|taken: &mut Vec<Taken>| taken.sort_by_key(|one| one.tick));
        Windows { parts }
    }

    /// All samples of a part.
    pub fn of_part(&self, part: usize) -> &[Taken] {
        &self.parts[part]
    }

    /// The longest time that a sample stands for, ns.
    pub fn period_ns(&self) -> f64 {
        self.parts.iter().flatten().map(|taken| taken.ns).fold(0.0, f64::max)
    }

    pub fn within(&self, before: Before) -> &[Taken] {
        let all = &self.parts[before.part];
        let first = all.partition_point(|taken| taken.tick < before.from);
        let behind = all.partition_point(|taken| taken.tick < before.until);
        &all[first..behind.max(first)]
    }

    /// The arrival with its samples; without any it says nothing of code.
    pub fn unit(&self, arrival: &LateArrival) -> Option<Unit> {
        let all =
            |before: &Before| self.within(*before).iter().map(|taken| (taken.stack, taken.ns)).collect::<Vec<_>>();
        let (own, others) = (all(&arrival.late), arrival.others.len() as u32);
        let of_others: Vec<(u32, f64)> = arrival.others.iter().flat_map(|(before, _)| all(before)).collect();
        let unit = Unit { part: arrival.late.part, late_ns: arrival.late_ns(), others, own, of_others };
        (others > 0 && !(unit.own.is_empty() && unit.of_others.is_empty())).then_some(unit)
    }
}

impl Windows {
    /// The rows of an operation before whose calls, or in them, some rank was sampled, ascending.
    pub fn sampled_rows(&self, trace: &Trace, operation: &Operation) -> Vec<usize> {
        let is_sampled = |row: &usize| {
            operation.parts.iter().zip(operation.records(*row).iter()).any(|(&index, record)| {
                let (part, record) = (&trace.parts[index], record as usize);
                let from = record.checked_sub(1).map_or(0, |before| part.times_of(before).1);
                let before = Before { part: index, from, until: part.times_of(record).1, record: None };
                !self.within(before).is_empty()
            })
        };
        operation.complete_rows().filter(is_sampled).collect()
    }
}
