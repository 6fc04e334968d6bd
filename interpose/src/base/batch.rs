//! Facts of the batch system about the job, by the variables that its documentation names.
//!
//! These are facts to be written down: no decision that ranks must take alike depends on them, since a variable can be
//! there on one node and missing on another.

use crate::base::own_file;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    System,
    /// The job's number. The tasks of a job array have different ones in Slurm and the same one in LSF and Grid Engine.
    Job,
    Step,
    ArrayIndex,
    Restart,
    /// The nodes of the job, as the batch system writes them.
    Nodes,
}

/// Batch systems with their variables for the other factors, in the order of [`Factor`]; empty: there is none. By the
/// manuals of Slurm 22.05 (sbatch), PBS 2022.1 (qsub), LSF 10.1 (bsub), Flux 0.60 (flux-run), OAR 2.5 and Grid Engine
/// (qsub).
const SYSTEMS: [(&str, [&str; 5]); 6] = [
    ("Slurm", ["SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT", "SLURM_JOB_NODELIST"]),
    ("PBS", ["PBS_JOBID", "", "PBS_ARRAY_INDEX", "", "PBS_NODEFILE"]),
    ("LSF", ["LSB_JOBID", "", "LSB_JOBINDEX", "", "LSB_MCPU_HOSTS"]),
    ("Flux", ["FLUX_JOB_ID", "", "FLUX_JOB_CC", "", ""]),
    ("OAR", ["OAR_JOB_ID", "", "OAR_ARRAY_INDEX", "", "OAR_NODEFILE"]),
    ("Grid Engine", ["JOB_ID", "", "SGE_TASK_ID", "", ""]),
];

/// A fact of the batch system; `None` where there is none, or where it does not say it.
pub fn value(factor: Factor) -> Option<String> {
    value_in(factor, |name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

fn value_in(factor: Factor, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (system, variables) = SYSTEMS.iter().find(|(_, [job, ..])| variable(job).is_some())?;
    let Some(place) = (factor as usize).checked_sub(1) else { return Some((*system).to_owned()) };
    let name = variables[place];
    let value = variable(name)?;
    // Grid Engine and LSF set a variable in jobs that are no array, too.
    let nothing = matches!((name, value.as_str()), ("SGE_TASK_ID", "undefined") | ("LSB_JOBINDEX", "0"));
    match name.ends_with("NODEFILE") {
        true => nodes_in(&value),
        false => Some(value).filter(|_| !nothing),
    }
}

/// The different lines of a file, in order, with commas.
fn nodes_in(file: &str) -> Option<String> {
    let text = own_file::read_text(file).ok()?;
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
