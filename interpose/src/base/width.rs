//! How counts are passed: as `int`, or as MPI_Count.

use crate::base::program;

pub trait Width {
    const LARGE: bool;
    fn count(register: usize) -> i64;
    /// The `index`-th count of an array in the program's memory.
    fn element(array: usize, index: usize) -> i64;
}

pub struct Int;
/// `MPI_Count`, in functions whose names end in `_c`.
pub struct Large;

impl Width for Int {
    const LARGE: bool = false;
    #[inline(always)]
    fn count(register: usize) -> i64 {
        // The upper half of the register is undefined.
        i64::from(register as i32)
    }
    #[inline(always)]
    fn element(array: usize, index: usize) -> i64 {
        i64::from(program::element::<i32>(array, index))
    }
}

impl Width for Large {
    const LARGE: bool = true;
    #[inline(always)]
    fn count(register: usize) -> i64 {
        register as i64
    }
    #[inline(always)]
    fn element(array: usize, index: usize) -> i64 {
        program::element(array, index)
    }
}
