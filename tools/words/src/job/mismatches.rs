//! Mismatched calls as text.

use mpitrace_show::text;
use mpitrace_trace::operations::{Mismatch, MismatchKind, MismatchedCall};

const LISTED: usize = 5;

/// The line of the mismatch at this place, if [`lines`] has none of its own for it.
pub fn line_beyond(found: &[Mismatch], communicator: &str, sequence: u64) -> Option<String> {
    let mut beyond = found.iter().skip(LISTED);
    beyond.find(|one| one.communicator == communicator && one.sequence == sequence).map(line)
}

/// The line of the first one.
pub fn first_line(found: &[Mismatch]) -> Option<String> {
    found.first().map(line)
}

/// A line for each of the first ones, and one for the others.
pub fn lines(found: &[Mismatch], total: u64) -> Vec<String> {
    let mut lines: Vec<String> = found.iter().take(LISTED).map(line).collect();
    let others = total.saturating_sub(lines.len() as u64);
    if others > 0 {
        lines.push(format!("... and {others} more mismatches (info --json has up to 64 of each communicator)"));
    }
    if !found.is_empty() {
        lines.push("Later calls on the same communicator may be matched with the wrong calls.".to_owned());
    }
    lines
}

fn line(mismatch: &Mismatch) -> String {
    let with_type = mismatch.kind == MismatchKind::Datatype;
    let calls: Vec<String> = mismatch.calls.iter().map(|call| call_text(call, with_type)).collect();
    format!(
        "MISMATCH ({}) at call {} of {}: {}",
        mismatch.kind.name(),
        mismatch.sequence,
        text::printable(&mismatch.communicator),
        calls.join(", ")
    )
}

fn call_text(call: &MismatchedCall, with_type: bool) -> String {
    let mut line = format!("{} {}", text::named_ranks(&call.ranks), text::printable(&call.function));
    line.push_str(&text::of_bytes(call.bytes));
    let datatype = call.datatype.as_deref().filter(|_| with_type);
    line.push_str(&datatype.map(|name| format!(" as {}", text::printable(name))).unwrap_or_default());
    let reduction = call.reduction.as_deref().map(|name| format!(" with {}", text::printable(name)));
    line.push_str(&reduction.unwrap_or_default());
    let root = call.root.map(|root| format!(" to or from root {root}"));
    line.push_str(&root.unwrap_or_default());
    line.push_str(&text::in_brackets(call.call_site.as_ref()));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(ranks: &[u32], function: &str, bytes: u64, root: Option<i32>) -> MismatchedCall {
        let (ranks, function) = (ranks.to_vec(), function.to_owned());
        MismatchedCall { ranks, function, root, bytes: Some(bytes), datatype: None, reduction: None, call_site: None }
    }

    fn mismatch(kind: MismatchKind, sequence: u64, communicator: &str, calls: Vec<MismatchedCall>) -> Mismatch {
        Mismatch { communicator_id: 0, communicator: communicator.to_owned(), sequence, kind, calls }
    }

    #[test]
    fn a_line_names_the_place_and_what_each_rank_called() {
        let calls = vec![call(&[0], "MPI_Bcast", 8, Some(0)), call(&[1, 2, 3], "MPI_Barrier", 0, None)];
        let mismatch = mismatch(MismatchKind::Function, 701, "MPI_COMM_WORLD", calls);
        let expected = "MISMATCH (function) at call 701 of MPI_COMM_WORLD: \
                        rank 0 MPI_Bcast of 8 bytes to or from root 0, ranks 1-3 MPI_Barrier";
        assert_eq!(line(&mismatch), expected);
        let lines = lines(&[mismatch], 9);
        assert_eq!(lines.len(), 3);
        assert!(lines[1].contains("8 more"));
    }

    #[test]
    fn types_are_named_where_they_differ() {
        let of_type = |rank, name: &str| MismatchedCall {
            datatype: Some(name.into()),
            ..call(&[rank], "MPI_Reduce", 4, Some(0))
        };
        let calls = vec![of_type(0, "MPI_INT"), of_type(1, "MPI_FLOAT")];
        let mut mismatch = mismatch(MismatchKind::Datatype, 0, "comm-1", calls);
        let expected = "MISMATCH (datatype) at call 0 of comm-1: rank 0 MPI_Reduce of 4 bytes as MPI_INT to or from root 0, \
                        rank 1 MPI_Reduce of 4 bytes as MPI_FLOAT to or from root 0";
        assert_eq!(line(&mismatch), expected);
        mismatch.kind = MismatchKind::Size;
        assert!(!line(&mismatch).contains("MPI_INT"));
        let all: Vec<Mismatch> = (0..7).map(|sequence| Mismatch { sequence, ..mismatch.clone() }).collect();
        assert_eq!(line_beyond(&all, "comm-1", 6), Some(line(&all[6])));
        assert_eq!(line_beyond(&all, "comm-1", 2), None, "it is listed");
    }
}
