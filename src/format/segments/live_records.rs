//! The records of a chunk of a live segment, as a part has them.
//!
//! A live record has 24 bytes. Its duration is 32 bits wide; a longer call has an entry of its own. Of position and
//! repetition it has the lower half. The upper one follows from the counts that the tables have when the chunk is read:
//! fewer than 2^32 calls may have been made since. In a sample, of which records may be older, it follows from the
//! record behind it: records and chunks are read from the last to the first.

use crate::layout::*;
use crate::packed::{Rows, column};
use crate::ticks::SimulatedClock;

/// The counts that the calls of an operation have come to.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// Calls of the operation.
    pub calls: u64,
    /// [`OperationEntry::positions_from`].
    pub positions_from: u32,
    /// Calls on its communicator; `None` where positions are not counted on one
    /// ([`communicator_flags::FOLDED`]).
    pub on_communicator: Option<u64>,
}

/// The tables that live records refer to.
pub trait LiveTables {
    /// The counts of an operation; `None`: there is no such operation.
    fn counted(&self, operation: u32) -> Option<Counted>;

    /// The exit of a long call, or of one that returned when its record was in a file already.
    fn exit(&self, record: u64) -> Option<u64>;

    /// True if there is this operation of message calls.
    fn has_message(&self, operation: u32) -> bool;

    /// A call of this operation had this repetition and position on its communicator: those that are read next come
    /// before it.
    fn set_counted(&self, _operation: u32, _repetition: u64, _position: Option<u64>) {}
}

/// A simulated clock, and what it goes by.
///
/// ```
/// use bytemuck::Zeroable;
/// use mpitrace_format::layout::RankHeader;
/// use mpitrace_format::live_records::RankClock;
///
/// let rank = RankHeader { pretended_epoch: 1000, pretended_hz: 1e9, ..RankHeader::zeroed() };
/// let clock = RankClock::new(&rank, "offset_ns=250").expect("a clock");
/// assert_eq!((clock.local(1000), clock.local(0)), (1250, 0));
/// assert!(RankClock::new(&rank, "offset=250").is_none());
/// ```
#[derive(Debug)]
pub struct RankClock {
    clock: SimulatedClock,
    epoch: u64,
    hz: f64,
}

impl RankClock {
    /// The clock of a rank, by its text; `None`: the text cannot be read.
    pub fn new(rank: &RankHeader, text: &str) -> Option<RankClock> {
        Some(RankClock { clock: SimulatedClock::parse(text)?, epoch: rank.pretended_epoch, hz: rank.pretended_hz })
    }

    /// The tick that it shows at a true one; 0 for 0.
    pub fn local(&self, tick: u64) -> u64 {
        if tick == 0 { 0 } else { self.clock.local(tick, self.epoch, self.hz) }
    }
}

/// The columns of a segment that not every record of a part has, with their numbers in a part: both lie in the same
/// order, but for those that are only live. Where the clock is simulated and its columns find no room behind them, the
/// last counters inside the stack are left out.
fn others(header: &SegmentHeader, is_simulated: bool) -> impl Iterator<Item = (u32, &ColumnEntry)> {
    let is_live = |column: &RecordColumn| column.packing == Packing::Live;
    let is_only_live = move |name| ON_DEMAND_COLUMNS.iter().any(|column| is_live(column) && column.live_name == name);
    let others = header.columns.get(LIVE_COLUMNS.len()..header.rank.columns as usize).unwrap_or_default();
    let others = others.iter().filter(move |column| !is_only_live(name_of(&column.name)));
    let room = MAX_COLUMNS - COLUMNS.len() - if is_simulated { TRUE_COLUMNS.len() } else { 0 };
    let beyond = others.clone().count().saturating_sub(room);
    let is_inner = |column: &ColumnEntry| column.on_demand == chunk_flags::INNER;
    let mut inner = others.clone().filter(move |column| is_inner(column)).count();
    let is_kept = move |column: &&ColumnEntry| {
        let left = inner;
        inner -= usize::from(is_inner(column));
        !is_inner(column) || left > beyond
    };
    (column::OTHERS..).zip(others.filter(is_kept))
}

/// The columns that a part may have, without those of a simulated clock: their names and numbers. `is_simulated`: those
/// need room behind them.
///
/// ```
/// use bytemuck::Zeroable;
/// use mpitrace_format::layout::{COLUMNS, SegmentHeader};
/// use mpitrace_format::live_records::columns;
///
/// // A segment without further columns.
/// assert_eq!(columns(&SegmentHeader::zeroed(), false).len(), COLUMNS.len());
/// ```
pub fn columns(header: &SegmentHeader, is_simulated: bool) -> Vec<StoredColumn> {
    let other = |(number, column): (u32, &ColumnEntry)| StoredColumn { name: column.name, number, padding: 0 };
    stored_columns(0, &COLUMNS).into_iter().chain(others(header, is_simulated).map(other)).collect()
}

