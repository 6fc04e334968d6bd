//! The entries and exits of some of a part's calls.

use std::ops::Range;

use super::part::Part;

/// Reads entries and exits. Of a packed part of a large trace one piece is decoded at a time, so that not all of them
/// are in memory at once; records that are asked for in their order are decoded once.
pub(crate) enum Times<'p> {
    /// Where they lie, or decoded as a whole.
    Whole { enter: &'p [u64], exit: &'p [u64] },
    /// The piece that was read last: its records, their entries and exits.
    Piecewise { part: &'p Part, range: Range<usize>, enter: Vec<u64>, exit: Vec<u64> },
}

impl Part {
    /// A reader of entries and exits.
    pub(crate) fn times(&self) -> Times<'_> {
        match self.is_read_piecewise {
            false => Times::Whole { enter: self.enter(), exit: self.exit() },
            true => Times::Piecewise { part: self, range: 0..0, enter: Vec::new(), exit: Vec::new() },
        }
    }
}

impl Times<'_> {
    /// Ticks at the entries and the exits of these records, in the place of what the two lists held.
    pub fn read(&mut self, records: &[u32], enters: &mut Vec<u64>, exits: &mut Vec<u64>) {
        enters.clear();
        exits.clear();
        match self {
            Times::Whole { enter, exit } => {
                enters.extend(records.iter().map(|&record| enter[record as usize]));
                exits.extend(records.iter().map(|&record| exit[record as usize]));
            }
            Times::Piecewise { part, range, enter, exit } => {
                for &record in records {
                    let record = record as usize;
                    if !range.contains(&record) {
                        let piece = part.piece_with(record);
                        *range = piece.range.clone();
                        [*enter, *exit] = piece.times().map(|column| column.into_owned());
                    }
                    enters.push(enter[record - range.start]);
                    exits.push(exit[record - range.start]);
                }
            }
        }
    }
}
