use std::os::unix::fs::FileExt;

use bytemuck::Zeroable;

use super::*;

const RECORDS: u64 = 16;
const CHUNKS: u64 = 3;

/// A segment of three chunks, all of them full.
fn segment() -> (SegmentHeader, Vec<u64>) {
    let mut header = SegmentHeader {
        magic: SEGMENT_MAGIC,
        version: VERSION,
        byte_order: BYTE_ORDER_MARK,
        rank: RankHeader { columns: LIVE_COLUMNS.len() as u32, world_size: 2, ..RankHeader::zeroed() },
        chunk_records: RECORDS,
        chunk_bytes: PAGE,
        records_offset: 2 * PAGE,
        chunks: Region { offset: PAGE, capacity: CHUNKS, used: CHUNKS },
        ..SegmentHeader::zeroed()
    };
    let mut offset = 0;
    for (entry, (name, size)) in header.columns.iter_mut().zip(LIVE_COLUMNS) {
        *entry = ColumnEntry { name: name_bytes(name), element_size: size, on_demand: 0, offset };
        offset += RECORDS * u64::from(size);
    }
    // Each record has an entry, and returned.
    let returned = u64::from(DURATION_FROM);
    let mut words = vec![returned << 32 | returned; ((2 + CHUNKS) * PAGE / 8) as usize];
    // Two operations of one communicator, in the page of the chunks' entries; the second one has no bytes.
    header.communicators = Region { offset: PAGE + 1024, capacity: 1, used: 1 };
    header.operations = Region { offset: PAGE + 2048, capacity: 2, used: 2 };
    header.threads = Region { offset: PAGE + 3072, capacity: 1, used: 1 };
    bytemuck::cast_slice_mut::<u64, u8>(&mut words)[PAGE as usize..2 * PAGE as usize].fill(0);
    let entries: Vec<ChunkEntry> = (1..=CHUNKS).map(|draw| ChunkEntry { draw, ..ChunkEntry::zeroed() }).collect();
    put(&mut words, PAGE, &entries);
    put(&mut words, header.communicators.offset, &[CommunicatorEntry { calls: 48, ..Zeroable::zeroed() }]);
    put(&mut words, header.operations.offset, &[OperationEntry { calls: 48, ..Zeroable::zeroed() }]);
    for chunk in 0..CHUNKS {
        let column = (2 + chunk) * PAGE + header.columns[OPERATION].offset;
        put(&mut words, column, &[0u32; RECORDS as usize]);
    }
    (header, words)
}

fn put<T: bytemuck::NoUninit>(words: &mut [u64], offset: u64, values: &[T]) {
    bytemuck::cast_slice_mut::<u64, u8>(words)[offset as usize..][..size_of_val(values)]
        .copy_from_slice(bytemuck::cast_slice(values));
}

fn read(header: &SegmentHeader, mut words: Vec<u64>) -> Result<u64, String> {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
    bytes[..size_of::<SegmentHeader>()].copy_from_slice(bytemuck::bytes_of(header));
    super::read(Path::new("a"), bytes, false).map(|content| content.records()).map_err(|error| error.to_string())
}

#[test]
fn chunks_that_overlap_are_refused() {
    let (header, words) = segment();
    assert_eq!(read(&header, words.clone()), Ok(CHUNKS * RECORDS));
    let of = |change: fn(&mut SegmentHeader)| {
        let mut header = header;
        change(&mut header);
        read(&header, words.clone())
    };
    let refused = Err("a: describes chunks that are too short for their columns".to_owned());
    assert_eq!(of(|header| header.chunk_bytes = 0), refused);
    assert_eq!(of(|header| header.chunk_bytes = 24 * RECORDS - 1), refused);
    assert_eq!(of(|header| header.chunk_records = MAX_CHUNK_RECORDS + 1), refused);
    assert_eq!(of(|header| header.chunk_records = u64::MAX / 2), refused);
    assert_eq!(of(|header| header.columns[3].offset = u64::MAX), refused);
    let many = of(|header| header.rank.world_size = u32::MAX);
    assert_eq!(many, Err("a: describes an invalid number of ranks".to_owned()));
}

/// The records of a segment, and what of it was lost.
fn read_lost(header: &SegmentHeader, words: &[u64]) -> (u64, LostRecords) {
    let mut words = words.to_vec();
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
    bytes[..size_of::<SegmentHeader>()].copy_from_slice(bytemuck::bytes_of(header));
    let content = super::read(Path::new("a"), bytes, false).unwrap();
    assert!(content.incomplete);
    (content.records(), content.lost)
}

