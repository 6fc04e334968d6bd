//! The columns of the records: each is declared once, in the table of this file.
//!
//! Chunks of a live segment, blocks, the reader, `dump`, JSON, csv, Arrow, Parquet, Perfetto and
//! docs/developers/columns.md go by the table. A column that not every call has is a line in a group `on demand`; the
//! preloaded library stores a value by `ThreadRef::place_with` and `RecordPlace::set`.

use super::{ColumnEntry, name_bytes};

/// Set in the operation column for a record whose call the tracer itself may have delayed.
pub const DISTURBED: u32 = 1 << 31;
/// Set in the operation column for a call in which the thread was interrupted: there was a context switch.
pub const INTERRUPTED: u32 = 1 << 30;
/// Set in the operation column where the thread was interrupted between its call before and this one.
pub const INTERRUPTED_BEFORE: u32 = 1 << 29;
/// The operation's number within the operation column.
pub const OPERATION_MASK: u32 = INTERRUPTED_BEFORE - 1;
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
/// Set in the column `wait` as long as the program is in a Wait call that does not return before this request is
/// complete. It stays in the trace of a rank that ended there.
pub const WAITED_FOR: u64 = 1 << 63;
/// The value of a counter in a call for which it could not be read.
pub const NO_VALUE: u64 = u64::MAX;
/// The most counters and timers that code inside the stack can have: each has a column in every segment, without memory
/// until it is used.
pub const INNER_COUNTERS: usize = 30;
/// How many columns (counters included) a segment can describe.
pub const MAX_COLUMNS: usize = 64;

/// The unit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Ticks of the rank's counter; exported as nanoseconds.
    Ticks,
    /// A number.
    Count,
    /// The index of an operation, with the marks of a call.
    Operation,
    /// One of [`super::partner`]; exported as a world rank.
    Partner,
    /// An algorithm and the one below it ([`crate::algorithms`]); exported by name.
    Algorithm,
}

/// The form that a block stores a column in: what its values are expected to follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Entries and exits, from each other.
    Times,
    /// Operations, from what was called before.
    Operations,
    /// One more than in the call before on the same communicator.
    CountedByCommunicator,
    /// One more than in the call before of the same operation.
    CountedByOperation,
    /// The value of the call before of the same operation.
    Repeated,
    /// No block has the column.
    Live,
}

/// The calls that have a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Every call.
    All,
    /// Every call of a trace with a simulated clock.
    WithSimulatedClock,
    /// Calls whose value is not 0.
    WithValue,
    /// Calls of functions, not regions, on ranks whose point-to-point calls are stamped; 0 where nothing is stored.
    WithStampedWaits,
    /// Calls with a request: of non-blocking and persistent collectives.
    WithRequest,
}

/// Where an exported column is shown beside the data: bits of [`Exported::shown`].
pub mod shown {
    /// Nowhere.
    pub const NOWHERE: u8 = 0;
    /// Beside the call in a timeline.
    pub const TIMELINE: u8 = 1;
    /// As a metric in the long form of csv.
    pub const METRIC: u8 = 2;
    /// In the table of `dump`.
    pub const TABLE: u8 = 4;
}

/// The form in which a column leaves the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Its name in `dump --json`, csv, Arrow and Parquet.
    pub name: &'static str,
    /// Bits of [`mod@shown`].
    pub shown: u8,
}

