//! Functions with large counts (`MPI_X_c`) over a library that has only the plain ones.
//!
//! A program that looks its functions up at run time (mpi4py) takes our symbol as proof that the function exists. So it has
//! to: the arguments are narrowed to those of the plain function, and where a count does not fit the call returns an error
//! as the library's own would.

use std::ffi::c_int;

use crate::boundary::{abi, mpi};

/// The arrays that stand in for the program's until the call has returned, or its request is complete.
#[derive(Default)]
pub struct Narrowed(Vec<Vec<c_int>>);

impl Narrowed {
    /// Whether there is nothing to be kept.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Turns the arguments of `MPI_X_c` into those of `MPI_X` (`plain`), by the names that the standard gives them. False: a count or
    /// displacement does not fit into an int.
    ///
    /// # Safety
    /// `arguments` are those of a call of the function whose parameters have these names.
    pub unsafe fn narrow(&mut self, plain: &str, names: &[&str], arguments: &mut [usize]) -> bool {
        let argument = |name: &str| names.iter().position(|other| *other == name).map(|index| arguments[index]);
        let abi = abi::get();
        let in_place = argument("sendbuf") == Some(abi.in_place);
        let arrays = names.iter().any(|name| is_array(name));
        // SAFETY: the communicator is as good as the program's argument; the library judges it.
        let ranks = argument("comm").filter(|_| arrays).map(|comm| unsafe { ranks(comm, plain.contains("eighbor_")) });
        let root = argument("root").map(|root| root as i32);
        for (name, argument) in names.iter().zip(arguments) {
            match *name {
                "count" | "sendcount" | "recvcount" | "origin_count" | "target_count" | "result_count"
                | "disp_unit"
                    if i32::try_from(*argument as i64).is_err() =>
                {
                    return false;
                }
                name if is_array(name) => {
                    let Some(Some(ranks)) = &ranks else { continue };
                    // Arrays of a rooted function count at the root only, those of the send side not under MPI_IN_PLACE;
                    // where they do not count they may be anything.
                    let at_root = root.is_none_or(|root| root == ranks.own || root == abi.root);
                    if !at_root || *argument == 0 || in_place && name.starts_with('s') {
                        continue;
                    }
                    let length = match name {
                        // MPI_Reduce_scatter has a count for each rank of the own group.
                        _ if names.contains(&"op") => ranks.group,
                        "sendcounts" | "sdispls" => ranks.destinations,
                        // MPI_Scatterv calls the displacements of what the root sends `displs`.
                        _ => ranks.sources,
                    };
                    // SAFETY: a significant array has an element for each peer.
                    let Some(narrow) = (unsafe { narrow_array(*argument, length) }) else {
                        return false;
                    };
                    *argument = narrow.as_ptr().expose_provenance();
                    self.0.push(narrow);
                }
                _ => {}
            }
        }
        true
    }
}

/// What a call returns whose count does not fit: the error goes the way of all errors on its communicator.
///
/// # Safety
/// `arguments` are those of a call of the function whose parameters have these names.
pub unsafe fn refuse(names: &[&str], arguments: &[usize]) -> c_int {
    let error = abi::get().err_count;
    if let Some(index) = names.iter().position(|name| *name == "comm") {
        // SAFETY: the communicator is as good as the program's argument.
        unsafe { mpi::comm_call_errhandler(arguments[index], error as usize) };
    }
    error
}

fn is_array(name: &str) -> bool {
    matches!(name, "sendcounts" | "recvcounts" | "displs" | "sdispls" | "rdispls")
}

struct Ranks {
    own: i32,
    /// Ranks of the own group.
    group: usize,
    /// Ranks that blocks come from: all, those of the remote group, or the neighbours.
    sources: usize,
    /// Ranks that blocks go to.
    destinations: usize,
}

/// # Safety
/// `comm` may be asked about.
unsafe fn ranks(comm: usize, neighbours: bool) -> Option<Ranks> {
    // SAFETY: the caller's promise.
    let word = |function: unsafe fn(usize, usize) -> bool| mpi::int(|place| unsafe { function(comm, place) });
    let group = usize::try_from(word(mpi::comm_size)?).ok()?;
    let (sources, destinations) = match (neighbours, word(mpi::comm_test_inter)?) {
        (true, _) => {
            // SAFETY: as above.
            let (sources, destinations) = unsafe { mpi::neighbours(comm) };
            (sources as usize, destinations as usize)
        }
        (false, 0) => (group, group),
        (false, _) => {
            let remote = usize::try_from(word(mpi::comm_remote_size)?).ok()?;
            (remote, remote)
        }
    };
    Some(Ranks { own: word(mpi::comm_rank)?, group, sources, destinations })
}

/// # Safety
/// The array holds `length` values of 64 bits: MPI_Count and MPI_Aint in all three interfaces.
unsafe fn narrow_array(array: usize, length: usize) -> Option<Vec<c_int>> {
    let array = std::ptr::with_exposed_provenance::<i64>(array);
    // SAFETY: the caller's promise.
    (0..length).map(|index| unsafe { array.add(index).read() }.try_into().ok()).collect()
}
