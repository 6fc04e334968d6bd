//! Which algorithm the MPI library takes for a collective.
//!
//! Open MPI has each algorithm in a function of its own, and calls most of them by their symbols. This library exports
//! the same names (`src/format/facts/algorithms.txt`): stubs that note their number with the thread and go on to the
//! library's function ([`stubs`]). Not every build calls them so: [`references`] finds out, and a collective is stated
//! to be seen only where all calls come by here.

mod references;
mod stubs;

use std::ffi::{CStr, CString, c_int, c_void};

use mpitrace_format::algorithms::{Function, NOT_VISIBLE, functions};

use crate::base::symbol::{self, Object};
use stubs::{NAMES, SYMBOLS};

/// Finds the library's functions before a call needs them: the collectives whose algorithms are all seen, or
/// [`NOT_VISIBLE`].
pub fn start() -> String {
    let reached = references::find();
    let is_plugin = |object: &Object| object.path.to_bytes().windows(PLUGIN.len()).any(|part| part == PLUGIN);
    let plugins = symbol::loaded_objects().into_iter().filter(is_plugin);
    let objects: Vec<Object> = symbol::libraries().chain(plugins).collect();
    let has = |symbol: &str| {
        let name = CString::new(symbol).unwrap_or_default();
        objects.iter().any(|object| !symbol::look_up_in(&object.path, &name).is_null())
    };
    let mut seen: Vec<(&str, bool)> = Vec::new();
    for (index, (function, &reached)) in functions().iter().zip(&reached).enumerate() {
        if reached {
            let _ = find(index);
        } else if is_leaf(function) || !has(function.symbol) {
            continue;
        }
        // One that is entered first, past this library, and then calls one that is seen would give that one's name.
        match seen.last_mut().filter(|last| last.0 == function.collective) {
            Some(last) => last.1 &= reached,
            None => seen.push((function.collective, reached)),
        }
    }
    let names: Vec<&str> = seen.iter().filter(|collective| collective.1).map(|collective| collective.0).collect();
    if names.is_empty() { NOT_VISIBLE.to_owned() } else { names.join(" ") }
}

/// In the names of the files that have components of collectives.
const PLUGIN: &[u8] = b"mca_coll_";

/// Components whose functions call none of their own collective.
const LEAVES: [&str; 3] = ["mca_coll_basic_", "mca_coll_sm_", "ompi_coll_adapt_"];

fn is_leaf(function: &Function) -> bool {
    LEAVES.iter().any(|component| function.symbol.starts_with(component))
}

/// Where a stub goes on that is called for the first time, or before MPI is in use.
extern "C" fn destination(index: u32) -> usize {
    find(index as usize).map_or(lacking as *const () as usize, |address| address.addr())
}

/// The library's function behind the stub of this number.
fn find(index: usize) -> Option<*mut c_void> {
    let name = NAMES.split_inclusive('\0').nth(index)?;
    SYMBOLS.get(index)?.find_in_any_object(CStr::from_bytes_with_nul(name.as_bytes()).ok()?)
}

/// A function in place of one that nothing defines and something calls nevertheless: Open MPI's OMPI_ERROR.
extern "C" fn lacking() -> c_int {
    -1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::thread;

    #[test]
    fn a_thread_has_the_first_function_that_a_call_enters_and_the_next_one() {
        let stubs = stubs::ADDRESSES;
        assert_eq!(stubs.len(), functions().len());
        // No library in this process has any of them.
        let enter = move |index: usize| {
            // SAFETY: the stub goes on to `lacking`, which takes no argument.
            let stub: extern "C" fn() -> c_int = unsafe { std::mem::transmute(stubs[index]) };
            assert_eq!(stub(), -1);
        };
        std::thread::spawn(move || enter(3)).join().unwrap();
        let thread = thread::current_or_new().unwrap();
        assert_eq!(thread.take_algorithm(), None, "of another thread, which has no state");
        enter(7);
        assert_eq!(thread.take_algorithm(), Some(8));
        [160, 5, 9].into_iter().for_each(enter);
        assert_eq!(thread.take_algorithm(), Some(161 | 6 << 16));
        assert_eq!(thread.take_algorithm(), None);
        assert_eq!(start(), NOT_VISIBLE);
    }
}
