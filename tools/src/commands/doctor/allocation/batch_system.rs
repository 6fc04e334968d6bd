//! Which batch system this process is a job of, by the variables that each documents.

use std::collections::BTreeSet;
use std::env;
use std::fs;

/// A batch system's job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchJob {
    /// The batch system.
    pub system: System,
    /// The job's number.
    pub job: String,
    /// How many nodes it has; `None`: the batch system does not say it.
    pub nodes: Option<usize>,
}

/// The batch systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    Slurm,
    Pbs,
    Lsf,
    Flux,
    Oar,
    GridEngine,
}

impl System {
    /// What it calls itself.
    pub fn name(self) -> &'static str {
        match self {
            System::Slurm => "Slurm",
            System::Pbs => "PBS",
            System::Lsf => "LSF",
            System::Flux => "Flux",
            System::Oar => "OAR",
            System::GridEngine => "Grid Engine",
        }
    }
}

/// The variables of the job's number: the manuals of Slurm 22.05 (sbatch), PBS 2022.1 (qsub), LSF 10.1 (bsub), Flux
/// 0.60 (flux-environment), OAR 2.5 (oarsub) and Grid Engine (qsub). Flux comes first, since it runs within jobs of
/// others.
const JOBS: [(&str, System); 7] = [
    ("FLUX_JOB_ID", System::Flux),
    ("FLUX_URI", System::Flux),
    ("SLURM_JOB_ID", System::Slurm),
    ("PBS_JOBID", System::Pbs),
    ("LSB_JOBID", System::Lsf),
    ("OAR_JOB_ID", System::Oar),
    ("PE_HOSTFILE", System::GridEngine),
];

/// The job that this process is of.
pub fn find() -> Option<BatchJob> {
    find_in(&|name| env::var(name).ok().filter(|value| !value.is_empty()))
}

fn find_in(variable: &dyn Fn(&str) -> Option<String>) -> Option<BatchJob> {
    let (job, system) = JOBS.iter().find_map(|&(name, system)| Some((variable(name)?, system)))?;
    let number = |name: &str| variable(name)?.parse().ok();
    let different =
        |list: String| list.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<BTreeSet<_>>().len();
    let in_file = |name: &str| Some(different(fs::read_to_string(variable(name)?).ok()?));
    let nodes = match system {
        System::Slurm => number("SLURM_JOB_NUM_NODES").or_else(|| number("SLURM_NNODES")),
        System::Pbs => in_file("PBS_NODEFILE"),
        // Pairs of a host and its number of slots.
        System::Lsf => variable("LSB_MCPU_HOSTS").map(|list| list.split_whitespace().count() / 2),
        System::Flux => number("FLUX_JOB_NNODES"),
        System::Oar => in_file("OAR_NODEFILE"),
        System::GridEngine => in_file("PE_HOSTFILE"),
    };
    let job = if system == System::GridEngine { variable("JOB_ID").unwrap_or_default() } else { job };
    Some(BatchJob { system, job, nodes: nodes.filter(|&nodes| nodes > 0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<(System, String, Option<usize>)> {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        find_in(&variable).map(|job| (job.system, job.job, job.nodes))
    }

    #[test]
    fn each_batch_system_is_known_by_its_variables() {
        let folder = tempfile::tempdir().unwrap();
        let nodes = folder.path().join("nodes");
        fs::write(&nodes, "a\na\nb\nb\n").unwrap();
        let nodes = nodes.to_str().unwrap();
        let cases: [(&[(&str, &str)], _); 6] = [
            (&[("SLURM_JOB_ID", "17"), ("SLURM_JOB_NUM_NODES", "3")], Some((System::Slurm, "17".to_owned(), Some(3)))),
            (&[("PBS_JOBID", "9.head"), ("PBS_NODEFILE", nodes)], Some((System::Pbs, "9.head".to_owned(), Some(2)))),
            (&[("LSB_JOBID", "5"), ("LSB_MCPU_HOSTS", "a 2 b 2 ")], Some((System::Lsf, "5".to_owned(), Some(2)))),
            (&[("FLUX_URI", "local:///x"), ("SLURM_JOB_ID", "1")], Some((System::Flux, "local:///x".to_owned(), None))),
            (&[("JOB_ID", "8"), ("PE_HOSTFILE", nodes)], Some((System::GridEngine, "8".to_owned(), Some(2)))),
            (&[("JOB_ID", "8")], None),
        ];
        for (variables, expected) in cases {
            assert_eq!(found(variables), expected, "{variables:?}");
        }
    }
}