#[test]
fn only_records_whose_operation_was_in_private_memory_are_lost() {
    let (header, mut words) = segment();
    // The fifth record of the second chunk is of the second operation.
    put(&mut words, 3 * PAGE + header.columns[OPERATION].offset + 4 * 4, &[1u32]);
    let all = CHUNKS * RECORDS;
    assert_eq!(read_lost(&header, &words), (all, LostRecords::default()));
    let private = |table: usize, from: u64| {
        let mut header = header;
        header.private_from[table] = 1 + from;
        header
    };
    let without_operation = LostRecords { without_operation: 1, ..LostRecords::default() };
    let second = private(table::OPERATIONS, size_of::<OperationEntry>() as u64);
    assert_eq!(read_lost(&second, &words), (all - 1, without_operation));
    let others = LostRecords { others: all, ..LostRecords::default() };
    let all_without = LostRecords { without_operation: all, ..LostRecords::default() };
    assert_eq!(read_lost(&private(table::COMMUNICATORS, 0), &words), (0, all_without));
    assert_eq!(read_lost(&private(table::THREADS, 0), &words), (0, others));
    let last_chunks = private(table::CHUNKS, size_of::<ChunkEntry>() as u64);
    assert_eq!(read_lost(&last_chunks, &words).1.chunks, 2);
    // Damage: there is no such operation.
    put(&mut words, 4 * PAGE + header.columns[OPERATION].offset, &[77u32]);
    assert_eq!(read_lost(&header, &words), (all - 1, without_operation));
}

/// Calls on communicators without an entry of their own are counted apart from the entry that stands for them.
#[test]
fn records_whose_communicator_has_counted_no_calls_are_kept() {
    let (header, mut words) = segment();
    let folded = CommunicatorEntry { flags: communicator_flags::FOLDED, ..Zeroable::zeroed() };
    put(&mut words, header.communicators.offset, &[folded]);
    put(&mut words, header.operations.offset, &[OperationEntry::zeroed()]);
    assert_eq!(read_lost(&header, &words), (CHUNKS * RECORDS, LostRecords::default()));
}

#[test]
fn the_last_exit_of_a_long_call_counts_in_whatever_order_they_are() {
    let (mut header, mut words) = segment();
    header.long_calls = Region { offset: PAGE + 3504, capacity: 5, used: 5 };
    let long = |(draw, record, exit)| LongCallEntry { record: live_record(draw, record), exit };
    put(&mut words, PAGE + 3504, &[(2, 5, 1), (2, 3, 2), (7, 3, 3), (2, 0, 4), (2, 3, 5)].map(long));
    let bytes: &[u8] = bytemuck::cast_slice(&words);
    let tables = Tables::find(Path::new("a"), bytes, &header, false).unwrap();
    let reading = Reading::new(&header, &tables, false, None);
    let exit = |draw, record| reading.exit(live_record(draw, record));
    assert_eq!([0, 1, 3, 4, 5, 6].map(|record| exit(2, record)), [Some(4), None, Some(5), None, Some(1), None]);
    assert_eq!([exit(7, 3), exit(1, 3)], [Some(3), None]);
}

