//! Where the ranks of a job are and why it does not go on: as JSON and as sentences, of running jobs and of traces.

use mpitrace_live::snapshot::{MessageWait, Partner, RankNow, Snapshot, State, Wait};
use mpitrace_live::{Stuck, StuckKind};
use mpitrace_show::text;
use serde::Serialize;

use crate::job::stack::Stack;

const NS: f64 = 1e9;

/// Where a rank is, by the keys of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhereFacts {
    /// The world rank; null: in `MPI_Init`, where no launcher has set it.
    pub rank: Option<u32>,
    /// The state of the rank.
    pub state: State,
    /// The function that it is in, or that it made last; `null`: not known.
    pub function: Option<String>,
    /// In a Wait call: the collective for whose request it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<&'static str>,
    /// The line of the program that makes the call that it is in, where that is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_site: Option<String>,
    /// The communicator of a collective call.
    pub communicator: Option<String>,
    /// How many calls on the communicator came before a collective call.
    pub sequence: Option<u64>,
    /// Since it has entered the collective call that it is in; else since it has left the last one.
    pub since_s: Option<f64>,
    /// How its process ended, as `mpitrace run` saw it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Of a rank in `MPI_Finalize`, or through it: the last call that other ranks may wait in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_call: Option<String>,
    /// The interpreter that a rank in `MPI_Finalize`, or through it, runs: it calls that function behind an exception too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,
    /// The error class with whose number as the exit code the MPI library ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_class: Option<&'static str>,
}

/// Why a job does not go on, by the keys of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StuckFacts {
    /// The kind of the cause.
    pub kind: StuckKind,
    /// The world ranks that the others wait for, or that wait for each other, ascending.
    pub ranks: Vec<u32>,
    /// The communicator's name; `null`: it is not on one.
    pub communicator: Option<String>,
    /// The sequence number of the call on that communicator; `null`: it is no collective call.
    pub sequence: Option<u64>,
    /// For so long none of them has moved; null: not known, of a trace.
    pub seconds: Option<f64>,
    /// The stacks of these ranks, or of all, where that was asked for.
    pub stacks: Vec<Stack>,
    /// For what these ranks wait, and the others for them.
    pub waits: Vec<WaitFacts>,
}

/// For what a rank waits: a message, or a rank that has not come to a collective call. By the keys of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaitFacts {
    /// The world rank that waits.
    pub rank: u32,
    /// The function that it is in.
    pub function: Option<String>,
    /// The world rank that it waits for; null: any of several, or not known.
    pub partner: Option<u32>,
    /// The tag of a message; negative: any; null: the call is of another kind.
    pub tag: Option<i32>,
    /// The communicator's name; `null`: not known.
    pub communicator: Option<String>,
    /// How many messages the partner has sent this rank on that communicator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
}

impl WhereFacts {
    /// Where all ranks of a snapshot are, in order.
    pub fn all(snapshot: &Snapshot) -> Vec<WhereFacts> {
        snapshot.ranks.iter().map(|rank| WhereFacts::of_rank(snapshot, rank)).collect()
    }

    /// A process that has not left `MPI_Init`, so that its rank is not known.
    pub fn in_init() -> WhereFacts {
        let function = Some("MPI_Init".to_owned());
        WhereFacts { rank: None, function, ..WhereFacts::of_rank(&Snapshot::default(), &RankNow::new(0, State::Init)) }
    }

    fn of_rank(snapshot: &Snapshot, rank: &RankNow) -> WhereFacts {
        let is_in_mpi = matches!(rank.state, State::InCall | State::OtherMpi);
        // Of several threads' calls, or several requests: the first.
        let wait = rank.waits.first().filter(|_| is_in_mpi);
        let state = match rank.has_died() {
            true if snapshot.was_ended_by_library(rank) => State::Abort,
            true => State::Dead,
            false => rank.state,
        };
        let of_launcher = snapshot.ended_by_launcher().filter(|(_, ranks)| ranks == &[rank.rank]).map(|(code, _)| code);
        let own = rank.ended.filter(|_| state == State::Abort).and_then(|end| u32::try_from(end.number()).ok());
        let class = own.or(of_launcher).and_then(|code| snapshot.error_class(code));
        WhereFacts {
            rank: Some(rank.rank),
            state,
            function: rank.function.clone(),
            waits_for: wait.filter(|_| rank.state == State::OtherMpi).and_then(|wait| wait.function),
            call_site: rank.call_site.clone(),
            communicator: wait.and_then(|wait| snapshot.name(wait.communicator)).map(str::to_owned),
            sequence: wait.and_then(|wait| wait.sequence),
            since_s: rank.since_s,
            ended: rank.ended.map(|end| end.to_string()),
            last_call: rank.last_call.clone(),
            interpreter: rank.interpreter.clone(),
            error_class: class.map(|class| class.name),
        }
    }
}

