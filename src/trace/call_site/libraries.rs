//! Libraries that many programs share, by the names of their files. Time there counts for the code that called them.

/// Libraries of the system and of mathematics, by the beginnings of their files' names.
const COMMON: &[&str] = &[
    "ld-",
    "libc-",
    "libc.",
    "libdl",
    "libm-",
    "libm.",
    "libmvec",
    "libnuma",
    "libpthread",
    "librt", // the system
    "libatomic",
    "libc++",
    "libgcc",
    "libgfortran",
    "libgomp",
    "libiomp",
    "libomp",
    "libquadmath",
    "libstdc++",
    "libatlas",
    "libblas",
    "libblis",
    "libfftw",
    "liblapack",
    "libmkl",
    "libopenblas",
    "libscalapack",
    "libadios",
    "libcrypto",
    "libhdf5",
    "libnetcdf",
    "libsz",
    "libz.",
    "libzstd",
];
/// The MPI library and what it stands on.
const MPI: &[&str] = &[
    "libmpi",
    "libpmpi",
    "libopen-",
    "mca_",
    "libfabric",
    "libpmix",
    "libprrte",
    "libucp",
    "libuct",
    "libucs",
    "libucm",
    "libpsm",
    "libibverbs",
    "libmlx",
    "libhwloc",
    "libevent",
];

/// True if the file is a library of the system, of a compiler, of mathematics or of files.
///
/// ```
/// use mpitrace_trace::call_site::libraries::is_common;
///
/// assert!(is_common("libm.so.6") && !is_common("libsolver.so"));
/// ```
pub fn is_common(file_name: &str) -> bool {
    COMMON.iter().any(|start| file_name.starts_with(start))
}

/// True if the file is an MPI library, or one that it stands on.
///
/// ```
/// use mpitrace_trace::call_site::libraries::is_of_mpi;
///
/// assert!(is_of_mpi("libopen-pal.so.40") && !is_of_mpi("libsolver.so"));
/// ```
pub fn is_of_mpi(file_name: &str) -> bool {
    MPI.iter().any(|start| file_name.starts_with(start))
}
