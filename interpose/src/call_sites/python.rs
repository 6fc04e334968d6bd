//! The frames of a Python script that makes a call by mpi4py.
//!
//! mpi4py gives up the interpreter's lock before it calls MPI, so that nothing of the interpreter may be called or
//! changed here: its structures are read. A thread alone changes its frames, and this one is in a call; a frame keeps
//! its code alive, and a code's names and lines never change. Only `PyGILState_GetThisThreadState` is called, which
//! reads a variable of the thread's own in each version.

use std::ffi::c_void;
use std::sync::OnceLock;

use mpitrace_platform::python::{Layout, Memory, PythonPlace};

use crate::base::symbol;

const MOST: usize = 4096;

struct OwnMemory;

impl Memory for OwnMemory {
    fn read(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let start = std::ptr::with_exposed_provenance::<u8>(address as usize);
        // SAFETY: see `word`; a string and a table are as long as the interpreter's object says.
        (address != 0).then(|| unsafe { std::slice::from_raw_parts(start, length) }.to_vec())
    }

    fn word(&self, address: u64) -> Option<u64> {
        let place = std::ptr::with_exposed_provenance::<u64>(address as usize);
        // SAFETY: the address is that of a field of a thread's state, of one of its frames, or of what one keeps alive:
        // by the layout of this version, after the type of the code was found to be the interpreter's.
        (address > 4096).then(|| unsafe { place.read_unaligned() })
    }
}

pub struct Interpreter {
    layout: &'static Layout,
    code_type: u64,
    state: unsafe extern "C" fn() -> *const c_void,
}

/// A frame of the calling thread.
pub struct Frame {
    layout: &'static Layout,
    address: u64,
    /// A number of its instruction: no address, and another one for each.
    pub key: u64,
}

/// The interpreter of this process; `None` where it is of an unknown version, or built without the lock.
pub fn interpreter() -> Option<&'static Interpreter> {
    static FOUND: OnceLock<Option<Interpreter>> = OnceLock::new();
    FOUND.get_or_init(Interpreter::find).as_ref()
}

impl Interpreter {
    fn find() -> Option<Interpreter> {
        let find = |name| Some(symbol::data(name)).filter(|found| !found.is_null());
        let version = find(c"Py_GetVersion")?;
        // SAFETY: the function is of this type in each version, and returns a text that stays: `3.11.7 (main, ...`.
        let text = unsafe {
            let version =
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const std::ffi::c_char>(version);
            std::ffi::CStr::from_ptr(version())
        };
        let minor = text.to_str().ok()?.strip_prefix("3.")?.split(['.', '+']).next()?.parse().ok()?;
        let runtime = find(c"_PyRuntime")?.addr() as u64;
        // From 3.13 on the third word of the runtime says if it was built without the lock, which moves all fields.
        if minor >= 13 && OwnMemory.word(runtime + 16)? != 0 {
            return None;
        }
        let state = find(c"PyGILState_GetThisThreadState")?;
        Some(Interpreter {
            layout: Layout::of_version(minor)?,
            code_type: find(c"PyCode_Type")?.addr() as u64,
            // SAFETY: the function is of this type in each version.
            state: unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_void>(state) },
        })
    }

    /// The frames of the calling thread, the innermost first; none where it runs no Python.
    pub fn frames(&self) -> impl Iterator<Item = Frame> {
        // SAFETY: it may be called without the lock and by any thread, for which it then returns null.
        let state = unsafe { (self.state)() }.addr() as u64;
        let first = self.layout.innermost(&OwnMemory, state);
        let frames = std::iter::successors(first, |frame| self.layout.outer(&OwnMemory, *frame)).take(MOST);
        frames.filter_map(|address| {
            let code = self.layout.code(&OwnMemory, address)?;
            // Those between Python's and the interpreter's own functions have none.
            let is_code = OwnMemory.word(code + 8)? == self.code_type;
            let words = self.layout.instruction(&OwnMemory, address, code).filter(|_| is_code)?;
            let mixed = words.iter().fold(0u64, |key, word| (key.rotate_left(23) ^ word).wrapping_mul(MULTIPLIER));
            // Addresses have the highest bits clear, and what is made of one by negation both set.
            Some(Frame { layout: self.layout, address, key: mixed & (u64::MAX >> 2) | 1 << 62 })
        })
    }
}

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl Frame {
    pub fn place(&self) -> Option<PythonPlace> {
        self.layout.place(&OwnMemory, self.address)
    }
}
