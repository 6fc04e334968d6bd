//! The observer's view of the ranks of this node on request: samples (`MPITRACE_SAMPLE`), which it takes out of the
//! buffers of their events, and the processes on their processors.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use mpitrace_format::file;
use mpitrace_format::layout::NO_RANK;
use mpitrace_format::samples::Samples;
use mpitrace_show::text;
use mpitrace_words::names::file_here;

use super::standing::Standing;
use super::takers::{self, Takers};
use crate::stacks::sampled::{Sampled, Tree};

/// The observer looks at least so often, and whether there are new threads.
const PAUSE: Duration = Duration::from_millis(50);
const THREADS: Duration = Duration::from_millis(500);

/// Samples a second where none are asked for, ...
pub const USUAL: f64 = 50.0;
/// ... and up to which rate the observer looks less often.
const LOW: f64 = 200.0;
const LOW_PAUSE: Duration = Duration::from_millis(200);
/// The time between two looks for threads that are asleep.
const ASLEEP: Duration = Duration::from_millis(50);

/// The bounds of samples a second: the kernel takes none in less than 10 us.
pub const BOUNDS: std::ops::RangeInclusive<f64> = 1.0..=50_000.0;

/// The sampler of the ranks on this node.
pub struct Sampling {
    /// 0: none.
    hz: f64,
    /// The user has asked for a rate.
    is_asked: bool,
    tree: Tree,
    /// By thread.
    threads: BTreeMap<u32, OfThread>,
    looked: Option<Instant>,
    /// Stacks of threads that are asleep are taken, and when that was tried last.
    asleep: Option<Instant>,
    takes_asleep: bool,
    /// Why a thread has none.
    error: Option<io::Error>,
    takers: Option<Takers>,
    /// The runs and ranks whose processes have ended, and when: CLOCK_MONOTONIC_RAW, ns.
    ends: Vec<([u8; 16], u32, u64)>,
}

struct OfThread {
    sampled: Sampled,
    /// Its run and rank, as soon as these are known.
    job: [u8; 16],
    rank: u32,
    has_ended: bool,
}

impl Sampling {
    /// By the values of `MPITRACE_SAMPLE` and `MPITRACE_PROCESSES`; without the first [`USUAL`] samples. `None`:
    /// nothing is to be taken.
    pub fn new(samples: Option<&str>, processes: Option<&str>) -> Option<Sampling> {
        let asked = |text: &str| text.trim().parse().ok().filter(|hz| BOUNDS.contains(hz)).unwrap_or(0.0);
        let (hz, is_asked) = (samples.map_or(USUAL, asked), samples.is_some());
        let (tree, threads, takers) = (Tree::default(), BTreeMap::new(), Takers::new(processes));
        let is_needed = hz > 0.0 || takers.is_some();
        is_needed.then_some(Sampling {
            hz,
            is_asked,
            tree,
            threads,
            looked: None,
            asleep: None,
            takes_asleep: hz > 0.0,
            error: None,
            takers,
            ends: Vec::new(),
        })
    }

    /// Takes no stacks of threads that are asleep: the user wants none.
    pub fn without_asleep(self) -> Sampling {
        Sampling { takes_asleep: false, ..self }
    }

    /// The longest time between two looks.
    pub fn pause(&self) -> Duration {
        match self.hz {
            hz if hz > LOW => PAUSE,
            _ if self.takes_asleep => ASLEEP,
            hz if hz > 0.0 => LOW_PAUSE,
            _ => takers::PAUSE,
        }
    }

