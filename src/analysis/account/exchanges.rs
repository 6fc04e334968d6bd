//! Point-to-point calls between collective ones: how long each rank was in them is known, and with which ranks over the
//! whole run. A rank that comes to a call late because of them has waited for one that came to them later.

use std::collections::HashMap;
use std::ops::Range;

use mpitrace_trace::reader::Trace;

use super::PartnerAccount;
use super::walk::{Step, Walk};
use crate::reasons::{Gap, Off};

/// More calls with each partner between two of these, in the mean, are several exchanges one after the other.
const ONE_EXCHANGE: f64 = 1.5;
/// A chain of ranks that wait for each other between two calls is followed over so many of them, ...
const HOPS: usize = 8;
/// ... until one came that late that this share of a rank's time in point-to-point calls is waiting for it.
const EXPLAINED: f64 = 0.5;

/// The point-to-point calls of a part before a call.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub part: usize,
    /// When it would have come to the call without them, global time, ns.
    pub arrival: f64,
    /// How long it was in them, ns.
    pub ns: f64,
    /// In [`Exchanges::awaited`].
    awaited: Range<usize>,
}

/// The exchanges of the members of a repetition.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    pub all: Vec<Exchange>,
    /// Time of the whole run before calls in which those that send to the rank have no part, ns.
    pub elsewhere_ns: f64,
    awaited: Vec<(usize, f64)>,
    /// For each part those that send it messages.
    senders: Vec<Vec<usize>>,
    /// For each part its time in point-to-point calls, ns, and outside of them, before calls of it alone.
    pending: Vec<(f64, Gap)>,
    /// For each part its time in point-to-point calls, ns, and outside of them, before all its calls so far.
    seen: Vec<(f64, Gap)>,
    /// For each part its time outside of calls before this call.
    gaps: Vec<Gap>,
    /// False: there is no such time of any part.
    is_any: bool,
    /// For each part when it would have come to this call without them, ns.
    arrivals: Vec<f64>,
    /// Parts that messages may have come from, and for each part whether it is one.
    reached: Vec<usize>,
    is_reached: Vec<bool>,
    /// `None`: also what lies before a call of a part of those that exchange messages is looked at there.
    components: Option<Components>,
}

/// The connected components of the parts, of which two are connected if they exchange messages.
#[derive(Debug)]
struct Components {
    /// For each part its component.
    of_part: Vec<usize>,
    /// For each component how many parts it has, and how many of them take part in the call.
    sizes: Vec<usize>,
    present: Vec<usize>,
}

impl Components {
    fn new(senders: &[Vec<usize>]) -> Components {
        let mut first: Vec<usize> = (0..senders.len()).collect();
        fn root(first: &mut [usize], mut part: usize) -> usize {
            while first[part] != part {
                first[part] = first[first[part]];
                part = first[part];
            }
            part
        }
        for (part, others) in senders.iter().enumerate() {
            for &other in others {
                let [one, other] = [part, other].map(|part| root(&mut first, part));
                first[one.max(other)] = one.min(other);
            }
        }
        let of_part: Vec<usize> = (0..senders.len()).map(|part| root(&mut first, part)).collect();
        let mut sizes = vec![0; senders.len()];
        of_part.iter().for_each(|&component| sizes[component] += 1);
        Components { of_part, sizes, present: vec![0; senders.len()] }
    }

    /// Looks at which parts take part in a call.
    fn look(&mut self, parts: impl Iterator<Item = usize> + Clone) {
        parts.clone().for_each(|part| self.present[self.of_part[part]] = 0);
        parts.for_each(|part| self.present[self.of_part[part]] += 1);
    }

    /// True: all of the component of a part take part in the call.
    fn is_whole(&self, part: usize) -> bool {
        let component = self.of_part[part];
        self.present[component] == self.sizes[component]
    }
}

impl Exchanges {
    /// Looks at exchanges where all take part that exchange messages with each other. What lies before a call of a part
    /// of them counts before the next call of all.
    pub fn of_all(trace: &Trace, partners: &[PartnerAccount]) -> Exchanges {
        let exchanges = Exchanges::new(trace, partners);
        Exchanges { components: Some(Components::new(&exchanges.senders)), ..exchanges }
    }

    pub fn new(trace: &Trace, partners: &[PartnerAccount]) -> Exchanges {
        let parts = trace.parts.len();
        Exchanges {
            senders: senders(trace, partners),
            pending: vec![Default::default(); parts],
            seen: vec![Default::default(); parts],
            gaps: vec![Gap::default(); parts],
            arrivals: vec![f64::NEG_INFINITY; parts],
            is_reached: vec![false; parts],
            ..Exchanges::default()
        }
    }

    /// The parts that one waited for, with their own arrivals; none: no one was late enough.
    pub fn awaited(&self, exchange: &Exchange) -> &[(usize, f64)] {
        &self.awaited[exchange.awaited.clone()]
    }

    /// The exchange of a part.
    pub fn of_part(&self, part: usize) -> Option<&Exchange> {
        self.all.iter().find(|exchange| exchange.part == part)
    }

    /// The part for which one waited longest, and how long, ns.
    pub fn last(&self, exchange: &Exchange) -> Option<(usize, f64)> {
        let &(part, arrival) = self.awaited(exchange).iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
        Some((part, (arrival - exchange.arrival).min(exchange.ns))).filter(|(_, ns)| *ns > 0.0)
    }

    /// A part's time outside of calls before this call.
    pub fn gap(&self, part: usize) -> Gap {
        self.gaps[part]
    }

