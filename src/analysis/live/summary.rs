//! The state of a job on one or more nodes at one moment, in few bytes: ranks at the same place together.
//!
//! A node makes one of its own look ([`super::Observer`]), and one that passes on those of others adds them up. What the
//! verdict needs is exact; times are rounded in large jobs, so that they are equal. Of the calls of ranks on different
//! nodes some are compared ([`super::calls`]).

use std::collections::{BTreeMap, HashMap, HashSet};

use mpitrace_format::layout::{communicator_flags as flags, partner};
use serde::{Deserialize, Serialize};

use super::calls::{self, Position, Sums, Table};
use super::look::Look;
use super::place;
use super::ranks::Ranks;
use super::snapshot::{CommunicatorNow, Partner, RankNow, Snapshot};
use super::stragglers::Waits;
use crate::operations::{DESCRIBED, Mismatch, Origin};
use crate::partners::{Member, Partners};

/// In jobs of more ranks times are rounded.
const EXACT: u32 = 1 << 9;
/// Ranks whose messages are counted for others at most.
const SENDERS: usize = 1 << 10;
/// Its messages are counted for others if a rank has not moved for so long, s.
const STANDS_S: f64 = 1.0;

/// The ranks of one or more nodes.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Summary {
    /// How many nodes it is of, without those on which the job has ended.
    pub nodes: usize,
    /// The size of MPI_COMM_WORLD; `None`: no rank has left `MPI_Init`, and no launcher has set it.
    pub world_size: Option<u32>,
    /// A process of the job is known to live.
    pub lives: bool,
    /// The processes that have not left `MPI_Init`.
    pub starting: usize,
    /// Those of them whose ranks are not known.
    pub unplaced: usize,
    /// Files that cannot be read, and why.
    pub unreadable: Vec<String>,
    /// There are earlier calls of some rank that were not looked at.
    pub is_partial: bool,
    /// All of its ranks.
    known: Ranks,
    /// Ranks at the same place together.
    ranks: Vec<(Ranks, RankNow)>,
    communicators: Vec<Communicator>,
    /// Their numbers by their keys; those of one that was read are not in it yet.
    #[serde(skip)]
    numbers: HashMap<[u64; 2], usize>,
    /// The calls on them.
    called: Table,
    sums: Sums,
    pub(super) waits: Waits,
    /// The messages of ranks that have not moved, to those of other nodes.
    sent: BTreeMap<u32, Vec<Sent>>,
}

/// A communicator with the ranks that are known.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Communicator {
    /// The same on all nodes and that of no other one.
    key: [u64; 2],
    origin: Origin,
    /// The lowest world rank, and the order in which that rank made it.
    first: (u32, usize),
    size: u32,
    /// How many calls ranks have begun on it.
    members: Vec<(u64, Ranks)>,
    /// The world ranks of its members, where those are others; not of one that is on one node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    places: Vec<Places>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    positions: BTreeMap<u64, Position>,
    /// Mismatches beside those that [`Communicator::positions`] has.
    more_mismatches: u64,
}

/// Ranks that follow each other in a communicator, and are equally far apart in the world.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Places {
    first: Member,
    world: u32,
    count: u32,
    stride: u32,
}

/// As many messages a rank has sent another one.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Sent {
    communicator: usize,
    to: Member,
    messages: u64,
}

/// The ranks of a job, one by one.
#[derive(Debug, Default)]
pub struct View {
    /// Where they are.
    pub snapshot: Snapshot,
    /// Calls that may not belong together.
    pub mismatches: Vec<Mismatch>,
    /// How many mismatches there are, those that are not described included.
    pub mismatched: u64,
    /// The operations, whose communicators are those of the snapshot.
    pub sums: Sums,
}

impl Communicator {
    fn new(key: [u64; 2], origin: Origin, first: (u32, usize), size: u32) -> Communicator {
        let (members, places) = (Vec::new(), Vec::new());
        Communicator { key, origin, first, size, members, places, positions: BTreeMap::new(), more_mismatches: 0 }
    }

    fn add_place(&mut self, first: Member, world: u32) {
        if let Some(last) = self.places.last_mut() {
            let is_next = last.first.is_first == first.is_first && last.first.rank + last.count == first.rank;
            let stride = world.wrapping_sub(last.world + (last.count - 1) * last.stride);
            if is_next && stride < 1 << 31 && (last.count == 1 || stride == last.stride) {
                (last.count, last.stride) = (last.count + 1, stride);
                return;
            }
        }
        self.places.push(Places { first, world, count: 1, stride: 0 });
    }

