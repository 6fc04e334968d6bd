//! The three binary interfaces of MPI libraries, distinguished at run time, so that one library serves them all.
//!
//! No `mpi.h` is used: a handle is a machine word that is passed on as it came. What must be known beyond that stands
//! here.

use std::ffi::{CString, c_int};
use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use mpitrace_format::layout::abi as family;
use mpitrace_platform::abi::{self, Constants, Handle};

use crate::base::{program, symbol};
use crate::mpi::{self, Comm};

/// The interface of the MPI library in the process: the constants of its interface, and the handles that
/// have an address of this process in it.
#[derive(Debug)]
pub struct Abi {
    /// One of [`family`].
    pub family: u32,
    constants: Constants,
    pub comm_world: usize,
    pub comm_self: usize,
    pub comm_null: usize,
    pub byte: usize,
    pub int64: usize,
    pub min: usize,
    pub sum: usize,
    pub errors_return: usize,
    pub info_null: usize,
    pub request_null: usize,
    /// Open MPI's request for all that is complete at its start; 0 in other families.
    empty_request: usize,
}

impl Deref for Abi {
    type Target = Constants;

    #[inline(always)]
    fn deref(&self) -> &Constants {
        &self.constants
    }
}

static ABI: OnceLock<Abi> = OnceLock::new();
/// [`Abi::handle_mask`], once it is known.
static HANDLE_MASK: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Selects the bits of a handle that count. Calls are recorded only when the interface is known.
#[inline(always)]
pub fn handle_mask() -> usize {
    HANDLE_MASK.load(Ordering::Relaxed)
}

/// The requests that calls share which are complete at their start, where those had to be found out; 0: none. MPICH has
/// one for each kind of call.
static COMPLETE_REQUESTS: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

/// The interface of the library in the process. Known from the first MPI call that needs it on.
pub fn get() -> &'static Abi {
    ABI.get_or_init(|| {
        let abi = Abi::detect();
        HANDLE_MASK.store(abi.handle_mask, Ordering::Relaxed);
        abi
    })
}

/// The predefined reduction operators: the numbers of MPICH and of the standard (MPI 5.0, appendix A), and the name.
const OPERATORS: [(usize, usize, &str); 15] = [
    (0x1800_0000, 0x20, "MPI_OP_NULL"),
    (0x5800_0001, 0x23, "MPI_MAX"),
    (0x5800_0002, 0x22, "MPI_MIN"),
    (0x5800_0003, 0x21, "MPI_SUM"),
    (0x5800_0004, 0x24, "MPI_PROD"),
    (0x5800_0005, 0x30, "MPI_LAND"),
    (0x5800_0006, 0x28, "MPI_BAND"),
    (0x5800_0007, 0x31, "MPI_LOR"),
    (0x5800_0008, 0x29, "MPI_BOR"),
    (0x5800_0009, 0x32, "MPI_LXOR"),
    (0x5800_000a, 0x2a, "MPI_BXOR"),
    (0x5800_000b, 0x38, "MPI_MINLOC"),
    (0x5800_000c, 0x39, "MPI_MAXLOC"),
    (0x5800_000d, 0x3c, "MPI_REPLACE"),
    (0x5800_000e, 0x3d, "MPI_NO_OP"),
];

/// The names of the predefined reduction operators.
pub fn operators() -> impl Iterator<Item = &'static str> {
    OPERATORS.iter().map(|(.., name)| *name)
}

impl Abi {
    fn detect() -> Abi {
        // Asked first: Open MPI 6 has a library of the standard interface on top of its own, whose objects are then in
        // the process too. The libraries' own interfaces have the function as well, and answer -1.
        if mpi::abi_version().is_some_and(|major| major >= 1) {
            return Abi::new(family::STANDARD, &abi::STANDARD);
        }
        match symbol::data(c"ompi_mpi_comm_world").is_null() {
            true => Abi::new(family::MPICH, &abi::MPICH),
            false => Abi::new(family::OPENMPI, &abi::OPENMPI),
        }
    }

    /// The constants of a family, with the addresses of this process' library.
    fn new(family: u32, constants: &Constants) -> Abi {
        let value = |handle: Handle| handle.value(|name| symbol::data(name).addr());
        Abi {
            family,
            comm_world: value(constants.comm_world),
            comm_self: value(constants.comm_self),
            comm_null: value(constants.comm_null),
            byte: value(constants.byte),
            int64: value(constants.int64),
            min: value(constants.min),
            sum: value(constants.sum),
            errors_return: value(constants.errors_return),
            info_null: value(constants.info_null),
            request_null: value(constants.request_null),
            empty_request: match family {
                family::OPENMPI => symbol::data(c"ompi_request_empty").addr(),
                _ => 0,
            },
            constants: *constants,
        }
    }