    /// Looks at a repetition. What lies before a call of a single rank counts before its next one.
    pub fn look(&mut self, walk: &Walk, step: &Step) {
        if step.is_plain() && !self.is_any {
            self.all.clear();
            self.awaited.clear();
            return;
        }
        for (at, member) in walk.members.iter().enumerate() {
            let ns = member.point_to_point_before(step.record(at)).unwrap_or(0.0);
            let gap = step.gap_before(at).unwrap_or_default();
            for sum in [&mut self.pending[member.index], &mut self.seen[member.index]] {
                sum.0 += ns;
                sum.1 += gap;
            }
        }
        let calls = walk.members.iter().enumerate().map(|(at, member)| (member.index, step.call(at).enter));
        self.meet(calls.filter(|_| walk.members.len() > 1));
        // Behind a call of some parts others may have such time.
        let is_any = |(of_part, gap): (&(f64, Gap), &Gap)| *of_part != Default::default() || *gap != Gap::default();
        self.is_any = walk.members.len() < self.gaps.len() || self.pending.iter().zip(&self.gaps).any(is_any);
    }

    /// Looks at the end, at which all parts meet: the rest of these times of each part lies before it.
    pub fn end(&mut self, all: impl Iterator<Item = (f64, Off)>, ends: &[f64]) {
        for ((pending, seen), (ns, off)) in self.pending.iter_mut().zip(&self.seen).zip(all) {
            pending.0 += (ns - seen.0).max(0.0);
            pending.1.off += off.without(seen.1.off);
        }
        self.meet(ends.iter().copied().enumerate());
    }

    /// These parts enter a call at these times.
    fn meet(&mut self, calls: impl Iterator<Item = (usize, f64)> + Clone) {
        self.all.clear();
        self.awaited.clear();
        if let Some(components) = &mut self.components {
            components.look(calls.clone().map(|(part, _)| part));
        }
        let components = self.components.as_ref();
        let is_whole = |part| components.is_none_or(|components| components.is_whole(part));
        for (part, enter) in calls.clone().filter(|(part, _)| is_whole(*part)) {
            let (ns, gap) = std::mem::take(&mut self.pending[part]);
            (self.gaps[part], self.arrivals[part]) = (gap, enter - ns);
            if ns > 0.0 {
                self.all.push(Exchange { part, arrival: enter - ns, ns, awaited: 0..0 });
            }
        }
        let mut all = std::mem::take(&mut self.all);
        for exchange in &mut all {
            exchange.awaited = self.find_awaited(exchange);
            let is_elsewhere = |part: &usize| self.arrivals[*part] == f64::NEG_INFINITY;
            if exchange.awaited.is_empty() && self.senders[exchange.part].iter().any(is_elsewhere) {
                self.elsewhere_ns += exchange.ns;
            }
        }
        self.all = all;
        calls.for_each(|(part, _)| self.arrivals[part] = f64::NEG_INFINITY);
    }

    /// Several messages may lie between two calls: a rank waits for one that waits for another one.
    fn find_awaited(&mut self, exchange: &Exchange) -> Range<usize> {
        self.reached.clear();
        self.reached.push(exchange.part);
        self.is_reached[exchange.part] = true;
        let (mut begin, first) = (0, self.awaited.len());
        for _ in 0..HOPS {
            let end = self.reached.len();
            for at in begin..end {
                for &part in &self.senders[self.reached[at]] {
                    if !std::mem::replace(&mut self.is_reached[part], true) {
                        self.reached.push(part);
                    }
                }
            }
            begin = end;
            let arrivals = self.reached[1..].iter().map(|&part| (part, self.arrivals[part]));
            let last = arrivals.clone().map(|(_, arrival)| arrival).fold(f64::NEG_INFINITY, f64::max);
            if last >= exchange.arrival + EXPLAINED * exchange.ns {
                self.awaited.extend(arrivals);
                break;
            }
            if self.reached.len() == end {
                break;
            }
        }
        self.reached.iter().for_each(|&part| self.is_reached[part] = false);
        first..self.awaited.len()
    }
}

/// For each part those that send it messages, or that it waits for.
fn senders(trace: &Trace, partners: &[PartnerAccount]) -> Vec<Vec<usize>> {
    let part_of: HashMap<u32, usize> = trace.parts.iter().enumerate().map(|(at, part)| (part.rank(), at)).collect();
    let mut senders = vec![Vec::new(); trace.parts.len()];
    for entry in partners {
        let Some((own, other)) = part_of.get(&entry.rank).zip(entry.partner.and_then(|rank| part_of.get(&rank))) else {
            continue;
        };
        if entry.calls > 0 {
            senders[*own].push(*other);
        }
        if entry.messages > 0 {
            senders[*other].push(*own);
        }
    }
    for (part, of_part) in senders.iter_mut().enumerate() {
        of_part.sort_unstable();
        of_part.dedup();
        of_part.retain(|other| *other != part);
    }
    senders
}

/// True: a rank has several exchanges of messages, one after the other, between two of so many calls.
pub(crate) fn are_several(partners: &[PartnerAccount], calls: usize) -> bool {
    let mut exchanged: HashMap<u32, (u64, u64)> = HashMap::new();
    for entry in partners.iter().filter(|entry| entry.partner.is_some() && entry.calls > 0) {
        let (calls, partners) = exchanged.entry(entry.rank).or_default();
        (*calls, *partners) = (*calls + entry.calls, *partners + 1);
    }
    let of_one = |partners: u64| ONE_EXCHANGE * (partners * calls as u64) as f64;
    exchanged.values().any(|&(calls, partners)| calls as f64 > of_one(partners))
}
