//! The loader's own `dlsym`, in front of which this library stands ([`crate::exports::dlsym`]).

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// `void *dlsym(void *, const char *)`.
type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// The versions that `dlsym` has in the C libraries. The first one is in all: looking for one that is not there
/// allocates.
#[cfg(target_arch = "x86_64")]
const VERSIONS: [&CStr; 2] = [c"GLIBC_2.2.5", c"GLIBC_2.34"];
#[cfg(target_arch = "aarch64")]
const VERSIONS: [&CStr; 2] = [c"GLIBC_2.17", c"GLIBC_2.34"];

/// The next definition behind this library's, which may be another tool's; null: it is to be looked for.
pub static NEXT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// The C library's.
static OWN: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Finds [`NEXT`]. Allocates nothing: memory allocators look for what they replace.
pub extern "C" fn find_next() -> *mut c_void {
    let found = in_versions(libc::RTLD_NEXT);
    let found = if found.is_null() { nothing as *mut c_void } else { found };
    NEXT.store(found, Ordering::Relaxed);
    found
}

/// Looks a name up by a handle, for the program.
pub fn next(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    let known = NEXT.load(Ordering::Relaxed);
    call(if known.is_null() { find_next() } else { known }, handle, name)
}

/// Looks a name up by a handle, for the tracer: no other tool is asked.
pub fn look_up(handle: *mut c_void, name: &CStr) -> *mut c_void {
    let mut own = OWN.load(Ordering::Relaxed);
    if own.is_null() {
        own = of_c_library();
        OWN.store(own, Ordering::Relaxed);
    }
    call(own, handle, name.as_ptr())
}

fn of_c_library() -> *mut c_void {
    for file in [c"libc.so.6", c"libdl.so.2"] {
        // SAFETY: the file is a C string; NOLOAD gives a handle only of what is in the process already.
        let library = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if library.is_null() {
            continue;
        }
        let found = in_versions(library);
        // SAFETY: releases the reference that dlopen has just taken; the C library stays.
        unsafe { libc::dlclose(library) };
        if !found.is_null() {
            return found;
        }
    }
    find_next()
}

fn in_versions(handle: *mut c_void) -> *mut c_void {
    let of = |version: &&CStr| {
        // SAFETY: a handle or RTLD_NEXT, and two C strings.
        unsafe { libc::dlvsym(handle, c"dlsym".as_ptr(), version.as_ptr()) }
    };
    VERSIONS.iter().map(of).find(|found| !found.is_null()).unwrap_or(std::ptr::null_mut())
}

fn call(function: *mut c_void, handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: all that is stored is a function of this type, and the arguments are those of a call of it.
    unsafe { std::mem::transmute::<*mut c_void, Dlsym>(function)(handle, name) }
}

/// A function in place of a `dlsym` that is not there.
unsafe extern "C" fn nothing(_: *mut c_void, _: *const c_char) -> *mut c_void {
    std::ptr::null_mut()
}
