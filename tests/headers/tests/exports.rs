//! The dynamic symbols of the built library.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use object::{Object, ObjectSymbol};

/// The functions that a program or mpi4py calls before it decides what else to call: the library at hand answers.
pub const NEVER: [&str; 2] = ["MPI_Get_version", "MPI_Abi_get_version"];

/// Our own functions, which programs may look up, the stubs of algorithms, and what gives programs wrappers by a
/// handle.
const OWN: [&str; 5] = ["mpitrace_", "roth_", "ompi_coll_", "mca_coll_", "dlsym"];

/// The names that this library defines for others.
pub fn exported_names(library: &Path) -> BTreeSet<String> {
    let bytes = fs::read(library).unwrap_or_else(|error| {
        panic!("{}: {error}; run `cargo build --release --workspace` first", library.display())
    });
    let object = object::File::parse(&*bytes).expect("a shared library");
    let symbols = object.dynamic_symbols().filter(|symbol| symbol.is_definition());
    symbols.map(|symbol| symbol.name().expect("a name").to_owned()).collect()
}

/// True if a name is one of MPI's.
pub fn is_of_mpi(name: &str) -> bool {
    name.starts_with("MPI_") || name.starts_with("PMPI_")
}

/// True if a name is one that the library may export beside those of MPI.
pub fn is_own(name: &str) -> bool {
    OWN.iter().any(|prefix| name.starts_with(prefix))
}
