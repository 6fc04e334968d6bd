//! The conclusion where ranks wait in point-to-point or one-sided calls.

use mpitrace_analysis::account::{Account, LatePartner, RankAccount, RankPart, alone};
use mpitrace_show::text;
use mpitrace_statistics::median;

use super::evidence::Evidence;
use super::late::more_work;
use super::off::off_words;
use crate::summary::largest::{self, MOST};
use crate::summary::units::percent;

/// A rank that computes for less than this share of what another one does has other work than that.
const MASTER: f64 = 0.1;

/// The rank that the others wait for in point-to-point calls, where it is late for most of the time in these; else the
/// rank that has most of the time in them; else the time of all.
pub(super) fn point_to_point(evidence: &Evidence) -> String {
    let account = evidence.account;
    let all = account.rank_parts()[RankPart::PointToPoint];
    let known: Vec<f64> = account.late_partners.iter().map(|late| late.ns).collect();
    let sum: f64 = known.iter().sum();
    if let Some(most) = account.late_partners.first().filter(|_| sum > MOST * all) {
        let who = most.rank.map_or_else(|| "the others wait".to_owned(), |rank| format!("rank {rank} waits"));
        let why = why_late(evidence, most);
        return match alone(&known) {
            Some(_) => {
                format!("In point-to-point calls {who} for rank {} ({}){why}.", most.late, text::time(most.ns))
            }
            None => format!(
                "In point-to-point calls the ranks wait in turns ({}), {who} {} for rank {}{why}.",
                text::time(sum),
                text::time(most.ns),
                most.late
            ),
        };
    }
    let times: Vec<f64> = account.ranks.iter().map(|rank| rank.parts[RankPart::PointToPoint]).collect();
    let Some(waits) = alone(&times).map(|at| &account.ranks[at]) else {
        let share = percent(all / account.running_ns());
        return format!("The ranks are {share} of their time in point-to-point calls that can wait.");
    };
    let partner = account.partner(waits.rank).map_or_else(String::new, |rank| format!(", mostly for rank {rank}"));
    format!(
        "Rank {} is {} of its time in point-to-point calls that can wait{partner}.",
        waits.rank,
        percent(waits.parts[RankPart::PointToPoint] / waits.wall_ns)
    )
}

/// The rank that is longest in one-sided calls that can wait.
pub(super) fn one_sided(account: &Account) -> String {
    let of = |rank: &RankAccount| rank.parts[RankPart::OneSided];
    let longest = account.ranks.iter().max_by(|one, other| of(one).total_cmp(&of(other)));
    let Some(longest) = longest else { return String::new() };
    format!(
        "Rank {} is in one-sided calls that can wait for {}: look for locks and windows that several ranks want.",
        longest.rank,
        text::time(of(longest))
    )
}

/// Why this rank is late for point-to-point calls of others.
fn why_late(evidence: &Evidence, most: &LatePartner) -> String {
    let account = evidence.account;
    let computing = |rank: &RankAccount| rank.parts[RankPart::Computing];
    let (late, others): (Vec<&RankAccount>, Vec<&RankAccount>) =
        account.ranks.iter().partition(|rank| rank.rank == most.late);
    let usual = median(&mut others.into_iter().map(computing).collect::<Vec<_>>()).unwrap_or(0.0);
    let own = account.beside_its_waiters(most.late, largest::of_partner(most));
    match own.interrupted_by.largest() {
        Some((because, ns)) if own.interrupted_ns > MOST * own.waiting_ns => {
            let [was, advice] = off_words(evidence, because, Some(most.late));
            format!(", {} of it since that one {was}: {advice}", text::time(ns))
        }
        // Where the others compute next to nothing there is no work to be shared out evenly, as with a master.
        _ if late.into_iter().map(computing).sum::<f64>() * MASTER > usual => ", which computes meanwhile".to_owned(),
        _ => more_work(evidence, most.late, ", which computes longer: give it less work"),
    }
}

#[cfg(test)]
mod tests {
    use mpitrace_analysis::account::{Off, PartnerAccount, RankParts};
    use mpitrace_analysis::causes::Causes;

    use super::*;

    /// Ranks 0 and 1 of a second each: rank 0 is in point-to-point calls for 400 ms, for 350 of which rank 1 was late,
    /// and off its processor for so many of those; so long they compute.
    fn sentence(late_ms: f64, asleep_ms: f64, computing_ms: [f64; 2], holds: bool) -> String {
        let rank = |(rank, ms): (u32, f64)| {
            let mut parts = RankParts::default();
            parts[RankPart::Computing] = 1e6 * ms;
            parts[RankPart::PointToPoint] = if rank == 0 { 4e8 } else { 0.0 };
            RankAccount { rank, wall_ns: 1e9, parts, ..RankAccount::default() }
        };
        let partners = vec![PartnerAccount { rank: 0, partner: Some(1), ns: 1.0, ..PartnerAccount::default() }];
        let off = Off { asleep: 1e6 * asleep_ms, ..Off::default() };
        let late_partners = vec![LatePartner { late: 1, rank: Some(0), ns: 1e6 * late_ms, off }];
        let ranks = (0..).zip(computing_ms).map(rank).collect();
        let account = &Account { ranks, partners, late_partners, ..Account::default() };
        let causes = |_| Causes::default();
        let (holds, has_counters, shared, bound, threaded) = (&|_: u32| holds, false, false, false, false);
        point_to_point(&Evidence {
            account,
            causes: &causes,
            holds,
            has_counters,
            shared,
            bound,
            threaded,
            for_threads: &[],
        })
    }

    #[test]
    fn why_a_rank_is_in_point_to_point_calls_is_said() {
        let whole = "In point-to-point calls rank 0 waits for rank 1 (350 ms), ";
        assert_eq!(
            sentence(350.0, 0.0, [300.0, 700.0], true),
            format!("{whole}which computes longer: give it less work.")
        );
        assert_eq!(
            sentence(350.0, 0.0, [300.0, 700.0], false),
            "In point-to-point calls rank 0 waits for rank 1 (350 ms): one run cannot tell whether it has more work."
        );
        assert_eq!(sentence(350.0, 0.0, [10.0, 700.0], true), format!("{whole}which computes meanwhile."));
        assert_eq!(
            sentence(350.0, 300.0, [300.0, 300.0], true),
            format!("{whole}300 ms of it since that one slept: find the sleep, lock or file.")
        );
        // Not for most of the time.
        let plain = "Rank 0 is 40.0 % of its time in point-to-point calls that can wait, mostly for rank 1.";
        assert_eq!(sentence(150.0, 150.0, [300.0, 300.0], true), plain);
    }
}
