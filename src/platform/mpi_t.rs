//! The numbers of MPI's tools interface (MPI_T), which differ between the binary interfaces.

use std::ffi::{CStr, c_int};

/// The first value of each enumeration, as `mpi.h` has it. All interfaces keep the standard's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstValues {
    /// MPI_T_PVAR_CLASS_STATE.
    pub class: c_int,
    /// MPI_T_BIND_NO_OBJECT.
    pub bind: c_int,
}

/// Open MPI's.
pub const OPENMPI: FirstValues = FirstValues { class: 0, bind: 0 };
/// MPICH's.
pub const MPICH: FirstValues = FirstValues { class: 240, bind: 9700 };
/// The standard's.
pub const STANDARD: FirstValues = FirstValues { class: 1, bind: 1 };

/// A data type that a variable can have (MPI 5.0, section 15.3.5).
#[derive(Clone, Copy, Debug)]
pub struct Type {
    /// As the standard names it.
    pub name: &'static str,
    /// The object behind Open MPI's handle.
    pub openmpi: &'static CStr,
    /// MPICH's handle.
    pub mpich: usize,
    /// The standard's handle (appendix A).
    pub standard: usize,
    /// The form of its values.
    pub value: Value,
}

/// How a value lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Characters.
    Text,
    /// `i32`.
    Signed32,
    /// `u32`.
    Unsigned32,
    /// `i64`.
    Signed64,
    /// `u64`.
    Unsigned64,
    /// `f64`.
    Double,
}

const fn data_type(name: &'static str, openmpi: &'static CStr, mpich: usize, standard: usize, value: Value) -> Type {
    Type { name, openmpi, mpich, standard, value }
}

/// All of them.
pub const TYPES: [Type; 11] = [
    data_type("MPI_CHAR", c"ompi_mpi_char", 0x4c00_0101, 0x243, Value::Text),
    data_type("MPI_INT", c"ompi_mpi_int", 0x4c00_0405, 0x209, Value::Signed32),
    data_type("MPI_UNSIGNED", c"ompi_mpi_unsigned", 0x4c00_0406, 0x20d, Value::Unsigned32),
    data_type("MPI_UNSIGNED_LONG", c"ompi_mpi_unsigned_long", 0x4c00_0808, 0x20e, Value::Unsigned64),
    data_type("MPI_UNSIGNED_LONG_LONG", c"ompi_mpi_unsigned_long_long", 0x4c00_0819, 0x20f, Value::Unsigned64),
    data_type("MPI_COUNT", c"ompi_mpi_count", 0x4c00_0845, 0x202, Value::Signed64),
    data_type("MPI_DOUBLE", c"ompi_mpi_double", 0x4c00_080b, 0x214, Value::Double),
    data_type("MPI_INT32_T", c"ompi_mpi_int32_t", 0x4c00_0439, 0x250, Value::Signed32),
    data_type("MPI_UINT32_T", c"ompi_mpi_uint32_t", 0x4c00_043d, 0x251, Value::Unsigned32),
    data_type("MPI_INT64_T", c"ompi_mpi_int64_t", 0x4c00_083a, 0x258, Value::Signed64),
    data_type("MPI_UINT64_T", c"ompi_mpi_uint64_t", 0x4c00_083e, 0x259, Value::Unsigned64),
];