/// A column of the records.
///
/// ```
/// use mpitrace_format::layout::{ON_DEMAND_COLUMNS, Unit, recorded};
///
/// assert_eq!((recorded::EXIT.number(), recorded::EXIT.unit), (1, Unit::Ticks));
/// let tests = recorded::TESTS;
/// assert_eq!(ON_DEMAND_COLUMNS[tests.place_on_demand()], tests);
/// // The last column of a live segment but one.
/// assert_eq!(tests.live_number(50), 48);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordColumn {
    /// Its name in a part, and in a live segment unless `live_name` says otherwise.
    pub name: &'static str,
    /// Its name in a live segment.
    pub live_name: &'static str,
    /// Bytes of a value in a live segment: 4 or 8.
    pub width: u32,
    /// Its unit.
    pub unit: Unit,
    /// The bits that are no part of the value.
    pub marks: u64,
    /// The form in which blocks have it.
    pub packing: Packing,
    /// The calls that have a value; the others have 0.
    pub calls: Calls,
    /// The one of [`chunk_flags`] by which a chunk has memory for it; 0: every chunk has it.
    pub flag: u32,
    /// Its form outside of the trace; `None`: it has none of its own.
    pub exported: Option<Exported>,
    /// Its doc comment.
    pub meaning: &'static str,
    /// Its place among [`RECORD_COLUMNS`].
    place: usize,
}

impl RecordColumn {
    const fn new(name: &'static str, unit: Unit) -> RecordColumn {
        RecordColumn {
            name,
            live_name: name,
            width: 8,
            unit,
            marks: 0,
            packing: Packing::Repeated,
            calls: Calls::All,
            flag: 0,
            exported: None,
            meaning: "",
            place: 0,
        }
    }

    const fn packed(self, packing: Packing) -> RecordColumn {
        RecordColumn { packing, ..self }
    }

    const fn live_as(self, live_name: &'static str) -> RecordColumn {
        RecordColumn { live_name, ..self }
    }

    const fn marked(self, marks: u64) -> RecordColumn {
        RecordColumn { marks, ..self }
    }

    const fn exported(self, name: &'static str, shown: u8) -> RecordColumn {
        RecordColumn { exported: Some(Exported { name, shown }), ..self }
    }

    /// Its number in a part whose every block has it ([`COLUMNS`]), which is its number in a live segment too.
    pub const fn number(&self) -> u32 {
        assert!(self.place < COLUMNS.len());
        self.place as u32
    }

    /// Its place among [`ON_DEMAND_COLUMNS`].
    pub const fn place_on_demand(&self) -> usize {
        self.place - (RECORD_COLUMNS.len() - ON_DEMAND_COLUMNS.len())
    }

    /// Its number in a live segment with so many columns: those on demand are the last ones.
    #[inline(always)]
    pub const fn live_number(&self, columns: usize) -> usize {
        columns - (RECORD_COLUMNS.len() - self.place)
    }
}

