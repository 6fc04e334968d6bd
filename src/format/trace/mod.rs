//! The file of a run: the frame, the part of each rank, the joining of the parts of several files, samples beside it.

pub mod file;
pub mod join;
pub mod part;
pub mod samples;
