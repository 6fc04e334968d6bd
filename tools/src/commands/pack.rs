//! `mpitrace pack`: the same trace, compressed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use mpitrace::packed::{self, Rewritten};
use serde::Serialize;

use crate::output::{self, Output};
use crate::text;

/// Compress a trace, without loss; every command reads both forms
///
/// The new file is written next to the trace and renamed when it is complete and on disk. Values that follow from
/// others, such as sequence numbers, take no space. Times are stored as run times and the pauses between them.
/// A damaged trace is refused.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The traces
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The new file, for a single trace; default: replace the trace
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Unpack: restore plain columns, those of a trace that was packed afterwards byte by byte
    #[arg(long)]
    raw: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// A trace that was packed or unpacked.
#[derive(Debug, Serialize)]
struct Written {
    file: String,
    bytes_before: u64,
    bytes: u64,
    records: u64,
    /// Of the columns alone; null without records.
    bytes_per_record: Option<f64>,
}

/// Packs or unpacks them.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    anyhow::ensure!(arguments.output.is_none() || arguments.files.len() == 1, "-o needs exactly one trace");
    let mut written = Vec::new();
    for path in &arguments.files {
        let target = arguments.output.as_deref().unwrap_or(path);
        let done = if arguments.raw { packed::unpack(path, target)? } else { packed::pack(path, target)? };
        eprintln!("mpitrace: {}", line(target, &done));
        written.push(Written {
            file: target.to_string_lossy().into_owned(),
            bytes_before: done.before,
            bytes: done.after,
            records: done.records,
            bytes_per_record: per_record(&done),
        });
    }
    if arguments.json {
        output::json_rows(output, "pack", written.iter().map(Ok))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The result for a trace, in one line. Of the same size it need not have the same bytes: all parts are written again.
pub fn line(path: &Path, done: &Rewritten) -> String {
    let path = path.display();
    if done.after == done.before {
        return format!("{path}: {} as before: nothing to compress", text::bytes(done.after));
    }
    let calls = per_record(done).map(|bytes| format!(", {bytes:.1} bytes a call")).unwrap_or_default();
    format!("{path}: {} instead of {}{calls}", text::bytes(done.after), text::bytes(done.before))
}

fn per_record(done: &Rewritten) -> Option<f64> {
    (done.records > 0).then(|| done.columns_after as f64 / done.records as f64)
}