macro_rules! columns {
    (
        every call: { $($every:tt)* }
        simulated clock: { $($simulated:tt)* }
        on demand: { $($(#[$of:meta])* $group:ident = $flag:literal, $calls:ident: { $($on_demand:tt)* })* }
    ) => {
        columns! { @table [0, All: $($every)*] [0, WithSimulatedClock: $($simulated)*]
            $([chunk_flags::$group, $calls: $($on_demand)*])* }
        columns! { @names COLUMNS "The columns that every record of a part has, the first ones, in this order."
            $($every)* }
        columns! { @names TRUE_COLUMNS
            "The columns with the true ticks of the entry and the exit, in traces with simulated clocks."
            $($simulated)* }

        /// Bits of [`super::ChunkEntry::flags`].
        pub mod chunk_flags {
            /// The chunk lies in private memory, since the folder was full: lost with the process.
            pub const PRIVATE: u32 = 1;
            /// The columns of counters inside the stack are in use; without it they count as 0 and are not read.
            pub const INNER: u32 = 4;
            $($(#[$of])* pub const $group: u32 = $flag;)*
            /// The flags of the groups that the table declares.
            pub const OF_GROUPS: [u32; [$($flag),*].len()] = [$($flag),*];
            /// The flags that say which columns are in use.
            pub const ON_DEMAND: [u32; OF_GROUPS.len() + 1] = [INNER, $($flag),*];
        }
    };
    (@table $([
        $flag:expr, $calls:ident: $($(#[doc = $meaning:literal])+ $column:ident: $type:ty = $declared:expr;)*
    ])*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Place { $($($column,)*)* }

        /// All columns but those of counters: of every call, of simulated clocks, then those on demand.
        pub const RECORD_COLUMNS: [RecordColumn; [$($(stringify!($column)),*),*].len()] = [$($(
            RecordColumn {
                width: size_of::<$type>() as u32,
                calls: Calls::$calls,
                flag: $flag,
                meaning: concat!($($meaning),+).trim_ascii(),
                place: Place::$column as usize,
                ..$declared
            },
        )*)*];

        /// The columns by their names.
        pub mod recorded {
            use super::{Place, RECORD_COLUMNS, RecordColumn};

            $($($(#[doc = $meaning])+ pub const $column: RecordColumn = RECORD_COLUMNS[Place::$column as usize];)*)*
        }
    };
    (@names $names:ident $doc:literal $($(#[$meaning:meta])+ $column:ident: $type:ty = $declared:expr;)*) => {
        #[doc = $doc]
        pub const $names: [&str; [$(stringify!($column)),*].len()] = [$(recorded::$column.name),*];
    };
}

columns! {
    every call: {
        /// Ticks at the entry.
        ENTER: u64 = RecordColumn::new("enter", Unit::Ticks).packed(Packing::Times);
        /// Ticks at the exit; 0: the call did not return. Live it is exit - enter + 2; 0: the call has not returned; 1:
        /// the exit is in the table of long calls.
        EXIT: u32 = RecordColumn::new("exit", Unit::Ticks).packed(Packing::Times).live_as("duration");
        /// Calls that this rank had begun on the communicator before; live the lower half.
        POSITION: u32 = RecordColumn::new("position", Unit::Count).packed(Packing::CountedByCommunicator);
        /// Calls that this rank had begun of the operation before; live the lower half.
        REPETITION: u32 = RecordColumn::new("repetition", Unit::Count).packed(Packing::CountedByOperation);
        /// The operation; bit 31: the tracer may have delayed this call; bit 30: the thread was interrupted in this
        /// call; bit 29: it was interrupted since its previous record.
        OPERATION: u32 = RecordColumn::new("operation", Unit::Operation).packed(Packing::Operations);
    }
    simulated clock: {
        /// True ticks at the entry.
        TRUE_ENTER: u64 = RecordColumn::new("true enter", Unit::Ticks);
        /// True ticks at the exit.
        TRUE_EXIT: u64 = RecordColumn::new("true exit", Unit::Ticks);
    }
    on demand: {
        /// The column of algorithms is in use; without it the algorithm counts as 0 and is not read.
        ALGORITHM = 16, WithValue: {
            /// Bits 0 to 15: the first function in which the call entered an algorithm, a line of
            /// `src/format/facts/algorithms.txt` from 1; bits 16 to 31: the next one; 0: none.
            ALGORITHM: u32 = RecordColumn::new("algorithm", Unit::Algorithm)
                .exported("algorithm", shown::TIMELINE | shown::TABLE);
        }
        /// The columns of the time in calls that can wait are in use; without it they count as 0 and are not read.
        WAITED = 8, WithStampedWaits: {
            /// Ticks in point-to-point calls since the thread's collective before.
            P2P: u64 = RecordColumn::new("p2p", Unit::Ticks).exported("p2p_ns", shown::TIMELINE | shown::METRIC);
            /// The partner with most of the ticks in point-to-point calls.
            P2P_PARTNER: u64 = RecordColumn::new("p2p partner", Unit::Partner).exported("p2p_partner", shown::TIMELINE);
            /// Ticks in other calls that can wait since the thread's collective before, with the kind that has most of
            /// them (`elsewhere` of `times.rs`).
            ELSEWHERE: u64 = RecordColumn::new("elsewhere", Unit::Count);
        }
        /// The columns of requests are in use; without it they count as 0 and are not read.
        EXTENDED = 2, WithRequest: {
            /// Ticks that the starting call took.
            INIT: u64 = RecordColumn::new("init", Unit::Ticks).exported("init_ns", shown::NOWHERE);
            /// Ticks in MPI_Test and its like that were given the request, and between them where nothing was
            /// computed.
            TEST: u64 = RecordColumn::new("test", Unit::Ticks).exported("test_ns", shown::NOWHERE);
            /// Ticks in MPI_Wait and its like that were given the request; bit 63: the rank ended in a Wait call that
            /// does not return before this request is complete.
            WAIT: u64 = RecordColumn::new("wait", Unit::Ticks).marked(WAITED_FOR).exported("wait_ns", shown::NOWHERE);
            /// Calls of MPI_Test and its like that were given the request.
            TESTS: u32 = RecordColumn::new("tests", Unit::Count).exported("tests", shown::NOWHERE);
            /// The upper half of a position that is not counted on the communicator, that of a start of a persistent
            /// collective; else 0.
            ABOVE: u32 = RecordColumn::new("above", Unit::Count).packed(Packing::Live);
        }
    }
}

/// The columns that not every record uses, in the order of the table.
pub const ON_DEMAND_COLUMNS: [RecordColumn; RECORD_COLUMNS.len() - COLUMNS.len() - TRUE_COLUMNS.len()] = {
    let mut all = [RECORD_COLUMNS[0]; RECORD_COLUMNS.len() - COLUMNS.len() - TRUE_COLUMNS.len()];
    let mut place = 0;
    while place < all.len() {
        all[place] = RECORD_COLUMNS[RECORD_COLUMNS.len() - all.len() + place];
        place += 1;
    }
    all
};

/// The columns of a live segment in their place, in the order in which a chunk holds them, with the bytes of a value:
/// 24 bytes a record.
pub const LIVE_COLUMNS: [(&str, u32); COLUMNS.len()] = {
    let mut all = [("", 0); COLUMNS.len()];
    let mut place = 0;
    while place < all.len() {
        all[place] = (RECORD_COLUMNS[place].live_name, RECORD_COLUMNS[place].width);
        place += 1;
    }
    all
};

/// The columns of a chunk that not every record uses.
pub const COLUMNS_ON_DEMAND: usize = INNER_COUNTERS + ON_DEMAND_COLUMNS.len();

/// Columns for the counters of all kinds together, but for those inside the stack: what a live segment has room for
/// beside its other columns. A part has room for as many, since it has none of those that are only live. Where it also
/// has [`TRUE_COLUMNS`] and no room for these, the last counters inside the stack have no column in it.
pub const MOST_COUNTERS: usize = MAX_COLUMNS - LIVE_COLUMNS.len() - COLUMNS_ON_DEMAND;

/// The columns of a chunk of a live segment, their places left open: those that every record has, so many counters, the
/// counters of code inside the stack, whose number is not known beforehand, and [`ON_DEMAND_COLUMNS`].
///
/// ```
/// use mpitrace_format::layout::{LIVE_COLUMNS, counter_column, live_columns, name_of, recorded};
///
/// let columns = live_columns(2);
/// assert_eq!(name_of(&columns[LIVE_COLUMNS.len()].name), counter_column(0));
/// assert_eq!(name_of(&columns[recorded::P2P.live_number(columns.len())].name), "p2p");
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
    let inner = (0..INNER_COUNTERS).map(|slot| column(&counter_column(counters + slot), 8, chunk_flags::INNER));
    let declared = ON_DEMAND_COLUMNS.iter().map(|one| column(one.live_name, one.width, one.flag));
    common.chain(before_all).chain(inner).chain(declared).collect()
}

/// The name of the column of the `index`-th counter: [`super::CounterEntry`] has the counter's own.
///
/// ```
/// assert_eq!(mpitrace_format::layout::counter_column(3), "counter 3");
/// ```
pub fn counter_column(index: usize) -> String {
    format!("counter {index}")
}