    fn world_rank(&self, member: Member) -> Option<u32> {
        if self.origin.flags & flags::WORLD != 0 {
            return Some(member.rank);
        }
        let place = self.places.iter().find(|place| {
            let is_in = (place.first.rank..place.first.rank + place.count).contains(&member.rank);
            place.first.is_first == member.is_first && is_in
        })?;
        Some(place.world + (member.rank - place.first.rank) * place.stride)
    }

    /// Adds what others know of it; `numbers` are those here of what they have called.
    fn add(&mut self, other: Communicator, numbers: &[usize], table: &Table) {
        self.size = self.size.max(other.size);
        self.origin.given = self.origin.given.take().or(other.origin.given);
        self.first = self.first.min(other.first);
        for (begun, ranks) in other.members {
            match self.members.iter_mut().rev().find(|(known, _)| *known == begun) {
                Some((_, known)) => known.add(&ranks),
                None => self.members.push((begun, ranks)),
            }
        }
        for place in other.places {
            self.add_run(place);
        }
        for (sequence, position) in &other.positions {
            self.positions.entry(*sequence).or_default().add(position, numbers, table);
        }
        self.more_mismatches += other.more_mismatches;
    }

    fn add_run(&mut self, place: Places) {
        for index in 0..place.count {
            self.add_place(
                Member { rank: place.first.rank + index, ..place.first },
                place.world + index * place.stride,
            );
        }
    }
}

impl Summary {
    /// A summary of a look at one node, whose movement its snapshot has.
    pub(super) fn new(look: &Look, snapshot: &Snapshot, waits: &Waits) -> Summary {
        let (positions, called) = calls::positions(look);
        let sums = Sums::of(look);
        let mut summary = Summary {
            starting: look.starting.len(),
            unplaced: look.starting.iter().filter(|starting| starting.place.is_none()).count(),
            unreadable: look.unreadable.clone(),
            is_partial: look.is_partial,
            known: snapshot.ranks.iter().map(|rank| rank.rank).collect(),
            called,
            waits: waits.clone(),
            ..Summary::default()
        };
        let numbers = summary.add_communicators(look, snapshot, positions, &sums);
        summary.sums.add(&sums, &numbers);
        summary.add_sent(look, snapshot, &numbers);
        for rank in &snapshot.ranks {
            let now = rounded(rank, snapshot.world_size > EXACT);
            summary.add_rank(Ranks::one(rank.rank), now, &numbers);
        }
        summary
    }

    /// Adds the communicators of a look; MPI_COMM_SELF only where a rank waits in it, or a window or a file of it is
    /// there. Their numbers here, by those in the look.
    fn add_communicators(
        &mut self,
        look: &Look,
        snapshot: &Snapshot,
        positions: Vec<BTreeMap<u64, Position>>,
        sums: &Sums,
    ) -> Vec<usize> {
        let all = &look.operations.communicators;
        let mut needed: HashSet<usize> = all.iter().filter_map(|of| of.origin.made_of).collect();
        needed.extend(sums.slowest.iter().map(|slow| slow.communicator));
        for rank in &snapshot.ranks {
            needed.extend(rank.waits.iter().filter_map(|wait| wait.communicator));
            needed.extend(rank.messages.iter().filter_map(|message| message.communicator));
        }
        let is_kept = |id: usize, own: &Origin| own.flags & flags::SELF == 0 || needed.contains(&id);
        let mut numbers = vec![usize::MAX; all.len()];
        let kept: Vec<usize> = (0..all.len()).filter(|&id| is_kept(id, &all[id].origin)).collect();
        kept.iter().enumerate().for_each(|(number, &id)| numbers[id] = number);
        for (id, positions) in positions.into_iter().enumerate().filter(|(id, _)| numbers[*id] != usize::MAX) {
            let of = &all[id];
            let (part, index) = of.members[0];
            let rank = look.trace.parts[part].rank();
            let first = look.trace.parts[part].communicators()[index];
            let key = match first.flags & (flags::IDENTIFIED | flags::FOLDED) {
                0 => [u64::MAX, u64::from(rank) << 32 | index as u64],
                flags::IDENTIFIED => first.key,
                _ => [u64::MAX; 2],
            };
            let made_of = of.origin.made_of.map(|made_of| numbers[made_of]);
            let described = look.operations.mismatches.iter().filter(|mismatch| mismatch.communicator_id == id).count();
            let origin = Origin { made_of, ..of.origin.clone() };
            let mut communicator = Communicator::new(key, origin, (rank, index), of.size);
            (communicator.positions, communicator.more_mismatches) = (positions, of.mismatches - described as u64);
            let mut begun: BTreeMap<u64, Ranks> = BTreeMap::new();
            let members = &snapshot.communicators[id].members;
            members.iter().for_each(|(rank, calls)| begun.entry(*calls).or_default().add(&Ranks::one(*rank)));
            communicator.members.extend(begun);
            let is_numbered = of.origin.flags & (flags::WORLD | flags::IDENTIFIED) == flags::IDENTIFIED;
            for &(part, index) in of.members.iter().filter(|_| is_numbered && calls::is_elsewhere(of)) {
                let entry = look.trace.parts[part].communicators()[index];
                let member = Member { is_first: entry.flags & flags::FIRST != 0, rank: entry.rank };
                communicator.add_place(member, look.trace.parts[part].rank());
            }
            self.communicators.push(communicator);
        }
        numbers
    }

