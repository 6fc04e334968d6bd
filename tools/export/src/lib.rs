//! Ways out: the calls of a trace as other tools read them, a file or folder for each format. What comes in are calls,
//! with the results that belong to them. What goes out are files and streams in formats of other tools, and record
//! batches in memory; Arrow and Parquet are known here alone.

#[cfg(feature = "columns")]
mod arrow;
pub mod call_columns;
#[cfg(feature = "arrow")]
pub mod columns;
mod csv;
mod folded;
mod format;
#[cfg(feature = "arrow")]
pub mod in_memory;
mod json;
mod labels;
pub mod listing;
pub mod messages;
#[cfg(feature = "arrow")]
pub mod named_columns;
mod one_operation;
mod otf2;
#[cfg(feature = "columns")]
pub mod parquet;
mod perfetto;
pub mod recorded;
mod reprompi;
pub mod rows;
mod stamps;

pub use format::{Exporter, Format};
pub use otf2::Collective as Otf2Collective;