/// Columns with these names, numbered from `first` on.
///
/// ```
/// use mpitrace_format::layout::name_of;
/// use mpitrace_format::live_records::stored_columns;
///
/// let columns = stored_columns(5, &["init", "test"]);
/// assert_eq!((columns[1].number, name_of(&columns[1].name)), (6, "test"));
/// ```
pub fn stored_columns(first: u32, names: &[&str]) -> Vec<StoredColumn> {
    let column = |(number, name): (u32, &&str)| StoredColumn { name: name_bytes(name), number, padding: 0 };
    (first..).zip(names).map(column).collect()
}

/// The records of a chunk, as a part has them. `load` gives their values in a column that the chunk
/// has in use; `clock` is the rank's simulated one. `None`: a column cannot be loaded, or a call is of no operation.
///
/// ```
/// use bytemuck::Zeroable;
/// use mpitrace_format::layout::{ChunkEntry, DURATION_FROM, NOT_RETURNED, SegmentHeader, live_columns, name_of};
/// use mpitrace_format::live_records::{Counted, LiveTables, rows};
///
/// /// One operation, called twice.
/// struct Tables;
/// impl LiveTables for Tables {
///     fn counted(&self, operation: u32) -> Option<Counted> {
///         (operation == 0).then_some(Counted { calls: 2, positions_from: 0, on_communicator: Some(2) })
///     }
///     fn exit(&self, _: u64) -> Option<u64> {
///         None
///     }
///     fn has_message(&self, _: u32) -> bool {
///         false
///     }
/// }
///
/// let mut header = SegmentHeader::zeroed();
/// header.rank.columns = 5;
/// header.columns[..5].copy_from_slice(&live_columns(0)[..5]);
/// // The first call took 400 ticks, the second one has not returned.
/// let rows = rows(&header, &ChunkEntry::zeroed(), |column| Some(match name_of(&column.name) {
///     "enter" => vec![1000, 2000],
///     "duration" => vec![u64::from(DURATION_FROM) + 400, NOT_RETURNED.into()],
///     "position" | "repetition" => vec![0, 1],
///     _ => vec![0, 0],
/// }), &Tables, None);
/// assert_eq!(rows.map(|rows| (rows.exit, rows.position)), Some((vec![1400, 0], vec![0, 1])));
/// ```
pub fn rows(
    header: &SegmentHeader,
    entry: &ChunkEntry,
    load: impl Fn(&ColumnEntry) -> Option<Vec<u64>>,
    tables: &impl LiveTables,
    clock: Option<&RankClock>,
) -> Option<Rows> {
    let live = &header.columns[..header.rank.columns as usize];
    let is_in_use = |column: &ColumnEntry| column.on_demand == 0 || entry.flags & column.on_demand != 0;
    let above = live.iter().find(|column| name_of(&column.name) == recorded::ABOVE.live_name && is_in_use(column));
    let above = above.map(&load);
    let [duration, position, repetition, operation] = [1, 2, 3, 4].map(|index| load(&live[index]));
    // Each is turned into the part's in its place: the durations into the exits.
    let (exit, position, repetition) = (duration?, position?, repetition?);
    let operation: Vec<u32> = operation?.into_iter().map(|value| value as u32).collect();
    let mut rows = Rows { enter: load(&live[0])?, exit, position, repetition, operation, others: Vec::new() };
    let above = match above {
        Some(above) => above?,
        None => Vec::new(),
    };
    let is_sample = header.rank.keeps == keeps::SAMPLE;
    let mut counts = Counts::new(tables, is_sample);
    let calls = rows.enter.iter().zip(&rows.operation);
    let numbers = rows.exit.iter_mut().zip(&mut rows.position).zip(&mut rows.repetition);
    for (record, ((enter, operation), ((exit, position), repetition))) in calls.zip(numbers).enumerate().rev() {
        let operation = operation & OPERATION_MASK;
        *exit = match *exit as u32 {
            NOT_RETURNED => 0,
            // A call of which the entry found no room has no exit that is known.
            LONG => tables.exit(live_record(entry.draw, record as u32)).unwrap_or(0),
            stored => enter.wrapping_add(u64::from(stored - DURATION_FROM)),
        };
        if entry.thread & MESSAGES != 0 {
            if !tables.has_message(operation) {
                return None;
            }
            *position = message_position(*position as u32, *repetition);
            continue;
        }
        let counted = counts.find(operation)?;
        *repetition = number_before(counted.calls, *repetition as u32);
        let above = above.get(record).copied().unwrap_or(0);
        *position = match (counted.positions_from, counted.on_communicator) {
            (0, _) if above != 0 => above << 32 | *position,
            (0, Some(calls)) => number_before(calls, *position as u32),
            (0, None) => *position,
            (from, _) => (u64::from(from) << 32) + (*repetition & ((1 << 40) - 1)),
        };
        if is_sample {
            let is_counted = counted.positions_from == 0 && above == 0;
            tables.set_counted(
                operation,
                *repetition,
                counted.on_communicator.filter(|_| is_counted).and(Some(*position)),
            );
        }
    }
    let of_call = entry.thread & MESSAGES == 0;
    for (number, column) in others(header, clock.is_some()).filter(|(_, column)| of_call && is_in_use(column)) {
        rows.others.push((number, load(column)?));
    }
    if let Some(clock) = clock {
        let behind = columns(header, true).len() as u32;
        for (number, ticks) in (behind..).zip([&mut rows.enter, &mut rows.exit]) {
            let shown = ticks.iter().map(|&tick| clock.local(tick)).collect();
            rows.others.push((number, std::mem::replace(ticks, shown)));
        }
    }
    Some(rows)
}

