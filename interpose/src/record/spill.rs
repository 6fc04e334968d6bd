//! `MPITRACE_FULL=spill`: where no chunk is free, the records of the one that was filled first are packed and written
//! to a file beside the trace, and the chunk is drawn again.
//!
//! That happens on the thread that needs the chunk, between two of its calls, the next of which counts as delayed by
//! the tracer. No helper thread is needed, which would take a processor from the program.
//!
//! A unit of the file is whole before its chunk is withdrawn: a kill loses nothing, and what is then in both is known
//! by the number of the draw. A child that was forked off has the same mapping and the same descriptor: it writes
//! nothing.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use mpitrace_format::layout::*;
use mpitrace_format::live_records::number_before;
use mpitrace_format::packed::{Columns, Packer};
use mpitrace_format::spill::{self, SpillHeader};

use crate::base::allocator::Held;
use crate::base::memory::NodeFile;
use crate::base::{log, system};
use crate::record::entry::Entry;
use crate::record::layout::OPERATIONS;
use crate::record::trace_buffer::{State, TraceBuffer};

/// The spill file of this process.
pub struct Spill {
    path: PathBuf,
    /// Where the trace buffer has its name.
    reference: u32,
    /// The process that writes it.
    process: u32,
    /// `None` before the first chunk is written.
    file: Option<NodeFile>,
    /// Bytes of its whole units, and of its header.
    end: u64,
}

/// The columns of a part that follow from those of a live segment.
struct Numbers {
    exit: Vec<u64>,
    position: Vec<u64>,
    repetition: Vec<u64>,
}

