//! The declarations of the table of `libmpitrace.so`, as data, and the page that is made of it.
//!
//! A function is declared once, in `src/functions`. The preloaded library expands it into exported
//! functions, this crate into a list that can be held against the headers of MPI libraries.

mod declared;
mod page;

pub use declared::{Function, Line, lines, parse};
pub use page::{COMMAND, page};
