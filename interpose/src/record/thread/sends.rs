//! To whom a thread sends which data types, as it was found lately: most programs send to the same few ranks again.

use std::ffi::c_int;

use crate::handles::generation;
use crate::record::thread::partner_entry::SharedEntry;

/// So many are kept, each at the place of its rank.
const KEPT: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Destination {
    pub comm: usize,
    pub datatype: usize,
    pub rank: c_int,
}

/// The data that was found for a destination.
#[derive(Clone, Copy)]
pub struct Sent {
    /// One of `layout::partner`.
    pub partner: u64,
    /// Bytes of the data type.
    pub size: u64,
    /// The partner's entry, which the thread changes alone.
    pub entry: &'static SharedEntry,
}

#[derive(Clone, Copy)]
struct Kept {
    destination: Destination,
    /// The generation of the handles in which it was found.
    generation: u64,
    found: Option<Sent>,
}

pub struct Sends([Kept; KEPT]);

impl Sends {
    pub const NEW: Sends =
        Sends([Kept { destination: Destination { comm: 0, datatype: 0, rank: -1 }, generation: 0, found: None }; KEPT]);

    /// The data that was found for a destination, where that is still good.
    #[inline(always)]
    pub fn find(&self, destination: Destination) -> Option<Sent> {
        let kept = &self.0[destination.rank as usize % KEPT];
        (kept.destination == destination && generation::is_present(kept.generation)).then_some(kept.found)?
    }

    /// Keeps what was found for a destination in this generation.
    pub fn keep(&mut self, destination: Destination, generation: u64, found: Sent) {
        self.0[destination.rank as usize % KEPT] = Kept { destination, generation, found: Some(found) };
    }
}
