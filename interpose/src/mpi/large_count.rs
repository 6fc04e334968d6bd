//! Functions with large counts (`MPI_X_c`) over a library that has only the plain ones.
//!
//! A program that looks its functions up at run time (mpi4py) takes our symbol as proof that the function exists. So it
//! has to: the arguments are narrowed to those of the plain function, and where a count does not fit the call returns
//! an error as the library's own would.

use std::ffi::c_int;

use crate::base::program;
use crate::mpi::{Comm, abi};

/// The arrays that stand in for the program's until the call has returned, or its request is complete.
#[derive(Default)]
pub struct Narrowed(Vec<Vec<c_int>>);

impl Narrowed {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Turns the arguments of `MPI_X_c` into those of `MPI_X` (`plain`), by the names that the standard gives them.
    /// False: a count or displacement does not fit into an int, or there is no memory. `arguments` are those of a call
    /// of the function whose parameters have these names.
    pub fn narrow(&mut self, plain: &str, names: &[&str], arguments: &mut [usize]) -> bool {
        let argument = |name: &str| names.iter().position(|other| *other == name).map(|index| arguments[index]);
        let abi = abi::get();
        let in_place = argument("sendbuf") == Some(abi.in_place);
        let arrays = names.iter().any(|name| is_array(name));
        let comm = argument("comm").filter(|_| arrays).map(Comm::of_handle);
        let ranks = comm.map(|comm| ranks(comm, plain.contains("eighbor_")));
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
                    // Arrays of a rooted function count at the root only, those of the send side not under
                    // MPI_IN_PLACE; where they do not count they may be anything.
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
                    // A significant array has an element for each peer.
                    let Some(narrow) = narrow_array(*argument, length) else { return false };
                    if self.0.try_reserve(1).is_err() {
                        return false;
                    }
                    *argument = narrow.as_ptr().expose_provenance();
                    self.0.push(narrow);
                }
                _ => {}
            }
        }
        true
    }
}

/// The result of a call whose count does not fit: the error goes the way of all errors on its communicator.
pub fn refuse(names: &[&str], arguments: &[usize]) -> c_int {
    let error = abi::get().err_count;
    if let Some(index) = names.iter().position(|name| *name == "comm") {
        Comm::of_handle(arguments[index]).raise(error);
    }
    error
}

fn is_array(name: &str) -> bool {
    matches!(name, "sendcounts" | "recvcounts" | "displs" | "sdispls" | "rdispls")
}

struct Ranks {
    own: i32,
    group: usize,
    /// Ranks that blocks come from: all, those of the remote group, or the neighbours.
    sources: usize,
    /// Ranks that blocks go to.
    destinations: usize,
}

fn ranks(comm: Comm, neighbours: bool) -> Option<Ranks> {
    let group = comm.size()? as usize;
    let (sources, destinations) = match (neighbours, comm.is_inter()?) {
        (true, _) => {
            let [sources, destinations] = comm.neighbours().unwrap_or_default();
            (sources.len(), destinations.len())
        }
        (false, false) => (group, group),
        (false, true) => {
            let remote = comm.remote_size()? as usize;
            (remote, remote)
        }
    };
    Some(Ranks { own: comm.rank()? as i32, group, sources, destinations })
}

/// The values of 64 bits (MPI_Count and MPI_Aint in all three interfaces) of an array as ints; `None` where one does
/// not fit, or there is no memory.
fn narrow_array(array: usize, length: usize) -> Option<Vec<c_int>> {
    let mut narrow = Vec::new();
    narrow.try_reserve_exact(length).ok()?;
    for index in 0..length {
        narrow.push(program::element::<i64>(array, index).try_into().ok()?);
    }
    Some(narrow)
}
