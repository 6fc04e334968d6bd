//! Finds the definition of an MPI function beyond our own.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::base::{errno, loader};

/// An MPI function as a library below this one defines it.
///
/// Each exported name is forwarded to the next definition of the same name: so another tool that exports only `MPI_X`
/// keeps seeing its calls, above us or below.
///
/// An address is kept while MPI is in use only: before and after that a program may close the library, as one that
/// brings it along with a plugin does, and open it again at another address.
pub struct Symbol {
    address: AtomicPtr<c_void>,
    /// True if it is in the list that begins with [`KEPT`], where it then stays.
    listed: AtomicBool,
    next: AtomicPtr<Symbol>,
}

static KEPT: AtomicPtr<Symbol> = AtomicPtr::new(std::ptr::null_mut());

static IN_USE: AtomicBool = AtomicBool::new(false);

/// MPI is in use: symbols are cached from here on.
pub fn keep() {
    IN_USE.store(true, Ordering::Relaxed);
}

/// MPI is not in use any more: nothing that was found is kept.
pub fn forget() {
    IN_USE.store(false, Ordering::Relaxed);
    let mut next = KEPT.load(Ordering::Acquire);
    // SAFETY: the list is made of symbols that are statics.
    while let Some(symbol) = unsafe { next.as_ref() } {
        symbol.address.store(std::ptr::null_mut(), Ordering::Relaxed);
        next = symbol.next.load(Ordering::Acquire);
    }
}

/// In [`Symbol::address`]: looked for, and not found.
const ABSENT: *mut c_void = std::ptr::without_provenance_mut(1);

/// Where a symbol has its address, bytes from its start; up to 1: it is to be looked for. For code that is no Rust.
pub const PLACE_OF_ADDRESS: usize = std::mem::offset_of!(Symbol, address);

