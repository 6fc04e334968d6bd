//! Processes of a job that have not left `MPI_Init`: their launcher has set their ranks in their environments. A rank
//! that has not called it has no records, so it is looked for among the processes that the same launcher has started.

use std::collections::HashSet;
use std::fs;

use super::process::{self, Process};
use super::snapshot::{INIT, RankNow, State, Wait};

/// A process that has not left `MPI_Init`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starting {
    /// The process.
    pub process: Process,
    /// Its world rank, and how many ranks the world has; `None`: not known.
    pub place: Option<(u32, u32)>,
    /// False: it has not called `MPI_Init`.
    pub is_in_init: bool,
}

/// The variables in which launchers set a rank and the size of the world, the nearest launcher first.
const VARIABLES: [[&str; 2]; 3] =
    [["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"], ["PMI_RANK", "PMI_SIZE"], ["SLURM_PROCID", "SLURM_NTASKS"]];
/// So many shells may lie between a launcher and a rank.
const MOST_SHELLS: usize = 8;

impl Starting {
    /// These processes, which are in `MPI_Init`, and those of other ranks that have not called it.
    pub fn all(in_init: &[u32]) -> Vec<Starting> {
        let new = |pid: u32, is_in_init: bool| {
            let process = Process::read(pid, &[])?;
            Some(Starting { process, place: place(pid), is_in_init })
        };
        let mut all: Vec<Starting> = in_init.iter().filter_map(|&pid| new(pid, true)).collect();
        let mut known: HashSet<u32> = all.iter().filter_map(|starting| Some(starting.place?.0)).collect();
        let launchers: HashSet<u32> = in_init.iter().filter_map(|&pid| launcher(pid)).collect();
        if launchers.is_empty() {
            return all;
        }
        let mut others: Vec<(bool, u32)> = process::all()
            .filter(|&pid| place(pid).is_some_and(|(rank, _)| !known.contains(&rank)))
            .filter(|&pid| launcher(pid).is_some_and(|launcher| launchers.contains(&launcher)))
            .map(|pid| (!has_mpi(pid), pid))
            .collect();
        // Of a rank's shell, program and children the first one that has an MPI library.
        others.sort_unstable();
        let others = others.into_iter().filter_map(|(_, pid)| new(pid, false));
        all.extend(others.filter(|other| other.place.is_some_and(|(rank, _)| known.insert(rank))));
        all
    }

    /// The ranks on this node of the job that a process belongs to, in their order: of the processes that the launcher of
    /// this process has started, or the process itself. They are known by their environments alone, traced or not.
    pub fn of_job(pid: u32) -> Vec<Starting> {
        let own = launcher(pid);
        let is_of_job = |other: u32| match own {
            Some(own) => launcher(other) == Some(own),
            None => std::iter::successors(Some(other), |&pid| process::parent(pid)).any(|ancestor| ancestor == pid),
        };
        let of_job = process::all().filter(|&other| place(other).is_some() && is_of_job(other));
        // Of a rank's shell, program and children the first one that has an MPI library.
        let mut all: Vec<(u32, bool, u32)> =
            of_job.filter_map(|pid| Some((place(pid)?.0, !has_mpi(pid), pid))).collect();
        all.sort_unstable();
        all.dedup_by_key(|(rank, ..)| *rank);
        let new = |(_, _, pid): (u32, bool, u32)| {
            Some(Starting { process: Process::read(pid, &[])?, place: place(pid), is_in_init: false })
        };
        all.into_iter().filter_map(new).collect()
    }

    /// Where its rank is, as far as a launcher has set it.
    pub fn now(&self) -> Option<RankNow> {
        let (rank, _) = self.place?;
        let process = &self.process;
        let state = match self.is_in_init {
            _ if process.is_stopped() => State::Stopped,
            true => State::Init,
            false if process.sleeps() => State::OffProcessor,
            false => State::Computing,
        };
        let wait = Wait { function: Some(INIT), communicator: None, sequence: None };
        Some(RankNow {
            function: self.is_in_init.then(|| INIT.to_owned()),
            waits: if self.is_in_init { vec![wait] } else { Vec::new() },
            is_before_init: !self.is_in_init,
            ..RankNow::new(rank, state)
        })
    }
}

/// The rank that a process has by its environment, and the size of its world. Processes of other users have none.
fn place(pid: u32) -> Option<(u32, u32)> {
    let environment = process::environment(pid)?;
    let number = |name: &str| std::str::from_utf8(process::variable(&environment, name)?).ok()?.parse().ok();
    VARIABLES.iter().find_map(|[rank, size]| Some((number(rank)?, number(size)?)))
}

/// The nearest ancestor that is not of the same rank.
fn launcher(pid: u32) -> Option<u32> {
    let (own, mut ancestor) = (place(pid)?, pid);
    for _ in 0..MOST_SHELLS {
        ancestor = process::parent(ancestor)?;
        if place(ancestor) != Some(own) {
            return Some(ancestor);
        }
    }
    None
}

fn has_mpi(pid: u32) -> bool {
    let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    String::from_utf8_lossy(&maps).lines().any(|line| line.contains("/libmpi") && !line.contains("/libmpitrace"))
}
