//! The MPI functions that the preloaded library stands in front of, and what is known of each.
//!
//! What comes in is `functions.table`, which the build script reads and whose head explains the words of a line, and
//! the name of a function. What goes out is its [`Function`]: form, pattern of communication, rule for the message
//! size.

mod function;
mod lookup;
pub mod types;

pub use function::{Form, Function, Pattern, Size};
pub use lookup::{add, blocking_name, parameters};
