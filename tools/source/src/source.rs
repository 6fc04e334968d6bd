//! Run times behind one interface, whether they were traced or come from another tool.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::Result;
use mpitrace_analysis::run::{Need, Run};
use mpitrace_trace::calls::algorithms::{Repetitions, Seen};
use mpitrace_trace::calls::whole_run::{self, AllCalls};
use mpitrace_trace::run_time::RunTime;
use mpitrace_words::description::Description;
use mpitrace_words::undone;

use super::columns::{Counter, Ranks, RunTimes};
use super::opened::{check_operation, warn_if_incomplete};
use super::traced::Traced;
use super::untraced::Untraced;
use crate::memory;
use crate::options::{Format, Input};

/// Where run times come from.
#[derive(Debug)]
pub struct Source {
    data: Data,
    operations: Vec<Description>,
    all_calls: OnceLock<Vec<AllCalls>>,
}

#[derive(Debug)]
enum Data {
    Traced(Box<Traced>),
    Untraced(Untraced),
}

impl Data {
    fn descriptions(&self) -> Vec<Description> {
        match self {
            Data::Traced(traced) => Description::all(&traced.run.trace, &traced.run.operations),
            Data::Untraced(untraced) => untraced.descriptions(),
        }
    }
}

impl Source {
    /// Opens what the arguments name.
    ///
    /// # Errors
    /// A file that cannot be read or used; the message names it, and the line where there is one.
    pub fn open(input: &Input) -> Result<Source> {
        Ok(Source::read(&input.files, input.from.format)?.limited_to(input.repetitions.as_ref()))
    }

    /// Opens these files: the trace of one run in one file or several, or with a format the files of another tool, each
    /// of which is read by itself.
    pub fn read(files: &[PathBuf], from: Option<Format>) -> Result<Source> {
        let data = match from {
            None => Data::Traced(Box::new(Traced::open(files, Need::Operations)?)),
            Some(format) => Data::Untraced(Untraced::read(files, format)?),
        };
        let operations = data.descriptions();
        Ok(Source { data, operations, all_calls: OnceLock::new() })
    }

    /// Leaves out all repetitions but those with these numbers.
    pub fn limited_to(self, repetitions: Option<&Range<u64>>) -> Source {
        let Some(repetitions) = repetitions else { return self };
        let data = match self.data {
            Data::Traced(traced) => Data::Traced(Box::new(traced.limited_to(repetitions))),
            Data::Untraced(mut untraced) => {
                untraced.limit_to(repetitions);
                Data::Untraced(untraced)
            }
        };
        Source { operations: data.descriptions(), data, all_calls: OnceLock::new() }
    }

    /// The operations, by number.
    pub fn operations(&self) -> &[Description] {
        &self.operations
    }

    /// The numbers of the operations that are asked for: one, or all.
    pub fn wanted(&self, operation: Option<usize>) -> impl Iterator<Item = usize> + use<> {
        (0..self.operations.len()).filter(move |number| operation.is_none_or(|wanted| wanted == *number))
    }

    /// Checks that there is such an operation and that there are such run times: to be asked before anything is
    /// written.
    ///
    /// # Errors
    /// A number beyond the operations; run times that need time stamps where there are none.
    pub fn check(&self, operation: Option<usize>, time: RunTime) -> Result<()> {
        check_operation(operation, self.operations.len())?;
        if let (Data::Untraced(untraced), true) = (&self.data, time != RunTime::Local) {
            let lacks = self.wanted(operation).find(|&number| !untraced.has_stamps(number));
            if let Some(number) = lacks {
                let path = untraced.measured(number).path.display();
                anyhow::bail!("{path}: has no time stamps of one clock: only --time local exists, not {}", time.name());
            }
        }
        Ok(())
    }

    /// Tells on stderr what is to be known beside the numbers: that something is incomplete or was left out, and that
    /// clocks which nothing has synchronised stand behind times of several ranks.
    pub fn warn(&self, time: RunTime) {
        match &self.data {
            Data::Traced(traced) => {
                warn_if_incomplete(&traced.run.trace);
                for line in undone::doubtful(&traced.run.operations.undone(&traced.run.trace)) {
                    eprintln!("mpitrace: {line}");
                }
                traced.note_on_clocks(time, "").iter().for_each(|note| eprintln!("mpitrace: {note}"));
            }
            Data::Untraced(untraced) => untraced.notes().for_each(|note| eprintln!("mpitrace: {note}")),
        }
    }

    /// Warns where what is looked at may not fit into memory.
    pub fn warn_of_memory(&self, operation: Option<usize>, need: memory::Need) {
        let sizes = self.wanted(operation).map(|number| (number, self.operations[number].repetitions));
        memory::warn(sizes, need);
    }

    /// True if every repetition that was begun is there on every rank.
    pub fn complete(&self) -> bool {
        match &self.data {
            Data::Traced(traced) => traced.run.trace.complete,
            Data::Untraced(_) => self.operations.iter().all(|operation| operation.incomplete == 0),
        }
    }

    /// Notes on an operation: lines that were skipped, repetitions that were left out.
    pub fn notes(&self, operation: usize) -> &[String] {
        match &self.data {
            Data::Traced(_) => &[],
            Data::Untraced(untraced) => &untraced.measured(operation).notes,
        }
    }

    /// The numbers and the run times of the repetitions that every rank finished and kept.
    ///
    /// # Errors
    /// Run times that need time stamps where there are none.
    pub fn run_times(&self, operation: usize, time: RunTime) -> Result<RunTimes<'_>> {
        match &self.data {
            Data::Traced(traced) => Ok(traced.run_times(operation, time)),
            Data::Untraced(untraced) => {
                self.check(Some(operation), time)?;
                Ok(untraced.run_times(operation, time))
            }
        }
    }

    /// The times of each rank in these repetitions; of no rank where only run times are known.
    pub fn ranks(&self, operation: usize) -> Ranks<'_> {
        match &self.data {
            Data::Traced(traced) => traced.ranks(operation),
            Data::Untraced(untraced) => untraced.ranks(operation),
        }
    }

    /// The counters in these repetitions. For non-blocking operations also the costs of their requests.
    pub fn counters(&self, operation: usize) -> Vec<Counter<'_>> {
        match &self.data {
            Data::Traced(traced) => traced.counters(operation),
            Data::Untraced(untraced) => untraced.counters(operation),
        }
    }

    /// For each of these repetitions whether the tracer itself may have delayed it on some rank. `None`: nothing tells.
    pub fn perturbed(&self, operation: usize) -> Option<Vec<bool>> {
        match &self.data {
            Data::Traced(traced) => Some(traced.perturbed(operation)),
            Data::Untraced(_) => None,
        }
    }

    /// The operations of which not all calls were kept, with those that were not.
    pub fn all_calls(&self) -> &[AllCalls] {
        self.all_calls.get_or_init(|| match &self.data {
            Data::Traced(traced) => whole_run::all_calls(&traced.run.trace, &traced.run.operations, &traced.run.clock),
            Data::Untraced(_) => Vec::new(),
        })
    }

    /// The algorithm of each of an operation's repetitions; `None`: they are not seen.
    pub fn algorithms(&self, operation: usize) -> Option<Repetitions> {
        let Run { trace, operations, .. } = &self.traced()?.run;
        let operation = &operations.operations[operation];
        Seen::new(trace, &operation.key.function).of_repetitions(trace, operation)
    }

    /// The trace, its operations and its clocks, where it was traced.
    pub fn traced(&self) -> Option<&Traced> {
        match &self.data {
            Data::Traced(traced) => Some(traced),
            Data::Untraced(_) => None,
        }
    }
}
