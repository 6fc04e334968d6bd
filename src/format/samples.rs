//! The findings of the observer of `mpitrace run` on a node: which code ran at which time on its ranks, and which
//! processes took their processors. A file beside the trace, which is not changed.
//!
//! Texts, stacks (each a frame on top of another stack), the samples of each thread, the processes of each rank. Numbers are varints, as in
//! [`crate::metadata`]. docs/developers/trace-format.md has all bytes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::TraceError;
use crate::metadata::{put_number, put_text, take_number, take_text};

/// First bytes of the file.
const MAGIC: [u8; 8] = *b"MPITSAMP";
/// Raised when older readers cannot read it any more.
const VERSION: u8 = 1;
/// The stack without a frame.
pub const EMPTY: u32 = 0;

/// The observations of a run on a node.
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
    /// Of the rank's time, ns.
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
        put_number(&mut bytes, self.frames.len() as u64);
        self.frames.iter().for_each(|frame| put_text(&mut bytes, frame));
        put_number(&mut bytes, self.stacks.len() as u64);
        let pairs = self.stacks.iter().flat_map(|&(below, frame)| [below, frame]);
        pairs.for_each(|number| put_number(&mut bytes, number.into()));
        put_number(&mut bytes, self.threads.len() as u64);
        for thread in &self.threads {
            let Thread { rank, tid, period_ns, lost, sees_kernel, samples } = thread;
            let numbers = [*rank as u64, *tid as u64, *period_ns, *lost, u64::from(*sees_kernel), samples.len() as u64];
            numbers.into_iter().for_each(|number| put_number(&mut bytes, number));
            let mut before = 0;
            for &(ns, stack) in samples {
                put_number(&mut bytes, ns.wrapping_sub(before));
                put_number(&mut bytes, stack.into());
                before = ns;
            }
        }
        put_number(&mut bytes, self.preempted.len() as u64);
        for Preempted { rank, ns, takers } in &self.preempted {
            [u64::from(*rank), *ns, takers.len() as u64].iter().for_each(|number| put_number(&mut bytes, *number));
            for Taker { rank, name, user, ns } in takers {
                put_number(&mut bytes, rank.map_or(0, |rank| u64::from(rank) + 1));
                [name, user].iter().for_each(|text| put_text(&mut bytes, text));
                put_number(&mut bytes, *ns);
            }
        }
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
        // A number says no more than the bytes behind it can hold.
        let count = |rest: &mut &[u8]| take_number(rest).filter(|count| *count <= rest.len() as u64);
        let small = |rest: &mut &[u8]| u32::try_from(take_number(rest)?).ok();
        let frames = (0..count(&mut rest)?).map(|_| take_text(&mut rest)).collect::<Option<Vec<String>>>()?;
        let stacks = (1..=count(&mut rest)?).map(|number| {
            let (below, frame) = (small(&mut rest)?, small(&mut rest)?);
            (u64::from(below) < number && (frame as usize) < frames.len()).then_some((below, frame))
        });
        let stacks = stacks.collect::<Option<Vec<(u32, u32)>>>()?;
        let mut threads = Vec::new();
        for _ in 0..count(&mut rest)? {
            let mut thread = Thread {
                rank: small(&mut rest)?,
                tid: small(&mut rest)?,
                period_ns: take_number(&mut rest)?,
                lost: take_number(&mut rest)?,
                sees_kernel: take_number(&mut rest)? != 0,
                samples: Vec::new(),
            };
            let mut ns = 0u64;
            for _ in 0..count(&mut rest)? {
                ns = ns.checked_add(take_number(&mut rest)?)?;
                let stack = small(&mut rest).filter(|stack| *stack as usize <= stacks.len())?;
                thread.samples.push((ns, stack));
            }
            threads.push(thread);
        }
        let taker = |rest: &mut &[u8]| {
            let rank = take_number(rest)?.checked_sub(1).map(u32::try_from).transpose().ok()?;
            Some(Taker { rank, name: take_text(rest)?, user: take_text(rest)?, ns: take_number(rest)? })
        };
        let mut preempted = Vec::new();
        for _ in 0..count(&mut rest)? {
            let (rank, ns) = (small(&mut rest)?, take_number(&mut rest)?);
            let takers = (0..count(&mut rest)?).map(|_| taker(&mut rest)).collect::<Option<Vec<Taker>>>()?;
            preempted.push(Preempted { rank, ns, takers });
        }
        Some(Samples { job, frames, stacks, threads, preempted })
    }

    /// The frames of a stack, the innermost first.
    pub fn frames_of(&self, stack: u32) -> impl Iterator<Item = &str> {
        let pair = |number: u32| self.stacks.get((number as usize).checked_sub(1)?).copied();
        let pairs = std::iter::successors(pair(stack), move |(below, _)| pair(*below));
        pairs.map(|(_, frame)| self.frames[frame as usize].as_str())
    }
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
