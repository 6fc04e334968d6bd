//! Communicators: which one a handle means, and an identity that all its ranks derive alike without a message.
//!
//! A communicator's key is a hash of how it came to be: its parent's key, how many were made from that parent before,
//! and the world rank of its first member (which differs between the parts of a split). Making a communicator is
//! collective and ordered by MPI's own rules, so every member computes the same key. Where only some ranks of the
//! parent take part (`MPI_Comm_create_group`, `MPI_Intercomm_create`) the key is made of the members themselves and of
//! how often these have made one in this way.
//!
//! MPI is asked for as little as possible, and never while the registry is locked: nothing where the parent's ranks are
//! the new one's too, one world rank for any other child of a parent whose ranks are all of this world, all world ranks
//! ([`crate::operation::members`]) where the members make the key.

use mpitrace_format::layout::{CommunicatorEntry, communicator_flags as flags};

use crate::base::hash::mix;
use crate::handles::communicator::{Communicator, Group, Neighbours};
use crate::handles::generation;
use crate::mpi::{Comm, abi};
use crate::operation::handle::{self, HandleKind};
use crate::operation::members::{self, Members};
use crate::operation::registry::{self, Registry};

/// Registers MPI_COMM_WORLD and MPI_COMM_SELF, at Init.
pub fn start(rank: u32, size: u32) -> Option<()> {
    let abi = abi::get();
    let mut registry = registry::lock()?;
    let group = Group { rank, size, here: size, ..Group::default() };
    add(&mut registry, abi.comm_world, mix(&[1]), &group, flags::WORLD)?;
    let alone = Group { rank: 0, size: 1, here: 1, leader: rank.into(), ..group };
    add(&mut registry, abi.comm_self, mix(&[2, rank.into()]), &alone, flags::SELF)?;
    Some(())
}

/// MPI_COMM_WORLD and MPI_COMM_SELF are gone, while sessions go on.
pub fn end_of_world() {
    if let Some(mut registry) = registry::lock() {
        registry.communicators.remove(&abi::get().comm_world);
        registry.communicators.remove(&abi::get().comm_self);
    }
}

/// The communicator behind a handle; a provisional one where its creation was not seen, before MPI may be asked about
/// it.
pub fn known_or_provisional(registry: &mut Registry, handle: usize) -> Option<&'static Communicator> {
    if let Some(known) = registry.communicators.get(&handle) {
        return Some(known);
    }
    let of_kind = match handle::kind(handle).0 {
        HandleKind::Communicator | HandleKind::New => 0,
        HandleKind::Window => flags::WINDOW,
        HandleKind::File => flags::FILE,
    };
    let known = add(registry, handle, [0; 2], &Group::default(), of_kind)?;
    known.set_unidentified();
    if handle == abi::get().comm_null {
        known.entry().set_name(registry.string("MPI_COMM_NULL"));
    }
    known.entry().set_flags(known.entry().flags() & !flags::IDENTIFIED);
    Some(known)
}

/// From now on the handle means a communicator of this key and these ranks; `of_kind`: its `communicator_flags`.
pub fn add(
    registry: &mut Registry,
    handle: usize,
    key: [u64; 2],
    group: &Group,
    of_kind: u32,
) -> Option<&'static Communicator> {
    registry.communicators.try_reserve(1).ok()?;
    let entry = CommunicatorEntry {
        key,
        size: group.here,
        rank: group.rank,
        flags: flags::IDENTIFIED | group.flags() | of_kind,
        sync_at: u64::MAX,
        ..CommunicatorEntry::default()
    };
    let known = registry.make(entry, group)?;
    // Where the library gives a freed handle out again without our having seen it freed.
    if let Some(freed) = registry.communicators.insert(handle, known) {
        generation::outdate(handle);
        registry.retire(freed);
    }
    Some(known)
}

/// From now on the handle means a window or a file that the ranks of `comm` have made.
pub fn add_made_of(comm: usize, handle: usize, of_kind: u32) -> Option<&'static Communicator> {
    let parent = identified(abi::get().handle(comm))?;
    let ([low, high], group) = (parent.key(), parent.group());
    let key = mix(&[of_kind.into(), low, high, parent.next_child()]);
    let known = add(&mut *registry::lock()?, handle, key, &group, of_kind)?;
    known.entry().set_made_of(parent.number() + 1);
    Some(known)
}

/// The communicator behind a handle that a call has just succeeded on: MPI is asked about it if it is new.
pub fn identified(handle: usize) -> Option<&'static Communicator> {
    let known = {
        let mut registry = registry::lock()?;
        known_or_provisional(&mut registry, handle)?
    };
    if known.is_identified() {
        return Some(known);
    }
    let (group, [low, high]) = group_and_members(handle)?;
    let mut registry = registry::lock()?;
    let known = *registry.communicators.get(&handle)?;
    // Another thread may have been faster.
    if !known.is_identified() {
        let (key, entry) = (registry.next_key(mix(&[7, low, high])), known.entry());
        entry.set_key(key);
        entry.set_size(group.here);
        entry.set_rank(group.rank);
        entry.set_flags(entry.flags() | flags::IDENTIFIED | group.flags());
        known.identify(key, &group);
        generation::outdate(handle);
    }
    Some(known)
}

/// The ranks of a communicator that was made from one whose ranks are all of this world.
pub fn group_here(handle: usize) -> Option<Group> {
    let comm = Comm::of_handle(handle);
    let (rank, size, inter) = (comm.rank()?, comm.size()?, comm.is_inter()?);
    // The first rank need not ask for its number.
    let leader = if rank == 0 { registry::world()?.rank.into() } else { members::leader(&comm.group()?)? };
    if !inter {
        return Some(in_topology(comm, Group { rank, size, here: size, leader, ..Group::default() }));
    }
    let remote = comm.remote_size()?;
    // The same on both sides.
    let other = members::leader(&comm.remote_group()?)?;
    let (is_first, leader) = (leader < other, leader.min(other));
    Some(Group { rank, size, remote, here: size + remote, leader, is_first, ..Group::default() })
}

/// The group with this rank's neighbours in it, where it has a topology.
fn in_topology(comm: Comm, group: Group) -> Group {
    let Some(ranks) = comm.neighbours() else { return group };
    let destinations = ranks[1].len() as u32;
    let neighbours = registry::lock().and_then(|mut registry| registry.lasting(Neighbours::new(ranks)));
    Group { destinations, neighbours, ..group }
}

/// The ranks of a communicator that MPI has just returned, or on which a call has returned well, and a hash of each
/// group's members, in an order that is the same on both sides.
pub fn group_and_members(handle: usize) -> Option<(Group, [u64; 2])> {
    // Windows and files whose making was not seen stay provisional.
    let (HandleKind::Communicator, handle) = handle::kind(handle) else { return None };
    let comm = Comm::of_handle(handle);
    let (rank, size, inter) = (comm.rank()?, comm.size()?, comm.is_inter()?);
    let Members { leader, here, hash } = Members::find(&comm.group()?, size)?;
    if !inter {
        return Some((in_topology(comm, Group { rank, size, here, leader, ..Group::default() }), [0, hash]));
    }
    let remote = comm.remote_size()?;
    let others = Members::find(&comm.remote_group()?, remote)?;
    let (is_first, leader) = (leader < others.leader, leader.min(others.leader));
    let group = Group { rank, size, remote, here: here + others.here, leader, is_first, ..Group::default() };
    Some((group, [hash.min(others.hash), hash.max(others.hash)]))
}
