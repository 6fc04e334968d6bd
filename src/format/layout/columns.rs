//! The columns of the records.

use super::{ColumnEntry, chunk_flags, name_bytes};

/// Set in the operation column for a record whose call the tracer itself may have delayed.
pub const DISTURBED: u32 = 1 << 31;
/// Set in the operation column for a call in which the thread was interrupted: there was a context switch.
pub const INTERRUPTED: u32 = 1 << 30;
/// Set in the operation column where the thread was interrupted between its call before and this one.
pub const INTERRUPTED_BEFORE: u32 = 1 << 29;
/// The operation's number within the operation column.
pub const OPERATION_MASK: u32 = INTERRUPTED_BEFORE - 1;
/// The columns that every record of a part has, the first ones, in this order ([`crate::packed::column`]).
pub const COLUMNS: [&str; 5] = ["enter", "exit", "position", "repetition", "operation"];
/// The columns of a live segment in their place, in the order in which a chunk holds them: 24 bytes a record.
/// `duration` is exit - enter + [`DURATION_FROM`] in ticks, or one of [`NOT_RETURNED`] and [`LONG`]; `position` and
/// `repetition` are the lower halves.
pub const LIVE_COLUMNS: [(&str, u32); 5] =
    [("enter", 8), ("duration", 4), ("position", 4), ("repetition", 4), ("operation", 4)];
/// In `duration`: the call has not returned.
pub const NOT_RETURNED: u32 = 0;
/// In `duration`: the exit is in a [`super::LongCallEntry`].
pub const LONG: u32 = 1;
/// In `duration`: a call that took no tick.
pub const DURATION_FROM: u32 = 2;
/// The first duration, in ticks, that has no room there.
pub const LONG_FROM: u64 = u32::MAX as u64 - 1;
/// A chunk holds this many records at most.
pub const MAX_CHUNK_RECORDS: u64 = 16384;
/// The columns of requests, present where the program made non-blocking calls; 0 for all others: ticks that starting
/// took, ticks spent in Test and in Wait calls for the request, and Test calls.
pub const REQUEST_COLUMNS: [&str; 4] = ["init", "test", "wait", "tests"];
/// Set in the column `wait` as long as the program is in a Wait call that does not return before this request is
/// complete. It stays in the trace of a rank that ended there.
pub const WAITED_FOR: u64 = 1 << 63;

/// The columns of a live segment in their place: `above` is the upper half of a position that is not counted on the
/// communicator, that of a start of a persistent collective; else 0.
pub const LIVE_REQUEST_COLUMNS: [(&str, u32); 5] = [("init", 8), ("test", 8), ("wait", 8), ("tests", 4), (ABOVE, 4)];
/// The last of them, which no part has.
pub const ABOVE: &str = "above";

/// The columns of the time in calls that can wait, live and in a part: ticks in point-to-point calls since the
/// collective of the thread before, and the [`super::partner`] with the most of them.
pub const WAIT_COLUMNS: [&str; 2] = [P2P, P2P_PARTNER];
/// The first of them.
pub const P2P: &str = "p2p";
/// The second.
pub const P2P_PARTNER: &str = "p2p partner";
/// The column of algorithms, live and in a part ([`crate::algorithms`]); the last of a chunk.
pub const ALGORITHM: &str = "algorithm";
/// The columns of a chunk that not every record uses.
pub const COLUMNS_ON_DEMAND: usize = LIVE_REQUEST_COLUMNS.len() + INNER_COUNTERS + WAIT_COLUMNS.len() + 1;

/// The columns of a chunk of a live segment, their places left open: those that every record has, so many counters,
/// those of requests, the counters of code inside the stack, whose number is not known beforehand, those of waits and
/// that of algorithms.
///
/// ```
/// use mpitrace_format::layout::{COLUMNS_ON_DEMAND, LIVE_COLUMNS, counter_column, live_columns, name_of};
///
/// let columns = live_columns(2);
/// assert_eq!(columns.len(), LIVE_COLUMNS.len() + 2 + COLUMNS_ON_DEMAND);
/// assert_eq!(name_of(&columns[LIVE_COLUMNS.len()].name), counter_column(0));
/// ```
pub fn live_columns(counters: usize) -> Vec<ColumnEntry> {
    let column = |name: &str, element_size, on_demand| ColumnEntry {
        name: name_bytes(name),
        element_size,
        on_demand,
        offset: 0,
    };
    let common = LIVE_COLUMNS.iter().map(|&(name, size)| column(name, size, 0));
    let before_all = (0..counters).map(|index| column(&counter_column(index), 8, 0));
    let requests = LIVE_REQUEST_COLUMNS.iter().map(|&(name, size)| column(name, size, chunk_flags::EXTENDED));
    let inner = (0..INNER_COUNTERS).map(|slot| column(&counter_column(counters + slot), 8, chunk_flags::INNER));
    let waits = WAIT_COLUMNS.iter().map(|name| column(name, 8, chunk_flags::WAITED));
    let algorithm = column(ALGORITHM, 4, chunk_flags::ALGORITHM);
    common.chain(before_all).chain(requests).chain(inner).chain(waits).chain([algorithm]).collect()
}

/// The name of the column of the `index`-th counter: [`super::CounterEntry`] has the counter's own.
///
/// ```
/// assert_eq!(mpitrace_format::layout::counter_column(3), "counter 3");
/// ```
pub fn counter_column(index: usize) -> String {
    format!("counter {index}")
}

/// The value of a counter in a call for which it could not be read.
pub const NO_VALUE: u64 = u64::MAX;
/// The columns with the true ticks of the entry and the exit, in traces with simulated clocks.
pub const TRUE_COLUMNS: [&str; 2] = ["true enter", "true exit"];
/// The most counters and timers that code inside the stack can have: each has a column in every segment, without memory
/// until it is used.
pub const INNER_COUNTERS: usize = 30;
/// How many columns (counters included) a segment can describe.
pub const MAX_COLUMNS: usize = 64;