impl StuckFacts {
    /// The facts of a verdict on a snapshot.
    pub fn new(snapshot: &Snapshot, stuck: &Stuck) -> StuckFacts {
        StuckFacts {
            kind: stuck.kind,
            ranks: stuck.ranks.clone(),
            communicator: snapshot.name(stuck.communicator).map(str::to_owned),
            sequence: stuck.sequence,
            seconds: Some(stuck.seconds).filter(|seconds| seconds.is_finite()),
            stacks: Stack::all(snapshot),
            waits: snapshot.ranks.iter().flat_map(|rank| waits_of(snapshot, stuck, rank)).collect(),
        }
    }
}

fn waits_of(snapshot: &Snapshot, stuck: &Stuck, rank: &RankNow) -> Vec<WaitFacts> {
    let is_named = stuck.ranks.contains(&rank.rank);
    let facts = |partner, communicator| WaitFacts {
        rank: rank.rank,
        function: rank.function.clone(),
        partner,
        tag: None,
        communicator: snapshot.name(communicator).map(str::to_owned),
        sent: None,
    };
    let of_message = |message: &MessageWait| {
        let partner = world_rank(message);
        let is_of_it = is_named || partner.is_some_and(|partner| stuck.ranks.contains(&partner));
        let tag = (message.receives || message.sends).then_some(message.tag);
        let wait = WaitFacts { tag, sent: message.sent, ..facts(partner, message.communicator) };
        is_of_it.then_some(wait)
    };
    // In a collective call the first named rank that has not come.
    let of_call = |wait: &Wait| {
        let mut named = stuck.ranks.iter().copied();
        let missing = named.find(|&other| other != rank.rank && snapshot.is_missing(other, *wait));
        missing.map(|other| facts(Some(other), wait.communicator))
    };
    rank.messages.iter().filter_map(of_message).chain(rank.waits.iter().flat_map(of_call)).collect()
}

/// The other rank of a message, where it is one that is known.
fn world_rank(message: &MessageWait) -> Option<u32> {
    match message.partner {
        Partner::Rank(rank) => Some(rank),
        Partner::Any | Partner::Member(_) | Partner::Unknown => None,
    }
}

/// The verdict on a snapshot as a sentence.
pub fn sentence(snapshot: &Snapshot, stuck: &Stuck) -> String {
    let ranks = text::named_ranks(&stuck.ranks);
    let one = stuck.ranks.len() == 1;
    let (has, is) = if one { ("has", "is") } else { ("have", "are") };
    let place = match (snapshot.name(stuck.communicator), stuck.sequence) {
        (Some(name), Some(sequence)) => format!("call {sequence} of {}", text::printable(name)),
        _ if snapshot.ranks.iter().any(|rank| rank.is_before_init) => "MPI_Init".to_owned(),
        _ => "MPI_Finalize".to_owned(),
    };
    let places = || whereabouts(snapshot, &stuck.ranks);
    // Others wait for a message of theirs, or they for one.
    let waiting = messages(snapshot, stuck);
    let of_message = stuck.sequence.is_none() && !waiting.is_empty();
    let place = if of_message { "a call for messages".to_owned() } else { place };
    let of_all = at_the_mismatch(snapshot, stuck) == stuck.ranks.len();
    let what = match stuck.kind {
        StuckKind::PointToPoint | StuckKind::MissingRank if stuck.sequence.is_none() => {
            format!("{}{}", with_ranks(snapshot, &stuck.ranks, true), last_call(snapshot, &stuck.ranks))
        }
        StuckKind::EndlessLoop if of_message => format!("{ranks} {is} computing all the time"),
        StuckKind::MissingRank | StuckKind::PointToPoint => {
            format!("{ranks} {has} not come to {place}: {}{}", places(), last_call(snapshot, &stuck.ranks))
        }
        StuckKind::Mismatch if of_all => format!("the calls of {ranks} at {place} do not belong together"),
        StuckKind::Mismatch => format!("the calls of {ranks} and of the others at {place} do not belong together"),
        StuckKind::Cycle if one => format!("{ranks} waits for itself: {}", places()),
        StuckKind::Cycle => format!("{ranks} wait for each other: {}", places()),
        StuckKind::DeadRank => format!("{ranks} {has} ended without MPI_Finalize, others wait in {place}"),
        StuckKind::StoppedRank => format!("{ranks} {is} stopped, others wait in {place}"),
        StuckKind::EndlessLoop => format!("{ranks} {has} not come to {place}: computing all the time"),
    };
    let waiting: String = waiting.iter().map(|waiting| format!("; {waiting}")).collect();
    format!("{}: {what}{waiting}{}", stuck.kind.name(), still(stuck))
}

