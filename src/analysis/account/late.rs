//! The time that ranks wait for a rank that is late, and why it was late.

use std::ops::AddAssign;

use crate::reasons::Because;
use crate::reasons::{Gap, InCalls, Off};

/// A rank that is late for a smaller share of the waiting is not asked for its reason.
const WORTH: f64 = 0.2;

/// The time that other ranks waited for a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Late {
    /// All their waiting, ns.
    pub waiting_ns: f64,
    /// The part for which the rank was off its processor for longer than the others since its last call, or in that
    /// call, ns.
    pub interrupted_ns: f64,
    /// The reasons of that part.
    pub interrupted_by: Off,
    /// The part for which the rank was longer than the others in MPI calls that are not recorded, by kind; where these
    /// are not told apart all of it is in `other_mpi`.
    pub in_calls: InCalls,
    /// The part for which it left its recorded call before later than they left theirs, and was on its processor, ns.
    pub earlier_call_ns: f64,
    /// The part for which it was on its processor and in none of these calls, ns.
    pub computing_ns: f64,
    /// The part for which it was on its processor, and either computed or was in such calls, ns.
    pub on_processor_ns: f64,
    /// The part of which it is not known whether the rank was on its processor, ns.
    pub unknown_ns: f64,
    /// Repetitions in which another rank waited for it.
    pub repetitions: usize,
}

/// The waiting of one rank for a late one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    /// The member that it waited for.
    pub late: usize,
    /// How long, ns.
    pub ns: f64,
    /// By how much the late one left its call before later than the one that waits, ns.
    pub left_later_ns: f64,
    /// True: both left the same call before, or the late one left one that no other rank takes part in. In another one
    /// the late rank may have waited itself.
    pub is_in_same_call: bool,
    /// The time of the one that waits since its call before; of no length where that is not known.
    pub other: Gap,
}

/// By how much a late rank was longer than the others, since its recorded call before, in other MPI calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Longer {
    /// In calls that can wait, by kind; time off the processor in these is told apart.
    Timed(InCalls),
    /// In calls that are not recorded, ns: time off the processor before a call may lie in these.
    OtherMpi(f64),
}

impl Late {
    /// The time that other ranks waited for one call of a rank that spent this time before it, and was that much longer
    /// than they in other MPI calls. While it waits in these it may yield its processor: as in a call, what may be
    /// either is taken for the waiting. What a rank was late already when it left its call before is due to that call,
    /// in which it was off its processor for `off_in_previous`: that made it late if both ranks were in this call.
    pub(super) fn new(
        before: Option<Gap>,
        longer: Option<Longer>,
        off_in_previous: Option<Off>,
        waits: &[Wait],
    ) -> Late {
        let reasons_in_previous = off_in_previous.unwrap_or_default();
        let off_in_previous = off_in_previous.map(|off| off.sum());
        let mut late = Late { repetitions: 1, ..Late::default() };
        for &Wait { ns: wait, left_later_ns, is_in_same_call, other: waiting, .. } in waits {
            let reasons_before = before.map_or_else(Off::default, |own| own.off_beyond(waiting));
            let earlier = left_later_ns.clamp(0.0, wait);
            let off_earlier = off_in_previous.filter(|_| is_in_same_call).map_or(0.0, |off| off.min(earlier));
            let since = wait - earlier;
            let (in_calls, off_in_calls) = match longer {
                None => (InCalls::default(), 0.0),
                Some(Longer::Timed(calls)) => (calls, 0.0),
                Some(Longer::OtherMpi(ns)) => (InCalls { other_mpi: ns, ..InCalls::default() }, ns),
            };
            let mut interrupted = since.min((reasons_before.sum() - off_in_calls).max(0.0));
            let mut reasons = reasons_before.to(interrupted);
            let other = in_calls.sum().min(since - interrupted);
            // It computed for no longer than it was on its processor: for the rest it was off it, as others may be too.
            if let Some(own) = before.filter(|own| own.is_timed && matches!(longer, Some(Longer::Timed(_)))) {
                let beyond = (since - interrupted - other - own.worked_ns).max(0.0);
                let off = own.off.without(reasons);
                let more = off.to(beyond.min(off.sum()));
                interrupted += more.sum();
                reasons += more;
            }
            late.waiting_ns += wait;
            late.interrupted_ns += interrupted + off_earlier;
            late.interrupted_by += reasons;
            late.interrupted_by += reasons_in_previous.to(off_earlier);
            late.in_calls += in_calls.to(other);
            match off_in_previous {
                Some(_) => late.earlier_call_ns += earlier - off_earlier,
                None => late.unknown_ns += earlier,
            }
            match (before, longer) {
                (None, _) => late.unknown_ns += since - other,
                (Some(own), Some(Longer::Timed(_))) if own.is_timed => {
                    let computing = (since - interrupted - other).min(own.worked_ns);
                    late.computing_ns += computing;
                    late.unknown_ns += since - interrupted - other - computing;
                }
                (_, Some(_)) => late.computing_ns += since - interrupted - other,
                (_, None) => late.on_processor_ns += since - interrupted,
            }
        }
        late
    }

