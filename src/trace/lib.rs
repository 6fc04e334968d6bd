//! The events of a run: its calls matched into operations and their repetitions, on one clock for all ranks.
//!
//! What comes in are the files that the preloaded library wrote, whole, damaged or of a job that was killed, and run
//! times that other tools wrote as text ([`import`]). What goes out are repetitions with their times in nanoseconds,
//! and the facts that the trace states beside them: call sites, partners, algorithms, samples, and what the program
//! left undone.
//!
//! No conclusion is drawn here: where the time went is for `mpitrace_analysis`. A datum goes one way:
//!
//! trace -> [`reader`] -> [`operations`] (repetitions) -> [`run_time`], by the [`clock`] of each rank.
//!
//! # A trace in ten lines
//!
//! Calls are matched into operations and their repetitions; the clock of each rank leads to global time. Run times are
//! in nanoseconds.
//!
//! ```
//! use mpitrace_statistics::categories::{Category, Rule};
//! use mpitrace_trace::{clock::Clock, operations::Operations, reader::Trace, run_time::RunTime};
//!
//! # use mpitrace_testing::synthetic::{self, SyntheticRank};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("app.mpitrace");
//! # let ranks = [0, 1].map(|number| {
//! #     let mut rank = SyntheticRank::new(number, 2);
//! #     let allreduce = rank.operation("MPI_Allreduce", 0, 8);
//! #     for i in 0..100 {
//! #         let enter = 1_000_000 + 20_000 * i;
//! #         rank.call(allreduce, enter, enter + if i < 20 { 8000 } else { 2000 + i % 7 });
//! #     }
//! #     rank
//! # });
//! # synthetic::write(&path, &ranks)?;
//! let trace = Trace::open(&[path])?;
//! let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
//! for operation in &operations.operations {
//!     let (repetition, run_time_ns) = operation.run_times(&trace, &clock, RunTime::Local);
//!     let found = Rule::default().apply(&repetition, &run_time_ns)?.categories;
//!     println!("{}: median {:?} ns", operation.key.function, found.median_ns);
//!     assert_eq!((found.count(Category::Good), found.warmup_end), (80, Some(20)));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(unreachable_pub, clippy::missing_errors_doc)]

pub mod call_site;
pub mod calls;
pub mod clock;
pub mod import;
pub mod operations;
pub mod partners;
pub mod reader;
pub mod run_time;
pub mod undone;
