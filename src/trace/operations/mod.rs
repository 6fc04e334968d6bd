//! From calls to operations and their repetitions.
//!
//! Calls are matched across ranks by MPI's own rule: the k-th call on a communicator on one rank belongs to the k-th
//! call on it on every other. What the ranks passed there makes the operation; the calls of one operation, counted from
//! the start of the program, are its repetitions.

mod all;
mod calls;
mod communicators;
mod complete;
mod cursor;
mod finish;
mod found;
mod matching;
mod mismatch;
mod records;
mod rows;
mod run_times;
mod sampled;
mod stretch;
#[cfg(test)]
mod tests;
mod unfinished;

pub use communicators::{Communicator, Origin};
pub use complete::CompleteRows;
pub use mismatch::{Called, DESCRIBED, Mismatch, MismatchKind, MismatchedCall, Signature, difference};
pub use rows::{Numbers, RepetitionRow};
pub use sampled::Sampled;
pub use unfinished::Unfinished;

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use mpitrace_functions::{Form, Function};
use serde::{Serialize, Serializer};

use complete::Completeness;
use rows::Rows;

use crate::call_site::{Resolver, Site};
use crate::clock::Clock;
use crate::reader::Trace;
use crate::run_time::RunTime;

/// The index of a record that is not there.
pub const NO_RECORD: u32 = u32::MAX;

/// The operations of a trace.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_trace::{clock::Clock, operations::Operations, reader::Trace, run_time::RunTime};
///
/// let trace = Trace::open(&[path])?;
/// let mut operations = Operations::new(&trace);
/// assert_eq!(operations.mismatched(), 0);
/// let [allreduce, barrier] = &mut operations.operations[..] else { panic!("two operations") };
/// assert!(!allreduce.key.has_request() && barrier.key.has_request());
/// assert!(!barrier.key.is_blocking_barrier(), "it is started and completed apart");
/// // The fourth repetition is the fourth record of each rank.
/// assert!(allreduce.is_complete(3));
/// assert_eq!(allreduce.records(3).iter().collect::<Vec<u32>>(), [3, 3]);
/// let (repetition, run_time_ns) = allreduce.run_times(&trace, &Clock::new(&trace), RunTime::Last);
/// assert_eq!((repetition.len(), run_time_ns[0]), (10, 2000.0));
/// allreduce.limit_to(&(2..5));
/// assert_eq!((allreduce.looked_at(), allreduce.repetitions(), allreduce.complete().len()), (2..5, 3, 3));
/// assert_eq!(allreduce.complete_rows().collect::<Vec<usize>>(), [2, 3, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Operations {
    /// By number: [`Communicator::id`] is the index.
    pub communicators: Vec<Communicator>,
    /// By number.
    pub operations: Vec<Operation>,
    /// Calls that may not belong together, by communicator and position; of each communicator [`DESCRIBED`] at most.
    pub mismatches: Vec<Mismatch>,
    /// In a trace that holds a sample: for each part the ticks in calls for which none that is kept stands.
    pub unseen: Vec<f64>,
}

impl Operations {
    /// How many mismatches there are, those that are not described included.
    pub fn mismatched(&self) -> u64 {
        self.communicators.iter().map(|communicator| communicator.mismatches).sum()
    }
}

/// The values by which calls are compared: all that the ranks agreed on in a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OperationKey {
    /// The plain C name.
    pub function: String,
    /// Index into [`Operations::communicators`].
    pub communicator: usize,
    /// The largest message size of any rank, bytes. `None`: no rank could tell.
    pub bytes: Option<u64>,
    /// The root's rank in the communicator, where the function has one.
    pub root: Option<i32>,
    /// The data type, where the function has one: `derived` if it is not predefined. Where ranks pass different ones,
    /// all of them, in alphabetical order.
    pub datatype: Option<String>,
    /// The reduction operator, where the function has one: `user` if it is not predefined.
    pub reduction: Option<String>,
    /// The place in the program that calls it, where the run has told places apart.
    pub call_site: Option<CallSite>,
    /// It is a region of the program, which is no call, but a label over a stretch of time.
    pub is_region: bool,
}

/// A place in the program: where a call returns to.
///
/// ```
/// use mpitrace_trace::operations::CallSite;
///
/// let site = CallSite::parse("/opt/my app/bin/app 5f3a 1b20").expect("a call site");
/// assert_eq!((site.module.as_str(), site.offset), ("/opt/my app/bin/app", 0x1b20));
/// assert_eq!(site.build_id.as_deref(), Some("5f3a"));
/// // The module is not on this machine.
/// assert_eq!(site.resolve().to_string(), "app+0x1b20");
/// assert_eq!(CallSite::parse("nothing"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallSite {
    /// The module's path.
    pub module: String,
    /// In hexadecimal, where the module has one.
    pub build_id: Option<String>,
    /// The return address, less what the loader added to the module's addresses (bytes).
    pub offset: u64,
}

