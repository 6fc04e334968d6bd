//! The command line and the environment that bring the tracer into the ranks.

use std::ffi::OsString;

use super::words::{Job, assignment, options, split};
use super::{Flavour, PRELOAD, Tracer, slurm};

/// Prepares a command line in which the word at `launcher.0` is a launcher of the flavour `launcher.1`. Without one the
/// variables go into the environment of the program itself, and from there to whatever it starts on this host.
///
/// Settings of the user by the launcher's own options stay as they are, but for a library to preload: the tracer goes
/// before it.
pub fn job(command: &[OsString], launcher: Option<(usize, Flavour)>, tracer: &Tracer) -> Job {
    match launcher {
        Some((word, Flavour::OpenMpi)) => options(command, word, |context, _| open_mpi(context, tracer)),
        Some((word, Flavour::Prrte)) => {
            let job = options(command, word, |context, _| open_mpi(context, tracer));
            Job { environment: environment(tracer), ..job }
        }
        Some((word, Flavour::Hydra)) => options(command, word, |context, first| hydra(context, first, tracer)),
        Some((word, Flavour::Slurm)) => slurm::job(command, word, tracer),
        None => Job { command: command.to_vec(), environment: environment(tracer), note: None },
    }
}

fn environment(tracer: &Tracer) -> Vec<(OsString, OsString)> {
    let mut environment = tracer.variables.clone();
    environment.push((PRELOAD.into(), tracer.preload()));
    environment
}

/// Open MPI 4 takes `-x` for the context in which it stands, Open MPI 5 for all; of a name that is given twice the
/// former takes the last value, the latter the first.
fn open_mpi(context: &[OsString], tracer: &Tracer) -> Vec<OsString> {
    let mut given: Vec<OsString> = Vec::new();
    let mut rest = context.to_vec();
    for word in 1..rest.len() {
        if rest[word - 1] != "-x" {
            continue;
        }
        let (name, value) = split(&rest[word]);
        if name == PRELOAD {
            // Without a value it is passed on as the environment has it.
            let others = value.or(tracer.preloaded.clone());
            rest[word] = assignment(PRELOAD.as_ref(), &tracer.preload_before(others.as_deref()));
        }
        given.push(name);
    }
    let mut rewritten = Vec::new();
    for (name, value) in std::iter::once((PRELOAD.into(), tracer.preload())).chain(tracer.variables.iter().cloned()) {
        if !given.contains(&name) {
            rewritten.extend(["-x".into(), assignment(&name, &value)]);
        }
    }
    rewritten.extend(rest);
    rewritten
}

