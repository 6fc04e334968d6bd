//! The state of a job on one or more nodes at one moment, in few bytes: ranks at the same place together.
//!
//! A node makes one of its own look ([`super::Observer`]), and one that passes on those of others adds them up. What
//! the verdict needs is exact; times are rounded in large jobs, so that they are equal. Of the calls of ranks on
//! different nodes some are compared ([`super::calls`]).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use mpitrace_format::layout::{communicator_flags as flags, partner};
use mpitrace_trace::operations::{self, DESCRIBED, Mismatch, Origin};
use mpitrace_trace::partners::{Member, Partners};
use serde::{Deserialize, Serialize};

use super::calls::{self, Position, Sums, Table};
use super::look::Look;
use super::moved::mix;
use super::place;
use super::ranks::Ranks;
use super::snapshot::{CommunicatorNow, Partner, RankNow, Snapshot};
use super::waits::Waits;

/// In jobs of more ranks times are rounded.
const EXACT: u32 = 1 << 9;
/// Ranks whose messages are counted for others at most.
const SENDERS: usize = 1 << 10;
/// Its messages are counted for others if a rank has not moved for so long, s.
const STANDS_S: f64 = 1.0;

/// The ranks of one or more nodes. A communicator has one number on all nodes, which is made of its key.
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
    /// The processes of them whose ranks are not known.
    pub unplaced: usize,
    /// Files that cannot be read, and why.
    pub unreadable: Vec<String>,
    /// There are earlier calls of some rank that were not looked at.
    pub is_partial: bool,
    known: Ranks,
    /// Ranks at the same place together.
    ranks: Vec<(Ranks, RankNow)>,
    communicators: BTreeMap<usize, Communicator>,
    called: Table,
    /// Mismatches that are in no position of a communicator.
    undescribed: u64,
    sums: Sums,
    pub(super) waits: Waits,
    /// The messages of ranks that have not moved, to those of other nodes.
    sent: BTreeMap<u32, Vec<Sent>>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Communicator {
    origin: Origin,
    /// The lowest world rank, and the order in which that rank made it.
    first: (u32, usize),
    size: u32,
    /// The ranks that have begun so many calls on it.
    members: BTreeMap<u64, Ranks>,
    /// The world ranks of its members, where those are others; not of one that is on one node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    places: Vec<Places>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    positions: BTreeMap<u64, Position>,
}

/// Ranks that follow each other in a communicator, and are equally far apart in the world.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Places {
    first: Member,
    world: u32,
    count: u32,
    stride: u32,
}

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
    /// How many mismatches there are, those that are not described included.
    pub mismatched: u64,
    /// The operations, whose communicators are those of the snapshot.
    pub sums: Sums,
}

impl Communicator {
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

    fn add(&mut self, other: Communicator, table: &Table) {
        self.size = self.size.max(other.size);
        self.origin.given = self.origin.given.take().or(other.origin.given);
        self.first = self.first.min(other.first);
        for (begun, ranks) in other.members {
            self.members.entry(begun).or_default().add(&ranks);
        }
        for Places { first, world, count, stride } in other.places {
            for at in 0..count {
                self.add_place(Member { rank: first.rank + at, ..first }, world + at * stride);
            }
        }
        for (sequence, position) in &other.positions {
            self.positions.entry(*sequence).or_default().add(position, table);
        }
    }
}

impl Summary {
    /// A summary of a look at one node, whose movement its snapshot has.
    pub(super) fn new(look: &Look, snapshot: &Snapshot, waits: &Waits) -> Summary {
        let all = &look.operations.communicators;
        let numbers: Vec<usize> = all.iter().map(|of| number(look, of)).collect();
        let (positions, called) = calls::positions(look);
        let mismatched: u64 = all.iter().map(|of| of.mismatches).sum();
        let mut summary = Summary {
            lives: look.lives,
            starting: look.starting.len(),
            unplaced: look.starting.iter().filter(|starting| starting.place.is_none()).count(),
            unreadable: look.unreadable.clone(),
            is_partial: look.is_partial,
            known: snapshot.ranks.iter().map(|rank| rank.rank).collect(),
            called,
            undescribed: mismatched - look.operations.mismatches.len() as u64,
            sums: Sums::new(look, &numbers),
            waits: waits.clone(),
            sent: sent(look, snapshot, &numbers),
            ..Summary::default()
        };
        for rank in &snapshot.ranks {
            let now = rounded(rank, snapshot.world_size > EXACT);
            summary.add_rank(Ranks::one(rank.rank), renumbered(now, |id| Some(numbers[id])));
        }
        summary.add_communicators(look, snapshot, positions, &numbers);
        summary
    }

