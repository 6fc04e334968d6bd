//! The trace: what a run leaves behind, live in node-local memory and afterwards in one file.
//!
//! What comes in are the records, tables and texts of a process as fixed structures ([`layout`]), and the segments that
//! processes share or that a killed job left. What goes out are the bytes of a trace ([`part`] writes a rank's part of
//! it, [`mod@file`] the frame around the parts, [`recover`] makes one out of segments), and the checked structures that
//! lie in these bytes. docs/developers/trace-format.md says how they lie there.
//!
//! The preloaded library stands on this crate: no dependency comes in that it should not carry into other people's
//! processes.

#![warn(unreachable_pub, clippy::missing_errors_doc)]

mod facts;
pub mod layout;
pub mod packed;
mod segments;
pub mod ticks;
mod trace;

pub use facts::{algorithms, amounts, decimal, metadata, polls, running_totals, settings, strings, token};
pub use segments::{block_file, live, live_records, publication, recover, segment};
pub use trace::{file, join, part, samples};

use std::path::PathBuf;

/// Why a trace or a segment cannot be used. Each message names the file and what is wrong with it.
///
/// ```
/// use std::path::Path;
///
/// use mpitrace_format::TraceError;
///
/// let damaged = TraceError::damaged(Path::new("app.mpitrace"), "is too short to be a trace");
/// assert_eq!(damaged.to_string(), "app.mpitrace: is too short to be a trace");
/// let refused = TraceError::io(Path::new("app.mpitrace"), std::io::ErrorKind::NotFound.into());
/// assert!(refused.to_string().starts_with("app.mpitrace: "));
/// ```
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system refused.
    #[error("{path}: {reason}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error that the system reported.
        reason: std::io::Error,
    },
    /// The bytes are not those of a trace, or not all of them.
    #[error("{path}: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault, in words that complete "the file ...".
        what: String,
    },
    /// Several files were given that are not of one run.
    #[error("{path}: belongs to another run than {first}")]
    Foreign {
        /// The file that does not fit.
        path: PathBuf,
        /// The file that it was given together with.
        first: PathBuf,
    },
    /// There was nothing to recover.
    #[error(
        "no left-over segments of a job that has ended in {folders}; name the folder that MPITRACE_SEGMENT_DIR named"
    )]
    NothingLeft {
        /// The folders that were searched.
        folders: String,
    },
}

impl TraceError {
    /// The bytes of `path` are not those of a trace: `what` completes "the file ...".
    pub fn damaged(path: &std::path::Path, what: impl Into<String>) -> Self {
        TraceError::Damaged { path: path.to_owned(), what: what.into() }
    }

    /// The operating system refused `path`.
    pub fn io(path: &std::path::Path, reason: std::io::Error) -> Self {
        TraceError::Io { path: path.to_owned(), reason }
    }
}
