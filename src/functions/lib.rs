//! What is known of each MPI function that the preloaded library stands in front of.
//!
//! The functions are declared in `functions.table`, a line each; the head of that file explains the words of a line.
//! The build script reads it. In goes the name of a function, out comes its [`Function`].

mod function;
mod lookup;
pub mod types;

pub use function::{Form, Function, Pattern, Size};
pub use lookup::{add, blocking_name};
