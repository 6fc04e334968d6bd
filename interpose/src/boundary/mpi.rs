//! The few MPI functions that the tracer itself calls, at Init and Finalize and when it meets something new. Never on the
//! way of a call.

use std::ffi::c_int;

use crate::boundary::abi;
use crate::boundary::symbol::Symbol;

macro_rules! functions {
    ($($(#[$doc:meta])* fn $name:ident = $symbol:literal ( $($argument:ident),* );)*) => { $(
        $(#[$doc])*
        ///
        /// False where the library lacks the function or reports an error.
        ///
        /// # Safety
        /// The arguments are what the MPI function wants, addresses as numbers.
        #[allow(clippy::too_many_arguments, reason = "as many as the MPI function has")]
        pub unsafe fn $name($($argument: usize),*) -> bool {
            static SYMBOL: Symbol = Symbol::new(concat!($symbol, "\0"));
            let Some(address) = SYMBOL.get() else { return false };
            // SAFETY: every MPI function takes words and returns int; the caller vouches for the words.
            unsafe {
                let function: unsafe extern "C-unwind" fn($($argument: usize),*) -> c_int = std::mem::transmute(address);
                function($($argument),*) == 0
            }
        }
    )* };
}

pub(crate) use functions;

functions! {
    /// The rank in a communicator.
    fn comm_rank = "PMPI_Comm_rank"(comm, rank);
    /// The size of a communicator's (local) group.
    fn comm_size = "PMPI_Comm_size"(comm, size);
    /// The size of an intercommunicator's remote group.
    fn comm_remote_size = "PMPI_Comm_remote_size"(comm, size);
    /// Whether it is an intercommunicator.
    fn comm_test_inter = "PMPI_Comm_test_inter"(comm, flag);
    /// The (local) group.
    fn comm_group = "PMPI_Comm_group"(comm, group);
    /// The remote group.
    fn comm_remote_group = "PMPI_Comm_remote_group"(comm, group);
    /// The ranks of a process set.
    fn group_from_session_pset = "PMPI_Group_from_session_pset"(session, name, group);
    /// This process' rank in a group.
    fn group_rank = "PMPI_Group_rank"(group, rank);
    /// The size of a group.
    fn group_size = "PMPI_Group_size"(group, size);
    /// The kind of topology.
    fn topo_test = "PMPI_Topo_test"(comm, kind);
    /// The dimensions of a Cartesian topology.
    fn cartdim_get = "PMPI_Cartdim_get"(comm, dimensions);
    /// The neighbours of a rank in a graph.
    fn graph_neighbors_count = "PMPI_Graph_neighbors_count"(comm, rank, neighbors);
    /// The neighbours in a distributed graph.
    fn dist_graph_neighbors_count = "PMPI_Dist_graph_neighbors_count"(comm, sources, destinations, weighted);
    /// Duplicates.
    fn comm_dup = "PMPI_Comm_dup"(comm, new);
    /// Splits by colour.
    fn comm_split = "PMPI_Comm_split"(comm, color, key, new);
    /// Sends.
    fn send = "PMPI_Send"(buffer, count, datatype, dest, tag, comm);
    /// Begins to receive.
    fn irecv = "PMPI_Irecv"(buffer, count, datatype, source, tag, comm, request);
    /// Whether a request is complete.
    fn test = "PMPI_Test"(request, flag, status);
    /// Cancels a request.
    fn cancel = "PMPI_Cancel"(request);
    /// Waits for a request.
    fn wait = "PMPI_Wait"(request, status);
    /// The class of an error code.
    fn error_class = "PMPI_Error_class"(code, class);
    /// Splits by what ranks share.
    fn comm_split_type = "PMPI_Comm_split_type"(comm, kind, key, info, new);
    /// Frees.
    fn comm_free = "PMPI_Comm_free"(comm);
    /// Sets what happens on an error.
    fn comm_set_errhandler = "PMPI_Comm_set_errhandler"(comm, handler);
    /// Raises an error on a communicator.
    fn comm_call_errhandler = "PMPI_Comm_call_errhandler"(comm, code);
    /// Translates ranks between groups.
    fn group_translate_ranks = "PMPI_Group_translate_ranks"(group, n, ranks, other, others);
    /// Frees a group.
    fn group_free = "PMPI_Group_free"(group);
    /// The bytes of a data type's elements.
    fn type_size = "PMPI_Type_size"(datatype, size);
    /// The bytes of a data type's elements, also beyond what an int holds.
    fn type_size_x = "PMPI_Type_size_x"(datatype, size);
    /// Elements in the message of a status.
    fn get_count = "PMPI_Get_count"(status, datatype, count);
    /// Elements in the message of a status, also beyond what an int holds.
    fn get_elements_x = "PMPI_Get_elements_x"(status, datatype, count);
    /// Whether a status is of a call that was cancelled.
    fn test_cancelled = "PMPI_Test_cancelled"(status, flag);
    /// The name of a data type.
    fn type_get_name = "PMPI_Type_get_name"(datatype, name, length);
    /// What the library calls itself.
    fn get_library_version = "PMPI_Get_library_version"(text, length);
    /// The thread level in force.
    fn query_thread = "PMPI_Query_thread"(level);
    /// Broadcast.
    fn bcast = "PMPI_Bcast"(buffer, count, datatype, root, comm);
    /// Reduction to all.
    fn allreduce = "PMPI_Allreduce"(send, receive, count, datatype, op, comm);
    /// Exclusive prefix reduction.
    fn exscan = "PMPI_Exscan"(send, receive, count, datatype, op, comm);
}

/// Calls `function` with the address of an int; the int, if that went well.
pub fn int(function: impl FnOnce(usize) -> bool) -> Option<c_int> {
    let mut value: c_int = 0;
    function((&raw mut value).expose_provenance()).then_some(value)
}

/// Calls `function` with the address of a handle; the handle, if that went well.
pub fn handle(function: impl FnOnce(usize) -> bool) -> Option<usize> {
    word(function).map(|value| abi::get().handle(value))
}

/// Calls `function` with the address of a word; the word, if that went well.
pub fn word(function: impl FnOnce(usize) -> bool) -> Option<usize> {
    // Zeroed, so that a 4-byte handle reads back as its value (little-endian).
    let mut value: usize = 0;
    function((&raw mut value).expose_provenance()).then_some(value)
}

/// From how many neighbours this rank receives and to how many it sends in the topology of a communicator; none where it has
/// no topology.
///
/// # Safety
/// The handle is a communicator.
pub unsafe fn neighbours(comm: usize) -> (u32, u32) {
    let find = || -> Option<(c_int, c_int)> {
        // SAFETY: the caller's promise, for all calls here.
        let kind = int(|kind| unsafe { topo_test(comm, kind) })?;
        let [cartesian, graph, distributed] = abi::get().topologies;
        if kind == cartesian {
            // SAFETY: as above.
            let dimensions = int(|dimensions| unsafe { cartdim_get(comm, dimensions) })?;
            return Some((2 * dimensions, 2 * dimensions));
        }
        if kind == graph {
            // SAFETY: as above.
            let rank = int(|rank| unsafe { comm_rank(comm, rank) })?;
            // SAFETY: as above.
            let neighbours = int(|count| unsafe { graph_neighbors_count(comm, rank as usize, count) })?;
            return Some((neighbours, neighbours));
        }
        if kind == distributed {
            let (mut destinations, mut weighted): (c_int, c_int) = (0, 0);
            let (to, flag) = ((&raw mut destinations).expose_provenance(), (&raw mut weighted).expose_provenance());
            // SAFETY: as above; both outlive the call.
            let sources = int(|from| unsafe { dist_graph_neighbors_count(comm, from, to, flag) })?;
            return Some((sources, destinations));
        }
        None
    };
    let (sources, destinations) = find().unwrap_or((0, 0));
    (sources.max(0) as u32, destinations.max(0) as u32)
}

/// The bytes of a data type's elements. `None` where they do not fit.
///
/// # Safety
/// The handle is a data type.
pub unsafe fn size_of_type(datatype: usize) -> Option<u64> {
    let mut large: i64 = -1;
    // SAFETY: int MPI_Type_size_x(MPI_Datatype, MPI_Count *), MPI_Count being 64 bits in all three interfaces.
    if unsafe { type_size_x(datatype, (&raw mut large).expose_provenance()) } && large >= 0 {
        return Some(large as u64);
    }
    // SAFETY: int MPI_Type_size(MPI_Datatype, int *).
    let size = int(|size| unsafe { type_size(datatype, size) })?;
    u64::try_from(size).ok()
}

/// The name that MPI has for a data type.
///
/// # Safety
/// The handle is a data type.
pub unsafe fn name_of_type(datatype: usize) -> Option<String> {
    // MPI_MAX_OBJECT_NAME is 64 in Open MPI, 128 in the others.
    let mut name = [0u8; 512];
    // SAFETY: int MPI_Type_get_name(MPI_Datatype, char *, int *); the buffer holds the longest name.
    let length = int(|length| unsafe { type_get_name(datatype, name.as_mut_ptr().expose_provenance(), length) })?;
    let name = name.get(..usize::try_from(length).ok()?)?;
    std::str::from_utf8(name).ok().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// What the library calls itself, the first line of it.
pub fn library_version() -> Option<String> {
    // MPI_MAX_LIBRARY_VERSION_STRING is 8192 at most (MPICH and the standard ABI).
    let mut text = vec![0u8; 16384];
    // SAFETY: int MPI_Get_library_version(char *, int *); the buffer holds the longest text.
    let length = int(|length| unsafe { get_library_version(text.as_mut_ptr().expose_provenance(), length) })?;
    text.truncate(usize::try_from(length).ok()?);
    let text = String::from_utf8_lossy(&text).into_owned();
    Some(text.trim_end_matches(['\0', '\n']).to_owned())
}
