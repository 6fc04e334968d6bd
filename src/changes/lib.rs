//! The change of the time of a job between two sets of runs, and where it is: parts that add up to the difference.
//!
//! What comes in are the accounts of runs (`mpitrace_analysis`), each divided into parts ([`Breakdown`]): operations,
//! waiting by the rank that was late and its reason, computing by function, calls of other kinds, MPI_Init and
//! MPI_Finalize. What goes out are the differences of these parts ([`Changes`]), with intervals over the runs, and
//! which operation of one set is which of the other ([`pair`]).
//!
//! Nothing is printed here: `tools/` makes sentences and tables of the results.

mod breakdown;
mod change;
mod code;
mod identity;
mod pairing;
#[cfg(test)]
mod tests;

pub use breakdown::{Breakdown, Spent, WaitedFor, spent};
pub use change::{Change, Changes, JobChange, What};
pub use code::InFunction;
pub use identity::{Identity, Place, numbered};
pub use pairing::{Names, Paired, pair};
