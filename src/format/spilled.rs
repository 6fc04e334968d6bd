//! The columns of a part of which most records were spilled: the blocks of the spill file, then those of the records
//! that are still in memory. The blocks are copied from file to file; memory is needed for the records in memory only.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::layout::*;
use crate::packed::{Block, Columns, Packer, pack_times, zeros};
use crate::part::Column;
use crate::spill::{SpillHeader, Unit, Units};

/// What the units of a spill file are, once all were looked at.
#[derive(Debug)]
pub struct Spilled {
    file: File,
    header: SpillHeader,
    /// Whole units.
    units: u64,
    /// The draw of the last one.
    pub last_draw: Option<u64>,
    /// Flags of any of them: [`chunk_flags`].
    pub flags: u32,
    /// Units with the columns of requests, and with those of user counters.
    with: [u64; 2],
    shape: Shape,
    /// Bytes of the blocks of each column of a live segment.
    lengths: Vec<u64>,
    /// Which thread made which records.
    pub runs: Vec<RunEntry>,
    /// Of each column of the part the blocks of the records in memory.
    memory: Vec<Vec<Vec<u8>>>,
    /// Exits that became known when their records were in the file, by draw: record and ticks.
    late: HashMap<u64, Vec<(u32, u64)>>,
}

/// How many columns a unit may have: those of every record, of requests, and of user counters.
#[derive(Clone, Copy, Debug)]
struct Shape {
    always: usize,
    requests: usize,
    inner: usize,
}

/// The place of the operations among the columns.
const OPERATION: usize = COLUMNS.len() - 1;

impl Shape {
    fn of(columns: &[ColumnEntry]) -> Shape {
        let count = |flag| columns.iter().filter(|column| column.on_demand == flag).count();
        let above = usize::from(columns.iter().any(|column| name_of(&column.name) == ABOVE));
        Shape {
            always: count(0),
            requests: count(chunk_flags::EXTENDED).saturating_sub(above),
            inner: count(chunk_flags::INNER),
        }
    }

    /// Columns with these flags.
    fn columns(&self, flags: u32) -> usize {
        let requests = if flags & chunk_flags::EXTENDED != 0 { self.requests } else { 0 };
        let inner = if flags & chunk_flags::INNER != 0 { self.inner } else { 0 };
        self.always + requests + inner
    }

    /// For each column of a part with the flags `any` which one it is of a unit with `flags`.
    fn places(&self, any: u32, flags: u32) -> impl Iterator<Item = Option<usize>> {
        let has = |flag| flags & flag != 0;
        let requests = if any & chunk_flags::EXTENDED != 0 { self.requests } else { 0 };
        let inner = if any & chunk_flags::INNER != 0 { self.inner } else { 0 };
        let [always, behind] = [self.always, self.columns(flags & chunk_flags::EXTENDED)];
        let of_request = has(chunk_flags::EXTENDED).then_some(always);
        let of_inner = has(chunk_flags::INNER).then_some(behind);
        let of = |from: Option<usize>, count: usize| (0..count).map(move |index| from.map(|from| from + index));
        of(Some(0), always).chain(of(of_request, requests)).chain(of(of_inner, inner))
    }
}

