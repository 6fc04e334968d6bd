//! Observes the ranks of a job on this node while it runs: which of them end, in which order and how.
//!
//! It sleeps until a segment is made or closed, or a process of the job ends, and looks every second or two whether a
//! rank has moved. Nothing is asked of the ranks. Programs make files beside the segments, thousands a second: so what
//! was made and closed is looked at no more than ten times a second, and once a second when all ranks are known.
//!
//! A process that ends closes its files first: a launcher that notices ends the others, and they may be gone before it.
//! So the order of the ends is the order in which the segments were closed, which inotify keeps.

mod latency;
pub mod metrics;
pub mod sampling;
pub mod standing;
pub mod takers;
use std::ffi::{c_int, c_short};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mpitrace_format::layout::Anchor;
use mpitrace_format::live::{Holder, Segment};
use mpitrace_live::ProcessEnd;
use mpitrace_platform::node_files;

use crate::observer::latency::Latency;
use crate::observer::metrics::Metrics;
use crate::observer::sampling::Sampling;
use crate::observer::standing::{Standing, Standstill, Still};
use crate::process;
use crate::stacks::{Capture, Why};

/// A segment has its header and its lock some us after its name: it is looked at again after this time, so often.
const SOON: Duration = Duration::from_millis(20);
const LOOKS: u32 = 25;
/// Least time between two looks at files that were made or closed; the end of a process is looked at at once.
const BETWEEN_FILES: Duration = Duration::from_millis(100);
/// The time between them while all ranks of the world are known.
const BETWEEN_FILES_OF_ALL: Duration = Duration::from_secs(1);
/// Ranks may end a little later than their launcher: on a busy machine 2 s were once too short.
const PATIENCE: Duration = Duration::from_secs(5);

/// All that was seen of a job until its end.
#[derive(Default)]
pub struct Observed {
    /// A rank has entered `MPI_Init`.
    pub began: bool,
    /// The processes that have ended, the first one first: by [`End::at`], then by [`End::place`].
    pub ends: Vec<End>,
    /// The samples, where any were to be taken.
    pub sampling: Option<Sampling>,
}

/// The end of a rank.
#[derive(Debug)]
pub struct End {
    /// The path of its segment.
    pub segment: PathBuf,
    /// When its segment was seen to be closed or, without `place`, when its end was seen.
    pub at: Instant,
    /// Its place among all segments that were closed; `None`: not seen, as when a child still has the segment open.
    pub place: Option<u32>,
    /// Its exit code or signal; `None`: not known.
    pub how: Option<ProcessEnd>,
    /// When that was by the rank's own clock; `None`: not known.
    pub seen: Option<Seen>,
    /// For how long it had not moved then; `None`: not known.
    pub still: Option<Still>,
    /// Its threads, where it had not moved for long, or the job was asked to end.
    pub capture: Option<Result<Capture, Why>>,
}

/// A moment at which a process was seen to have ended.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// By the counter of the rank and the clocks of the system.
    pub anchor: Anchor,
    /// It may have ended so much earlier.
    pub late: Duration,
}

/// The observer of a job: a thread that looks at the segments of its ranks.
pub struct Observer {
    thread: Option<JoinHandle<Observed>>,
    /// The thread reads its other end, which is at its end when the job is.
    job: Option<io::PipeWriter>,
}

impl Observer {
    /// Begins to observe the job with this number (`MPITRACE_RUN`), whose segments will lie in one of these folders.
    /// Where that is not possible nothing is observed.
    pub fn start(
        run: u32,
        folders: &[PathBuf],
        stacks: Option<Standstill>,
        sampling: Option<Sampling>,
        metrics: Option<Metrics>,
    ) -> Observer {
        let Ok((observing, job)) = Loop::new(run, folders, stacks, sampling, metrics) else {
            return Observer { thread: None, job: None };
        };
        let thread = std::thread::Builder::new().name("observer".to_owned()).spawn(|| observing.run());
        Observer { thread: thread.ok(), job: Some(job) }
    }

