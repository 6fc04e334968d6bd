//! The order of runs: several jobs, several times each, in turn or shuffled.

use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

pub const AND: &str = "--and";
const MOST_JOBS: usize = 26;
const ENDING: &str = ".mpitrace";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub job: usize,
    /// `3`, with several jobs `b.3`: what its trace has in its name.
    pub label: String,
}

pub fn jobs(words: &[OsString]) -> Result<Vec<Vec<OsString>>> {
    let jobs: Vec<Vec<OsString>> = words.split(|word| word == AND).map(<[OsString]>::to_vec).collect();
    ensure!(jobs.iter().all(|job| !job.is_empty()), "no command {}", if jobs.len() > 1 { "beside --and" } else { "" });
    ensure!(jobs.len() <= MOST_JOBS, "{} jobs: at most {MOST_JOBS}, since each is named by a letter", jobs.len());
    Ok(jobs)
}

/// The order of `runs` runs of each job: in turn, so that what changes in the machine over time meets all of them; or
/// in random order, as Hunold & Carpen-Amarie 2016, 6.1, has it. The runs of a job are numbered in the order in which
/// they are made.
pub fn plan(jobs: usize, runs: u32, shuffled: bool) -> Vec<Planned> {
    let mut places: Vec<usize> = (0..runs as usize * jobs).collect();
    if shuffled {
        // Keys that differ from process to process.
        let random = RandomState::new();
        places.sort_by_cached_key(|place| random.hash_one(place));
    }
    let width = runs.to_string().len();
    let mut made = vec![0; jobs];
    places
        .into_iter()
        .map(|place| {
            let job = place % jobs;
            made[job] += 1;
            let number = format!("{:0width$}", made[job]);
            Planned { job, label: if jobs > 1 { format!("{}.{number}", letter(job)) } else { number } }
        })
        .collect()
}

pub fn letter(job: usize) -> char {
    (b'a' + job as u8) as char
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
    fn the_jobs_take_turns() {
        assert_eq!(labels(&plan(1, 3, false)), ["1", "2", "3"]);
        assert_eq!(labels(&plan(2, 2, false)), ["a.1", "b.1", "a.2", "b.2"]);
        assert_eq!(labels(&plan(1, 10, false))[0], "01");
    }

    #[test]
    fn shuffled_every_order_comes_up() {
        let mut seen: Vec<Vec<usize>> =
            (0..500).map(|_| plan(2, 2, true).iter().map(|run| run.job).collect()).collect();
        seen.sort();
        seen.dedup();
        // 4 over 2; that 500 draws miss one of them has a probability of 10^-39.
        assert_eq!(seen.len(), 6);
        let shuffled = plan(2, 20, true);
        let of_b: Vec<&str> = labels(&shuffled).into_iter().filter(|label| label.starts_with('b')).collect();
        assert_eq!((of_b.len(), of_b[0], of_b[19]), (20, "b.01", "b.20"));
    }

    #[test]
    fn the_label_goes_before_the_ending() {
        assert_eq!(labelled(Path::new("/x/a.mpitrace"), "b.3"), Path::new("/x/a.b.3.mpitrace"));
        assert_eq!(labelled(Path::new("a-%p"), "3"), Path::new("a-%p.3.mpitrace"));
    }
}
