//! Makes the checksums of a trace fit its bytes, as the maker of a hostile file would: behind them lies the code that
//! is to be tested.
//!
//! Also part of the companion's tests.

use mpitrace_format::layout::{FileHeader, PartEntry, PartHeader, SectionEntry};
use mpitrace_format::packed::BlockHeader;
use mpitrace_format::{file, part};

/// No trace of the tests has more.
const MOST: usize = 64;

/// Stores the checksums that these bytes have: of the header, and of each part that can be found, its directory's and
/// its sections' and its blocks'. What leads out of the bytes is left as it is.
pub fn repair(bytes: &mut [u8]) {
    let Some(mut header) = read::<FileHeader>(bytes, 0) else { return };
    header.crc = file::checksum(&header);
    write(bytes, 0, &header);
    for index in 0..header.parts.min(MOST as u32) {
        let Some(entry) = read::<PartEntry>(bytes, file::part_entry_offset(index) as usize) else { return };
        let Ok(start) = usize::try_from(entry.offset) else { continue };
        repair_part(bytes, start);
    }
}

fn repair_part(bytes: &mut [u8], start: usize) {
    let Some(mut header) = read::<PartHeader>(bytes, start) else { return };
    let mut directory = Vec::new();
    for index in 0..(header.sections as usize).min(MOST) {
        let place = start + size_of::<PartHeader>() + index * size_of::<SectionEntry>();
        let Some(mut entry) = read::<SectionEntry>(bytes, place) else { return };
        let length = entry.count.checked_mul(entry.element_size.into());
        let end = length.and_then(|length| entry.offset.checked_add(length)).unwrap_or(u64::MAX);
        let section = usize::try_from(entry.offset)
            .ok()
            .zip(usize::try_from(end).ok())
            .and_then(|(from, to)| Some(start.checked_add(from)?..start.checked_add(to)?))
            .filter(|range| bytes.get(range.clone()).is_some());
        match section {
            Some(from) if entry.kind == mpitrace_format::layout::section::BLOCKS => repair_blocks(&mut bytes[from]),
            Some(from) => {
                entry.crc = crc32fast::hash(&bytes[from]);
                write(bytes, place, &entry);
            }
            None => {}
        }
        directory.push(entry);
    }
    header.crc = part::checksum(&header, &directory);
    write(bytes, start, &header);
}

/// The checksum of each block, as far as they can be found.
fn repair_blocks(bytes: &mut [u8]) {
    let mut place = 0;
    while let Some(header) = read::<BlockHeader>(bytes, place) {
        let end = place + header.length as usize;
        if header.length as usize <= size_of::<BlockHeader>() || end > bytes.len() {
            return;
        }
        write(bytes, place, &BlockHeader { crc: 0, ..header });
        let crc = crc32fast::hash(&bytes[place..end]);
        write(bytes, place, &BlockHeader { crc, ..header });
        place = end;
    }
}

fn read<T: bytemuck::AnyBitPattern>(bytes: &[u8], at: usize) -> Option<T> {
    bytes.get(at..at.checked_add(size_of::<T>())?).map(bytemuck::pod_read_unaligned)
}

fn write<T: bytemuck::NoUninit>(bytes: &mut [u8], at: usize, value: &T) {
    bytes[at..at + size_of::<T>()].copy_from_slice(bytemuck::bytes_of(value));
}