    /// The messages of ranks that stand still to ranks that are not in the look.
    fn add_sent(&mut self, look: &Look, snapshot: &Snapshot, numbers: &[usize]) {
        let partners = Partners::new(&look.trace, &look.operations);
        for (index, part) in look.trace.parts.iter().enumerate() {
            let stands = snapshot.rank(part.rank()).is_some_and(|rank| rank.unmoved_s >= STANDS_S);
            if !stands || !place::are_all_sent(part.partners()) || look.trace.parts.len() as u32 == snapshot.world_size
            {
                continue;
            }
            let sent = part.partners().iter().filter(|entry| entry.messages > 0).filter_map(|entry| {
                let to = partners.member(index, entry.partner)?;
                let (local, _) = partner::place(entry.partner)?;
                let communicator = numbers[partners.communicator(index, local)?];
                let is_elsewhere = partners.world_rank(index, entry.partner).is_none() && communicator != usize::MAX;
                is_elsewhere.then_some(Sent { communicator, to, messages: entry.messages })
            });
            self.sent.insert(part.rank(), sent.collect());
        }
    }

    /// Adds ranks at one place, whose communicators have these numbers here.
    fn add_rank(&mut self, ranks: Ranks, mut now: RankNow, numbers: &[usize]) {
        let communicators = now.waits.iter_mut().map(|wait| &mut wait.communicator);
        let communicators = communicators.chain(now.messages.iter_mut().map(|message| &mut message.communicator));
        communicators.for_each(|number| *number = number.map(|number| numbers[number]));
        match self.ranks.iter_mut().rev().find(|(_, known)| *known == now) {
            Some((known, _)) => known.add(&ranks),
            None => self.ranks.push((ranks, now)),
        }
    }

    /// Adds what other nodes know. Two that are one, under two names, count once.
    pub fn add(&mut self, other: Summary) {
        let mut known = self.known.clone();
        known.add(&other.known);
        if !other.known.is_empty() && known == self.known {
            return;
        }
        let is_twice = known.len() < self.known.len() + other.known.len();
        let before: HashSet<u32> = if is_twice { self.known.iter().collect() } else { HashSet::new() };
        self.known = known;
        self.nodes += other.nodes;
        self.world_size = self.world_size.or(other.world_size);
        self.lives |= other.lives;
        self.starting += other.starting;
        self.unplaced += other.unplaced;
        self.unreadable.extend(other.unreadable);
        self.is_partial |= other.is_partial;
        let called = self.called.add(&other.called);
        if self.numbers.is_empty() {
            self.numbers.extend(self.communicators.iter().enumerate().map(|(number, of)| (of.key, number)));
        }
        let number = |of: &Communicator| {
            let next = self.numbers.len();
            *self.numbers.entry(of.key).or_insert(next)
        };
        let numbers: Vec<usize> = other.communicators.iter().map(number).collect();
        for (mut of, &number) in other.communicators.into_iter().zip(&numbers) {
            of.origin.made_of = of.origin.made_of.map(|made_of| numbers[made_of]);
            if number == self.communicators.len() {
                self.communicators.push(Communicator::new(of.key, of.origin.clone(), of.first, of.size));
            }
            self.communicators[number].add(of, &called, &self.called);
        }
        for (mut ranks, now) in other.ranks {
            if is_twice {
                ranks = ranks.iter().filter(|rank| !before.contains(rank)).collect();
            }
            if !ranks.is_empty() {
                self.add_rank(ranks, now, &numbers);
            }
        }
        self.sums.add(&other.sums, &numbers);
        self.waits.add(&other.waits);
        let sent = other.sent.into_iter().take(SENDERS.saturating_sub(self.sent.len()));
        self.sent.extend(sent.map(|(from, mut all)| {
            all.iter_mut().for_each(|sent| sent.communicator = numbers[sent.communicator]);
            (from, all)
        }));
    }

