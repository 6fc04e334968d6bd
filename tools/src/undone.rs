//! What a program that ended by itself has left undone: as JSON and as text.

use mpitrace::call_site::Resolver;
use mpitrace::operations::{CallSite, CalledAlone, NotCalled, NotCompleted, Operations};
use mpitrace::reader::Trace;
use serde::Serialize;

use crate::text;

/// Lines of each kind that are printed for people; the others are counted.
const LISTED: usize = 5;

/// What is left undone, by the keys of JSON.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Undone {
    /// Of each communicator the first call that not all of its ranks made.
    pub not_called: Vec<NotCalledFacts>,
    /// Operations with requests that were never complete.
    pub not_completed: Vec<NotCompletedFacts>,
}

/// A call that not all ranks of its communicator made.
#[derive(Clone, Debug, Serialize)]
pub struct NotCalledFacts {
    /// The communicator's name.
    pub communicator: String,
    /// How many calls on the communicator came before.
    pub sequence: u64,
    /// The world ranks that did not make it.
    pub ranks: Vec<u32>,
    /// What the others called.
    pub calls: Vec<CallFacts>,
}

/// What some ranks called.
#[derive(Clone, Debug, Serialize)]
pub struct CallFacts {
    /// World ranks.
    pub ranks: Vec<u32>,
    /// The plain C name; null: the call was not kept.
    pub function: Option<String>,
    /// Where the program makes the call, in one text.
    pub call_site: Option<String>,
}

/// An operation with requests that were never complete.
#[derive(Clone, Debug, Serialize)]
pub struct NotCompletedFacts {
    /// Its number.
    pub operation: usize,
    /// The plain C name.
    pub function: String,
    /// The communicator's name.
    pub communicator: String,
    /// The world ranks that did not complete one.
    pub ranks: Vec<u32>,
    /// Repetitions of which a rank did not complete its request.
    pub repetitions: u64,
    /// Where the program starts it, in one text.
    pub call_site: Option<String>,
}

impl Undone {
    /// That of a trace.
    pub fn of(trace: &Trace, operations: &Operations) -> Undone {
        let mut resolver = Resolver::new();
        let mut site =
            |site: &CallSite| resolver.resolve(&site.module, site.build_id.as_deref(), site.offset).to_string();
        let mut call = |call: CalledAlone| CallFacts {
            ranks: call.ranks,
            function: call.function,
            call_site: call.call_site.as_ref().map(&mut site),
        };
        let not_called = operations.not_called(trace).into_iter();
        let not_called = not_called.map(|NotCalled { communicator, sequence, ranks, calls }| NotCalledFacts {
            communicator: operations.communicators[communicator].name.clone(),
            sequence,
            ranks,
            calls: calls.into_iter().map(&mut call).collect(),
        });
        let not_called = not_called.collect();
        let not_completed = operations.not_completed(trace).into_iter();
        let not_completed = not_completed.map(|NotCompleted { operation, ranks, repetitions }| {
            let key = &operations.operations[operation].key;
            NotCompletedFacts {
                operation,
                function: key.function.clone(),
                communicator: operations.communicators[key.communicator].name.clone(),
                ranks,
                repetitions,
                call_site: key.call_site.as_ref().map(&mut site),
            }
        });
        Undone { not_called, not_completed: not_completed.collect() }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.not_called.is_empty() && self.not_completed.is_empty()
    }

    /// A line for each of the first ones, and one for the others.
    pub fn lines(&self) -> Vec<String> {
        let calls = self.not_called.iter().map(NotCalledFacts::line);
        let requests = self.not_completed.iter().map(NotCompletedFacts::line);
        let others = (self.not_called.len() + self.not_completed.len()) - self.listed();
        let others = (others > 0).then(|| format!("... and {others} more (--json has them all)"));
        calls.take(LISTED).chain(requests.take(LISTED)).chain(others).collect()
    }

    fn listed(&self) -> usize {
        self.not_called.len().min(LISTED) + self.not_completed.len().min(LISTED)
    }

    /// The first line of each kind.
    pub fn first_lines(&self) -> Vec<String> {
        let calls = self.not_called.first().map(NotCalledFacts::line);
        calls.into_iter().chain(self.not_completed.first().map(NotCompletedFacts::line)).collect()
    }
}

impl NotCalledFacts {
    fn line(&self) -> String {
        let calls: Vec<String> = self.calls.iter().map(CallFacts::text).collect();
        let (ranks, communicator) = (text::named_ranks(&self.ranks), text::printable(&self.communicator));
        format!("{ranks} never came to call {} of {communicator}: {}", self.sequence, calls.join(", "))
    }
}

impl CallFacts {
    fn text(&self) -> String {
        let function = self.function.as_deref().map_or_else(|| "(call not kept)".into(), text::printable);
        format!("{} {function}{}", text::named_ranks(&self.ranks), in_brackets(self.call_site.as_deref()))
    }
}

impl NotCompletedFacts {
    fn line(&self) -> String {
        let times = if self.repetitions == 1 { String::new() } else { format!(", {} times", self.repetitions) };
        format!(
            "never completed by {}: {} on {}{times}{}",
            text::named_ranks(&self.ranks),
            text::printable(&self.function),
            text::printable(&self.communicator),
            in_brackets(self.call_site.as_deref())
        )
    }
}

/// A place of the program.
fn in_brackets(site: Option<&str>) -> String {
    site.map(|site| format!(" ({})", text::printable(site))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_the_ranks_the_call_and_the_place() {
        let call = |function: Option<&str>, call_site: Option<&str>| CallFacts {
            ranks: vec![1],
            function: function.map(str::to_owned),
            call_site: call_site.map(str::to_owned),
        };
        let of = |calls| NotCalledFacts { communicator: "MPI_COMM_WORLD".into(), sequence: 0, ranks: vec![0], calls };
        let request = NotCompletedFacts {
            operation: 3,
            function: "MPI_Ibarrier".into(),
            communicator: "comm-1".into(),
            ranks: vec![0, 1],
            repetitions: 1,
            call_site: Some("main at x.c:61".into()),
        };
        let undone = Undone {
            not_called: vec![of(vec![call(Some("MPI_Reduce"), Some("main at x.c:57"))]), of(vec![call(None, None)])],
            not_completed: vec![request.clone(), NotCompletedFacts { repetitions: 7, ..request }],
        };
        let expected = [
            "rank 0 never came to call 0 of MPI_COMM_WORLD: rank 1 MPI_Reduce (main at x.c:57)",
            "rank 0 never came to call 0 of MPI_COMM_WORLD: rank 1 (call not kept)",
            "never completed by ranks 0-1: MPI_Ibarrier on comm-1 (main at x.c:61)",
            "never completed by ranks 0-1: MPI_Ibarrier on comm-1, 7 times (main at x.c:61)",
        ];
        assert_eq!(undone.lines(), expected);
        assert_eq!(undone.first_lines(), [expected[0], expected[2]]);
        assert!(!undone.is_empty() && Undone::default().is_empty());
        let many = Undone { not_called: undone.not_called.iter().cycle().take(8).cloned().collect(), ..undone };
        assert!(many.lines()[7].contains("3 more"), "{:?}", many.lines());
    }
}