/// The counts of the operations that were asked for last: a loop calls few of them.
struct Counts<'t, T> {
    tables: &'t T,
    /// They change from record to record.
    change: bool,
    /// By the lowest bits of their numbers.
    known: [Option<(u32, Counted)>; 16],
}

impl<'t, T: LiveTables> Counts<'t, T> {
    fn new(tables: &'t T, change: bool) -> Self {
        Counts { tables, change, known: [None; 16] }
    }

    /// The counts of an operation; `None`: there is no such operation.
    #[inline(always)]
    fn find(&mut self, operation: u32) -> Option<Counted> {
        let place = operation as usize % self.known.len();
        match self.known[place] {
            Some((known, counted)) if known == operation && !self.change => Some(counted),
            _ => {
                let counted = self.tables.counted(operation)?;
                self.known[place] = Some((operation, counted));
                Some(counted)
            }
        }
    }
}

/// The exits of calls that returned when their records were in a block already, by the number of the record in it.
pub(crate) fn add_exits(rows: &mut Rows, late: &[(u32, u64)], clock: Option<&RankClock>) -> bool {
    let mut is_changed = false;
    for &(record, tick) in late {
        let record = record as usize;
        let Some(exit) = rows.exit.get_mut(record).filter(|exit| **exit == 0) else { continue };
        *exit = clock.map_or(tick, |clock| clock.local(tick));
        if let (Some(_), Some((_, exits))) = (clock, rows.others.last_mut()) {
            exits[record] = tick;
        }
        is_changed = true;
    }
    is_changed
}

/// Calls of several threads may be that much out of order: there are no more threads.
const OUT_OF_ORDER: u32 = 1 << 12;