    /// The calls of ranks on several nodes in which all waited for one rank: the communicator's key, the position, that
    /// rank, and how long all others together waited at least, ns.
    pub(super) fn late(&self) -> impl Iterator<Item = ([u64; 2], u64, u32, u64)> + '_ {
        self.communicators.iter().flat_map(|of| {
            let late = |(&sequence, position): (&u64, &Position)| {
                let (rank, ns) = position.late(of.size, &self.called)?;
                Some((of.key, sequence, rank, ns))
            };
            of.positions.iter().filter_map(late)
        })
    }

    /// What the ranks do, one by one.
    pub fn view(&self) -> View {
        let mut order: Vec<usize> = (0..self.communicators.len()).collect();
        order.sort_by_key(|&number| (self.communicators[number].origin.class(), self.communicators[number].first));
        let mut numbers = vec![0; order.len()];
        order.iter().enumerate().for_each(|(id, &number)| numbers[number] = id);
        let ordered = || order.iter().map(|&number| &self.communicators[number]);
        let origins: Vec<Origin> = ordered()
            .map(|of| Origin { made_of: of.origin.made_of.map(|number| numbers[number]), ..of.origin.clone() })
            .collect();
        let names = Origin::names(origins.iter());
        let (mut mismatches, mut mismatched, mut sums) = (Vec::new(), 0, Sums::default());
        sums.add(&self.sums, &numbers);
        for (id, of) in ordered().enumerate() {
            let all = of.positions.iter().filter_map(|(&at, calls)| calls.mismatch(at, (id, &names[id]), &self.called));
            let before = mismatches.len();
            mismatches.extend(all);
            mismatched += (mismatches.len() - before) as u64 + of.more_mismatches;
            mismatches.truncate(before + DESCRIBED);
            sums.add_positions(id, of.size, of.positions.values(), &self.called);
        }
        let now = |(of, name): (&Communicator, String)| {
            let members = of.members.iter().flat_map(|(begun, ranks)| ranks.iter().map(|rank| (rank, *begun)));
            let mut members: Vec<(u32, u64)> = members.collect();
            members.sort_unstable();
            CommunicatorNow { name, size: of.size, members }
        };
        let mut ranks: Vec<RankNow> = Vec::with_capacity(self.known.len());
        for (of, now) in &self.ranks {
            ranks.extend(of.iter().map(|rank| self.resolved(RankNow { rank, ..now.clone() }, &numbers)));
        }
        ranks.sort_unstable_by_key(|rank| rank.rank);
        let snapshot = Snapshot {
            ranks,
            world_size: self.world_size.unwrap_or(0),
            communicators: ordered().zip(names).map(now).collect(),
            mismatches: place::mismatches(&mismatches),
            exit_code: None,
        };
        View { snapshot, mismatches, mismatched, sums }
    }

    /// With the partners that are on other nodes, and with the numbers of communicators in a snapshot.
    fn resolved(&self, mut now: RankNow, numbers: &[usize]) -> RankNow {
        for message in &mut now.messages {
            let Some(number) = message.communicator else { continue };
            let communicator = &self.communicators[number];
            if let Partner::Member(member) = message.partner {
                let rank = communicator.world_rank(member).filter(|&rank| self.known.contains(rank));
                message.partner = rank.map_or(Partner::Unknown, Partner::Rank);
                let sent = rank.filter(|_| message.receives).and_then(|from| self.sent.get(&from));
                let is_of_it =
                    |sent: &&Sent| sent.communicator == number && communicator.world_rank(sent.to) == Some(now.rank);
                message.sent = sent.map(|sent| sent.iter().filter(is_of_it).map(|sent| sent.messages).sum());
            }
            message.communicator = Some(numbers[number]);
        }
        now.waits.iter_mut().for_each(|wait| wait.communicator = wait.communicator.map(|number| numbers[number]));
        now
    }
}

/// In a large job ranks that do the same have equal times.
fn rounded(rank: &RankNow, is_large: bool) -> RankNow {
    let mut now = RankNow { rank: 0, ..rank.clone() };
    if is_large {
        now.unmoved_s = now.unmoved_s.floor();
        now.since_s = now.since_s.map(f64::floor);
        // To a quarter of the power of 2.
        now.calls_per_s = now.calls_per_s.map(|rate| f64::from_bits(rate.to_bits() >> 50 << 50));
    }
    now
}
