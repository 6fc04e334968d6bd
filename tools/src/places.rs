//! Where the ranks of a job are and why it does not go on: as JSON and as sentences, of running jobs and of traces.

use mpitrace::live::snapshot::{RankNow, Snapshot, State};
use mpitrace::live::{Kind, Stuck};
use serde::Serialize;

use crate::text;

const NS: f64 = 1e9;

/// Where a rank is, by the keys of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhereFacts {
    /// The world rank; null: in `MPI_Init`, where it is not known yet.
    pub rank: Option<u32>,
    /// One of the names of [`State`].
    pub state: &'static str,
    /// The MPI function that it is in.
    pub function: Option<String>,
    /// Of a collective call: where the program makes it, where that is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_site: Option<String>,
    /// Of a collective call: the communicator.
    pub communicator: Option<String>,
    /// Of a collective call: how many calls on the communicator came before.
    pub sequence: Option<u64>,
    /// Since it has entered the collective call that it is in; else since it has left the last one.
    pub since_s: Option<f64>,
}

/// Why a job does not go on, by the keys of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StuckFacts {
    /// One of the names of [`Kind`].
    pub kind: &'static str,
    /// The ranks that are the cause.
    pub ranks: Vec<u32>,
    /// Where other ranks wait for them.
    pub communicator: Option<String>,
    pub sequence: Option<u64>,
    /// For so long none of them has moved; null: not known, of a trace.
    pub seconds: Option<f64>,
}

impl WhereFacts {
    /// Of all ranks of a snapshot.
    pub fn of(snapshot: &Snapshot) -> Vec<WhereFacts> {
        snapshot.ranks.iter().map(|rank| WhereFacts::of_rank(snapshot, rank)).collect()
    }

    fn of_rank(snapshot: &Snapshot, rank: &RankNow) -> WhereFacts {
        let is_in_mpi = matches!(rank.state, State::InCall | State::OtherMpi);
        // Of several threads' calls, or several requests: the first.
        let wait = rank.waits.first().filter(|_| is_in_mpi);
        WhereFacts {
            rank: Some(rank.rank),
            state: rank.state.name(),
            function: rank.function.clone(),
            call_site: rank.call_site.clone(),
            communicator: wait.and_then(|wait| snapshot.name(wait.communicator)).map(str::to_owned),
            sequence: wait.and_then(|wait| wait.sequence),
            since_s: rank.since_s,
        }
    }
}

impl StuckFacts {
    /// Of a verdict on a snapshot.
    pub fn of(snapshot: &Snapshot, stuck: &Stuck) -> StuckFacts {
        StuckFacts {
            kind: stuck.kind.name(),
            ranks: stuck.ranks.clone(),
            communicator: snapshot.name(stuck.communicator).map(str::to_owned),
            sequence: stuck.sequence,
            seconds: Some(stuck.seconds).filter(|seconds| seconds.is_finite()),
        }
    }
}

/// A verdict in one sentence.
pub fn sentence(snapshot: &Snapshot, stuck: &Stuck) -> String {
    let ranks = text::named_ranks(&stuck.ranks);
    let one = stuck.ranks.len() == 1;
    let (has, is) = if one { ("has", "is") } else { ("have", "are") };
    let place = match (snapshot.name(stuck.communicator), stuck.sequence) {
        (Some(name), Some(sequence)) => format!("call {sequence} of {}", text::printable(name)),
        _ => "MPI_Finalize".to_owned(),
    };
    let places = || whereabouts(snapshot, &stuck.ranks);
    let what = match stuck.kind {
        Kind::MissingRank | Kind::PointToPoint if stuck.communicator.is_none() => format!("{ranks} {is} {}", places()),
        Kind::MissingRank | Kind::PointToPoint => format!("{ranks} {has} not come to {place}: {}", places()),
        Kind::Mismatch => format!("the calls of {ranks} and of the others at {place} do not belong together"),
        Kind::Cycle => format!("{ranks} wait for each other: {}", places()),
        Kind::DeadRank => format!("{ranks} {has} ended without MPI_Finalize, others wait in {place}"),
        Kind::StoppedRank => format!("{ranks} {is} stopped, others wait in {place}"),
        Kind::EndlessLoop => format!("{ranks} {has} not come to {place}: computing all the time"),
    };
    let seconds = Some(stuck.seconds).filter(|seconds| seconds.is_finite());
    let seconds = seconds.map(|seconds| format!("; nothing has moved for {}", text::time(seconds * NS)));
    format!("{}: {what}{}", stuck.kind.name(), seconds.unwrap_or_default())
}

/// Where these ranks are, those that are at the same place together.
fn whereabouts(snapshot: &Snapshot, ranks: &[u32]) -> String {
    let of: Vec<&RankNow> = snapshot.ranks.iter().filter(|rank| ranks.contains(&rank.rank)).collect();
    let mut places: Vec<(String, Vec<u32>)> = Vec::new();
    for rank in of {
        let place = place(snapshot, rank);
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, ranks)) => ranks.push(rank.rank),
            None => places.push((place, vec![rank.rank])),
        }
    }
    match &places[..] {
        [(place, _)] => place.clone(),
        several => {
            let texts: Vec<String> =
                several.iter().map(|(place, ranks)| format!("{} {place}", text::named_ranks(ranks))).collect();
            texts.join(", ")
        }
    }
}

/// Where a rank is, in words without a time.
pub fn place(snapshot: &Snapshot, rank: &RankNow) -> String {
    let function = rank.function.as_deref().map(text::printable);
    let function = function.as_deref();
    match rank.state {
        State::InCall => {
            let wait = rank.waits.first();
            let call = wait.and_then(|wait| Some((snapshot.name(wait.communicator)?, wait.sequence?)));
            let call = call.map(|(name, sequence)| format!(" (call {sequence} of {})", text::printable(name)));
            let site = rank.call_site.as_deref().map(|site| format!(" at {}", text::printable(site)));
            let [call, site] = [call, site].map(Option::unwrap_or_default);
            format!("in {}{call}{site}", function.unwrap_or("a collective call"))
        }
        State::OtherMpi if rank.in_error_handler => "in an error handler".to_owned(),
        State::OtherMpi => {
            let kind = if rank.in_point_to_point { " (point-to-point)" } else { "" };
            format!("in {}{kind}", function.unwrap_or("another MPI call"))
        }
        State::Computing => "computing".to_owned(),
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
