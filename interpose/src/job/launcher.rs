//! The launcher's facts of the job: a name that all its ranks share, and whether it spans several nodes.
//!
//! Nothing here is trusted for a decision that ranks must take alike: a variable can be there on one node and missing
//! on another. The name only finds the files of the same job; a hint only saves a wait.

use crate::base::process::Process;
use crate::base::{kernel, own_file};

pub struct Job {
    /// A hash of the job's name and of this version of the tracer.
    pub key: u64,
    pub nodes: Nodes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nodes {
    One,
    Several,
    Unknown,
}

/// The process' surroundings, so that tests can pretend others.
struct Surroundings<'s> {
    variable: &'s dyn Fn(&str) -> Option<String>,
    /// The name and the command line of the nearest launcher's process above this one, the words ended by zero bytes.
    launcher: (String, Vec<u8>),
}

impl Job {
    pub fn read() -> Job {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let command = own_file::read(format!("/proc/{}/cmdline", process())).unwrap_or_default();
        // The name of the nearest launcher's process, empty where it cannot be read.
        let name = Process::read(process()).map(|found| found.name).unwrap_or_default();
        let here = Surroundings { variable: &variable, launcher: (name, command) };
        let name = here.name().unwrap_or_else(launcher_above);
        // Another version may not understand this one's files and messages: it counts as no tracer at all.
        let name = format!("{} {name}", env!("CARGO_PKG_VERSION"));
        // FNV-1a.
        let key = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Job { key, nodes: here.nodes() }
    }
}

impl Surroundings<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name)
    }

    /// A name of the job that is the same on all its nodes, where the launcher gives one.
    ///
    /// The nearest launcher counts: below a shell that `srun` has started, the ranks of every `mpiexec` inherit the
    /// step's variables.
    fn name(&self) -> Option<String> {
        // A job that is started once more has its number again. srun gives the count to all its nodes; Open MPI's
        // launcher, whose names are of one launch each, does not pass it on by ssh.
        let restart = self.variable("SLURM_RESTART_COUNT").unwrap_or_default();
        let of_pmix = || {
            let namespace = self.variable("PMIX_NAMESPACE")?;
            Some(if namespace.starts_with("slurm.") { format!("{namespace}.{restart}") } else { namespace })
        };
        let by_hydra = ["hydra_", "pmi_proxy"].iter().any(|name| self.launcher.0.starts_with(name));
        // MPICH's hydra: all proxies of a job connect to the same port. Intel MPI's: a spawned world has a process
        // group of its own.
        let of_hydra = || {
            control_port_of(&self.launcher.1).or_else(|| {
                let group = self.variable("HYDRA_BSTRAP_PGID").unwrap_or_default();
                Some(format!("{}.{group}", self.variable("I_MPI_HYDRA_UUID")?))
            })
        };
        let of_slurm =
            || Some(format!("{}.{}.{restart}", self.variable("SLURM_JOB_ID")?, self.variable("SLURM_STEP_ID")?));
        by_hydra
            .then(of_hydra)
            .flatten()
            .or_else(of_pmix)
            .or_else(|| self.variable("FLUX_JOB_ID"))
            .or_else(|| self.variable("PALS_APID"))
            .or_else(of_slurm)
            .or_else(of_hydra)
    }

    fn nodes(&self) -> Nodes {
        let number = |name: &str| self.variable(name)?.parse::<u32>().ok();
        let first = |names: &[&str]| names.iter().find_map(|name| number(name));
        let local = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE", "PALS_LOCAL_SIZE"];
        let all = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "PALS_SIZE"];
        let one = match first(&local) {
            Some(local) => first(&all).map(|all| local == all),
            // In a direct srun these are of the step; below another launcher they are of its daemons.
            None => first(&["SLURM_STEP_NUM_NODES", "SLURM_NNODES", "FLUX_JOB_NNODES"]).map(|nodes| nodes == 1),
        };
        match one {
            Some(true) => Nodes::One,
            Some(false) => Nodes::Several,
            None => Nodes::Unknown,
        }
    }
}

/// `HOST:PORT` at which the proxies of MPICH's hydra report, and the number of the process group, from the command line
/// of a proxy.
fn control_port_of(command: &[u8]) -> Option<String> {
    let words: Vec<_> = command.split(|&byte| byte == 0).map(String::from_utf8_lossy).collect();
    let value = |option: &str| {
        let at = words.iter().position(|word| word == option)?;
        words.get(at + 1).map(|word| word.clone().into_owned())
    };
    let port = value("--control-port")?;
    Some(format!("{port} {}", value("--pgid").unwrap_or_default()))
}

/// The launcher's number and when it started, which no other process of this node ever shares.
fn launcher_above() -> String {
    let found = process();
    let started = Process::read(found).map_or(0, |found| found.started);
    format!("{:x?} {found}.{started}", kernel::boot_id())
}

