//! How a data type was made of others.

use std::ffi::c_int;

use crate::base::symbol::Symbol;
use crate::mpi::{abi, functions};

functions! {
    fn type_get_envelope = c"PMPI_Type_get_envelope"(datatype, integers, addresses, datatypes, combiner);
    fn type_get_envelope_c = c"PMPI_Type_get_envelope_c"(datatype, integers, addresses, counts, datatypes, combiner);
    fn type_get_contents = c"PMPI_Type_get_contents"(
        datatype, most_integers, most_addresses, most_datatypes, integers, addresses, datatypes);
    fn type_free = c"PMPI_Type_free"(datatype);
}

/// Nothing is known of types that were made of more others.
const MOST_TYPES: usize = 128;
/// As many numbers are read of what a type was made with: an indexed type has two for each of its blocks.
const MOST_NUMBERS: usize = 1 << 16;

/// A type that another one was made of. Derived ones are references of the tracer's own, given back when dropped.
pub struct Component {
    pub handle: usize,
    /// Copies in a row, where the type was made of several; 0: its size gives them.
    pub copies: u64,
    is_derived: bool,
}

impl Drop for Component {
    fn drop(&mut self) {
        if self.is_derived {
            let mut handle = self.handle;
            // SAFETY: int MPI_Type_free(MPI_Datatype *); the reference is this one's, and a handle of 4 bytes lies in
            // the first ones of the word.
            unsafe { type_free((&raw mut handle).expose_provenance()) };
        }
    }
}

/// The types that a derived type was made of, in order: several of a structure, else one. `None`: it is not known, or
/// it was not made of others. The handle is that of a type that the program may use.
pub fn components(datatype: usize) -> Option<Vec<Component>> {
    let [integers, addresses, types] = envelope(datatype)?;
    if types == 0 || types > MOST_TYPES || integers > MOST_NUMBERS || addresses > MOST_NUMBERS {
        return None;
    }
    // Of the ways to make a type from several only that of structures has a block length for each and their number.
    if types > 1 && (integers, addresses) != (types + 1, types) {
        return None;
    }
    let abi = abi::get();
    let mut blocks = vec![0 as c_int; integers.max(1)];
    let mut displacements = vec![0usize; addresses.max(1)];
    let mut handles = vec![0usize; types];
    let first = handles.as_mut_ptr().expose_provenance();
    // SAFETY: int MPI_Type_get_contents(MPI_Datatype, int, int, int, int *, MPI_Aint *, MPI_Datatype *); the arrays
    // have room for as many elements, and a handle is a word at most.
    let well = unsafe {
        let displacements = displacements.as_mut_ptr().expose_provenance();
        let blocks = blocks.as_mut_ptr().expose_provenance();
        type_get_contents(datatype, integers, addresses, types, blocks, displacements, first)
    };
    if !well {
        return None;
    }
    let component = |(place, handle): (usize, usize)| Component {
        handle,
        copies: if types == 1 { 0 } else { blocks.get(place + 1).map_or(0, |&length| length.max(0) as u64) },
        is_derived: is_derived(handle),
    };
    Some(abi.handles(types, first).enumerate().map(component).collect())
}

/// True if the type was made of others: then what is a reference to it has to be given back.
pub fn is_derived(datatype: usize) -> bool {
    !abi::get().is_predefined_type(datatype) && envelope(datatype).is_none_or(|[_, _, types]| types > 0)
}

/// How many integers, addresses and types a type was made with; `None`: also large counts, of which nothing else may be
/// asked.
fn envelope(datatype: usize) -> Option<[usize; 3]> {
    static LARGE: Symbol = Symbol::new();
    static MADE_LARGE: Symbol = Symbol::new();
    let mut combiner: c_int = 0;
    let combiner = (&raw mut combiner).expose_provenance();
    let numbers: [i64; 3] = if LARGE.get(c"PMPI_Type_get_envelope_c").is_some() {
        let mut numbers = [0i64; 4];
        let [integers, addresses, counts, types] = places(&mut numbers);
        // SAFETY: int MPI_Type_get_envelope_c(MPI_Datatype, MPI_Count *, MPI_Count *, MPI_Count *, MPI_Count *, int *).
        let well = unsafe { type_get_envelope_c(datatype, integers, addresses, counts, types, combiner) };
        let [integers, addresses, counts, types] = numbers;
        (well && counts == 0).then_some([integers, addresses, types])?
    } else {
        if MADE_LARGE.get(c"PMPI_Type_contiguous_c").is_some() {
            return None;
        }
        let mut numbers = [0 as c_int; 3];
        let [integers, addresses, types] = places(&mut numbers);
        // SAFETY: int MPI_Type_get_envelope(MPI_Datatype, int *, int *, int *, int *).
        let well = unsafe { type_get_envelope(datatype, integers, addresses, types, combiner) };
        well.then_some(numbers.map(i64::from))?
    };
    let [integers, addresses, types] = numbers.map(|number| usize::try_from(number).ok());
    Some([integers?, addresses?, types?])
}

fn places<T, const N: usize>(numbers: &mut [T; N]) -> [usize; N] {
    let first = numbers.as_mut_ptr().expose_provenance();
    std::array::from_fn(|index| first + index * size_of::<T>())
}
