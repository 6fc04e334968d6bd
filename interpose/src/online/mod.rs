//! Answers while the program runs: whether the warm-up of the operation in progress is over, and whether there are
//! enough repetitions of it (`include/mpitrace.h`, docs/developers/online.md).
//!
//! A recorded call does no work for this. The program calls a function; [`operation`] finds its operation,
//! [`run_times`] reads its repetitions on this rank out of the trace buffer, and [`mpitrace_series::stopping`] judges
//! them, with the computation that the companion has. Memory is that of [`MOST`](mpitrace_series::stopping::MOST)
//! repetitions at most.

mod answers;
mod exports;
mod operation;
mod run_times;
