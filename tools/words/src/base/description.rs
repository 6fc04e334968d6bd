//! The description of an operation.

use mpitrace_show::text;
use mpitrace_trace::operations::{CallSite, Communicator, Operation, Operations};
use mpitrace_trace::reader::Trace;
use serde::Serialize;

use super::counted_names::counted_names;

/// An operation, as `info --json` has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Description {
    /// Its number.
    pub operation: usize,
    /// The function's plain C name; `unknown` where nothing tells.
    pub function: String,
    /// The communicator's name; `unknown` where nothing tells.
    pub communicator: String,
    /// The name for people: with the ranks, where several communicators have this name.
    #[serde(skip)]
    pub communicator_label: String,
    /// Its number in the trace.
    pub communicator_id: Option<usize>,
    /// The message size, bytes.
    pub bytes: Option<u64>,
    /// The root's rank in the communicator, where it has one that has a number.
    pub root: Option<i32>,
    /// The data type.
    pub datatype: Option<String>,
    /// The reduction operator.
    pub reduction: Option<String>,
    /// How many ranks the communicator has; 0 where nothing tells.
    pub ranks: u32,
    /// Repetitions that every rank finished and kept.
    pub repetitions: usize,
    /// Repetitions that were begun and that not every rank finished and kept.
    pub incomplete: u64,
    /// The place in the program that calls it, where the run has told places apart.
    #[serde(skip)]
    pub call_site: Option<CallSite>,
    /// Equal in operations that are one row of a table for people: those that differ by the number in the name of their
    /// communicator or file alone, where it counts.
    #[serde(skip)]
    pub row: Option<String>,
    /// The file, where it is not a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl Description {
    /// The descriptions of the operations of a trace.
    pub fn all(trace: &Trace, operations: &Operations) -> Vec<Description> {
        let labels = communicator_labels(trace, operations);
        let counted = counted_names(&operations.communicators);
        let description = |(number, operation): (usize, &Operation)| {
            let key = &operation.key;
            let row = |name: &String| {
                let site = key.call_site.as_ref().map(ToString::to_string);
                format!("{name} {} {:?} {:?} {:?} {site:?}", key.function, key.bytes, key.root, key.reduction)
            };
            Description {
                operation: number,
                function: key.function.clone(),
                communicator: operations.communicators[key.communicator].name.clone(),
                communicator_label: labels[key.communicator].clone(),
                communicator_id: Some(key.communicator),
                bytes: key.bytes,
                root: key.root.filter(|&root| root >= 0),
                datatype: key.datatype.clone(),
                reduction: key.reduction.clone(),
                ranks: operation.size,
                repetitions: operation.repetitions(),
                incomplete: operation.incomplete,
                call_site: key.call_site.clone(),
                row: counted[key.communicator].as_ref().map(row),
                file: None,
            }
        };
        operations.operations.iter().enumerate().map(description).collect()
    }

    /// The line of the program that calls it, `halo.c:42`; empty: the run has not told places apart.
    pub fn line(&self) -> String {
        let line = self.call_site.as_ref().map(|site| site.resolve().line_of_file());
        text::printable(&line.unwrap_or_default()).into_owned()
    }
}

/// The name of each communicator for people: with its ranks, where several have the name.
pub fn communicator_labels(trace: &Trace, operations: &Operations) -> Vec<String> {
    let all = &operations.communicators;
    let label = |one: &Communicator| {
        let name = text::printable(&one.name).into_owned();
        if all.iter().filter(|other| other.name == one.name).count() < 2 {
            return name;
        }
        let ranks: Vec<u32> = one.members.iter().map(|&(part, _)| trace.parts[part].rank()).collect();
        format!("{name} ({})", text::few_ranks(&ranks))
    };
    all.iter().map(label).collect()
}
