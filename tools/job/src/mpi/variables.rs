//! The variables that a library has in the tool information interface (MPI 5.0, chapter 15.3): its performance
//! variables with all that is said of them.

use std::ffi::{c_char, c_int};

use serde::{Deserialize, Serialize};

use super::abi::Family;
use super::library::{Library, text_of};

/// An MPI_T performance variable of a library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Performance {
    /// Its name, which MPITRACE_PVARS takes.
    pub name: String,
    /// `counter`, `timer`, `level`, ...
    pub class: String,
    /// The library's own words on it; may be empty.
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

/// The performance variables of a library, none where the interface cannot be initialised. It is never finalised: that
/// crashes some versions of MPICH before MPI_Finalize, and the process ends anyway.
pub fn performance(library: &Library, family: Family) -> Vec<Performance> {
    // SAFETY: these are the functions' types.
    let (init, get_number, info): (Option<InitThread>, Option<GetNumber>, Option<PerformanceInfo>) = unsafe {
        (
            library.function(c"MPI_T_init_thread"),
            library.function(c"MPI_T_pvar_get_num"),
            library.function(c"MPI_T_pvar_get_info"),
        )
    };
    let (Some(init), Some(get_number), Some(info)) = (init, get_number, info) else { return Vec::new() };
    /// MPI_THREAD_SINGLE of every family.
    const SINGLE: c_int = 0;
    let (mut provided, mut count) = (0, 0);
    // SAFETY: the numbers outlive the calls.
    if unsafe { init(SINGLE, &raw mut provided) != 0 || get_number(&raw mut count) != 0 } {
        return Vec::new();
    }
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
            let class = class - family.first_class();
            let known = usize::try_from(class).ok().and_then(|index| CLASSES.get(index));
            Performance {
                name: text_of(&name),
                class: known.map_or_else(|| class.to_string(), |class| (*class).to_owned()),
                description: text_of(&description),
            }
        })
    };
    (0..count).filter_map(of).collect()
}
