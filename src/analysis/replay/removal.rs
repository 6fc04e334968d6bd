//! How much of a repetition is due to a loss: what a rank would not do without it, before the call and in it.

use std::collections::BTreeSet;

use super::shifts::{Removed, Taken};
use crate::account::exchanges::{Exchange, Exchanges};
use crate::account::waits::Order;
use crate::account::walk::{Step, Walk};
use crate::account::{Because, Loss, LossKind, OperationAccount};

#[derive(Clone, Copy)]
pub(super) struct Repetition<'r, 'a> {
    pub walk: &'r Walk<'a>,
    pub step: &'r Step<'a>,
    pub calls: &'r [Taken],
    pub account: &'r OperationAccount,
    /// Its place among the complete ones.
    pub place: usize,
    /// When each part left its call before.
    pub left: &'r [[f64; 2]],
    /// The point-to-point calls of its members before it.
    pub exchanges: &'r Exchanges,
}

/// The times that are removed of the calls of an operation, for all its losses. What is common to several of them is
/// looked at once a repetition; what needs more than a plain one has is looked at where a repetition has more.
#[derive(Default)]
pub(super) struct Removals {
    /// The losses of members that are late for a reason on the processor, by member.
    late: Vec<LateMember>,
    /// Losses by time off the processor.
    off: Vec<Removal>,
    /// Losses by slow repetitions.
    slow: Vec<Removal>,
    /// Losses by the tracer.
    disturbed: Vec<Removal>,
    others: Vec<Removal>,
}

/// A member that is late.
struct LateMember {
    member: usize,
    noise: Noise,
    /// In so many repetitions it was not late.
    in_time: f64,
    of_reasons: Vec<Removal>,
}

/// The time that is removed of the calls of an operation for one loss.
struct Removal {
    lane: usize,
    kind: LossKind,
    because: Option<Because>,
    /// The member that the loss is of; `None`: all.
    member: Option<usize>,
    /// The member that it was in most of its point-to-point calls with.
    partner: Option<usize>,
    /// The loss is between the calls of all operations.
    is_outside: bool,
    /// The members that a loss of all is not of.
    except: BTreeSet<usize>,
    noise: Noise,
    usual: Usual,
}

/// How the time of a rank before its calls varies from repetition to repetition.
#[derive(Default)]
struct Noise {
    /// Its time in the repetition before, and how much it changes, in the mean of so many.
    before: Option<f64>,
    change: f64,
    changes: f64,
}

/// How long a rank usually is late. It is late by a delay and by noise, and the noise would be left without the delay.
/// The noise is taken to be that of another rank.
#[derive(Default)]
struct Usual {
    sum: f64,
    squares: f64,
    /// In so many repetitions it was late by no more than noise can make it, and in so many it was not late.
    small: f64,
    in_time: f64,
    /// The repetitions near the typical lateness, their mean, and the squares of the differences from it.
    near: f64,
    mean: f64,
    differences: f64,
    /// By how much the delays near it were taken as shorter than the ranks were late, in all. Noise is not late in the
    /// mean: what a delay that grows has above the mean so far is given back over the repetitions that follow.
    owed: f64,
}

/// The standard deviation of normal values, of the mean difference of two of them: sqrt(pi) / 2.
const OF_CHANGE: f64 = 0.886;

/// The number of repetitions over which the owed time is given back.
const GIVEN_BACK: f64 = 8.0;

impl Noise {
    /// The rank took so long before the call.
    fn look(&mut self, took: f64) {
        if let Some(before) = self.before.replace(took) {
            // A rare long one is no noise.
            let change = (took - before).abs().min(if self.changes > 0.0 { 4.0 * self.change } else { f64::INFINITY });
            self.changes += 1.0;
            self.change += (change - self.change) / self.changes;
        }
    }

    /// The standard deviation of its difference to the mean of so many others.
    fn against(&self, others: f64) -> f64 {
        OF_CHANGE * self.change * (1.0 + 1.0 / others).sqrt()
    }
}