    /// The result. The job has ended: its last processes have a little time to end too.
    pub fn finish(mut self) -> Observed {
        drop(self.job.take());
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

struct Loop {
    run: u32,
    prefix: String,
    job: io::PipeReader,
    /// Reports the files that are made in the folders, and those that were written to and are closed.
    files: File,
    /// When a look last found that one was made or closed.
    files_at: Instant,
    /// Ranks of the world; 0: not known yet.
    world: usize,
    /// The folders, with the numbers by which `files` names them.
    folders: Vec<(c_int, PathBuf)>,
    /// New segments that are not known to be the job's or another's, with the looks that are left.
    unknown: Vec<(PathBuf, u32)>,
    running: Vec<Running>,
    closed: u32,
    latency: Latency,
    stacks: Option<Standstill>,
    signals: Option<io::PipeReader>,
    metrics: Option<Metrics>,
    observed: Observed,
}

struct Running {
    segment: PathBuf,
    pid: u32,
    process: OwnedFd,
    /// When its segment was last closed, and at which place.
    closed: Option<(Instant, u32)>,
    /// The moment of that.
    seen: Option<Seen>,
    standing: Standing,
}

impl Loop {
    fn new(
        run: u32,
        folders: &[PathBuf],
        stacks: Option<Standstill>,
        sampling: Option<Sampling>,
        metrics: Option<Metrics>,
    ) -> io::Result<(Loop, io::PipeWriter)> {
        let (job, writer) = io::pipe()?;
        // SAFETY: takes numbers; the descriptor is new, and this file's alone.
        let files = unsafe { owned(libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK))? };
        let watched = folders.iter().filter_map(|folder| {
            let path = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
            // SAFETY: the path is a C string that outlives the call.
            let number = unsafe {
                libc::inotify_add_watch(files.as_raw_fd(), path.as_ptr(), libc::IN_CREATE | libc::IN_CLOSE_WRITE)
            };
            (number >= 0).then(|| (number, folder.clone()))
        });
        let folders = watched.collect();
        let observing = Loop {
            run,
            prefix: node_files::prefix(process::user()),
            job,
            folders,
            files: files.into(),
            files_at: Instant::now(),
            world: 0,
            unknown: Vec::new(),
            running: Vec::new(),
            closed: 0,
            latency: Latency::new(),
            signals: stacks.as_ref().map(|_| process::hold()).transpose()?,
            stacks,
            metrics,
            observed: Observed { sampling, ..Observed::default() },
        };
        Ok((observing, writer))
    }

    fn run(mut self) -> Observed {
        let mut until: Option<Instant> = None;
        loop {
            if let Some(until) = until {
                let all_known = self.running.is_empty() && self.unknown.is_empty();
                if all_known || Instant::now() >= until {
                    self.observed.ends.sort_by_key(|end| (end.at, end.place));
                    return std::mem::take(&mut self.observed);
                }
            }
            if self.wait(until.is_some()) {
                until = Some(Instant::now() + PATIENCE);
            }
            self.look();
        }
    }

    /// Sleeps until there is something to do, and takes the ends of processes. True: the job has ended just now.
    fn wait(&mut self, stopping: bool) -> bool {
        let polled = |descriptor: RawFd| libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
        let between = if self.is_complete() { BETWEEN_FILES_OF_ALL } else { BETWEEN_FILES };
        let until_files = (self.files_at + between).saturating_duration_since(Instant::now());
        let mut all = vec![polled(if until_files.is_zero() { self.files.as_raw_fd() } else { -1 })];
        // A closed pipe would wake the thread at once, again and again.
        all.push(polled(if stopping { -1 } else { self.job.as_raw_fd() }));
        all.push(polled(self.signals.as_ref().map_or(-1, AsRawFd::as_raw_fd)));
        all.extend(self.running.iter().map(|running| polled(running.process.as_raw_fd())));
        let first_sampled = all.len();
        all.extend(self.observed.sampling.iter().flat_map(Sampling::descriptors).map(polled));
        let pauses = [
            Some(self.stacks.as_ref().map_or(standing::LONGEST, Standstill::pause)),
            self.observed.sampling.as_ref().map(Sampling::pause),
            self.metrics.as_ref().map(|_| metrics::PERIOD),
        ];
        let pause = match pauses.into_iter().flatten().min() {
            _ if stopping || !self.unknown.is_empty() => Some(SOON),
            Some(pause) if !self.running.is_empty() => Some(pause),
            _ => None,
        };
        let until_files = Some(until_files).filter(|until| !until.is_zero());
        // Rounded up: one that is over in less than a ms would have the thread go round.
        let limit =
            pause.into_iter().chain(until_files).min().map_or(-1, |pause| pause.as_micros().div_ceil(1000) as c_int);
        self.latency.begin();
        // SAFETY: the array is as long as it says and outlives the call.
        unsafe { libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, limit) };
        let at = self.latency.end();
        // Before the ends: what has ended now has closed its segment before.
        self.take_files(at);
        self.take_stacks(all[2].revents & libc::POLLIN != 0);
        if let Some(metrics) = &mut self.metrics {
            metrics.look(self.running.iter_mut().map(|running| (running.pid, &mut running.standing)));
        }
        self.take_samples(all[first_sampled..].iter().map(|polled| polled.revents));
        let has_job_ended = all[1].revents & libc::POLLHUP != 0;
        let mut ended = all[3..first_sampled].iter().map(|polled| polled.revents & libc::POLLIN != 0);
        let Observed { ends, sampling, .. } = &mut self.observed;
        let late = self.latency.late;
        self.running.retain_mut(|running| {
            let has_ended = ended.next().unwrap_or(false);
            if has_ended {
                sampling.iter_mut().for_each(|sampling| {
                    sampling.see(running.pid, &running.standing);
                    sampling.end(running.pid, running.standing.anchor().raw_ns);
                });
                let (at, place) = running.closed.map_or((at, None), |(at, place)| (at, Some(place)));
                let seen = running.seen.unwrap_or_else(|| Seen { anchor: running.standing.anchor(), late });
                let still = running.standing.still_at(at);
                ends.push(End {
                    segment: running.segment.clone(),
                    at,
                    place,
                    how: end_of(&running.process, running.pid),
                    seen: Some(seen),
                    still,
                    capture: running.standing.last(),
                });
            }
            !has_ended
        });
        has_job_ended
    }

