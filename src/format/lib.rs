//! The trace: what a run leaves behind, live in node-local memory and afterwards in one file.
//!
//! [`layout`] holds the fixed structures of both, [`segment`] reads the live file of one rank, [`part`] writes a rank's
//! part of the trace, [`mod@file`] is the frame around the parts, [`recover`] makes a trace out of the segments that a
//! killed job left. docs/developers/trace-format.md says how the structures lie in the file.
//!
//! The preloaded library stands on this crate: no dependency comes in that it should not carry into other people's
//! processes.

pub mod algorithms;
pub mod amounts;
pub mod block_file;
pub mod decimal;
pub mod file;
pub mod join;
pub mod layout;
pub mod live;
pub mod live_records;
pub mod metadata;
pub mod packed;
pub mod part;
pub mod recover;
pub mod running_totals;
pub mod samples;
pub mod segment;
pub mod settings;
pub mod strings;
pub mod ticks;
pub mod token;

use std::path::PathBuf;

/// Why a trace or a segment cannot be used. Each message names the file and what is wrong with it.
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
