//! Communicators, as far as the tracer itself calls MPI functions on them.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;

use bytemuck::Pod;

use super::*;

/// A communicator: the program's, or one of the tracer's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comm(usize);

impl Comm {
    /// MPI_COMM_WORLD.
    pub fn world() -> Comm {
        Comm(abi::get().comm_world)
    }

    /// The one behind a handle that the program has passed or the library has returned.
    pub fn of_handle(handle: usize) -> Comm {
        Comm(handle)
    }

    /// The handle behind one of Fortran; `None` where the library lacks the function that says it.
    pub fn of_fortran(handle: c_int) -> Option<usize> {
        static OF_ABI: Symbol = Symbol::new("PMPI_Comm_fromint\0");
        static OF_LIBRARY: Symbol = Symbol::new("PMPI_Comm_f2c\0");
        let own = abi::get();
        if own.handle_size == size_of::<c_int>() {
            // MPICH: one and the same.
            return Some(handle as u32 as usize);
        }
        let address = OF_ABI.get().or_else(|| OF_LIBRARY.get())?;
        // SAFETY: MPI_Comm MPI_Comm_f2c(MPI_Fint) and MPI_Comm MPI_Comm_fromint(int), callable at any time, where a
        // handle is as large as an address.
        let found =
            unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> usize>(address)(handle) };
        Some(own.handle(found))
    }

    fn ask(self, function: unsafe fn(usize, usize) -> bool) -> Option<c_int> {
        // SAFETY: the functions that are passed here take a communicator and the address of an int.
        int(|place| unsafe { function(self.0, place) })
    }

    /// This rank's rank in its (local) group.
    pub fn rank(self) -> Option<u32> {
        u32::try_from(self.ask(comm_rank)?).ok()
    }

    /// Ranks in its (local) group.
    pub fn size(self) -> Option<u32> {
        u32::try_from(self.ask(comm_size)?).ok()
    }

    /// Ranks in the remote group of an intercommunicator.
    pub fn remote_size(self) -> Option<u32> {
        u32::try_from(self.ask(comm_remote_size)?).ok()
    }

    /// Whether it is an intercommunicator.
    pub fn is_inter(self) -> Option<bool> {
        Some(self.ask(comm_test_inter)? != 0)
    }

    /// From how many neighbours this rank receives and to how many it sends in its topology; none where it has no
    /// topology.
    pub fn neighbours(self) -> (u32, u32) {
        let (sources, destinations) = self.find_neighbours().unwrap_or((0, 0));
        (sources.max(0) as u32, destinations.max(0) as u32)
    }

    fn find_neighbours(self) -> Option<(c_int, c_int)> {
        let kind = self.ask(topo_test)?;
        let [cartesian, graph, distributed] = abi::get().topologies;
        if kind == cartesian {
            let dimensions = self.ask(cartdim_get)?;
            return Some((2 * dimensions, 2 * dimensions));
        }
        if kind == graph {
            let rank = self.ask(comm_rank)?;
            // SAFETY: int MPI_Graph_neighbors_count(MPI_Comm, int, int *), on a communicator with a graph.
            let neighbours = int(|count| unsafe { graph_neighbors_count(self.0, rank as usize, count) })?;
            return Some((neighbours, neighbours));
        }
        if kind == distributed {
            let (mut destinations, mut weighted): (c_int, c_int) = (0, 0);
            let (to, flag) = ((&raw mut destinations).expose_provenance(), (&raw mut weighted).expose_provenance());
            // SAFETY: int MPI_Dist_graph_neighbors_count(MPI_Comm, int *, int *, int *); all three ints outlive the
            // call.
            let sources = int(|from| unsafe { dist_graph_neighbors_count(self.0, from, to, flag) })?;
            return Some((sources, destinations));
        }
        None
    }

    /// Its (local) group.
    pub fn group(self) -> Option<Group> {
        // SAFETY: int MPI_Comm_group(MPI_Comm, MPI_Group *); the group is ours to free.
        handle(|place| unsafe { comm_group(self.0, place) }).map(Group)
    }

    /// The remote group of an intercommunicator.
    pub fn remote_group(self) -> Option<Group> {
        // SAFETY: int MPI_Comm_remote_group(MPI_Comm, MPI_Group *); the group is ours to free.
        handle(|place| unsafe { comm_remote_group(self.0, place) }).map(Group)
    }

    /// A duplicate of the tracer's own, which all ranks make. It inherits MPI_ERRORS_ARE_FATAL from the world; this one
    /// returns errors.
    pub fn duplicate(self) -> Option<Comm> {
        // SAFETY: int MPI_Comm_dup(MPI_Comm, MPI_Comm *).
        let new = handle(|place| unsafe { comm_dup(self.0, place) })?;
        // SAFETY: int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler), on a communicator made just now.
        unsafe { comm_set_errhandler(new, abi::get().errors_return) };
        Some(Comm(new))
    }

    /// Splits by colour, which all ranks do. With MPI_UNDEFINED for a colour what comes is MPI_COMM_NULL.
    pub fn split(self, color: i32, key: u32) -> Option<Comm> {
        // SAFETY: int MPI_Comm_split(MPI_Comm, int, int, MPI_Comm *); ints lie in the lower half of a register.
        handle(|place| unsafe { comm_split(self.0, color as u32 as usize, key as usize, place) }).map(Comm)
    }

    /// The ranks that share memory with this one. All ranks come here.
    pub fn split_by_memory(self, key: u32) -> Option<Comm> {
        let abi = abi::get();
        let kind = abi.comm_type_shared as u32 as usize;
        // SAFETY: int MPI_Comm_split_type(MPI_Comm, int, int, MPI_Info, MPI_Comm *); MPI_INFO_NULL is an info.
        handle(|place| unsafe { comm_split_type(self.0, kind, key as usize, abi.info_null, place) }).map(Comm)
    }

    /// Gives one of the tracer's own back.
    pub fn free(self) {
        // A 4-byte handle lies in the word's first 4 bytes.
        let mut comm = self.0;
        // SAFETY: int MPI_Comm_free(MPI_Comm *); the handle outlives the call.
        unsafe { comm_free((&raw mut comm).expose_provenance()) };
    }

    /// Raises an error on it.
    pub fn raise(self, code: c_int) {
        // SAFETY: int MPI_Comm_call_errhandler(MPI_Comm, int).
        unsafe { comm_call_errhandler(self.0, code as usize) };
    }

    /// Rank 0's words (or bytes) for all ranks, which come here with as many. False: it has failed.
    pub fn broadcast<T: Pod>(self, words: &mut [T]) -> bool {
        let (place, bytes) = (words.as_mut_ptr().expose_provenance(), size_of_val(words));
        // SAFETY: int MPI_Bcast(void *, int, MPI_Datatype, int, MPI_Comm); the bytes are the slice's, and of a type
        // that may have any.
        unsafe { bcast(place, bytes, abi::get().byte, 0, self.0) }
    }

    /// The words of all ranks, which come here with as many, in the order of the ranks at rank 0, whose `all` has room
    /// for them; the others' has none. False: it has failed.
    pub fn gather(self, words: &[u64], all: &mut [u64]) -> bool {
        let (send, receive) = (words.as_ptr().expose_provenance(), all.as_mut_ptr().expose_provenance());
        let (bytes, byte) = (size_of_val(words), abi::get().byte);
        // SAFETY: int MPI_Gather(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm); only rank
        // 0 receives, where `all` has as many bytes for each rank.
        unsafe { gather(send, bytes, byte, receive, bytes, byte, 0, self.0) }
    }

    /// The least integer of all ranks, which come here together.
    pub fn min(self, here: i64) -> Option<i64> {
        self.reduce(here, abi::get().min)
    }

    /// The sum of the integers of all ranks, which come here together.
    pub fn sum(self, here: i64) -> Option<i64> {
        self.reduce(here, abi::get().sum)
    }

    fn reduce(self, here: i64, operator: usize) -> Option<i64> {
        let mut result = 0i64;
        let (send, receive) = ((&raw const here).expose_provenance(), (&raw mut result).expose_provenance());
        // SAFETY: int MPI_Allreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm); both hold one 64-bit
        // integer.
        unsafe { allreduce(send, receive, 1, abi::get().int64, operator, self.0) }.then_some(result)
    }

    /// The sum of the integers of the ranks before this one; what the first rank gets is not defined.
    pub fn sum_before(self, here: i64) -> i64 {
        let mut result = 0i64;
        let (send, receive) = ((&raw const here).expose_provenance(), (&raw mut result).expose_provenance());
        let abi = abi::get();
        // SAFETY: int MPI_Exscan(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm); both hold one 64-bit
        // integer.
        unsafe { exscan(send, receive, 1, abi.int64, abi.sum, self.0) };
        result
    }

    /// Sends words. Up to 1 KiB are buffered by the libraries at their usual settings: then the call returns also if
    /// the other never receives them.
    pub fn send(self, words: &[u64], to: usize, tag: usize) {
        let (place, bytes) = (words.as_ptr().expose_provenance(), size_of_val(words));
        // SAFETY: int MPI_Send(const void *, int, MPI_Datatype, int, int, MPI_Comm); the words live until the call
        // returns.
        unsafe { send(place, bytes, abi::get().byte, to, tag, self.0) };
    }

    /// Begins to receive as many words. `None`: it has failed.
    pub fn receive(self, words: &mut [u64], from: usize, tag: usize) -> Option<Receive<'_>> {
        let (place, bytes) = (words.as_mut_ptr().expose_provenance(), size_of_val(words));
        let byte = abi::get().byte;
        // SAFETY: int MPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *); the words are borrowed
        // until the request is complete, which `Receive` sees to.
        let request = word(|request| unsafe { irecv(place, bytes, byte, from, tag, self.0, request) })?;
        Some(Receive { request, under_way: true, words: PhantomData })
    }
}