    /// Looks for new threads, and at the processes, where it is time for that.
    pub fn look<'r>(&mut self, running: impl Iterator<Item = (u32, &'r Standing)> + Clone) {
        if self.looked.is_none_or(|looked| looked.elapsed() >= THREADS) {
            self.looked = Some(Instant::now());
            running.clone().for_each(|(pid, standing)| self.see(pid, standing));
        }
        if let Some(takers) = &mut self.takers {
            takers.look(running);
        }
        self.look_asleep();
    }

    /// Takes the stacks of threads that are asleep, where it is time for that: no more than 20 times a second.
    fn look_asleep(&mut self) {
        if !self.takes_asleep || self.asleep.is_some_and(|looked| looked.elapsed() < ASLEEP.mul_f64(0.9)) {
            return;
        }
        self.asleep = Some(Instant::now());
        let living = self.threads.iter_mut().filter(|(_, thread)| !thread.has_ended);
        for (tid, thread) in living {
            // What is forbidden once stays so.
            self.takes_asleep &= thread.sampled.look_asleep(*tid, &mut self.tree);
        }
    }

    /// Samples the threads of a process that make calls; its first one from the beginning.
    pub fn see(&mut self, pid: u32, standing: &Standing) {
        let Some(moved) = standing.moved() else { return };
        if self.hz == 0.0 {
            return;
        }
        for tid in [pid].into_iter().chain(moved.tids.iter().copied()) {
            if !self.threads.contains_key(&tid) {
                match Sampled::open(pid, tid, self.hz) {
                    Ok(sampled) => {
                        let new = OfThread { sampled, job: [0; 16], rank: NO_RANK, has_ended: false };
                        self.threads.insert(tid, new);
                    }
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(error) => self.error = Some(error),
                }
            }
            if let Some(thread) = self.threads.get_mut(&tid).filter(|_| moved.rank != NO_RANK) {
                (thread.job, thread.rank) = (moved.job, moved.rank);
            }
        }
    }

    /// A process has ended at this moment of CLOCK_MONOTONIC_RAW, ns.
    pub fn end(&mut self, pid: u32, raw_ns: u64) {
        let known = self.threads.get(&pid).filter(|thread| thread.rank != NO_RANK);
        self.ends.extend(known.map(|thread| (thread.job, thread.rank, raw_ns)));
    }

    /// The descriptors that can be read when there are samples.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.threads.values().filter(|thread| !thread.has_ended).map(|thread| thread.sampled.descriptor())
    }

    /// Takes what has come. `events`: of each of the descriptors.
    pub fn drain(&mut self, events: impl Iterator<Item = libc::c_short>) {
        let living = self.threads.iter_mut().filter(|(_, thread)| !thread.has_ended);
        for ((tid, thread), events) in living.zip(events) {
            thread.sampled.drain(*tid, &mut self.tree);
            thread.has_ended |= events & libc::POLLHUP != 0;
        }
    }

    /// Writes them beside the traces that they belong to, and says how many there are, where they were asked for and
    /// unless it is to be silent.
    pub fn write(mut self, traces: &[PathBuf], is_silent: bool) {
        self.threads.iter_mut().for_each(|(tid, thread)| thread.sampled.drain(*tid, &mut self.tree));
        let note = self.error.map_or_else(String::new, |error| {
            let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
            format!("{error} (kernel.perf_event_paranoid is {}, 2 allows them)", level.trim())
        });
        if self.is_asked && !note.is_empty() {
            eprintln!("mpitrace: no samples: {note}");
        }
        for trace in traces {
            let Some(job) = file::job(trace) else { continue };
            let of_job = self.threads.iter().filter(|(_, thread)| thread.job == job);
            let threads: Vec<_> = of_job.map(|(tid, thread)| thread.sampled.finish(thread.rank, *tid)).collect();
            let of_job = self.threads.iter().filter(|(_, thread)| thread.job == job);
            let period_ns = ASLEEP.as_nanos() as u64;
            let asleep =
                of_job.filter_map(|(tid, thread)| thread.sampled.finish_asleep(thread.rank, *tid, period_ns)).collect();
            let (count, lost) = threads
                .iter()
                .fold((0, 0), |(count, lost), thread| (count + thread.samples.len() as u64, lost + thread.lost));
            let preempted = self.takers.as_ref().map(|takers| takers.finish(job)).unwrap_or_default();
            if threads.is_empty() && preempted.is_empty() && note.is_empty() {
                continue;
            }
            let ends = self.ends.iter().filter(|(of, ..)| *of == job).map(|&(_, rank, ns)| (rank, ns)).collect();
            let path = Samples::beside(trace);
            let name = file_here(&path);
            match std::fs::write(
                &path,
                Samples { preempted, ends, note: note.clone(), ..self.tree.named(job, threads, asleep) }.encode(),
            ) {
                Ok(()) if is_silent || !self.is_asked || self.hz == 0.0 => {}
                Ok(()) if lost == 0 => eprintln!("mpitrace: {} in {name}", text::count(count, "sample")),
                Ok(()) => eprintln!("mpitrace: {} in {name}; up to {lost} were lost", text::count(count, "sample")),
                Err(error) => eprintln!("mpitrace: {name}: {error}"),
            }
        }
    }
}
