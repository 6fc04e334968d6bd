//! Calls that make, name and free communicators, and what they share with those of windows and files.

use std::cell::Cell;
use std::ffi::c_int;

use mpitrace_format::layout::communicator_flags as flags;

use crate::base::hash::mix;
use crate::base::program;
use crate::handles::call::Call;
use crate::handles::communicator::{Communicator, Group};
use crate::handles::generation;
use crate::mpi::large_count::Narrowed;
use crate::mpi::{Comm, abi};
use crate::operation::communicator_table::{add, group_and_members, group_here, identified};
use crate::operation::registry::{self, Registry};
use crate::record::thread::{self, ThreadRef};
use crate::recorder;
use crate::recorder::requests::outstanding;

pub type Message<'a> = &'a dyn Fn(ThreadRef) -> Call;
pub type Forward<'a> = &'a dyn Fn() -> c_int;
/// How a communicator came to be that its members alone have made: the kind of the call, the parent's key and a tag.
type Recipe = (u64, [u64; 2], u64);

/// Forwards and records a call that makes something that calls are on: `made` gives its handle, and `add` makes that
/// known, after a call that has returned well.
///
/// Inside another call, of the library or of a callback of the program, not all ranks need make it: it is not counted
/// among what was made of its parent, and what is known of its handle is not true of it.
pub fn making(
    message: Message<'_>,
    forward: Forward<'_>,
    made: &dyn Fn() -> Option<usize>,
    add: &dyn Fn() -> Option<&'static Communicator>,
) -> c_int {
    if thread::is_nested(thread::frame()) {
        return making_within(forward, made);
    }
    recorder::managed(message, forward, &|result| if result == 0 { thread::catch_panic(add) } else { None })
}

fn making_within(forward: Forward<'_>, made: &dyn Fn() -> Option<usize>) -> c_int {
    let result = forward();
    if result == 0 {
        thread::catch_panic(|| {
            let handle = made()?;
            let mut registry = registry::lock()?;
            let known = registry.communicators.remove(&handle)?;
            generation::outdate(handle);
            registry.retire(known);
            Some(())
        });
    }
    result
}

/// A function that all ranks of `comm` call, and that gives them, or some of them, a new communicator.
pub fn created(message: Message<'_>, forward: Forward<'_>, comm: usize, newcomm: usize) -> c_int {
    making(message, forward, &|| new_handle(newcomm), &|| {
        add_child(comm, newcomm, |parent, handle| match parent.is_all_here() {
            true => group_here(handle),
            false => Some(group_and_members(handle)?.0),
        })
    })
}

/// `MPI_Comm_dup`: the group is the parent's.
pub fn duplicated(message: Message<'_>, forward: Forward<'_>, comm: usize, newcomm: usize) -> c_int {
    making(message, forward, &|| new_handle(newcomm), &|| add_child(comm, newcomm, |parent, _| Some(parent.group())))
}

/// `MPI_Comm_idup`. Nothing is asked about the new one, since its handle may not be used before the request is
/// complete; but every library has stored it by now.
pub fn duplicated_later(
    message: Message<'_>,
    forward: Forward<'_>,
    comm: usize,
    newcomm: usize,
    request: usize,
) -> c_int {
    if thread::is_nested(thread::frame()) {
        return making_within(forward, &|| new_handle(newcomm));
    }
    let result = outstanding::start(message, forward, Narrowed::default(), request);
    if result == 0 {
        thread::catch_panic(|| add_child(comm, newcomm, |parent, _| Some(parent.group())));
    }
    result
}

/// `MPI_Comm_spawn`: the remote group is another world.
pub fn spawned(message: Message<'_>, forward: Forward<'_>, comm: usize, newcomm: usize) -> c_int {
    making(message, forward, &|| new_handle(newcomm), &|| {
        add_child(comm, newcomm, |parent, handle| {
            let remote = Comm::of_handle(handle).remote_size()?;
            Some(Group { remote, destinations: 0, neighbours: None, ..parent.group() })
        })
    })
}

/// Adds the communicator of a call that all ranks of `comm` make. `group` finds the ranks of it.
fn add_child(
    comm: usize,
    newcomm: usize,
    group: impl FnOnce(&Communicator, usize) -> Option<Group>,
) -> Option<&'static Communicator> {
    let parent = identified(abi::get().handle(comm))?;
    // Counted also for ranks that get none.
    let nth = parent.next_child();
    let handle = new_handle(newcomm)?;
    let group = group(parent, handle)?;
    let [low, high] = parent.key();
    let key = mix(&[3, low, high, nth, group.leader]);
    add(&mut *registry::lock()?, handle, key, &group, 0)
}

/// `MPI_Comm_create_group`: only the group's ranks call it.
pub fn created_by_group(message: Message<'_>, forward: Forward<'_>, comm: usize, tag: usize, newcomm: usize) -> c_int {
    created_by_members(message, forward, newcomm, &|| {
        Some((4, identified(abi::get().handle(comm))?.key(), tag as u32 as u64))
    })
}

/// `MPI_Intercomm_create`: both groups call it, each with a communicator of its own.
pub fn connected(message: Message<'_>, forward: Forward<'_>, tag: usize, newcomm: usize) -> c_int {
    created_by_members(message, forward, newcomm, &|| Some((5, [0; 2], tag as u32 as u64)))
}

