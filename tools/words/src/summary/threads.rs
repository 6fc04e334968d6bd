//! The time in MPI on other threads than those that called MPI_Init.

use mpitrace_analysis::account::{Account, RankPart};
use serde::Serialize;

use super::units::{percent, seconds};

const NS: f64 = 1e9;
/// Ends of an interval that differ by more than this share of the larger one are both said.
const WIDE: f64 = 0.05;
/// It is said if more than this share of the time in MPI is on other threads.
const MOST: f64 = 0.5;

/// The time in MPI on other threads than those that called MPI_Init, all ranks together; s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ThreadFacts {
    /// The time of all threads.
    pub mpi_s: f64,
    /// The part of it on other threads.
    pub other_mpi_s: f64,
    /// That part as a share.
    pub share: f64,
    /// For so long at least the thread that called MPI_Init was blocked outside of MPI meanwhile: the middle of the two
    /// counts as the rank's time in MPI.
    pub blocked_least_s: f64,
    /// And at most.
    pub blocked_most_s: f64,
    /// The middle of the two.
    pub blocked_s: f64,
    /// For so long at least it was blocked while other threads computed: the middle of the two counts as computing.
    pub computing_least_s: f64,
    /// And at most.
    pub computing_most_s: f64,
}

impl ThreadFacts {
    /// `None`: no other thread called MPI.
    pub fn new(account: &Account) -> Option<ThreadFacts> {
        let (mut of, mut main_ns) = (ThreadFacts::default(), 0.0);
        for rank in &account.ranks {
            let beside = rank.beside;
            main_ns += rank.parts.sum_of(&RankPart::MPI) - f64::midpoint(beside.in_mpi_least_ns, beside.in_mpi_most_ns);
            of.other_mpi_s += beside.mpi_ns / NS;
            of.blocked_least_s += beside.in_mpi_least_ns / NS;
            of.blocked_most_s += beside.in_mpi_most_ns / NS;
            of.computing_least_s += beside.computing_least_ns / NS;
            of.computing_most_s += beside.computing_most_ns / NS;
        }
        of.mpi_s = main_ns / NS + of.other_mpi_s;
        of.blocked_s = f64::midpoint(of.blocked_least_s, of.blocked_most_s);
        of.share = of.other_mpi_s / of.mpi_s;
        (of.other_mpi_s > 0.0).then_some(of)
    }

    /// That most of the time in MPI is on other threads, where it is.
    pub(super) fn sentence(&self) -> Option<String> {
        let [least, most] = [self.blocked_least_s, self.blocked_most_s];
        let of_ranks = match most - least > WIDE * most {
            true => format!("{} to {}", seconds(least), seconds(most)),
            false => seconds(self.blocked_s),
        };
        (self.share > MOST).then(|| {
            format!(
                "{} of the time in MPI is on other threads than that of MPI_Init, which is blocked for {of_ranks} of it.",
                percent(self.share)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use mpitrace_analysis::account::{Beside, RankAccount, RankParts};

    use super::*;

    /// A rank whose own thread is in MPI for so many ms, and another one for 100 ms, for which the own one is blocked
    /// for at least and at most so many.
    fn facts(own_ms: f64, blocked_ms: [f64; 2]) -> Option<ThreadFacts> {
        let mut parts = RankParts::default();
        let [least, most] = blocked_ms.map(|ms| 1e6 * ms);
        parts[RankPart::Waiting] = 1e6 * own_ms + f64::midpoint(least, most);
        let beside = Beside { mpi_ns: 1e8, in_mpi_least_ns: least, in_mpi_most_ns: most, ..Beside::default() };
        let rank = RankAccount { parts, beside, ..RankAccount::default() };
        ThreadFacts::new(&Account { ranks: vec![rank], ..Account::default() })
    }

    #[test]
    fn time_on_other_threads_is_said_where_it_is_most() {
        let sentence = |own_ms: f64, blocked_ms| facts(own_ms, blocked_ms).and_then(|facts| facts.sentence());
        let said = "83.3 % of the time in MPI is on other threads than that of MPI_Init, which is blocked for";
        assert_eq!(sentence(20.0, [80.0, 100.0]), Some(format!("{said} 80.0 ms to 100 ms of it.")));
        assert_eq!(sentence(20.0, [99.0, 100.0]), Some(format!("{said} 99.5 ms of it.")));
        assert_eq!(sentence(100.0, [80.0, 100.0]), None, "half of it is on the own thread");
        let alone = Account { ranks: vec![RankAccount::default()], ..Account::default() };
        assert_eq!(ThreadFacts::new(&alone), None);
    }
}