impl Spilled {
    /// Looks at all units of a spill file. `exits` has the calls that are in the table of long calls. `is_known` gets
    /// the header of each, the number of its first record and its operations, which it may decode; a unit for which it
    /// says false ends the file. `columns` are those of the segment.
    ///
    /// # Errors
    /// The file cannot be read, or is not that of the segment.
    pub fn of(
        file: File,
        segment: &SegmentHeader,
        exits: &[LongCallEntry],
        mut is_known: impl FnMut(&Unit<'_>, u64) -> bool,
    ) -> io::Result<Spilled> {
        let header = SpillHeader::of(segment);
        let shape = Shape::of(&segment.columns[..segment.rank.columns as usize]);
        let mut late: HashMap<u64, Vec<(u32, u64)>> = HashMap::new();
        for entry in exits {
            let (draw, record) = of_live_record(entry.record);
            late.entry(draw).or_default().push((record, entry.exit));
        }
        let mut found = Spilled {
            file,
            header,
            units: 0,
            last_draw: None,
            flags: 0,
            with: [0; 2],
            shape,
            lengths: vec![0; shape.columns(chunk_flags::EXTENDED | chunk_flags::INNER)],
            runs: Vec::new(),
            memory: Vec::new(),
            late,
        };
        let all = chunk_flags::EXTENDED | chunk_flags::INNER;
        let mut units = Units::of(&found.file, &header)?;
        while let Some(unit) = units.next_unit()? {
            let flags = unit.header.flags & all;
            if unit.header.columns as usize != shape.columns(flags) || !is_known(&unit, found.units * header.records) {
                break;
            }
            let blocks = found.blocks_of(&unit).ok_or(io::ErrorKind::InvalidData)?;
            for (length, place) in found.lengths.iter_mut().zip(shape.places(all, flags)) {
                *length += place.map_or(0, |place| blocks[place].len() as u64);
            }
            found.with[0] += u64::from(flags & chunk_flags::EXTENDED != 0);
            found.with[1] += u64::from(flags & chunk_flags::INNER != 0);
            found.flags |= flags;
            found.last_draw = Some(unit.header.draw);
            let thread = unit.header.thread;
            match found.runs.last_mut().filter(|run| run.thread == thread) {
                Some(run) => run.count += header.records,
                None => found.runs.push(RunEntry { count: header.records, thread, padding: 0 }),
            }
            found.units += 1;
        }
        Ok(found)
    }

    /// Records in the file.
    pub fn records(&self) -> u64 {
        self.units * self.header.records
    }

    /// Records of a block.
    pub fn block_records(&self) -> u64 {
        self.header.records
    }

    /// Takes the records in memory out of these columns of the part, and packs them. `any`: the flags of all chunks.
    /// `None`: a call is of no operation.
    pub fn take(&mut self, columns: &mut [Column<'_>], any: u32, operations: &[OperationEntry]) -> Option<()> {
        self.flags |= any & (chunk_flags::EXTENDED | chunk_flags::INNER);
        let roles = Columns::new(columns.iter().map(|column| (name_of(&column.name), column.element_size)), operations);
        let mut packer = Packer::new(&roles);
        self.memory = vec![Vec::new(); columns.len()];
        let sizes: Vec<usize> = columns.iter().map(|column| column.element_size as usize).collect();
        let mut gathered: Vec<Vec<u8>> = vec![Vec::new(); columns.len()];
        let block = self.header.records as usize;
        let slices = columns.first().map_or(0, |column| column.slices.len());
        for slice in 0..slices {
            let records = columns[0].slices[slice].len() / sizes[0];
            let mut record = 0;
            while record < records {
                let taken = (block - gathered[0].len() / sizes[0]).min(records - record);
                for ((column, size), bytes) in columns.iter().zip(&sizes).zip(&mut gathered) {
                    bytes.extend_from_slice(column.slices[slice].get(record * size..(record + taken) * size)?);
                }
                record += taken;
                if gathered[0].len() == block * sizes[0] {
                    self.pack(&mut packer, &mut gathered, operations.len())?;
                }
            }
            // What is packed needs no memory any more.
            columns.iter_mut().for_each(|column| column.slices[slice] = (&[]).into());
        }
        if !gathered[0].is_empty() {
            self.pack(&mut packer, &mut gathered, operations.len())?;
        }
        columns.iter_mut().for_each(|column| column.slices.clear());
        Some(())
    }

    fn pack(&mut self, packer: &mut Packer<'_>, gathered: &mut [Vec<u8>], operations: usize) -> Option<()> {
        let numbers = gathered[OPERATION].as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
        if numbers.into_iter().any(|number| (number & OPERATION_MASK) as usize >= operations) {
            return None;
        }
        let plain: Vec<&[u8]> = gathered.iter().map(Vec::as_slice).collect();
        let blocks = packer.pack(&plain);
        self.memory.iter_mut().zip(blocks).for_each(|(column, block)| column.push(block));
        gathered.iter_mut().for_each(Vec::clear);
        Some(())
    }

    /// The block of each column of a unit, with the exits that came later. `None`: it cannot be decoded.
    fn blocks_of<'b>(&self, unit: &Unit<'b>) -> Option<Vec<Cow<'b, [u8]>>> {
        let mut blocks: Vec<Cow<'b, [u8]>> = unit.columns().map(Cow::Borrowed).collect();
        let Some(late) = self.late.get(&unit.header.draw) else { return Some(blocks) };
        let columns = Columns::new(COLUMNS.into_iter(), &[]);
        let block = Block::new(&columns, self.header.records as usize, unit.columns().take(COLUMNS.len()).collect());
        let [enter, mut exit] = block.times(0, 1)?;
        let mut is_changed = false;
        for &(record, tick) in late {
            if let Some(exit) = exit.get_mut(record as usize).filter(|exit| **exit == 0) {
                *exit = tick;
                is_changed = true;
            }
        }
        if is_changed {
            let [entries, exits] = pack_times(&enter, &exit);
            (blocks[0], blocks[1]) = (entries.into(), exits.into());
        }
        Some(blocks)
    }

