//! A part of the time of a job in words.

use mpitrace_analysis::account::{Because, RankPart};
use mpitrace_changes::{Change, Identity, What};
use mpitrace_show::text;

use super::facts::PartFacts;
use crate::base::reason;

/// Time off the processor in the calls of an operation is said from this share of its change on.
const MATTERS: f64 = 0.25;
/// Calls that differ by less are as many.
const ALIKE: f64 = 0.05;

/// The part as the row of a table has it: `MPI_Allreduce/8/4/- in smooth (solver.cpp:121)`.
pub fn name(change: &Change) -> String {
    let words = phrase(change);
    let words = words.strip_prefix("in ").unwrap_or(&words).to_owned();
    match operation(change) {
        Some(one) if !one.is_whole => {
            let site = one.site().map_or_else(String::new, |site| format!(" in {site}"));
            format!("{}{site}", one.key())
        }
        _ => words,
    }
}

/// The part behind a time in a sentence, with the calls of an operation: `in MPI_Allreduce below smooth
/// (solver.cpp:121; 4121 calls in place of 103)`. `code`: the function in which the rank of a late one computes longer.
pub(super) fn in_sentence(part: &PartFacts, code: Option<&str>) -> String {
    let words = phrase(&part.change);
    let known = calls(&part.change);
    let algorithms = part.algorithms.as_ref().map(|[a, b]| format!("algorithm {b} in place of {a}"));
    let off = part.change.off_change_s;
    let is_off = off * part.change_s > 0.0 && off.abs() >= MATTERS * part.change_s.abs();
    let off = is_off.then(|| format!("{} of it off the processor", text::time(1e9 * off.abs())));
    let mut facts: Vec<String> = known.into_iter().chain(algorithms).chain(off).collect();
    if let Some(one) = operation(&part.change).filter(|one| !one.is_whole) {
        let Some(place) = &one.place else { return with_facts(format!("in {}", one.key()), &facts) };
        facts.insert(0, place.line.clone());
        return with_facts(format!("in {} below {}", one.function, text::printable(&place.function)), &facts);
    }
    let in_function = code.map_or_else(String::new, |code| format!(" in {}", text::printable(code)));
    with_facts(format!("{words}{in_function}"), &facts)
}

fn with_facts(words: String, facts: &[String]) -> String {
    if facts.is_empty() { words } else { format!("{words} ({})", facts.join("; ")) }
}

/// `4121 calls in place of 103`, or how long a call takes if they are as many; `None`: they are not counted.
fn calls(change: &Change) -> Option<String> {
    let [a, b] = change.calls?;
    let count = |calls: f64| text::number(if calls < 10.0 { calls } else { calls.round() });
    let noun = |calls: f64| if calls == 1.0 { "call" } else { "calls" };
    Some(match (a > 0.0, b > 0.0) {
        (false, false) => return None,
        (false, true) => format!("new: {} {}", count(b), noun(b)),
        (true, false) => format!("gone: {} {}", count(a), noun(a)),
        (true, true) if (b - a).abs() > ALIKE * a => format!("{} {} in place of {}", count(b), noun(b), count(a)),
        (true, true) => {
            let each = |side: usize| text::time(1e9 * change.seconds[side] / [a, b][side]);
            format!("{} a call in place of {}", each(1), each(0))
        }
    })
}

fn phrase(change: &Change) -> String {
    let node = change.node.as_ref().map_or_else(String::new, |node| format!(" on {}", text::printable(node)));
    let on = change.rank.map_or_else(|| node.clone(), |rank| format!(" on rank {rank}"));
    match &change.what {
        What::Operation(_) => {
            let one = operation(change);
            format!(
                "in {}",
                one.map_or_else(String::new, |one| if one.is_whole { one.function.clone() } else { one.key() })
            )
        }
        What::Waiting(Some(rank), because) => match reason::late(*because) {
            Some(why) => format!("waiting for rank {rank}{node}, which {why}"),
            None => format!("waiting for rank {rank}{node}"),
        },
        What::Waiting(None, because) => match because.map(many) {
            Some(why) if node.is_empty() => format!("waiting for ranks that {why}"),
            Some(why) => format!("waiting for ranks{node}, which {why}"),
            None => format!("waiting for late ranks{node}"),
        },
        What::Function(function) => format!("computing in {}{on}", text::printable(function)),
        What::Part(part) => format!("{}{}", of_part(*part), if is_of_a_rank(*part) { &on } else { "" }),
    }
}

/// True if it is worth saying which rank has most of the change.
fn is_of_a_rank(part: RankPart) -> bool {
    !RankPart::IN_INIT_AND_FINALIZE.contains(&part)
        && ![RankPart::Waiting, RankPart::Communication, RankPart::Hung, RankPart::Other].contains(&part)
}

/// Why ranks are late that wait for each other in turns.
fn many(because: Because) -> &'static str {
    match because {
        Because::Computing => "compute longer",
        Because::EarlierCall => "were still in their calls before",
        Because::PointToPoint => "are longer in point-to-point calls",
        Because::OneSided => "are longer in one-sided calls",
        Because::Io => "are longer in file calls",
        Because::Tracer => "are held up by the tracer",
        Because::OtherMpi => "are longer in point-to-point or other MPI calls",
        Because::OnProcessor => "are busy longer",
        off => reason::was(off, true),
    }
}

fn of_part(part: RankPart) -> &'static str {
    match part {
        RankPart::Computing => "computing",
        RankPart::Preempted => "preempted outside of calls",
        RankPart::Asleep => "asleep outside of calls",
        RankPart::Throttled => "held by a processor quota outside of calls",
        RankPart::Waiting => "waiting for unknown ranks",
        RankPart::Interrupted => "off the processor in collective calls",
        RankPart::Perturbed => "delayed by the tracer in collective calls",
        RankPart::Communication => "in other collective calls",
        RankPart::PointToPoint => "in point-to-point calls",
        RankPart::OneSided => "in one-sided calls",
        RankPart::Io => "in file calls",
        RankPart::OtherMpi => "in other MPI calls",
        RankPart::Init => "in MPI_Init",
        RankPart::WaitingInit => "waiting in MPI_Init",
        RankPart::Finalize => "in MPI_Finalize",
        RankPart::WaitingFinalize => "waiting in MPI_Finalize",
        RankPart::Hung => "since the last movement",
        RankPart::Tracer => "in the tracer outside of calls",
        RankPart::Other => "outside of calls, for unknown reasons",
    }
}

/// The number of calls of a rank, as a table has it.
pub fn in_calls(calls: Option<f64>) -> String {
    calls
        .filter(|calls| *calls > 0.0)
        .map_or_else(String::new, |calls| text::number(if calls < 10.0 { calls } else { calls.round() }))
}

/// The operation of a part, as B has it, else A.
pub(super) fn operation(change: &Change) -> Option<&Identity> {
    match &change.what {
        What::Operation(both) => both[1].as_ref().or(both[0].as_ref()),
        _ => None,
    }
}
