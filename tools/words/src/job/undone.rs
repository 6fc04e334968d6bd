//! Calls left out, requests not completed and messages not received by a program that ended by itself, as text.

use std::collections::BTreeSet;

use mpitrace_show::text;
use mpitrace_trace::operations::CallSite;
use mpitrace_trace::undone::DifferentTypes;
use mpitrace_trace::undone::NotMatched;
use mpitrace_trace::undone::{Amounts, CalledAlone, LeftOpen, LeftOut, NeverFreed, NotCalled, NotCompleted, Undone};

/// Lines of each kind that are printed for people; the others are counted.
const LISTED: usize = 5;

/// A line for each of the first ones, and one for the others.
pub fn lines(undone: &Undone) -> Vec<String> {
    let (mut lines, mut others) = first_of_each(undone, LISTED);
    let sends: Vec<&NotMatched> = undone.not_matched.iter().filter(|left| left.is_of_sends()).collect();
    lines.extend(sends.iter().take(LISTED).map(|left| not_matched_line(left)));
    others += sends.len().saturating_sub(LISTED);
    if others > 0 {
        lines.push(format!("... and {others} more (--json has them all)"));
    }
    lines.extend(never_freed_line(&hygiene(undone)));
    lines
}

/// The objects that were never freed, without the requests that have a line of their own.
fn hygiene(undone: &Undone) -> NeverFreed {
    let uncertain = undone.left_open.iter().filter(|open| open.may_be_complete);
    NeverFreed { requests: uncertain.map(|open| open.requests).sum(), ..undone.never_freed }
}

/// At most so many lines of each kind of defect, and the number of all others.
fn first_of_each(undone: &Undone, most: usize) -> (Vec<String>, usize) {
    let mut found = (Vec::new(), 0);
    add(&mut found, most, &undone.left_out, left_out_line);
    add(&mut found, most, &unexplained(undone), |call| not_called_line(call));
    add(&mut found, most, &undone.not_completed, not_completed_line);
    add(&mut found, most, &undone.amounts, amounts_line);
    let receives: Vec<&NotMatched> = undone.not_matched.iter().filter(|left| !left.is_of_sends()).collect();
    add(&mut found, most, &receives, |left| not_matched_line(left));
    add(&mut found, most, &undone.different_types, different_types_line);
    let is_told = |open: &&LeftOpen| !open.may_be_complete && !open.is_unmatched;
    let open: Vec<&LeftOpen> = undone.left_open.iter().filter(is_told).collect();
    add(&mut found, most, &open, |open| left_open_line(open));
    found
}

fn add<T>((lines, others): &mut (Vec<String>, usize), most: usize, all: &[T], line: impl Fn(&T) -> String) {
    lines.extend(all.iter().take(most).map(line));
    *others += all.len().saturating_sub(most);
}

/// Why numbers of repetitions are doubtful: calls of different repetitions are matched.
pub fn doubtful(undone: &Undone) -> impl Iterator<Item = String> {
    undone.left_out.iter().map(|found| {
        let communicator = text::printable(&found.communicator);
        format!("numbers of {communicator} from call {} on are doubtful: {}", found.earliest, left_out_line(found))
    })
}

/// The calls that were not made, but where it is said which one was left out.
fn unexplained(undone: &Undone) -> Vec<&NotCalled> {
    let is_explained = |found: &&NotCalled| undone.left_out.iter().any(|one| one.communicator == found.communicator);
    undone.not_called.iter().filter(|found| !is_explained(found)).collect()
}

fn never_freed_line(found: &NeverFreed) -> Option<String> {
    let counted = never_freed(found);
    (!counted.is_empty()).then(|| format!("left by some rank: {}", counted.join(", ")))
}

fn never_freed(found: &NeverFreed) -> Vec<String> {
    let NeverFreed { communicators, windows, files, types, requests } = *found;
    let kinds = [
        (communicators, "communicator", "freed"),
        (windows, "window", "freed"),
        (files, "file", "closed"),
        (types, "data type", "freed"),
        (requests, "request", "completed or freed"),
    ];
    let counted = kinds.iter().filter(|(count, ..)| *count > 0);
    counted.map(|&(count, what, done)| format!("{} never {done}", text::count(count, what))).collect()
}

/// The first defect of each kind as a line, and the number of all others.
pub fn first_defects(undone: &Undone) -> (Vec<String>, usize) {
    first_of_each(undone, 1)
}

/// Messages that were not received and objects that were not freed, by their number: no defects of a program that ended
/// by itself. `None`: there are none.
pub fn leftovers(undone: &Undone) -> Option<String> {
    let sent = undone.not_matched.iter().filter(|left| left.is_of_sends()).map(|left| left.left).sum::<u64>();
    let mut parts: Vec<String> = Vec::new();
    parts.extend((sent > 0).then(|| format!("{} never received", text::count(sent, "message"))));
    parts.extend(never_freed(&hygiene(undone)));
    (!parts.is_empty()).then(|| format!("Left behind: {}.", parts.join(", ")))
}

