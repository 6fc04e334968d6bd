//! How a job ended that did not end by `MPI_Finalize`: the first sentence of whatever is said of it.

use mpitrace_analysis::account::HowEnded;
use mpitrace_live::snapshot::{RankNow, State};
use mpitrace_live::{Snapshot, Stuck, StuckKind};
use mpitrace_show::text;
use serde::Serialize;

use crate::info::ends::EndFacts;
use crate::job::{deaths, places};

/// A launcher that ends all ranks of a job needs up to this time, s.
const TOGETHER_S: f64 = 0.1;

/// The end of a job, by the keys of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ended {
    /// The first sentence about the job.
    pub sentence: String,
    /// The class of the verdict in the sentence; null: the sentence has none.
    pub class: Option<StuckKind>,
    /// The world ranks that the sentence names as the cause.
    pub ranks: Vec<u32>,
    /// The rank that ended before all others, as far as `mpitrace run` saw the ends; null: not known.
    pub first: Option<FirstEnd>,
    /// How the ranks of a job that has no other cause were ended; null: it has one, or not all ends were seen.
    pub from_outside: Option<FromOutside>,
    /// True if the sentence says by what the job ended, and not only where its ranks were.
    #[serde(skip)]
    pub is_cause: bool,
    /// The world ranks that did not come to the end of `MPI_Finalize`.
    pub without_finalize: Vec<u32>,
}

/// The rank of a job whose process ended before all others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FirstEnd {
    /// Its world rank.
    pub rank: u32,
    /// The signal or the exit code.
    pub how: String,
    /// The next rank ended so much later, s: at least, by the errors of both dates.
    pub before_next_s: f64,
}

/// The end of a job all of whose ranks were ended, as by a time limit, and of which it is not known that it hung.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FromOutside {
    /// From the entry of MPI_Init to the last end of a rank, s.
    pub after_s: f64,
    /// The signal or the exit code of each rank, or the end of the launcher; null: they differ.
    pub how: Option<String>,
    /// A rank began or ended an MPI call in the last so many seconds before its end; null: not known.
    pub moved_within_s: Option<f64>,
}

impl FromOutside {
    /// `None`: not all ends were seen.
    fn new(snapshot: &Snapshot, ends: &[EndFacts]) -> Option<FromOutside> {
        let unfinished = || ends.iter().filter(|end| end.how != HowEnded::Finalized);
        if unfinished().any(|end| end.how != HowEnded::Observed) {
            return None;
        }
        let lost = snapshot.ranks.iter().any(|rank| rank.lost_launcher);
        let mut how = unfinished().map(|end| snapshot.rank(end.rank).and_then(|rank| rank.ended));
        let first = how.next()??;
        let of_all = how.all(|other| other == Some(first)).then(|| first.to_string());
        let within: Option<Vec<f64>> = unfinished().map(|end| end.hung_most_s).collect();
        Some(FromOutside {
            after_s: unfinished().map(|end| end.at_s).fold(0.0, f64::max),
            how: if lost { Some("the end of its launcher".to_owned()) } else { of_all },
            moved_within_s: within.map(|within| within.into_iter().fold(0.0, f64::max)),
        })
    }

    fn words(&self) -> String {
        let time = |seconds: f64| text::time(1e9 * seconds);
        let how = self.how.iter().map(|how| format!(" by {how}"));
        let moved = self.moved_within_s.iter();
        let moved = moved.map(|&within| format!("; a rank began or ended an MPI call in the last {}", time(within)));
        let after = format!("it was ended after {}", time(self.after_s));
        [after].into_iter().chain(how).chain(moved).collect()
    }
}

impl Ended {
    /// `None`: each rank that left something in the trace came to the end of `MPI_Finalize`. `stuck` is the verdict on
    /// `snapshot`, `ends` are the ends of the ranks.
    pub fn new(snapshot: &Snapshot, stuck: Option<&Stuck>, ends: &[EndFacts]) -> Option<Ended> {
        let unfinished = ends.iter().filter(|end| end.how != HowEnded::Finalized);
        let without_finalize: Vec<u32> = unfinished.map(|end| end.rank).collect();
        if without_finalize.is_empty() {
            return None;
        }
        let first = FirstEnd::new(snapshot, ends);
        let known = cause(snapshot, stuck, first.as_ref());
        let from_outside = FromOutside::new(snapshot, ends).filter(|_| known.is_none() && first.is_none());
        let is_cause = from_outside.is_some() || known.as_ref().is_some_and(|(_, class, _)| class.is_none());
        let (why, class, ranks) = known.unwrap_or_else(|| {
            let why = from_outside.as_ref().map_or_else(|| unreached(&without_finalize), FromOutside::words);
            (why, None, without_finalize.clone())
        });
        let also = first.iter().filter(|first| !ranks.contains(&first.rank) || class.is_some());
        let also: String = also.map(|first| format!("; {}", first.words())).collect();
        let sentence = format!("The job did not end normally: {why}{also}.");
        Some(Ended { sentence, class, ranks, first, from_outside, is_cause, without_finalize })
    }
}

