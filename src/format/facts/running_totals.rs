//! Sums over the parts of a trace to which ranks add their parts one after the other, so that no rank has to read the
//! parts of the others.
//!
//! They lie in the table of parts, where the entry of the next part will be: readers of the format do not look there.
//! The rank that adds that part reads them, writes its entry over them, and writes the new ones behind it. The last
//! part leaves no room for them, and no need.
//!
//! ```
//! use mpitrace_format::layout::RunningTotals;
//! use mpitrace_format::running_totals::{read, write};
//!
//! let file = tempfile::tempfile()?;
//! let none = read(&file, 0)?;
//! let of_one = none.with(1000, true);
//! write(&file, &of_one, 4)?;
//! assert_eq!(read(&file, 1)?, of_one);
//! let of_two: RunningTotals = of_one.with(500, false);
//! assert_eq!((of_two.records, of_two.parts, of_two.complete), (1500, 2, 0));
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use bytemuck::Zeroable;

use crate::file;
use crate::layout::*;

impl RunningTotals {
    /// The totals with one more part.
    #[must_use]
    pub fn with(&self, records: u64, complete: bool) -> RunningTotals {
        let mut totals = RunningTotals {
            // What is stored may be anything.
            records: self.records.saturating_add(records),
            parts: self.parts.saturating_add(1),
            complete: u32::from(complete && self.complete == 1),
            magic: TOTALS_MAGIC,
            crc: 0,
        };
        totals.crc = totals.checksum();
        totals
    }

    fn checksum(&self) -> u32 {
        crc32fast::hash(bytemuck::bytes_of(&RunningTotals { crc: 0, ..*self }))
    }

    fn none() -> RunningTotals {
        RunningTotals { complete: 1, ..RunningTotals::default() }
    }
}

/// The totals of the first `parts` parts of a file, the table of which has an entry more. Where they are missing, after
/// a rank that died while it wrote, they are found from the parts.
///
/// # Errors
/// The file cannot be read.
pub fn read(file: &File, parts: u32) -> io::Result<RunningTotals> {
    if parts == 0 {
        return Ok(RunningTotals::none());
    }
    let mut totals = RunningTotals::zeroed();
    file.read_exact_at(bytemuck::bytes_of_mut(&mut totals), file::part_entry_offset(parts))?;
    if totals.magic == TOTALS_MAGIC && totals.parts == parts && totals.crc == totals.checksum() {
        return Ok(totals);
    }
    let headers = file::parts(file, parts)?;
    let is_complete = |part: &PartHeader| part.incomplete == 0 && part.rank.state == state::FINALIZED;
    Ok(headers.iter().fold(RunningTotals::none(), |totals, part| totals.with(part.records, is_complete(part))))
}

/// Writes the totals behind the entry of the last part that they count, where the table has room for one more.
///
/// # Errors
/// The file cannot be written.
pub fn write(file: &File, totals: &RunningTotals, world_size: u32) -> io::Result<()> {
    if totals.parts >= world_size {
        return Ok(());
    }
    file.write_all_at(bytemuck::bytes_of(totals), file::part_entry_offset(totals.parts))
}