fn left_out_line(found: &LeftOut) -> String {
    let (ranks, communicator) = (text::named_ranks(&found.ranks), text::printable(&found.communicator));
    let LeftOut { sequence, earliest, .. } = found;
    let call = match earliest == sequence {
        true => format!("call {sequence} of {communicator}"),
        false => format!("one of the calls {earliest} to {sequence} of {communicator}"),
    };
    let what = match found.is_additional {
        true => format!("{ranks} made {call} in addition to the others' calls:"),
        false => format!("{ranks} left out {call}:"),
    };
    format!("{what} {}; all calls after it are matched one off", call_text(&found.call))
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

fn left_open_line(found: &LeftOpen) -> String {
    let by = called(&found.functions, &[]).map(|called| format!(" of {called}")).unwrap_or_default();
    let partners: Vec<u32> = found.partners.iter().copied().collect();
    let with = match partners.is_empty() {
        true => String::new(),
        false => format!("; its messages are with {}", text::named_ranks(&partners)),
    };
    format!("never completed by rank {}: {}{by}{with}", found.rank, text::count(found.requests, "request"))
}

fn amounts_line(found: &Amounts) -> String {
    let calls: Vec<String> = found.calls.iter().map(call_text).collect();
    let (kind, communicator, calls) = (found.kind, text::printable(&found.communicator), calls.join(", "));
    match found.sequence {
        Some(sequence) => format!("MISMATCH ({kind}) at call {sequence} of {communicator}: {calls}"),
        None if kind == "datatype" => format!("MISMATCH ({kind}) in some calls of {communicator}, of these: {calls}"),
        None => format!("MISMATCH ({kind}) in several calls of {communicator}, of these: {calls}"),
    }
}

fn not_matched_line(found: &NotMatched) -> String {
    let by = first_by(&found.functions, &found.call_sites);
    let from = senders(&found.from);
    let (NotMatched { left, all, to, .. }, on) = (found, text::printable(&found.communicator));
    match found.direction {
        "send" => {
            format!("never received by rank {to}: {left} of {} of {from} on {on}{by}", text::count(*all, "message"))
        }
        _ => format!("never matched by {from}: {left} of {} of rank {to} on {on}{by}", text::count(*all, "receive")),
    }
}

/// The ranks that a message may be of.
fn senders(from: &[u32]) -> String {
    match from {
        [] => "any rank".to_owned(),
        [one] => format!("rank {one}"),
        several => format!("one of {}", text::named_ranks(several)),
    }
}

fn first_by(functions: &BTreeSet<String>, call_sites: &[CallSite]) -> String {
    called(functions, call_sites).map(|called| format!(" (the first by {called})")).unwrap_or_default()
}

/// Functions, and the places where these were called.
pub fn called(functions: &BTreeSet<String>, call_sites: &[CallSite]) -> Option<String> {
    let functions: Vec<String> = functions.iter().map(|name| text::printable(name).into_owned()).collect();
    let places: Vec<String> = call_sites.iter().map(|site| text::printable(&site.to_string()).into_owned()).collect();
    let known: Vec<String> =
        [functions, places].iter().filter(|words| !words.is_empty()).map(|words| words.join(" or ")).collect();
    Some(known.join(", ")).filter(|words| !words.is_empty())
}

fn different_types_line(found: &DifferentTypes) -> String {
    let DifferentTypes { to, sent, received, communicator, .. } = found;
    format!(
        "MISMATCH (datatype) of messages of {}{} to rank {to}{} on {}: sent as {}, received as {}",
        senders(&found.from),
        first_by(&found.sent_by, &found.sent_at),
        first_by(&found.received_by, &found.received_at),
        text::printable(communicator),
        sent.join(", "),
        received.join(", ")
    )
}

#[cfg(test)]
mod tests {
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
        let message = NotMatched {
            direction: "send",
            from: vec![0, 2],
            to: 1,
            communicator: "comm-1".into(),
            left: 2,
            all: 3,
            functions: ["MPI_Send", "MPI_Isend"].map(str::to_owned).into(),
            call_sites: vec![site(0x72)],
        };
        let amounts = Amounts {
            kind: "amounts",
            communicator: "comm-1".into(),
            sequence: Some(9),
            calls: vec![call(Some("MPI_Alltoallv"), Some(0x57))],
        };
        let open = LeftOpen {
            rank: 1,
            requests: 3,
            functions: ["MPI_Irecv", "MPI_Isend"].map(str::to_owned).into(),
            partners: [0, 2].into(),
            may_be_complete: false,
            is_unmatched: false,
        };
        let undone = Undone {
            not_called: vec![of(vec![call(Some("MPI_Reduce"), Some(0x57))]), of(vec![call(None, None)])],
            not_completed: vec![request.clone(), NotCompleted { repetitions: 7, ..request }],
            left_open: vec![open.clone(), LeftOpen { may_be_complete: true, ..open }],
            amounts: vec![amounts.clone(), Amounts { sequence: None, ..amounts }],
            not_matched: vec![
                message.clone(),
                NotMatched { direction: "receive", functions: BTreeSet::new(), call_sites: Vec::new(), ..message },
            ],
            different_types: vec![DifferentTypes {
                from: vec![0],
                to: 1,
                communicator: "comm-1".into(),
                sent: vec!["MPI_INT", "MPI_LONG"],
                received: vec!["MPI_FLOAT"],
                sent_by: ["MPI_Send".to_owned()].into(),
                sent_at: vec![site(0x72), site(0x80)],
                received_by: BTreeSet::new(),
                received_at: Vec::new(),
            }],
            left_out: Vec::new(),
            never_freed: NeverFreed::default(),
        };
        let expected = [
            "rank 0 never came to call 0 of MPI_COMM_WORLD: rank 1 MPI_Reduce (x+0x57)",
            "rank 0 never came to call 0 of MPI_COMM_WORLD: rank 1 (call not kept)",
            "never completed by ranks 0-1: MPI_Ibarrier on comm-1 (x+0x61)",
            "never completed by ranks 0-1: MPI_Ibarrier on comm-1, 7 times (x+0x61)",
            "MISMATCH (amounts) at call 9 of comm-1: rank 1 MPI_Alltoallv (x+0x57)",
            "MISMATCH (amounts) in several calls of comm-1, of these: rank 1 MPI_Alltoallv (x+0x57)",
            "never matched by one of ranks 0, 2: 2 of 3 receives of rank 1 on comm-1",
            "MISMATCH (datatype) of messages of rank 0 (the first by MPI_Send, x+0x72 or x+0x80) to rank 1 on comm-1: sent as MPI_INT, MPI_LONG, received as MPI_FLOAT",
            "never completed by rank 1: 3 requests of MPI_Irecv or MPI_Isend; its messages are with ranks 0, 2",
            "never received by rank 1: 2 of 3 messages of one of ranks 0, 2 on comm-1 (the first by MPI_Isend or MPI_Send, x+0x72)",
            "left by some rank: 3 requests never completed or freed",
        ];
        assert_eq!(lines(&undone), expected);
        let first = [0, 2, 4, 6, 7, 8].map(|place| expected[place].to_owned());
        assert_eq!(first_defects(&undone), (first.to_vec(), 3));
        assert_eq!(
            leftovers(&undone).as_deref(),
            Some("Left behind: 2 messages never received, 3 requests never completed or freed.")
        );
        assert!(undone.has_defects() && !Undone::default().has_defects());
        let left_out = LeftOut {
            communicator: "MPI_COMM_WORLD".into(),
            sequence: 57,
            earliest: 57,
            ranks: vec![0],
            is_additional: false,
            call: call(Some("MPI_Bcast"), Some(0x57)),
        };
        let explained = Undone { left_out: vec![left_out.clone()], ..undone.clone() };
        let expected = "rank 0 left out call 57 of MPI_COMM_WORLD: rank 1 MPI_Bcast (x+0x57); all calls after it are matched one off";
        assert_eq!((lines(&explained).len(), &lines(&explained)[0][..]), (10, expected));
        assert_eq!(first_defects(&explained).0.len(), 6, "with the first requests, amounts, receive and types");
        let doubtful: Vec<String> = doubtful(&explained).collect();
        assert_eq!(doubtful, [format!("numbers of MPI_COMM_WORLD from call 57 on are doubtful: {expected}")]);
        let additional = LeftOut { earliest: 55, is_additional: true, ..left_out };
        let line = left_out_line(&additional);
        assert!(line.starts_with("rank 0 made one of the calls 55 to 57 of MPI_COMM_WORLD in addition"), "{line}");
        let freed = Undone {
            never_freed: NeverFreed { communicators: 2, windows: 0, files: 1, types: 4, requests: 3 },
            left_open: undone.left_open[1..].to_vec(),
            ..Undone::default()
        };
        assert_eq!(
            lines(&freed),
            [
                "left by some rank: 2 communicators never freed, 1 file never closed, 4 data types never freed, 3 requests never completed or freed"
            ]
        );
        assert!(!freed.has_defects());
        let counted = "2 communicators never freed, 1 file never closed, 4 data types never freed, 3 requests never completed or freed";
        assert_eq!(leftovers(&freed), Some(format!("Left behind: {counted}.")));
        let many = Undone { not_called: undone.not_called.iter().cycle().take(8).cloned().collect(), ..undone };
        assert!(lines(&many)[13].contains("3 more"), "{:?}", lines(&many));
    }
}
