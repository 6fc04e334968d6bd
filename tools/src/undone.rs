//! Calls left out and requests not completed by a program that ended by itself, as text.

use mpitrace::operations::{CalledAlone, NotCalled, NotCompleted, Undone};

use crate::text;

/// Lines of each kind that are printed for people; the others are counted.
const LISTED: usize = 5;

/// A line for each of the first ones, and one for the others.
pub fn lines(undone: &Undone) -> Vec<String> {
    let Undone { not_called, not_completed } = undone;
    let calls = not_called.iter().take(LISTED).map(not_called_line);
    let requests = not_completed.iter().take(LISTED).map(not_completed_line);
    let mut lines: Vec<String> = calls.chain(requests).collect();
    let others = not_called.len() + not_completed.len() - lines.len();
    if others > 0 {
        lines.push(format!("... and {others} more (--json has them all)"));
    }
    lines
}

/// The first line of each kind.
pub fn first_lines(undone: &Undone) -> Vec<String> {
    let call = undone.not_called.first().map(not_called_line);
    call.into_iter().chain(undone.not_completed.first().map(not_completed_line)).collect()
}

fn not_called_line(found: &NotCalled) -> String {
    let calls: Vec<String> = found.calls.iter().map(call_text).collect();
    let (ranks, communicator) = (text::named_ranks(&found.ranks), text::printable(&found.communicator));
    format!("{ranks} never came to call {} of {communicator}: {}", found.sequence, calls.join(", "))
}

fn call_text(call: &CalledAlone) -> String {
    let function = call.function.as_deref().map_or_else(|| "(call not kept)".into(), text::printable);
    format!("{} {function}{}", text::named_ranks(&call.ranks), text::in_brackets(call.call_site.as_ref()))
}

fn not_completed_line(found: &NotCompleted) -> String {
    let times = if found.repetitions == 1 { String::new() } else { format!(", {} times", found.repetitions) };
    format!(
        "never completed by {}: {} on {}{times}{}",
        text::named_ranks(&found.ranks),
        text::printable(&found.function),
        text::printable(&found.communicator),
        text::in_brackets(found.call_site.as_ref())
    )
}

#[cfg(test)]
mod tests {
    use mpitrace::operations::CallSite;

    use super::*;

    #[test]
    fn lines_name_the_ranks_the_call_and_the_place() {
        let site = |offset: u64| CallSite { module: "/no/x".to_owned(), build_id: None, offset };
        let call = |function: Option<&str>, offset: Option<u64>| CalledAlone {
            ranks: vec![1],
            function: function.map(str::to_owned),
            call_site: offset.map(site),
        };
        let of = |calls| NotCalled { communicator: "MPI_COMM_WORLD".into(), sequence: 0, ranks: vec![0], calls };
        let request = NotCompleted {
            operation: 3,
            function: "MPI_Ibarrier".into(),
            communicator: "comm-1".into(),
            ranks: vec![0, 1],
            repetitions: 1,
            call_site: Some(site(0x61)),
        };
        let undone = Undone {
            not_called: vec![of(vec![call(Some("MPI_Reduce"), Some(0x57))]), of(vec![call(None, None)])],
            not_completed: vec![request.clone(), NotCompleted { repetitions: 7, ..request }],
        };
        let expected = [
            "rank 0 never came to call 0 of MPI_COMM_WORLD: rank 1 MPI_Reduce (x+0x57)",
            "rank 0 never came to call 0 of MPI_COMM_WORLD: rank 1 (call not kept)",
            "never completed by ranks 0-1: MPI_Ibarrier on comm-1 (x+0x61)",
            "never completed by ranks 0-1: MPI_Ibarrier on comm-1, 7 times (x+0x61)",
        ];
        assert_eq!(lines(&undone), expected);
        assert_eq!(first_lines(&undone), [expected[0], expected[2]]);
        assert!(!undone.is_empty() && Undone::default().is_empty());
        let many = Undone { not_called: undone.not_called.iter().cycle().take(8).cloned().collect(), ..undone };
        assert!(lines(&many)[7].contains("3 more"), "{:?}", lines(&many));
    }
}
