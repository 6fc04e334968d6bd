//! Other libraries named `libmpitrace.so` in the process: Extrae and IBM's tracer bring one too, and ours may be
//! preloaded twice from two places.

use std::ffi::c_char;

use crate::base::{log, symbol};

/// The version of the tracer that is preloaded, as a C string.
///
/// Also the mark by which a second copy of this library finds out that it is the second.
#[unsafe(no_mangle)]
pub extern "C" fn mpitrace_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// True if a copy of this library that comes earlier in the search order does the tracing: this one only forwards then.
pub fn another_traces() -> bool {
    let first = symbol::data(c"mpitrace_version");
    !first.is_null() && symbol::object_of(first.addr()) != own_object()
}

/// This library. Found by something that is not exported: the loader may bind an exported name to the first copy's.
fn own_object() -> Option<usize> {
    static HERE: u8 = 0;
    symbol::object_of((&raw const HERE).addr())
}

/// Names the other libraries of our name, a line each.
pub fn say_namesakes(speaks: bool) {
    if !speaks {
        return;
    }
    let own = own_object();
    for object in symbol::loaded_objects() {
        let file = object.path.to_string_lossy();
        let name = file.rsplit('/').next().unwrap_or_default();
        if !name.starts_with("libmpitrace.so") || Some(object.base) == own {
            continue;
        }
        let what = if object.defines(c"mpitrace_version") {
            "a second copy of the tracer: it records nothing"
        } else {
            "another tool's library of the same name; both see the program's calls"
        };
        log::line(&format!("{file} is {what}"));
    }
}
