//! The time of one thread of a rank in its parts.

use mpitrace_format::layout::{interruption_flags, interruptions_by, off_place, wait_class};
use mpitrace_trace::clock::RankClock;
use mpitrace_trace::reader::Part;

use super::meeting::Met;
use super::parts::Parts;
use super::rank_parts::{CALLS, RankPart, RankParts};
use crate::reasons::Off;

/// The known times of a thread beside its collective calls; ns. What lies in MPI_Init and MPI_Finalize is of the one
/// that called these.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Thread {
    /// In MPI calls that can wait ([`CALLS`]).
    calls: [f64; 4],
    init: f64,
    waiting_init: f64,
    finalize: f64,
    waiting_finalize: f64,
    /// In the tracer, and of that between MPI_Init and MPI_Finalize.
    tracer: f64,
    between: f64,
    /// On its processor between MPI_Init and MPI_Finalize; `None`: not recorded.
    pub on_processor: Option<f64>,
    /// Off its processor in collective calls, in `calls`, and outside of both.
    off: [Off; 3],
}

impl Thread {
    pub fn new(part: &Part, clock: &RankClock, met: Met) -> Thread {
        let ns = |ticks: u64| clock.ticks_ns(ticks);
        let mut thread = Thread::default();
        let times = part.rank_times();
        let begun = met.init.divide(ns(times.init), ns(times.init_library));
        (thread.waiting_init, thread.init, thread.tracer) = (begun.waiting, begun.library, begun.tracer);
        if let Some(times) = part.finalize_times() {
            let ended = met.finalize.divide(ns(times.whole), ns(times.library));
            (thread.waiting_finalize, thread.finalize) = (ended.waiting, ended.library);
            thread.tracer += ended.tracer;
        }
        match part.init_thread() {
            Some((_, times)) => {
                thread.calls = CALLS.map(|(class, _)| ns(times.ticks[class]));
                let between = ns(times.ticks[wait_class::TRACER]);
                (thread.between, thread.tracer) = (between, thread.tracer + between);
                thread.off = times.off_ns.map(Off::of_reasons);
                let [first, last] = times.processor;
                let is_known = first.tick > 0 && last.tick > first.tick;
                thread.on_processor = is_known.then(|| last.ns.saturating_sub(first.ns) as f64);
            }
            None => {
                let init_thread = part.main_thread();
                for entry in part.interruptions().iter().filter(|entry| entry.thread == init_thread) {
                    let between = entry.flags & interruption_flags::BETWEEN != 0;
                    let place = if between { off_place::BETWEEN } else { off_place::IN_COLLECTIVE };
                    thread.off[place] += Off::of_entry(entry);
                }
            }
        }
        thread
    }

    /// Another thread than that of MPI_Init, and for how long it is known, ns: from its first call to its last one, or
    /// to the last reading of its processor time. `None`: it was not timed.
    pub fn beside(part: &Part, clock: &RankClock, index: usize, last_exit: u64) -> Option<(Thread, f64)> {
        let times = part.thread_times().get(index)?;
        let [first, last] = times.processor;
        let end = last.tick.max(last_exit);
        if first.tick == 0 || end <= first.tick {
            return None;
        }
        let is_watched = part.threads().get(index).is_some_and(|thread| {
            matches!(thread.interruptions_by, interruptions_by::EVENT_PAGE | interruptions_by::RSEQ)
        });
        let known = last.ns.saturating_sub(first.ns) as f64;
        // Nothing interrupted it since then, or it would have been read again.
        let behind = clock.ticks_ns(end - last.tick);
        let thread = Thread {
            calls: CALLS.map(|(class, _)| clock.ticks_ns(times.ticks[class])),
            off: times.off_ns.map(Off::of_reasons),
            on_processor: is_watched.then_some(known + behind),
            ..Thread::default()
        };
        Some((thread, clock.ticks_ns(end - first.tick)))
    }

