//! The times of a repetition, out of when each rank entered and left it: the three completion times, and who came and
//! went last.
//!
//! With s_r and e_r the global times at which rank r entered and left (Hunold & Carpen-Amarie 2016, 3.2; Lastovetsky et
//! al. 2008, 2.1):
//!
//! ```text
//! T_loc  = max(e_r - s_r)          arrival spread A = max s_r - min s_r
//! T_glob = max e_r - min s_r       exit spread    X = max e_r - min e_r
//! T_last = max e_r - max s_r       T_glob = A + T_last,  T_last <= T_loc <= T_glob
//! ```

mod non_blocking;

use serde::Serialize;

pub use non_blocking::{Overheads, Requests, overlap};

/// No rank alone.
pub const NOBODY: u32 = u32::MAX;

/// The times of one rank, a value for each repetition, ns.
#[derive(Clone, Copy, Debug)]
pub struct RankTimes<'a> {
    /// s_r, global time.
    pub enter_ns: &'a [f64],
    /// e_r, global time.
    pub exit_ns: &'a [f64],
    /// e_r - s_r on the rank's own clock.
    pub duration_ns: &'a [f64],
}

/// The completion times of an operation's repetitions. Ranks are added one by one, so that the columns of one rank lie
/// in memory at a time.
///
/// ```
/// use mpitrace_trace::run_time::completion_times::{CompletionTimes, RankTimes};
///
/// // One repetition of two ranks: in at 0 and 500 ns, out at 2,500 and 2,400 ns.
/// let mut times = CompletionTimes::default();
/// times.add(RankTimes { enter_ns: &[0.0], exit_ns: &[2500.0], duration_ns: &[2500.0] });
/// times.add(RankTimes { enter_ns: &[500.0], exit_ns: &[2400.0], duration_ns: &[1900.0] });
/// assert_eq!((times.local_ns(), times.global_ns(), times.last_ns()), (vec![2500.0], vec![2500.0], vec![2000.0]));
/// assert_eq!((times.arrival_spread_ns(), times.exit_spread_ns()), (vec![500.0], vec![100.0]));
/// assert_eq!(times.begin_ns(), [0.0]);
/// assert_eq!((times.last_in(), times.last_out()), (&[1][..], &[0][..]));
/// assert_eq!((times.ordering().checked, times.ordering().violated), (1, 0));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompletionTimes {
    ranks: u32,
    first_in: Vec<f64>,
    last_in: Vec<f64>,
    first_out: Vec<f64>,
    last_out: Vec<f64>,
    longest: Vec<f64>,
    who_last_in: Vec<u32>,
    who_last_out: Vec<u32>,
    /// True if on some rank e_r - s_r is not the duration by its own clock. A step of a clock lies between them.
    split: Vec<bool>,
}

/// The check that T_last <= T_loc <= T_glob holds, as it must wherever the times of each rank fit its own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ordering {
    /// Repetitions for which it was checked.
    pub checked: usize,
    /// Repetitions that were not checked, since a clock stepped within them.
    pub split: usize,
    /// Repetitions for which it does not hold.
    pub violated: usize,
}

/// By how much global time and a rank's own clock may differ over a call of this length, ns: the rounding of global
/// times after some hours (2^-53 of 10^13 ns), and the change of a clock's rate within the call.
fn tolerance_ns(duration_ns: f64) -> f64 {
    1.0 + 1e-5 * duration_ns.abs()
}

impl CompletionTimes {
    /// Adds the next rank.
    ///
    /// # Panics
    /// The ranks must have the same number of repetitions, with all three columns equally long.
    pub fn add(&mut self, times: RankTimes<'_>) {
        let n = times.enter_ns.len();
        assert!(times.exit_ns.len() == n && times.duration_ns.len() == n, "one value for each repetition");
        if self.ranks == 0 {
            self.first_in = vec![f64::INFINITY; n];
            self.last_in = vec![f64::NEG_INFINITY; n];
            self.first_out = vec![f64::INFINITY; n];
            self.last_out = vec![f64::NEG_INFINITY; n];
            self.longest = vec![f64::NEG_INFINITY; n];
            (self.who_last_in, self.who_last_out) = (vec![NOBODY; n], vec![NOBODY; n]);
            self.split = vec![false; n];
        }
        assert_eq!(self.longest.len(), n, "the same repetitions on all ranks");
        for row in 0..n {
            let (enter, exit, duration) = (times.enter_ns[row], times.exit_ns[row], times.duration_ns[row]);
            self.first_in[row] = self.first_in[row].min(enter);
            self.first_out[row] = self.first_out[row].min(exit);
            self.longest[row] = self.longest[row].max(duration);
            later(enter, self.ranks, &mut self.last_in[row], &mut self.who_last_in[row]);
            later(exit, self.ranks, &mut self.last_out[row], &mut self.who_last_out[row]);
            // Also true for what is not a number.
            let fits = (exit - enter - duration).abs() <= tolerance_ns(duration);
            self.split[row] |= !fits;
        }
        self.ranks += 1;
    }

    /// T_loc of each repetition, ns.
    pub fn local_ns(&self) -> Vec<f64> {
        self.longest.clone()
    }

