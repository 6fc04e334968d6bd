//! The roof: the exported functions, and what they do with calls that make and free communicators, windows and files.
//!
//! The wrappers run in every call of the program. They do not lock or allocate once a function has been looked up; a
//! call with large counts that the library lacks, and a counted receive without a status, allocate. They forward what
//! the program has called.

mod communicators;
mod dlsym;
pub mod error_handlers;
mod files;
mod polls;
mod roth;
mod user_counters;
mod windows;
mod wrappers;
