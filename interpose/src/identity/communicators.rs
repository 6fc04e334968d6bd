//! Communicators: which one a handle means, and an identity that all its ranks derive alike without a message.
//!
//! A communicator's key is a hash of how it came to be: its parent's key, how many were made from that parent before,
//! and the world rank of its first member (which tells the parts of a split from each other). Making a communicator is
//! collective and ordered by MPI's own rules, so every member computes the same key. Where only some ranks of the
//! parent take part (`MPI_Comm_create_group`, `MPI_Intercomm_create`) the key is made of the members themselves and of
//! how often these have made one in this way.

use std::ffi::c_int;

use mpitrace_format::layout::{CommunicatorEntry, communicator_flags as flags};

use crate::boundary::mpi::{self, Comm};
use crate::boundary::{abi, program};
use crate::counters::mpi_t;
use crate::identity::call_cache;
use crate::identity::communicator::{Communicator, Group, mix};
use crate::identity::registry::{self, Registry};
use crate::job::world;
use crate::record::thread;

/// Registers MPI_COMM_WORLD and MPI_COMM_SELF, at Init.
pub fn start(rank: u32, size: u32) -> Option<()> {
    let abi = abi::get();
    let mut registry = registry::lock()?;
    let group = Group { rank, size, remote: 0, here: size, destinations: 0, leader: 0, members: [0; 2] };
    add(&mut registry, abi.comm_world, mix(&[1]), &group, flags::WORLD)?;
    let alone = Group { rank: 0, size: 1, here: 1, leader: rank.into(), ..group };
    add(&mut registry, abi.comm_self, mix(&[2, rank.into()]), &alone, flags::SELF)?;
    Some(())
}

/// MPI_COMM_WORLD and MPI_COMM_SELF are gone, while sessions go on.
pub fn end_of_world() {
    mpi_t::end_of_world();
    if let Some(mut registry) = registry::lock() {
        registry.communicators.remove(&abi::get().comm_world);
        registry.communicators.remove(&abi::get().comm_self);
    }
}

/// A function that all ranks of `comm` call, and that gives them, or some of them, a new communicator.
pub fn created(forward: impl FnOnce() -> c_int, comm: usize, newcomm: usize) -> c_int {
    let result = thread::guarded(forward);
    if result == 0 {
        thread::catch_panic(|| {
            let mut registry = registry::lock()?;
            let (parent, nth) = next_child(&mut registry, comm)?;
            let handle = new_handle(newcomm)?;
            let group = group(handle)?;
            let key = mix(&[3, parent[0], parent[1], nth, group.leader]);
            add(&mut registry, handle, key, &group, 0)
        });
    }
    result
}

/// `MPI_Comm_idup`: the handle may not be used before the request is complete, but every library has stored it by now.
/// Nothing is asked about it: the group is the parent's.
pub fn duplicating(forward: impl FnOnce() -> c_int, comm: usize, newcomm: usize) -> c_int {
    let result = thread::guarded(forward);
    if result == 0 {
        thread::catch_panic(|| {
            let mut registry = registry::lock()?;
            let (parent, nth) = next_child(&mut registry, comm)?;
            let group = group(abi::get().handle(comm))?;
            let key = mix(&[3, parent[0], parent[1], nth, group.leader]);
            let handle = new_handle(newcomm)?;
            add(&mut registry, handle, key, &group, 0)
        });
    }
    result
}

/// `MPI_Comm_create_group`: only the group's ranks call it.
pub fn created_by_group(forward: impl FnOnce() -> c_int, comm: usize, tag: usize, newcomm: usize) -> c_int {
    let parent = |registry: &mut Registry| Some(identified_in(registry, abi::get().handle(comm))?.key());
    created_by_members(forward, newcomm, |registry| Some((4, parent(registry)?, tag as u32 as u64)))
}

/// `MPI_Intercomm_create`: both groups call it, each with a communicator of its own.
pub fn connected(forward: impl FnOnce() -> c_int, tag: usize, newcomm: usize) -> c_int {
    created_by_members(forward, newcomm, |_| Some((5, [0; 2], tag as u32 as u64)))
}

