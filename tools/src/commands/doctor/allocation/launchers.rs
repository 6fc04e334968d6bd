//! The launchers to try, with the options that place two ranks on two nodes.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::batch_system::{BatchJob, System};
use crate::launcher::{self, Flavour};
use crate::mpi::Family;

/// Names of launchers that belong to MPI libraries, where they lie in the library's own folder or on the PATH.
const NAMES: [&str; 7] =
    ["mpiexec", "mpirun", "mpiexec.hydra", "mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich"];

/// The command lines of the batch system's launcher, if there is one, and of the library's.
pub fn all(job: Option<&BatchJob>, library: &Path, family: Family) -> Vec<Vec<OsString>> {
    let nodes = job.and_then(|job| job.nodes).unwrap_or(2).min(2);
    let of_system = job.and_then(|job| of_system(job.system, nodes));
    of_system.into_iter().chain(of_library(library, family, nodes)).collect()
}

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn of_system(system: System, nodes: usize) -> Option<Vec<OsString>> {
    let ranks_per_node = 2 / nodes;
    let line = match system {
        System::Slurm => {
            // Within a step its processors are taken.
            let overlap = if env::var_os("SLURM_STEP_ID").is_some() { " --overlap" } else { "" };
            format!("srun -N{nodes} -n2 --ntasks-per-node={ranks_per_node}{overlap}")
        }
        System::Flux => format!("flux run -N{nodes} -n2"),
        System::Lsf => format!("jsrun -n2 -r{ranks_per_node}"),
        System::Pbs | System::Oar | System::GridEngine => return None,
    };
    let words = words(&line);
    on_path(&words[0]).map(|_| words)
}

/// The library's launcher, and of its family only.
fn of_library(library: &Path, family: Family, nodes: usize) -> Option<Vec<OsString>> {
    let wanted = if family == Family::OpenMpi { Flavour::OpenMpi } else { Flavour::Hydra };
    let beside = library.parent().and_then(Path::parent).map(|prefix| prefix.join("bin"));
    let beside = beside.iter().flat_map(|folder| NAMES.iter().map(|name| folder.join(name)));
    let found = beside.filter(|path| path.is_file()).chain(NAMES.iter().filter_map(|name| on_path(name.as_ref())));
    let is_wanted = |path: &PathBuf| launcher::ask(path.as_os_str()).is_ok_and(|flavour| flavour == Some(wanted));
    let launcher = found.into_iter().find(is_wanted)?;
    let ranks_per_node = 2 / nodes;
    let mut line: Vec<OsString> = vec![launcher.into_os_string()];
    match wanted {
        Flavour::OpenMpi => {
            // SAFETY: geteuid has no preconditions and cannot fail.
            if unsafe { libc::geteuid() } == 0 {
                line.push("--allow-run-as-root".into());
            }
            line.extend(words(&format!("--map-by ppr:{ranks_per_node}:node -n 2")));
        }
        _ => line.extend(words(&format!("-ppn {ranks_per_node} -n 2"))),
    }
    Some(line)
}

fn on_path(program: &OsStr) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(program)).find(|path| path.is_file())
}
