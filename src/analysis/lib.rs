//! The analysis of traces: from the calls that were recorded to numbers that can be compared.
//!
//! Nothing in here knows MPI or C. The preloaded library (`interpose/`) fills the arrays that `mpitrace_format`
//! describes, [`reader`] opens what it wrote, and the companion (`tools/`) shows what is found in it. A datum goes one
//! way:
//!
//! call -> record -> trace -> [`reader`] -> [`operations`] (repetitions) -> [`categories`] -> a table or a picture.
//!
//! # A trace in ten lines
//!
//! Calls are matched into operations and their repetitions; the clock of each rank leads to global time. Run times are
//! in nanoseconds.
//!
//! ```
//! use mpitrace::categories::{Category, Rule};
//! use mpitrace::{clock::Clock, operations::Operations, reader::Trace, run_time::RunTime};
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

pub mod account;
pub mod algorithms;
pub mod built;
pub mod call_site;
pub mod causality;
pub mod causes;
pub mod clock;
pub mod completion_times;
pub mod diagnosis;
pub mod efficiency;
pub mod import;
#[cfg(test)]
mod invented_tests;
pub mod jobs;
pub mod live;
pub mod message_types;
pub mod messages;
pub mod not_matched;
pub mod operations;
pub mod partners;
pub mod reader;
pub mod replay;
pub mod run_time;
pub mod samples;
pub mod whole_run;

pub use mpitrace_statistics::{self as statistics, categories, comparison, names};