    /// Waiting of this length, all of it for one reason.
    pub fn of_reason(because: Option<Because>, ns: f64) -> Late {
        let mut late = Late { waiting_ns: ns, ..Late::default() };
        let part = match because {
            Some(Because::Preempted) => &mut late.interrupted_by.preempted,
            Some(Because::Asleep) => &mut late.interrupted_by.asleep,
            Some(Because::Throttled) => &mut late.interrupted_by.throttled,
            Some(Because::OffProcessor) => &mut late.interrupted_by.unknown,
            Some(Because::PointToPoint) => &mut late.in_calls.point_to_point,
            Some(Because::OneSided) => &mut late.in_calls.one_sided,
            Some(Because::Io) => &mut late.in_calls.io,
            Some(Because::OtherMpi) => &mut late.in_calls.other_mpi,
            Some(Because::Tracer) => &mut late.in_calls.tracer,
            Some(Because::EarlierCall) => &mut late.earlier_call_ns,
            Some(Because::Computing) => &mut late.computing_ns,
            Some(Because::OnProcessor) => &mut late.on_processor_ns,
            None => &mut late.unknown_ns,
        };
        *part = ns;
        late.interrupted_ns = late.interrupted_by.sum();
        late
    }

    /// The lateness without so much preemption.
    pub fn without_preempted(self, ns: f64) -> Late {
        let ns = ns.min(self.interrupted_by.preempted);
        let interrupted_by = Off { preempted: self.interrupted_by.preempted - ns, ..self.interrupted_by };
        let (waiting_ns, interrupted_ns) = (self.waiting_ns - ns, self.interrupted_ns - ns);
        Late { waiting_ns, interrupted_ns, interrupted_by, ..self }
    }

    /// The reason with the largest part; `None`: not known.
    pub fn because(&self) -> Option<Because> {
        let off = (self.interrupted_by.largest().map(|(because, _)| because), self.interrupted_ns);
        let others = self.reasons().filter(|(because, _)| because.is_none_or(|because| !because.is_off()));
        let largest = [off].into_iter().chain(others).max_by(|one, other| one.1.total_cmp(&other.1));
        largest.and_then(|(because, _)| because)
    }

    /// The reasons with their times, ns; of `None` it is not known.
    pub fn reasons(&self) -> impl Iterator<Item = (Option<Because>, f64)> {
        let rest = [
            (Because::EarlierCall, self.earlier_call_ns),
            (Because::Computing, self.computing_ns),
            (Because::OnProcessor, self.on_processor_ns),
        ];
        let known = self.interrupted_by.reasons().into_iter().chain(self.in_calls.reasons()).chain(rest);
        known.map(|(because, ns)| (Some(because), ns)).chain([(None, self.unknown_ns)])
    }

    /// True: ranks that others wait for are late for different reasons, each for a share of it that is worth a word.
    pub fn differ(lates: &[Late]) -> bool {
        let all: f64 = lates.iter().map(|late| late.waiting_ns).sum();
        let mut because = lates.iter().filter(|late| late.waiting_ns >= WORTH * all).map(Late::because);
        because.next().is_some_and(|first| because.any(|other| other != first))
    }