/// The cause with the class of its verdict and its ranks, by the strength of the evidence: calls of `MPI_Abort`,
/// crashes and exits of single ranks, the rank that ended before all others, the verdict on where the ranks were.
fn cause(
    snapshot: &Snapshot,
    stuck: Option<&Stuck>,
    first: Option<&FirstEnd>,
) -> Option<(String, Option<StuckKind>, Vec<u32>)> {
    let ranks_where = |is: &dyn Fn(&RankNow) -> bool| -> Vec<u32> {
        snapshot.ranks.iter().filter(|rank| is(rank)).map(|rank| rank.rank).collect()
    };
    let aborted = ranks_where(&|rank| rank.state == State::Abort);
    if !aborted.is_empty() {
        return Some((format!("{} called MPI_Abort", text::named_ranks(&aborted)), None, aborted));
    }
    if let Some(deaths) = deaths::deaths(snapshot) {
        let dead =
            snapshot.ended_by_launcher().map_or_else(|| ranks_where(&|rank| rank.has_died()), |(_, ranks)| ranks);
        return Some((deaths, None, dead));
    }
    // Others wait for a rank that was killed, since it was killed.
    let is_of_first = |stuck: &&Stuck| stuck.kind == StuckKind::MissingRank || stuck.kind == StuckKind::EndlessLoop;
    if let Some((first, stuck)) = first.zip(stuck.filter(is_of_first))
        && stuck.ranks == [first.rank]
    {
        return Some((first.words(), None, vec![first.rank]));
    }
    let Some(stuck) = stuck.filter(|stuck| stuck.kind != StuckKind::DeadRank) else {
        return first.map(|first| (first.words(), None, vec![first.rank]));
    };
    let sentence = places::sentence(snapshot, stuck);
    let words =
        sentence.strip_prefix(stuck.kind.name()).and_then(|words| words.strip_prefix(": ")).unwrap_or(&sentence);
    Some((words.to_owned(), Some(stuck.kind), stuck.ranks.clone()))
}

fn unreached(ranks: &[u32]) -> String {
    format!("{} did not come to the end of MPI_Finalize", text::named_ranks(ranks))
}

impl FirstEnd {
    /// `None`: not all ends were seen, or their dates do not say which was the first.
    fn new(snapshot: &Snapshot, ends: &[EndFacts]) -> Option<FirstEnd> {
        let all_seen =
            ends.len() == snapshot.world_size as usize && ends.iter().all(|end| end.how == HowEnded::Observed);
        let seen: Vec<(&EndFacts, f64)> =
            ends.iter().filter_map(|end| Some((end, end.init_s.filter(|_| all_seen)?))).collect();
        let (first, first_s) = seen
            .iter()
            .map(|(end, init_s)| (end, init_s + end.at_s))
            .min_by(|(_, one), (_, other)| one.total_cmp(other))?;
        let others = seen.iter().filter(|(end, _)| end.rank != first.rank);
        let next_s = others.map(|(end, init_s)| init_s + end.earliest_s).min_by(f64::total_cmp)?;
        let before_next_s = next_s - first_s;
        let how = snapshot.rank(first.rank)?.ended?;
        // Of ranks that were all ended in one way at one time, the order says nothing.
        let is_of_all = snapshot.ranks.iter().all(|rank| rank.ended == Some(how));
        let least_s = if is_of_all { TOGETHER_S } else { 0.0 };
        (before_next_s > least_s).then(|| FirstEnd { rank: first.rank, how: how.to_string(), before_next_s })
    }

    fn words(&self) -> String {
        let later = text::time(1e9 * self.before_next_s);
        format!("rank {} ended first, by {}, at least {later} before the next rank", self.rank, self.how)
    }
}
