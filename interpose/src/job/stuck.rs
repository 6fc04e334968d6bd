//! `MPITRACE_STUCK`: a rank that is inside one call for long says so, once a minute at most, and copies its buffers to
//! the folder of the trace, so that they outlive the node.
//!
//! A thread of the tracer's own looks now and then, and sleeps in between. On the way of a call there is nothing for
//! it. It takes no signals, and a child that the program forks off does not have it.

use std::collections::HashMap;
use std::ffi::c_void;
use std::fs;
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use mpitrace_format::file;
use mpitrace_format::layout::{communicator_flags, state};
use mpitrace_functions::Form;
use mpitrace_platform::node_files;

use crate::base::lock::lock;
use crate::base::{log, system};
use crate::job::launcher::Job;
use crate::job::output_name;
use crate::job::run::Run;
use crate::record::in_progress::{Call, InProgress};
use crate::record::trace_buffer::TraceBuffer;

/// No more than one line in this time.
const PAUSE: Duration = Duration::from_secs(60);
/// The thread looks so many times within the time that a call may last, and at least as often as this.
const LOOKS: u32 = 8;
const SELDOM: Duration = Duration::from_secs(5);
const STACK: usize = 256 << 10;

/// The thread. Not one of Rust's library, which ends the process where it has no memory for one.
static HELPER: Mutex<Option<libc::pthread_t>> = Mutex::new(None);
static STOPPED: AtomicBool = AtomicBool::new(false);
/// Held when `STOPPED` is set, and signalled then.
static ASLEEP: Mutex<()> = Mutex::new(());
static WAKE: Condvar = Condvar::new();

/// Starts the thread, where it is asked for and does not run.
pub fn start(run: &'static Run) {
    let (Some(limit), Some(&live)) = (run.settings.stuck, run.live.get()) else { return };
    let mut helper = lock(&HELPER);
    if helper.is_some() || STOPPED.load(Ordering::Acquire) {
        return;
    }
    let observer = Observer { run, live, limit, seen: HashMap::new(), said: None };
    let observer = Box::into_raw(Box::new(observer));
    match system::without_signals(|| system::start_thread(c"mpitrace-stuck", STACK, observe, observer.cast())) {
        Ok(started) => *helper = Some(started),
        Err(error) => {
            // SAFETY: no thread has got it.
            drop(unsafe { Box::from_raw(observer) });
            log::warn_on_node("stuck", &format!("MPITRACE_STUCK is ignored: no thread for it ({error})"));
        }
    }
}

extern "C" fn observe(observer: *mut c_void) -> *mut c_void {
    // SAFETY: `start` has given up this box.
    let observer = unsafe { Box::from_raw(observer.cast::<Observer>()) };
    let _ = std::panic::catch_unwind(AssertUnwindSafe(|| observer.run()));
    std::ptr::null_mut()
}

/// Ends the thread: no call waits for other ranks any more. Not to be called in a child that was forked off, which has
/// no such thread.
pub fn stop() {
    let asleep = lock(&ASLEEP);
    STOPPED.store(true, Ordering::Release);
    drop(asleep);
    WAKE.notify_all();
    let helper = lock(&HELPER).take();
    helper.inspect(|&helper| system::join_thread(helper));
}

struct Observer {
    run: &'static Run,
    live: &'static TraceBuffer,
    limit: Duration,
    /// Of each thread in a call: the call, and when it was seen there first.
    seen: HashMap<u32, (InProgress, Instant)>,
    /// When the last line was written, and of which call.
    said: Option<(Instant, InProgress)>,
}

/// The number for the thread that is in `MPI_Finalize`, which is none of the buffer's.
const FINALIZING: u32 = u32::MAX;

impl Observer {
    fn run(mut self) {
        let pause = (self.limit / LOOKS).min(SELDOM);
        while !STOPPED.load(Ordering::Acquire) {
            self.look();
            let asleep = lock(&ASLEEP);
            drop(WAKE.wait_timeout_while(asleep, pause, |()| !STOPPED.load(Ordering::Acquire)));
        }
    }