    /// The part for this reason, ns; `None`: for one that is not known.
    pub(crate) fn due_to(&self, because: Option<Because>) -> f64 {
        match because {
            None => self.unknown_ns,
            Some(Because::Preempted) => self.interrupted_by.preempted,
            Some(Because::Asleep) => self.interrupted_by.asleep,
            Some(Because::Throttled) => self.interrupted_by.throttled,
            Some(Because::OffProcessor) => self.interrupted_by.unknown,
            Some(Because::PointToPoint) => self.in_calls.point_to_point,
            Some(Because::OneSided) => self.in_calls.one_sided,
            Some(Because::Io) => self.in_calls.io,
            Some(Because::OtherMpi) => self.in_calls.other_mpi,
            Some(Because::Tracer) => self.in_calls.tracer,
            Some(Because::EarlierCall) => self.earlier_call_ns,
            Some(Because::Computing) => self.computing_ns,
            Some(Because::OnProcessor) => self.on_processor_ns,
        }
    }

    /// The lateness behind this share of the waiting.
    pub(crate) fn scaled(self, share: f64) -> Late {
        let scaled = self.each(self, |ns, _| share * ns);
        Late { interrupted_by: self.interrupted_by.scaled(share), in_calls: self.in_calls.scaled(share), ..scaled }
    }

    /// Times of both; the reasons and the repetitions stay.
    fn each(self, other: Late, of: impl Fn(f64, f64) -> f64) -> Late {
        Late {
            waiting_ns: of(self.waiting_ns, other.waiting_ns),
            interrupted_ns: of(self.interrupted_ns, other.interrupted_ns),
            earlier_call_ns: of(self.earlier_call_ns, other.earlier_call_ns),
            computing_ns: of(self.computing_ns, other.computing_ns),
            on_processor_ns: of(self.on_processor_ns, other.on_processor_ns),
            unknown_ns: of(self.unknown_ns, other.unknown_ns),
            ..self
        }
    }
}

