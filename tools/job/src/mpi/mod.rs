//! The MPI libraries of this machine: where they are, and what they say when a child process of this program asks them.
//!
//! A library is loaded in a child only: it may crash, hang or end the process, and none of that is this program's end.

mod abi;
mod ask;
pub mod child;
mod library;
mod search;
pub mod stamp;
mod trial;
mod try_calls;
mod variables;

pub use abi::Family;
pub use ask::{about, ask};
pub use search::libraries;
pub use trial::Setup;
pub use try_calls::{Request, Times, try_calls};
pub use variables::Performance;
