//! Communicators, as far as the tracer itself calls MPI functions on them.

use std::ffi::c_int;
use std::time::Duration;

use super::*;
use crate::base::pause::Pause;

/// A communicator: the program's, or one of the tracer's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comm(pub(super) usize);

impl Comm {
    pub fn world() -> Comm {
        Comm(abi::get().comm_world)
    }

    /// The one behind a handle that the program has passed or the library has returned.
    pub fn of_handle(handle: usize) -> Comm {
        Comm(handle)
    }

    fn ask(self, function: unsafe fn(usize, usize) -> bool) -> Option<c_int> {
        // SAFETY: the functions that are passed here take a communicator and the address of an int.
        int(|place| unsafe { function(self.0, place) })
    }

    pub fn rank(self) -> Option<u32> {
        u32::try_from(self.ask(comm_rank)?).ok()
    }

    pub fn size(self) -> Option<u32> {
        u32::try_from(self.ask(comm_size)?).ok()
    }

    /// Ranks in the remote group of an intercommunicator.
    pub fn remote_size(self) -> Option<u32> {
        u32::try_from(self.ask(comm_remote_size)?).ok()
    }

    pub fn is_inter(self) -> Option<bool> {
        Some(self.ask(comm_test_inter)? != 0)
    }

    /// The ranks that this one receives from in its topology and those that it sends to, in the order of the blocks of
    /// collectives over neighbours; MPI_PROC_NULL where there is none. `None`: it has no topology.
    pub fn neighbours(self) -> Option<[Vec<c_int>; 2]> {
        let kind = self.ask(topo_test)?;
        let [cartesian, graph, distributed] = abi::get().topologies;
        if kind == cartesian {
            let mut ranks = Vec::new();
            for dimension in 0..self.ask(cartdim_get)? as usize {
                let mut ends: [c_int; 2] = [0; 2];
                let [source, destination] = ends.each_mut().map(|end| (&raw mut *end).expose_provenance());
                // SAFETY: int MPI_Cart_shift(MPI_Comm, int, int, int *, int *), of a dimension that there is; both ints
                // outlive the call.
                if !unsafe { cart_shift(self.0, dimension, 1, source, destination) } {
                    return None;
                }
                ranks.extend(ends);
            }
            return Some([ranks.clone(), ranks]);
        }
        if kind == graph {
            let rank = self.rank()? as usize;
            // SAFETY: int MPI_Graph_neighbors_count(MPI_Comm, int, int *), on a communicator with a graph.
            let count = int(|count| unsafe { graph_neighbors_count(self.0, rank, count) })? as usize;
            let mut ranks = vec![0; count];
            // SAFETY: int MPI_Graph_neighbors(MPI_Comm, int, int, int[]); the array has room for so many.
            let found = unsafe { graph_neighbors(self.0, rank, count, ranks.as_mut_ptr().expose_provenance()) };
            return found.then(|| [ranks.clone(), ranks]);
        }
        if kind == distributed {
            let (mut destinations, mut weighted): (c_int, c_int) = (0, 0);
            let (to, flag) = ((&raw mut destinations).expose_provenance(), (&raw mut weighted).expose_provenance());
            // SAFETY: int MPI_Dist_graph_neighbors_count(MPI_Comm, int *, int *, int *); all three ints outlive the
            // call.
            let sources = int(|from| unsafe { dist_graph_neighbors_count(self.0, from, to, flag) })?;
            let counts = [sources as usize, destinations as usize];
            let (mut ranks, mut weights) = (counts.map(|count| vec![0; count]), counts.map(|count| vec![0; count]));
            let place = |array: &mut Vec<c_int>| array.as_mut_ptr().expose_provenance();
            let ([from, to], [from_weights, to_weights]) = (ranks.each_mut().map(place), weights.each_mut().map(place));
            // SAFETY: int MPI_Dist_graph_neighbors(MPI_Comm, int, int[], int[], int, int[], int[]); the arrays have
            // room for so many.
            let found =
                unsafe { dist_graph_neighbors(self.0, counts[0], from, from_weights, counts[1], to, to_weights) };
            return found.then_some(ranks);
        }
        None
    }