    /// T_glob, ns.
    pub fn global_ns(&self) -> Vec<f64> {
        difference(&self.last_out, &self.first_in)
    }

    /// T_last, ns.
    pub fn last_ns(&self) -> Vec<f64> {
        difference(&self.last_out, &self.last_in)
    }

    /// A: from the first entry to the last, ns.
    pub fn arrival_spread_ns(&self) -> Vec<f64> {
        difference(&self.last_in, &self.first_in)
    }

    /// X: from the first exit to the last, ns.
    pub fn exit_spread_ns(&self) -> Vec<f64> {
        difference(&self.last_out, &self.first_out)
    }

    /// The first entry of each repetition, ns of global time: when it was.
    pub fn begin_ns(&self) -> &[f64] {
        &self.first_in
    }

    /// Which rank, counted in the order in which they were added, entered last; [`NOBODY`] where several did at once.
    pub fn last_in(&self) -> &[u32] {
        &self.who_last_in
    }

    /// Which one left last; [`NOBODY`] where several did at once.
    pub fn last_out(&self) -> &[u32] {
        &self.who_last_out
    }

    /// Checks T_last <= T_loc <= T_glob.
    pub fn ordering(&self) -> Ordering {
        let mut found = Ordering::default();
        for row in 0..self.longest.len() {
            if self.split[row] {
                found.split += 1;
                continue;
            }
            found.checked += 1;
            let local = self.longest[row];
            let global = self.last_out[row] - self.first_in[row];
            let last = self.last_out[row] - self.last_in[row];
            let tolerance = tolerance_ns(local);
            let holds = last <= local + tolerance && local <= global + tolerance;
            found.violated += usize::from(!holds);
        }
        found
    }
}

/// Notes that `rank` did at `time` what others may have done later, and who was the last.
fn later(time: f64, rank: u32, latest: &mut f64, who: &mut u32) {
    if time > *latest {
        (*latest, *who) = (time, rank);
    } else if time == *latest {
        *who = NOBODY;
    }
}

fn difference(left: &[f64], right: &[f64]) -> Vec<f64> {
    left.iter().zip(right).map(|(left, right)| left - right).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn completion_times(ranks: &[Vec<(f64, f64)>]) -> CompletionTimes {
        let mut times = CompletionTimes::default();
        for rank in ranks {
            let (enter_ns, exit_ns): (Vec<f64>, Vec<f64>) = rank.iter().copied().unzip();
            let duration_ns: Vec<f64> = rank.iter().map(|(enter, exit)| exit - enter).collect();
            times.add(RankTimes { enter_ns: &enter_ns, exit_ns: &exit_ns, duration_ns: &duration_ns });
        }
        times
    }

    #[test]
    fn two_ranks_that_come_and_go_apart() {
        let times = completion_times(&[vec![(0.0, 50.0), (100.0, 130.0)], vec![(30.0, 45.0), (100.0, 140.0)]]);
        assert_eq!(times.local_ns(), [50.0, 40.0]);
        assert_eq!(times.global_ns(), [50.0, 40.0]);
        assert_eq!(times.last_ns(), [20.0, 40.0]);
        assert_eq!(times.arrival_spread_ns(), [30.0, 0.0]);
        assert_eq!(times.exit_spread_ns(), [5.0, 10.0]);
        assert_eq!((times.last_in(), times.last_out()), (&[1, NOBODY][..], &[0, 1][..]));
        assert_eq!(times.ordering(), Ordering { checked: 2, split: 0, violated: 0 });
    }

    #[test]
    fn a_repetition_within_which_a_clock_stepped_is_not_checked() {
        let mut times = completion_times(&[vec![(0.0, 50.0)]]);
        // Global time says 1000 ns, the rank's own clock 20.
        times.add(RankTimes { enter_ns: &[10.0], exit_ns: &[1010.0], duration_ns: &[20.0] });
        assert_eq!(times.ordering(), Ordering { checked: 0, split: 1, violated: 0 });
    }

    #[test]
    fn no_ranks_and_no_repetitions_are_nothing() {
        let times = completion_times(&[vec![], vec![]]);
        assert_eq!((times.global_ns().len(), times.ordering()), (0, Ordering::default()));
    }

    proptest! {
        #[test]
        fn last_is_never_above_local_and_local_never_above_global(
            ranks in (1usize..5, 1usize..20).prop_flat_map(|(ranks, rows)| {
                let call = (0.0..1e13f64, 0.0..1e9f64).prop_map(|(enter, took)| (enter, enter + took));
                prop::collection::vec(prop::collection::vec(call, rows), ranks)
            })
        ) {
            let times = completion_times(&ranks);
            let ordering = times.ordering();
            prop_assert_eq!((ordering.violated, ordering.split), (0, 0));
            for row in 0..times.global_ns().len() {
                let sum = times.arrival_spread_ns()[row] + times.last_ns()[row];
                prop_assert!((times.global_ns()[row] - sum).abs() < 0.01);
                prop_assert!(times.last_ns()[row] <= times.local_ns()[row] + 0.01);
                prop_assert!(times.local_ns()[row] <= times.global_ns()[row] + 0.01);
            }
        }
    }
}