impl CallSite {
    /// Where that is in the source. Modules are read once by each thread, and kept.
    pub fn resolve(&self) -> Arc<Site> {
        thread_local! {
            static RESOLVER: RefCell<Resolver> = RefCell::default();
        }
        RESOLVER.with_borrow_mut(|known| known.resolve(&self.module, self.build_id.as_deref(), self.offset))
    }

    /// Out of what a trace has: path, build id and hexadecimal offset, with blanks between; the path may have some too.
    pub fn parse(text: &str) -> Option<CallSite> {
        let mut words = text.rsplitn(3, ' ');
        let (offset, build_id, module) = (words.next()?, words.next()?, words.next()?);
        let build_id = Some(build_id.to_owned()).filter(|id| !id.is_empty());
        Some(CallSite { module: module.to_owned(), build_id, offset: u64::from_str_radix(offset, 16).ok()? })
    }
}

/// As [`Site`] is displayed.
impl fmt::Display for CallSite {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.resolve().fmt(formatter)
    }
}

impl Serialize for CallSite {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An operation and where its repetitions are recorded.
#[derive(Debug)]
pub struct Operation {
    /// Its key.
    pub key: OperationKey,
    /// Indices of the parts whose ranks take part, in the order of their ranks.
    pub parts: Vec<usize>,
    /// The entries of it, ascending: the part and the index among the part's operations. Empty where all calls were
    /// kept.
    pub entries: Vec<(u32, u32)>,
    /// The ranks that its communicator has; more than `parts` where a part is missing.
    pub size: u32,
    /// The number k of each repetition that at least one rank kept, ascending.
    pub repetition: Numbers,
    /// For each repetition, for each of `parts`: the index of the record in the part, or [`NO_RECORD`].
    rows: Rows,
    /// For each repetition whether every rank finished and kept it.
    complete: Completeness,
    /// The rows of the repetitions that are looked at: all, unless [`Operation::limit_to`] was called.
    looked_at: Range<usize>,
    /// Repetitions begun since the start of the program that not every rank finished and kept.
    pub incomplete: u64,
    /// Complete repetitions after a mismatch on their communicator: their calls may be matched incorrectly.
    pub doubtful: u64,
    /// `None`: each repetition counts once.
    pub sampled: Option<Sampled>,
}

impl Operations {
    /// Matches the calls of a trace.
    pub fn new(trace: &Trace) -> Operations {
        all::operations(trace)
    }
}

impl OperationKey {
    /// True if a call of it only starts it, and a request stands for it until it is complete.
    pub fn has_request(&self) -> bool {
        Form::of_name(&self.function).has_request()
    }

    /// True if it is a barrier that blocks. One that is started and completed apart encloses nothing.
    pub fn is_blocking_barrier(&self) -> bool {
        Function::named(&self.function).is_some_and(Function::is_blocking_barrier)
    }
}

impl Operation {
    /// The records of the `row`-th repetition, one for each of `parts`.
    #[inline]
    pub fn records(&self, row: usize) -> RepetitionRow<'_> {
        self.rows.row(row)
    }

    /// True if every rank finished and kept the `row`-th repetition.
    #[inline]
    pub fn is_complete(&self, row: usize) -> bool {
        self.complete.is_complete(row)
    }

    /// Looks at the repetitions with these numbers only: all others do not count any more.
    pub fn limit_to(&mut self, numbers: &Range<u64>) {
        self.sampled = None;
        self.looked_at = self.repetition.rows_with(numbers);
    }

    /// The rows of the repetitions that are looked at: all, unless [`Operation::limit_to`] was called.
    pub fn looked_at(&self) -> Range<usize> {
        self.looked_at.clone()
    }

    /// The rows of the repetitions that every rank finished and kept: those that count in statistics.
    pub fn complete_rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.complete.rows(self.looked_at.clone())
    }

    /// The complete repetitions, by their place among all.
    pub fn complete(&self) -> CompleteRows {
        CompleteRows::new(&self.complete, self.looked_at.clone())
    }

    /// How many repetitions every rank finished and kept.
    pub fn repetitions(&self) -> usize {
        self.complete.count(&self.looked_at)
    }

    /// The numbers and the run times (ns) of the complete repetitions.
    pub fn run_times(&self, trace: &Trace, clock: &Clock, run_time: RunTime) -> (Vec<u64>, Vec<f64>) {
        let numbers = match self.repetitions() == self.repetition.len() {
            true => self.repetition.iter().collect(),
            false => self.complete_rows().map(|row| self.repetition.get(row)).collect(),
        };
        (numbers, self.run_time_values(trace, clock, run_time))
    }
}