    pub fn group(self) -> Option<Group> {
        // SAFETY: int MPI_Comm_group(MPI_Comm, MPI_Group *); the group is ours to free.
        handle(|place| unsafe { comm_group(self.0, place) }).map(Group)
    }

    /// The remote group of an intercommunicator.
    pub fn remote_group(self) -> Option<Group> {
        // SAFETY: int MPI_Comm_remote_group(MPI_Comm, MPI_Group *); the group is ours to free.
        handle(|place| unsafe { comm_remote_group(self.0, place) }).map(Group)
    }

    /// The ranks that share memory with this one. All ranks come here.
    pub fn split_by_memory(self, key: u32) -> Option<Comm> {
        let abi = abi::get();
        let kind = abi.comm_type_shared as u32 as usize;
        // SAFETY: int MPI_Comm_split_type(MPI_Comm, int, int, MPI_Info, MPI_Comm *); MPI_INFO_NULL is an info.
        handle(|place| unsafe { comm_split_type(self.0, kind, key as usize, abi.info_null, place) }).map(Comm)
    }

    /// The requests that calls share which are complete at their start: of a barrier, of a message to no rank and of
    /// one from no rank. Two of each are under way at once, and complete when this returns. To be asked of a
    /// communicator of this rank alone. `None`: each call has a request of its own, or it has failed.
    pub fn complete_requests(self) -> [Option<usize>; 3] {
        let (comm, byte, none) = (self.0, abi::get().byte, abi::get().proc_null as usize);
        // SAFETY: int MPI_Ibarrier(MPI_Comm, MPI_Request *).
        let barrier = || word(|request| unsafe { ibarrier(comm, request) });
        // SAFETY: int MPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) of no bytes.
        let send = || word(|request| unsafe { isend(0, 0, byte, none, 0, comm, request) });
        // SAFETY: int MPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) of no bytes.
        let receive = || word(|request| unsafe { irecv(0, 0, byte, none, 0, comm, request) });
        [[barrier(), barrier()], [send(), send()], [receive(), receive()]].map(|[one, other]| {
            for mut request in [one, other].into_iter().flatten() {
                // SAFETY: int MPI_Wait(MPI_Request *, MPI_Status *), of a request that was started here.
                unsafe { wait((&raw mut request).expose_provenance(), abi::get().status_ignore) };
            }
            one.filter(|_| one == other)
        })
    }

    /// Gives one of the tracer's own back.
    pub fn free(self) {
        // A 4-byte handle lies in the word's first 4 bytes.
        let mut comm = self.0;
        // SAFETY: int MPI_Comm_free(MPI_Comm *); the handle outlives the call.
        unsafe { comm_free((&raw mut comm).expose_provenance()) };
    }

    /// Lets what is and will be called on it fail on all its ranks, where the library is fault-tolerant (ULFM).
    pub fn revoke(self) {
        // SAFETY: int MPIX_Comm_revoke(MPI_Comm).
        unsafe { comm_revoke(self.0) };
    }

    pub fn raise(self, code: c_int) {
        // SAFETY: int MPI_Comm_call_errhandler(MPI_Comm, int).
        unsafe { comm_call_errhandler(self.0, code as usize) };
    }

    /// Sends words. Up to 1 KiB are buffered by the libraries at their usual settings: then the call returns also if
    /// the other never receives them.
    pub fn send(self, words: &[u64], to: usize, tag: usize) {
        let (place, bytes) = (words.as_ptr().expose_provenance(), size_of_val(words));
        // SAFETY: int MPI_Send(const void *, int, MPI_Datatype, int, int, MPI_Comm); the words live until the call
        // returns.
        unsafe { send(place, bytes, abi::get().byte, to, tag, self.0) };
    }

