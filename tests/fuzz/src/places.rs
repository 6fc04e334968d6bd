//! Where the structures of a file lie, so that a mutation can hit one of them.

use std::mem::offset_of;
use std::ops::Range;

use mpitrace_format::file;
use mpitrace_format::layout::*;

/// The structures and sections of a trace, as far as its bytes lead to them.
pub fn of_trace(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = std::iter::once(0..size_of::<FileHeader>()).collect();
    let header: Option<FileHeader> = read(bytes, 0);
    for index in 0..header.map_or(0, |header| header.parts.min(8)) {
        let place = file::part_entry_offset(index) as usize;
        let Some(entry) = read::<PartEntry>(bytes, place) else { break };
        places.push(place..place + size_of::<PartEntry>());
        let Ok(start) = usize::try_from(entry.offset) else { continue };
        let Some(part) = read::<PartHeader>(bytes, start) else { continue };
        places.push(start..start + offset_of!(PartHeader, rank));
        places.push(start + offset_of!(PartHeader, rank)..start + size_of::<PartHeader>());
        for section in 0..part.sections.min(32) as usize {
            let place = start + size_of::<PartHeader>() + section * size_of::<SectionEntry>();
            let Some(entry) = read::<SectionEntry>(bytes, place) else { break };
            places.push(place..place + size_of::<SectionEntry>());
            let end = entry.offset.saturating_add(entry.count.saturating_mul(entry.element_size.into()));
            places.push(start.saturating_add(entry.offset as usize)..start.saturating_add(end as usize));
        }
    }
    within(places, bytes.len())
}

/// The structures, tables and chunks of a segment, as far as its bytes lead to them.
pub fn of_segment(bytes: &[u8]) -> Vec<Range<usize>> {
    let columns = offset_of!(SegmentHeader, columns);
    let rank = offset_of!(SegmentHeader, rank);
    let mut places = vec![0..rank, rank..rank + size_of::<RankHeader>(), rank + size_of::<RankHeader>()..columns];
    let Some(header) = read::<SegmentHeader>(bytes, 0) else { return within(places, bytes.len()) };
    for column in 0..(header.rank.columns as usize).min(MAX_COLUMNS) {
        let place = columns + column * size_of::<ColumnEntry>();
        places.push(place..place + size_of::<ColumnEntry>());
    }
    let tables = [
        (header.strings, 1),
        (header.communicators, size_of::<CommunicatorEntry>()),
        (header.operations, size_of::<OperationEntry>()),
        (header.threads, size_of::<ThreadEntry>()),
        (header.counters, size_of::<CounterEntry>()),
        (header.syncs, size_of::<SyncEntry>()),
        (header.probes, size_of::<ProbeEntry>()),
        (header.chunks, size_of::<ChunkEntry>()),
    ];
    for (table, size) in tables {
        let length = (table.used as usize).saturating_mul(size);
        places.push(table.offset as usize..(table.offset as usize).saturating_add(length));
    }
    places.push(header.records_offset as usize..bytes.len());
    within(places, bytes.len())
}

/// The part of each within so many bytes.
fn within(places: Vec<Range<usize>>, length: usize) -> Vec<Range<usize>> {
    let cut = |place: Range<usize>| place.start.min(length)..place.end.min(length);
    places.into_iter().map(cut).filter(|place| !place.is_empty()).collect()
}

fn read<T: bytemuck::AnyBitPattern>(bytes: &[u8], at: usize) -> Option<T> {
    bytes.get(at..at.checked_add(size_of::<T>())?).map(bytemuck::pod_read_unaligned)
}