/// The blocks of a file, one of which lacks a column, then those of the chunks in memory: every column of the part
/// has a value for each record, and the exit that came late.
#[test]
fn blocks_of_files_and_chunks_in_memory_are_one_part() {
    let (mut header, mut words) = segment();
    // The last block of the file is of the chunk that was drawn first, and is not withdrawn yet.
    let first = |draw: u64| Rows {
        enter: (0..RECORDS).map(|record| 1000 * draw + 10 * record).collect(),
        exit: (0..RECORDS).map(|record| if record == 3 { 0 } else { 1000 * draw + 10 * record + 5 }).collect(),
        position: (0..RECORDS).collect(),
        repetition: (0..RECORDS).collect(),
        operation: vec![0; RECORDS as usize],
        others: Vec::new(),
    };
    let with_counter = Rows { others: vec![(5, vec![9; RECORDS as usize])], ..first(8) };
    let numbering = Numbering::new(vec![0]);
    let mut bytes = bytemuck::bytes_of(&crate::block_file::BlockFileHeader::new(&header.rank)).to_vec();
    for (draw, rows) in [(7, first(7)), (8, with_counter), (1, first(1))] {
        bytes.extend(rows.pack(&numbering, draw, 0));
    }
    let whole = bytes.len();
    // What a kill leaves of a block that was being written.
    bytes.extend(&first(9).pack(&numbering, 9, 0)[..50]);
    let path = std::env::temp_dir().join(format!("mpitrace-segment-blocks-{}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();

    let counter = ColumnEntry { name: name_bytes("counter 0"), element_size: 8, on_demand: 4, offset: 2000 };
    header.columns[LIVE_COLUMNS.len()] = counter;
    header.rank.columns += 1;
    header.long_calls = Region { offset: PAGE + 3500, capacity: 1, used: 1 };
    header.long_calls.offset = round_up(header.long_calls.offset, 8);
    put(&mut words, header.long_calls.offset, &[LongCallEntry { record: live_record(7, 3), exit: 4321 }]);
    header.interruptions = Region { offset: PAGE + 3600, capacity: 2, used: 2 };
    let interruption = |draw, record| InterruptionEntry { record: live_record(draw, record), ..Zeroable::zeroed() };
    put(&mut words, header.interruptions.offset, &[interruption(2, 4), interruption(8, 1)]);
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
    bytes[..size_of::<SegmentHeader>()].copy_from_slice(bytemuck::bytes_of(&header));
    let file = File::open(&path).unwrap();
    let content = read_with(Path::new("a"), bytes, false, vec![(path.clone(), Arc::new(file))]).unwrap();
    assert_eq!(content.records(), 5 * RECORDS, "three blocks and two chunks");
    let records: Vec<u64> = content.interruptions.iter().map(|entry| entry.record).collect();
    assert_eq!(records, [RECORDS + 1, 3 * RECORDS + 4]);

    let written = path.with_extension("part");
    let part = File::options().read(true).write(true).create(true).truncate(true).open(&written).unwrap();
    content.write_at(&part, 0).unwrap();
    let bytes = std::fs::read(&written).unwrap();
    assert_eq!(bytes.len() as u64, content.length());
    let start = bytes.windows(8).rposition(|window| window == 7u64.to_le_bytes()).unwrap() - 8;
    let mut rest = &bytes[start..];
    let mut blocks = Vec::new();
    while let Some(block) = Block::parse(rest, &numbering) {
        assert!(block.has_its_checksum());
        blocks.push((block.header.draw, block.rows().unwrap()));
        rest = &rest[block.bytes().len()..];
    }
    assert_eq!(blocks.iter().map(|(draw, _)| *draw).collect::<Vec<_>>(), [7, 8, 1, 2, 3]);
    assert_eq!((blocks[0].1.exit[3], blocks[1].1.exit[3]), (4321, 0));
    assert_eq!(blocks[1].1.others, [(5, vec![9; RECORDS as usize])]);
    assert!(content.columns.iter().any(|column| name_of(&column.name) == "counter 0" && column.number == 5));
    std::fs::write(&path, &std::fs::read(&path).unwrap()[..whole - 1]).unwrap();
    let file = vec![(path.clone(), Arc::new(File::open(&path).unwrap()))];
    let bytes: &[u8] = bytemuck::cast_slice(&words);
    let content = read_with(Path::new("a"), bytes, false, file).unwrap();
    assert_eq!(content.records(), 5 * RECORDS, "two blocks and three chunks");
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_file(&written).unwrap();
}

/// The numbers of a block follow from the communicators of its operations: it cannot be used without one of them.
#[test]
fn a_block_with_a_lost_operation_leaves_the_others_of_its_file() {
    let (mut header, mut words) = segment();
    let block = |draw: u64, operation: u32| {
        let mut rows = Rows {
            enter: (0..RECORDS).map(|record| 1000 * draw + 10 * record).collect(),
            exit: (0..RECORDS).map(|record| 1000 * draw + 10 * record + 5).collect(),
            position: (0..RECORDS).collect(),
            repetition: (0..RECORDS).collect(),
            operation: vec![0; RECORDS as usize],
            others: Vec::new(),
        };
        rows.operation[3] = operation;
        rows.pack(&Numbering::new(vec![0, 0]), draw, 0)
    };
    let mut bytes = bytemuck::bytes_of(&crate::block_file::BlockFileHeader::new(&header.rank)).to_vec();
    [(7, 0), (8, 1), (9, 0)].iter().for_each(|&(draw, operation)| bytes.extend(block(draw, operation)));
    let path = std::env::temp_dir().join(format!("mpitrace-segment-lost-{}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    header.private_from[table::OPERATIONS] = 1 + size_of::<OperationEntry>() as u64;
    // An interruption of the lost record of a chunk goes with it, that of the one behind stays.
    put(&mut words, 3 * PAGE + header.columns[OPERATION].offset + 4 * 4, &[1u32]);
    header.interruptions = Region { offset: PAGE + 3600, capacity: 2, used: 2 };
    let interruption = |draw, record| InterruptionEntry { record: live_record(draw, record), ..Zeroable::zeroed() };
    put(&mut words, header.interruptions.offset, &[interruption(2, 4), interruption(2, 5)]);
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
    bytes[..size_of::<SegmentHeader>()].copy_from_slice(bytemuck::bytes_of(&header));
    let content =
        read_with(Path::new("a"), bytes, false, vec![(path.clone(), Arc::new(File::open(&path).unwrap()))]).unwrap();
    assert_eq!(content.records(), 2 * RECORDS + CHUNKS * RECORDS - 1);
    let lost = LostRecords { without_operation: 2, others: RECORDS - 1, block_files: 1, ..LostRecords::default() };
    assert_eq!(content.lost, lost);
    let interrupted: Vec<u64> = content.interruptions.iter().map(|entry| entry.record).collect();
    assert_eq!(interrupted, [3 * RECORDS + 4]);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn buckets_without_calls_and_rows_of_no_histogram_are_left_out() {
    let row = |histogram, row, bucket: usize| {
        let mut buckets = Buckets { histogram, row, ..Buckets::zeroed() };
        buckets.calls[bucket] = 7;
        buckets
    };
    let found = histograms(&[row(2, 1, 3), row(0, 0, 0), row(1, 0, 0)]);
    let found: Vec<(u32, u32, u64)> = found.iter().map(|entry| (entry.histogram, entry.bucket, entry.calls)).collect();
    assert_eq!(found, [(1, 0, 7), (2, ROW as u32 + 3, 7)]);
}

/// A record without the mark was interrupted before its call.
#[test]
fn interruptions_lie_in_the_calls_that_have_the_mark_alone() {
    let (mut header, mut words) = segment();
    put(&mut words, 3 * PAGE + header.columns[OPERATION].offset + 4 * 4, &[INTERRUPTED]);
    header.interruptions = Region { offset: PAGE + 3600, capacity: 2, used: 2 };
    let interruption = |record| InterruptionEntry { record: live_record(2, record), ..Zeroable::zeroed() };
    put(&mut words, header.interruptions.offset, &[interruption(4), interruption(5)]);
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
    bytes[..size_of::<SegmentHeader>()].copy_from_slice(bytemuck::bytes_of(&header));
    let content = super::read(Path::new("a"), bytes, false).unwrap();
    let flags: Vec<u32> = content.interruptions.iter().map(|entry| entry.flags).collect();
    assert_eq!(flags, [0, interruption_flags::BETWEEN]);
}

#[test]
fn message_calls_from_the_first_whose_start_is_lost_on_are_left_out() {
    let (mut header, words) = segment();
    header.messages = Region { offset: PAGE + 3600, capacity: 3, used: 3 };
    let kept = |starts: [u32; 3]| {
        let mut words = words.clone();
        put(&mut words, header.messages.offset, &starts.map(|start| MessageEntry { start, ..Zeroable::zeroed() }));
        Tables::find(Path::new("a"), bytemuck::cast_slice(&words), &header, false).unwrap().messages.len()
    };
    assert_eq!(kept([2, 0, 3]), 3);
    assert_eq!(kept([0, 4, 0]), 1);
    assert_eq!(kept([3, 4, 0]), 0, "the start of the first goes with the second");
}

#[test]
fn block_files_that_are_not_there_are_counted() {
    let (mut header, words) = segment();
    (header.blocks[0], header.blocks[1]) = (7, 9);
    let lost = LostRecords { block_files: 2, ..LostRecords::default() };
    assert_eq!(read_lost(&header, &words), (CHUNKS * RECORDS, lost));
}

#[test]
fn a_counter_that_no_record_has_is_no_column_of_the_part() {
    let has_counter = |counted: bool| {
        let (mut header, mut words) = segment();
        let offset = RECORDS * 24 + 64;
        let on_demand = if counted { 0 } else { 1 };
        header.columns[LIVE_COLUMNS.len()] =
            ColumnEntry { name: name_bytes("counter 0"), element_size: 8, on_demand, offset };
        header.rank.columns += 1;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        bytes[..size_of::<SegmentHeader>()].copy_from_slice(bytemuck::bytes_of(&header));
        let content = super::read(Path::new("a"), bytes, false).unwrap();
        assert!(content.columns.iter().any(|column| name_of(&column.name) == "counter 0"));
        let file = tempfile::tempfile().unwrap();
        content.write_at(&file, 0).unwrap();
        let mut part = vec![0; content.length() as usize];
        file.read_exact_at(&mut part, 0).unwrap();
        part.windows(9).any(|bytes| bytes == b"counter 0")
    };
    assert!(has_counter(true) && !has_counter(false));
}
