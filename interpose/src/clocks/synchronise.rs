//! One synchronisation of the leaders' clocks, and the meetings at which they agree on the next while the program runs.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mpitrace_format::layout::sync_kind;
use mpitrace_format::ticks::AffineMap;
use mpitrace_synchronise::{Method, Repetitions, Synchronisation, Widths};

use super::meeting::{Messages, meet, went_well};
use super::peers::Leaders;
use super::schedule::{AT_ONCE, Schedule};
use super::{Clocks, published_map};
use crate::base::log;
use crate::record::ticks;

/// How long a method may take in Init, or Finalize, that was named: the published ones take seconds.
const BY_NAME: Duration = Duration::from_secs(30);

impl Clocks {
    pub(super) fn lock_schedule(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_leaders(&self) -> Option<MutexGuard<'_, Leaders>> {
        Some(self.leaders.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn lock_widths(&self) -> MutexGuard<'_, Widths> {
        self.widths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Synchronises with the other leaders, which all call this in Init. A method that was named and does not end in
    /// its time gives way to the joint one, on all leaders.
    pub(super) fn synchronise_first(&mut self) {
        let Some(mut leaders) = self.lock_leaders() else { return };
        let since = ticks::now();
        let limit = if self.how.method == Method::Joint { AT_ONCE } else { BY_NAME };
        let mut found = leaders.together(sync_kind::INIT, limit, |leaders| self.probe(leaders, None));
        let mut how = self.how;
        if how.method != Method::Joint {
            let in_time = found.is_some() && !leaders.was_late();
            if !went_well(&mut *leaders, in_time) {
                if leaders.number() == 0 {
                    let (name, limit) = (how.method.name(), BY_NAME.as_secs());
                    log::line(&format!("{name} did not synchronise the clocks within {limit} s: joint does"));
                }
                let Synchronisation { max_ppm, wander_ppb, .. } = how;
                how = Synchronisation { max_ppm, wander_ppb, ..Synchronisation::new(Method::Joint) };
                found = leaders.together(sync_kind::INIT, AT_ONCE, |leaders| Found::probe(leaders, &how, None));
            }
        }
        drop(leaders);
        self.how = how;
        if let Some(found) = found {
            self.keep(sync_kind::INIT, &found);
        }
        self.lock_schedule().spend_since(since);
    }

    /// The same in Finalize.
    pub(super) fn synchronise_last(&self) {
        let Some(mut leaders) = self.lock_leaders() else { return };
        let limit = match self.how.method {
            Method::Joint => self.lock_schedule().limit_at_the_end(),
            _ => BY_NAME,
        };
        // What comes after the last synchronisation is extrapolated, and what comes before it is no better than it: its
        // probes are repeated where they are wide. The program has ended, so it does not wait for them.
        let repetitions = Repetitions::at_the_end(self.lock_widths().clone());
        let found = leaders.together(sync_kind::FINALIZE, limit, |leaders| self.probe(leaders, Some(&repetitions)));
        if let Some(found) = found {
            self.keep(sync_kind::FINALIZE, &found);
        }
        leaders.receive_the_rest();
    }

    /// Runs the method.
    fn probe(&self, leaders: &mut Leaders, repetitions: Option<&Repetitions>) -> Found {
        Found::probe(leaders, &self.how, repetitions)
    }

    /// Keeps what a synchronisation has found.
    fn keep(&self, kind: u32, Found { begin, end, found, map }: &Found) {
        let index = self.lock_schedule().next_index();
        published_map::set(map);
        self.lock_widths().note(&found.probes);
        for probe in &found.probes {
            self.buffer.add_probe(mpitrace_format::layout::ProbeEntry { sync: index, ..*probe });
        }
        self.buffer.add_sync(mpitrace_synchronise::entry(index, kind, *begin, *end, found));
    }

    /// Meets the other leaders after so many calls of MPI_COMM_WORLD, which they have agreed on, and synchronises with
    /// them where it is time and all have come. After how many calls they meet next.
    pub(super) fn meet(&self, calls: u64) -> Option<u64> {
        let mut leaders = self.lock_leaders()?;
        let (since, entered) = (ticks::now(), Instant::now());
        leaders.next_meeting();
        let (plan, limit) = {
            let mut schedule = self.lock_schedule();
            (schedule.plan(calls), schedule.limit())
        };
        let met = meet(&mut *leaders, plan);
        if let Some(plan) = met
            && plan.now
        {
            // Now no leader goes before all others do.
            let repetitions = Repetitions::while_it_runs(self.lock_widths().clone());
            leaders.next_step();
            let limit = limit.saturating_sub(entered.elapsed());
            let probe = |leaders: &mut Leaders| self.probe(leaders, Some(&repetitions));
            let found = leaders.together(sync_kind::RUNNING, limit, probe);
            // Probes that only some leaders have would be of no use: all keep them, or none.
            let all_have = went_well(&mut *leaders, found.is_some());
            self.lock_schedule().done();
            match found {
                Some(found) if all_have => self.keep(sync_kind::RUNNING, &found),
                _ => drop(self.missed.fetch_add(1, Ordering::Relaxed)),
            }
        } else if met.is_none() {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
        let mut schedule = self.lock_schedule();
        schedule.spend_since(since);
        Some(met.map_or(schedule.without_some(calls), |plan| plan.next))
    }
}

/// A leader's result of a synchronisation.
struct Found {
    /// Of the leader's clock, ticks.
    begin: u64,
    end: u64,
    found: mpitrace_synchronise::Synchronised,
    /// For the time until the run is over.
    map: AffineMap,
}

impl Found {
    fn probe(leaders: &mut Leaders, how: &Synchronisation, repetitions: Option<&Repetitions>) -> Found {
        let begin = leaders.clock.shown(ticks::now());
        let found = mpitrace_synchronise::synchronise(leaders, how, repetitions);
        let end = leaders.clock.shown(ticks::now());
        let before = published_map::get().filter(|map| *map != AffineMap::IDENTITY);
        let map = mpitrace_synchronise::live_map(leaders, &found, before.as_ref());
        Found { begin, end, found, map }
    }
}