/// `-genv` holds for all contexts, `-env` for one; of a name that is given twice the last value is taken.
fn hydra(context: &[OsString], first: bool, tracer: &Tracer) -> Vec<OsString> {
    let mut rewritten: Vec<OsString> = Vec::new();
    if first {
        rewritten.extend(["-genv".into(), PRELOAD.into(), tracer.preload()]);
        for (name, value) in &tracer.variables {
            rewritten.extend(["-genv".into(), name.clone(), value.clone()]);
        }
    }
    for (word, text) in context.iter().enumerate() {
        let set = word >= 2
            && context[word - 1] == PRELOAD
            && ["-genv", "-env"].iter().any(|option| context[word - 2] == *option);
        rewritten.push(if set { tracer.preload_before(Some(text)) } else { text.clone() });
    }
    rewritten
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn tracer(preloaded: Option<&str>) -> Tracer {
        Tracer {
            library: "/lib/t.so".into(),
            preloaded: preloaded.map(OsString::from),
            variables: vec![("MPITRACE_OUTPUT".into(), "/o".into())],
            slurm_export: None,
        }
    }

    fn rewritten(line: &str, flavour: Flavour, preloaded: Option<&str>) -> String {
        let words = words(line);
        let launcher = super::super::find(&words).map(|word| (word, flavour));
        let job = job(&words, launcher, &tracer(preloaded));
        assert_eq!(job.environment, []);
        job.command.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn open_mpi_gets_its_options_in_every_context() {
        let x = "-x LD_PRELOAD=/lib/t.so -x MPITRACE_OUTPUT=/o";
        let cases = [
            ("mpirun -np 2 ./a -x", format!("mpirun {x} -np 2 ./a -x")),
            ("timeout 60 mpirun -np 2 ./a", format!("timeout 60 mpirun {x} -np 2 ./a")),
            ("mpirun -np 1 ./a : -np 1 ./b", format!("mpirun {x} -np 1 ./a : {x} -np 1 ./b")),
            // The user's own options win, but for the order of what is preloaded.
            (
                "mpirun -x MPITRACE_OUTPUT=/mine -np 2 ./a",
                "mpirun -x LD_PRELOAD=/lib/t.so -x MPITRACE_OUTPUT=/mine -np 2 ./a".into(),
            ),
            (
                "mpirun -np 2 -x LD_PRELOAD=/u.so ./a",
                "mpirun -x MPITRACE_OUTPUT=/o -np 2 -x LD_PRELOAD=/lib/t.so:/u.so ./a".into(),
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(rewritten(line, Flavour::OpenMpi, None), expected);
        }
        let expected = "mpirun -x LD_PRELOAD=/lib/t.so:/e.so -x MPITRACE_OUTPUT=/o ./a";
        assert_eq!(rewritten("mpirun ./a", Flavour::OpenMpi, Some("/e.so")), expected);
        let expected = "mpirun -x MPITRACE_OUTPUT=/o -x LD_PRELOAD=/lib/t.so:/e.so ./a";
        assert_eq!(rewritten("mpirun -x LD_PRELOAD ./a", Flavour::OpenMpi, Some("/e.so")), expected);
    }

    /// Ranks that are spawned have the environment of the launcher.
    #[test]
    fn prrte_gets_options_and_an_environment() {
        let words = words("mpirun -x LD_PRELOAD=/u.so -np 2 ./a");
        let job = job(&words, Some((0, Flavour::Prrte)), &tracer(Some("/e.so")));
        let expected = "mpirun -x MPITRACE_OUTPUT=/o -x LD_PRELOAD=/lib/t.so:/u.so -np 2 ./a";
        assert_eq!(job.command.join(OsStr::new(" ")).to_str(), Some(expected));
        let expected = [("MPITRACE_OUTPUT", "/o"), ("LD_PRELOAD", "/lib/t.so:/e.so")];
        assert_eq!(job.environment, expected.map(|(name, value)| (name.into(), value.into())));
    }

    #[test]
    fn hydra_gets_its_options_once() {
        let genv = "-genv LD_PRELOAD /lib/t.so -genv MPITRACE_OUTPUT /o";
        let cases = [
            ("mpiexec -n 2 ./a", format!("mpiexec {genv} -n 2 ./a")),
            ("mpiexec -n 1 ./a : -n 1 ./b", format!("mpiexec {genv} -n 1 ./a : -n 1 ./b")),
            (
                "mpiexec -genv LD_PRELOAD /u.so -n 1 ./a : -env LD_PRELOAD /v.so ./b",
                format!(
                    "mpiexec {genv} -genv LD_PRELOAD /lib/t.so:/u.so -n 1 ./a : -env LD_PRELOAD /lib/t.so:/v.so ./b"
                ),
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(rewritten(line, Flavour::Hydra, None), expected);
        }
        let expected = "mpiexec -genv LD_PRELOAD /lib/t.so:/e.so -genv MPITRACE_OUTPUT /o ./a";
        assert_eq!(rewritten("mpiexec ./a", Flavour::Hydra, Some("/e.so")), expected);
    }

    #[test]
    fn a_plain_program_gets_them_in_its_environment() {
        let job = job(&words("./a -np 2"), None, &tracer(Some("/e.so")));
        assert_eq!(job.command, words("./a -np 2"));
        let expected = [("MPITRACE_OUTPUT", "/o"), ("LD_PRELOAD", "/lib/t.so:/e.so")];
        assert_eq!(job.environment, expected.map(|(name, value)| (name.into(), value.into())));
    }

    #[test]
    fn the_tracer_is_not_preloaded_twice() {
        let tracer = tracer(Some("/lib/t.so"));
        assert_eq!(tracer.preload(), "/lib/t.so");
    }
}