impl Usual {
    /// The delay of a rank that is late by `late` against the mean of so many others, where this is noise. `in_time`:
    /// so often it was not late for any reason.
    fn delay(&mut self, late: f64, others: f64, noise: f64, in_time: f64) -> f64 {
        if late <= 0.0 {
            self.in_time += 1.0;
            return 0.0;
        }
        (self.sum, self.squares) = (self.sum + late, self.squares + late * late);
        // The mean over the time that is lost, not over the repetitions: of rare delays there is noise in most.
        let typical = self.squares / self.sum;
        if late < 0.5 * typical && late < 2.0 * noise {
            self.small += 1.0;
            // By noise alone each of the ranks is the last one as often. Beyond that it is late by a delay.
            let by_noise = (self.in_time + in_time) / others;
            return late * (1.0 - by_noise / self.small).max(0.0);
        }
        if !(0.5 * typical..=2.0 * typical).contains(&late) {
            return late;
        }
        self.near += 1.0;
        let difference = late - self.mean;
        self.mean += difference / self.near;
        self.differences += difference * (late - self.mean);
        let variance = self.differences / self.near;
        let of_delay = if variance > 0.0 { (1.0 - noise * noise / variance).max(0.0) } else { 0.0 };
        let back = self.owed / GIVEN_BACK;
        let delay = (self.mean + of_delay * (late - self.mean) + back).max(0.0);
        self.owed += late - delay;
        delay
    }
}

impl Removals {
    /// The times that are removed for losses, each with the number of its lane.
    pub fn new<'l>(
        losses: impl Iterator<Item = (usize, &'l Loss)>,
        walk: &Walk,
        rank_of: impl Fn(usize) -> u32,
    ) -> Removals {
        let mut removals = Removals::default();
        for removal in losses.filter_map(|(lane, loss)| Removal::new(lane, loss, walk, &rank_of)) {
            let is_off = removal.because.is_some_and(Because::is_off);
            match (removal.kind, removal.member) {
                (LossKind::LateRank, Some(member)) if !is_off => {
                    let known = removals.late.iter().position(|late| late.member == member);
                    let at = known.unwrap_or_else(|| {
                        let late = LateMember { member, noise: Noise::default(), in_time: 0.0, of_reasons: Vec::new() };
                        removals.late.push(late);
                        removals.late.len() - 1
                    });
                    removals.late[at].of_reasons.push(removal);
                }
                (LossKind::LateRank, Some(_)) | (LossKind::Interrupted, _) => removals.off.push(removal),
                (LossKind::Warmup | LossKind::Outliers, _) => removals.slow.push(removal),
                (LossKind::Tracer, _) => removals.disturbed.push(removal),
                _ => removals.others.push(removal),
            }
        }
        removals
    }

    /// The times that are removed before the call and inside of it.
    pub fn of_repetition(&mut self, repetition: &Repetition, before: &mut Vec<Removed>, inside: &mut Vec<Removed>) {
        let Repetition { walk, step, calls, account, place, left, .. } = *repetition;
        for LateMember { member, noise, in_time, of_reasons } in &mut self.late {
            let other = &calls[(*member + 1) % calls.len()];
            noise.look(other.enter - left[other.part][0]);
            let Some((_, late)) = step.late.iter().find(|(at, _)| at == member) else {
                *in_time += 1.0;
                continue;
            };
            let waiting = waiting(walk, *member);
            let noise = noise.against(waiting);
            for removal in of_reasons {
                let late_ns = late.due_to(removal.because) / waiting;
                let ns = removal.usual.delay(late_ns, waiting, noise, *in_time);
                removal.remove_late(repetition, *member, ns, before);
            }
        }
        let are_asked = [
            (&mut self.off, !step.is_plain()),
            (&mut self.slow, account.slow.contains(place)),
            (&mut self.disturbed, (0..calls.len()).any(|at| step.is_disturbed(at))),
            (&mut self.others, true),
        ];
        for (removals, _) in are_asked.into_iter().filter(|(_, is_asked)| *is_asked) {
            removals.iter_mut().for_each(|removal| removal.of_repetition(repetition, before, inside));
        }
    }
}