    fn blocks(&self) -> u64 {
        self.units + self.memory.first().map_or(0, |blocks| blocks.len() as u64)
    }

    /// Bytes of header and index of a section.
    fn head(&self) -> u64 {
        size_of::<BlocksHeader>() as u64 + self.blocks() * size_of::<BlockEntry>() as u64
    }

    /// Bytes of the section of each column of the part, whose elements have these sizes.
    pub fn lengths(&self, sizes: &[u32]) -> Vec<u64> {
        let all = chunk_flags::EXTENDED | chunk_flags::INNER;
        // Of each column of a part with all columns, whether this part has it.
        let shown = self.shape.places(all, self.flags).map(|place| place.is_some());
        let mut lengths: Vec<u64> =
            self.lengths.iter().zip(shown).filter(|(_, shown)| *shown).map(|(length, _)| *length).collect();
        let lacking = |column: usize| match column {
            column if column < self.shape.always => 0,
            column if column < self.shape.columns(self.flags & chunk_flags::EXTENDED) => self.units - self.with[0],
            _ => self.units - self.with[1],
        };
        for (column, (length, size)) in lengths.iter_mut().zip(sizes).enumerate() {
            *length += lacking(column) * zeros(*size as usize, self.header.records as usize).len() as u64;
            *length += self.memory[column].iter().map(|block| block.len() as u64).sum::<u64>();
            *length += self.head();
        }
        lengths
    }

    /// Writes the sections of all columns, which begin at these places of the file: the checksums of their heads.
    ///
    /// # Errors
    /// A file cannot be read or written; `InvalidData`: the spill file has changed since it was looked at.
    pub fn write_at(&self, file: &File, sizes: &[u32], starts: &[u64]) -> io::Result<Vec<u32>> {
        let lengths = self.lengths(sizes);
        let fill: Vec<Vec<u8>> = sizes.iter().map(|&size| zeros(size as usize, self.header.records as usize)).collect();
        let mut sections: Vec<Section<'_>> = Vec::with_capacity(sizes.len());
        for (&start, &length) in starts.iter().zip(&lengths) {
            sections.push(Section::begin(file, start, length, self)?);
        }
        let mut units = Units::of(&self.file, &self.header)?;
        for _ in 0..self.units {
            let unit = units.next_unit()?.ok_or(io::ErrorKind::InvalidData)?;
            let blocks = self.blocks_of(&unit).ok_or(io::ErrorKind::InvalidData)?;
            let places = self.shape.places(self.flags, unit.header.flags);
            for ((section, place), fill) in sections.iter_mut().zip(places).zip(&fill) {
                let block = place.map_or(Some(&fill[..]), |place| blocks.get(place).map(AsRef::as_ref));
                section.add(block.ok_or(io::ErrorKind::InvalidData)?)?;
            }
        }
        for (section, blocks) in sections.iter_mut().zip(&self.memory) {
            blocks.iter().try_for_each(|block| section.add(block))?;
        }
        let end = sections.into_iter().zip(starts.iter().zip(&lengths));
        end.map(|(section, (start, length))| section.end(start + length)).collect()
    }
}

