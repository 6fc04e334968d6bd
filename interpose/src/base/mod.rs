//! The ground: the process, its machine, its clock, its memory and its standard error. Knows no MPI.

pub mod allocator;
pub mod batch;
pub mod descriptor;
pub mod entry;
pub mod event;
pub mod event_page;
#[cfg(test)]
pub mod event_page_tests;
pub mod first_on_node;
pub mod hash;
pub mod kernel;
pub mod loader;
pub mod lock;
pub mod log;
pub mod memory;
pub mod mode;
pub mod own_file;
pub mod own_socket;
pub mod pause;
pub mod preloaded;
pub mod process;
pub mod program;
pub mod symbol;
pub mod system;
pub mod ticks;
pub mod unwinder;
pub mod width;

pub use mpitrace_platform::{errno, processor};
