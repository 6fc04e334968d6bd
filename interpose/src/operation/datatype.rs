//! Data types: how they are made, what is known of them, and when a handle stops meaning what it meant.
//!
//! A derived type has the signature of those that it is made of, which its constructor passes: that is stored when it
//! is made, and they may be freed. Its size and its name are looked up when a recorded call or a message first needs
//! them.

use std::ffi::c_int;

use mpitrace_functions::types::{self, classes};

use crate::base::program;
use crate::handles::generation;
use crate::handles::type_table::{self, KnownType, flags};
use crate::mpi::{self, abi, constructor};
use crate::operation::registry::{self, Registry};
use crate::operation::signature;
use crate::record::thread;

/// A call that makes a type of one other type.
pub fn derive(forward: &dyn Fn() -> c_int, oldtype: usize, newtype: usize) -> c_int {
    let result = forward();
    if result == 0 {
        made(newtype, known(abi::get().handle(oldtype)).code, 0);
    }
    result
}

/// Types of more blocks have no signature.
const MOST_BLOCKS: c_int = 128;

/// `MPI_Type_create_struct`: a call that makes a type of blocks of several types.
pub fn derive_of_several(
    forward: &dyn Fn() -> c_int,
    count: usize,
    blocklengths: usize,
    types: usize,
    newtype: usize,
) -> c_int {
    let result = forward();
    if result == 0 {
        let code = match (count as c_int, types) {
            (1, _) => known(abi::get().read(types)).code,
            (2..=MOST_BLOCKS, 1..) if blocklengths != 0 => {
                let block = |(place, handle)| {
                    let length: c_int = program::element(blocklengths, place);
                    let length = u64::try_from(length).unwrap_or(0);
                    // Of one that is not known not even whether it has data.
                    without_asking(handle).map_or((0, length), |known| (known.code, known.size.saturating_mul(length)))
                };
                let mut blocks: Vec<(u32, u64)> = abi::get().handles(count, types).enumerate().map(block).collect();
                blocks.retain(|(_, bytes)| *bytes > 0);
                signature::of_blocks(&blocks)
            }
            _ => 0,
        };
        made(newtype, code, 0);
    }
    result
}

/// `MPI_Type_dup`: the copy of a committed type is committed.
pub fn dup(forward: &dyn Fn() -> c_int, oldtype: usize, newtype: usize) -> c_int {
    let by_program = !thread::is_nested(thread::frame());
    let result = thread::guarded(forward);
    if result == 0 {
        let original = known(abi::get().handle(oldtype));
        let is_committed = original.is(flags::COMMITTED | flags::PREDEFINED);
        made(newtype, original.code, if is_committed { committed(by_program) } else { 0 });
    }
    result
}

/// `MPI_Type_commit`: from here on the type may be used in a call, and the program has to free it.
pub fn commit(forward: &dyn Fn() -> c_int, datatype: usize) -> c_int {
    let by_program = !thread::is_nested(thread::frame());
    let result = thread::guarded(forward);
    if result == 0
        && let Some(handle) = abi::get().made(datatype)
    {
        match type_table::find(handle) {
            Some(known) if known.is(flags::DERIVED) => {
                type_table::mark(handle, committed(by_program));
            }
            Some(_) => {}
            None => remember(handle, by_program),
        }
    }
    result
}

/// The flags of a type that was committed; `by_program`: by a call of the program's own.
fn committed(by_program: bool) -> u32 {
    flags::COMMITTED | if by_program { flags::TO_FREE } else { 0 }
}

/// A type was committed that no constructor which is seen has made.
#[cold]
#[inline(never)]
fn remember(handle: usize, by_program: bool) {
    thread::catch_panic(|| {
        if !abi::get().is_predefined_type(handle) {
            // Those of MPI_Type_create_f90_real, which may be committed and not freed, are made of no other.
            let is_derived = constructor::is_derived(handle);
            let flags = if is_derived { flags::DERIVED | committed(by_program) } else { flags::COMMITTED };
            type_table::set(handle, &KnownType { flags, ..KnownType::default() });
        }
        Some(())
    });
}

/// The type whose handle lies there was made now.
fn made(place: usize, code: u32, more: u32) {
    let known = KnownType { code, flags: flags::DERIVED | more, ..KnownType::default() };
    if let Some(handle) = abi::get().made(place)
        // One that was freed without being seen.
        && let Some(before) = type_table::set(handle, &known)
    {
        outdate(handle, &before);
    }
}