    fn look(&mut self) {
        let now = Instant::now();
        let calls = self.calls();
        let before = std::mem::take(&mut self.seen);
        for call in calls {
            let since =
                before.get(&call.thread).filter(|(known, _)| is_same(known, &call)).map_or(now, |(_, since)| *since);
            self.seen.insert(call.thread, (call, since));
        }
        let longest = self.seen.values().min_by_key(|(_, since)| *since).cloned();
        let Some((call, since)) = longest.filter(|(_, since)| now - *since >= self.limit) else { return };
        if self.said.as_ref().is_some_and(|(said, _)| now - *said < PAUSE) {
            return;
        }
        let is_new = self.said.as_ref().is_none_or(|(_, said)| !is_same(said, &call));
        self.say(&call, now - since, is_new);
        self.said = Some((now, call));
    }

    /// The calls that may wait for other ranks.
    fn calls(&self) -> Vec<InProgress> {
        if self.live.header.state_word().load(Ordering::Relaxed) == state::FINALIZING {
            let call = Call::Other { same: true };
            return vec![InProgress { thread: FINALIZING, function: "MPI_Finalize".to_owned(), call }];
        }
        let mut calls = self.live.in_progress();
        // A request that is outstanding is no call that a thread is in; nor is a region of the program.
        calls.retain(|found| match found.call {
            Call::Recorded { .. } => {
                found.function.starts_with("MPI_") && Form::of_name(&found.function) == Form::Blocking
            }
            Call::Other { .. } => true,
        });
        calls
    }

    fn say(&self, call: &InProgress, lasted: Duration, copies: bool) {
        let kept = match (copies, self.copy_path()) {
            (true, path) => match self.copy(&path) {
                Ok(true) => format!("; its records so far are kept in {}", path.display()),
                Ok(false) => return,
                Err(error) => format!("; its records cannot be copied to {}: {error}", path.display()),
            },
            (false, _) => String::new(),
        };
        let seconds = lasted.as_secs_f64().round();
        let job = Job::read().key;
        log::warn(&format!(
            "inside {} for {seconds} s{kept}; `mpitrace watch {job:016x}` on this node shows where the ranks are",
            self.named(call)
        ));
    }

    /// The function, with the communicator and the call's number on it where these are known.
    fn named(&self, call: &InProgress) -> String {
        let function = if call.function.is_empty() { "an MPI call" } else { &call.function };
        let Call::Recorded { operation, .. } = call.call else { return function.to_owned() };
        let entry = self.live.communicator(self.live.operation(operation).communicator()).read();
        let name = match (self.live.text(entry.name), entry.flags) {
            (name, _) if !name.is_empty() => name,
            (_, flags) if flags & communicator_flags::WORLD != 0 => "MPI_COMM_WORLD".to_owned(),
            (_, flags) if flags & communicator_flags::SELF != 0 => "MPI_COMM_SELF".to_owned(),
            _ => "a communicator".to_owned(),
        };
        format!("{function} (call {} on {name})", entry.calls.saturating_sub(1))
    }

    /// Where the copy goes: into the folder of the trace, under a name that no other process has.
    fn copy_path(&self) -> PathBuf {
        let trace = output_name::path_of(&self.run.settings, &self.run.folder, self.run.process);
        let (prefix, host) = (node_files::prefix(system::user()), system::host().replace('/', "_"));
        let (job, process) = (Job::read().key, self.run.process);
        trace.with_file_name(format!("{prefix}{host}-{job:016x}-{process}{}", node_files::SEGMENT))
    }

    fn copy(&self, path: &PathBuf) -> io::Result<bool> {
        system::check_size(self.live.length())?;
        let partial = file::partial_name(path, "copy");
        let _ = fs::remove_file(&partial);
        let copied = self.live.copy_to(&partial, &|| !STOPPED.load(Ordering::Acquire));
        match copied {
            Ok(true) => {
                fs::rename(&partial, path)?;
                let _ = self.run.copy.set(path.clone());
            }
            _ => drop(fs::remove_file(&partial)),
        }
        copied
    }
}

/// True if a thread is in the call in which it was.
fn is_same(before: &InProgress, now: &InProgress) -> bool {
    match (before.call, now.call) {
        (Call::Other { .. }, Call::Other { same }) => same && before.function == now.function,
        (before, now) => before == now,
    }
}
