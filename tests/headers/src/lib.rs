//! What the table of `libmpitrace.so` declares, as data, and the page that is made of it.
//!
//! The table itself is included, so a function is declared once. The preloaded library expands it into exported
//! functions, this crate into a list that can be held against the headers of MPI libraries.

mod declared;
mod page;
#[allow(dead_code, reason = "what the preloaded library needs beside the table")]
#[path = "../../../interpose/src/table.rs"]
mod table;

pub use declared::{Form, Function, Line, lines};
pub use page::{COMMAND, page};
