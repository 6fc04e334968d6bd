//! The three binary interfaces of MPI libraries: the handles and numbers that are needed to call one without its mpi.h.

use std::ffi::c_int;

use serde::{Deserialize, Serialize};

use super::library::Library;

/// A family of libraries with the same interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Handles are addresses of objects.
    OpenMpi,
    /// MPICH, Intel MPI, MVAPICH, Cray: handles are integers.
    Mpich,
    /// The interface of MPI 5.0: handles are small numbers, as wide as an address.
    Standard,
}

/// What is passed to MPI_Allreduce.
#[derive(Clone, Copy, Debug)]
pub struct Handles {
    pub comm_self: usize,
    pub double: usize,
    pub sum: usize,
}

/// The first value of each enumeration of the tool information interface. All families have the standard's order.
#[derive(Clone, Copy, Debug)]
pub struct FirstValues {
    pub class: c_int,
    pub bind: c_int,
    pub scope: c_int,
}

/// Data types of variables (MPI 5.0, chapter 15.3), with MPICH's number and that of the standard's appendix A.
const TYPES: [(&str, usize, usize); 10] = [
    ("MPI_CHAR", 0x4c00_0101, 0x243),
    ("MPI_INT", 0x4c00_0405, 0x209),
    ("MPI_UNSIGNED", 0x4c00_0406, 0x20d),
    ("MPI_UNSIGNED_LONG", 0x4c00_0808, 0x20e),
    ("MPI_UNSIGNED_LONG_LONG", 0x4c00_0819, 0x20f),
    ("MPI_DOUBLE", 0x4c00_080b, 0x214),
    ("MPI_COUNT", 0x4c00_0845, 0x202),
    ("MPI_INT32_T", 0x4c00_0439, 0x250),
    ("MPI_UINT64_T", 0x4c00_083e, 0x259),
    ("MPI_UINT32_T", 0x4c00_043d, 0x251),
];

impl Family {
    /// That of a loaded library, told apart as the tracer does.
    pub fn of(library: &Library) -> Family {
        // Asked first: Open MPI 6 has a library of the standard interface on top of its own.
        let (mut major, mut minor): (c_int, c_int) = (-1, -1);
        // SAFETY: int MPI_Abi_get_version(int *, int *), which may be called at any time.
        let get_version: Option<unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int> =
            unsafe { library.function(c"PMPI_Abi_get_version") };
        if let Some(get_version) = get_version {
            // SAFETY: both numbers outlive the call.
            unsafe { get_version(&raw mut major, &raw mut minor) };
        }
        // The libraries' own interfaces have the function too, and answer -1.
        match library.symbol(c"ompi_mpi_comm_world") {
            _ if major >= 1 => Family::Standard,
            Some(_) => Family::OpenMpi,
            None => Family::Mpich,
        }
    }

    /// The handles for a small call; `None` where the library lacks the objects behind them.
    pub fn handles(self, library: &Library) -> Option<Handles> {
        Some(match self {
            Family::OpenMpi => Handles {
                comm_self: library.symbol(c"ompi_mpi_comm_self")?.addr(),
                double: library.symbol(c"ompi_mpi_double")?.addr(),
                sum: library.symbol(c"ompi_mpi_op_sum")?.addr(),
            },
            Family::Mpich => Handles { comm_self: 0x4400_0001, double: 0x4c00_080b, sum: 0x5800_0003 },
            Family::Standard => Handles { comm_self: 0x102, double: 0x214, sum: 0x21 },
        })
    }

    /// Where its enumerations begin (mpi.h of each).
    pub fn first_values(self) -> FirstValues {
        match self {
            Family::OpenMpi => FirstValues { class: 0, bind: 0, scope: 0 },
            Family::Mpich => FirstValues { class: 240, bind: 9700, scope: 60438 },
            Family::Standard => FirstValues { class: 1, bind: 1, scope: 1 },
        }
    }

    /// The name of a data type that a variable can have; its handle in hexadecimal where it is another.
    pub fn type_name(self, library: &Library, handle: usize) -> String {
        let of_table = |same: &dyn Fn(usize, usize) -> bool| {
            TYPES.iter().find(|(_, mpich, standard)| same(*mpich, *standard)).map(|(name, _, _)| (*name).to_owned())
        };
        let known = match self {
            Family::OpenMpi => library
                .name_at(handle)
                .and_then(|name| Some(format!("MPI_{}", name.strip_prefix("ompi_mpi_")?.to_ascii_uppercase()))),
            // An int handle: what lies above it is undefined.
            Family::Mpich => of_table(&|mpich, _| mpich == handle & 0xffff_ffff),
            Family::Standard => of_table(&|_, standard| standard == handle),
        };
        known.unwrap_or_else(|| format!("{handle:#x}"))
    }
}
