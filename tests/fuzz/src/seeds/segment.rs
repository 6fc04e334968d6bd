//! Segments as the traced process leaves them, without the space that it sets aside for more.

use bytemuck::{NoUninit, Zeroable};
use mpitrace_format::layout::*;
use mpitrace_format::metadata;
use mpitrace_synchronise::Method;

use super::Seed;

/// Records of a chunk.
const RECORDS: u64 = 16;
/// Ranks of the world.
const RANKS: u32 = 3;

/// A segment in the making.
struct Segment {
    header: SegmentHeader,
    bytes: Vec<u8>,
    strings: Vec<u8>,
}

/// Segments of one rank.
pub fn all() -> Vec<Seed> {
    let starting = {
        let mut segment = Segment::new(NO_RANK);
        segment.header.rank.state = state::STARTING;
        segment.finish(&[])
    };
    vec![("plain", plain(0)), ("full", full(0)), ("other-clock", full(2)), ("starting", starting)]
}

/// With the columns that every record has.
pub fn plain(rank: u32) -> Vec<u8> {
    let mut segment = Segment::new(rank);
    segment.columns(false);
    segment.finish(&[(1, RECORDS, 0), (2, 5, 0)])
}

/// Under `ring`, with a simulated clock, counters, requests, synchronisations, and a chunk that was lost.
pub fn full(rank: u32) -> Vec<u8> {
    let mut segment = Segment::new(rank);
    segment.columns(true);
    let clock = segment.text("offset_ns=1500,ppm=37,wander_ppb=500,step_ns=40@0.001");
    let (name, unit) = (segment.text("messages"), segment.text("messages"));
    let info = &mut segment.header.rank;
    info.capacity = 2 * RECORDS;
    (info.pretended, info.pretended_epoch, info.pretended_hz) = (clock, 1000, 1e9);
    (info.leader, info.domain, info.clock_method) = (rank, rank / 2, Method::Joint.number());
    (info.max_ppm, info.wander_ppb, info.measured_hz) = (50.0, 100.0, 1e9);
    let counter = |column| CounterEntry { total: 9, name, unit, column, ..CounterEntry::default() };
    segment.header.counters = segment.table(&[counter(1), counter(2), counter(0)]);
    let sync = |index: u32, kind| SyncEntry {
        index,
        kind,
        has_map: 1,
        begin: 1000 + 10_000 * u64::from(index),
        end: 2000 + 10_000 * u64::from(index),
        ..SyncEntry::default()
    };
    segment.header.syncs = segment.table(&[sync(0, sync_kind::INIT), sync(1, sync_kind::FINALIZE)]);
    let probe = |sync: u32| ProbeEntry {
        sync,
        peer: 1 - rank.min(2) / 2,
        lower: -100,
        lower_at: 1500 + 10_000 * u64::from(sync),
        upper: 100,
        upper_at: 1600 + 10_000 * u64::from(sync),
        least_round_trip: 200,
        spread: 30,
        exchanges: 100,
        ..ProbeEntry::default()
    };
    segment.header.probes = segment.table(&[probe(0), probe(1)]);
    let record = live_record(5, RECORDS as u32 - 1);
    segment.header.long_calls = segment.table(&[LongCallEntry { record, exit: 1 << 40 }]);
    let interruption = |record, flags| InterruptionEntry {
        record: live_record(5, record),
        off_ns: 300,
        elapsed_ns: 900,
        thread: 1,
        flags,
        ..InterruptionEntry::default()
    };
    let interruptions = [interruption(2, interruption_flags::BETWEEN), interruption(2, interruption_flags::TIMED)];
    segment.header.interruptions = segment.table(&interruptions);
    let both = chunk_flags::EXTENDED | chunk_flags::INNER;
    segment.finish(&[(5, RECORDS, 0), (3, RECORDS, both), (4, 7, chunk_flags::PRIVATE), (0, 0, 0), (6, 3, both)])
}

impl Segment {
    fn new(rank: u32) -> Segment {
        let anchor = |tick: u64| Anchor { tick, raw_ns: tick, realtime_ns: tick + (1 << 60), width: 50 };
        let info = RankHeader {
            job: [7; 16],
            boot_id: [rank as u8 / 2 + 1; 16],
            rank,
            world_size: RANKS,
            pid: 100_u32.wrapping_add(rank),
            state: state::RUNNING,
            columns: LIVE_COLUMNS.len() as u32,
            capacity: 64,
            nominal_hz: 1_000_000_000,
            first_anchor: anchor(1000),
            last_anchor: anchor(90_000_000),
            leader: NO_RANK,
            ..RankHeader::zeroed()
        };
        let header = SegmentHeader {
            magic: SEGMENT_MAGIC,
            version: VERSION,
            byte_order: BYTE_ORDER_MARK,
            rank: info,
            chunk_records: RECORDS,
            ..SegmentHeader::zeroed()
        };
        let mut segment = Segment { header, bytes: vec![0; size_of::<SegmentHeader>()], strings: vec![0; 8] };
        segment.columns(false);
        segment.tables();
        segment
    }

