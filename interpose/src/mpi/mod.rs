//! The MPI functions that the tracer itself calls: in Init and Finalize, when it meets a handle that it does not know,
//! when it synchronises clocks, for counted messages, and for large counts that the library lacks. A recorded
//! collective that the thread has called lately needs none of them.
//!
//! The functions in here can be called from safe code: they pass addresses of their own only, which outlive the call,
//! and handles as the program or the library has given them, by [`Comm`] and [`Group`]. The library checks a handle as
//! it does where the program passes it.

use std::ffi::{CStr, c_int};
use std::ops::Range;
use std::sync::OnceLock;

use crate::base::program;
use crate::base::symbol::Symbol;

pub mod abi;
pub mod collectives;
mod comm;
pub mod constructor;
pub mod large_count;
pub mod node_meeting;
pub mod world;

pub use comm::Comm;

macro_rules! functions {
    ($(fn $name:ident = $symbol:literal ( $($argument:ident),* $(,)? );)*) => { $(
        /// False where the library lacks the function or reports an error.
        ///
        /// # Safety
        /// The arguments are what the MPI function wants, addresses as numbers.
        #[allow(clippy::too_many_arguments, reason = "as many as the MPI function has")]
        unsafe fn $name($($argument: usize),*) -> bool {
            static SYMBOL: Symbol = Symbol::new();
            let Some(address) = SYMBOL.get($symbol) else { return false };
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
    fn abi_get_version = c"PMPI_Abi_get_version"(major, minor);
    fn comm_rank = c"PMPI_Comm_rank"(comm, rank);
    fn comm_size = c"PMPI_Comm_size"(comm, size);
    fn comm_remote_size = c"PMPI_Comm_remote_size"(comm, size);
    fn comm_test_inter = c"PMPI_Comm_test_inter"(comm, flag);
    fn comm_group = c"PMPI_Comm_group"(comm, group);
    fn comm_remote_group = c"PMPI_Comm_remote_group"(comm, group);
    fn group_from_session_pset = c"PMPI_Group_from_session_pset"(session, name, group);
    fn group_rank = c"PMPI_Group_rank"(group, rank);
    fn group_size = c"PMPI_Group_size"(group, size);
    fn topo_test = c"PMPI_Topo_test"(comm, kind);
    fn cartdim_get = c"PMPI_Cartdim_get"(comm, dimensions);
    fn cart_shift = c"PMPI_Cart_shift"(comm, dimension, displacement, source, destination);
    fn graph_neighbors_count = c"PMPI_Graph_neighbors_count"(comm, rank, neighbors);
    fn graph_neighbors = c"PMPI_Graph_neighbors"(comm, rank, most, neighbors);
    fn dist_graph_neighbors_count = c"PMPI_Dist_graph_neighbors_count"(comm, sources, destinations, weighted);
    fn dist_graph_neighbors = c"PMPI_Dist_graph_neighbors"(
        comm, most_sources, sources, source_weights, most_destinations, destinations, destination_weights
    );
    fn comm_idup = c"PMPI_Comm_idup"(comm, new, request);
    fn send = c"PMPI_Send"(buffer, count, datatype, dest, tag, comm);
    fn iprobe = c"PMPI_Iprobe"(source, tag, comm, flag, status);
    fn isend = c"PMPI_Isend"(buffer, count, datatype, dest, tag, comm, request);
    fn irecv = c"PMPI_Irecv"(buffer, count, datatype, source, tag, comm, request);
    fn ibarrier = c"PMPI_Ibarrier"(comm, request);
    fn test = c"PMPI_Test"(request, flag, status);
    fn cancel = c"PMPI_Cancel"(request);
    fn wait = c"PMPI_Wait"(request, status);
    fn error_class = c"PMPI_Error_class"(code, class);
    fn comm_split_type = c"PMPI_Comm_split_type"(comm, kind, key, info, new);
    fn comm_free = c"PMPI_Comm_free"(comm);
    fn comm_set_errhandler = c"PMPI_Comm_set_errhandler"(comm, handler);
    fn comm_revoke = c"PMPIX_Comm_revoke"(comm);
    fn comm_call_errhandler = c"PMPI_Comm_call_errhandler"(comm, code);
    fn group_translate_ranks = c"PMPI_Group_translate_ranks"(group, n, ranks, other, others);
    fn group_range_incl = c"PMPI_Group_range_incl"(group, n, ranges, new);
    fn group_free = c"PMPI_Group_free"(group);
    fn type_size = c"PMPI_Type_size"(datatype, size);
    fn type_size_x = c"PMPI_Type_size_x"(datatype, size);
    fn get_count = c"PMPI_Get_count"(status, datatype, count);
    fn get_elements_x = c"PMPI_Get_elements_x"(status, datatype, count);
    fn test_cancelled = c"PMPI_Test_cancelled"(status, flag);
    fn type_get_name = c"PMPI_Type_get_name"(datatype, name, length);
    fn get_library_version = c"PMPI_Get_library_version"(text, length);
    fn query_thread = c"PMPI_Query_thread"(level);
    fn ibcast = c"PMPI_Ibcast"(buffer, count, datatype, root, comm, request);
    fn iallreduce = c"PMPI_Iallreduce"(send, receive, count, datatype, op, comm, request);
    fn igather = c"PMPI_Igather"(send, send_count, send_type, receive, receive_count, receive_type, root, comm, request);
    fn iexscan = c"PMPI_Iexscan"(send, receive, count, datatype, op, comm, request);
}

/// Calls `function` with the address of an int; the int, if that went well.
pub fn int(function: impl FnOnce(usize) -> bool) -> Option<c_int> {
    let mut value: c_int = 0;
    function((&raw mut value).expose_provenance()).then_some(value)
}

/// Calls `function` with the address of a handle; the handle, if that went well.
fn handle(function: impl FnOnce(usize) -> bool) -> Option<usize> {
    word(function).map(|value| abi::get().handle(value))
}

/// Calls `function` with the address of a word; the word, if that went well.
pub fn word(function: impl FnOnce(usize) -> bool) -> Option<usize> {
    // Zeroed, so that a 4-byte handle reads back as its value (little-endian).
    let mut value: usize = 0;
    function((&raw mut value).expose_provenance()).then_some(value)
}

/// Calls `function` with the address of an MPI_Count, 64 bits in all three interfaces; the count, if that went well and
/// it is not negative.
fn count(function: impl FnOnce(usize) -> bool) -> Option<u64> {
    let mut value: i64 = -1;
    if !function((&raw mut value).expose_provenance()) {
        return None;
    }
    u64::try_from(value).ok()
}

/// A group of the tracer's own, given back when it is dropped.
#[derive(Debug)]
pub struct Group(usize);

impl Group {
    /// The ranks of the world, as a session of the program has them.
    pub fn of_session(session: usize) -> Option<Group> {
        const WORLD: &CStr = c"mpi://WORLD";
        let name = WORLD.as_ptr().expose_provenance();
        // SAFETY: int MPI_Group_from_session_pset(MPI_Session, const char *, MPI_Group *); the name is a C string.
        handle(|group| unsafe { group_from_session_pset(session, name, group) }).map(Group)
    }

    /// The world ranks of a group of the program's, of other worlds beyond all; `None`: it has more than `MOST`, or it
    /// is no group.
    pub fn of_program<const MOST: usize>(group: usize) -> Option<impl Iterator<Item = u32>> {
        // Kept, since the program's calls may come often.
        static WORLD: OnceLock<Option<(Group, usize)>> = OnceLock::new();
        let find = || Some((Comm::world().group()?, Group::none()?));
        let (world, none) = world::is_inside().then(|| WORLD.get_or_init(find).as_ref())??;
        // SAFETY: int MPI_Group_size(MPI_Group, int *).
        let size = (group != *none).then(|| int(|place| unsafe { group_size(group, place) }))??;
        let size = usize::try_from(size).ok().filter(|size| *size <= MOST)?;
        let ranks: [c_int; MOST] = std::array::from_fn(|rank| rank as c_int);
        let mut translated = [-1 as c_int; MOST];
        let (from, to) = (ranks.as_ptr().expose_provenance(), translated.as_mut_ptr().expose_provenance());
        // SAFETY: int MPI_Group_translate_ranks(MPI_Group, int, const int *, MPI_Group, int *); both arrays have at
        // least as many elements.
        let well = unsafe { group_translate_ranks(group, size, from, world.0, to) };
        well.then(|| translated.into_iter().take(size).map(|rank| rank as u32))
    }

    /// The handle of no group, which is that of one that was freed.
    fn none() -> Option<usize> {
        let mut freed = std::mem::ManuallyDrop::new(Comm::world().group()?);
        // SAFETY: int MPI_Group_free(MPI_Group *); the group is the tracer's own, and is not freed again.
        unsafe { group_free((&raw mut freed.0).expose_provenance()) }.then(|| abi::get().handle(freed.0))
    }

    pub fn rank(&self) -> Option<u32> {
        // SAFETY: int MPI_Group_rank(MPI_Group, int *).
        u32::try_from(int(|place| unsafe { group_rank(self.0, place) })?).ok()
    }

    pub fn size(&self) -> Option<u32> {
        // SAFETY: int MPI_Group_size(MPI_Group, int *).
        u32::try_from(int(|place| unsafe { group_size(self.0, place) })?).ok()
    }

    /// The ranks in `other` of some of this group's ranks, negative for those that are not in it.
    pub fn translate(&self, ranks: Range<u32>, other: &Group) -> Option<Vec<c_int>> {
        let ranks: Vec<c_int> = ranks.map(|rank| rank as c_int).collect();
        let mut translated = vec![-1 as c_int; ranks.len()];
        let (from, to) = (ranks.as_ptr().expose_provenance(), translated.as_mut_ptr().expose_provenance());
        // SAFETY: int MPI_Group_translate_ranks(MPI_Group, int, const int *, MPI_Group, int *); both arrays have as
        // many elements.
        unsafe { group_translate_ranks(self.0, ranks.len(), from, other.0, to) }.then_some(translated)
    }

    /// The group of some of this one's ranks, in the same order; at least one.
    pub fn range(&self, ranks: Range<u32>) -> Option<Group> {
        let mut range: [c_int; 3] = [ranks.start as c_int, ranks.end as c_int - 1, 1];
        let place = range.as_mut_ptr().expose_provenance();
        // SAFETY: int MPI_Group_range_incl(MPI_Group, int, int[][3], MPI_Group *); there is one range.
        handle(|new| unsafe { group_range_incl(self.0, 1, place, new) }).map(Group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A 4-byte handle lies in the word's first 4 bytes.
        // SAFETY: int MPI_Group_free(MPI_Group *); the group was made by the tracer, and no other code has its handle.
        unsafe { group_free((&raw mut self.0).expose_provenance()) };
    }
}

/// The bytes of a data type's elements. `None` where they do not fit. The handle is predefined, committed, or of a call
/// that has returned well.
pub fn size_of_type(datatype: usize) -> Option<u64> {
    // SAFETY: int MPI_Type_size_x(MPI_Datatype, MPI_Count *).
    let large = count(|size| unsafe { type_size_x(datatype, size) });
    if large.is_some() {
        return large;
    }
    // SAFETY: int MPI_Type_size(MPI_Datatype, int *).
    let size = int(|size| unsafe { type_size(datatype, size) })?;
    u64::try_from(size).ok()
}

/// The name that MPI has for a data type, of whose handle the same is true as for [`size_of_type`].
pub fn name_of_type(datatype: usize) -> Option<String> {
    // MPI_MAX_OBJECT_NAME is 64 in Open MPI, 128 in the others.
    let mut name = [0u8; 512];
    // SAFETY: int MPI_Type_get_name(MPI_Datatype, char *, int *); the buffer holds the longest name.
    let length = int(|length| unsafe { type_get_name(datatype, name.as_mut_ptr().expose_provenance(), length) })?;
    let name = name.get(..usize::try_from(length).ok()?)?;
    std::str::from_utf8(name).ok().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The bytes of the message that a receive has got, by the address of the status that the call has set; `None` where it
/// got none: cancelled, or from MPI_PROC_NULL. Also where the call was given no status.
pub fn message_bytes(status: usize) -> Option<u64> {
    let abi = abi::get();
    if status == abi.status_ignore || program::int(status + abi.status_source) == abi.proc_null {
        return None;
    }
    if is_cancelled(status) {
        return None;
    }
    let byte = abi.byte;
    // SAFETY: int MPI_Get_elements_x(const MPI_Status *, MPI_Datatype, MPI_Count *).
    let large = count(|bytes| unsafe { get_elements_x(status, byte, bytes) });
    if large.is_some() {
        return large;
    }
    // SAFETY: int MPI_Get_count(const MPI_Status *, MPI_Datatype, int *).
    let bytes = int(|bytes| unsafe { get_count(status, byte, bytes) })?;
    u64::try_from(bytes).ok()
}

/// True if a call has set the status at this address for a request that was cancelled.
pub fn is_cancelled(status: usize) -> bool {
    // SAFETY: int MPI_Test_cancelled(const MPI_Status *, int *).
    int(|flag| unsafe { test_cancelled(status, flag) }) != Some(0)
}

pub fn class_of_error(code: c_int) -> Option<c_int> {
    // SAFETY: int MPI_Error_class(int, int *), callable at any time.
    int(|class| unsafe { error_class(code as usize, class) })
}

pub fn thread_level() -> Option<c_int> {
    // SAFETY: int MPI_Query_thread(int *).
    int(|level| unsafe { query_thread(level) })
}

/// The major version of the standard's binary interface, where the library has that; its own interface answers -1.
pub fn abi_version() -> Option<c_int> {
    let mut minor: c_int = -1;
    let minor = (&raw mut minor).expose_provenance();
    // SAFETY: int MPI_Abi_get_version(int *, int *), callable at any time; both outlive the call.
    int(|major| unsafe { abi_get_version(major, minor) })
}

/// The library's own description, the first line of it.
pub fn library_version() -> Option<String> {
    // MPI_MAX_LIBRARY_VERSION_STRING is 8192 at most (MPICH and the standard ABI).
    let mut text = vec![0u8; 16384];
    // SAFETY: int MPI_Get_library_version(char *, int *); the buffer holds the longest text.
    let length = int(|length| unsafe { get_library_version(text.as_mut_ptr().expose_provenance(), length) })?;
    text.truncate(usize::try_from(length).ok()?);
    let text = String::from_utf8_lossy(&text).into_owned();
    Some(text.trim_end_matches(['\0', '\n']).to_owned())
}
