//! The findings of the observer of `mpitrace run` on a node: which code ran at which time on its ranks, and which
//! processes took their processors. A file beside the trace, which is not changed.
//!
//! Texts, stacks (each a frame on top of another stack), the samples of each thread, the processes of each rank.
//! Numbers are varints, as in [`crate::metadata`]. docs/developers/trace-format.md has all bytes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::TraceError;
use crate::metadata::{put_text, take_text};
use crate::packed::number;

/// First bytes of the file.
const MAGIC: [u8; 8] = *b"MPITSAMP";
/// Raised when older readers cannot read it any more.
const VERSION: u8 = 1;
/// The stack without a frame.
pub const EMPTY: u32 = 0;

/// The observations of a run on a node.
///
/// ```
/// use std::path::Path;
///
/// use mpitrace_format::samples::Samples;
///
/// // Stack 2 is `sum`, called by `main`.
/// let frames = ["main (app.c:3)", "sum (app.c:9)"].map(str::to_owned).to_vec();
/// let samples = Samples { frames, stacks: vec![(0, 0), (1, 1)], ..Samples::default() };
/// assert_eq!(samples.frames_of(2).collect::<Vec<_>>(), ["sum (app.c:9)", "main (app.c:3)"]);
/// assert_eq!(Samples::beside(Path::new("app.mpitrace")), Path::new("app.mpitrace.observed"));
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("app.mpitrace.observed");
/// std::fs::write(&path, samples.encode())?;
/// assert_eq!(Samples::read(&path)?, samples);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// The run's token.
    pub job: [u8; 16],
    /// The texts of frames: `fill_slot (ring.c:31)`, `[kernel]`.
    pub frames: Vec<String>,
    /// By its number less 1: the stack that a stack's last frame is called from ([`EMPTY`]: none), which is before it,
    /// and the frame.
    pub stacks: Vec<(u32, u32)>,
    /// By thread.
    pub threads: Vec<Thread>,
    /// The time that other processes took from ranks, where that was looked at.
    pub preempted: Vec<Preempted>,
    /// Why threads have no samples; empty: they have, or none were to be taken.
    pub note: String,
    /// By thread: samples of it asleep, by the time of day; `period_ns` is the time between two looks.
    pub asleep: Vec<Thread>,
    /// The world ranks whose processes were seen to end, and when: CLOCK_MONOTONIC_RAW in ns.
    pub ends: Vec<(u32, u64)>,
}

/// The time that was taken from a rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preempted {
    /// The world rank.
    pub rank: u32,
    /// For how long its threads were ready without a processor, ns.
    pub ns: u64,
    /// The processes that ran there, the most time first.
    pub takers: Vec<Taker>,
}

/// Processes of one name and user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taker {
    /// The world rank, where it is one of the job.
    pub rank: Option<u32>,
    /// The name, as the kernel has it.
    pub name: String,
    /// The user.
    pub user: String,
    /// The time that it took from the rank, ns.
    pub ns: u64,
}

/// The samples of a thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    /// The world rank.
    pub rank: u32,
    /// The kernel's number of the thread.
    pub tid: u32,
    /// Processor time between two samples, ns.
    pub period_ns: u64,
    /// Samples that were lost since they came faster than they could be read.
    pub lost: u64,
    /// True if the time in the kernel was sampled; else it is that of the samples which are missing.
    pub sees_kernel: bool,
    /// CLOCK_MONOTONIC_RAW in ns, in order, and the number of the stack.
    pub samples: Vec<(u64, u32)>,
}

impl Samples {
    /// The file beside a trace.
    pub fn beside(trace: &Path) -> PathBuf {
        let mut name = OsString::from(trace);
        name.push(".observed");
        name.into()
    }

    /// The bytes of the file.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.job.to_vec();
        put_list(&mut bytes, &self.frames, |bytes, frame| put_text(bytes, frame));
        put_list(&mut bytes, &self.stacks, |bytes, &(below, frame)| put_numbers(bytes, &[below.into(), frame.into()]));
        put_list(&mut bytes, &self.threads, Thread::put);
        put_list(&mut bytes, &self.preempted, |bytes, preempted| {
            put_numbers(bytes, &[preempted.rank.into(), preempted.ns]);
            put_list(bytes, &preempted.takers, |bytes, Taker { rank, name, user, ns }| {
                number::put(bytes, rank.map_or(0, |rank| u64::from(rank) + 1));
                [name, user].iter().for_each(|text| put_text(bytes, text));
                number::put(bytes, *ns);
            });
        });
        put_text(&mut bytes, &self.note);
        put_list(&mut bytes, &self.asleep, Thread::put);
        put_list(&mut bytes, &self.ends, |bytes, &(rank, ns)| put_numbers(bytes, &[rank.into(), ns]));
        let mut file = MAGIC.to_vec();
        file.push(VERSION);
        file.extend(crc32fast::hash(&bytes).to_le_bytes());
        file.extend(bytes);
        file
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or its bytes are not those of samples.
    pub fn read(path: &Path) -> Result<Samples, TraceError> {
        let bytes = fs::read(path).map_err(|error| TraceError::io(path, error))?;
        Samples::decode(&bytes).ok_or_else(|| TraceError::damaged(path, "holds no samples that can be read"))
    }