    /// True if an error code says that the library has refused an argument (MPI_ERR_BUFFER to MPI_ERR_ARG): such a call
    /// has been matched with none on another rank. After any other error it may have been.
    pub fn is_argument_error(&self, code: c_int) -> bool {
        let class = mpi::class_of_error(code);
        class.is_some_and(|class| (1..=self.last_argument_class).contains(&class))
    }

    /// The handle in a register, with what is undefined of it cleared.
    #[inline(always)]
    pub fn handle(&self, register: usize) -> usize {
        register & self.handle_mask
    }

    /// The handle that lies at `place`, where the program has passed that to an MPI function; 0, which no handle is,
    /// for a null pointer.
    pub fn read(&self, place: usize) -> usize {
        match (place, self.handle_size) {
            (0, _) => 0,
            (_, 4) => program::element::<u32>(place, 0) as usize,
            _ => program::element(place, 0),
        }
    }

    /// The handles of an array of so many; none where there is no array.
    pub fn handles(&self, count: usize, array: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        let count = if array == 0 { 0 } else { (count as c_int).max(0) as usize };
        (0..count).map(move |index| self.read(array + index * self.handle_size))
    }

    /// The handle that a call has stored at `place`.
    pub fn made(&self, place: usize) -> Option<usize> {
        Some(self.read(place)).filter(|&handle| handle != 0)
    }

    /// The name of a predefined reduction operator; `None` for one that the program made.
    pub fn predefined_reduction(&self, handle: usize) -> Option<&'static str> {
        // Open MPI's are objects, named as they are: ompi_mpi_op_max.
        static OBJECTS: OnceLock<[usize; OPERATORS.len()]> = OnceLock::new();
        let object = |(.., name): (usize, usize, &str)| {
            let name = name.trim_start_matches("MPI_").trim_start_matches("OP_").to_ascii_lowercase();
            let name = CString::new(format!("ompi_mpi_op_{name}"));
            name.map_or(0, |name| symbol::data(&name).addr())
        };
        let place = match self.family {
            family::MPICH => OPERATORS.iter().position(|(mpich, ..)| *mpich == handle),
            family::STANDARD => OPERATORS.iter().position(|(_, standard, _)| *standard == handle),
            _ => OBJECTS.get_or_init(|| OPERATORS.map(object)).iter().position(|object| *object == handle),
        };
        place.map(|place| OPERATORS[place].2)
    }

    /// True if this request, as a starting call has stored it, is one that calls share which are complete already.
    #[inline(always)]
    pub fn is_complete_request(&self, handle: usize) -> bool {
        match self.family {
            family::OPENMPI => handle == self.request_null || handle == self.empty_request,
            // Built in, and not made for the call.
            family::MPICH => handle == self.request_null || handle & 0xc000_0000 == 0x4000_0000,
            _ => {
                let mut shared = COMPLETE_REQUESTS.iter().map(|shared| shared.load(Ordering::Relaxed));
                handle == self.request_null || shared.any(|shared| handle == shared)
            }
        }
    }

    /// Finds the requests that calls share which are complete at their start, where the interface does not say which
    /// those are. To be called when MPI_COMM_SELF is there, and no other thread uses it.
    pub fn find_complete_requests(&self) {
        if self.family == family::STANDARD {
            let found = Comm::of_handle(self.comm_self).complete_requests();
            for (shared, found) in COMPLETE_REQUESTS.iter().zip(found) {
                shared.store(found.unwrap_or(0), Ordering::Relaxed);
            }
        }
    }

    /// True if this is a data type that the library came with.
    pub fn is_predefined_type(&self, handle: usize) -> bool {
        match self.family {
            // Built-in handles carry 0x4c; the pairs of a value and an index (MPI_FLOAT_INT, ...) are the first five of
            // those that the library made with its own means.
            family::MPICH => handle & 0xff00_0000 == 0x4c00_0000 || (0x8c00_0000..0x8c00_0005).contains(&handle),
            family::STANDARD => (0x201..0x300).contains(&handle),
            // A question about no type would end the job, in a function that the program has not called.
            _ => openmpi_symbol(handle, "ompi_mpi_").is_some_and(|name| name != "datatype_null"),
        }
    }
}

/// The rest behind `prefix` of the name of the object behind one of Open MPI's predefined handles.
fn openmpi_symbol(handle: usize, prefix: &str) -> Option<&'static str> {
    let (name, _) = symbol::starting_at(handle)?;
    name.to_str().ok()?.strip_prefix(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_operator_at_all_has_a_name_too() {
        let mpich = Abi::new(family::MPICH, &abi::MPICH);
        let standard = Abi::new(family::STANDARD, &abi::STANDARD);
        for (abi, null, max) in [(mpich, 0x1800_0000, 0x5800_0001), (standard, 0x20, 0x23)] {
            assert_eq!(abi.predefined_reduction(null), Some("MPI_OP_NULL"));
            assert_eq!(abi.predefined_reduction(max), Some("MPI_MAX"));
            assert_eq!(abi.predefined_reduction(0x1234), None);
        }
    }
}
