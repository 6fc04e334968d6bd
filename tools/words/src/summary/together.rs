//! The time that a job could gain at most without all of its losses.

use mpitrace_analysis::account::{Account, Because, Loss, LossKind, RankAccount, RankPart};
use mpitrace_analysis::replay::Gain;

/// The parts of a rank's time that are lost.
const LOST: [RankPart; 11] = [
    RankPart::Waiting,
    RankPart::WaitingFinalize,
    RankPart::Interrupted,
    RankPart::Perturbed,
    RankPart::Preempted,
    RankPart::Asleep,
    RankPart::Throttled,
    RankPart::PointToPoint,
    RankPart::OneSided,
    RankPart::Hung,
    RankPart::Tracer,
];

/// The gain without all losses at most, s: no more than all gains together, and no more than the rank that loses least
/// can gain, since the job takes as long as each of its ranks. A rank gains what it loses itself, the work for which
/// others wait for it, and its part of what no single rank loses. `single`: the losses of single ranks; `shown`: with
/// their gains.
pub(super) fn most_s(account: &Account, single: &[&Loss], shown: &[(&Loss, &Gain)]) -> f64 {
    let gain_s = |(_, gain): &(&Loss, &Gain)| gain.seconds.into_iter().chain(gain.most).fold(0.0, f64::max);
    let sum: f64 = shown.iter().map(gain_s).sum();
    let of_no_rank = |(loss, _): &&(&Loss, &Gain)| {
        !matches!(
            loss.kind,
            LossKind::LateRank | LossKind::Interrupted | LossKind::PointToPoint | LossKind::OneSided | LossKind::Hung
        )
    };
    let of_all: f64 = shown.iter().filter(of_no_rank).map(gain_s).sum();
    let of_rank = |rank: &RankAccount| {
        let works = |loss: &&&Loss| {
            let is_lost_by_itself = loss.because.is_some_and(Because::is_off) || is_passed_on(loss.because);
            loss.late() == Some(rank.rank) && !is_lost_by_itself
        };
        let work_ns: f64 = single.iter().filter(works).map(|loss| loss.ns).sum();
        rank.wall_ns.min(rank.parts.sum_of(&LOST) + rank.parts[RankPart::Other].max(0.0) + work_ns) / 1e9
    };
    let least = account.ranks.iter().map(of_rank).fold(f64::INFINITY, f64::min);
    let largest = shown.iter().map(|(_, gain)| gain.likely()).fold(0.0, f64::max);
    sum.min((least + of_all).max(largest))
}

/// True for a rank that is late since it waited itself.
pub(super) fn is_passed_on(because: Option<Because>) -> bool {
    matches!(because, Some(Because::EarlierCall | Because::PointToPoint))
}

#[cfg(test)]
mod tests {
    use mpitrace_analysis::account::RankParts;

    use super::*;

    fn rank(rank: u32, lost: &[(RankPart, f64)]) -> RankAccount {
        let mut parts = RankParts::default();
        lost.iter().for_each(|&(part, ms)| parts[part] = 1e6 * ms);
        RankAccount { rank, wall_ns: 1e9, parts, ..RankAccount::default() }
    }

    fn loss(kind: LossKind, rank: u32, because: Because, ms: f64) -> (Loss, Gain) {
        let loss = Loss { kind, rank: Some(rank), because: Some(because), ns: 1e6 * ms, ..Loss::default() };
        (loss, Gain { seconds: Some(ms / 1e3), ..Gain::default() })
    }

    fn most_ms(account: &Account, losses: &[(Loss, Gain)]) -> f64 {
        let single: Vec<&Loss> = losses.iter().map(|(loss, _)| loss).collect();
        let shown: Vec<(&Loss, &Gain)> = losses.iter().map(|(loss, gain)| (loss, gain)).collect();
        (1e6 * most_s(account, &single, &shown)).round() / 1e3
    }

    #[test]
    fn the_rank_that_loses_least_bounds_the_gain() {
        // Each of two ranks waits 20 ms for the other one, which computes longer: in turns all is gained.
        let account = |of: [RankAccount; 2]| Account { ranks: of.into(), ..Account::default() };
        let in_turns = account([rank(0, &[(RankPart::Waiting, 20.0)]), rank(1, &[(RankPart::Waiting, 20.0)])]);
        let late = |rank: u32, ms: f64| loss(LossKind::LateRank, rank, Because::Computing, ms);
        let both = [late(0, 20.0), late(1, 20.0)];
        assert_eq!(most_ms(&in_turns, &both), 40.0);
        // Off its processor rank 0 lets rank 1 wait: without that both gain the same 20 ms.
        let off = account([rank(0, &[(RankPart::Preempted, 20.0)]), rank(1, &[(RankPart::Waiting, 20.0)])]);
        let both = [
            loss(LossKind::LateRank, 0, Because::Preempted, 20.0),
            loss(LossKind::Interrupted, 0, Because::Preempted, 20.0),
        ];
        assert_eq!(most_ms(&off, &both), 20.0);
        // What no single rank loses is gained by all.
        assert_eq!(most_ms(&off, &[loss(LossKind::Warmup, 0, Because::Computing, 5.0)]), 5.0);
    }
}