/// `MPI_Type_free`: the handle may come back as another type.
pub fn free(forward: &dyn Fn() -> c_int, datatype: usize) -> c_int {
    let handle = abi::get().read(datatype);
    // Before the call: behind it the handle may be another thread's new data type.
    let known = type_table::take(handle);
    known.inspect(|known| outdate(handle, known));
    let result = thread::guarded(forward);
    if let Some(known) = known.filter(|_| result != 0) {
        type_table::set(handle, &known);
    }
    result
}

/// Has threads forget what they keep of the handle.
fn outdate(handle: usize, known: &KnownType) {
    if known.is(flags::KEPT) {
        // Generations are counted under its lock.
        let _registry = registry::lock();
        generation::outdate(handle);
    }
}

/// The types that the program has made and not freed, but those that were never committed.
pub fn left() -> u16 {
    type_table::count(flags::TO_FREE).try_into().unwrap_or(u16::MAX)
}

/// True if a thread may keep what it has found of a type by the handle: outdated when that is freed. Not at the first
/// use, since many types are made for one call.
pub fn may_be_kept(handle: usize) -> bool {
    match type_table::mark(handle, flags::USED) {
        Some(flags) if flags & flags::PREDEFINED != 0 => true,
        Some(flags) if flags & flags::USED != 0 => type_table::mark(handle, flags::KEPT).is_some(),
        _ => false,
    }
}

/// A data type's size and name; `None` where it is not known and MPI may not be asked about it.
pub fn find(registry: &mut Registry, handle: usize, may_ask: bool) -> Option<KnownType> {
    let known = type_table::find(handle);
    if let Some(known) = known.filter(|known| known.is(flags::LOOKED_UP)) {
        return Some(known);
    }
    let predefined = known.is_none() && abi::get().is_predefined_type(handle);
    if known.is_none() && !predefined && !may_ask {
        return None;
    }
    let size = mpi::size_of_type(handle)?;
    let name = if predefined { mpi::name_of_type(handle) } else { None };
    let found = match (known, name) {
        (_, Some(name)) => {
            let code = types::code(&name).unwrap_or(0);
            KnownType { size, code, name: registry.string(&name), types: types::class(code), ..KnownType::default() }
        }
        (Some(known), None) if size > 0 => signature::described(registry, known.code, size),
        _ => signature::described(registry, 0, size),
    };
    // One whose creation and commit were not seen may be freed without being seen: asked about each time.
    if known.is_some() {
        type_table::describe(handle, &found);
    } else if predefined {
        type_table::set(handle, &KnownType { flags: flags::PREDEFINED | flags::LOOKED_UP, ..found });
    }
    Some(found)
}

/// The facts of a type that a call of the program has accepted; of a predefined one also its signature.
fn known(handle: usize) -> KnownType {
    type_table::find(handle).or_else(|| find_new(handle, false)).unwrap_or_default()
}

/// The size and name of a known type, without a lock.
#[inline(always)]
pub fn looked_up(handle: usize) -> Option<KnownType> {
    let known = type_table::find(handle)?;
    if known.is(flags::LOOKED_UP) { Some(known) } else { described(handle, known) }
}

/// A type of which something is asked for the first time, with a signature of which others were.
#[inline(never)]
fn described(handle: usize, known: KnownType) -> Option<KnownType> {
    let named = signature::named(known.code)?;
    let size = mpi::size_of_type(handle).filter(|size| *size > 0)?;
    let found = KnownType { size, flags: known.flags, ..named };
    type_table::describe(handle, &found);
    Some(found)
}

/// A data type of which MPI is not asked: the call that passes it has not returned. `None`: not known.
#[inline(always)]
pub fn without_asking(handle: usize) -> Option<KnownType> {
    looked_up(handle).or_else(|| find_new(handle, false))
}

#[inline(always)]
pub fn accepted(handle: usize) -> KnownType {
    let known = looked_up(handle).or_else(|| find_new(handle, true));
    known.unwrap_or(KnownType { types: classes::OTHER, ..KnownType::default() })
}

#[cold]
#[inline(never)]
fn find_new(handle: usize, may_ask: bool) -> Option<KnownType> {
    thread::catch_panic(|| find(&mut *registry::lock()?, handle, may_ask))
}
