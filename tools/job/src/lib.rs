//! The processes of a job: how a launcher starts them with the tracer, which MPI library they have, how they are
//! observed while they run, the stacks of their threads, and what killed jobs leave. What comes in are command lines,
//! process numbers and segments in memory. What goes out are ends, samples and stacks; the times of calls are not
//! looked at here.

pub mod launcher;
pub mod leftovers;
pub mod mpi;
pub mod observer;
pub mod process;
pub mod stacks;
