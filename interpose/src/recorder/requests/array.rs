//! The arguments of a call that may find requests complete, and which of them it has.

use std::ffi::c_int;

use crate::base::program;
use crate::mpi::abi;

/// The arguments, by their names in the table: `src/functions/build/line.rs` writes it where a line says `array`.
#[derive(Clone, Copy)]
pub struct Array {
    pub count: usize,
    pub requests: usize,
    /// One for each request, or the one of the request that is found complete.
    pub statuses: usize,
    /// The address of the flag; 0: the call has none.
    pub flag: usize,
    pub completed: Completed,
}

/// Which requests a call has found complete. Addresses are of ints that the call has stored.
#[derive(Clone, Copy)]
pub enum Completed {
    All,
    One { index: usize },
    Some { outcount: usize, indices: usize },
}

impl Array {
    /// The request at this address.
    pub fn one(requests: usize) -> Array {
        Array { count: 1, requests, statuses: 0, flag: 0, completed: Completed::All }
    }

    /// How many requests there are, as its register holds the int.
    pub fn len(&self) -> usize {
        (self.count as c_int).max(0) as usize
    }

    pub fn statuses_of_call(&self) -> usize {
        if matches!(self.completed, Completed::One { .. }) { 1 } else { self.len() }
    }

    /// The call waits for all of the requests, where it waits.
    pub fn is_for_all(&self) -> bool {
        matches!(self.completed, Completed::All)
    }

    /// The flag, where there is one, says that requests are complete.
    pub fn is_done(&self) -> bool {
        self.flag == 0 || program::int(self.flag) != 0
    }

    pub fn handles(&self) -> impl Iterator<Item = usize> + Clone {
        abi::get().handles(self.count, self.requests)
    }

    pub fn handle(&self, place: usize) -> usize {
        abi::get().read(self.requests + place * abi::get().handle_size)
    }

    /// Calls `found` for each request that the call has found complete: its place among the requests, and the address
    /// of its status, which is MPI_STATUS_IGNORE where there are none. MPI_UNDEFINED is negative, in place of an index
    /// or a count.
    pub fn each_completed(&self, mut found: impl FnMut(usize, usize)) {
        let ignored = self.statuses == abi::get().status_ignore;
        let status =
            |index: usize| if ignored { self.statuses } else { self.statuses + index * abi::get().status_size };
        let place = |index: c_int| usize::try_from(index).ok();
        match self.completed {
            Completed::All => (0..self.len()).for_each(|place| found(place, status(place))),
            Completed::One { index } => {
                if let Some(place) = place(program::int(index)) {
                    found(place, self.statuses);
                }
            }
            Completed::Some { outcount, indices } => {
                for index in 0..program::int(outcount).max(0) as usize {
                    if let Some(place) = place(program::element(indices, index)) {
                        found(place, status(index));
                    }
                }
            }
        }
    }
}
