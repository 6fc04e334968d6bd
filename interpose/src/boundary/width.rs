//! How counts are passed: as `int`, or as MPI_Count.

/// How counts are passed.
pub trait Width {
    /// Whether counts are MPI_Count.
    const LARGE: bool;
    /// A count in a register.
    fn count(register: usize) -> i64;
    /// The `index`-th count of an array in the program's memory.
    ///
    /// # Safety
    /// The array holds more than `index` counts.
    unsafe fn at(array: usize, index: usize) -> i64;
}

/// `int`.
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
    unsafe fn at(array: usize, index: usize) -> i64 {
        // SAFETY: the caller's promise.
        i64::from(unsafe { std::ptr::with_exposed_provenance::<i32>(array).add(index).read() })
    }
}

impl Width for Large {
    const LARGE: bool = true;
    #[inline(always)]
    fn count(register: usize) -> i64 {
        register as i64
    }
    #[inline(always)]
    unsafe fn at(array: usize, index: usize) -> i64 {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::with_exposed_provenance::<i64>(array).add(index).read() }
    }
}