/// The operations of a unit; `None` where they cannot be decoded.
pub fn operations_of(unit: &Unit<'_>, columns: &Columns, records: u64) -> Option<Vec<u32>> {
    Block::new(columns, records as usize, unit.columns().take(COLUMNS.len()).collect()).operations()
}

/// A section in blocks that is being written: its head and its blocks go to two places of the file.
struct Section<'f> {
    start: u64,
    head: Writer<'f>,
    blocks: Writer<'f>,
    crc: crc32fast::Hasher,
}

impl<'f> Section<'f> {
    fn begin(file: &'f File, start: u64, length: u64, spilled: &Spilled) -> io::Result<Section<'f>> {
        let header = BlocksHeader { length, records: spilled.header.records as u32, blocks: spilled.blocks() as u32 };
        let mut section = Section {
            start,
            head: Writer { file, position: start, buffer: Vec::new() },
            blocks: Writer { file, position: start + spilled.head(), buffer: Vec::new() },
            crc: crc32fast::Hasher::new(),
        };
        section.add_to_head(bytemuck::bytes_of(&header))?;
        Ok(section)
    }

    fn add(&mut self, block: &[u8]) -> io::Result<()> {
        let entry = BlockEntry {
            offset: self.blocks.end() - self.start,
            length: block.len() as u32,
            crc: crc32fast::hash(block),
        };
        self.add_to_head(bytemuck::bytes_of(&entry))?;
        self.blocks.write(block)
    }

    fn add_to_head(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc.update(bytes);
        self.head.write(bytes)
    }

    /// Writes what is left; the section must end there. The checksum of its head.
    fn end(mut self, end: u64) -> io::Result<u32> {
        if self.blocks.end() != end {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.head.flush()?;
        self.blocks.flush()?;
        Ok(self.crc.finalize())
    }
}

/// Writes to a place of a file, some KiB at a time.
struct Writer<'f> {
    file: &'f File,
    position: u64,
    buffer: Vec<u8>,
}

impl Writer<'_> {
    const STEP: usize = 32 << 10;

