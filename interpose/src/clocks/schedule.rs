//! When clocks are synchronised while the program runs: every so many seconds, at a call of MPI_COMM_WORLD that the
//! leaders have agreed on the time before. So no message is needed to find that all of them have come there.

use std::time::Duration;

use crate::base::ticks;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// How many calls on MPI_COMM_WORLD are to be made until they meet again.
    pub next: u64,
    pub now: bool,
}

pub struct Schedule {
    /// Ticks between two synchronisations; 0: none.
    interval: u64,
    index: u32,
    last_sync: u64,
    /// Calls and tick when the leaders met last.
    met: (u64, u64),
    hz: f64,
    began: u64,
    /// Ticks that meetings and synchronisations have taken so far.
    spent: u64,
}

/// The first meeting comes after so many calls. Too early a meeting costs a broadcast, too late a one seconds.
const FIRST: u64 = 16;
/// The way to the next meeting is at most this many times the way so far.
const GROWTH: u64 = 8;
/// The last meeting before a synchronisation lies at most this part of the interval before it. So a synchronisation is
/// late by no more than that where calls become twice as slow: the time between two decides how exactly a rate that
/// changes is followed.
const LAST_PART: u64 = 4;
/// Synchronisations take at most this part of the run, where the interval is not shorter than `LONG` seconds: who asks
/// for a shorter one wants them.
const PART_OF_RUN: u64 = 100;
const LONG: f64 = 10.0;
/// The program never stands still for longer at once: for a meeting together with the synchronisation after it.
pub const AT_ONCE: Duration = Duration::from_millis(500);
/// However short the run was, the last synchronisation has so much time.
const AT_THE_END: Duration = Duration::from_millis(100);

impl Schedule {
    pub fn new(seconds: f64, hz: f64) -> Schedule {
        let now = ticks::now();
        let interval = (seconds * hz) as u64;
        Schedule { interval, index: 0, last_sync: now, met: (0, now), hz, began: now, spent: 0 }
    }

    pub fn next_index(&mut self) -> u32 {
        let index = self.index;
        self.index += 1;
        index
    }

    /// After how many calls the leaders meet first; `None`: never.
    pub fn first(&self) -> Option<u64> {
        (self.interval > 0).then_some(FIRST)
    }

    /// This leader's own plan, after so many calls.
    pub fn plan(&mut self, calls: u64) -> Plan {
        let now = ticks::now();
        let plan = self.plan_at(calls, now);
        self.met = (calls, now);
        plan
    }

    fn plan_at(&self, calls: u64, now: u64) -> Plan {
        let elapsed = now.wrapping_sub(self.last_sync);
        // A meeting that comes a little early is as good as one that comes late.
        let until_affordable = if self.is_limited() { self.until_affordable(now) } else { 0 };
        let sync = elapsed >= self.interval - self.interval / 8 && until_affordable == 0;
        let left = if sync { self.interval } else { self.interval.saturating_sub(elapsed).max(until_affordable) };
        let (met_calls, met_at) = self.met;
        let per_call = now.wrapping_sub(met_at) / (calls - met_calls).max(1);
        // Calls may become slower: the leaders meet half way, and half way again, while much is left.
        let left = if left > self.interval / LAST_PART { left / 2 } else { left };
        let ahead = (left / per_call.max(1)).clamp(1, (calls * GROWTH).max(FIRST));
        Plan { next: calls + ahead, now: sync }
    }

    /// After how many calls the leaders meet next when not all of them come after so many: after as many again. So a
    /// leader that never comes costs the program the logarithm of its calls in waits.
    pub fn without_some(&self, calls: u64) -> u64 {
        calls + calls.max(FIRST)
    }

    /// Clocks have been synchronised just now.
    pub fn done(&mut self) {
        self.last_sync = ticks::now();
    }

    /// The program has stood still since this tick, for a meeting or a synchronisation.
    pub fn spend_since(&mut self, tick: u64) {
        self.spent += ticks::now().wrapping_sub(tick);
    }

    /// Ticks until what was spent is the part of the run that it may be.
    fn until_affordable(&self, now: u64) -> u64 {
        (self.spent * PART_OF_RUN).saturating_sub(now.wrapping_sub(self.began))
    }

    /// How long a synchronisation may take while the program runs.
    pub fn limit(&self) -> Duration {
        if self.is_limited() { self.left().min(AT_ONCE) } else { AT_ONCE }
    }

    pub fn limit_at_the_end(&self) -> Duration {
        self.left().clamp(AT_THE_END, AT_ONCE)
    }

    fn left(&self) -> Duration {
        let part = ticks::now().wrapping_sub(self.began) / PART_OF_RUN;
        Duration::from_secs_f64(part.saturating_sub(self.spent) as f64 / self.hz)
    }

    fn is_limited(&self) -> bool {
        self.interval as f64 >= LONG * self.hz
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interval of a million ticks, which are 10 s; so many are spent already.
    fn schedule(spent: u64) -> Schedule {
        Schedule { interval: 1_000_000, index: 0, last_sync: 0, met: (0, 0), hz: 1e5, began: 0, spent }
    }

    /// Calls of a steady pace, ticks each, an interval of a million ticks: when clocks are synchronised.
    fn syncs(per_call: u64, until: u64) -> Vec<u64> {
        syncs_at(|calls| calls * per_call, until)
    }

    /// The synchronisations of calls at these times.
    fn syncs_at(time: impl Fn(u64) -> u64, until: u64) -> Vec<u64> {
        let mut schedule = schedule(0);
        let (mut next, mut synced) = (FIRST, Vec::new());
        while time(next) < until {
            let now = time(next);
            let plan = schedule.plan_at(next, now);
            schedule.met = (next, now);
            if plan.now {
                synced.push(now);
                schedule.last_sync = now;
            }
            next = plan.next;
        }
        synced
    }

    #[test]
    fn quick_calls_are_synchronised_every_interval() {
        let synced = syncs(10, 10_000_000);
        assert!((9..=11).contains(&synced.len()), "{synced:?}");
        let gaps = synced.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(gaps.clone().all(|gap| (870_000..=1_000_100).contains(&gap)), "{:?}", gaps.collect::<Vec<_>>());
    }

    #[test]
    fn calls_that_become_slower_are_synchronised_nearly_in_time() {
        // From 10 to 20 ticks a call, at different moments of an interval.
        for slower_from in (300_000..500_000).step_by(10_000) {
            let time = |calls: u64| calls * 10 + calls.saturating_sub(slower_from) * 10;
            let synced = syncs_at(time, 20_000_000);
            let longest = synced.windows(2).map(|pair| pair[1] - pair[0]).max();
            assert!(longest.is_some_and(|gap| gap <= 1_250_100), "{slower_from}: {longest:?}");
        }
    }

    #[test]
    fn slow_calls_are_synchronised_as_soon_as_there_is_one() {
        assert_eq!(syncs(400_000, 9_000_000).first(), Some(&6_400_000));
    }

    #[test]
    fn synchronisations_that_took_long_are_not_repeated_before_they_are_a_hundredth_of_the_run() {
        let mut schedule = schedule(50_000);
        assert_eq!(schedule.plan_at(1000, 1_000_000), Plan { next: 3000, now: false }, "half way to 5 000 000");
        assert!(schedule.plan_at(5000, 5_000_000).now);
        // Who wants one every second gets it.
        schedule.interval /= 10;
        assert!(schedule.plan_at(1000, 100_000).now);
    }
}