    fn decode(bytes: &[u8]) -> Option<Samples> {
        let rest = bytes.strip_prefix(&MAGIC)?.strip_prefix(&[VERSION])?;
        let (crc, mut rest) = rest.split_first_chunk()?;
        if u32::from_le_bytes(*crc) != crc32fast::hash(rest) {
            return None;
        }
        let job = *rest.split_off(..16)?.first_chunk()?;
        let frames = take_list(&mut rest, take_text)?;
        let mut number = 0;
        let stacks = take_list(&mut rest, |rest| {
            number += 1;
            let (below, frame) = (small(rest)?, small(rest)?);
            (below < number && (frame as usize) < frames.len()).then_some((below, frame))
        })?;
        let threads = take_list(&mut rest, |rest| Thread::take(rest, stacks.len()))?;
        let taker = |rest: &mut &[u8]| {
            let rank = number::take(rest)?.checked_sub(1).map(u32::try_from).transpose().ok()?;
            Some(Taker { rank, name: take_text(rest)?, user: take_text(rest)?, ns: number::take(rest)? })
        };
        let preempted = take_list(&mut rest, |rest| {
            Some(Preempted { rank: small(rest)?, ns: number::take(rest)?, takers: take_list(rest, taker)? })
        })?;
        // Files of older versions end here.
        let (note, asleep) = match rest.is_empty() {
            true => (String::new(), Vec::new()),
            false => (take_text(&mut rest)?, take_list(&mut rest, |rest| Thread::take(rest, stacks.len()))?),
        };
        let end = |rest: &mut &[u8]| Some((small(rest)?, number::take(rest)?));
        let ends = if rest.is_empty() { Vec::new() } else { take_list(&mut rest, end)? };
        Some(Samples { job, frames, stacks, threads, preempted, note, asleep, ends })
    }

    /// The frames of a stack, the innermost first.
    pub fn frames_of(&self, stack: u32) -> impl Iterator<Item = &str> {
        let pair = |number: u32| self.stacks.get((number as usize).checked_sub(1)?).copied();
        let pairs = std::iter::successors(pair(stack), move |(below, _)| pair(*below));
        pairs.map(|(_, frame)| self.frames[frame as usize].as_str())
    }
}

impl Thread {
    fn put(bytes: &mut Vec<u8>, thread: &Thread) {
        let Thread { rank, tid, period_ns, lost, sees_kernel, samples } = thread;
        put_numbers(bytes, &[*rank as u64, *tid as u64, *period_ns, *lost, u64::from(*sees_kernel)]);
        let mut before = 0;
        put_list(bytes, samples, |bytes, &(ns, stack)| {
            put_numbers(bytes, &[ns.wrapping_sub(before), stack.into()]);
            before = ns;
        });
    }

    /// `stacks`: how many there are.
    fn take(rest: &mut &[u8], stacks: usize) -> Option<Thread> {
        let (rank, tid, period_ns) = (small(rest)?, small(rest)?, number::take(rest)?);
        let (lost, sees_kernel) = (number::take(rest)?, number::take(rest)? != 0);
        let mut before = 0u64;
        let samples = take_list(rest, |rest| {
            before = before.checked_add(number::take(rest)?)?;
            let stack = small(rest).filter(|stack| *stack as usize <= stacks)?;
            Some((before, stack))
        })?;
        Some(Thread { rank, tid, period_ns, lost, sees_kernel, samples })
    }
}

fn small(rest: &mut &[u8]) -> Option<u32> {
    u32::try_from(number::take(rest)?).ok()
}

fn put_numbers(bytes: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|number| number::put(bytes, *number));
}

/// Appends the length of a list, and its elements.
fn put_list<T>(bytes: &mut Vec<u8>, list: &[T], mut put: impl FnMut(&mut Vec<u8>, &T)) {
    number::put(bytes, list.len() as u64);
    list.iter().for_each(|element| put(bytes, element));
}

/// Takes such a list. Its length says no more than the bytes behind it can hold.
fn take_list<T>(rest: &mut &[u8], mut take: impl FnMut(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    let length = number::take(rest).filter(|length| *length <= rest.len() as u64)?;
    (0..length).map(|_| take(rest)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_as_they_were_written_and_no_others() {
        let thread = |rank| Thread {
            rank,
            tid: 70 + rank,
            period_ns: 1_000_000,
            lost: 3,
            sees_kernel: rank == 1,
            samples: vec![(1 << 60, 2), ((1 << 60) + 999_999, 3), (u64::MAX, EMPTY)],
        };
        let taker = |rank| Taker { rank, name: "backup".to_owned(), user: "www".to_owned(), ns: 5 };
        let samples = Samples {
            note: "not permitted".to_owned(),
            asleep: vec![thread(1)],
            ends: vec![(0, 1 << 60), (1, 7)],
            preempted: vec![Preempted { rank: 1, ns: 1 << 40, takers: vec![taker(None), taker(Some(0))] }],
            job: [7; 16],
            frames: ["main (a.c:3)", "[kernel]"].map(str::to_owned).to_vec(),
            stacks: vec![(EMPTY, 0), (1, 1), (EMPTY, 1)],
            threads: vec![thread(0), thread(1)],
        };
        let bytes = samples.encode();
        assert_eq!(Samples::decode(&bytes), Some(samples.clone()));
        assert_eq!(samples.frames_of(2).collect::<Vec<_>>(), ["[kernel]", "main (a.c:3)"]);
        assert_eq!(samples.frames_of(EMPTY).count(), 0);
        (0..bytes.len()).for_each(|length| assert_eq!(Samples::decode(&bytes[..length]), None));
        let circle = Samples { stacks: vec![(1, 0)], ..samples.clone() };
        let no_frame = Samples { stacks: vec![(0, 2)], ..samples.clone() };
        let no_stack = Samples { stacks: Vec::new(), ..samples };
        [circle, no_frame, no_stack].iter().for_each(|wrong| assert_eq!(Samples::decode(&wrong.encode()), None));
    }
}