/// A receive under way. Dropped before its message has come it is cancelled and waited for: then the words are not
/// touched any more. A message that has come meanwhile is not used.
pub struct Receive<'w> {
    request: usize,
    under_way: bool,
    words: PhantomData<&'w mut [u64]>,
}

impl Receive<'_> {
    /// Whether the message is there. `None`: it has failed.
    pub fn arrived(&mut self) -> Option<bool> {
        let request = (&raw mut self.request).expose_provenance();
        let ignore = abi::get().status_ignore;
        // SAFETY: int MPI_Test(MPI_Request *, int *, MPI_Status *); the request is this one's.
        let arrived = int(|flag| unsafe { test(request, flag, ignore) }).map(|flag| flag != 0);
        self.under_way = arrived == Some(false);
        arrived
    }
}

impl Drop for Receive<'_> {
    fn drop(&mut self) {
        if self.under_way {
            let request = (&raw mut self.request).expose_provenance();
            // SAFETY: int MPI_Cancel(MPI_Request *), of a request that is not complete.
            unsafe { cancel(request) };
            // SAFETY: int MPI_Wait(MPI_Request *, MPI_Status *). MPI lets a receive that is cancelled complete without
            // the other.
            unsafe { wait(request, abi::get().status_ignore) };
        }
    }
}