impl Spill {
    /// That with this name, which is made when it is needed.
    pub fn at(path: PathBuf, reference: u32) -> Spill {
        Spill { path, reference, process: std::process::id(), file: None, end: 0 }
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of its whole units.
    pub fn length(&self) -> u64 {
        self.end
    }

    /// The file as it can be read, where there is one.
    pub fn reader(&mut self) -> Option<io::Result<std::fs::File>> {
        let file = self.file.as_mut()?;
        Some(file.current().ok_or(io::ErrorKind::NotFound.into()).and_then(std::fs::File::try_clone))
    }

    /// Removes it.
    pub fn remove(&self) {
        if self.file.is_some() {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Writes a unit behind the others.
    fn add(&mut self, unit: &[u8], header: &SpillHeader) -> io::Result<()> {
        let begins = self.file.is_none();
        if begins {
            self.file = Some(NodeFile::create(&self.path)?);
            self.end = size_of::<SpillHeader>() as u64;
        }
        let end = self.end + unit.len() as u64;
        if system::file_size_limit().is_some_and(|limit| end > limit) {
            // Beyond it the kernel would send SIGXFSZ, which ends the program.
            return Err(io::Error::from_raw_os_error(libc::EFBIG));
        }
        let file = self.file.as_mut().and_then(NodeFile::current).ok_or(io::ErrorKind::NotFound)?;
        if begins {
            file.write_all_at(bytemuck::bytes_of(header), 0)?;
        }
        file.write_all_at(unit, self.end)?;
        self.end = end;
        Ok(())
    }
}

impl TraceBuffer {
    /// Writes the records of a full chunk to the spill file. False: that cannot be done, and never will be again.
    pub(super) fn spill_chunk(&self, state: &mut State, start: u64, entry: Entry<ChunkEntry>) -> bool {
        // Copies of the columns, and what each of them may be packed as.
        let (records, columns) = (self.layout.header.chunk_records, u64::from(self.layout.header.rank.columns));
        let takes = (1 << 18) + 128 * records * columns + 16 * self.tables[OPERATIONS].used();
        let Some(_held) = Held::bytes(takes) else { return false };
        let Some(mut spill) = state.spill.take() else { return false };
        // A child that has no handlers of fork (made by `clone`) is not known to be one otherwise.
        if spill.process != std::process::id() {
            return false;
        }
        let unit = self.packed(start, entry);
        let written = spill.add(&unit, &SpillHeader::of(&self.spill_header()));
        if let Err(error) = &written {
            log::warn_on_node(
                "spill",
                &format!("cannot write {}: {error}; further calls are counted and not kept", spill.path.display()),
            );
        }
        if spill.file.is_some() {
            // A kill from here on finds it. What was written stays part of the trace whatever fails later.
            self.header.set_spill(spill.reference);
        }
        state.spill = Some(spill);
        written.is_ok()
    }

    /// What names this process in the file.
    fn spill_header(&self) -> SegmentHeader {
        // The rank and the process are known before anything is recorded, and stay.
        SegmentHeader { rank: self.header.rank(), ..self.layout.header }
    }

    /// The unit of a full chunk.
    fn packed(&self, start: u64, entry: Entry<ChunkEntry>) -> Vec<u8> {
        let header = &self.layout.header;
        let records = header.chunk_records as usize;
        let flags = entry.flags() & (chunk_flags::EXTENDED | chunk_flags::INNER);
        let place = |index: usize| start + header.columns[index].offset;
        let halves = |index: usize| self.memory.load::<u32>(place(index), records);
        let enter = self.memory.load::<u64>(place(0), records);
        let operation = halves(OPERATION);
        let in_use = |column: &&ColumnEntry| column.on_demand == 0 || flags & column.on_demand != 0;
        let others = header.columns[..header.rank.columns as usize].iter().skip(LIVE_COLUMNS.len()).filter(in_use);
        let (above, others): (Vec<&ColumnEntry>, _) = others.partition(|column| name_of(&column.name) == ABOVE);
        let above = above.first().map(|column| self.memory.load::<u32>(start + column.offset, records));
        let numbers = self.numbers(entry.draw(), &enter, [halves(1), halves(2), halves(3)], &operation, above);

        let of_others = others
            .iter()
            .map(|column| self.memory.load::<u8>(start + column.offset, records * column.element_size as usize));
        let of_others: Vec<Vec<u8>> = of_others.collect();
        let mut plain: Vec<&[u8]> = vec![
            bytemuck::cast_slice(&enter),
            bytemuck::cast_slice(&numbers.exit),
            bytemuck::cast_slice(&numbers.position),
            bytemuck::cast_slice(&numbers.repetition),
            bytemuck::cast_slice(&operation),
        ];
        plain.extend(of_others.iter().map(Vec::as_slice));
        let names = others.iter().map(|column| (name_of(&column.name), column.element_size));
        let operations = self.tables[OPERATIONS].used() as u32;
        let communicator_of = (0..operations).map(|number| self.operation(number).communicator()).collect();
        let columns = Columns::with_communicators(COLUMNS.into_iter().chain(names), communicator_of);
        spill::unit(entry.draw(), entry.thread(), flags, &Packer::new(&columns).pack(&plain))
    }

    /// Exits, positions and repetitions. The upper halves of numbers follow from the counts that the tables have now.
    fn numbers(
        &self,
        draw: u64,
        enter: &[u64],
        [duration, position, repetition]: [Vec<u32>; 3],
        operation: &[u32],
        above: Option<Vec<u32>>,
    ) -> Numbers {
        let records = enter.len();
        let [mut exits, mut positions, mut repetitions] = [(); 3].map(|()| Vec::with_capacity(records));
        for record in 0..records {
            exits.push(match duration[record] {
                NOT_RETURNED => 0,
                LONG => self.exit_of(live_record(draw, record as u32)).unwrap_or(0),
                stored => enter[record].wrapping_add(u64::from(stored - DURATION_FROM)),
            });
            let entry = self.operation(operation[record] & OPERATION_MASK);
            let number = number_before(entry.calls(), repetition[record]);
            repetitions.push(number);
            let above = above.as_ref().map_or(0, |above| above[record]);
            let communicator = self.communicator(entry.communicator());
            positions.push(match entry.positions_from() {
                0 if above != 0 => u64::from(above) << 32 | u64::from(position[record]),
                0 if communicator.flags() & communicator_flags::FOLDED != 0 => position[record].into(),
                0 => number_before(communicator.calls(), position[record]),
                from => (u64::from(from) << 32) + (number & ((1 << 40) - 1)),
            });
        }
        Numbers { exit: exits, position: positions, repetition: repetitions }
    }
}

/// The place of the operations among [`LIVE_COLUMNS`].
const OPERATION: usize = 4;