/// `MPI_Comm_create_from_group` and `MPI_Intercomm_create_from_groups`, which have no parent and a text for a tag.
pub fn created_from_groups(forward: impl FnOnce() -> c_int, text: usize, newcomm: usize) -> c_int {
    created_by_members(forward, newcomm, |_| {
        let words: Vec<u64> = program::text(text).iter().map(|&byte| byte.into()).collect();
        Some((9, [0; 2], mix(&words)[0]))
    })
}

/// What only the members call. `recipe` tells how it came to be: a number for the kind of call, the parent's key and a
/// tag.
fn created_by_members(
    forward: impl FnOnce() -> c_int,
    newcomm: usize,
    recipe: impl FnOnce(&mut Registry) -> Option<(u64, [u64; 2], u64)>,
) -> c_int {
    let result = thread::guarded(forward);
    if result == 0 {
        thread::catch_panic(|| {
            let mut registry = registry::lock()?;
            let (kind, parent, tag) = recipe(&mut registry)?;
            let handle = new_handle(newcomm)?;
            let group = group(handle)?;
            let [low, high] = sorted(group.members);
            let key = nth_of(&mut registry, mix(&[kind, parent[0], parent[1], tag, low, high]));
            add(&mut registry, handle, key, &group, 0)
        });
    }
    result
}

/// `MPI_Comm_get_parent` and `MPI_Comm_join`: the other side is another world, or one process.
pub fn met(forward: impl FnOnce() -> c_int, newcomm: usize) -> c_int {
    let result = thread::guarded(forward);
    if result == 0 {
        thread::catch_panic(|| {
            let mut registry = registry::lock()?;
            let handle = new_handle(newcomm)?;
            if registry.communicators.contains_key(&handle) {
                return None;
            }
            let group = group(handle)?;
            let [low, high] = sorted(group.members);
            let key = nth_of(&mut registry, mix(&[6, low, high]));
            add(&mut registry, handle, key, &group, 0)
        });
    }
    result
}

/// `MPI_Comm_free` and `MPI_Comm_disconnect`: the handle may come back as another communicator.
pub fn freed(forward: impl FnOnce() -> c_int, comm: usize) -> c_int {
    let handle = abi::get().read_if_any(comm);
    // A variable's handle must not outlive what it is bound to.
    thread::catch_panic(|| {
        mpi_t::forget(handle);
        Some(())
    });
    // Before the call: behind it the handle may be another thread's new communicator.
    let known = registry::lock().and_then(|mut registry| registry.communicators.remove(&handle));
    call_cache::next_generation();
    let result = thread::guarded(forward);
    if let (Some(known), Some(mut registry)) = (known.filter(|_| result != 0), registry::lock()) {
        registry.communicators.insert(handle, known);
    }
    result
}

/// `MPI_Comm_set_name`.
pub fn named(forward: impl FnOnce() -> c_int, comm: usize, name: usize) -> c_int {
    let result = thread::guarded(forward);
    if result == 0 && name != 0 {
        thread::catch_panic(|| {
            let mut registry = registry::lock()?;
            let known = *registry.communicators.get(&abi::get().handle(comm))?;
            let reference = registry.string(&String::from_utf8_lossy(&program::text(name)));
            known.entry.set_name(reference);
            Some(())
        });
    }
    result
}

/// A communicator for a handle that nobody saw being made, before MPI may be asked about it.
pub fn provisional(registry: &mut Registry, handle: usize) -> Option<&'static Communicator> {
    let group = Group { rank: 0, size: 0, remote: 0, here: 0, destinations: 0, leader: 0, members: [0; 2] };
    let known = add(registry, handle, [0; 2], &group, 0)?;
    known.set_unidentified();
    known.entry.set_flags(known.entry.flags() & !flags::IDENTIFIED);
    Some(known)
}

/// Asks MPI about a communicator that a call has just succeeded on, and replaces the provisional one.
fn identify(registry: &mut Registry, provisional: &'static Communicator) -> Option<()> {
    let mut handles = registry.communicators.iter();
    let handle = handles.find(|(_, known)| known.number == provisional.number).map(|(&handle, _)| handle)?;
    let group = group(handle)?;
    let [low, high] = sorted(group.members);
    let key = nth_of(registry, mix(&[7, low, high]));
    let entry = provisional.entry;
    entry.set_key(key);
    entry.set_size(group.here);
    entry.set_rank(group.rank);
    entry.set_flags(entry.flags() | flags::IDENTIFIED | if group.remote > 0 { flags::INTER } else { 0 });
    let known = Communicator::leak(provisional.number, entry, key, &group, false);
    registry.communicators.insert(handle, known);
    call_cache::next_generation();
    Some(())
}

