//! The code between the calls: which function of the program makes a rank late, by the samples of its stacks.
//!
//! What comes in is an opened run with its losses (`mpitrace_analysis`) and the samples beside its trace
//! (`mpitrace_trace::calls::samples`). What goes out is, for each loss of a rank for which others wait, the functions
//! of the program that it ran for longer than the ranks that waited, with their lines, as far as a test supports it;
//! and the processor time between calls by line;
//! the function in which a finding lies (`mpitrace_analysis::findings`); and the counters of which late ranks have more
//! before a call than those that wait.
//!
//! Samples in the MPI library are no code of the program. What a library does (`memcpy`, `malloc`, a BLAS) counts for
//! the line of the program that called it.

mod asleep;
mod contrast;
mod counted;
mod frame;
mod late;
mod lines;
mod longest;
mod places;
mod stacks;
mod windows;

pub use counted::{CountedBefore, counted_before};
pub use frame::name;
pub use late::{CodeOfLoss, code_of_losses};
pub use lines::{CodeLine, by_line};
pub use places::{CodeOfFinding, Places};
