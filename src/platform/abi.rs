//! The three binary interfaces of MPI libraries: what must be known to call one without its `mpi.h`.

use std::ffi::{CStr, c_int};

/// A predefined handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handle {
    /// This number.
    Number(usize),
    /// The address of the library's object of this name.
    Object(&'static CStr),
}

use Handle::{Number, Object};

impl Handle {
    /// The handle's value; `address` looks up an object.
    pub fn value(self, address: impl FnOnce(&'static CStr) -> usize) -> usize {
        match self {
            Number(number) => number,
            Object(name) => address(name),
        }
    }
}

/// One binary interface. Constants are named as in MPI.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "named as in MPI")]
pub struct Constants {
    /// Selects the bits of a handle that count: an int handle's upper half is undefined in a register.
    pub handle_mask: usize,
    /// Bytes of a handle in memory.
    pub handle_size: usize,
    pub comm_world: Handle,
    pub comm_self: Handle,
    pub comm_null: Handle,
    /// MPI_IN_PLACE as an address.
    pub in_place: usize,
    pub root: i32,
    pub proc_null: i32,
    pub any_tag: i32,
    pub byte: Handle,
    pub int64: Handle,
    pub double: Handle,
    pub min: Handle,
    pub sum: Handle,
    pub errors_return: Handle,
    pub comm_type_shared: i32,
    pub info_null: Handle,
    pub request_null: Handle,
    /// MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE as addresses.
    pub status_ignore: usize,
    /// Bytes of a status.
    pub status_size: usize,
    /// Where MPI_SOURCE lies in a status.
    pub status_source: usize,
    /// MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH.
    pub topologies: [i32; 3],
    pub err_count: c_int,
    /// MPI_ERR_ARG, the last of the error classes, counted from 1 (MPI_ERR_BUFFER), that say that an argument is wrong.
    pub last_argument_class: c_int,
}

/// Open MPI: handles are addresses of objects.
pub const OPENMPI: Constants = Constants {
    handle_mask: usize::MAX,
    handle_size: 8,
    comm_world: Object(c"ompi_mpi_comm_world"),
    comm_self: Object(c"ompi_mpi_comm_self"),
    comm_null: Object(c"ompi_mpi_comm_null"),
    in_place: 1,
    root: -4,
    proc_null: -2,
    any_tag: -1,
    byte: Object(c"ompi_mpi_byte"),
    int64: Object(c"ompi_mpi_int64_t"),
    double: Object(c"ompi_mpi_double"),
    min: Object(c"ompi_mpi_op_min"),
    sum: Object(c"ompi_mpi_op_sum"),
    errors_return: Object(c"ompi_mpi_errors_return"),
    comm_type_shared: 0,
    info_null: Object(c"ompi_mpi_info_null"),
    request_null: Object(c"ompi_request_null"),
    status_ignore: 0,
    status_size: 24,
    status_source: 0,
    topologies: [1, 2, 3],
    err_count: 2,
    last_argument_class: 13,
};

/// MPICH, Intel MPI, MVAPICH, Cray MPI: handles are integers.
pub const MPICH: Constants = Constants {
    handle_mask: 0xffff_ffff,
    handle_size: 4,
    comm_world: Number(0x4400_0000),
    comm_self: Number(0x4400_0001),
    comm_null: Number(0x0400_0000),
    in_place: usize::MAX,
    root: -3,
    proc_null: -1,
    any_tag: -1,
    byte: Number(0x4c00_010d),
    int64: Number(0x4c00_083a),
    double: Number(0x4c00_080b),
    min: Number(0x5800_0002),
    sum: Number(0x5800_0003),
    errors_return: Number(0x5400_0001),
    comm_type_shared: 1,
    info_null: Number(0x1c00_0000),
    request_null: Number(0x2c00_0000),
    status_ignore: 1,
    status_size: 20,
    status_source: 8,
    topologies: [2, 1, 3],
    err_count: 2,
    last_argument_class: 12,
};

/// The standard ABI of MPI 5 (appendix A): handles are small numbers, as wide as an address.
pub const STANDARD: Constants = Constants {
    handle_mask: usize::MAX,
    handle_size: 8,
    comm_world: Number(0x101),
    comm_self: Number(0x102),
    comm_null: Number(0x100),
    in_place: 1,
    root: -4,
    proc_null: -3,
    any_tag: -2,
    byte: Number(0x247),
    int64: Number(0x258),
    double: Number(0x214),
    min: Number(0x22),
    sum: Number(0x21),
    errors_return: Number(0x143),
    comm_type_shared: 221,
    info_null: Number(0x130),
    request_null: Number(0x180),
    status_ignore: 0,
    status_size: 32,
    status_source: 0,
    topologies: [211, 212, 213],
    err_count: 2,
    last_argument_class: 13,
};