    /// Lets the library work on its messages, as any call does that looks for one. For ranks that wait for something
    /// else: what they have sent may still be on its way out.
    pub fn progress(self) {
        let ignore = abi::get().status_ignore;
        // SAFETY: int MPI_Iprobe(int, int, MPI_Comm, int *, MPI_Status *). Whether there is a message does not matter.
        let _ = int(|flag| unsafe { iprobe(0, 0, self.0, flag, ignore) });
    }

    /// Starts to receive this many words. `None`: it has failed.
    pub fn receive(self, words: usize, from: usize, tag: usize) -> Option<Receive> {
        let mut words = vec![0u64; words];
        let (place, bytes) = (words.as_mut_ptr().expose_provenance(), size_of_val(words.as_slice()));
        let byte = abi::get().byte;
        // SAFETY: int MPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *); the words live until the
        // request is complete, which `Receive` sees to.
        let request = word(|request| unsafe { irecv(place, bytes, byte, from, tag, self.0, request) })?;
        Some(Receive { request, under_way: true, words, status: None })
    }

    /// Starts to receive the next message of any tag, of up to this many words: it arrives with as many as it has.
    /// `None`: it has failed.
    pub fn receive_any(self, words: usize, from: usize) -> Option<Receive> {
        let mut receive = self.receive(words, from, abi::get().any_tag as usize)?;
        receive.status = Some([0; STATUS_WORDS]);
        Some(receive)
    }
}

/// Room for a status of any family.
const STATUS_WORDS: usize = 8;

/// A receive under way. Dropped before its message has come it is cancelled and waited for: then the words are not
/// touched any more. A message that has come meanwhile is not used.
pub struct Receive {
    request: usize,
    under_way: bool,
    words: Vec<u64>,
    /// Where it is to be known how many words came.
    status: Option<[u64; STATUS_WORDS]>,
}

impl Receive {
    /// The message, if it is there: once. `None`: it has failed. The library may still write to the words then, since
    /// the error need not be of this receive: they are never given back.
    #[allow(clippy::option_option, reason = "the outer one is a failure, the inner one an answer")]
    fn arrived(&mut self) -> Option<Option<Vec<u64>>> {
        let request = (&raw mut self.request).expose_provenance();
        let status = self.status.as_mut().map(|status| status.as_mut_ptr().expose_provenance());
        let place = status.unwrap_or(abi::get().status_ignore);
        // SAFETY: int MPI_Test(MPI_Request *, int *, MPI_Status *); the request is this one's, and a status has room.
        let arrived = int(|flag| unsafe { test(request, flag, place) }).map(|flag| flag != 0);
        self.under_way = arrived == Some(false);
        if let (Some(true), Some(status)) = (arrived, status) {
            self.words.truncate(message_bytes(status).unwrap_or(0) as usize / size_of::<u64>());
        }
        match arrived {
            Some(true) => Some(Some(std::mem::take(&mut self.words))),
            Some(false) => Some(None),
            None => {
                std::mem::forget(std::mem::take(&mut self.words));
                None
            }
        }
    }

    /// The message, when it is there. `None`: it has failed, or does not come in time.
    pub fn wait(&mut self, patience: Duration, pause: &mut Pause) -> Option<Vec<u64>> {
        loop {
            match self.arrived()? {
                None if pause.pause() < patience => {}
                arrived => return arrived,
            }
        }
    }
}

impl Drop for Receive {
    fn drop(&mut self) {
        if self.under_way {
            let request = (&raw mut self.request).expose_provenance();
            // SAFETY: int MPI_Cancel(MPI_Request *), of a request that is not complete.
            unsafe { cancel(request) };
            // SAFETY: int MPI_Wait(MPI_Request *, MPI_Status *). MPI lets a receive that is cancelled complete without
            // the other.
            if !unsafe { wait(request, abi::get().status_ignore) } {
                std::mem::forget(std::mem::take(&mut self.words));
            }
        }
    }
}