/// `MPI_Comm_create_from_group` and `MPI_Intercomm_create_from_groups`, which have no parent and a text for a tag.
pub fn created_from_groups(message: Message<'_>, forward: Forward<'_>, text: usize, newcomm: usize) -> c_int {
    created_by_members(message, forward, newcomm, &|| {
        let words: Vec<u64> = program::text(text).iter().map(|&byte| byte.into()).collect();
        Some((9, [0; 2], mix(&words)[0]))
    })
}

/// A call that only the members make.
fn created_by_members(
    message: Message<'_>,
    forward: Forward<'_>,
    newcomm: usize,
    recipe: &dyn Fn() -> Option<Recipe>,
) -> c_int {
    making(message, forward, &|| new_handle(newcomm), &|| {
        let (kind, parent, tag) = recipe()?;
        let handle = new_handle(newcomm)?;
        let (group, [low, high]) = group_and_members(handle)?;
        let mut registry = registry::lock()?;
        let key = registry.next_key(mix(&[kind, parent[0], parent[1], tag, low, high]));
        add(&mut registry, handle, key, &group, 0)
    })
}

/// `MPI_Comm_accept` and `MPI_Comm_connect`: the other side may be of this world or not.
pub fn met(message: Message<'_>, forward: Forward<'_>, newcomm: usize) -> c_int {
    making(message, forward, &|| new_handle(newcomm), &|| add_from_outside(newcomm, met_by))
}

/// `MPI_Comm_join`, which two processes call that have a socket.
pub fn joined(forward: Forward<'_>, newcomm: usize) -> c_int {
    from_outside(forward, newcomm, met_by)
}

fn met_by(handle: usize) -> Option<(Group, [u64; 2])> {
    let (group, [low, high]) = group_and_members(handle)?;
    Some((group, mix(&[6, low, high])))
}

/// `MPI_Comm_get_parent`: the local group is MPI_COMM_WORLD's, the remote one is of another world.
pub fn spawned_by(forward: Forward<'_>, newcomm: usize) -> c_int {
    from_outside(forward, newcomm, |handle| {
        let comm = Comm::of_handle(handle);
        let (rank, size) = (comm.rank()?, comm.size()?);
        let group = Group { rank, size, remote: comm.remote_size()?, here: size, ..Group::default() };
        Some((group, mix(&[10])))
    })
}

/// A communicator with ranks of another job or world, which a call that is not recorded gives.
fn from_outside(forward: Forward<'_>, newcomm: usize, identify: fn(usize) -> Option<(Group, [u64; 2])>) -> c_int {
    if thread::is_nested(thread::frame()) {
        return making_within(forward, &|| new_handle(newcomm));
    }
    let result = thread::guarded(forward);
    if result == 0 {
        thread::catch_panic(|| add_from_outside(newcomm, identify));
    }
    result
}

/// A communicator with ranks of another job or world, which a call has given perhaps not for the first time.
/// `identify` finds its ranks and how it came to be.
fn add_from_outside(newcomm: usize, identify: fn(usize) -> Option<(Group, [u64; 2])>) -> Option<&'static Communicator> {
    let handle = new_handle(newcomm)?;
    if registry::communicator(handle).is_some() {
        return None;
    }
    let (group, recipe) = identify(handle)?;
    let mut registry = registry::lock()?;
    let key = registry.next_key(recipe);
    add(&mut registry, handle, key, &group, 0)
}

/// `MPI_Comm_free` and `MPI_Comm_disconnect`.
pub fn freed(message: Message<'_>, forward: Forward<'_>, comm: usize) -> c_int {
    freeing(message, forward, abi::get().read(comm))
}

/// A call that frees what it is on: the handle may come back as another one.
///
/// Inside another call, as of a delete callback of the program, it is not recorded, but what it frees is gone all the
/// same.
pub fn freeing(message: Message<'_>, forward: Forward<'_>, handle: usize) -> c_int {
    let removed = Cell::new(None);
    // Before the call: behind it the handle may be another thread's new one. But after its operation was looked up.
    let forward = || {
        removed.set(registry::lock().and_then(|mut registry| {
            generation::outdate(handle);
            registry.communicators.remove(&handle)
        }));
        forward()
    };
    let finish = |result| {
        let known = removed.take()?;
        let mut registry = registry::lock()?;
        match result {
            0 => {
                known.entry().set_flags(known.entry().flags() | flags::FREED);
                registry.retire(known);
            }
            _ => drop(registry.communicators.insert(handle, known)),
        }
        None
    };
    recorder::managed(message, &forward, &finish)
}

pub fn named(forward: Forward<'_>, comm: usize, name: usize) -> c_int {
    naming(forward, abi::get().handle(comm), name)
}

pub fn naming(forward: Forward<'_>, handle: usize, name: usize) -> c_int {
    let result = thread::guarded(forward);
    if result == 0 && name != 0 {
        thread::catch_panic(|| {
            let mut registry = registry::lock()?;
            let known = *registry.communicators.get(&handle)?;
            set_name(&mut registry, known, name);
            Some(())
        });
    }
    result
}

/// The program gives it the name at this address. Beyond the bound on names it has none.
pub fn set_name(registry: &mut Registry, known: &Communicator, name: usize) {
    let reference = registry.given_name(&String::from_utf8_lossy(&program::text(name))).unwrap_or(0);
    known.entry().set_name(reference);
}

fn new_handle(place: usize) -> Option<usize> {
    abi::get().made(place).filter(|&handle| handle != abi::get().comm_null)
}