    fn tables(&mut self) {
        let names = ["MPI_Bcast", "MPI_Iallreduce", "MPI_Barrier", "MPI_INT", "MPI_SUM", "halo", "/bin/p 00ff 12a"];
        let names = names.map(|name| self.text(name));
        let identified = communicator_flags::IDENTIFIED;
        let communicator = |key: u64, size, flags| CommunicatorEntry {
            key: [key, !key],
            calls: 40,
            size,
            name: if key == 1 { names[5] } else { 0 },
            flags,
            sync_at: u64::MAX,
            ..CommunicatorEntry::default()
        };
        let communicators = [
            communicator(0, RANKS, identified | communicator_flags::WORLD),
            communicator(1, RANKS, identified),
            communicator(2, 1, identified | communicator_flags::FOLDED),
        ];
        let operation = |communicator, function: u32, root| OperationEntry {
            calls: 20,
            bytes: 64,
            communicator,
            root,
            function,
            datatype: names[3],
            reduction: names[4],
            call_site: names[6],
            histogram: 2,
            timed: 3,
            ticks: 300,
            ..OperationEntry::default()
        };
        let operations = [
            operation(0, names[0], 0),
            operation(0, names[1], NO_ROOT),
            operation(1, names[2], NO_ROOT),
            operation(2, names[0], THIS_IS_ROOT),
        ];
        let thread = ThreadEntry { tid: 100, paused: 1, failed: 1, failed_in_place: 1, ..ThreadEntry::default() };
        self.header.communicators = self.table(&communicators);
        self.header.operations = self.table(&operations);
        self.header.threads = self.table(&[thread, thread]);
        let bucket = bucket_of(100);
        let mut row = Buckets { histogram: 2, row: (bucket / ROW) as u32, ..Buckets::zeroed() };
        row.calls[bucket % ROW] = 3;
        self.header.histograms = self.table(&[Buckets::zeroed(), row]);
        let facts = [("host", "node1"), ("env.MPITRACE_KEEP", "calls"), ("command", "./program")];
        let facts = metadata::encode(&facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        self.header.metadata = self.string(&facts);
    }

    /// The columns of a chunk, with those of counters and requests or without.
    fn columns(&mut self, all: bool) {
        let named = |name: &str, element_size, on_demand| ColumnEntry {
            name: name_bytes(name),
            element_size,
            on_demand,
            offset: 0,
        };
        let mut columns: Vec<ColumnEntry> = LIVE_COLUMNS.iter().map(|&(name, size)| named(name, size, 0)).collect();
        if all {
            columns.push(named(&counter_column(0), 8, 0));
            let of_requests = ON_DEMAND_COLUMNS.iter().filter(|column| column.flag == chunk_flags::EXTENDED);
            columns.extend(of_requests.map(|column| named(column.live_name, column.width, column.flag)));
            columns.push(named(&counter_column(1), 8, chunk_flags::INNER));
        }
        let mut offset = 0;
        for (entry, column) in self.header.columns.iter_mut().zip(&columns) {
            *entry = ColumnEntry { offset, ..*column };
            offset = round_up(offset + RECORDS * u64::from(column.element_size), SECTION_ALIGNMENT);
        }
        self.header.rank.columns = columns.len() as u32;
        self.header.chunk_bytes = offset;
    }

    fn text(&mut self, text: &str) -> u32 {
        self.string(text.as_bytes())
    }

    fn string(&mut self, text: &[u8]) -> u32 {
        let reference = self.strings.len();
        self.strings.extend_from_slice(&(text.len() as u32).to_le_bytes());
        self.strings.extend_from_slice(text);
        self.strings.resize(self.strings.len().next_multiple_of(4), 0);
        reference as u32
    }

    fn table<T: NoUninit>(&mut self, entries: &[T]) -> Region {
        self.bytes.resize(self.bytes.len().next_multiple_of(64), 0);
        let used = entries.len() as u64;
        let region = Region { offset: self.bytes.len() as u64, capacity: used + 1, used };
        self.bytes.extend_from_slice(bytemuck::cast_slice(entries));
        region
    }

    /// The bytes, with chunks of these draws, records and flags.
    fn finish(mut self, chunks: &[(u64, u64, u32)]) -> Vec<u8> {
        let strings = std::mem::take(&mut self.strings);
        self.header.strings = self.table(&strings);
        let entry = |&(draw, _, flags): &(u64, u64, u32)| ChunkEntry { draw, thread: draw as u32 % 2, flags };
        self.header.chunks = self.table(&chunks.iter().map(entry).collect::<Vec<_>>());
        self.bytes.resize(self.bytes.len().next_multiple_of(64), 0);
        self.header.records_offset = self.bytes.len() as u64;
        for &(draw, records, _) in chunks {
            self.chunk(draw, records);
        }
        self.bytes[..size_of::<SegmentHeader>()].copy_from_slice(bytemuck::bytes_of(&self.header));
        self.bytes
    }

    fn chunk(&mut self, draw: u64, records: u64) {
        let start = self.bytes.len();
        self.bytes.resize(start + self.header.chunk_bytes as usize, 0);
        let columns = self.header.columns;
        for entry in &columns[..self.header.rank.columns as usize] {
            for record in 0..records {
                let number = draw.saturating_sub(1) * RECORDS + record;
                let value = match name_of(&entry.name) {
                    "enter" => 3000 + 1000 * number,
                    // The last call of a killed process did not return.
                    "duration" if record == RECORDS / 2 && draw == 2 => NOT_RETURNED.into(),
                    "duration" if record == RECORDS - 1 && draw == 5 => LONG.into(),
                    "duration" => 500 + u64::from(DURATION_FROM),
                    "position" | "repetition" => number,
                    "operation" => number % 4,
                    _ => number + 1,
                };
                let size = entry.element_size as usize;
                let place = start + entry.offset as usize + record as usize * size;
                self.bytes[place..place + size].copy_from_slice(&value.to_le_bytes()[..size]);
            }
        }
    }
}
