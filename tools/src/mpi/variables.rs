//! The variables that a library has in the tool information interface (MPI 5.0, chapter 15.3): its performance
//! variables with all that is said of them.

use std::ffi::{c_char, c_int};

use serde::{Deserialize, Serialize};

use super::abi::Family;
use super::library::{Library, text_of};

/// A performance variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Performance {
    /// Its name, which MPITRACE_PVARS takes.
    pub name: String,
    /// `counter`, `timer`, `level`, ...
    pub class: String,
    /// The object that a handle for it is bound to: `none`, `communicator`, ...
    pub binding: String,
    /// The type of its values.
    pub datatype: String,
    /// True if it runs all the time, and cannot be started and stopped.
    pub continuous: bool,
    /// True if it cannot be set back.
    pub readonly: bool,
    /// The library's description.
    pub description: String,
}

/// In the standard's order, as are the following.
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
/// Objects that a variable can belong to.
const BINDINGS: [&str; 12] = [
    "none",
    "communicator",
    "datatype",
    "error handler",
    "file",
    "group",
    "operator",
    "request",
    "window",
    "message",
    "info",
    "session",
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

/// A name and a description, as the library fills them in.
struct Texts {
    name: Vec<u8>,
    name_length: c_int,
    description: Vec<u8>,
    description_length: c_int,
}

impl Texts {
    fn new() -> Texts {
        let length = LONGEST as c_int;
        Texts { name: vec![0; LONGEST], name_length: length, description: vec![0; LONGEST], description_length: length }
    }
}

/// The interface of a library, initialised. Never finalised: that crashes some versions of MPICH before MPI_Finalize,
/// and the process ends anyway.
pub struct ToolInterface<'l> {
    library: &'l Library,
    family: Family,
}

impl<'l> ToolInterface<'l> {
    /// Initialises it, which is allowed before MPI_Init.
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

    /// The performance variables there are at this time; MPI_Init can bring more.
    pub fn performance(&self) -> Vec<Performance> {
        // SAFETY: this is the function's type.
        let Some(info) = (unsafe { self.library.function::<PerformanceInfo>(c"MPI_T_pvar_get_info") }) else {
            return Vec::new();
        };
        let first = self.family.first_values();
        let of = |index: c_int| {
            let mut texts = Texts::new();
            let (mut verbosity, mut class, mut bind, mut readonly, mut continuous, mut atomic) = (0, 0, 0, 0, 0, 0);
            let (mut datatype, mut enumeration) = (0, 0);
            // SAFETY: the buffers are as long as said; a data type takes at most a machine word, and all outlive the
            // call.
            let result = unsafe {
                info(
                    index,
                    texts.name.as_mut_ptr().cast(),
                    &raw mut texts.name_length,
                    &raw mut verbosity,
                    &raw mut class,
                    &raw mut datatype,
                    &raw mut enumeration,
                    texts.description.as_mut_ptr().cast(),
                    &raw mut texts.description_length,
                    &raw mut bind,
                    &raw mut readonly,
                    &raw mut continuous,
                    &raw mut atomic,
                )
            };
            // A component that was closed leaves its numbers behind.
            (result == 0).then(|| Performance {
                name: text_of(&texts.name),
                class: named(&CLASSES, class - first.class),
                binding: named(&BINDINGS, bind - first.bind),
                datatype: self.family.type_name(self.library, datatype),
                continuous: continuous != 0,
                readonly: readonly != 0,
                description: text_of(&texts.description),
            })
        };
        (0..self.number(c"MPI_T_pvar_get_num")).filter_map(of).collect()
    }
}

/// The name with this number; the number where there is none.
fn named(names: &[&str], number: c_int) -> String {
    let name = usize::try_from(number).ok().and_then(|index| names.get(index));
    name.map_or_else(|| number.to_string(), |name| (*name).to_owned())
}