    /// Takes the stacks of ranks that do not go on, or of all, before the signal that ends them is sent on.
    fn take_stacks(&mut self, is_to_end: bool) {
        let Some(stacks) = &mut self.stacks else {
            // When each rank moved last is known all the same.
            return self.running.iter_mut().for_each(|running| drop(running.standing.look()));
        };
        let mut signals = [0; 16];
        let count = match &mut self.signals {
            Some(held) if is_to_end => held.read(&mut signals).unwrap_or(0),
            _ => 0,
        };
        let standing = self.running.iter_mut().map(|running| (running.pid, &mut running.standing));
        stacks.look(standing, count > 0);
        signals[..count].iter().for_each(|&signal| process::hand_on(signal));
    }

    /// Takes the samples that have come, and sees which threads there are, and of which ranks.
    fn take_samples(&mut self, events: impl Iterator<Item = c_short>) {
        let Some(sampling) = &mut self.observed.sampling else { return };
        sampling.drain(events);
        sampling.look(self.running.iter().map(|running| (running.pid, &running.standing)));
    }

    /// Takes the names of the segments that were made and closed, as seen at this moment.
    fn take_files(&mut self, at: Instant) {
        /// The bytes before a name: the folder's number, three words, the last of them the length of the name.
        const BEFORE: usize = 16;
        let mut bytes = [0; 16384];
        while let Ok(length @ 1..) = self.files.read(&mut bytes) {
            self.files_at = at;
            let mut rest = &bytes[..length];
            while let Some((head, names)) = rest.split_first_chunk::<BEFORE>() {
                let word = |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
                let (number, what, length) = (word(0) as c_int, word(4), (word(12) as usize).min(names.len()));
                let (name, behind) = names.split_at(length);
                let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
                let name = String::from_utf8_lossy(&name[..end]);
                if let Some((_, folder)) = self.folders.iter().find(|(known, _)| *known == number)
                    && name.starts_with(&self.prefix)
                    && name.ends_with(node_files::SEGMENT)
                {
                    self.take_file(what, folder.join(&*name), at);
                }
                rest = behind;
            }
        }
    }

    /// True if all ranks of the world are known and run.
    fn is_complete(&self) -> bool {
        self.world > 0 && self.running.len() >= self.world
    }

    fn take_file(&mut self, what: u32, segment: PathBuf, at: Instant) {
        if what & libc::IN_CREATE != 0 {
            self.unknown.push((segment, LOOKS));
        } else if let Some(running) = self.running.iter_mut().find(|running| running.segment == segment) {
            running.closed = Some((at, self.closed));
            running.seen = Some(Seen { anchor: running.standing.anchor(), late: self.latency.late });
            self.closed += 1;
        }
    }