impl AddAssign for Late {
    fn add_assign(&mut self, other: Late) {
        *self = self.each(other, |own, other| own + other);
        self.interrupted_by += other.interrupted_by;
        self.in_calls += other.in_calls;
        self.repetitions += other.repetitions;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preempted(ns: f64) -> Off {
        Off { preempted: ns, ..Off::default() }
    }

    fn gap(worked_ns: f64, off: Off) -> Gap {
        Gap { off, worked_ns, is_timed: true }
    }

    fn wait(ns: f64, left_later_ns: f64) -> Wait {
        Wait { late: 0, ns, left_later_ns, is_in_same_call: true, other: Gap::default() }
    }

    #[test]
    fn the_reason_is_what_differs_between_the_late_rank_and_the_one_that_waits() {
        let late = |own: Gap, other: Gap| {
            let ns = own.worked_ns + own.off.sum() - other.worked_ns - other.off.sum();
            let waits = [Wait { other, ..wait(ns, 0.0) }];
            let late = Late::new(Some(own), Some(Longer::Timed(InCalls::default())), Some(Off::default()), &waits);
            (late.because(), late.interrupted_ns.round(), late.computing_ns.round())
        };
        let asleep = |ns| Off { asleep: ns, ..Off::default() };
        // Both have half of a processor, and one has 1.5 times the work.
        let alike = late(gap(150.0, preempted(150.0)), gap(100.0, preempted(100.0)));
        assert_eq!(alike, (Some(Because::Computing), 0.0, 100.0));
        // The same work.
        let other = late(gap(100.0, preempted(150.0)), gap(100.0, preempted(100.0)));
        assert_eq!(other, (Some(Because::Preempted), 50.0, 0.0));
        // Both sleep alike in each step; work does not make a sleep longer.
        let sleeps = late(gap(150.0, asleep(400.0)), gap(100.0, asleep(400.0)));
        assert_eq!(sleeps, (Some(Because::Computing), 0.0, 50.0));
        let longer = late(gap(150.0, asleep(600.0)), gap(100.0, asleep(400.0)));
        assert_eq!(longer, (Some(Because::Asleep), 200.0, 50.0));
        // One that was never interrupted says nothing of a rate.
        let alone = late(gap(150.0, preempted(150.0)), gap(100.0, Off::default()));
        assert_eq!(alone, (Some(Because::Preempted), 150.0, 50.0));
    }

    /// The waiting of two ranks, 100 and 40 ns, by what is known of the late one.
    fn late(off_before: Option<f64>, other_mpi: Option<f64>) -> [f64; 4] {
        let waits = [100.0, 40.0].map(|ns| wait(ns, 0.0));
        let before = off_before.map(|ns| gap(0.0, preempted(ns)));
        let late = Late::new(before, other_mpi.map(Longer::OtherMpi), Some(Off::default()), &waits);
        assert_eq!((late.waiting_ns, late.repetitions), (140.0, 1));
        [late.interrupted_ns, late.in_calls.other_mpi, late.computing_ns, late.unknown_ns]
    }

    #[test]
    fn lateness_is_split_as_far_as_it_is_known() {
        assert_eq!(late(Some(0.0), Some(0.0)), [0.0, 0.0, 140.0, 0.0]);
        assert_eq!(late(Some(0.0), Some(60.0)), [0.0, 100.0, 40.0, 0.0]);
        // While it waited in other calls it may have yielded.
        assert_eq!(late(Some(60.0), Some(60.0)), [0.0, 100.0, 40.0, 0.0]);
        assert_eq!(late(Some(90.0), Some(60.0)), [60.0, 70.0, 10.0, 0.0]);
        assert_eq!(late(None, Some(60.0)), [0.0, 100.0, 0.0, 40.0]);
        // Without the time in other calls the rest may be either.
        assert_eq!(late(Some(60.0), None), [100.0, 0.0, 0.0, 0.0]);
        assert_eq!(late(None, None), [0.0, 0.0, 0.0, 140.0]);
    }

    #[test]
    fn time_off_the_processor_in_point_to_point_calls_is_told_apart() {
        let waits = [wait(100.0, 0.0)];
        let longer = Some(Longer::Timed(InCalls { point_to_point: 60.0, ..InCalls::default() }));
        let late = Late::new(Some(gap(10.0, preempted(30.0))), longer, Some(Off::default()), &waits);
        assert_eq!((late.interrupted_ns, late.in_calls.point_to_point, late.computing_ns), (30.0, 60.0, 10.0));
        assert_eq!((late.in_calls.other_mpi, late.because()), (0.0, Some(Because::PointToPoint)));
    }

    /// Both ranks are preempted for 900 of 1000 ns; one of them comes 500 ns after the other one, and computed for 100.
    #[test]
    fn a_rank_computes_for_no_longer_than_it_was_on_its_processor() {
        let both = gap(100.0, preempted(900.0));
        let waits = [Wait { other: both, ..wait(500.0, 0.0) }];
        let late = Late::new(Some(both), Some(Longer::Timed(InCalls::default())), Some(Off::default()), &waits);
        assert_eq!((late.computing_ns, late.interrupted_by), (100.0, preempted(400.0)));
        let untimed = Gap { is_timed: false, ..both };
        let late = Late::new(Some(untimed), Some(Longer::Timed(InCalls::default())), Some(Off::default()), &waits);
        assert_eq!(late.computing_ns, 500.0);
    }

    #[test]
    fn a_rank_that_left_its_call_before_later_is_late_because_of_that_call() {
        let late = |off_in_previous: Option<f64>, is_in_same_call: bool| {
            let waits = [Wait { is_in_same_call, ..wait(100.0, 70.0) }];
            let before = Some(gap(0.0, preempted(10.0)));
            let late = Late::new(before, Some(Longer::OtherMpi(0.0)), off_in_previous.map(preempted), &waits);
            assert_eq!(late.interrupted_by.sum(), late.interrupted_ns);
            [late.interrupted_ns, late.earlier_call_ns, late.computing_ns, late.unknown_ns]
        };
        assert_eq!(late(Some(0.0), true), [10.0, 70.0, 20.0, 0.0]);
        assert_eq!(late(Some(50.0), true), [60.0, 20.0, 20.0, 0.0]);
        assert_eq!(late(None, true), [10.0, 0.0, 20.0, 70.0]);
        // In a call of other ranks it waited, for one that its origin names, and yielded its processor.
        assert_eq!(late(Some(50.0), false), [10.0, 70.0, 20.0, 0.0]);
    }

    #[test]
    fn a_late_rank_was_off_its_processor_for_the_reasons_of_that_time() {
        let waits = [wait(100.0, 0.0)];
        let before = Off { preempted: 50.0, asleep: 150.0, ..Off::default() };
        let late = Late::new(Some(gap(0.0, before)), None, Some(Off::default()), &waits);
        assert_eq!(late.interrupted_by, Off { preempted: 25.0, asleep: 75.0, ..Off::default() });
        assert_eq!(late.because(), Some(Because::Asleep));
    }
}
