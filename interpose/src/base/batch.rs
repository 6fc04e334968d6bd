//! Facts of the batch system about the job, by the variables that its documentation names.
//!
//! These are facts to be written down: no decision that ranks must take alike depends on them, since a variable can be
//! there on one node and missing on another.

use std::fs;

/// Something that batch systems say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// The name of the batch system.
    System,
    /// The job's number. The tasks of a job array have different ones in Slurm and the same one in LSF and Grid Engine.
    Job,
    /// The step's number within the job.
    Step,
    /// The number of the task within a job array.
    ArrayIndex,
    /// How often the job was started again.
    Restart,
    /// The nodes of the job, as the batch system writes them.
    Nodes,
}

/// A batch system: its name, and the variables for the other factors.
struct System {
    name: &'static str,
    job: &'static str,
    others: &'static [(Factor, &'static str)],
}

/// The variables of the manuals of Slurm 22.05 (sbatch), PBS 2022.1 (qsub), LSF 10.1 (bsub), Flux 0.60 (flux-run), OAR
/// 2.5 and Grid Engine (qsub).
const SYSTEMS: [System; 6] = [
    System {
        name: "Slurm",
        job: "SLURM_JOB_ID",
        others: &[
            (Factor::Step, "SLURM_STEP_ID"),
            (Factor::ArrayIndex, "SLURM_ARRAY_TASK_ID"),
            (Factor::Restart, "SLURM_RESTART_COUNT"),
            (Factor::Nodes, "SLURM_JOB_NODELIST"),
        ],
    },
    System {
        name: "PBS",
        job: "PBS_JOBID",
        others: &[(Factor::ArrayIndex, "PBS_ARRAY_INDEX"), (Factor::Nodes, "PBS_NODEFILE")],
    },
    System {
        name: "LSF",
        job: "LSB_JOBID",
        others: &[(Factor::ArrayIndex, "LSB_JOBINDEX"), (Factor::Nodes, "LSB_MCPU_HOSTS")],
    },
    System { name: "Flux", job: "FLUX_JOB_ID", others: &[(Factor::ArrayIndex, "FLUX_JOB_CC")] },
    System {
        name: "OAR",
        job: "OAR_JOB_ID",
        others: &[(Factor::ArrayIndex, "OAR_ARRAY_INDEX"), (Factor::Nodes, "OAR_NODEFILE")],
    },
    System { name: "Grid Engine", job: "JOB_ID", others: &[(Factor::ArrayIndex, "SGE_TASK_ID")] },
];

/// A fact of the batch system; `None` where there is none, or where it does not say it.
pub fn value(factor: Factor) -> Option<String> {
    value_in(factor, |name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

fn value_in(factor: Factor, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (system, job) = SYSTEMS.iter().find_map(|system| Some((system, variable(system.job)?)))?;
    match factor {
        Factor::System => Some(system.name.to_owned()),
        Factor::Job => Some(job),
        other => {
            let (_, name) = system.others.iter().find(|(known, _)| *known == other)?;
            let value = variable(name)?;
            if name.ends_with("NODEFILE") { nodes_in(&value) } else { stated(other, name, value) }
        }
    }
}

/// Some systems set a variable in every job, with a value that says nothing.
fn stated(factor: Factor, name: &str, value: String) -> Option<String> {
    let nothing = match (factor, name) {
        // Grid Engine's, and LSF's, of jobs that are no array.
        (Factor::ArrayIndex, "SGE_TASK_ID") => value == "undefined",
        (Factor::ArrayIndex, "LSB_JOBINDEX") => value == "0",
        _ => false,
    };
    (!nothing).then_some(value)
}

/// The different lines of a file, in order, with commas.
fn nodes_in(file: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let mut nodes: Vec<&str> = Vec::new();
    for node in text.lines().map(str::trim).filter(|node| !node.is_empty()) {
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    Some(nodes.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value_of(factor: Factor, variables: &[(&str, &str)]) -> Option<String> {
        value_in(factor, |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string()))
    }

    #[test]
    fn a_task_of_a_job_array_has_its_index() {
        let slurm = [("SLURM_JOB_ID", "17"), ("SLURM_ARRAY_TASK_ID", "3"), ("SLURM_JOB_NODELIST", "n[1-3]")];
        assert_eq!(value_of(Factor::System, &slurm).as_deref(), Some("Slurm"));
        assert_eq!(value_of(Factor::Job, &slurm).as_deref(), Some("17"));
        assert_eq!(value_of(Factor::ArrayIndex, &slurm).as_deref(), Some("3"));
        assert_eq!(value_of(Factor::Nodes, &slurm).as_deref(), Some("n[1-3]"));
        assert_eq!(value_of(Factor::Step, &slurm), None);
    }

    #[test]
    fn a_value_that_says_nothing_is_none() {
        assert_eq!(value_of(Factor::ArrayIndex, &[("JOB_ID", "5"), ("SGE_TASK_ID", "undefined")]), None);
        assert_eq!(value_of(Factor::ArrayIndex, &[("LSB_JOBID", "5"), ("LSB_JOBINDEX", "0")]), None);
        assert_eq!(value_of(Factor::ArrayIndex, &[("SGE_TASK_ID", "4")]), None, "no job");
    }

    #[test]
    fn a_node_file_names_each_node_once() {
        let file = std::env::temp_dir().join(format!("mpitrace-nodes-{}", std::process::id()));
        std::fs::write(&file, "a\na\nb\n").unwrap();
        let path = file.to_str().unwrap().to_owned();
        let variables = [("PBS_JOBID", "9.server"), ("PBS_NODEFILE", path.as_str())];
        assert_eq!(value_of(Factor::Nodes, &variables).as_deref(), Some("a,b"));
        std::fs::remove_file(file).unwrap();
    }
}
