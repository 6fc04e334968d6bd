//! Are all ranks traced? Told without a message, since a rank without the tracer would never answer one.
//!
//! `LD_PRELOAD` may have reached only some of the ranks: other hosts, other binaries of a job, a statically linked part.
//! Then every collective call of the tracer's own would hang the program. So each traced rank puts a marker into a folder
//! before it enters `MPI_Init`, where the library makes the ranks wait for each other, and counts them afterwards. The
//! first one that has counted (or waited in vain) settles it for all of its node with a symbolic link, which is made whole
//! or not at all.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to wait for the markers of ranks that a launcher did not make wait for each other in `MPI_Init`.
const PATIENCE: Duration = Duration::from_secs(3);

/// The markers of this process.
pub struct Presence {
    /// The same for all ranks of the job on this node.
    pub job: Job,
    markers: Vec<PathBuf>,
    settlements: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

/// What the launcher tells of the job.
pub struct Job {
    /// A hash of the job's name.
    pub key: u64,
    /// Ranks on this node, where the launcher tells.
    pub local_ranks: Option<u32>,
    /// Whether the launcher hands its environment to the ranks of all hosts alike.
    pub uniform: bool,
}

impl Job {
    /// Reads the launcher's environment.
    pub fn read() -> Job {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let number = |name: &str| variable(name).and_then(|value| value.parse().ok());
        let local_ranks =
            ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE", "PALS_LOCAL_SIZE"]
                .iter()
                .find_map(|name| number(name));
        let slurm = variable("SLURM_STEP_ID").and_then(|step| Some(format!("{}.{step}", variable("SLURM_JOB_ID")?)));
        // PMIx first: a launcher within a Slurm job sees the variables of the batch step.
        let (name, uniform) = match (variable("PMIX_NAMESPACE"), slurm) {
            (Some(namespace), slurm) => (namespace, slurm.is_some()),
            (None, Some(step)) => (step, true),
            // Hydra passes its environment on. Its ranks share no name, but on each node they have one proxy above them.
            (None, None) => (launcher_above(), true),
        };
        // FNV-1a.
        let key = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Job { key, local_ranks, uniform }
    }
}

impl Presence {
    /// Leaves this process' marker in the first of the folders that takes one, before `MPI_Init` is entered.
    pub fn announce(job: Job, folders: &[PathBuf]) -> Presence {
        let mut presence = Presence { job, markers: Vec::new(), settlements: Vec::new(), folders: folders.to_vec() };
        folders.iter().any(|folder| presence.mark(folder));
        presence
    }

    /// Whether all ranks of the program are traced, as far as this can be known: asked after `MPI_Init`.
    ///
    /// `shared` is a folder that other hosts may see too, looked at only where the launcher is not known to treat all
    /// hosts alike.
    pub fn all_traced(&mut self, world_size: u32, shared: &Path) -> bool {
        if world_size == 1 {
            return true;
        }
        if self.markers.is_empty() {
            // No folder takes a file, on this node and so for all its ranks: there is nothing to count. The launcher is
            // trusted.
            return true;
        }
        let local = self.job.local_ranks.unwrap_or(world_size).min(world_size);
        let folders = self.folders.clone();
        if !self.settled(&folders, local) {
            return false;
        }
        if local == world_size || self.job.uniform || self.count(&folders) >= world_size as usize {
            return true;
        }
        // Each rank of each host leaves one there: this is Open MPI without a batch system, so hosts are few.
        self.mark(shared) && self.settled(&[shared.to_owned()], world_size)
    }

    /// Removes this process' markers: who counts them has done so.
    pub fn withdraw_markers(&mut self) {
        for marker in self.markers.drain(..) {
            let _ = std::fs::remove_file(&marker);
        }
    }

    /// Removes what was settled, when no rank can ask any more.
    pub fn withdraw_settlements(&self) {
        for settlement in &self.settlements {
            let _ = std::fs::remove_file(settlement);
        }
    }

    fn mark(&mut self, folder: &Path) -> bool {
        let marker = folder.join(format!("{}{}.present", self.prefix(), std::process::id()));
        let made = std::fs::File::create(&marker).is_ok();
        if made {
            self.markers.push(marker);
        }
        made
    }

    /// Whether `expected` markers were there in time, the same answer for all who ask in these folders.
    fn settled(&mut self, folders: &[PathBuf], expected: u32) -> bool {
        let Some(folder) = self.markers.last().and_then(|marker| marker.parent()) else {
            return false;
        };
        let settlement = folder.join(format!("{}settled", self.prefix()));
        self.settlements.push(settlement.clone());
        let started = Instant::now();
        loop {
            let answer = if self.count(folders) >= expected as usize {
                "all"
            } else if started.elapsed() > PATIENCE {
                "some"
            } else {
                ""
            };
            if !answer.is_empty() && symlink(answer, &settlement).is_ok() {
                return answer == "all";
            }
            if let Ok(settled) = std::fs::read_link(&settlement) {
                return settled == Path::new("all");
            }
            if started.elapsed() > 2 * PATIENCE {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn count(&self, folders: &[PathBuf]) -> usize {
        let prefix = self.prefix();
        let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
        let names = entries.map(|entry| entry.file_name());
        // A folder may stand in the list twice.
        let markers: std::collections::HashSet<_> = names
            .filter(|name| {
                let name = name.to_string_lossy();
                name.starts_with(&prefix) && name.ends_with(".present")
            })
            .collect();
        markers.len()
    }

    fn prefix(&self) -> String {
        // SAFETY: has no preconditions.
        let uid = unsafe { libc::getuid() };
        format!("{}{:016x}-", mpitrace_platform::node_files::prefix(uid), self.job.key)
    }
}

/// The launcher's number and when it started, which no other process of this node ever shares.
fn launcher_above() -> String {
    let found = launcher();
    let started = process_status(found).map_or(0, |(_, _, started)| started);
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{boot}{found}.{started}")
}

/// The nearest process above this one that is a launcher's proxy on this node, else the parent.
pub fn launcher() -> u32 {
    // SAFETY: has no preconditions.
    let parent = unsafe { libc::getppid() } as u32;
    let mut process = parent;
    while process > 1 {
        let Some((name, above, _)) = process_status(process) else {
            break;
        };
        if ["hydra_", "pmi_proxy", "orted", "prted", "slurmstepd", "mpirun", "mpiexec", "palsd"]
            .iter()
            .any(|launcher| name.starts_with(launcher))
        {
            break;
        }
        process = above;
    }
    if process > 1 { process } else { parent }
}

/// Name, parent and start time (in clock ticks since boot) of a process.
fn process_status(process: u32) -> Option<(String, u32, u64)> {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name stands in parentheses, and may hold any character.
    let (start, end) = (status.find('(')?, status.rfind(')')?);
    let mut fields = status.get(end + 2..)?.split(' ');
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some((status.get(start + 1..end)?.to_owned(), parent, started))
}
