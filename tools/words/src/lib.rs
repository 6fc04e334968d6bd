//! Facts become sentences: the summary of a run, where ranks are, calls that do not belong together, what was left
//! undone, and the facts of `info`. What comes in are results of the analysis. What goes out are the structures that
//! JSON is made of, and lines for people; nothing is read from a file or printed here.

pub mod all_calls;
pub mod changes;
pub mod description;
pub mod ended;
pub mod info;
pub mod mismatches;
pub mod names;
pub mod numbers;
pub mod places;
pub mod reason;
pub mod share;
pub mod stack;
pub mod summary;
pub mod undone;
