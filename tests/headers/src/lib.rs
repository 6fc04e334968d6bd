//! The declarations of the table of `libmpitrace.so`, as data, and the page that is made of it.
//!
//! What comes in is `src/functions/functions.table`, where a function is declared once. What goes out is a list that
//! can be held against the headers of MPI libraries; the preloaded library expands the table into exported functions.
//! One parser serves both.

mod declared;
/// The parser of the table, with which the preloaded library is built.
#[allow(missing_docs, dead_code, reason = "shared with build scripts, which use all of it")]
#[path = "../../../src/functions/build/line.rs"]
mod line;
mod page;

pub use declared::{Function, Line, lines};
pub use line::lines as parse;
pub use page::{COMMAND, page};
