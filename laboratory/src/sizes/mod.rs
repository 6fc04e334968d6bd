//! Operations by their size: their good run times, and which are held against others that do the same.

pub mod by_size;
pub mod guidelines;
