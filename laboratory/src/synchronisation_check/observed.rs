//! A benchmark's repetitions in a trace, and the ranks' calls just before each.

use mpitrace_format::layout::OPERATION_MASK;
use mpitrace_functions::Function;

use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::{Operation, Operations};
use mpitrace_trace::reader::{Part, Trace};

use super::Synchronisation;
use super::hint::asked_for;

/// The repetitions of an operation that all ranks finished and kept. Times are ns of global time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// The number of each.
    pub repetition: Vec<u64>,
    /// When each rank entered: by rank, then by repetition.
    pub enter_ns: Vec<Vec<f64>>,
    /// When it left.
    pub exit_ns: Vec<Vec<f64>>,
    /// For each repetition how many barriers each rank called between its repetition before and this one, with nothing
    /// after them: the least of all ranks, and the most.
    pub barriers: Vec<[u32; 2]>,
    /// When each rank left the last of these barriers; not a number where there was none. By rank, then by repetition.
    pub barrier_exit_ns: Vec<Vec<f64>>,
    /// Messages that each rank sent, and received, since the collective before, where they were counted: by rank, then
    /// by repetition.
    pub messages: Option<[Vec<Vec<u64>>; 2]>,
    /// The half width of the 95 % interval of a time, the median over ranks and repetitions; `None` where none is
    /// stated.
    pub error_ns: Option<f64>,
    /// How the benchmark was asked to synchronise its ranks, where its command line says so.
    pub asked_for: Option<Synchronisation>,
}

/// The counters that tell of messages.
const MESSAGES: [&str; 2] = ["messages-sent", "messages-received"];

impl Observed {
    /// Reads an operation's repetitions.
    pub fn new(trace: &Trace, operations: &Operations, clock: &Clock, number: usize) -> Observed {
        let operation = &operations.operations[number];
        let rows: Vec<usize> = operation.complete_rows().collect();
        let mut observed = Observed {
            repetition: rows.iter().map(|&row| operation.repetition.get(row)).collect(),
            barriers: vec![[u32::MAX, 0]; rows.len()],
            asked_for: asked_for(&command(trace)),
            ..Observed::default()
        };
        let mut errors = Vec::new();
        let mut messages = Some([Vec::new(), Vec::new()]);
        for (member, &index) in operation.parts.iter().enumerate() {
            let (part, clock) = (&trace.parts[index], clock.of_part(index));
            let records: Vec<usize> = rows.iter().map(|&row| operation.records(row).get(member) as usize).collect();
            let times = || records.iter().map(|&record| part.times_of(record));
            observed.enter_ns.push(times().map(|(enter, _)| clock.nanoseconds(enter)).collect());
            observed.exit_ns.push(times().map(|(_, exit)| clock.nanoseconds(exit)).collect());
            errors.extend(times().filter_map(|(enter, _)| clock.error_ns(enter)));
            let before = Before::new(part, operation, &records);
            let exit =
                |record: &Option<usize>| record.map_or(f64::NAN, |record| clock.nanoseconds(part.times_of(record).1));
            observed.barrier_exit_ns.push(before.last.iter().map(exit).collect());
            for (all, own) in observed.barriers.iter_mut().zip(&before.count) {
                *all = [all[0].min(*own), all[1].max(*own)];
            }
            messages = messages.zip(of_part(part, &records)).map(|(mut all, own)| {
                all.iter_mut().zip(own).for_each(|(all, own)| all.push(own));
                all
            });
        }
        observed.messages = messages;
        observed.error_ns = mpitrace_statistics::median(&mut errors);
        observed
    }
}

/// The command line of the program; empty where it was not recorded.
pub fn command(trace: &Trace) -> String {
    let metadata = trace.parts.first().map(|part| part.metadata()).unwrap_or_default();
    metadata.into_iter().find(|(name, _)| name == "command").map(|(_, command)| command).unwrap_or_default()
}

fn of_part(part: &Part, records: &[usize]) -> Option<[Vec<u64>; 2]> {
    let counter = |name: &str| {
        let (_, values) = part.counter_columns().find(|(known, _)| known == name)?;
        Some(records.iter().map(|&record| values.get(record)).collect())
    };
    Some([counter(MESSAGES[0])?, counter(MESSAGES[1])?])
}

/// The barriers directly before each repetition, on one rank.
struct Before {
    count: Vec<u32>,
    last: Vec<Option<usize>>,
}

/// No benchmark calls more of them on purpose; what does is a loop of barriers.
const MOST: u32 = 8;

impl Before {
    fn new(part: &Part, operation: &Operation, records: &[usize]) -> Before {
        let is_barrier: Vec<bool> = part
            .operations()
            .iter()
            .map(|entry| part.text(entry.function).and_then(|name| Function::named(&name)))
            .map(|function| function.is_some_and(Function::is_blocking_barrier))
            .collect();
        // Barriers that are measured themselves stand for nothing else.
        let measured = operation.key.is_blocking_barrier();
        // Each thread's calls follow each other.
        let mut begin = vec![0];
        for run in part.runs() {
            begin.push(begin[begin.len() - 1] + run.count as usize);
        }
        let (mut count, mut last) = (Vec::with_capacity(records.len()), Vec::with_capacity(records.len()));
        for &record in records {
            let first = begin[begin.partition_point(|&begin| begin <= record) - 1];
            let barrier =
                |record: &usize| is_barrier[(part.operation_of(*record) & OPERATION_MASK) as usize] && !measured;
            let barriers = (first..record).rev().take(MOST as usize).take_while(barrier).count();
            count.push(barriers as u32);
            last.push((barriers > 0).then(|| record - 1));
        }
        Before { count, last }
    }
}
