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
///
/// A lane without which all parts are earlier by the same time stays so through every call and exchange that loses
/// nothing to it: of such a lane one number is kept, and only where something is lost it is gone through part by part.
/// So a call takes time for the losses that it has, and not for all.
#[derive(Clone, Debug)]
pub(super) struct Shifts {
    parts: usize,
    bound: Bound,
    lanes: Vec<Lane>,
    /// The lanes of which the parts are not all alike.
    uneven: Vec<usize>,
    /// The shifts of the members when they leave a call.
    leaving: Vec<f64>,
    other: Vec<f64>,
    /// The members by their entries and by their exits.
    by_entry: Vec<usize>,
    by_exit: Vec<usize>,
}

/// The shifts of all parts without one loss.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// The shift of all parts, unless they differ.
    same: f64,
    is_uneven: bool,
    /// The shift of each part, if they differ.
    of_parts: Vec<f64>,
}

impl Lane {
    fn of_part(&self, part: usize) -> f64 {
        if self.is_uneven { self.of_parts[part] } else { self.same }
    }

    fn agrees(&self, other: &Lane) -> bool {
        self.is_uneven == other.is_uneven
            && if self.is_uneven { self.of_parts == other.of_parts } else { self.same == other.same }
    }
}

impl Shifts {
    pub fn new(parts: usize, lanes: usize) -> Shifts {
        Shifts {
            parts,
            bound: Bound::Likely,
            lanes: vec![Lane::default(); lanes],
            uneven: Vec::new(),
            leaving: Vec::new(),
            other: Vec::new(),
            by_entry: Vec::new(),
            by_exit: Vec::new(),
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
        self.lanes.iter().zip(&other.lanes).all(|(one, other)| one.agrees(other))
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
        before.iter().chain(inside).for_each(|removed| self.part_by_part(removed.lane));
        if self.uneven.is_empty() {
            return;
        }
        for removed in before {
            self.lanes[removed.lane].of_parts[calls[removed.member].part] += removed.ns;
        }
        let is_certain = self.bound == Bound::Likely || Shifts::is_certain(order, calls.len());
        if !is_certain {
            sort(calls, |call| call.enter, &mut self.by_entry);
            sort(calls, |call| call.exit, &mut self.by_exit);
        }
        let Shifts { uneven, lanes, leaving, other, bound, .. } = self;
        for &number in &*uneven {
            let lane = &mut lanes[number];
            exchange(*bound, exchanges, &mut lane.of_parts, other);
            leave(order, calls, &lane.of_parts, leaving);
            if !is_certain {
                leave_after_all(calls, [&self.by_entry, &self.by_exit], &lane.of_parts, other);
                let pick = if *bound == Bound::Least { f64::min } else { f64::max };
                leaving.iter_mut().zip(&*other).for_each(|(one, other)| *one = pick(*one, *other));
            }
            calls.iter().zip(&*leaving).for_each(|(call, &shift)| lane.of_parts[call.part] = shift);
        }
        for removed in inside {
            self.lanes[removed.lane].of_parts[calls[removed.member].part] += removed.ns;
        }
        // Behind a call of some, the others are as they were.
        if calls.len() == self.parts {
            self.join_even();
        }
    }

    /// Goes on with a lane part by part.
    fn part_by_part(&mut self, number: usize) {
        let lane = &mut self.lanes[number];
        if !std::mem::replace(&mut lane.is_uneven, true) {
            lane.of_parts.clear();
            lane.of_parts.resize(self.parts, lane.same);
            self.uneven.push(number);
        }
    }

    /// Goes on with one number for each of those lanes of which all parts are alike.
    fn join_even(&mut self) {
        let lanes = &mut self.lanes;
        self.uneven.retain(|&number| {
            let lane = &mut lanes[number];
            lane.same = lane.of_parts[0];
            lane.is_uneven = lane.of_parts.iter().any(|shift| *shift != lane.same);
            lane.is_uneven
        });
    }

    /// How much earlier the ranks end together, for each lane, of parts that end at these times.
    pub fn at_end(&self, ends: &[f64]) -> Vec<f64> {
        let end = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let gain = |lane: &Lane| match lane.is_uneven {
            true => end + (0..).zip(ends).map(|(part, end)| lane.of_part(part) - end).fold(f64::INFINITY, f64::min),
            false => lane.same,
        };
        self.lanes.iter().map(gain).collect()
    }
}

fn sort(calls: &[Taken], key: fn(&Taken) -> f64, places: &mut Vec<usize>) {
    places.clear();
    places.extend(0..calls.len());
    places.sort_by(|&one, &other| key(&calls[one]).total_cmp(&key(&calls[other])));
}

/// In the likely model a rank leaves its point-to-point calls when all that it waited for have come. The least one has
/// no waiting there, and in the most each has waited for all.
fn exchange(bound: Bound, exchanges: &Exchanges, of_parts: &mut [f64], earlier: &mut Vec<f64>) {
    if exchanges.all.is_empty() || bound == Bound::Least {
        return;
    }
    earlier.clear();
    earlier.extend_from_slice(of_parts);
    let most = if bound == Bound::Most { earlier.iter().copied().fold(0.0, f64::max) } else { 0.0 };
    for exchange in &exchanges.all {
        let (Exchange { part, arrival, ns, .. }, awaited) = (exchange, exchanges.awaited(exchange));
        if bound == Bound::Most {
            of_parts[*part] = of_parts[*part].max(most.min(earlier[*part] + ns));
        } else if !awaited.is_empty() {
            let last = awaited.iter().map(|(_, arrival)| *arrival).fold(*arrival, f64::max);
            let others = awaited.iter().map(|&(part, arrival)| arrival - earlier[part]);
            of_parts[*part] = last - others.fold(arrival - earlier[*part], f64::max);
        }
    }
}

/// The shifts at the exits of a call by the pattern.
fn leave(order: Option<Order>, calls: &[Taken], of_parts: &[f64], leaving: &mut Vec<f64>) {
    leaving.clear();
    let awaited: &[Taken] = match order {
        Some(Order::Root(root)) => &calls[root..=root],
        Some(Order::All | Order::MostlyAll | Order::AtRoot(_)) => calls,
        Some(Order::Lower) | None => &[],
    };
    let mut arrived = Arrived::default();
    awaited.iter().for_each(|call| arrived.add(call, of_parts));
    for (at, call) in calls.iter().enumerate() {
        let (waits, is_among) = match order {
            Some(Order::All | Order::MostlyAll) => (true, true),
            Some(Order::Root(root)) => (at != root, false),
            Some(Order::AtRoot(root)) => (at == root, true),
            Some(Order::Lower) => {
                arrived.add(call, of_parts);
                (true, true)
            }
            None => (false, false),
        };
        leaving.push(if waits { arrived.leave(call, is_among, of_parts) } else { of_parts[call.part] });
    }
}

/// As if each rank waited for all that entered before it left.
fn leave_after_all(calls: &[Taken], [by_entry, by_exit]: [&[usize]; 2], of_parts: &[f64], leaving: &mut Vec<f64>) {
    leaving.clear();
    leaving.resize(calls.len(), 0.0);
    let mut entering = by_entry.iter().map(|&at| &calls[at]).peekable();
    let mut arrived = Arrived::default();
    for &at in by_exit {
        while let Some(call) = entering.next_if(|other| other.enter <= calls[at].exit) {
            arrived.add(call, of_parts);
        }
        leaving[at] = arrived.leave(&calls[at], calls[at].enter <= calls[at].exit, of_parts);
    }
}

/// The ranks that have entered a call.
struct Arrived {
    /// When the last of them has.
    last: f64,
    /// The least shift less time of arrival.
    least: f64,
}

impl Default for Arrived {
    fn default() -> Arrived {
        Arrived { last: f64::NEG_INFINITY, least: f64::INFINITY }
    }
}

impl Arrived {
    fn add(&mut self, call: &Taken, of_parts: &[f64]) {
        self.last = self.last.max(call.enter);
        self.least = self.least.min(of_parts[call.part] - call.enter);
    }

