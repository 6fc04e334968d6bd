//! One synchronisation of the leaders' clocks, and the meetings at which they agree on the next while the program runs.

use std::sync::MutexGuard;
use std::time::Duration;

use mpitrace_format::layout::{ProbeEntry, SyncEntry, sync_kind};
use mpitrace_platform::time::Instant;
use mpitrace_synchronise::{Method, Repetitions, Synchronisation, Synchronised, synchronise};

use super::meeting::{Messages, meet, went_well};
use super::peers::Leaders;
use super::schedule::AT_ONCE;
use super::{Clocks, Leading};
use crate::base::lock::lock;
use crate::base::log;
use crate::base::ticks;
use crate::record::buffer::trace_buffer::TraceBuffer;

/// How long a method may take in Init, or Finalize, that was named: the published ones take seconds.
const BY_NAME: Duration = Duration::from_secs(30);

impl Clocks {
    pub(super) fn lock(&self) -> Option<MutexGuard<'_, Leading>> {
        self.leading.as_ref().map(lock)
    }

    /// Synchronises with the other leaders, which all call this in Init. A method that was named and does not end in
    /// its time gives way to the joint one, on all leaders.
    pub(super) fn synchronise_first(&mut self) {
        let mut how = self.how;
        let Some(mut leading) = self.lock() else { return };
        let since = ticks::now();
        let limit = if how.method == Method::Joint { AT_ONCE } else { BY_NAME };
        let mut found = leading.leaders.together(sync_kind::INIT, limit, |leaders| synchronise(leaders, &how, None));
        if how.method != Method::Joint {
            let in_time = found.is_some() && !leading.leaders.late;
            if !went_well(&mut leading.leaders, in_time) {
                if leading.leaders.number == 0 {
                    let (name, limit) = (how.method.name(), BY_NAME.as_secs());
                    log::line(&format!("{name} did not synchronise the clocks within {limit} s: joint is used"));
                }
                let Synchronisation { max_ppm, wander_ppb, .. } = how;
                how = Synchronisation { max_ppm, wander_ppb, ..Synchronisation::new(Method::Joint) };
                found = leading.leaders.together(sync_kind::INIT, AT_ONCE, |leaders| synchronise(leaders, &how, None));
            }
        }
        leading.keep(self.buffer, sync_kind::INIT, found);
        leading.schedule.spend_since(since);
        drop(leading);
        self.how = how;
    }

    /// Synchronises for the last time, in MPI_Finalize.
    pub(super) fn synchronise_last(&self) {
        let Some(mut leading) = self.lock() else { return };
        let limit = match self.how.method {
            Method::Joint => leading.schedule.limit_at_the_end(),
            _ => BY_NAME,
        };
        // What comes after the last synchronisation is extrapolated, and what comes before it is no better than it: its
        // probes are repeated where they are wide. The program has ended, so it does not wait for them.
        let repetitions = Repetitions::at_the_end(leading.widths.clone());
        let probe = |leaders: &mut Leaders| synchronise(leaders, &self.how, Some(&repetitions));
        let found = leading.leaders.together(sync_kind::FINALIZE, limit, probe);
        leading.keep(self.buffer, sync_kind::FINALIZE, found);
        leading.leaders.receive_the_rest();
    }

    /// Meets the other leaders after so many calls of MPI_COMM_WORLD, which they have agreed on, and synchronises with
    /// them where it is time and all have come. After how many calls they meet next.
    pub(super) fn meet(&self, calls: u64) -> Option<u64> {
        let mut leading = self.lock()?;
        let (since, entered) = (ticks::now(), Instant::now());
        leading.leaders.next_meeting();
        let (plan, limit) = (leading.schedule.plan(calls), leading.schedule.limit());
        let met = meet(&mut leading.leaders, plan);
        let mut is_missed = met.is_none();
        if met.is_some_and(|plan| plan.now) {
            // Now no leader goes before all others do.
            let repetitions = Repetitions::while_it_runs(leading.widths.clone());
            leading.leaders.next_step();
            let limit = limit.saturating_sub(entered.elapsed());
            let probe = |leaders: &mut Leaders| synchronise(leaders, &self.how, Some(&repetitions));
            let found = leading.leaders.together(sync_kind::RUNNING, limit, probe);
            // Probes that only some leaders have would be of no use: all keep them, or none.
            let all_have = went_well(&mut leading.leaders, found.is_some());
            leading.schedule.done();
            is_missed = !leading.keep(self.buffer, sync_kind::RUNNING, found.filter(|_| all_have));
        }
        leading.missed += u32::from(is_missed);
        leading.schedule.spend_since(since);
        Some(met.map_or(leading.schedule.without_some(calls), |plan| plan.next))
    }
}

impl Leading {
    /// Keeps what a synchronisation has found. False: that is nothing.
    fn keep(&mut self, buffer: &TraceBuffer, kind: u32, found: Option<Synchronised>) -> bool {
        let Some(Synchronised { entry, probes }) = found else { return false };
        let index = self.schedule.next_index();
        self.widths.note(&probes);
        for probe in &probes {
            buffer.add(ProbeEntry { sync: index, ..*probe });
        }
        buffer.add(SyncEntry { index, kind, ..entry });
        true
    }
}