    fn end(&self) -> u64 {
        self.position + self.buffer.len() as u64
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= Self::STEP { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all_at(&self.buffer, self.position)?;
        self.position += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;
    use crate::spill;

    const RECORDS: u64 = 16;
    const OPERATIONS: usize = 2;

    fn segment() -> SegmentHeader {
        let mut header = SegmentHeader { chunk_records: RECORDS, ..SegmentHeader::zeroed() };
        let of = |name: &str, element_size, on_demand| ColumnEntry {
            name: name_bytes(name),
            element_size,
            on_demand,
            ..ColumnEntry::default()
        };
        let requests = LIVE_REQUEST_COLUMNS.iter().map(|&(name, size)| of(name, size, chunk_flags::EXTENDED));
        let inner = [of("counter 0", 8, chunk_flags::INNER)];
        let columns = LIVE_COLUMNS.iter().map(|&(name, size)| of(name, size, 0)).chain(requests).chain(inner);
        for (entry, column) in header.columns.iter_mut().zip(columns) {
            *entry = column;
            header.rank.columns += 1;
        }
        header
    }

    /// The names of a part's columns with these flags.
    fn names(flags: u32) -> Vec<(&'static str, u32)> {
        let has = |flag| flags & flag != 0;
        let requests = REQUEST_COLUMNS.into_iter().filter(|_| has(chunk_flags::EXTENDED));
        COLUMNS.into_iter().chain(requests).chain(has(chunk_flags::INNER).then_some(("counter 0", 8))).collect()
    }

    /// The value of a column of a record; the call of record 3 did not return.
    fn value(column: &str, record: u64) -> u64 {
        match column {
            "enter" => 1000 + 100 * record,
            "exit" if record == 3 => 0,
            "exit" => 1050 + 100 * record,
            "operation" => record % OPERATIONS as u64,
            "position" => record,
            "repetition" => record / 2,
            "counter 0" => 7 * record,
            _ => record + 1,
        }
    }

    fn plain(flags: u32, records: std::ops::Range<u64>) -> Vec<Vec<u8>> {
        let column = |&(name, size): &(&str, u32)| {
            records
                .clone()
                .flat_map(|record| value(name, record).to_le_bytes().into_iter().take(size as usize))
                .collect()
        };
        names(flags).iter().map(column).collect()
    }

    /// Units of different columns, then records in memory: every column of the part has a value for each record, 0
    /// where its chunk lacks the column, and the exit that came late.
    #[test]
    fn the_blocks_of_all_units_are_copied_and_those_that_lack_filled() {
        let operations = [OperationEntry::zeroed(); OPERATIONS];
        let header = segment();
        let of_units = [0, chunk_flags::EXTENDED, chunk_flags::EXTENDED | chunk_flags::INNER, chunk_flags::INNER];
        let mut bytes = bytemuck::bytes_of(&SpillHeader::of(&header)).to_vec();
        for (number, flags) in (0..).zip(of_units) {
            let columns = Columns::new(names(flags).into_iter(), &operations);
            let plain = plain(flags, number * RECORDS..(number + 1) * RECORDS);
            let plain: Vec<&[u8]> = plain.iter().map(Vec::as_slice).collect();
            bytes.extend(spill::unit(number + 1, number as u32 / 2, flags, &Packer::new(&columns).pack(&plain)));
        }
        let path = std::env::temp_dir().join(format!("mpitrace-spilled-{}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let late = [LongCallEntry { record: live_record(1, 3), exit: 4321 }];
        let mut spilled = Spilled::of(File::open(&path).unwrap(), &header, &late, |_, _| true).unwrap();
        let of_file = of_units.len() as u64 * RECORDS;
        assert_eq!((spilled.records(), spilled.last_draw), (of_file, Some(4)));
        assert_eq!(spilled.runs.iter().map(|run| (run.thread, run.count)).collect::<Vec<_>>(), [(0, 32), (1, 32)]);

        let all = chunk_flags::EXTENDED | chunk_flags::INNER;
        let end = of_file + RECORDS + 5;
        // In two slices, as two chunks.
        let slices = [of_file..of_file + 9, of_file + 9..end].map(|records| plain(all, records));
        let mut columns: Vec<Column<'_>> = names(all)
            .iter()
            .enumerate()
            .map(|(index, &(name, element_size))| Column {
                name: name_bytes(name),
                element_size,
                slices: slices.iter().map(|slice| slice[index].clone().into()).collect(),
            })
            .collect();
        spilled.take(&mut columns, all, &operations).unwrap();
        let sizes: Vec<u32> = columns.iter().map(|column| column.element_size).collect();
        let mut starts = vec![64];
        spilled.lengths(&sizes).iter().for_each(|length| starts.push(starts[starts.len() - 1] + length));
        let written = path.with_extension("sections");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&written).unwrap();
        spilled.write_at(&file, &sizes, &starts).unwrap();
        let map = std::fs::read(&written).unwrap();
        assert_eq!(map.len() as u64, starts[sizes.len()]);
        let sections: Vec<crate::packed::PackedSection> = starts[..sizes.len()]
            .iter()
            .map(|&start| crate::packed::PackedSection::of(&map, start as usize, end).unwrap())
            .collect();
        let roles = Columns::new(names(all).into_iter(), &operations);
        for block in 0..sections[0].blocks.len() {
            let first = block as u64 * RECORDS;
            let count = RECORDS.min(end - first);
            let bytes = sections.iter().map(|section| &map[section.blocks[block].0.clone()]).collect();
            let decoded = Block::new(&roles, count as usize, bytes);
            let flags = of_units.get(block).copied().unwrap_or(all);
            for (column, name) in names(all).iter().enumerate() {
                let is_lacking = !names(flags).contains(name);
                let expected = |record: u64| match (is_lacking, name.0, record) {
                    (true, ..) => 0,
                    (_, "exit", 3) => 4321,
                    _ => value(name.0, record),
                };
                let expected: Vec<u64> = (first..first + count).map(expected).collect();
                assert_eq!(decoded.wide(column), Some(expected), "{} of block {block}", name.0);
            }
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::remove_file(&written).unwrap();
    }
}
