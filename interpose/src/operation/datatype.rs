//! Data types: their sizes and names, and when a handle stops meaning what it meant.

use std::ffi::c_int;
use std::sync::MutexGuard;

use mpitrace_functions::types::{self, classes};

use crate::handles::call_cache::KnownType;
use crate::handles::generation;
use crate::mpi::{self, abi, constructor};
use crate::operation::registry::{self, Datatype, Registry};
use crate::operation::signature;
use crate::record::thread::{self, ThreadRef};

/// Asks MPI about a data type. The handle must be known to be one; of a derived one that the program may use from now
/// on its signature is looked up.
fn ask(registry: &mut Registry, handle: usize, predefined: bool, is_new: bool) -> Option<Datatype> {
    let size = mpi::size_of_type(handle)?;
    let name = if predefined { mpi::name_of_type(handle) } else { None };
    let code = match &name {
        Some(name) => types::code(name).unwrap_or(0),
        None if is_new && !predefined => registry.code_of_signature(signature::code(handle)),
        None => 0,
    };
    let name = registry.string(&name.unwrap_or_else(|| types::derived_name(code)));
    Some(Datatype { size, name, code, predefined, to_free: false })
}

/// `MPI_Type_commit`: from here on the type may be used in a call, so its size is looked up now.
pub fn commit(forward: &dyn Fn() -> c_int, datatype: usize) -> c_int {
    let by_program = !thread::is_nested(thread::frame());
    let result = thread::guarded(forward);
    if result == 0 {
        remember(datatype, by_program);
    }
    result
}

/// `MPI_Type_dup`: the copy of a committed type is committed.
pub fn dup(forward: &dyn Fn() -> c_int, datatype: usize, newtype: usize) -> c_int {
    let by_program = !thread::is_nested(thread::frame());
    let result = thread::guarded(forward);
    if result == 0 {
        let original = abi::get().handle(datatype);
        let committed = registry::lock().is_some_and(|registry| registry.datatypes.contains_key(&original));
        if committed || abi::get().is_predefined_type(original) {
            remember(newtype, by_program);
        }
    }
    result
}

/// `MPI_Type_free`: the handle may come back as another type.
pub fn free(forward: &dyn Fn() -> c_int, datatype: usize) -> c_int {
    let handle = abi::get().read(datatype);
    // Before the call: behind it the handle may be another thread's new data type.
    let known = registry::lock().and_then(|mut registry| {
        let known = registry.datatypes.remove(&handle);
        // One that was not known is in no cache.
        known.inspect(|_| generation::outdate(handle))
    });
    let result = thread::guarded(forward);
    if let (Some(known), Some(mut registry)) = (known.filter(|_| result != 0), registry::lock()) {
        registry::insert(&mut registry.datatypes, handle, known);
    }
    result
}

/// The types that the program has made and not freed, but those that were never committed.
pub fn left() -> u16 {
    let count =
        |registry: MutexGuard<Registry>| registry.datatypes.values().filter(|datatype| datatype.to_free).count();
    registry::lock().map_or(0, count).try_into().unwrap_or(u16::MAX)
}

/// The data type whose handle lies there may be used from now on; `by_program`: the call is the program's own.
fn remember(place: usize, by_program: bool) {
    thread::catch_panic(|| {
        let handle = abi::get().made(place)?;
        let mut registry = registry::lock()?;
        let predefined = abi::get().is_predefined_type(handle);
        let datatype = ask(&mut registry, handle, predefined, true)?;
        // Those of MPI_Type_create_f90_real, which may be committed and not freed, are made of no other.
        let datatype = Datatype { to_free: by_program && constructor::is_derived(handle), ..datatype };
        // One that was freed without being seen.
        registry::insert(&mut registry.datatypes, handle, datatype).inspect(|_| generation::outdate(handle));
        Some(())
    });
}

/// A data type's size and name; `None` where it is not known and MPI may not be asked about it.
pub fn find(registry: &mut Registry, handle: usize, may_ask: bool) -> Option<Datatype> {
    if let Some(&known) = registry.datatypes.get(&handle) {
        return Some(known);
    }
    let predefined = abi::get().is_predefined_type(handle);
    if !predefined && !may_ask {
        return None;
    }
    let datatype = ask(registry, handle, predefined, false)?;
    // A type whose commit was not seen may be freed without being seen: asked about each time.
    if predefined {
        registry.datatypes.insert(handle, datatype);
    }
    Some(datatype)
}

/// A data type of which MPI is not asked: the call that passes it has not returned. `None`: not known.
#[inline(always)]
pub fn without_asking(thread: ThreadRef, handle: usize) -> Option<KnownType> {
    thread.with_cache(|cache| cache.types.find(handle)).or_else(|| find_known(thread, handle, false))
}

#[inline(always)]
pub fn accepted(thread: ThreadRef, handle: usize) -> KnownType {
    let known = thread.with_cache(|cache| cache.types.find(handle)).or_else(|| find_known(thread, handle, true));
    known.unwrap_or(KnownType { size: 0, types: classes::OTHER })
}

#[cold]
#[inline(never)]
fn find_known(thread: ThreadRef, handle: usize, may_ask: bool) -> Option<KnownType> {
    thread::catch_panic(|| {
        let generation = generation::present();
        let mut registry = registry::lock()?;
        let Datatype { size, code, .. } = find(&mut registry, handle, may_ask)?;
        let known = KnownType { size, types: types::class(code) };
        // One whose commit was not seen may be freed without being seen.
        if registry.datatypes.contains_key(&handle) {
            thread.with_cache(|cache| cache.types.keep(handle, known, generation));
        }
        Some(known)
    })
}