    /// Adds the communicators of a look; MPI_COMM_SELF only where a rank waits in it, or a window or a file of it is
    /// there.
    fn add_communicators(
        &mut self,
        look: &Look,
        snapshot: &Snapshot,
        positions: Vec<BTreeMap<u64, Position>>,
        numbers: &[usize],
    ) {
        let all = &look.operations.communicators;
        let mut needed: HashSet<usize> = all.iter().filter_map(|of| Some(numbers[of.origin.made_of?])).collect();
        needed.extend(self.sums.slowest.iter().map(|slow| slow.communicator));
        for (_, rank) in &self.ranks {
            needed.extend(rank.waits.iter().filter_map(|wait| wait.communicator));
            needed.extend(rank.messages.iter().filter_map(|message| message.communicator));
        }
        for (id, positions) in positions.into_iter().enumerate() {
            let of = &all[id];
            if of.origin.flags & flags::SELF != 0 && !needed.contains(&numbers[id]) {
                continue;
            }
            let (part, index) = of.members[0];
            let mut members: BTreeMap<u64, Ranks> = BTreeMap::new();
            for &(rank, begun) in &snapshot.communicators[id].members {
                members.entry(begun).or_default().add(&Ranks::one(rank));
            }
            let mut communicator = Communicator {
                origin: Origin { made_of: of.origin.made_of.map(|id| numbers[id]), ..of.origin.clone() },
                first: (look.trace.parts[part].rank(), index),
                size: of.size,
                members,
                places: Vec::new(),
                positions,
            };
            let is_numbered = of.origin.flags & (flags::WORLD | flags::IDENTIFIED) == flags::IDENTIFIED;
            for &(part, index) in of.members.iter().filter(|_| is_numbered && calls::is_elsewhere(of)) {
                let entry = look.trace.parts[part].communicators()[index];
                let member = Member { is_first: entry.flags & flags::FIRST != 0, rank: entry.rank };
                communicator.add_place(member, look.trace.parts[part].rank());
            }
            self.communicators.insert(numbers[id], communicator);
        }
    }

    fn add_rank(&mut self, ranks: Ranks, now: RankNow) {
        match self.ranks.iter_mut().rev().find(|(_, known)| *known == now) {
            Some((known, _)) => known.add(&ranks),
            None => self.ranks.push((ranks, now)),
        }
    }

    /// Adds what other nodes know. Two that are one, under two names, count once.
    pub fn add(&mut self, other: Summary) {
        let mut known = self.known.clone();
        known.add(&other.known);
        if !other.known.is_empty() && known.len() == self.known.len() {
            return;
        }
        self.known = known;
        self.nodes += other.nodes;
        self.world_size = self.world_size.or(other.world_size);
        self.lives |= other.lives;
        self.starting += other.starting;
        self.unplaced += other.unplaced;
        self.unreadable.extend(other.unreadable);
        self.is_partial |= other.is_partial;
        self.undescribed += other.undescribed;
        self.called.extend(other.called);
        for (number, of) in other.communicators {
            match self.communicators.entry(number) {
                Entry::Vacant(new) => drop(new.insert(of)),
                Entry::Occupied(known) => known.into_mut().add(of, &self.called),
            }
        }
        other.ranks.into_iter().for_each(|(ranks, now)| self.add_rank(ranks, now));
        self.sums.add(other.sums);
        self.waits.add(&other.waits);
        self.sent.extend(other.sent.into_iter().take(SENDERS.saturating_sub(self.sent.len())));
    }

