//! A look at whether a rank has moved, without a copy of its records.

use mpitrace_format::TraceError;
use mpitrace_format::layout::{CommunicatorEntry, LastStamp, LiveThreadTimes, OperationEntry, ThreadEntry};
use mpitrace_format::live::{Segment, read_header};

use super::copy::table;

/// The data that are needed to see whether a rank has moved.
pub struct Moved {
    /// Changes whenever the rank begins or ends a call of MPI.
    pub number: u64,
    /// The run's token.
    pub job: [u8; 16],
    /// The world rank.
    pub rank: u32,
    /// The threads that make its calls, as the kernel numbers them.
    pub tids: Vec<u32>,
    /// The recorded calls that it has begun.
    pub calls: u64,
    /// For so long its threads were off the processor, ns.
    pub off_ns: u64,
    /// The tick of its last stamp, if its one thread that makes calls does nothing but poll.
    pub polled: Option<u64>,
}

/// The data that show whether the rank has moved.
///
/// # Errors
/// The file holds no segment any more, or it cannot be read.
pub fn moved(segment: &Segment) -> Result<Moved, TraceError> {
    let io = |error| TraceError::io(&segment.path, error);
    let header = read_header(&segment.path, &segment.file)?;
    let communicators: Vec<CommunicatorEntry> = table(segment, &header.communicators, 0).map_err(io)?;
    let operations: Vec<OperationEntry> = table(segment, &header.operations, 0).map_err(io)?;
    let threads: Vec<ThreadEntry> = table(segment, &header.threads, 0).map_err(io)?;
    let times: Vec<LiveThreadTimes> = table(segment, &header.thread_times, 0).map_err(io)?;
    let off_ns = times.iter().flat_map(|thread| thread.times.off_ns).flatten().sum();
    let calls = communicators.iter().map(|entry| entry.calls).chain(operations.iter().map(|entry| entry.calls));
    let words = threads.iter().map(|thread| u64::from(thread.activity));
    let number = calls.chain(words).chain([header.rank.state.into()]).fold(0, mix);
    let tids = threads.iter().map(|thread| thread.tid).collect();
    let calls = operations.iter().filter(|entry| !entry.is_region()).map(|entry| entry.calls).sum();
    let polled = match &times[..] {
        [one] if one.last.inside == LastStamp::POLLING && one.polls.since > 0 => Some(one.last.tick),
        _ => None,
    };
    Ok(Moved { number, job: header.rank.job, rank: header.rank.rank, tids, calls, off_ns, polled })
}

/// FNV-1a, a word at a time.
pub fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23)
}
