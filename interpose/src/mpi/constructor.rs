//! Data types that were made of others are told from those that the library has.

use std::ffi::c_int;

use crate::base::symbol::Symbol;
use crate::mpi::functions;

functions! {
    fn type_get_envelope = c"PMPI_Type_get_envelope"(datatype, integers, addresses, datatypes, combiner);
    fn type_get_envelope_c = c"PMPI_Type_get_envelope_c"(datatype, integers, addresses, counts, datatypes, combiner);
}

/// True if the type, which the library has not come with, was made of others: then it has to be freed. Also where that
/// is not known.
pub fn is_derived(datatype: usize) -> bool {
    static LARGE: Symbol = Symbol::new();
    static MADE_LARGE: Symbol = Symbol::new();
    let mut combiner: c_int = 0;
    let combiner = (&raw mut combiner).expose_provenance();
    if LARGE.get(c"PMPI_Type_get_envelope_c").is_some() {
        let mut numbers = [0i64; 4];
        let [integers, addresses, counts, types] = places(&mut numbers);
        // SAFETY: int MPI_Type_get_envelope_c(MPI_Datatype, MPI_Count *, MPI_Count *, MPI_Count *, MPI_Count *, int *).
        let well = unsafe { type_get_envelope_c(datatype, integers, addresses, counts, types, combiner) };
        return !well || numbers[2] > 0 || numbers[3] > 0;
    }
    if MADE_LARGE.get(c"PMPI_Type_contiguous_c").is_some() {
        return true;
    }
    let mut numbers = [0 as c_int; 3];
    let [integers, addresses, types] = places(&mut numbers);
    // SAFETY: int MPI_Type_get_envelope(MPI_Datatype, int *, int *, int *, int *).
    let well = unsafe { type_get_envelope(datatype, integers, addresses, types, combiner) };
    !well || numbers[2] > 0
}

fn places<T, const N: usize>(numbers: &mut [T; N]) -> [usize; N] {
    let first = numbers.as_mut_ptr().expose_provenance();
    std::array::from_fn(|index| first + index * size_of::<T>())
}