fn add(
    registry: &mut Registry,
    handle: usize,
    key: [u64; 2],
    group: &Group,
    predefined: u32,
) -> Option<&'static Communicator> {
    let inter = if group.remote > 0 { flags::INTER } else { 0 };
    let (number, entry) = registry.live.add_communicator(CommunicatorEntry {
        key,
        size: group.here,
        rank: group.rank,
        flags: flags::IDENTIFIED | inter | predefined,
        sync_at: u64::MAX,
        ..CommunicatorEntry::default()
    })?;
    let known = Communicator::leak(number, entry, key, group, predefined != 0);
    // Where the library gives a freed handle out again without our having seen it freed.
    if registry.communicators.insert(handle, known).is_some() {
        mpi_t::lost(handle);
        call_cache::next_generation();
    }
    Some(known)
}

/// The key of a parent and the number of the child that was made of it just now. Counted also for ranks that get none.
fn next_child(registry: &mut Registry, parent: usize) -> Option<([u64; 2], u64)> {
    let parent = identified_in(registry, abi::get().handle(parent))?;
    Some((parent.key(), parent.next_child()))
}

/// The communicator behind a handle that a call has just succeeded on: MPI is asked about it if it is new.
pub fn identified(handle: usize) -> Option<&'static Communicator> {
    let mut registry = registry::lock()?;
    identified_in(&mut registry, handle)
}

fn identified_in(registry: &mut Registry, handle: usize) -> Option<&'static Communicator> {
    let known = match registry.communicators.get(&handle) {
        Some(known) => known,
        None => provisional(registry, handle)?,
    };
    if !known.is_identified() {
        identify(registry, known)?;
    }
    registry.communicators.get(&handle).copied()
}

fn nth_of(registry: &mut Registry, recipe: [u64; 2]) -> [u64; 2] {
    let made = registry.recipes.entry(recipe).or_insert(0);
    let nth = *made;
    *made += 1;
    mix(&[8, recipe[0], recipe[1], nth])
}

/// The handle that a call has stored, unless it is MPI_COMM_NULL.
fn new_handle(place: usize) -> Option<usize> {
    let handle = abi::get().read(place);
    (handle != abi::get().comm_null).then_some(handle)
}

/// What MPI says of a communicator that it has just returned, or on which a call has returned well.
fn group(handle: usize) -> Option<Group> {
    let comm = Comm::of_handle(handle);
    let (rank, size, inter) = (comm.rank()?, comm.size()?, comm.is_inter()?);
    let local = members(&comm.group()?, size)?;
    let mut group =
        Group { rank, size, remote: 0, here: local.2, destinations: 0, leader: local.0, members: [local.1, 0] };
    if inter {
        group.remote = comm.remote_size()?;
        let remote = members(&comm.remote_group()?, group.remote)?;
        group.here += remote.2;
        group.members[1] = remote.1;
        // The same on both sides.
        group.leader = group.leader.min(remote.0);
    } else {
        group.destinations = comm.neighbours().1;
    }
    Some(group)
}

/// Of one group of a communicator: the world rank of its first member, a hash of all members' world ranks, and how many
/// of them are of this world.
fn members(group: &mpi::Group, size: u32) -> Option<(u64, u64, u32)> {
    let translated = world::with_group(|world| group.translate(size, world))?;
    let world_rank = |rank: c_int| u64::try_from(rank).unwrap_or(u64::MAX);
    let here = translated.iter().filter(|&&rank| rank >= 0).count() as u32;
    let words: Vec<u64> = translated.iter().map(|&rank| world_rank(rank)).collect();
    Some((words.first().copied().unwrap_or(u64::MAX), mix(&words)[0], here))
}

fn sorted([a, b]: [u64; 2]) -> [u64; 2] {
    [a.min(b), a.max(b)]
}
