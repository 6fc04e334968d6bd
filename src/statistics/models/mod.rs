//! Models of the time that a message or a collective operation takes by its size.
//!
//! [`hockney`] fits the line of Hockney (1994), [`pieces`] several lines where a library changes its protocol,
//! [`latency`] makes L of LogGP (Culler et al. 1993, Alexandrov et al. 1995) out of a time and two overheads. What
//! comes in are times in ns, by size; what goes out are parameters with 95 % intervals, and how far off the line each
//! size is.

#[cfg(test)]
mod coverage_tests;
mod estimate;
mod line;
mod loggp;
mod pieces;

pub use estimate::{Estimate, centre};
pub use line::{FEWEST_SIZES, Hockney, Off, OneSize, hockney};
pub use loggp::{Latency, gap_of_burst, latency};
pub use pieces::{Piece, pieces};
