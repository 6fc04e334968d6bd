//! The collective functions that the tracer itself calls. They are the non-blocking ones, waited for with pauses: see
//! [`Pause`]. All ranks of the communicator come to each of them, so none stays without an end.

use bytemuck::Pod;

use super::*;
use crate::base::pause::Pause;

/// Begins an operation on these values, given their address and that of a request, and waits until it is complete: the
/// values then. `None`: it has failed. The library may still know the values after an error, which need not be one of
/// this operation: so they are never given back then.
fn completed<T: Pod>(mut values: Vec<T>, begin: impl FnOnce(usize, usize) -> bool) -> Option<Vec<T>> {
    let place = values.as_mut_ptr().expose_provenance();
    let Some(mut request) = word(|request| begin(place, request)) else {
        std::mem::forget(values);
        return None;
    };
    let (request, ignore) = ((&raw mut request).expose_provenance(), abi::get().status_ignore);
    let mut pause = Pause::default();
    loop {
        // SAFETY: int MPI_Test(MPI_Request *, int *, MPI_Status *); the request is this one's.
        match int(|flag| unsafe { test(request, flag, ignore) }) {
            None => {
                std::mem::forget(values);
                return None;
            }
            Some(0) => drop(pause.pause()),
            Some(_) => return Some(values),
        }
    }
}

/// A function that reduces: where the values and the result lie, how many and of which type, by which operator, on which
/// communicator, with the request at this address.
type Reduction = unsafe fn(usize, usize, usize, usize, usize, usize, usize) -> bool;

impl Comm {
    /// A duplicate of the tracer's own, which all ranks make. It inherits MPI_ERRORS_ARE_FATAL from the world; this one
    /// returns errors.
    pub fn duplicate(self) -> Option<Comm> {
        // Zeroed, so that a 4-byte handle reads back as its value (little-endian).
        // SAFETY: int MPI_Comm_idup(MPI_Comm, MPI_Comm *, MPI_Request *); the handle lives until the request is
        // complete.
        let new = completed(vec![0usize], |place, request| unsafe { comm_idup(self.0, place, request) })?;
        let new = abi::get().handle(new[0]);
        // SAFETY: int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler), on a communicator made just now.
        unsafe { comm_set_errhandler(new, abi::get().errors_return) };
        Some(Comm(new))
    }

    /// Rank 0's values for all ranks, which come here with as many. False: it has failed.
    pub fn broadcast<T: Pod>(self, values: &mut [T]) -> bool {
        let (bytes, byte) = (size_of_val(values), abi::get().byte);
        let sent = completed(values.to_vec(), |place, request| {
            // SAFETY: int MPI_Ibcast(void *, int, MPI_Datatype, int, MPI_Comm, MPI_Request *); so many bytes lie there,
            // of a type that may have any.
            unsafe { ibcast(place, bytes, byte, 0, self.0, request) }
        });
        sent.inspect(|sent| values.copy_from_slice(sent)).is_some()
    }

    /// The words of all ranks, which come here with as many, in the order of the ranks: at rank 0, which says how many
    /// `ranks` there are. The others, which say 0, get none. `None`: it has failed.
    pub fn gather<const N: usize>(self, words: &[u64; N], ranks: usize) -> Option<Vec<[u64; N]>> {
        let (bytes, byte) = (size_of_val(words), abi::get().byte);
        let mut all = vec![[0; N]; ranks + 1];
        all[ranks] = *words;
        let mut all = completed(all, |place, request| {
            let own = place + ranks * bytes;
            // SAFETY: int MPI_Igather(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm,
            // MPI_Request *); the rank's own bytes lie behind the room for those of all, which only rank 0 needs.
            unsafe { igather(own, bytes, byte, place, bytes, byte, 0, self.0, request) }
        })?;
        all.truncate(ranks);
        Some(all)
    }

    /// The reduction of all ranks' integers; every rank passes equally many.
    fn reduced(self, function: Reduction, operator: usize, mut integers: Vec<i64>) -> Option<Vec<i64>> {
        let (abi, count) = (abi::get(), integers.len());
        integers.resize(2 * count, 0);
        let mut reduced = completed(integers, |place, request| {
            let result = place + count * size_of::<i64>();
            // SAFETY: int MPI_Iallreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *), and
            // MPI_Iexscan the same; so many 64-bit integers lie in both places.
            unsafe { function(place, result, count, abi.int64, operator, self.0, request) }
        })?;
        Some(reduced.split_off(count))
    }

    /// The least of all ranks' integers in each place. All ranks come here together.
    pub fn least<const N: usize>(self, here: &[i64; N]) -> Option<[i64; N]> {
        self.reduced(iallreduce, abi::get().min, here.to_vec())?.try_into().ok()
    }

    /// The sum of all ranks' integers in each place. All ranks come here with as many.
    pub fn sum(self, integers: Vec<i64>) -> Option<Vec<i64>> {
        self.reduced(iallreduce, abi::get().sum, integers)
    }

    /// The sum of the integers of the ranks before this one; what the first rank gets is not defined.
    pub fn sum_before(self, here: i64) -> Option<i64> {
        self.reduced(iexscan, abi::get().sum, vec![here])?.pop()
    }
}