    /// The shift at the exit of a call that waits for them, and may be among them; one that ended before the last one
    /// came has not waited.
    fn leave(&self, call: &Taken, is_among: bool, of_parts: &[f64]) -> f64 {
        let shift = of_parts[call.part];
        if self.last > call.exit {
            return shift;
        }
        let from = call.waits_from.max(self.last);
        // Of one among them that does nothing but wait the shift is no less than the least: all leave by the same.
        if is_among && call.waits_from == call.enter {
            return from + self.least;
        }
        (from - call.waits_from + shift).min(from + self.least)
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
        [0, 1].map(|part| shifts.lanes[0].of_part(part))
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
        // All leave with the last one: of either lane one number is left.
        assert_eq!((shifts.lanes[0].same, shifts.lanes[1].same, &shifts.uneven[..]), (20.0, 0.0, &[][..]));
        assert_eq!(shifts.at_end(&[200.0, 195.0, 190.0]), [20.0, 0.0]);
        // What one loses in the call it takes on to the next one.
        shifts.call(Some(Order::All), &calls, &Exchanges::default(), &[], &[Removed { lane: 1, member: 2, ns: 30.0 }]);
        let of_parts = [0, 1, 2].map(|part| shifts.lanes[1].of_part(part));
        assert_eq!((of_parts, &shifts.uneven[..]), ([0.0, 0.0, 30.0], &[1][..]));
        assert_eq!(shifts.at_end(&[200.0, 195.0, 290.0]), [20.0, 30.0]);
    }
}
