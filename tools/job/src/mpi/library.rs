//! An MPI library loaded into this process, and the prototypes by which it is called. No mpi.h: handles are machine
//! words.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// `int MPI_Init(int *, char ***)`.
pub type Init = unsafe extern "C" fn(*mut c_int, *mut c_void) -> c_int;
/// `int MPI_Finalize(void)`.
pub type Finalize = unsafe extern "C" fn() -> c_int;
/// `int MPI_Get_library_version(char *, int *)`.
pub type GetLibraryVersion = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
/// `int MPI_Allreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm)`.
pub type Allreduce = unsafe extern "C" fn(*const c_void, *mut c_void, c_int, usize, usize, usize) -> c_int;

/// MPI_MAX_LIBRARY_VERSION_STRING of MPICH; Open MPI's is 256.
const LONGEST_VERSION: usize = 8192;

/// A loaded library. Never unloaded: none of them can be.
pub struct Library {
    handle: *mut c_void,
}

impl Library {
    /// Loads it, its symbols visible to all: its own components need them.
    pub fn open(path: &Path) -> Result<Library, String> {
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| "a path with a zero byte".to_owned())?;
        // SAFETY: loads a library whose constructors run; this process is there for nothing else.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if !handle.is_null() {
            return Ok(Library { handle });
        }
        // SAFETY: dlerror gives a C string after a failure, or null.
        let error = unsafe { libc::dlerror() };
        if error.is_null() {
            return Err("the loader does not say why".to_owned());
        }
        // SAFETY: as above; copied before the next call of the loader.
        let error = unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned();
        // The caller adds the path.
        let path = format!("{}: ", path.to_string_lossy());
        Err(error.strip_prefix(&path).unwrap_or(&error).to_owned())
    }

    /// The library's own symbol of this name, whatever is preloaded.
    pub fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is valid, the name a C string.
        let address = unsafe { own_dlsym()(self.handle, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }

    /// The library's own function of this name.
    ///
    /// # Safety
    /// `F` is the function's type: an `extern "C"` function pointer.
    pub unsafe fn function<F: Copy>(&self, name: &CStr) -> Option<F> {
        // SAFETY: the caller's promise.
        self.symbol(name).map(|address| unsafe { as_function(address) })
    }

    /// The function that a program finds under this name: a preloaded library's before this one's.
    ///
    /// # Safety
    /// As [`Library::function`].
    pub unsafe fn first_function<F: Copy>(&self, name: &CStr) -> Option<F> {
        // SAFETY: the name is a C string.
        let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        // SAFETY: the caller's promise.
        (!address.is_null()).then(|| unsafe { as_function(address) })
    }

    /// The library's own name and version. May be asked before MPI_Init.
    pub fn version(&self) -> Option<String> {
        // SAFETY: this is the function's type.
        let get: GetLibraryVersion = unsafe { self.function(c"MPI_Get_library_version") }?;
        let mut text = vec![0u8; LONGEST_VERSION];
        let mut length = 0;
        // SAFETY: the buffer is as long as the longest version of any library, and both outlive the call.
        let result = unsafe { get(text.as_mut_ptr().cast(), &raw mut length) };
        (result == 0).then(|| text_of(&text))
    }
}

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// The `dlsym` of the C library: that of a preloaded tracer gives wrappers in place of the library's functions.
fn own_dlsym() -> Dlsym {
    let versions = [c"GLIBC_2.34", c"GLIBC_2.17", c"GLIBC_2.2.5"];
    let libraries = [c"libc.so.6", c"libdl.so.2"];
    let found = libraries.iter().find_map(|library| {
        // SAFETY: the name is a C string; a library that is not loaded already stays so.
        let handle = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        let versions = versions.iter().filter(|_| !handle.is_null());
        // SAFETY: the handle is valid, and both names are C strings.
        let mut found = versions.map(|version| unsafe { libc::dlvsym(handle, c"dlsym".as_ptr(), version.as_ptr()) });
        found.find(|address| !address.is_null())
    });
    // SAFETY: this is the function's type.
    found.map_or(libc::dlsym, |address| unsafe { as_function(address) })
}

pub fn text_of(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

/// The address as a function.
///
/// # Safety
/// `F` is the type of the function there: an `extern "C"` function pointer.
unsafe fn as_function<F: Copy>(address: *mut c_void) -> F {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the caller's promise; the sizes are equal.
    unsafe { std::mem::transmute_copy(&address) }
}
