//! The records of message calls of a part, which lie in blocks of their own.

use mpitrace_format::layout::{MESSAGES, MessageEntry, OPERATION_MASK, message_bytes, message_position, section};
use mpitrace_format::packed::Block;
use mpitrace_format::segment::message_numbering;

use super::part::Part;

/// A message call of a rank, as far as it is of one message.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_trace::reader::Trace;
///
/// let trace = Trace::open(&[path])?;
/// let part = &trace.parts[0];
/// assert_eq!((part.message_calls(), part.message_operations().len()), (1, 1));
/// let sent = part.message_records()[0];
/// assert_eq!((sent.bytes, sent.enter, sent.exit), (64, 1_090_000, 1_090_300));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageRecord {
    /// Index of its operation ([`Part::message_operations`]).
    pub operation: u32,
    /// Calls of the operation before; of a call that completes a request those of the operation that started it.
    pub number: u32,
    /// Bytes sent; of other calls 0.
    pub bytes: u64,
    /// Ticks at the entry ...
    pub enter: u64,
    /// ... and at the exit.
    pub exit: u64,
    /// Index of the thread.
    pub thread: u32,
}

impl Part {
    /// The operations of message calls; none where those were not recorded.
    pub fn message_operations(&self) -> &[MessageEntry] {
        self.table(section::MESSAGES)
    }

    /// Message calls made.
    pub fn message_calls(&self) -> u64 {
        self.message_operations().iter().fold(0, |sum, entry| sum.saturating_add(entry.calls))
    }

    /// The records of message calls, thread by thread, each in order.
    pub fn message_records(&self) -> Vec<MessageRecord> {
        let numbering = message_numbering(self.message_operations().len());
        let mut records = Vec::new();
        let mut rest = self.section(section::MESSAGE_BLOCKS);
        while let Some(block) = Block::parse(rest, &numbering) {
            rest = &rest[block.bytes().len()..];
            let Some(rows) = block.rows() else { continue };
            let times = rows.enter.into_iter().zip(rows.exit);
            let numbers = rows.position.into_iter().zip(rows.repetition);
            for ((operation, (enter, exit)), (position, number)) in rows.operation.into_iter().zip(times).zip(numbers) {
                let stored = position.wrapping_sub(message_position(0, number)) as u32;
                records.push(MessageRecord {
                    operation: operation & OPERATION_MASK,
                    number: number as u32,
                    bytes: message_bytes(stored),
                    enter,
                    exit: exit.max(enter),
                    thread: block.header.thread & !MESSAGES,
                });
            }
        }
        records
    }
}

/// Checks the blocks of message calls and all that their records lead to.
pub(super) fn check(part: &Part) -> Result<(), &'static str> {
    let operations = part.message_operations();
    let (communicators, starts) = (part.communicators().len(), operations.len());
    let is_wrong = |entry: &MessageEntry| {
        entry.start as usize > starts || (entry.partner >> 32).checked_sub(1).is_some_and(|c| c >= communicators as u64)
    };
    if operations.iter().any(is_wrong) {
        return Err("has a message without a communicator or a start");
    }
    let numbering = message_numbering(operations.len());
    let mut rest = part.section(section::MESSAGE_BLOCKS);
    while !rest.is_empty() {
        let block = Block::parse(rest, &numbering).ok_or("has a block that is not whole")?;
        let highest = block.highest_operation().ok_or("has a block that cannot be decoded")? as usize;
        if highest >= operations.len() || block.header.thread & !MESSAGES >= part.threads().len() as u32 {
            return Err("has a message without an operation or a thread");
        }
        if !block.has_its_checksum() {
            return Err("is damaged (checksum)");
        }
        rest = &rest[block.bytes().len()..];
    }
    Ok(())
}