/// The last call of ranks that are in MPI_Finalize too early, where it is one; of an interpreter that may be behind an
/// exception.
fn last_call(snapshot: &Snapshot, ranks: &[u32]) -> String {
    let named: Vec<&RankNow> = snapshot.ranks.iter().filter(|rank| ranks.contains(&rank.rank)).collect();
    let mut calls: Vec<&str> = named.iter().filter_map(|rank| rank.last_call.as_deref()).collect();
    calls.sort_unstable();
    calls.dedup();
    let exception = match !named.is_empty() && named.iter().all(|rank| rank.interpreter.is_some()) {
        true => ", as after an exception",
        false => "",
    };
    match calls[..] {
        [call] => format!("{exception} (last call: {})", text::printable(call)),
        _ => exception.to_owned(),
    }
}

/// Ranks whose messages a verdict names.
const NAMED: usize = 4;

/// For which messages the ranks of a verdict wait, and others for them.
fn messages(snapshot: &Snapshot, stuck: &Stuck) -> Vec<String> {
    let is_of_it = |rank: &&RankNow, message: &MessageWait| {
        stuck.ranks.contains(&rank.rank) || world_rank(message).is_some_and(|other| stuck.ranks.contains(&other))
    };
    let text = |rank: &RankNow| {
        let mut messages: Vec<&MessageWait> = rank.messages.iter().filter(|message| is_of_it(&rank, message)).collect();
        // Those that may be under way are not what it waits for, where there are others.
        if messages.iter().any(|message| !snapshot.is_matched(rank.rank, message)) {
            messages.retain(|message| !snapshot.is_matched(rank.rank, message));
        }
        let each: Vec<String> = messages.iter().map(|message| message_text(snapshot, message)).collect();
        (!each.is_empty()).then(|| format!("rank {} waits {}", rank.rank, each.join(" and ")))
    };
    let mut texts: Vec<String> = snapshot.ranks.iter().filter_map(text).collect();
    let others = texts.len().saturating_sub(NAMED);
    texts.truncate(NAMED);
    if others > 0 {
        texts.push(format!("and {others} more (--json has them all)"));
    }
    texts
}

fn message_text(snapshot: &Snapshot, message: &MessageWait) -> String {
    let partner = match message.partner {
        Partner::Rank(rank) => format!("rank {rank}"),
        Partner::Any => "any rank".to_owned(),
        Partner::Member(_) | Partner::Unknown => "a rank that is not known".to_owned(),
    };
    let tag = if message.tag < 0 { "any tag".to_owned() } else { format!("tag {}", message.tag) };
    let communicator = snapshot.name(message.communicator).filter(|name| *name != "MPI_COMM_WORLD");
    let on = communicator.map(|name| format!(" on {}", text::printable(name))).unwrap_or_default();
    let so_far = |sent: u64| format!(" ({} from it so far)", text::count(sent, "message"));
    match (message.receives, message.sends) {
        (false, false) => format!("for {partner} of {}", text::printable(communicator.unwrap_or("a window"))),
        (true, true) => format!("to exchange messages with {partner}{on}"),
        (false, _) => format!("for {partner} to receive a message with {tag}{on}"),
        (true, false) => {
            format!("for a message of {partner} with {tag}{on}{}", message.sent.map(so_far).unwrap_or_default())
        }
    }
}