    /// The calls of ranks on several nodes in which all waited for one rank: the communicator's number, the position,
    /// that rank, and how long all others together waited at least, ns.
    pub(super) fn late(&self) -> impl Iterator<Item = (usize, u64, u32, u64)> + '_ {
        self.communicators.iter().flat_map(move |(&number, of)| {
            let late = move |(&sequence, position): (&u64, &Position)| {
                let (rank, ns) = position.late(of.size, &self.called)?;
                Some((number, sequence, rank, ns))
            };
            of.positions.iter().filter_map(late)
        })
    }

    /// The activity of each rank.
    pub fn view(&self) -> View {
        let mut ordered: Vec<(&usize, &Communicator)> = self.communicators.iter().collect();
        ordered.sort_by_key(|(_, of)| (of.origin.class(), of.first));
        let ids: HashMap<usize, usize> = ordered.iter().zip(0..).map(|((number, _), id)| (**number, id)).collect();
        let id = |number: usize| ids.get(&number).copied();
        let origin = |of: &Communicator| Origin { made_of: of.origin.made_of.and_then(id), ..of.origin.clone() };
        let origins: Vec<Origin> = ordered.iter().map(|(_, of)| origin(of)).collect();
        let names = Origin::names(origins.iter());
        let (mut mismatches, mut mismatched, mut sums) = (Vec::new(), self.undescribed, self.sums.clone());
        sums.slowest.iter_mut().for_each(|slow| slow.communicator = id(slow.communicator).unwrap_or(usize::MAX));
        for (id, (_, of)) in ordered.iter().enumerate() {
            let all = of.positions.iter().filter_map(|(&at, calls)| calls.mismatch(at, (id, &names[id]), &self.called));
            let all: Vec<Mismatch> = all.collect();
            mismatched += all.len() as u64;
            mismatches.extend(all.into_iter().take(DESCRIBED));
            sums.add_positions(id, of.size, of.positions.values(), &self.called);
        }
        let now = |((_, of), name): (&(&usize, &Communicator), String)| {
            let members = of.members.iter().flat_map(|(begun, ranks)| ranks.iter().map(|rank| (rank, *begun)));
            let mut members: Vec<(u32, u64)> = members.collect();
            members.sort_unstable();
            CommunicatorNow { name, size: of.size, members }
        };
        let mut ranks: Vec<RankNow> = Vec::with_capacity(self.known.len());
        for (of, now) in &self.ranks {
            let one = |rank| renumbered(self.resolved(RankNow { rank, ..now.clone() }), id);
            ranks.extend(of.iter().map(one));
        }
        ranks.sort_by_key(|rank| rank.rank);
        ranks.dedup_by_key(|rank| rank.rank);
        let snapshot = Snapshot {
            ranks,
            world_size: self.world_size.unwrap_or(0),
            communicators: ordered.iter().zip(names).map(now).collect(),
            mismatches,
            ..Snapshot::default()
        };
        View { snapshot, mismatched, sums }
    }

    /// With the partners that are on other nodes.
    fn resolved(&self, mut now: RankNow) -> RankNow {
        for message in &mut now.messages {
            let (Some(number), Partner::Member(member)) = (message.communicator, message.partner) else { continue };
            let Some(communicator) = self.communicators.get(&number) else { continue };
            let rank = communicator.world_rank(member).filter(|&rank| self.known.contains(rank));
            message.partner = rank.map_or(Partner::Unknown, Partner::Rank);
            let sent = rank.filter(|_| message.receives).and_then(|from| self.sent.get(&from));
            let is_of_it =
                |sent: &&Sent| sent.communicator == number && communicator.world_rank(sent.to) == Some(now.rank);
            message.sent = sent.map(|sent| sent.iter().filter(is_of_it).map(|sent| sent.messages).sum());
        }
        now
    }
}

/// The number of a communicator: the same on all nodes and that of no other one.
fn number(look: &Look, of: &operations::Communicator) -> usize {
    let (part, index) = of.members[0];
    let entry = look.trace.parts[part].communicators()[index];
    let key = match entry.flags & (flags::IDENTIFIED | flags::FOLDED) {
        0 => [u64::MAX, u64::from(look.trace.parts[part].rank()) << 32 | index as u64],
        flags::IDENTIFIED => entry.key,
        _ => [u64::MAX; 2],
    };
    key.into_iter().fold(0, mix) as usize
}

/// The messages of ranks that stand still to ranks that are not in the look.
fn sent(look: &Look, snapshot: &Snapshot, numbers: &[usize]) -> BTreeMap<u32, Vec<Sent>> {
    let partners = Partners::new(&look.trace, &look.operations);
    let parts = look.trace.parts.iter().enumerate().filter(|(_, part)| {
        let stands = snapshot.rank(part.rank()).is_some_and(|rank| rank.unmoved_s >= STANDS_S);
        stands && place::are_all_sent(part.partners()) && look.trace.parts.len() as u32 != snapshot.world_size
    });
    let of_part = parts.map(|(index, part)| {
        let sent = part.partners().iter().filter(|entry| entry.messages > 0).filter_map(|entry| {
            let to = partners.member(index, entry.partner)?;
            let (local, _) = partner::place(entry.partner)?;
            let communicator = numbers[partners.communicator(index, local)?];
            let is_elsewhere = partners.world_rank(index, entry.partner).is_none();
            is_elsewhere.then_some(Sent { communicator, to, messages: entry.messages })
        });
        (part.rank(), sent.collect())
    });
    of_part.collect()
}

fn renumbered(mut now: RankNow, number: impl Fn(usize) -> Option<usize>) -> RankNow {
    let of_waits = now.waits.iter_mut().map(|wait| &mut wait.communicator);
    let of_messages = now.messages.iter_mut().map(|message| &mut message.communicator);
    of_waits.chain(of_messages).for_each(|communicator| *communicator = communicator.and_then(&number));
    now
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
