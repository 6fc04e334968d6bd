//! What a library offers through the tool information interface (MPI 5.0, chapter 15.3): its variables with all that is
//! said of them.

use std::ffi::{c_char, c_int, c_void};

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
    /// What a handle for it is bound to: `none`, `communicator`, ...
    pub binding: String,
    /// The type of its values.
    pub datatype: String,
    /// Whether it runs all the time, and cannot be started and stopped.
    pub continuous: bool,
    /// Whether it cannot be set back.
    pub readonly: bool,
    /// What the library says of it.
    pub description: String,
}

/// A control variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    /// Its name.
    pub name: String,
    /// What a handle for it is bound to.
    pub binding: String,
    /// The type of its values.
    pub datatype: String,
    /// Which ranks must set it alike: `local`, `all`, ...; `constant` and `readonly`: it cannot be set.
    pub scope: String,
    /// Its value, where it is a number or a text and bound to nothing.
    pub value: Option<String>,
    /// What the library says of it.
    pub description: String,
}

impl Control {
    /// Whether it is one of those by which an algorithm for collectives is chosen, in any library.
    pub fn chooses_algorithm(&self) -> bool {
        let name = self.name.to_ascii_lowercase();
        // Open MPI's coll_tuned_allreduce_algorithm, MPICH's MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM; of other things than
        // collectives there are algorithms too (MPIR_CVAR_NODEMAP_ALGORITHM).
        let collective = name.starts_with("coll_") || name.contains("_intra_") || name.contains("_inter_");
        // Files and switches that choose for all of them.
        const OTHERS: [&str; 3] = ["dynamic_rules", "selection_tuning", "tuning_json"];
        // Intel's MPIR_CVAR_USE_ALLREDUCE stands behind I_MPI_ADJUST_ALLREDUCE, and only its description says so.
        const INTEL: [&str; 2] = ["I_MPI_ADJUST", "Control selection of MPI_"];
        collective && name.contains("algorithm")
            || OTHERS.iter().any(|part| name.contains(part))
            || INTEL.iter().any(|part| self.description.contains(part))
    }
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
/// Which processes must set a variable alike.
const SCOPES: [&str; 7] = ["constant", "readonly", "local", "group", "group, equal", "all", "all, equal"];

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
type ControlInfo = unsafe extern "C" fn(
    c_int,
    *mut c_char,
    *mut c_int,
    *mut c_int,
    *mut usize,
    *mut usize,
    *mut c_char,
    *mut c_int,
    *mut c_int,
    *mut c_int,
) -> c_int;
type HandleAlloc = unsafe extern "C" fn(c_int, *mut c_void, *mut usize, *mut c_int) -> c_int;
type Read = unsafe extern "C" fn(usize, *mut c_void) -> c_int;
type HandleFree = unsafe extern "C" fn(*mut usize) -> c_int;

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
        // SAFETY: both functions of this kind have this type.
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

    /// The control variables there are at this time.
    pub fn control(&self) -> Vec<Control> {
        // SAFETY: this is the function's type.
        let Some(info) = (unsafe { self.library.function::<ControlInfo>(c"MPI_T_cvar_get_info") }) else {
            return Vec::new();
        };
        let first = self.family.first_values();
        let of = |index: c_int| {
            let mut texts = Texts::new();
            let (mut verbosity, mut bind, mut scope) = (0, 0, 0);
            let (mut datatype, mut enumeration) = (0, 0);
            // SAFETY: as above.
            let result = unsafe {
                info(
                    index,
                    texts.name.as_mut_ptr().cast(),
                    &raw mut texts.name_length,
                    &raw mut verbosity,
                    &raw mut datatype,
                    &raw mut enumeration,
                    texts.description.as_mut_ptr().cast(),
                    &raw mut texts.description_length,
                    &raw mut bind,
                    &raw mut scope,
                )
            };
            let datatype = self.family.type_name(self.library, datatype);
            (result == 0).then(|| Control {
                name: text_of(&texts.name),
                binding: named(&BINDINGS, bind - first.bind),
                value: (bind == first.bind).then(|| self.value(index, &datatype)).flatten(),
                datatype,
                scope: named(&SCOPES, scope - first.scope),
                description: text_of(&texts.description),
            })
        };
        (0..self.number(c"MPI_T_cvar_get_num")).filter_map(of).collect()
    }

    /// The value of a control variable that is bound to nothing.
    fn value(&self, index: c_int, datatype: &str) -> Option<String> {
        // SAFETY: these are the functions' types.
        let (alloc, read, free): (HandleAlloc, Read, HandleFree) = unsafe {
            (
                self.library.function(c"MPI_T_cvar_handle_alloc")?,
                self.library.function(c"MPI_T_cvar_read")?,
                self.library.function(c"MPI_T_cvar_handle_free")?,
            )
        };
        let (mut handle, mut count) = (0, 0);
        // SAFETY: a handle is an address in every family, and the object of a variable that is bound to nothing is
        // ignored.
        if unsafe { alloc(index, std::ptr::null_mut(), &raw mut handle, &raw mut count) } != 0 {
            return None;
        }
        // No type is wider than 8 bytes.
        let mut bytes = vec![0u8; 8 * usize::try_from(count).unwrap_or(0).max(1) + 8];
        // SAFETY: the buffer has room for all elements.
        let result = unsafe { read(handle, bytes.as_mut_ptr().cast()) };
        // SAFETY: the handle is not used again.
        unsafe { free(&raw mut handle) };
        if result != 0 {
            return None;
        }
        let word = <[u8; 8]>::try_from(&bytes[..8]).ok()?;
        let int = <[u8; 4]>::try_from(&bytes[..4]).ok()?;
        match datatype {
            "MPI_CHAR" => Some(text_of(&bytes)),
            _ if count != 1 => None,
            "MPI_INT" | "MPI_INT32_T" => Some(i32::from_ne_bytes(int).to_string()),
            "MPI_C_BOOL" => Some(bytes[0].to_string()),
            "MPI_UNSIGNED" | "MPI_UINT32_T" => Some(u32::from_ne_bytes(int).to_string()),
            "MPI_UNSIGNED_LONG" | "MPI_UNSIGNED_LONG_LONG" | "MPI_UINT64_T" => {
                Some(u64::from_ne_bytes(word).to_string())
            }
            "MPI_COUNT" => Some(i64::from_ne_bytes(word).to_string()),
            "MPI_DOUBLE" => Some(f64::from_ne_bytes(word).to_string()),
            _ => None,
        }
    }
}

/// The name with this number; the number where there is none.
fn named(names: &[&str], number: c_int) -> String {
    let name = usize::try_from(number).ok().and_then(|index| names.get(index));
    name.map_or_else(|| number.to_string(), |name| (*name).to_owned())
}
