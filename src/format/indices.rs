//! What a reader relies on in a part: the columns of every record, and that each index leads to an entry of its table.
//! What `recover` writes must be what a reader takes, since the segments go when the trace is on disk.

use crate::layout::{COLUMNS, CommunicatorEntry, OPERATION_MASK, OperationEntry, ThreadEntry, name_of};
use crate::part::Content;

/// Checks the columns and the indices of a part.
///
/// # Errors
/// An index that is missing or out of range, as words that complete "the file ...".
pub fn check(content: &Content<'_>) -> Result<(), &'static str> {
    if content.rank.rank >= content.rank.world_size {
        return Err("has a rank outside its MPI_COMM_WORLD");
    }
    let has = |(index, (name, size)): (usize, &(&str, u32))| {
        content.columns.get(index).is_some_and(|column| name_of(&column.name) == *name && column.element_size == *size)
    };
    if !COLUMNS.iter().enumerate().all(has) {
        return Err("lacks a column");
    }
    let communicators = content.communicators.len() / size_of::<CommunicatorEntry>();
    let entries = content.operations.chunks_exact(size_of::<OperationEntry>());
    let mut operations = entries.map(bytemuck::pod_read_unaligned::<OperationEntry>);
    if operations.any(|operation| operation.communicator as usize >= communicators) {
        return Err("has an operation without a communicator");
    }
    let threads = content.threads.len() / size_of::<ThreadEntry>();
    if content.runs.iter().any(|run| run.thread as usize >= threads) {
        return Err("has records without a thread");
    }
    let operations = content.operations.len() / size_of::<OperationEntry>();
    let column = &content.columns[COLUMNS.len() - 1];
    let mut of_records = column.slices.iter().flat_map(|slice| slice.chunks_exact(size_of::<u32>()));
    if of_records.any(|index| (bytemuck::pod_read_unaligned::<u32>(index) & OPERATION_MASK) as usize >= operations) {
        return Err("has a call without an operation");
    }
    Ok(())
}
