//! The three binary interfaces of MPI libraries: the handles and numbers that are needed to call one without its mpi.h.

use std::ffi::c_int;

use mpitrace_platform::abi::{self, Handle};
use mpitrace_platform::mpi_t;
use serde::{Deserialize, Serialize};

use super::library::Library;

/// The families of MPI libraries, by their binary interface.
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

#[derive(Clone, Copy, Debug)]
pub struct Handles {
    pub comm_self: usize,
    pub double: usize,
    pub sum: usize,
}

impl Family {
    /// The family of a loaded library, found as the tracer finds it.
    pub fn new(library: &Library) -> Family {
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
        let constants = match self {
            Family::OpenMpi => &abi::OPENMPI,
            Family::Mpich => &abi::MPICH,
            Family::Standard => &abi::STANDARD,
        };
        let value = |handle: Handle| match handle {
            Handle::Number(number) => Some(number),
            Handle::Object(name) => library.symbol(name).map(|object| object.addr()),
        };
        Some(Handles {
            comm_self: value(constants.comm_self)?,
            double: value(constants.double)?,
            sum: value(constants.sum)?,
        })
    }

    /// MPI_T_PVAR_CLASS_STATE, where the enumeration of classes begins (mpi.h of each).
    pub fn first_class(self) -> c_int {
        match self {
            Family::OpenMpi => mpi_t::OPENMPI.class,
            Family::Mpich => mpi_t::MPICH.class,
            Family::Standard => mpi_t::STANDARD.class,
        }
    }
}
