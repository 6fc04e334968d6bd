//! The stacks of the threads of other processes, with source lines: where a rank is that does not go on.

pub mod capture;
mod event;
mod frames;
mod gaps;
mod lost;
mod memory;
mod python;
pub mod sampled;
#[cfg(test)]
mod tests;
mod unwind;

use std::fs;
use std::path::Path;

use mpitrace_live::process::Process;
use mpitrace_trace::call_site::Resolver;
use mpitrace_words::stack::is_cut;

use capture::Thread;
pub use capture::Why;
use memory::{Map, Memory};
use unwind::Stacks;

/// The data of a process that are needed to show its stacks, copied in a moment. The process may end then.
#[derive(Debug)]
pub struct Capture {
    maps: Vec<Map>,
    /// Where the process has other files than this one: the folder in which its own begin.
    root: String,
    /// The program's file.
    program: String,
    threads: Vec<(Thread, Vec<String>)>,
}

impl Capture {
    /// Copies the threads of a process that are known, or all.
    ///
    /// # Errors
    /// Why none of them can be copied.
    pub fn take(process: &Process, of_all: bool) -> Result<Capture, Why> {
        let pid = process.pid;
        let tids: Vec<u32> =
            if of_all { threads_of(pid) } else { process.threads.iter().map(|thread| thread.tid).collect() };
        let (memory, root) = (Memory { pid }, root_of(pid));
        let maps = memory.maps();
        let interpreter = python::Interpreter::find(memory, &maps, &root);
        let (mut threads, mut why) = (Vec::new(), Why::Ended);
        for tid in tids {
            match capture::thread(memory, tid, &maps) {
                Ok(thread) => {
                    let python = interpreter.as_ref().map(|python| python.frames(tid));
                    threads.push((thread, python.unwrap_or_default()));
                }
                Err(error) => why = error,
            }
        }
        let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default().display().to_string();
        if threads.is_empty() { Err(why) } else { Ok(Capture { maps, root, program, threads }) }
    }
}

/// Where a process has another file system than this one, its root; else nothing.
fn root_of(pid: u32) -> String {
    let root = |pid: &str| {
        let of = |what: &str| fs::read_link(Path::new("/proc").join(pid).join(what)).ok();
        (of("ns/mnt"), of("root"))
    };
    if root(&pid.to_string()) == root("self") { String::new() } else { format!("/proc/{pid}/root") }
}

/// All threads of a process.
pub fn threads_of(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut tids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    tids.sort_unstable();
    tids
}

/// Gives places of programs their names. Debug data are read once.
#[derive(Default)]
pub struct Namer {
    stacks: Stacks,
    resolver: Resolver,
}

impl Namer {
    /// The frames of its threads, the outermost first: of those that are in MPI, else of the first one, or of all.
    pub fn stacks(&mut self, capture: &Capture, of_all: bool) -> Vec<Result<Vec<String>, String>> {
        let of = |(thread, python): &(Thread, Vec<String>)| {
            let places = self.stacks.unwind(thread, &capture.maps, &capture.root);
            let sites = places.iter().map(|place| self.resolver.resolve(&place.module, None, place.offset)).collect();
            frames::shown(sites, python, &format!("{}{}", capture.root, capture.program))
        };
        let mut stacks: Vec<Vec<String>> = capture.threads.iter().map(of).collect();
        if !of_all {
            let is_in_mpi = |frames: &Vec<String>| frames.last().is_some_and(|last| last.starts_with("MPI"));
            match stacks.iter().any(is_in_mpi) {
                true => stacks.retain(is_in_mpi),
                false => stacks.truncate(1),
            }
        }
        stacks.into_iter().map(Ok).collect()
    }

    /// The stacks of a process that runs, or why there are none. One in a short call of the system, of which not all
    /// registers are known, is looked at again.
    pub fn of_process(&mut self, process: &Process, of_all: bool) -> Vec<Result<Vec<String>, String>> {
        const LOOKS: usize = 5;
        let mut look = || match Capture::take(process, of_all) {
            Ok(capture) => self.stacks(&capture, of_all),
            Err(why) => vec![Err(why.text())],
        };
        let is_whole = |stacks: &Vec<Result<Vec<String>, String>>| {
            stacks.iter().all(|stack| !stack.as_ref().is_ok_and(|frames| is_cut(frames)))
        };
        let mut looks = (0..LOOKS).map(|_| look());
        let last = looks.next().unwrap_or_default();
        if is_whole(&last) { last } else { looks.find(is_whole).unwrap_or(last) }
    }
}

impl Why {
    /// The reason, and what helps.
    pub fn text(&self) -> String {
        match self {
            Why::Ended => "the process has ended".to_owned(),
            Why::Debugged(pid) => format!("process {pid} debugs it"),
            Why::Unreadable => "it did not stop in time, or cannot be read".to_owned(),
            Why::Forbidden => match fs::read_to_string(SCOPE).as_deref().map(str::trim) {
                Ok("1") => "the kernel lets only the program that started the job read it (ptrace_scope 1): \
                            start the job by `mpitrace run`, or with MPITRACE_STACKS=1"
                    .to_owned(),
                Ok(scope @ ("2" | "3")) => format!("the kernel forbids it here (ptrace_scope {scope})"),
                _ => {
                    "the kernel forbids it (a container without the capability SYS_PTRACE, or another user)".to_owned()
                }
            },
        }
    }
}

/// Yama's setting.
const SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";
