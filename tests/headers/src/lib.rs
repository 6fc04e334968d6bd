//! The declarations of the table of `libmpitrace.so`, as data, and the page that is made of it.
//!
//! A function is declared once, in `src/functions/functions.table`. The preloaded library expands it into exported
//! functions, this crate into a list that can be held against the headers of MPI libraries. One parser reads both.

mod declared;
/// The parser of the table, with which the preloaded library is built.
#[allow(missing_docs, dead_code, reason = "shared with build scripts, which use all of it")]
#[path = "../../../src/functions/build/line.rs"]
mod line;
mod page;

pub use declared::{Function, Line, lines};
pub use line::lines as parse;
pub use page::{COMMAND, page};
