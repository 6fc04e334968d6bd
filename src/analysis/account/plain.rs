//! Repetitions of which nothing is recorded but the times of the calls: no interruption, no request, no time in other
//! calls. Their lateness follows from entries and exits alone. In a loop of collective calls nearly all are such.

use mpitrace_format::layout::{INTERRUPTED, INTERRUPTED_BEFORE, OPERATION_MASK};
use mpitrace_trace::operations::Operation;

use super::late::Late;
use super::member::{Member, Records};

/// The flags of an operation behind which more is recorded.
pub(super) const EVENTS: u32 = INTERRUPTED | INTERRUPTED_BEFORE;

/// Facts about an operation of which no call has more than its times: the same for all its members.
#[derive(Debug)]
pub(super) struct Plain {
    /// Interruptions are known: there was none.
    pub is_watched: bool,
    /// Time in other calls is known: there was none.
    is_stamped: bool,
    /// For each member the number of the operation in its part, where it is known which calls of that belong together.
    identified: Vec<u32>,
}

/// Lateness of such a call, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PlainLate {
    pub waiting: f64,
    /// For which the rank left its call before later.
    pub earlier: f64,
    /// For which it was longer since then.
    pub since: f64,
    pub repetitions: usize,
}

impl PlainLate {
    /// Waiting of this length, for a rank that left its call before later by so much.
    pub fn add_wait(&mut self, ns: f64, left_later_ns: f64) {
        let earlier = left_later_ns.clamp(0.0, ns);
        self.waiting += ns;
        self.earlier += earlier;
        self.since += ns - earlier;
    }

    pub fn add(&mut self, other: &PlainLate) {
        self.waiting += other.waiting;
        self.earlier += other.earlier;
        self.since += other.since;
        self.repetitions += other.repetitions;
    }
}

/// A rank that is late, and one that waits for it, both by their places among the members.
pub(super) struct PlainPair<'p, 'a> {
    pub operation: &'p Operation,
    pub members: &'p [Member<'a>],
    pub plain: &'p Plain,
    pub places: [usize; 2],
    pub readers: [usize; 2],
    /// A smaller difference of the times of the two is none, ns.
    pub error_ns: f64,
}

impl Plain {
    /// Of members with these operations of theirs. `None`: more may be recorded of a call of some member, or not the
    /// same of all.
    pub fn of_members(members: &[Member], operations: &[u32]) -> Option<Plain> {
        let mut known = members.iter().map(Member::plain);
        let (is_watched, is_stamped) = known.next()??;
        if known.any(|other| other != Some((is_watched, is_stamped))) {
            return None;
        }
        let mut keys = members.iter().zip(operations).map(|(member, &operation)| member.communicator_key(operation));
        let first = keys.next().flatten().filter(|key| keys.all(|other| other == Some(*key)));
        let number = |operation: &u32| operation & OPERATION_MASK;
        let identified = first.map_or_else(Vec::new, |_| operations.iter().map(number).collect());
        Some(Plain { is_watched, is_stamped, identified })
    }

    /// The lateness, with what is known of its reasons.
    pub fn late(&self, late: PlainLate) -> Late {
        let PlainLate { waiting, earlier, since, .. } = late;
        let known = Late { waiting_ns: waiting, repetitions: 1, ..Late::default() };
        match (self.is_watched, self.is_stamped) {
            (false, _) => Late { unknown_ns: earlier + since, ..known },
            (true, true) => Late { earlier_call_ns: earlier, computing_ns: since, ..known },
            (true, false) => Late { earlier_call_ns: earlier, on_processor_ns: since, ..known },
        }
    }
}

impl PlainPair<'_, '_> {
    fn member(&self, of: usize) -> &Member<'_> {
        &self.members[self.places[of]]
    }

    /// The time by which the late one is later, ns; 0 where this is not above the error of the two clocks.
    fn later(&self, late: f64, waiting: f64) -> f64 {
        let later = late - waiting;
        if later > self.error_ns { later } else { 0.0 }
    }

    /// By how much it left its call before these later than the other one left its own, ns. `None`: more is recorded
    /// of that call.
    pub fn left_later(&self, records: [u32; 2], read: &mut [Records]) -> Option<f64> {
        let [late, waiting] = records;
        if late == 0 || waiting == 0 {
            return Some(0.0);
        }
        if read[self.readers[0]].operation(late - 1) & INTERRUPTED != 0 {
            return None;
        }
        let mut left = [0.0; 2];
        for (of, record) in [late, waiting].into_iter().enumerate() {
            let read = &mut read[self.readers[of]];
            let (exit, enter) = (read.times(record - 1).1, read.times(record).0);
            if exit == 0 || exit > enter {
                return Some(0.0);
            }
            left[of] = self.member(of).nanoseconds(exit);
        }
        Some(self.later(left[0], left[1]))
    }

    /// The part of the time by which it left that call later that is due to its coming later, and why it came later.
    /// `row`: where these records are a row of the operation. `None`: more is recorded of a call before.
    pub fn carried(
        &self,
        records: [u32; 2],
        row: Option<usize>,
        left_later_ns: f64,
        hops: usize,
        read: &mut [Records],
    ) -> Option<(f64, PlainLate)> {
        let nothing = Some((0.0, PlainLate::default()));
        if left_later_ns <= 0.0 || hops == 0 || records.contains(&0) {
            return nothing;
        }
        let previous = records.map(|record| record - 1);
        let operations = [0, 1].map(|of| read[self.readers[of]].operation(previous[of]));
        if (operations[0] | operations[1]) & EVENTS != 0 {
            return None;
        }
        let before = row.and_then(|row| row.checked_sub(1)).filter(|&row| self.is_row(previous, row));
        if before.is_none() || !self.are_identified(operations) {
            let place = |of: usize| self.member(of).place_of_call_with(previous[of], operations[of]);
            if place(0).is_none_or(|late| Some(late) != place(1)) {
                return nothing;
            }
        }
        let entered = [0, 1].map(|of| self.member(of).nanoseconds(read[self.readers[of]].times(previous[of]).0));
        let carried_ns = self.later(entered[0], entered[1]).min(left_later_ns);
        if carried_ns <= 0.0 {
            return nothing;
        }
        let left_later_ns = self.left_later(previous, read)?.min(carried_ns);
        let (further_ns, further) = self.carried(previous, before, left_later_ns, hops - 1, read)?;
        let mut late = PlainLate { repetitions: 1, ..PlainLate::default() };
        late.add_wait(carried_ns - further_ns, left_later_ns - further_ns);
        late.add(&further);
        Some((carried_ns, late))
    }

    /// True if the calls with these records are that row of the operation.
    fn is_row(&self, records: [u32; 2], row: usize) -> bool {
        let row = self.operation.records(row);
        (0..2).all(|of| row.get(self.member(of).place) == records[of])
    }

    /// True if a row of these operations is one call.
    fn are_identified(&self, operations: [u32; 2]) -> bool {
        let known = |of: usize| self.plain.identified.get(self.places[of]);
        (0..2).all(|of| known(of) == Some(&(operations[of] & OPERATION_MASK)))
    }
}
