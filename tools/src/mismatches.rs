//! Mismatched calls: as JSON and as text.

use mpitrace::call_site::Resolver;
use mpitrace::operations::{CallSite, Mismatch, MismatchedCall, Operations};
use serde::Serialize;

use crate::text;

/// Lines that are printed for people; the other mismatches are counted.
const LISTED: usize = 5;

/// A mismatch, by the keys of JSON.
#[derive(Clone, Debug, Serialize)]
pub struct MismatchFacts {
    /// The communicator's name.
    pub communicator: String,
    /// How many calls on the communicator came before.
    pub sequence: u64,
    /// What differs: `function`, `root`, `operator`, `size` or `datatype`.
    pub kind: &'static str,
    /// What the ranks called.
    pub calls: Vec<CallFacts>,
}

/// What some ranks called.
#[derive(Clone, Debug, Serialize)]
pub struct CallFacts {
    /// World ranks.
    pub ranks: Vec<u32>,
    /// The plain C name.
    pub function: String,
    /// The root's rank in the communicator.
    pub root: Option<i32>,
    /// The message size that these ranks passed.
    pub bytes: Option<u64>,
    /// The data type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datatype: Option<String>,
    /// The reduction operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reduction: Option<String>,
    /// Where the program makes the call, in one text.
    pub call_site: Option<String>,
}

/// The mismatches of a trace that are described.
pub fn facts(operations: &Operations) -> Vec<MismatchFacts> {
    let mut resolver = Resolver::new();
    operations.mismatches.iter().map(|mismatch| MismatchFacts::of(mismatch, operations, &mut resolver)).collect()
}

/// How many mismatches there are, those that are not described included.
pub fn total(operations: &Operations) -> u64 {
    operations.communicators.iter().map(|communicator| communicator.mismatches).sum()
}

/// The line of the mismatch at this place, if [`lines`] has none of its own for it.
pub fn line_beyond(facts: &[MismatchFacts], communicator: &str, sequence: u64) -> Option<String> {
    let mut beyond = facts.iter().skip(LISTED);
    beyond.find(|found| found.communicator == communicator && found.sequence == sequence).map(MismatchFacts::line)
}

/// A line for each of the first ones, and one for the others.
pub fn lines(facts: &[MismatchFacts], total: u64) -> Vec<String> {
    let mut lines: Vec<String> = facts.iter().take(LISTED).map(MismatchFacts::line).collect();
    let others = total.saturating_sub(lines.len() as u64);
    if others > 0 {
        lines.push(format!("... and {others} more mismatches (info --json has up to 64 of each communicator)"));
    }
    if !facts.is_empty() {
        lines.push("Later calls on the same communicator may be matched with the wrong calls.".to_owned());
    }
    lines
}

impl MismatchFacts {
    fn of(mismatch: &Mismatch, operations: &Operations, resolver: &mut Resolver) -> MismatchFacts {
        let mut site =
            |site: &CallSite| resolver.resolve(&site.module, site.build_id.as_deref(), site.offset).to_string();
        let mut call = |call: &MismatchedCall| CallFacts {
            ranks: call.ranks.clone(),
            function: call.function.clone(),
            root: call.root.filter(|&root| root >= 0),
            bytes: call.bytes,
            datatype: call.datatype.clone(),
            reduction: call.reduction.clone(),
            call_site: call.call_site.as_ref().map(&mut site),
        };
        MismatchFacts {
            communicator: operations.communicators[mismatch.communicator].name.clone(),
            sequence: mismatch.sequence,
            kind: mismatch.kind.name(),
            calls: mismatch.calls.iter().map(&mut call).collect(),
        }
    }

    fn line(&self) -> String {
        let calls: Vec<String> = self.calls.iter().map(|call| call.text(self.kind == "datatype")).collect();
        format!(
            "MISMATCH ({}) at call {} of {}: {}",
            self.kind,
            self.sequence,
            text::printable(&self.communicator),
            calls.join(", ")
        )
    }
}

impl CallFacts {
    fn text(&self, with_type: bool) -> String {
        let mut line = format!("{} {}", text::named_ranks(&self.ranks), text::printable(&self.function));
        if let Some(bytes) = self.bytes.filter(|&bytes| bytes > 0) {
            line.push_str(&format!(" of {}", text::count(bytes, "byte")));
        }
        let datatype = self.datatype.as_deref().filter(|_| with_type);
        line.push_str(&datatype.map(|name| format!(" as {}", text::printable(name))).unwrap_or_default());
        let reduction = self.reduction.as_deref().map(|name| format!(" with {}", text::printable(name)));
        line.push_str(&reduction.unwrap_or_default());
        let root = self.root.map(|root| format!(" to or from root {root}"));
        line.push_str(&root.unwrap_or_default());
        let site = self.call_site.as_deref().map(|site| format!(" ({})", text::printable(site)));
        line.push_str(&site.unwrap_or_default());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(ranks: &[u32], function: &str, bytes: u64, root: Option<i32>) -> CallFacts {
        let (ranks, function) = (ranks.to_vec(), function.to_owned());
        CallFacts { ranks, function, root, bytes: Some(bytes), datatype: None, reduction: None, call_site: None }
    }

    #[test]
    fn a_line_names_the_place_and_what_each_rank_called() {
        let calls = vec![call(&[0], "MPI_Bcast", 8, Some(0)), call(&[1, 2, 3], "MPI_Barrier", 0, None)];
        let mismatch = MismatchFacts { communicator: "MPI_COMM_WORLD".into(), sequence: 701, kind: "function", calls };
        let expected = "MISMATCH (function) at call 701 of MPI_COMM_WORLD: \
                        rank 0 MPI_Bcast of 8 bytes to or from root 0, ranks 1-3 MPI_Barrier";
        assert_eq!(mismatch.line(), expected);
        let lines = lines(&[mismatch], 9);
        assert_eq!(lines.len(), 3);
        assert!(lines[1].contains("8 more"));
    }

    #[test]
    fn types_are_named_where_they_differ() {
        let of_type =
            |rank, name: &str| CallFacts { datatype: Some(name.into()), ..call(&[rank], "MPI_Reduce", 4, Some(0)) };
        let calls = vec![of_type(0, "MPI_INT"), of_type(1, "MPI_FLOAT")];
        let mut mismatch = MismatchFacts { communicator: "comm-1".into(), sequence: 0, kind: "datatype", calls };
        let expected = "MISMATCH (datatype) at call 0 of comm-1: rank 0 MPI_Reduce of 4 bytes as MPI_INT to or from root 0, \
                        rank 1 MPI_Reduce of 4 bytes as MPI_FLOAT to or from root 0";
        assert_eq!(mismatch.line(), expected);
        mismatch.kind = "size";
        assert!(!mismatch.line().contains("MPI_INT"));
        let all: Vec<MismatchFacts> = (0..7).map(|sequence| MismatchFacts { sequence, ..mismatch.clone() }).collect();
        assert_eq!(line_beyond(&all, "comm-1", 6), Some(all[6].line()));
        assert_eq!(line_beyond(&all, "comm-1", 2), None, "it is listed");
    }
}