    /// The time of a rank in its parts: so long in collective calls, of which these are the parts of those that were
    /// complete on all ranks.
    pub fn divide(&self, wall_ns: f64, collectives_ns: f64, complete: Parts) -> RankParts {
        let mut parts = RankParts::default();
        // Of requests that one call completes each has its full time, and tests of them may be anywhere.
        let scale = (collectives_ns / complete.run_time.max(1.0)).min(1.0);
        parts[RankPart::Waiting] = scale * complete.waiting;
        parts[RankPart::Interrupted] = scale * complete.interrupted;
        parts[RankPart::Perturbed] = scale * complete.perturbed;
        parts[RankPart::Communication] = collectives_ns - parts.sum();
        CALLS.into_iter().zip(self.calls).for_each(|((_, part), ns)| parts[part] = ns);
        let [in_collectives, in_calls, outside] = self.off;
        // What it ran in these calls and in the tracer.
        let in_calls = parts.sum() - in_collectives.sum() - in_calls.sum() + self.between;
        (parts[RankPart::Init], parts[RankPart::WaitingInit]) = (self.init, self.waiting_init);
        (parts[RankPart::Finalize], parts[RankPart::WaitingFinalize]) = (self.finalize, self.waiting_finalize);
        // The tracer was off its processor for what would exceed the processor time: that is among the time outside.
        let ran = self.on_processor.map_or(0.0, |ns| ns - in_calls);
        parts[RankPart::Tracer] = self.tracer - (-ran).clamp(0.0, self.between);
        parts[RankPart::Preempted] = outside.preempted;
        parts[RankPart::Asleep] = outside.asleep;
        parts[RankPart::Throttled] = outside.throttled;
        parts[RankPart::Computing] = ran.max(0.0);
        parts[RankPart::Other] = wall_ns - parts.sum();
        parts
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn off(ns: f64) -> Off {
        Off { preempted: ns, ..Off::default() }
    }

    /// A rank of 1000 ns, of which it ran for 500 between MPI_Init and MPI_Finalize and 100 in these.
    #[test]
    fn computing_is_what_the_thread_ran_outside_of_calls() {
        let thread = Thread {
            calls: [200.0, 0.0, 0.0, 10.0],
            init: 50.0,
            waiting_init: 10.0,
            finalize: 15.0,
            waiting_finalize: 25.0,
            tracer: 20.0,
            between: 10.0,
            on_processor: Some(500.0),
            off: [off(50.0), off(120.0), Off { asleep: 100.0, unknown: 30.0, ..off(80.0) }],
        };
        let complete = Parts { run_time: 150.0, waiting: 60.0, interrupted: 10.0, ..Parts::default() };
        let parts = thread.divide(1000.0, 180.0, complete);
        assert_eq!(parts.sum_of(&RankPart::COLLECTIVES), 180.0);
        assert_eq!((parts[RankPart::Waiting], parts[RankPart::Communication]), (60.0, 110.0));
        // Of 180 + 210 ns in calls it was off its processor for 170.
        assert_eq!(parts[RankPart::Computing], 500.0 - 220.0 - 10.0);
        assert_eq!((parts[RankPart::Preempted], parts[RankPart::Asleep]), (80.0, 100.0));
        assert_eq!(parts[RankPart::Other], 1000.0 - (180.0 + 210.0 + 60.0 + 40.0 + 20.0 + 270.0 + 180.0));
        let unknown = Thread { on_processor: None, ..thread }.divide(1000.0, 180.0, complete);
        assert_eq!((unknown[RankPart::Computing], unknown[RankPart::Other]), (0.0, 310.0));
    }

    /// The tracer worked for 10 ns between calls, of which its thread was off its processor for 8.
    #[test]
    fn time_off_the_processor_in_the_tracer_counts_once() {
        let outside = off(8.0);
        let thread = Thread { tracer: 10.0, between: 10.0, on_processor: Some(2.0), ..Thread::default() };
        let parts =
            Thread { off: [Off::default(), Off::default(), outside], ..thread }.divide(10.0, 0.0, Parts::default());
        let found = [RankPart::Tracer, RankPart::Preempted, RankPart::Other].map(|part| parts[part]);
        assert_eq!(found, [2.0, 8.0, 0.0]);
    }

    proptest! {
        #[test]
        fn the_parts_add_up_to_the_time_of_the_rank(
            calls in prop::array::uniform4(0.0..1e9f64), own in prop::array::uniform4(0.0..1e9f64),
            processor in prop::option::of(0.0..1e10f64), outside in prop::array::uniform3(0.0..1e9f64),
            collectives in 0.0..1e9f64, complete in prop::array::uniform4(0.0..1e9f64)
        ) {
            let [init, finalize, tracer, between] = own;
            let off = outside.map(off);
            let between = between.min(tracer);
            let own = Thread { init, finalize, tracer, between, ..Thread::default() };
            let thread = Thread { calls, on_processor: processor, off, ..own };
            let [waiting, interrupted, perturbed, communication] = complete;
            let run_time = complete.iter().sum();
            let complete = Parts { run_time, waiting, interrupted, perturbed, communication, ..Parts::default() };
            let parts = thread.divide(1e10, collectives, complete);
            prop_assert!((parts.sum() - 1e10).abs() < 1e-3);
            prop_assert!((parts.sum_of(&RankPart::COLLECTIVES) - collectives).abs() < 1e-3);
            let others = RankPart::ALL.iter().filter(|&&part| part != RankPart::Other);
            prop_assert!(others.clone().all(|&part| parts[part] >= -1e-6), "{:?}", parts);
        }
    }
}
