//! The output of `run` after a job: the summary of its trace.

use std::io;
use std::path::PathBuf;

use mpitrace_analysis::run::Need;
use mpitrace_show::output::Style;
use mpitrace_source::trace_files;
use mpitrace_words::names::file_here;
use mpitrace_words::summary::Summary;

use crate::jobs::{self, RunRow};

/// The summary of a trace with more calls takes seconds, and up to 70 bytes of memory a call; `mpitrace summary` is
/// named in its place.
const MOST_CALLS: u64 = 10_000_000;

pub fn summarize(traces: &[PathBuf]) {
    // Ranks that could not write together have left a file each.
    let runs = trace_files::by_run(traces.iter().cloned());
    let [files] = &runs[..] else { return };
    let name = files.iter().map(|file| file_here(file)).collect::<Vec<_>>().join(" ");
    // A trace that cannot be read is no reason for another exit code than the job's.
    let Ok(trace) = mpitrace_source::open_trace(files) else { return };
    if trace.records() > MOST_CALLS {
        eprintln!("mpitrace: `mpitrace summary {name}` shows where the time went");
        return;
    }
    let run = mpitrace_source::run_of(trace, Need::Losses);
    let summary = Summary::new(&run, &name);
    // `jobs` reads the files of a run together.
    if let [path] = &files[..] {
        jobs::keep(path, &RunRow::new(path, &run, &summary));
    }
    let summary = summary.with_observed(&run, files);
    let stderr = io::stderr();
    let _ = summary.write(&mut stderr.lock(), Style::for_stream(&stderr));
}
