//! The variables that a library has in the tool information interface (MPI 5.0, chapter 15.3): its performance
//! variables with all that is said of them.

use std::ffi::{c_char, c_int};

use serde::{Deserialize, Serialize};

use super::abi::Family;
use super::library::{Library, text_of};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Performance {
    /// Its name, which MPITRACE_PVARS takes.
    pub name: String,
    /// `counter`, `timer`, `level`, ...
    pub class: String,
    pub description: String,
}

/// In the standard's order.
const CLASSES: [&str; 10] = [
    "state",
    "level",
    "size",
    "percentage",
    "high watermark",
    "low watermark",
    "counter",
    "aggregate",
    "timer",
    "generic",
];

type InitThread = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
type GetNumber = unsafe extern "C" fn(*mut c_int) -> c_int;
type PerformanceInfo = unsafe extern "C" fn(
    c_int,
    *mut c_char,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut usize,
    *mut usize,
    *mut c_char,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
) -> c_int;

/// Longer names and descriptions are cut by the library.
const LONGEST: usize = 1 << 14;

/// The interface of a library, initialised. Never finalised: that crashes some versions of MPICH before MPI_Finalize,
/// and the process ends anyway.
pub struct ToolInterface<'l> {
    library: &'l Library,
    family: Family,
}

impl<'l> ToolInterface<'l> {
    pub fn start(library: &'l Library, family: Family) -> Option<ToolInterface<'l>> {
        /// MPI_THREAD_SINGLE of every family.
        const SINGLE: c_int = 0;
        let mut provided = 0;
        // SAFETY: this is the function's type.
        let init: InitThread = unsafe { library.function(c"MPI_T_init_thread") }?;
        // SAFETY: the number outlives the call.
        (unsafe { init(SINGLE, &raw mut provided) } == 0).then_some(ToolInterface { library, family })
    }

    fn number(&self, function: &std::ffi::CStr) -> c_int {
        let mut number = 0;
        // SAFETY: this is the function's type.
        let get: Option<GetNumber> = unsafe { self.library.function(function) };
        // SAFETY: the number outlives the call.
        let result = get.map(|get| unsafe { get(&raw mut number) });
        if result == Some(0) { number } else { 0 }
    }

    pub fn performance(&self) -> Vec<Performance> {
        // SAFETY: this is the function's type.
        let Some(info) = (unsafe { self.library.function::<PerformanceInfo>(c"MPI_T_pvar_get_info") }) else {
            return Vec::new();
        };
        let of = |index: c_int| {
            let [mut name, mut description] = [vec![0u8; LONGEST], vec![0u8; LONGEST]];
            let [mut name_length, mut description_length] = [LONGEST as c_int; 2];
            let (mut class, mut number) = (0, 0);
            let mut ignored = 0;
            // SAFETY: the buffers are as long as said; a data type takes at most a machine word, and all outlive the
            // call.
            let result = unsafe {
                info(
                    index,
                    name.as_mut_ptr().cast(),
                    &raw mut name_length,
                    &raw mut number,
                    &raw mut class,
                    &raw mut ignored,
                    &raw mut ignored,
                    description.as_mut_ptr().cast(),
                    &raw mut description_length,
                    &raw mut number,
                    &raw mut number,
                    &raw mut number,
                    &raw mut number,
                )
            };
            // A component that was closed leaves its numbers behind.
            (result == 0).then(|| {
                let class = class - self.family.first_class();
                let known = usize::try_from(class).ok().and_then(|index| CLASSES.get(index));
                Performance {
                    name: text_of(&name),
                    class: known.map_or_else(|| class.to_string(), |class| (*class).to_owned()),
                    description: text_of(&description),
                }
            })
        };
        (0..self.number(c"MPI_T_pvar_get_num")).filter_map(of).collect()
    }
}
