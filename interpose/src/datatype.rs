//! Data types: their sizes and names, and when a handle stops meaning what it meant.

use std::ffi::c_int;

use crate::registry::{self, Registry};
use crate::{abi, lookup, mpi, recorder, thread};

/// The name of every data type that the program made.
pub const DERIVED: &str = "derived";

/// What is known of a data type.
#[derive(Clone, Copy)]
pub struct Datatype {
    /// Bytes of an element.
    pub size: u64,
    /// String reference.
    pub name: u32,
    pub predefined: bool,
}

impl Datatype {
    /// Asks MPI. The handle must be known to be a data type.
    pub fn ask(registry: &mut Registry, handle: usize, predefined: bool) -> Option<Datatype> {
        // SAFETY: predefined, committed, or used in a call that has returned well.
        let size = unsafe { mpi::size_of_type(handle) }?;
        let name = match predefined {
            // SAFETY: as above.
            true => unsafe { mpi::name_of_type(handle) },
            false => None,
        };
        Some(Datatype { size, name: registry.string(name.as_deref().unwrap_or(DERIVED)), predefined })
    }
}

/// `MPI_Type_commit`: from here on the type may be used in a call, so its size is looked up now.
pub fn commit(forward: impl FnOnce() -> c_int, datatype: usize) -> c_int {
    let result = thread::guarded(forward);
    if result == 0 {
        // SAFETY: the call has returned well, so this is the address of a data type's handle.
        remember(unsafe { abi::get().read(datatype) });
    }
    result
}

/// `MPI_Type_dup`: the copy of a committed type is committed.
pub fn dup(forward: impl FnOnce() -> c_int, datatype: usize, newtype: usize) -> c_int {
    let result = thread::guarded(forward);
    if result == 0 {
        let original = abi::get().handle(datatype);
        let committed = registry::lock().is_some_and(|registry| registry.datatypes.contains_key(&original));
        if committed || abi::get().is_predefined_type(original) {
            // SAFETY: the call has returned well, so this is the address of a data type's handle.
            remember(unsafe { abi::get().read(newtype) });
        }
    }
    result
}

/// `MPI_Type_free`: the handle may come back as another type.
pub fn free(forward: impl FnOnce() -> c_int, datatype: usize) -> c_int {
    // SAFETY: any address but null is what the program says is a handle's.
    let handle = unsafe { abi::get().read_if_any(datatype) };
    let result = thread::guarded(forward);
    if result == 0
        && let Some(mut registry) = registry::lock()
    {
        registry.datatypes.remove(&handle);
        lookup::next_generation();
    }
    result
}

fn remember(handle: usize) {
    recorder::sheltered(|| {
        let mut registry = registry::lock()?;
        let predefined = abi::get().is_predefined_type(handle);
        let datatype = Datatype::ask(&mut registry, handle, predefined)?;
        registry.datatypes.insert(handle, datatype);
        Some(())
    });
}