/// The number with this lower half that is the last one up to a count that was reached since.
pub(crate) fn number_before(count: u64, low: u32) -> u64 {
    let back = (count as u32).wrapping_sub(low).wrapping_add(OUT_OF_ORDER);
    count.wrapping_sub(back.into()).wrapping_add(OUT_OF_ORDER.into())
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    const BOUND: u64 = 1 << 32;
    const RECORDS: usize = 3;

    /// A chunk of three records as (enter, duration, position, repetition, operation, above), with the columns of
    /// requests.
    struct Chunk([(u64, u32, u64, u64, u32, u32); RECORDS]);

    /// The counts of each operation, and long calls.
    struct Tables(Vec<Counted>, Vec<LongCallEntry>);

    impl LiveTables for Tables {
        fn counted(&self, operation: u32) -> Option<Counted> {
            self.0.get(operation as usize).copied()
        }

        fn exit(&self, record: u64) -> Option<u64> {
            self.1.iter().find(|call| call.record == record).map(|call| call.exit)
        }

        fn has_message(&self, operation: u32) -> bool {
            operation < 2
        }
    }

    fn header() -> SegmentHeader {
        let mut header = SegmentHeader::zeroed();
        let is_used = |column: &ColumnEntry| [0, chunk_flags::EXTENDED].contains(&column.on_demand);
        let columns = live_columns(0).into_iter().filter(is_used);
        for (entry, column) in header.columns.iter_mut().zip(columns) {
            *entry = column;
            header.rank.columns += 1;
        }
        header
    }

    impl Chunk {
        fn rows(&self, draw: u64, tables: &Tables) -> Option<Rows> {
            let load = |column: &ColumnEntry| {
                let value = |record: &(u64, u32, u64, u64, u32, u32)| match name_of(&column.name) {
                    "enter" => record.0,
                    "duration" => record.1.into(),
                    "position" => record.2 & (BOUND - 1),
                    "repetition" => record.3 & (BOUND - 1),
                    "operation" => record.4.into(),
                    "above" => record.5.into(),
                    _ => 7,
                };
                Some(self.0.iter().map(value).collect())
            };
            let entry = ChunkEntry { draw, flags: chunk_flags::EXTENDED, ..ChunkEntry::zeroed() };
            rows(&header(), &entry, load, tables, None)
        }
    }

    fn counted(calls: u64, on_communicator: u64) -> Counted {
        Counted { calls, positions_from: 0, on_communicator: Some(on_communicator) }
    }

    #[test]
    fn numbers_go_on_beyond_32_bits() {
        let numbers = [(BOUND - 2, BOUND - 5), (BOUND - 1, BOUND + 3), (BOUND, BOUND + 4)];
        let chunk = Chunk(numbers.map(|(position, repetition)| (9, DURATION_FROM + 1, position, repetition, 0, 0)));
        // The last of them is nearly 2^32 calls ago, or is just being counted.
        for since in [0, 1, BOUND - u64::from(OUT_OF_ORDER) - 16] {
            let rows = chunk.rows(1, &Tables(vec![counted(BOUND + 4 + since, BOUND + since)], Vec::new())).unwrap();
            let found: Vec<(u64, u64)> = rows.position.into_iter().zip(rows.repetition).collect();
            assert_eq!(found, numbers);
        }
    }

    #[test]
    fn positions_of_their_own_are_not_counted_on_the_communicator() {
        let region = (3 << 62 | 5 << 40) + BOUND + 1;
        let start = 1 << 63 | 7 << 40 | 9;
        let chunk =
            Chunk([(1, 3, region, BOUND + 1, 0, 0), (3, 3, start, 9, 1, (start >> 32) as u32), (5, 3, 3, 12, 2, 0)]);
        let of_region = Counted { positions_from: (region >> 40 << 8) as u32, ..counted(BOUND + 2, 0) };
        let folded = Counted { on_communicator: None, ..counted(BOUND, 0) };
        let rows = chunk.rows(1, &Tables(vec![of_region, counted(10, 0), folded], Vec::new())).unwrap();
        assert_eq!(rows.position, [region, start, 3]);
        // The columns of requests but for the upper halves.
        assert_eq!(rows.others.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [5, 6, 7, 8]);
        assert_eq!(chunk.rows(1, &Tables(vec![of_region], Vec::new())), None, "a call of no operation");
    }

    #[test]
    fn a_part_has_room_for_the_columns_of_a_full_segment_and_of_a_simulated_clock() {
        let mut header = SegmentHeader::zeroed();
        let live = live_columns(MOST_COUNTERS);
        assert_eq!(live.len(), MAX_COLUMNS);
        // Each new column leaves one less: beyond this number MAX_COLUMNS is to be raised.
        const { assert!(MOST_COUNTERS >= 16) };
        header.rank.columns = live.len() as u32;
        header.columns.copy_from_slice(&live);
        let names = |is_simulated| {
            let columns = columns(&header, is_simulated);
            assert!(columns.iter().map(|column| column.number).eq(0..columns.len() as u32));
            columns.iter().map(|column| name_of(&column.name).to_owned()).collect::<Vec<String>>()
        };
        let (plain, mut simulated) = (names(false), names(true));
        assert_eq!((plain.len(), simulated.len()), (MAX_COLUMNS - 1, MAX_COLUMNS - TRUE_COLUMNS.len()));
        let last = counter_column(MOST_COUNTERS + INNER_COUNTERS - 1);
        let place = plain.iter().position(|name| *name == last).unwrap();
        simulated.insert(place, last);
        assert_eq!(simulated, plain);
    }

    #[test]
    fn a_long_call_has_an_entry_and_one_under_way_no_exit() {
        let chunk = Chunk([(100, DURATION_FROM, 0, 0, 0, 0), (200, LONG, 1, 1, 0, 0), (300, NOT_RETURNED, 2, 2, 0, 0)]);
        let long = [
            LongCallEntry { record: live_record(7, 1), exit: 1 },
            LongCallEntry { record: live_record(8, 1), exit: 198 + BOUND },
        ];
        let mut rows = chunk.rows(8, &Tables(vec![counted(3, 3)], long.into())).unwrap();
        assert_eq!(rows.exit, [100, 198 + BOUND, 0]);
        assert!(add_exits(&mut rows, &[(0, 4321), (2, 8642)], None));
        assert_eq!(rows.exit, [100, 198 + BOUND, 8642], "one that is known stays");
        assert!(!add_exits(&mut rows, &[(2, 1)], None));
    }
}
