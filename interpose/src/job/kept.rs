//! The end of a rank without MPI_Finalize, where code of the tracer still runs: MPI_Abort, `exit`, the return from
//! `main`.
//!
//! Records in the folder of the segment outlive the process. Those for which it had no room lie in private memory: they
//! are copied to the folder of the trace, and are counted where that takes no copy.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mpitrace_format::file;
use mpitrace_platform::node_files;

use crate::base::{first_on_node, log, system};
use crate::job::launcher::Job;
use crate::job::output_name;
use crate::job::run::{self, Run};
use crate::record::buffer::trace_buffer::TraceBuffer;
use crate::record::thread;

/// Set by the first thread of the process that comes here.
static WAS_KEPT: AtomicBool = AtomicBool::new(false);
/// The copy, once there is one.
static COPY: OnceLock<PathBuf> = OnceLock::new();

/// Keeps what private memory holds where this process ends by `exit` or by returning from `main`. To be called once.
pub fn at_exit() {
    extern "C" fn ends() {
        thread::catch_panic(|| {
            let run = run::of_this_process()?;
            let live = run.live.get().filter(|live| !live.is_in_folder() && !run.ended.load(Ordering::Acquire))?;
            system::without_file_size_signal(|| keep(run, live, "the process ends without MPI_Finalize"));
            Some(())
        });
    }
    system::at_exit(ends);
}

/// MPI_Abort: the other ranks may be dead before they know.
pub fn at_abort(run: &Run, live: &TraceBuffer) {
    keep(run, live, "MPI_Abort");
}

/// The name of this rank's copy, which no other process has.
fn path_of_copy(run: &Run) -> PathBuf {
    let trace = output_name::path_of(&run.settings, &run.folder, run.process);
    let (prefix, host) = (node_files::prefix(system::user()), system::host().replace('/', "_"));
    let (job, process) = (Job::read().key, run.process);
    trace.with_file_name(format!("{prefix}{host}-{job:016x}-{process}{}", node_files::SEGMENT))
}

fn copy(run: &Run, live: &TraceBuffer, path: &Path) -> io::Result<()> {
    system::check_size(live.length())?;
    output_name::make_folder_of(path, &run.settings, &run.folder)?;
    let partial = file::partial_name(path, "kept");
    let _ = fs::remove_file(&partial);
    let copied = live.copy_to(&partial).and_then(|()| fs::rename(&partial, path));
    match &copied {
        Ok(()) => drop(COPY.set(path.to_owned())),
        Err(_) => drop(fs::remove_file(&partial)),
    }
    copied
}

/// Removes the copy: the program has come to MPI_Finalize all the same, and the trace is written.
pub fn remove_copy() {
    COPY.get().inspect(|path| drop(fs::remove_file(path)));
}

/// Copies the records, if they are not all in the folder of the segment, and says where they are. Under `mpitrace run`,
/// which recovers them, it only says what is lost.
fn keep(run: &Run, live: &TraceBuffer, how: &str) {
    if WAS_KEPT.swap(true, Ordering::AcqRel) {
        return;
    }
    let path = path_of_copy(run);
    let copied = (!live.is_in_folder()).then(|| copy(run, live, &path));
    let beside = path.parent().filter(|_| copied.as_ref().is_some_and(|copied| copied.is_ok()));
    if let Some(Err(error)) = &copied {
        let records = live.records_in_private_memory();
        log::warn(&format!(
            "{how}: {records} records in private memory are lost: they cannot be copied to {}: {error}",
            path.display()
        ));
    }
    let folders: Vec<String> =
        live.folder().into_iter().chain(beside).map(|folder| folder.display().to_string()).collect();
    // Programs do so on all ranks at once: one of each node says so.
    let subject = if beside.is_some() { "kept-beside" } else { "aborts" };
    if run.settings.run == 0 && !folders.is_empty() && first_on_node::is_first(subject) {
        let which = match (&copied, beside) {
            (_, Some(beside)) => format!("the records are kept, those in private memory in {}", beside.display()),
            (Some(_), None) => "the other records are kept".to_owned(),
            (None, None) => "the records are kept".to_owned(),
        };
        log::warn(&format!(
            "{how}: {which}: on each node `mpitrace recover {} -o FILE` makes a trace from them",
            folders.join(" ")
        ));
    }
}