impl Symbol {
    /// A function that has not been looked for yet. Its name is stated where it is looked for: an address here would
    /// have the loader write to each symbol in every process.
    pub const fn new() -> Symbol {
        Symbol {
            address: AtomicPtr::new(std::ptr::null_mut()),
            listed: AtomicBool::new(false),
            next: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// The address of the function of this name. `None` where the MPI library at hand does not have it.
    #[inline(always)]
    pub fn get(&'static self, name: &CStr) -> Option<*mut c_void> {
        self.known().or_else(|| self.find(name))
    }

    #[inline(always)]
    pub fn known(&'static self) -> Option<*mut c_void> {
        let address = self.address.load(Ordering::Relaxed);
        (address.addr() > ABSENT.addr()).then_some(address)
    }

    /// Looks the function up. `None` where the MPI library at hand does not have it.
    #[cold]
    #[inline(never)]
    pub fn find(&'static self, name: &CStr) -> Option<*mut c_void> {
        if self.address.load(Ordering::Relaxed) == ABSENT {
            return None;
        }
        let found = errno::kept(|| next_definition(name));
        // An absence is remembered only when a library was there to be searched: mpi4py and Julia load theirs late.
        if !found.is_null() {
            self.keep(found);
        } else if libraries().next().is_some() {
            self.keep(ABSENT);
        }
        (!found.is_null()).then_some(found)
    }

    /// The function's address, also where only a plugin of the MPI library has it.
    #[cold]
    pub fn find_in_any_object(&'static self, name: &CStr) -> Option<*mut c_void> {
        if let Some(known) = self.known() {
            return Some(known);
        }
        let found = errno::kept(|| {
            let found = next_definition(name);
            if found.is_null() { in_any_object(name) } else { found }
        });
        if !found.is_null() {
            self.keep(found);
        }
        (!found.is_null()).then_some(found)
    }

    /// Keeps what was found, for as long as MPI is in use.
    fn keep(&'static self, found: *mut c_void) {
        if !IN_USE.load(Ordering::Relaxed) {
            return;
        }
        if !self.listed.swap(true, Ordering::Relaxed) {
            let this = std::ptr::from_ref(self).cast_mut();
            let link = |first| {
                self.next.store(first, Ordering::Relaxed);
                Some(this)
            };
            let _ = KEPT.fetch_update(Ordering::Release, Ordering::Relaxed, link);
        }
        self.address.store(found, Ordering::Relaxed);
    }
}

/// The next definition of `name` in the search order behind this library, else one in an MPI library that was loaded
/// with `dlopen`. Never through RTLD_DEFAULT, which would find ourselves.
pub fn next_definition(name: &CStr) -> *mut c_void {
    let found = loader::look_up(libc::RTLD_NEXT, name);
    if !found.is_null() {
        return found;
    }
    let found = libraries().map(|library| look_up_in(&library.path, name)).find(|found| !found.is_null());
    found.unwrap_or(std::ptr::null_mut())
}

fn in_any_object(name: &CStr) -> *mut c_void {
    let ours = object_of(in_any_object as *const () as usize);
    let found = loaded_objects().into_iter().map(|object| look_up_in(&object.path, name));
    found.into_iter().find(|found| !found.is_null() && object_of(found.addr()) != ours).unwrap_or(std::ptr::null_mut())
}

/// A data symbol of the MPI library, such as the objects behind Open MPI's predefined handles. The program may hold a
/// copy (copy relocation), which is then the one that counts.
pub fn data(name: &CStr) -> *mut c_void {
    // By a handle of the program and of all that it can see, which no file's name gives: with RTLD_DEFAULT the loader
    // would keep the library, since this one has found something in it, when the program closes it.
    let found = look_up_by(std::ptr::null(), name);
    if found.is_null() { next_definition(name) } else { found }
}

pub fn pointer_in(name: &CStr) -> Option<usize> {
    let place = data(name).cast::<usize>();
    // SAFETY: a symbol that is found is mapped; the caller names a variable that is a pointer, which MPI_Init has set.
    (!place.is_null()).then(|| unsafe { place.read() })
}

fn information(address: usize) -> Option<libc::Dl_info> {
    // SAFETY: a Dl_info is made of pointers, which may be null.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr takes any address; `info` outlives the call.
    let found = unsafe { libc::dladdr(std::ptr::without_provenance(address), &raw mut info) } != 0;
    found.then_some(info)
}

/// The name of the symbol that starts exactly at this address, and the file that it is in.
pub fn starting_at(address: usize) -> Option<(&'static CStr, &'static CStr)> {
    let info = information(address)?;
    if info.dli_sname.is_null() || info.dli_saddr.addr() != address {
        return None;
    }
    // SAFETY: both point into the loaded object, which stays: MPI libraries are not unloaded while MPI is in use.
    Some(unsafe { (CStr::from_ptr(info.dli_sname), CStr::from_ptr(info.dli_fname)) })
}

/// The loaded MPI libraries: all that defines `PMPI_Init`, which this library does too. The file's name says nothing:
/// Cray's is `libmpi_gnu_91.so.12`, Spectrum's `libmpi_ibm.so`.
pub fn libraries() -> impl Iterator<Item = Object> {
    let ours = object_of(libraries as *const () as usize);
    let is_mpi =
        move |object: &Object| !object.path.is_empty() && Some(object.base) != ours && object.defines(c"PMPI_Init");
    loaded_objects().into_iter().filter(is_mpi)
}

pub struct Object {
    /// Its file; empty for the program itself.
    pub path: CString,
    /// The number that is added to its addresses.
    pub base: usize,
}

impl Object {
    /// True if it defines the symbol itself, and not one that it depends on.
    pub fn defines(&self, name: &CStr) -> bool {
        let found = look_up_in(&self.path, name);
        !found.is_null() && object_of(found.addr()) == Some(self.base)
    }
}

pub fn loaded_objects() -> Vec<Object> {
    let mut objects = Vec::new();
    for_each_object(&mut |object, _| {
        objects.push(Object { path: object.0.to_owned(), base: object.1 });
        true
    });
    objects
}

/// The object that holds an address in one of its segments, with its notes.
pub fn object_with_notes(address: usize) -> Option<(Object, Vec<Vec<u8>>)> {
    let mut found = None;
    for_each_object(&mut |(name, base), headers| {
        let place = |header: &libc::Elf64_Phdr| base.wrapping_add(header.p_vaddr as usize);
        let holds = |header: &libc::Elf64_Phdr| {
            let start = place(header);
            header.p_type == libc::PT_LOAD && (start..start + header.p_memsz as usize).contains(&address)
        };
        if !headers.iter().any(holds) {
            return true;
        }
        let mut notes = Vec::new();
        for header in headers.iter().filter(|header| header.p_type == libc::PT_NOTE) {
            let start = std::ptr::with_exposed_provenance::<u8>(place(header));
            // SAFETY: a note segment is mapped with its object, which the loader keeps while this runs.
            notes.push(unsafe { std::slice::from_raw_parts(start, header.p_memsz as usize) }.to_vec());
        }
        found = Some((Object { path: name.to_owned(), base }, notes));
        false
    });
    found
}

/// Sees an object's name and base, and its program headers; whether it wants to see another.
pub type Visit<'v> = dyn FnMut((&CStr, usize), &[libc::Elf64_Phdr]) -> bool + 'v;

/// Calls `visit` for all that the loader has mapped, in its order, until it returns false. The loader's lock is held
/// meanwhile: nothing may be opened in there.
pub fn for_each_object(mut visit: &mut Visit<'_>) {
    unsafe extern "C" fn step(info: *mut libc::dl_phdr_info, _: usize, visit: *mut c_void) -> c_int {
        // SAFETY: `visit` is the reference below, which outlives the iteration and is not used elsewhere meanwhile.
        let visit = unsafe { &mut *visit.cast::<&mut Visit<'_>>() };
        // SAFETY: the loader hands over a valid entry.
        let info = unsafe { &*info };
        if info.dlpi_name.is_null() {
            return 0;
        }
        // SAFETY: the loader's names are C strings.
        let name = unsafe { CStr::from_ptr(info.dlpi_name) };
        // SAFETY: an entry has as many program headers as it says.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        c_int::from(!visit((name, info.dlpi_addr as usize), headers))
    }
    // SAFETY: `step` is as dl_iterate_phdr wants it.
    unsafe { libc::dl_iterate_phdr(Some(step), (&raw mut visit).cast()) };
}

pub fn object_of(address: usize) -> Option<usize> {
    information(address).map(|info| info.dli_fbase.addr())
}

/// This library's own definition.
pub fn in_this_library(name: &CStr) -> Option<*mut c_void> {
    let this = information(in_this_library as *const () as usize)?;
    // SAFETY: the loader's name of an object that stays: this library is not unloaded.
    let found = look_up_in(unsafe { CStr::from_ptr(this.dli_fname) }, name);
    (!found.is_null() && object_of(found.addr()) == Some(this.dli_fbase.addr())).then_some(found)
}

/// Looks a symbol up in an object that is loaded already, and what it depends on.
pub fn look_up_in(path: &CStr, name: &CStr) -> *mut c_void {
    look_up_by(path.as_ptr(), name)
}

fn look_up_by(path: *const c_char, name: &CStr) -> *mut c_void {
    // SAFETY: null, or a C string; NOLOAD gives a handle only of what is in the process already.
    let handle = unsafe { libc::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return handle;
    }
    let found = loader::look_up(handle, name);
    // SAFETY: releases the reference that dlopen has just taken.
    unsafe { libc::dlclose(handle) };
    found
}
