//! By how much each rank would be earlier without each loss, from call to call.
//!
//! A rank that leaves a call at `max(own, awaited) + c` does so, with each arrival a_j earlier by s_j, earlier by the
//! smallest `max(..) - (a_j - s_j)` of those that it waits for, since c stays as it is. So a shift is carried through a
//! call with the recorded times alone.

use crate::account::exchanges::{Exchange, Exchanges};
use crate::account::waits::Order;

/// Which of two models counts where it is not known for which ranks a call waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// The one by which less is gained.
    Least,
    /// The one that the function's pattern gives.
    Likely,
    /// The one by which more is gained.
    Most,
}

/// A member's call, global time, ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// The index of the member's part.
    pub part: usize,
    pub enter: f64,
    /// From when on it could do nothing but wait.
    pub waits_from: f64,
    pub exit: f64,
}

/// So much less time of a member of the call, ns, without the loss of a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Removed {
    pub lane: usize,
    pub member: usize,
    pub ns: f64,
}

/// For each part and each loss, a lane, how much earlier the part is without it, ns.
#[derive(Clone, Debug)]
pub(super) struct Shifts {
    lanes: usize,
    bound: Bound,
    of_parts: Vec<f64>,
    /// The shifts of the members when they leave a call.
    leaving: Vec<f64>,
    other: Vec<f64>,
    /// For each lane the least shift less time of arrival.
    least: Vec<f64>,
}

impl Shifts {
    pub fn new(parts: usize, lanes: usize) -> Shifts {
        Shifts {
            lanes,
            bound: Bound::Likely,
            of_parts: vec![0.0; parts * lanes],
            leaving: Vec::new(),
            other: Vec::new(),
            least: vec![0.0; lanes],
        }
    }

    /// The shifts so far, by another model from here on.
    pub fn bounded(&self, bound: Bound) -> Shifts {
        Shifts { bound, ..self.clone() }
    }

    /// True if a repetition with this order has no other model.
    pub fn is_certain(order: Option<Order>, members: usize) -> bool {
        members < 2 || matches!(order, Some(Order::All | Order::MostlyAll))
    }

    /// True: the same for all parts in this model and another one.
    pub fn agrees(&self, other: &Shifts) -> bool {
        self.of_parts == other.of_parts
    }

    /// Carries them through a call whose members lose this time `before` it and in it, and through what they exchanged
    /// before it.
    pub fn call(
        &mut self,
        order: Option<Order>,
        calls: &[Taken],
        exchanges: &Exchanges,
        before: &[Removed],
        inside: &[Removed],
    ) {
        let lanes = self.lanes;
        for removed in before {
            self.of_parts[calls[removed.member].part * lanes + removed.lane] += removed.ns;
        }
        self.exchange(exchanges);
        let mut leaving = std::mem::take(&mut self.leaving);
        self.leave(order, calls, &mut leaving);
        if self.bound != Bound::Likely && !Shifts::is_certain(order, calls.len()) {
            let mut other = std::mem::take(&mut self.other);
            self.leave_after_all(calls, &mut other);
            let pick = if self.bound == Bound::Least { f64::min } else { f64::max };
            leaving.iter_mut().zip(&other).for_each(|(one, other)| *one = pick(*one, *other));
            self.other = other;
        }
        inside.iter().for_each(|removed| leaving[removed.member * lanes + removed.lane] += removed.ns);
        for (call, leaving) in calls.iter().zip(leaving.chunks(lanes.max(1))) {
            self.of_parts[call.part * lanes..][..lanes].copy_from_slice(leaving);
        }
        self.leaving = leaving;
    }

    /// In the likely model a rank leaves its point-to-point calls when all that it waited for have come. The least one
    /// has no waiting there, and in the most each has waited for all.
    fn exchange(&mut self, exchanges: &Exchanges) {
        if exchanges.all.is_empty() || self.bound == Bound::Least {
            return;
        }
        let lanes = self.lanes;
        let mut earlier = std::mem::take(&mut self.other);
        earlier.clone_from(&self.of_parts);
        for exchange in &exchanges.all {
            let (Exchange { part, arrival, ns, .. }, awaited) = (exchange, exchanges.awaited(exchange));
            let last = awaited.iter().map(|(_, arrival)| *arrival).fold(*arrival, f64::max);
            for lane in 0..lanes {
                let of = |part: usize| earlier[part * lanes + lane];
                let shift = match self.bound {
                    Bound::Most => (0..earlier.len() / lanes).map(of).fold(0.0, f64::max).min(of(*part) + ns),
                    _ if awaited.is_empty() => continue,
                    _ => {
                        let earlier = awaited.iter().map(|&(part, arrival)| arrival - of(part));
                        last - earlier.fold(arrival - of(*part), f64::max)
                    }
                };
                let place = &mut self.of_parts[part * lanes + lane];
                *place = if self.bound == Bound::Most { place.max(shift) } else { shift };
            }
        }
        self.other = earlier;
    }

    /// How much earlier the ranks end together, for each lane, of parts that end at these times.
    pub fn at_end(&mut self, ends: &[f64]) -> Vec<f64> {
        self.least.fill(f64::INFINITY);
        (0..ends.len()).for_each(|part| self.arrive(part, ends[part]));
        let end = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.least.iter().map(|least| end + least).collect()
    }