impl Removal {
    /// `None`: the rank or its partner takes no part.
    fn new(lane: usize, loss: &Loss, walk: &Walk, rank_of: impl Fn(usize) -> u32) -> Option<Removal> {
        let place = |rank: u32| walk.members.iter().position(|member| rank_of(member.index) == rank);
        let [member, partner] = [loss.rank, loss.partner].map(|rank| rank.map(place));
        if member == Some(None) || partner == Some(None) {
            return None;
        }
        Some(Removal {
            lane,
            kind: loss.kind,
            because: loss.because,
            member: member.flatten(),
            partner: partner.flatten(),
            is_outside: loss.operation.is_none(),
            except: loss.except.iter().filter_map(|&rank| place(rank)).collect(),
            noise: Noise::default(),
            usual: Usual::default(),
        })
    }

    /// A member's time off the processor before its call for the reason of the loss, ns.
    fn off_before(&self, step: &Step, member: usize) -> f64 {
        let off = step.gap_before(member).map(|gap| gap.off).zip(self.because);
        off.map_or(0.0, |(off, because)| off.due_to(because))
    }

    /// Removes the time before the call of a member by which that is late for this reason.
    fn remove_late(&self, repetition: &Repetition, member: usize, ns: f64, before: &mut Vec<Removed>) {
        if ns <= 0.0 {
            return;
        }
        let Repetition { calls, exchanges, .. } = *repetition;
        // What made it late there is the one that it waited for.
        let exchange = exchanges.of_part(calls[member].part);
        let exchange = exchange.filter(|_| self.because == Some(Because::PointToPoint));
        let awaited = exchange.map_or(&[][..], |exchange| exchanges.awaited(exchange));
        let last = awaited.iter().max_by(|one, other| one.1.total_cmp(&other.1));
        let last = last.and_then(|(part, _)| calls.iter().position(|call| call.part == *part));
        before.push(Removed { lane: self.lane, member: last.unwrap_or(member), ns });
    }

    /// The times that are removed before the call and inside of it.
    fn of_repetition(&mut self, repetition: &Repetition, before: &mut Vec<Removed>, inside: &mut Vec<Removed>) {
        let Repetition { step, calls, account, place, left, exchanges, .. } = *repetition;
        let lane = self.lane;
        let removed = |member, ns| Removed { lane, member, ns };
        let beyond = |at: usize| (step.parts[at].communication - f64::from(account.usual[at])).max(0.0);
        match (self.kind, self.member) {
            (LossKind::LateRank, Some(member)) => {
                let Some(because) = self.because else { return };
                let ns = off_beyond_others(step, calls.len(), member, because);
                self.remove_late(repetition, member, ns, before);
            }
            (LossKind::LateRank, None) => {
                let mean = calls.iter().map(|call| call.enter).sum::<f64>() / calls.len() as f64;
                let late = step.late.iter().map(|&(at, _)| (at, calls[at].enter - mean));
                before.extend(late.filter(|(_, ns)| *ns > 0.0).map(|(at, ns)| removed(at, ns)));
            }
            (LossKind::PointToPoint, _) => {
                let Some(partner) = self.partner else { return };
                let late = calls[partner].part;
                let arrival = |at: usize| {
                    let exchange = exchanges.of_part(calls[at].part);
                    exchange.map_or(calls[at].enter, |exchange| exchange.arrival)
                };
                let waits = |exchange: &&Exchange| exchanges.last(exchange).is_some_and(|(part, _)| part == late);
                let waiting = exchanges.all.iter().find(waits).map(|exchange| exchange.part);
                let waiting = waiting.and_then(|part| calls.iter().position(|call| call.part == part));
                let other = self.member.or(waiting).unwrap_or((partner + 1) % calls.len());
                let arrived = arrival(other);
                self.noise.look(arrived - left[calls[other].part][0]);
                let off = exchanges.gap(late).off;
                let ns = match self.because {
                    Some(because) if because.is_off() => off.due_to(because),
                    _ => self.usual.delay(arrival(partner) - arrived - off.sum(), 1.0, self.noise.against(1.0), 0.0),
                };
                before.extend((ns > 0.0).then(|| removed(partner, ns)));
            }
            (LossKind::Interrupted, Some(member)) if self.is_outside => {
                let ns = self.off_before(step, member);
                before.extend((ns > 0.0).then(|| removed(member, ns)));
            }
            (LossKind::Interrupted, None) if self.is_outside => {
                let members = (0..calls.len()).filter(|member| !self.except.contains(member));
                let off = members.map(|member| removed(member, self.off_before(step, member)));
                before.extend(off.filter(|removed| removed.ns > 0.0));
            }
            (LossKind::Interrupted, Some(member)) => {
                let Some(because) = self.because else { return };
                let off = step.parts[member].interrupted_by.due_to(because);
                if off > 0.0 {
                    // The others communicate for longer while they need what it brings in.
                    let of = |at: usize| if at == member { off } else { off.min(beyond(at)) };
                    inside.extend((0..calls.len()).map(|at| removed(at, of(at))));
                }
            }
            (LossKind::Warmup | LossKind::Outliers, _) => {
                let is_warmup = place < account.slow.warmup;
                if account.slow.contains(place) && is_warmup == (self.kind == LossKind::Warmup) {
                    let members = (0..calls.len()).filter(|&at| !step.is_disturbed(at));
                    inside.extend(members.map(|at| removed(at, beyond(at))));
                }
            }
            (LossKind::Tracer, _) => {
                inside.extend((0..calls.len()).filter(|&at| step.is_disturbed(at)).map(|at| removed(at, beyond(at))));
            }
            (LossKind::Interrupted, None) | (LossKind::OneSided | LossKind::Hung, _) => {}
            // Views of time that other losses have.
            (LossKind::ManySmall | LossKind::UnequalAmounts | LossKind::Serial | LossKind::Pipeline, _) => {}
        }
    }
}

