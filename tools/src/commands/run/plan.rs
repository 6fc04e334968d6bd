//! What is run when: several jobs, several times each, in turn or shuffled.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use mpitrace::statistics::Random;

/// What stands between the commands of two jobs.
const AND: &str = "--and";
/// Jobs are named by letters.
const MOST_JOBS: usize = 26;
/// How the name of a trace ends.
const ENDING: &str = ".mpitrace";

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The index of its job.
    pub job: usize,
    /// `3`, with several jobs `b.3`: what its trace has in its name.
    pub label: String,
}

/// The commands of the jobs.
pub fn jobs(words: &[OsString]) -> Result<Vec<Vec<OsString>>> {
    let jobs: Vec<Vec<OsString>> = words.split(|word| word == AND).map(<[OsString]>::to_vec).collect();
    ensure!(jobs.iter().all(|job| !job.is_empty()), "no command {}", if jobs.len() > 1 { "beside --and" } else { "" });
    ensure!(jobs.len() <= MOST_JOBS, "{} jobs: {MOST_JOBS} at most, since each is named by a letter", jobs.len());
    Ok(jobs)
}

/// The order of `runs` runs of each job: in turn, so that what changes in the machine over time meets all of them; with
/// a seed in random order, as Hunold & Carpen-Amarie 2016, 6.1, has it. The runs of a job are numbered in the order in
/// which they are made.
pub fn plan(jobs: usize, runs: u32, seed: Option<u64>) -> Vec<Planned> {
    let mut order: Vec<usize> = (0..runs).flat_map(|_| 0..jobs).collect();
    if let Some(seed) = seed {
        shuffle(&mut order, &mut Random::new(seed));
    }
    let width = runs.to_string().len();
    let mut made = vec![0; jobs];
    order
        .into_iter()
        .map(|job| {
            made[job] += 1;
            let number = format!("{:0width$}", made[job]);
            Planned { job, label: if jobs > 1 { format!("{}.{number}", letter(job)) } else { number } }
        })
        .collect()
}

/// The letter of a job.
pub fn letter(job: usize) -> char {
    (b'a' + job as u8) as char
}

/// Fisher and Yates.
fn shuffle(order: &mut [usize], random: &mut Random) {
    for last in (1..order.len()).rev() {
        order.swap(last, (random.bits() % (last as u64 + 1)) as usize);
    }
}

/// The name of a trace with a label before its ending: `a.mpitrace` and `3` make `a.3.mpitrace`.
pub fn labelled(path: &Path, label: &str) -> PathBuf {
    let name = path.file_name().unwrap_or(OsStr::new("mpitrace")).to_string_lossy().into_owned();
    let stem = name.strip_suffix(ENDING).unwrap_or(&name);
    path.with_file_name(format!("{stem}.{label}{ENDING}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn labels(plan: &[Planned]) -> Vec<&str> {
        plan.iter().map(|planned| planned.label.as_str()).collect()
    }

    #[test]
    fn commands_are_told_apart_by_and() {
        assert_eq!(jobs(&words("mpirun ./a -n 3")).unwrap(), [words("mpirun ./a -n 3")]);
        assert_eq!(jobs(&words("mpirun ./a --and ./b")).unwrap(), [words("mpirun ./a"), words("./b")]);
        for wrong in ["--and ./b", "./a --and", "./a --and --and ./b"] {
            assert!(jobs(&words(wrong)).is_err(), "{wrong}");
        }
        assert!(jobs(&words(&["x"; 27].join(" --and "))).is_err());
    }

    #[test]
    fn without_a_seed_the_jobs_take_turns() {
        assert_eq!(labels(&plan(1, 3, None)), ["1", "2", "3"]);
        assert_eq!(labels(&plan(2, 2, None)), ["a.1", "b.1", "a.2", "b.2"]);
        assert_eq!(labels(&plan(1, 10, None))[0], "01");
    }

    #[test]
    fn a_seed_gives_one_order_and_every_order_comes_up() {
        assert_eq!(plan(2, 20, Some(7)), plan(2, 20, Some(7)));
        let mut seen: Vec<Vec<usize>> =
            (0..200).map(|seed| plan(2, 2, Some(seed)).iter().map(|run| run.job).collect()).collect();
        seen.sort();
        seen.dedup();
        // 4 over 2.
        assert_eq!(seen.len(), 6);
        let shuffled = plan(2, 20, Some(7));
        let of_b: Vec<&str> = labels(&shuffled).into_iter().filter(|label| label.starts_with('b')).collect();
        assert_eq!((of_b.len(), of_b[0], of_b[19]), (20, "b.01", "b.20"));
    }

    #[test]
    fn the_label_goes_before_the_ending() {
        assert_eq!(labelled(Path::new("/x/a.mpitrace"), "b.3"), Path::new("/x/a.b.3.mpitrace"));
        assert_eq!(labelled(Path::new("a-%p"), "3"), Path::new("a-%p.3.mpitrace"));
    }
}
