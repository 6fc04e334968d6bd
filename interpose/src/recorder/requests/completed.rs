//! Which requests of an array a call has found complete.

use std::ffi::c_int;

use crate::base::program;

/// Which requests of an array a call has found complete. Addresses are of ints that the call has stored.
#[derive(Clone, Copy)]
pub enum Completed {
    All,
    One { index: usize },
    Some { outcount: usize, indices: usize },
}

impl Completed {
    /// Calls `found` for each of them with its place among the requests and the place of its status. MPI_UNDEFINED is
    /// negative, in place of an index or a count.
    pub fn each(self, count: usize, mut found: impl FnMut(usize, usize)) {
        let place = |index: c_int| usize::try_from(index).ok();
        match self {
            Completed::All => (0..count).for_each(|place| found(place, place)),
            Completed::One { index } => {
                if let Some(place) = place(program::int(index)) {
                    found(place, 0);
                }
            }
            Completed::Some { outcount, indices } => {
                for status in 0..program::int(outcount).max(0) as usize {
                    if let Some(place) = place(program::element(indices, status)) {
                        found(place, status);
                    }
                }
            }
        }
    }
}