/// A member's time off the processor before its call for this reason, beyond that of another one, ns: while all are
/// preempted alike, none is late because of that.
fn off_beyond_others(step: &Step, members: usize, member: usize, because: Because) -> f64 {
    let Some(own) = step.gap_before(member) else { return 0.0 };
    let others = (0..members).filter(|&other| other != member);
    let beyond = |other: usize| own.off_beyond(step.gap_before(other).unwrap_or_default()).due_to(because);
    others.map(beyond).fold(0.0, f64::max)
}

/// How many ranks can wait for a member.
fn waiting(walk: &Walk, member: usize) -> f64 {
    let others = walk.members.len() - 1;
    let waiting = match walk.order {
        Some(Order::AtRoot(_)) => 1,
        Some(Order::Lower) => others - member,
        _ => others,
    };
    waiting.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::{Noise, Usual};

    #[test]
    fn the_noise_of_a_steady_delay_is_left() {
        let (mut usual, mut other) = (Usual::default(), Noise::default());
        let noise = |k: u32| f64::from(k * 8 % 21) - 10.0;
        let delay = |k: u32| {
            other.look(1000.0 + noise(k));
            usual.delay(100.0 + noise(k + 3), 100.0, other.against(100.0), 0.0)
        };
        let delays: Vec<f64> = (0..1000).map(delay).collect();
        assert!(delays[200..].iter().all(|delay| (delay - 100.0).abs() < 3.0), "{:?}", &delays[990..]);
    }

    #[test]
    fn delays_that_differ_by_more_than_the_noise_are_removed_as_they_are() {
        let (mut usual, mut other) = (Usual::default(), Noise::default());
        let delay = |k: u32| if k % 10 == 9 { 800.0 + f64::from(k % 50) * 8.0 } else { f64::from(k % 3) };
        for k in 0..1000 {
            other.look(5000.0 + f64::from(k % 3));
            let found = usual.delay(delay(k), 1.0, other.against(1.0), 0.0);
            assert!(k < 100 || (found - delay(k)).abs() < 4.0, "{found} for {}", delay(k));
        }
    }
}
