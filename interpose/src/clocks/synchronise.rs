//! One synchronisation of the leaders' clocks, and the meetings at which they agree on the next while the program runs.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use mpitrace_format::layout::sync_kind;
use mpitrace_format::ticks::AffineMap;
use mpitrace_synchronise::{Repetitions, Widths};

use super::meeting::{Met, meet, patience_for_answer};
use super::peers::Leaders;
use super::schedule::Schedule;
use super::{Clocks, peers, published_map};
use crate::job::frequency;
use crate::record::ticks;

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

    /// Synchronises with the other leaders, which all call this.
    pub(super) fn synchronise(&self, kind: u32) {
        let Some(mut leaders) = self.lock_leaders() else { return };
        // What comes after the last synchronisation is extrapolated, and what comes before it is no better than it: its
        // probes are repeated where they are wide. The program has ended, so it does not wait for them.
        let repetitions = (kind == sync_kind::FINALIZE).then(|| Repetitions::at_the_end(self.lock_widths().clone()));
        if let Some(found) = leaders.together(kind, |leaders| self.probe(leaders, repetitions.as_ref())) {
            self.keep(kind, &found);
        }
    }

    /// Runs the method.
    fn probe(&self, leaders: &mut Leaders, repetitions: Option<&Repetitions>) -> Found {
        let begin = leaders.clock.shown(ticks::now());
        let found = mpitrace_synchronise::synchronise(leaders, &self.how, repetitions);
        let end = leaders.clock.shown(ticks::now());
        let before = published_map::get().filter(|map| *map != AffineMap::IDENTITY);
        let map = mpitrace_synchronise::live_map(leaders, &found, before.as_ref());
        Found { begin, end, found, map }
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
        frequency::read();
    }

    /// Meets the other leaders after so many calls of MPI_COMM_WORLD, and synchronises with them where it is time and
    /// all have come. After how many calls they meet next.
    pub(super) fn meet(&self, calls: u64) -> Option<u64> {
        let mut leaders = self.lock_leaders()?;
        let (plan, other) = {
            let mut schedule = self.lock_schedule();
            (schedule.plan(calls), schedule.without_some(calls))
        };
        leaders.next_meeting();
        let patience = patience_for_answer(leaders.count());
        let plan = match meet(&mut *leaders, true, plan, other, patience) {
            Met::All(plan) if plan.now => plan,
            Met::All(plan) => return Some(plan.next),
            Met::Some(plan) => {
                self.missed.fetch_add(1, Ordering::Relaxed);
                return Some(plan.next);
            }
            // The first leader has missed this one, and says to all others what this one does now.
            Met::Lost => {
                self.missed.fetch_add(1, Ordering::Relaxed);
                return Some(other.next);
            }
        };
        let repetitions = Repetitions::while_it_runs(self.lock_widths().clone());
        let found = leaders.together(sync_kind::RUNNING, |leaders| self.probe(leaders, Some(&repetitions)));
        // Probes that only some leaders have would be of no use: all keep them, or none. All are here, so the answer
        // comes.
        leaders.next_meeting();
        let met = meet(&mut *leaders, found.is_some(), plan, other, peers::LONG);
        self.lock_schedule().done();
        match (met, found) {
            (Met::All(plan), Some(found)) => {
                self.keep(sync_kind::RUNNING, &found);
                Some(plan.next)
            }
            (Met::All(plan) | Met::Some(plan), _) => {
                self.missed.fetch_add(1, Ordering::Relaxed);
                Some(plan.next)
            }
            (Met::Lost, _) => {
                self.missed.fetch_add(1, Ordering::Relaxed);
                Some(other.next)
            }
        }
    }
}

/// What one leader has of a synchronisation.
struct Found {
    /// Of the leader's clock, ticks.
    begin: u64,
    end: u64,
    found: mpitrace_synchronise::Synchronised,
    /// For the time until the run is over.
    map: AffineMap,
}