    /// By the pattern.
    fn leave(&mut self, order: Option<Order>, calls: &[Taken], leaving: &mut Vec<f64>) {
        leaving.clear();
        self.least.fill(f64::INFINITY);
        let mut last = f64::NEG_INFINITY;
        let awaited: &[Taken] = match order {
            Some(Order::Root(root)) => &calls[root..=root],
            Some(Order::All | Order::MostlyAll | Order::AtRoot(_)) => calls,
            Some(Order::Lower) | None => &[],
        };
        for call in awaited {
            self.arrive(call.part, call.enter);
            last = last.max(call.enter);
        }
        for (at, call) in calls.iter().enumerate() {
            let waits = match order {
                Some(Order::All | Order::MostlyAll) => true,
                Some(Order::Root(root)) => at != root,
                Some(Order::AtRoot(root)) => at == root,
                Some(Order::Lower) => {
                    self.arrive(call.part, call.enter);
                    last = last.max(call.enter);
                    true
                }
                None => false,
            };
            self.leave_after(call, if waits { last } else { f64::INFINITY }, leaving);
        }
    }

    /// As if each rank waited for all that entered before it left.
    fn leave_after_all(&mut self, calls: &[Taken], leaving: &mut Vec<f64>) {
        let sorted = |key: fn(&Taken) -> f64| {
            let mut places: Vec<usize> = (0..calls.len()).collect();
            places.sort_by(|&one, &other| key(&calls[one]).total_cmp(&key(&calls[other])));
            places
        };
        let mut entering = sorted(|call| call.enter).into_iter().peekable();
        self.least.fill(f64::INFINITY);
        let (mut last, mut in_order) = (f64::NEG_INFINITY, Vec::with_capacity(calls.len() * self.lanes));
        let by_exit = sorted(|call| call.exit);
        for &at in &by_exit {
            while let Some(at) = entering.next_if(|&other| calls[other].enter <= calls[at].exit) {
                self.arrive(calls[at].part, calls[at].enter);
                last = calls[at].enter;
            }
            self.leave_after(&calls[at], last, &mut in_order);
        }
        leaving.clear();
        leaving.resize(in_order.len(), 0.0);
        for (&at, shifts) in by_exit.iter().zip(in_order.chunks(self.lanes.max(1))) {
            leaving[at * self.lanes..][..self.lanes].copy_from_slice(shifts);
        }
    }

    fn arrive(&mut self, part: usize, enter: f64) {
        let shifts = &self.of_parts[part * self.lanes..][..self.lanes];
        self.least.iter_mut().zip(shifts).for_each(|(least, shift)| *least = least.min(shift - enter));
    }

    /// The leaving of a call that waits for the ranks that have arrived, the last one at `last`; one that ended before
    /// that has not waited.
    fn leave_after(&self, call: &Taken, last: f64, leaving: &mut Vec<f64>) {
        let of_part = &self.of_parts[call.part * self.lanes..][..self.lanes];
        if last > call.exit {
            return leaving.extend_from_slice(of_part);
        }
        let from = call.waits_from.max(last);
        let shift = |(of_part, least): (&f64, &f64)| (from - call.waits_from + of_part).min(from + least);
        leaving.extend(of_part.iter().zip(&self.least).map(shift));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ranks that enter at 0 and 100 and leave at 110; without the loss the second one enters 70 earlier.
    fn leave(order: Option<Order>, bound: Bound) -> [f64; 2] {
        let calls = [(0, 0.0), (1, 100.0)].map(|(part, enter)| Taken { part, enter, waits_from: enter, exit: 110.0 });
        let mut shifts = Shifts::new(2, 1).bounded(bound);
        shifts.call(order, &calls, &Exchanges::default(), &[Removed { lane: 0, member: 1, ns: 70.0 }], &[]);
        [shifts.of_parts[0], shifts.of_parts[1]]
    }

    #[test]
    fn a_shift_goes_on_to_those_that_wait() {
        assert_eq!(leave(Some(Order::All), Bound::Likely), [70.0, 70.0]);
        assert_eq!(leave(Some(Order::Root(1)), Bound::Likely), [70.0, 70.0]);
        assert_eq!(leave(Some(Order::Root(0)), Bound::Likely), [0.0, 70.0]);
        assert_eq!(leave(Some(Order::AtRoot(0)), Bound::Likely), [70.0, 70.0]);
        assert_eq!(leave(None, Bound::Likely), [0.0, 70.0]);
    }

    #[test]
    fn both_models_count_where_it_is_not_known_who_waits() {
        assert_eq!(leave(None, Bound::Most), [70.0, 70.0]);
        assert_eq!(leave(None, Bound::Least), [0.0, 70.0]);
        assert_eq!(leave(Some(Order::All), Bound::Least), [70.0, 70.0]);
    }

    #[test]
    fn no_rank_is_earlier_than_the_next_one_that_is_awaited() {
        let enter = [0.0, 100.0, 80.0];
        let calls = [0, 1, 2].map(|part| Taken { part, enter: enter[part], waits_from: enter[part], exit: 110.0 });
        let mut shifts = Shifts::new(3, 2);
        let removed = [Removed { lane: 0, member: 1, ns: 70.0 }, Removed { lane: 1, member: 2, ns: 10.0 }];
        shifts.call(Some(Order::All), &calls, &Exchanges::default(), &removed, &[]);
        assert_eq!(shifts.of_parts, [20.0, 0.0, 20.0, 0.0, 20.0, 0.0]);
        assert_eq!(shifts.at_end(&[200.0, 195.0, 190.0]), [20.0, 0.0]);
    }
}
