//! Calls with wrong arguments, at which the MPI library ends the job: `mpitrace run` names the rank, the function and the
//! error class, and the library's own message is that of the untraced program.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Case, On, Outcome, Test, binaries, build, litter};

pub const TESTS: &[Test] = &[
    Test::new("of_some_kinds_are_told", |case| all(case, SOME, 8)).on(On::Only(&["ompi4", "mpich4"])),
    Test::new("of_every_kind_are_told", |case| all(case, &[], 35)).second_tier(),
];

const SOME: &[&str] = &[
    "send_tag",
    "recv_truncated",
    "start_null",
    "barrier_comm",
    "bcast_type",
    "ibcast_root",
    "reduce_op",
    "rank_null",
    "group_incl",
    "put_rank",
];

/// Kinds that are not told, by the libraries' names.
const NOT_TOLD: &[(&str, &str)] = &[
    // The exit code, 9, is the number of the signal that ended the ranks too, and the operator is one of MPI's own.
    ("allreduce_op", "mpich4 mpich5 impi"),
    // The launcher ends the job, by SIGTERM.
    ("spawn_program", "ompi4 ompi5"),
];

fn all(case: &Case, wanted: &[&str], least: usize) {
    let program = build::program(case.mpi, "fatal.c");
    let kinds = Command::new(&program).arg("list").output().expect("the kinds");
    let kinds = String::from_utf8(kinds.stdout).expect("UTF-8");
    let (mut told, mut accepted) = (0, Vec::new());
    for (number, (kind, function)) in kinds.lines().filter_map(|line| line.split_once(' ')).enumerate() {
        let is_told =
            !NOT_TOLD.iter().any(|(name, on)| *name == kind && on.split(' ').any(|name| name == case.mpi.name));
        if is_told && (wanted.is_empty() || wanted.contains(&kind)) {
            // Every other one with call sites.
            let line = (number % 2 == 0).then(|| line_of(kind, function));
            match is_refused(case, &program, kind, line.is_some()) {
                Some(outcome) => {
                    is_right(kind, function, line, &outcome);
                    told += 1;
                }
                None => accepted.push(kind),
            }
        }
    }
    println!("{told} told; taken for right: {accepted:?}");
    assert!(told >= least, "{told} kinds, {accepted:?}");
}

/// The line of fatal.c in which the mistake of this kind is made: its function's last call of this MPI function.
fn line_of(kind: &str, function: &str) -> usize {
    let source = fs::read_to_string(build::source("fatal.c")).expect("the source");
    let begin = source.find(&format!("static void {kind}(void)")).expect("the function of the kind");
    let body = source[begin..].split("\nstatic ").next().expect("a first part");
    let call = begin + body.rfind(&format!("{function}(")).expect("the call");
    source[..call].lines().count().max(1) + usize::from(source[..call].ends_with('\n'))
}

/// What came of a run, if the library refused the call.
fn is_refused(case: &Case, program: &Path, kind: &str, with_sites: bool) -> Option<Outcome> {
    let output = case.folder.join(format!("{kind}.mpitrace"));
    let mut words: Vec<OsString> = vec![binaries::companion().into(), "run".into(), "--sample".into(), "0".into()];
    words.extend(["-o".into(), output.into(), "--".into()]);
    let sites = if with_sites { "1" } else { "0" };
    let launch = case.launch(3, program.to_str().expect("UTF-8")).arg(kind).set("MPITRACE_CALLSITE", sites);
    let outcome = launch.run_under(&words);
    litter::sweep();
    let is_accepted = outcome.stdout.contains("no mistake") || outcome.stderr.contains("SIGALRM");
    // A library may crash instead of looking at a handle.
    let crashed = outcome.stderr.contains("SIGSEGV") || outcome.stderr.contains("SIGABRT");
    (!is_accepted && !crashed).then_some(outcome)
}

fn is_right(kind: &str, function: &str, line: Option<usize>, outcome: &Outcome) {
    let said = outcome.lines_with("The job did not end normally: ");
    let [said] = said[..] else { panic!("{kind}: {}", outcome.stderr) };
    let is_named = said.contains(&format!("in {function} ")) || said.contains(&format!("in {function}."));
    assert!(is_named && said.contains("rank 1") && said.contains("(MPI_ERR_"), "{kind}: {}", outcome.stderr);
    if let Some(line) = line {
        // The compiler may have put the function of the kind into main.
        assert!(said.contains(" by "), "{kind}: {said}");
        assert!(said.contains(&format!(" at fatal.c:{line}")), "{kind}, line {line}: {said}");
    }
    // Open MPI names the class and the function, MPICH the function; not always before the launcher kills the rank.
    let after = |words: &str| outcome.stderr.lines().find_map(|line| Some(line.split_once(words)?.1.to_owned()));
    if let Some(class) = after("*** MPI_ERR_").and_then(|rest| Some(rest.split(':').next()?.to_owned())) {
        assert!(said.contains(&format!("(MPI_ERR_{class}")), "{kind}: {class}\n{said}");
    }
    let named = after("An error occurred in MPI_").or_else(|| after("Fatal error in internal_"));
    if let Some(named) = named.and_then(|rest| Some(rest.split([':', ' ', '\n']).next()?.to_owned())) {
        assert_eq!(format!("MPI_{named}"), function, "{kind}: {}", outcome.stderr);
    }
}
