//! The collective functions that the tracer itself calls. They are the non-blocking ones, waited for with pauses: see
//! [`Pause`]. All ranks of the communicator come to each of them, so none stays without an end.

use bytemuck::Pod;

use super::*;
use crate::boundary::pause::Pause;

/// Begins an operation, given the address of a request, and waits until it is complete.
fn completed(begin: impl FnOnce(usize) -> bool) -> bool {
    let Some(mut request) = word(begin) else { return false };
    let (place, ignore) = ((&raw mut request).expose_provenance(), abi::get().status_ignore);
    let mut pause = Pause::default();
    loop {
        // SAFETY: int MPI_Test(MPI_Request *, int *, MPI_Status *); the request is this one's. An operation whose test
        // reports an error is complete.
        match int(|flag| unsafe { test(place, flag, ignore) }) {
            None => return false,
            Some(0) => drop(pause.pause()),
            Some(_) => return true,
        }
    }
}

impl Comm {
    /// A duplicate of the tracer's own, which all ranks make. It inherits MPI_ERRORS_ARE_FATAL from the world; this one
    /// returns errors.
    pub fn duplicate(self) -> Option<Comm> {
        // Zeroed, so that a 4-byte handle reads back as its value (little-endian).
        let mut new = 0usize;
        let place = (&raw mut new).expose_provenance();
        // SAFETY: int MPI_Comm_idup(MPI_Comm, MPI_Comm *, MPI_Request *); the handle lives until the request is
        // complete.
        completed(|request| unsafe { comm_idup(self.0, place, request) }).then_some(())?;
        let new = abi::get().handle(new);
        // SAFETY: int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler), on a communicator made just now.
        unsafe { comm_set_errhandler(new, abi::get().errors_return) };
        Some(Comm(new))
    }

    /// Rank 0's bytes for all ranks, which come here with as many. False: it has failed.
    pub fn broadcast<T: Pod>(self, words: &mut [T]) -> bool {
        let (place, bytes) = (words.as_mut_ptr().expose_provenance(), size_of_val(words));
        let byte = abi::get().byte;
        // SAFETY: int MPI_Ibcast(void *, int, MPI_Datatype, int, MPI_Comm, MPI_Request *); the bytes are the slice's, of
        // a type that may have any, and borrowed until the request is complete.
        completed(|request| unsafe { ibcast(place, bytes, byte, 0, self.0, request) })
    }

    /// The words of all ranks, which come here with as many, in the order of the ranks at rank 0, whose `all` has room for
    /// them; the others' has none. False: it has failed.
    pub fn gather(self, words: &[u64], all: &mut [u64]) -> bool {
        let (send, receive) = (words.as_ptr().expose_provenance(), all.as_mut_ptr().expose_provenance());
        let (bytes, byte) = (size_of_val(words), abi::get().byte);
        // SAFETY: int MPI_Igather(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm,
        // MPI_Request *); only rank 0 receives, where `all` has as many bytes for each rank; both are borrowed until the
        // request is complete.
        completed(|request| unsafe { igather(send, bytes, byte, receive, bytes, byte, 0, self.0, request) })
    }

    /// The least integer of all ranks, which come here together.
    pub fn min(self, here: i64) -> Option<i64> {
        self.least(&[here]).map(|[least]| least)
    }

    /// The least of all ranks' integers in each place. All ranks come here together.
    pub fn least<const N: usize>(self, here: &[i64; N]) -> Option<[i64; N]> {
        self.reduce(here, abi::get().min)
    }

    /// The sum of the integers of all ranks, which come here together.
    pub fn sum(self, here: i64) -> Option<i64> {
        self.reduce(&[here], abi::get().sum).map(|[sum]| sum)
    }

    fn reduce<const N: usize>(self, here: &[i64; N], operator: usize) -> Option<[i64; N]> {
        let mut result = [0i64; N];
        let (send, receive) = (here.as_ptr().expose_provenance(), result.as_mut_ptr().expose_provenance());
        let int64 = abi::get().int64;
        // SAFETY: int MPI_Iallreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *); both hold
        // N 64-bit integers, and live until the request is complete.
        let done = completed(|request| unsafe { iallreduce(send, receive, N, int64, operator, self.0, request) });
        done.then_some(result)
    }

    /// The sum of the integers of the ranks before this one; what the first rank gets is not defined.
    pub fn sum_before(self, here: i64) -> i64 {
        let mut result = 0i64;
        let (send, receive) = ((&raw const here).expose_provenance(), (&raw mut result).expose_provenance());
        let abi = abi::get();
        // SAFETY: int MPI_Iexscan(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *); both hold one
        // 64-bit integer, and live until the request is complete.
        completed(|request| unsafe { iexscan(send, receive, 1, abi.int64, abi.sum, self.0, request) });
        result
    }
}