    fn look(&mut self) {
        let unknown = std::mem::take(&mut self.unknown);
        for (path, looks) in unknown {
            match Segment::open(&path, Some(process::user())) {
                Some(segment) if segment.run == self.run => {
                    self.observed.began = true;
                    let Holder::Process(pid) = segment.holder else {
                        let at = Instant::now();
                        let unknown =
                            End { at, segment: path, place: None, how: None, seen: None, still: None, capture: None };
                        self.observed.ends.push(unknown);
                        continue;
                    };
                    if let Ok(process) = open_process(pid) {
                        self.world = self.world.max(segment.rank.world_size as usize);
                        let standing = Standing::new(segment, pid);
                        self.observed.sampling.iter_mut().for_each(|sampling| sampling.see(pid, &standing));
                        self.running.push(Running { segment: path, pid, process, closed: None, seen: None, standing });
                    }
                }
                // The number comes after the header.
                Some(Segment { run: 1.., .. }) => {}
                _ if looks > 0 && path.exists() => self.unknown.push((path, looks - 1)),
                _ => {}
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if self.signals.is_some() {
            process::release();
        }
    }
}

/// The end of a process. The kernel has it since Linux 6.15; before, /proc does as long as the launcher has not asked
/// for it.
fn end_of(process: &OwnedFd, pid: u32) -> Option<ProcessEnd> {
    let status = status_of(process).or_else(|| status_in_proc(pid))?;
    Some(match status & 0x7f {
        0 => ProcessEnd::Code(status >> 8 & 0xff),
        signal => ProcessEnd::Signal(signal),
    })
}

/// The process with this number, by a descriptor that becomes readable at its end.
fn open_process(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers; the descriptor is new.
    unsafe { owned(libc::syscall(libc::SYS_pidfd_open, pid, 0) as c_int) }
}

/// # Safety
/// The descriptor, where it is one, has no other owner.
unsafe fn owned(descriptor: c_int) -> io::Result<OwnedFd> {
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, and the caller's promise.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// `struct pidfd_info` of linux/pidfd.h, in its first size.
#[repr(C)]
#[derive(Default)]
struct Info {
    mask: u64,
    control_group: u64,
    numbers: [u32; 11],
    exit_code: i32,
}

fn status_of(process: &OwnedFd) -> Option<c_int> {
    /// `_IOWR(0xff, 11, struct pidfd_info)`.
    const GET_INFO: libc::Ioctl = 3 << 30 | (size_of::<Info>() as libc::Ioctl) << 16 | 0xff << 8 | 11;
    const EXIT: u64 = 1 << 3;
    let mut info = Info { mask: EXIT, ..Info::default() };
    // SAFETY: the kernel fills no more than the size that the request names, and `info` outlives the call.
    let answered = unsafe { libc::ioctl(process.as_raw_fd(), GET_INFO, &raw mut info) } == 0;
    (answered && info.mask & EXIT != 0).then_some(info.exit_code)
}

/// The exit status of a process in /proc: the last number of its line, behind a name that may hold blanks.
fn status_in_proc(pid: u32) -> Option<c_int> {
    let line = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    let (_, fields) = line.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // Fields 3 and 52 of proc_pid_stat(5).
    (fields.first() == Some(&"Z")).then(|| fields.get(49)?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_end_of_a_process_is_seen_with_its_status() {
        for (script, expected) in [("exit 3", ProcessEnd::Code(3)), ("kill -9 $$", ProcessEnd::Signal(9))] {
            let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
            let process = open_process(child.id()).unwrap();
            let pid = child.id();
            let mut polled = [libc::pollfd { fd: process.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
            // SAFETY: the array is as long as it says and outlives the call.
            unsafe { libc::poll(polled.as_mut_ptr(), 1, -1) };
            // It is a zombie until it is waited for.
            assert_eq!(end_of(&process, pid), Some(expected), "{script}");
            assert!(status_in_proc(child.id()).is_some());
            child.wait().unwrap();
        }
    }

    #[test]
    fn without_a_rank_nothing_is_observed() {
        let folder = tempfile::tempdir().unwrap();
        let observer = Observer::start(7, &[folder.path().to_owned(), "/nonexistent".into()], None, None, None);
        std::fs::write(folder.path().join("mpitrace-0-note.segment"), "a note").unwrap();
        let observed = observer.finish();
        assert!(!observed.began && observed.ends.is_empty());
    }
}