/// The nearest process above this one whose name begins with one of these.
pub fn process_above(names: &[&str]) -> Option<u32> {
    nearest(|name| name.is_some_and(|name| names.iter().any(|known| name.starts_with(*known))))
}

/// The nearest process above this one that is a launcher's proxy on this node, or that cannot be read (another user's,
/// where /proc is mounted with hidepid); else the parent.
pub fn process() -> u32 {
    let launchers = ["hydra_", "pmi_proxy", "orted", "prted", "slurmstepd", "mpirun", "mpiexec", "palsd"];
    let found = nearest(|name| name.is_none_or(|name| launchers.iter().any(|known| name.starts_with(*known))));
    found.unwrap_or_else(std::os::unix::process::parent_id)
}

/// The nearest process above this one with such a name; `None`: it cannot be read, and nothing above it can be found.
fn nearest(is_wanted: impl Fn(Option<&str>) -> bool) -> Option<u32> {
    let mut process = std::os::unix::process::parent_id();
    while process > 1 {
        let found = Process::read(process);
        if is_wanted(found.as_ref().map(|found| found.name.as_str())) {
            return Some(process);
        }
        process = found?.parent;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proxies_of_one_job_have_one_name() {
        let first = b"/usr/bin/hydra_pmi_proxy\0--control-port\0head:35159\0--pgid\x000\0--proxy-id\x000\0";
        let second = b"/usr/bin/hydra_pmi_proxy\0--control-port\0head:35159\0--pgid\x000\0--proxy-id\x001\0";
        assert_eq!(control_port_of(first).as_deref(), Some("head:35159 0"));
        assert_eq!(control_port_of(first), control_port_of(second));
        assert_eq!(control_port_of(b"mpirun\0-np\x002\0"), None);
    }

    /// Name and nodes of the job under a launcher of this name that sets these variables.
    fn named(launcher: &str, variables: &[(&str, &str)]) -> (Option<String>, Nodes) {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        let here = Surroundings { variable: &variable, launcher: (launcher.to_owned(), Vec::new()) };
        (here.name(), here.nodes())
    }

    /// The variables that flux-run, PALS' mpiexec (PBS on Cray machines), jsrun (LSF, by PMIx) and srun document.
    #[test]
    fn each_launcher_s_variables_name_the_job() {
        let flux = [("FLUX_JOB_ID", "f2Xy"), ("FLUX_JOB_SIZE", "8"), ("FLUX_JOB_NNODES", "2"), ("FLUX_TASK_RANK", "3")];
        assert_eq!(named("flux-shell", &flux), (Some("f2Xy".to_owned()), Nodes::Several));
        let pals = [("PBS_JOBID", "9.pbs"), ("PALS_APID", "4f-1"), ("PALS_LOCAL_SIZE", "4"), ("PALS_SIZE", "4")];
        assert_eq!(named("palsd", &pals), (Some("4f-1".to_owned()), Nodes::One));
        let lsf = [("LSB_JOBID", "5"), ("PMIX_NAMESPACE", "jsm-1"), ("OMPI_COMM_WORLD_SIZE", "8")];
        assert_eq!(named("jsmd", &lsf), (Some("jsm-1".to_owned()), Nodes::Unknown));
        let srun = [("SLURM_JOB_ID", "7"), ("SLURM_STEP_ID", "2"), ("SLURM_RESTART_COUNT", "1")];
        assert_eq!(named("slurmstepd", &srun), (Some("7.2.1".to_owned()), Nodes::Unknown));
    }

    /// A second job of one allocation, and one that was started again, have other names.
    #[test]
    fn no_two_jobs_have_one_name() {
        let step = |step, restart| {
            named("slurmstepd", &[("SLURM_JOB_ID", "7"), ("SLURM_STEP_ID", step), ("SLURM_RESTART_COUNT", restart)]).0
        };
        assert_ne!(step("0", "0"), step("1", "0"));
        assert_ne!(step("0", "0"), step("0", "1"));
        let by_pmix =
            |restart| named("slurmstepd", &[("PMIX_NAMESPACE", "slurm.pmix.7.0"), ("SLURM_RESTART_COUNT", restart)]).0;
        assert_ne!(by_pmix("0"), by_pmix("1"));
        let hydra = |uuid, group| {
            named("hydra_pmi_proxy", &[("I_MPI_HYDRA_UUID", uuid), ("HYDRA_BSTRAP_PGID", group), ("SLURM_JOB_ID", "7")])
                .0
        };
        assert_ne!(hydra("a", "0"), hydra("b", "0"));
        assert_ne!(hydra("a", "0"), hydra("a", "1"), "a world that was spawned");
    }

    #[test]
    fn a_node_that_is_reached_by_ssh_has_the_job_s_name_too() {
        let namespace = ("PMIX_NAMESPACE", "prterun-head-4711@1");
        assert_eq!(named("prterun", &[namespace, ("SLURM_RESTART_COUNT", "2")]).0, named("prted", &[namespace]).0);
    }
}
