//! Which launcher a command line holds, and whose options it takes.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The families of launchers, by the options with which they set a variable of the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// `-x NAME=VALUE`: Open MPI.
    OpenMpi,
    /// `-x NAME=VALUE` of PRRTE, which Open MPI has from its version 5 on. The options are for the ranks that it starts
    /// itself; ranks that are spawned have its own environment.
    Prrte,
    /// `-genv NAME VALUE`: MPICH's Hydra and gforker, Intel MPI, MVAPICH.
    Hydra,
    /// `--export=ALL,NAME=VALUE`: Slurm.
    Slurm,
}

/// The names that launchers have, some of them with one of the endings. Most are asked for their version to tell the
/// flavour, so a script that merely looks like one must not be among them.
const NAMES: [&str; 6] = ["mpirun", "mpiexec", "orterun", "prterun", "prun", "srun"];
const ENDINGS: [&str; 4] = ["openmpi", "mpich", "hydra", "gforker"];

/// The answers of each flavour to `--version`. gforker knows no such option and answers with its usage.
const ANSWERS: [(&str, Flavour); 7] = [
    ("Open MPI", Flavour::OpenMpi),
    ("OpenRTE", Flavour::OpenMpi),
    ("PRRTE", Flavour::Prrte),
    ("Spectrum MPI", Flavour::OpenMpi),
    ("HYDRA", Flavour::Hydra),
    ("Intel(R) MPI", Flavour::Hydra),
    ("-genv", Flavour::Hydra),
];

/// The launcher's place in the command line: the first word that names one. It may stand behind `timeout`, `numactl`,
/// ...
pub fn find(command: &[OsString]) -> Option<usize> {
    let is_launcher = |word: &OsString| {
        let name = Path::new(word).file_name().and_then(OsStr::to_str).unwrap_or_default();
        match name.split_once('.') {
            Some((name, ending)) => NAMES[..2].contains(&name) && ENDINGS.contains(&ending),
            None => NAMES.contains(&name),
        }
    };
    command.iter().position(is_launcher)
}

/// Asks the launcher for its name and version. `None`: its answer is not known.
pub fn ask(launcher: &OsStr) -> io::Result<Option<Flavour>> {
    match Path::new(launcher).file_name().and_then(OsStr::to_str) {
        Some("srun") => return Ok(Some(Flavour::Slurm)),
        Some("orterun") => return Ok(Some(Flavour::OpenMpi)),
        Some("prterun" | "prun") => return Ok(Some(Flavour::Prrte)),
        _ => {}
    }
    let answer = Command::new(launcher).arg("--version").stdin(Stdio::null()).output()?;
    let of_stream = |stream: &[u8]| of_answer(&String::from_utf8_lossy(stream));
    Ok(of_stream(&answer.stdout).or_else(|| of_stream(&answer.stderr)))
}

fn of_answer(answer: &str) -> Option<Flavour> {
    let &(_, flavour) = ANSWERS.iter().find(|(part, _)| answer.contains(part))?;
    let version = answer.split_once("(Open MPI) ").and_then(|(_, rest)| rest.split('.').next()?.parse::<u32>().ok());
    Some(if version.is_some_and(|version| version >= 5) { Flavour::Prrte } else { flavour })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_may_stand_behind_wrappers() {
        let cases = [
            ("mpirun -np 2 ./a", Some(0)),
            ("timeout 60 /opt/mpi/bin/mpiexec.hydra -np 2 ./a", Some(2)),
            ("numactl -N 0 srun -n 2 ./a mpirun", Some(3)),
            ("./mpirun-all.sh", None),
            ("mpirun_rsh -np 2 a b ./a", None),
            ("python3 -m mpi4py script.py", None),
        ];
        for (line, expected) in cases {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(find(&words), expected, "{line}");
        }
    }

    #[test]
    fn answers_of_real_launchers() {
        let cases = [
            ("mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/", Some(Flavour::OpenMpi)),
            ("mpirun (Open MPI) 4.1.4\n", Some(Flavour::OpenMpi)),
            ("mpirun (Open MPI) 5.0.11\n", Some(Flavour::Prrte)),
            ("prterun (PRRTE) 3.0.7\n", Some(Flavour::Prrte)),
            ("HYDRA build details:\n    Version:  4.0.2\n", Some(Flavour::Hydra)),
            ("Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 20260929\n", Some(Flavour::Hydra)),
            ("invalid mpiexec argument --version\nUsage: mpiexec ... -genv name value\\\n", Some(Flavour::Hydra)),
            ("GNU bash, version 5.2", None),
        ];
        for (answer, expected) in cases {
            assert_eq!(of_answer(answer), expected, "{answer}");
        }
    }

    #[test]
    fn only_launchers_that_would_not_tell_are_not_asked() {
        assert!(ask(OsStr::new("/nonexistent/mpirun")).is_err());
        assert_eq!(ask(OsStr::new("/nonexistent/srun")).unwrap(), Some(Flavour::Slurm));
    }
}
