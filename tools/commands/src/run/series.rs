//! Several runs, one after the other.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use mpitrace_job::process::{self, NOT_STARTED};
use mpitrace_show::text::count;
use mpitrace_source::trace_files;

use super::plan::{Planned, labelled, letter, plan};

const NAME: &str = "mpitrace.mpitrace";

struct Done {
    label: String,
    trace: PathBuf,
    code: u8,
}

/// Runs the jobs as planned; the first exit code that is not 0. A run that fails does not keep the others from being
/// made, a signal does.
pub fn run(
    runs: u32,
    shuffle: bool,
    jobs: usize,
    output: Option<PathBuf>,
    run_one: impl Fn(usize, Option<&Path>) -> Result<u8>,
) -> Result<u8> {
    let name = match output {
        Some(name) => name,
        None => std::path::absolute(NAME)?,
    };
    let plan = plan(jobs, runs, shuffle);
    let traces: Vec<PathBuf> = plan.iter().map(|planned| labelled(&name, &planned.label)).collect();
    if let Some(there) = traces.iter().find(|trace| trace.exists()) {
        bail!("{}: already exists; move it away, or choose another name (-o)", there.display());
    }
    let mut done: Vec<Done> = Vec::new();
    for (number, (Planned { job, label }, trace)) in (1..).zip(plan.iter().zip(traces)) {
        if process::is_to_end() {
            break;
        }
        eprintln!("mpitrace: run {number} of {}: {label}", plan.len());
        let code = run_one(*job, Some(&trace))?;
        done.push(Done { label: label.clone(), trace, code });
        if NOT_STARTED.contains(&code) {
            break;
        }
    }
    say(&done, plan.len(), &name, jobs);
    Ok(done.iter().map(|done| done.code).find(|&code| code != 0).unwrap_or(0))
}

fn say(done: &[Done], planned: usize, name: &Path, jobs: usize) {
    let list = |of: &dyn Fn(&Done) -> Option<String>| {
        let words: Vec<String> = done.iter().filter_map(of).collect();
        (!words.is_empty()).then(|| words.join(", "))
    };
    let missing = planned - done.len();
    if missing > 0 {
        eprintln!("mpitrace: {} of {planned} runs were not made", missing);
    }
    if let Some(failed) = list(&|done| (done.code != 0).then(|| format!("{} ({})", done.label, done.code))) {
        eprintln!("mpitrace: runs with another exit code than 0: {failed}");
    }
    // Of a name that was yet to be filled in nothing can be said here.
    if name.to_string_lossy().contains('%') {
        return;
    }
    if let Some(without) = list(&|done| (!trace_files::exists(&done.trace)).then(|| done.label.clone())) {
        eprintln!("mpitrace: runs without a trace: {without}");
    }
    let traces: Vec<&Done> = done.iter().filter(|done| trace_files::exists(&done.trace)).collect();
    let Some(first) = traces.first() else {
        return;
    };
    let folder = first.trace.parent().unwrap_or(Path::new("."));
    eprintln!("mpitrace: {} in {}", count(traces.len() as u64, "trace"), folder.display());
    if jobs == 2 {
        let pattern = |job: usize| labelled(name, &format!("{}.*", letter(job))).display().to_string();
        eprintln!("mpitrace: next: mpitrace compare --a {} --b {}", pattern(0), pattern(1));
    }
}