fn still(stuck: &Stuck) -> String {
    let seconds = Some(stuck.seconds).filter(|seconds| seconds.is_finite());
    seconds.map(|seconds| format!("; nothing has moved for {}", text::time(seconds * NS))).unwrap_or_default()
}

/// How many ranks have made one of the calls of the mismatch of a verdict.
fn at_the_mismatch(snapshot: &Snapshot, stuck: &Stuck) -> usize {
    let place = stuck.communicator.zip(stuck.sequence);
    let found = snapshot.mismatches.iter().find(|found| Some((found.communicator_id, found.sequence)) == place);
    found.map_or(0, |found| found.calls.iter().map(|call| call.ranks.len()).sum())
}

/// Values of which `key` is the same together, in the order in which they come.
pub fn grouped<T, K: PartialEq>(values: impl IntoIterator<Item = T>, key: impl Fn(&T) -> K) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for value in values {
        let key = key(&value);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// Where these ranks are, those that are at the same place together.
fn whereabouts(snapshot: &Snapshot, ranks: &[u32]) -> String {
    match &at_places(snapshot, ranks)[..] {
        [(place, _)] => place.clone(),
        _ => with_ranks(snapshot, ranks, false),
    }
}

/// The places with the ranks of each, and a verb between them or none.
pub(super) fn with_ranks(snapshot: &Snapshot, ranks: &[u32], has_verb: bool) -> String {
    let is_of_messages = |place: &str| place.ends_with(POINT_TO_POINT);
    let places = at_places(snapshot, ranks);
    let all_are = places.iter().all(|(place, _)| is_of_messages(place));
    let text = |(place, ranks): &(String, Vec<u32>)| {
        let place = if all_are { place.trim_end_matches(POINT_TO_POINT) } else { place };
        let verb = match (has_verb, ranks.len()) {
            (false, _) => "",
            (true, 1) => "is ",
            (true, _) => "are ",
        };
        format!("{} {verb}{place}", text::named_ranks(ranks))
    };
    places.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn at_places(snapshot: &Snapshot, ranks: &[u32]) -> Vec<(String, Vec<u32>)> {
    let of = snapshot.ranks.iter().filter(|rank| ranks.contains(&rank.rank));
    let groups = grouped(of, |rank| place(snapshot, rank)).into_iter();
    groups.map(|(place, group)| (place, group.iter().map(|rank| rank.rank).collect())).collect()
}

pub(super) const POINT_TO_POINT: &str = " (point-to-point)";

/// Where a rank is, in words without a time.
pub fn place(snapshot: &Snapshot, rank: &RankNow) -> String {
    let function = rank.function.as_deref().map(text::printable);
    let function = function.as_deref();
    let wait = rank.waits.first();
    let call = wait.filter(|wait| !snapshot.is_of_a_group(**wait));
    let call = call.and_then(|wait| Some((snapshot.name(wait.communicator)?, wait.sequence?)));
    let call = call.map(|(name, sequence)| format!(" (call {sequence} of {})", text::printable(name)));
    let site = rank.call_site.as_deref().map(|site| format!(" by {}", text::printable(site)));
    let [call, site] = [call, site].map(Option::unwrap_or_default);
    match rank.state {
        State::InCall => format!("in {}{call}{site}", function.unwrap_or("a collective call")),
        State::OtherMpi if rank.in_error_handler => "in an error handler".to_owned(),
        State::OtherMpi => {
            let function = function.unwrap_or("another MPI call");
            match wait.and_then(|wait| wait.function) {
                Some(collective) => format!("in {function} for {collective}{call}{site}"),
                None if rank.in_point_to_point => format!("in {function}{site}{POINT_TO_POINT}"),
                None => format!("in {function}{site}"),
            }
        }
        State::Computing if rank.is_before_init => "computing before MPI_Init".to_owned(),
        State::Computing if rank.is_of_trace => "not in MPI".to_owned(),
        State::Computing => "computing".to_owned(),
        State::OffProcessor if rank.is_before_init => "off the processor before MPI_Init".to_owned(),
        State::OffProcessor => "off the processor".to_owned(),
        State::Stopped => "stopped".to_owned(),
        State::Dead => "ended without MPI_Finalize".to_owned(),
        State::Init => "in MPI_Init".to_owned(),
        State::Finalize => "in MPI_Finalize".to_owned(),
        State::Abort => "in MPI_Abort".to_owned(),
        State::Session => "in a session".to_owned(),
        State::Ended => "ended".to_owned(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use mpitrace_live::snapshot::{CommunicatorNow, Wait};
    use mpitrace_trace::operations::{Mismatch, MismatchKind, MismatchedCall};

    use super::*;

    pub fn rank(number: u32, state: State, function: &str) -> RankNow {
        RankNow {
            function: Some(function.to_owned()).filter(|function| !function.is_empty()),
            in_point_to_point: state == State::OtherMpi,
            ..RankNow::new(number, state)
        }
    }

    pub fn snapshot(ranks: Vec<RankNow>) -> Snapshot {
        let world = CommunicatorNow { name: "MPI_COMM_WORLD".to_owned(), size: ranks.len() as u32, members: vec![] };
        Snapshot { world_size: ranks.len() as u32, ranks, communicators: vec![world], ..Snapshot::default() }
    }

    fn stuck(kind: StuckKind, ranks: &[u32], sequence: Option<u64>) -> Stuck {
        let communicator = sequence.map(|_| 0);
        Stuck { kind, ranks: ranks.to_vec(), communicator, sequence, seconds: f64::INFINITY }
    }

    #[test]
    fn ranks_in_different_calls_are_listed_with_these() {
        let waiting = snapshot(vec![
            rank(0, State::OtherMpi, "MPI_Sendrecv"),
            rank(1, State::OtherMpi, "MPI_Recv"),
            rank(2, State::Computing, ""),
        ]);
        let sentences = [
            (StuckKind::PointToPoint, &[0, 1][..], "point-to-point: rank 0 is in MPI_Sendrecv, rank 1 is in MPI_Recv"),
            (StuckKind::PointToPoint, &[1], "point-to-point: rank 1 is in MPI_Recv"),
            (StuckKind::MissingRank, &[2], "missing-rank: rank 2 is computing"),
            (
                StuckKind::MissingRank,
                &[1, 2],
                "missing-rank: rank 1 is in MPI_Recv (point-to-point), rank 2 is computing",
            ),
        ];
        for (kind, ranks, expected) in sentences {
            assert_eq!(sentence(&waiting, &stuck(kind, ranks, None)), expected);
        }
        let unseen = RankNow { is_of_trace: true, ..rank(2, State::Computing, "") };
        assert_eq!(place(&waiting, &unseen), "not in MPI", "a trace does not say what it did");
    }

    #[test]
    fn both_ends_of_messages_are_named() {
        let message = |partner, tag, sent| MessageWait {
            partner,
            tag,
            communicator: Some(0),
            receives: true,
            sends: false,
            sent,
        };
        let with = |messages: Vec<MessageWait>, rank: RankNow| RankNow { messages, ..rank };
        let zero = with(vec![message(Partner::Rank(1), 7, Some(0))], rank(0, State::OtherMpi, "MPI_Recv"));
        let one = with(vec![message(Partner::Rank(0), 8, Some(3))], rank(1, State::OtherMpi, "MPI_Recv"));
        let waiting = snapshot(vec![zero, one.clone()]);
        let cycle = Stuck { communicator: Some(0), ..stuck(StuckKind::Cycle, &[0, 1], None) };
        let expected = "cycle: ranks 0-1 wait for each other: in MPI_Recv (point-to-point); \
                        rank 0 waits for a message of rank 1 with tag 7 (0 messages from it so far); \
                        rank 1 waits for a message of rank 0 with tag 8 (3 messages from it so far)";
        assert_eq!(sentence(&waiting, &cycle), expected);
        let facts = StuckFacts::new(&waiting, &cycle).waits;
        assert_eq!(
            facts.iter().map(|wait| (wait.rank, wait.partner, wait.tag)).collect::<Vec<_>>(),
            [(0, Some(1), Some(7)), (1, Some(0), Some(8))]
        );
        // Of two messages the one that cannot be under way.
        let sends = MessageWait { receives: false, sends: true, ..message(Partner::Rank(1), 8, None) };
        let both = vec![sends, message(Partner::Rank(1), -1, None)];
        let waiting = snapshot(vec![with(both, rank(0, State::OtherMpi, "MPI_Waitall")), one]);
        let text = sentence(&waiting, &cycle);
        assert!(text.contains("rank 0 waits for a message of rank 1 with any tag; rank 1"), "{text}");
        let looping = snapshot(vec![rank(0, State::Computing, ""), waiting.ranks[1].clone()]);
        let text = sentence(&looping, &Stuck { communicator: Some(0), ..stuck(StuckKind::EndlessLoop, &[0], None) });
        assert!(text.starts_with("endless-loop: rank 0 is computing all the time; rank 1 waits for"), "{text}");
    }

    #[test]
    fn the_others_are_named_where_there_are_others() {
        let mut mismatched = snapshot((0..3).map(|number| rank(number, State::InCall, "MPI_Bcast")).collect());
        let of = |groups: &[&[u32]]| {
            let call = |ranks: &&[u32]| MismatchedCall {
                ranks: ranks.to_vec(),
                function: "MPI_Bcast".to_owned(),
                root: None,
                bytes: None,
                datatype: None,
                reduction: None,
                call_site: None,
            };
            let calls = groups.iter().map(call).collect();
            let communicator = "MPI_COMM_WORLD".to_owned();
            vec![Mismatch { communicator_id: 0, communicator, sequence: 7, kind: MismatchKind::Root, calls }]
        };
        mismatched.mismatches = of(&[&[0], &[1]]);
        let both = sentence(&mismatched, &stuck(StuckKind::Mismatch, &[0, 1], Some(7)));
        assert_eq!(both, "mismatch: the calls of ranks 0-1 at call 7 of MPI_COMM_WORLD do not belong together");
        mismatched.mismatches = of(&[&[0, 2], &[1]]);
        let one = sentence(&mismatched, &stuck(StuckKind::Mismatch, &[1], Some(7)));
        assert!(one.contains("of rank 1 and of the others at"), "{one}");
    }

    #[test]
    fn a_rank_in_a_wait_is_said_to_wait_for_its_collective() {
        let wait = Wait { function: Some("MPI_Ibarrier"), communicator: Some(0), sequence: Some(3) };
        let waiting = RankNow { waits: vec![wait], ..rank(0, State::OtherMpi, "MPI_Wait") };
        let waiting = snapshot(vec![waiting]);
        let expected = "in MPI_Wait for MPI_Ibarrier (call 3 of MPI_COMM_WORLD)";
        assert_eq!(place(&waiting, &waiting.ranks[0]), expected);
        assert_eq!(WhereFacts::all(&waiting)[0].waits_for, Some("MPI_Ibarrier"));
    }

    #[test]
    fn a_rank_of_an_interpreter_in_mpi_finalize_may_be_behind_an_exception() {
        let last_call = Some("MPI_Allreduce by work at solver.py:6".to_owned());
        let early = RankNow { last_call, ..rank(1, State::Finalize, "MPI_Finalize") };
        let of = |interpreter: Option<&str>| {
            let early = RankNow { interpreter: interpreter.map(str::to_owned), ..early.clone() };
            sentence(&snapshot(vec![early]), &stuck(StuckKind::MissingRank, &[1], None))
        };
        let last = "(last call: MPI_Allreduce by work at solver.py:6)";
        assert_eq!(
            of(Some("python3.11")),
            format!("missing-rank: rank 1 is in MPI_Finalize, as after an exception {last}")
        );
        assert_eq!(of(None), format!("missing-rank: rank 1 is in MPI_Finalize {last}"));
    }
}
