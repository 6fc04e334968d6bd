//! `mpitrace doctor` and `mpitrace overhead`: MPI libraries tried without a launcher, and what goes wrong told in a
//! line.

use crate::support::companion::{self, assert_refused};
use crate::support::process::{self, Finished};
use crate::support::{Case, On, Test, binaries, build, litter};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    Test::new("says_of_each_library_what_it_is_and_that_it_is_traced", each_library),
    Test::new("finds_the_libraries_by_itself", finds).on(On::Only(&["ompi4", "mpich4"])),
    Test::new("lists_the_variables_whose_names_match", variables).on(On::Only(&["ompi4", "ompi5"])),
    Test::new("without_the_tracer_ends_with_1_and_the_reason", without_tracer).on(On::Any),
    Test::new("with_a_tracer_that_takes_no_call_ends_with_1_and_the_reason", takes_no_call),
    Test::new("outlives_a_library_that_crashes_and_names_what_is_none", crashing).on(On::Any),
    Test::new("overhead_measures_each_library_alone_and_behind_its_launcher", overhead).second_tier(),
    Test::new("overhead_of_what_is_not_there_is_refused", overhead_of_nothing).on(On::Any),
    Test::new("overhead_beside_left_overs_does_not_mention_them", overhead_beside_left_overs).on(On::Any).second_tier(),
];

/// Runs the companion. Its memory is not limited: MPI libraries reserve as much address space as they like.
fn mpitrace(case: &Case, words: &[&str], variables: &[(&str, &str)]) -> Finished {
    let mut command = Command::new(binaries::companion());
    command.args(words).current_dir(&case.folder).env("TMPDIR", &case.folder).env_remove("LD_PRELOAD");
    command.envs(case.mpi.environment.iter().map(|(name, value)| (name, value)));
    command.envs(variables.iter().copied());
    let finished = process::run(command, &case.folder.join("output"), Duration::from_secs(120));
    let entries = fs::read_dir(&case.folder).expect("the folder").flatten().map(|entry| entry.file_name());
    let left: Vec<OsString> = entries.filter(|name| name.to_string_lossy().starts_with("mpitrace-")).collect();
    assert_eq!(left, Vec::<OsString>::new(), "temporary folders are left behind by {words:?}");
    finished
}

#[track_caller]
fn json(finished: &Finished, code: i32) -> Value {
    assert_eq!(finished.code, code, "{}{}", finished.stdout, finished.stderr);
    companion::json(finished)
}

/// The file of the MPI library that programs of this case run on, as the loader found it.
fn library(case: &Case) -> String {
    let info = json(&companion::mpitrace(&["info".as_ref(), "--json".as_ref(), traced(case).as_os_str()]), 0);
    info["factors"]["library_file"].as_str().expect("the library's file").to_owned()
}

fn traced(case: &Case) -> PathBuf {
    case.launch(2, "repeat.c").trace().run().trace.path
}

fn each_library(case: &Case) {
    let path = library(case);
    let facts = json(&mpitrace(case, &["doctor", "--json", "--mpi", &path], &[]), 0);
    assert_eq!((&facts["works"], &facts["reason"]), (&Value::Bool(true), &Value::Null));
    assert_eq!(facts["tracer"].as_str().map(Path::new), Some(crate::support::tracer().as_path()));
    let mpi = &facts["mpi"][0];
    assert_eq!(
        (&mpi["path"], &mpi["abi"], &mpi["traced"]),
        (&path.as_str().into(), &case.mpi.abi.into(), &true.into())
    );
    assert!(mpi["library"].as_str().is_some_and(|name| name.contains(case.mpi.library)), "{mpi}");
    assert_eq!(mpi["problem"], Value::Null);
    let list = json(&mpitrace(case, &["doctor", "--json", "--mpi", &path, "--variables"], &[]), 0);
    let list = list[0]["performance"].as_array().expect("a list").clone();
    for variable in list {
        let known = ["state", "level", "size", "counter", "timer", "high watermark", "low watermark", "aggregate"];
        assert!(known.contains(&variable["class"].as_str().unwrap_or_default()), "{variable}");
    }
    let page = mpitrace(case, &["doctor", "--mpi", library_of(mpi)], &[]);
    assert!(page.code == 0 && page.stdout.contains("is traced"), "{}", page.stdout);
}

fn library_of(mpi: &Value) -> &str {
    mpi["path"].as_str().expect("a path")
}

/// Debian's are in the loader's cache, where more may be.
fn finds(case: &Case) {
    let facts = json(&mpitrace(case, &["doctor", "--json"], &[]), 0);
    let expected = fs::canonicalize(library(case)).expect("the library");
    let found = facts["mpi"].as_array().expect("a list").iter().map(library_of);
    let found: Vec<PathBuf> = found.map(|path| fs::canonicalize(path).expect("the library")).collect();
    assert_eq!(found.iter().filter(|path| **path == expected).count(), 1, "{found:?}");
}

fn variables(case: &Case) {
    let path = library(case);
    let list =
        |pattern: &str| json(&mpitrace(case, &["doctor", "--json", "--mpi", &path, "--variables", pattern], &[]), 0);
    let found = list("pml_")[0]["performance"].as_array().expect("a list").clone();
    assert!(
        !found.is_empty() && found.iter().all(|one| one["name"].as_str().is_some_and(|name| name.starts_with("pml_")))
    );
    assert_eq!(list("no such variable")[0]["performance"], Value::Array(Vec::new()));
    let table = mpitrace(case, &["doctor", "--mpi", &path, "--variables", "pml_"], &[]);
    assert!(table.stdout.lines().any(|line| line.starts_with("pml_")), "{}", table.stdout);
}

fn without_tracer(case: &Case) {
    let words = ["doctor", "--json", "--library", "/nonexistent/libmpitrace.so"];
    let facts = json(&mpitrace(case, &words, &[]), 1);
    assert_eq!((&facts["works"], &facts["tracer"]), (&Value::Bool(false), &Value::Null));
    assert_eq!(facts["reason"], "/nonexistent/libmpitrace.so: no such library");
    let page = mpitrace(case, &["doctor", "--library", "/nonexistent/libmpitrace.so"], &[]);
    let first = page.stdout.lines().next().unwrap_or_default();
    assert_eq!((page.code, first), (1, "Tracing will not work here: /nonexistent/libmpitrace.so: no such library"));
}

fn takes_no_call(case: &Case) {
    let other = build::shared_library(case.mpi, "not_the_tracer.c");
    let words = ["doctor", "--json", "--mpi", &library(case), "--library", other.to_str().expect("a plain path")];
    let facts = json(&mpitrace(case, &words, &[]), 1);
    assert_eq!((&facts["works"], &facts["mpi"][0]["traced"]), (&Value::Bool(false), &Value::Bool(false)));
    let reason = facts["reason"].as_str().unwrap_or_default();
    assert!(reason.ends_with("are not traced: the loader did not preload the tracer"), "{reason}");
}

fn crashing(case: &Case) {
    let crashing = build::shared_library(case.mpi, "crashes_when_loaded.c");
    let none = case.folder.join("libmpi.so.1");
    fs::write(&none, "no library".repeat(100)).expect("a file");
    let other = build::shared_library(case.mpi, "not_the_tracer.c");
    let cases = [(crashing, "ended by signal 6"), (none, "invalid ELF header"), (other, "it has no MPI_Init")];
    for (library, expected) in cases {
        let path = library.to_str().expect("a plain path");
        let facts = json(&mpitrace(case, &["doctor", "--json", "--mpi", path], &[]), 1);
        let (problem, reason) = (facts["mpi"][0]["problem"].to_string(), facts["reason"].to_string());
        assert!(problem.contains(expected) && reason.contains(expected), "{facts}");
        assert_refused(&mpitrace(case, &["overhead", "--mpi", path], &[]), "overhead of what crashes");
    }
}

fn overhead(case: &Case) {
    let path = library(case);
    let launcher: Vec<&str> = case.mpi.launcher.iter().filter_map(|word| word.to_str()).collect();
    for behind in [vec![], [&["--"], &launcher[..], &["-np", "1"]].concat()] {
        let words = [&["overhead", "--json", "--mpi", &path, "-e", "messages"], &behind[..]].concat();
        let costs = json(&mpitrace(case, &words, &[]), 0);
        assert_eq!((&costs["path"], &costs["abi"]), (&path.as_str().into(), &case.mpi.abi.into()));
        let messages = &costs["with_counters"]["messages"];
        assert_eq!(messages["counters"].as_array().map(Vec::len), Some(8), "{costs}");
        for of in [&costs, messages] {
            let number = |name: &str| of[name].as_f64().unwrap_or(f64::NAN);
            assert!(number("timestamp_pair_ns") > 0.0 && number("traced_call_ns").is_finite(), "{costs}");
            assert!(number("ratio").is_finite(), "{costs}");
        }
        assert!(costs["untraced_call_ns"].as_f64().is_some_and(|ns| ns > 0.0), "{costs}");
    }
}

fn overhead_of_nothing(case: &Case) {
    let path = library(case);
    let cases: [&[&str]; 4] = [
        &["overhead", "--mpi", "/nonexistent/libmpi.so"],
        &["overhead", "--library", "/nonexistent/libmpitrace.so"],
        &["overhead", "--mpi", &path, "-e", "no-such-event"],
        &["overhead", "--mpi", &path, "--", "/nonexistent/mpirun"],
    ];
    for words in cases {
        assert_refused(&mpitrace(case, words, &[]), &format!("{words:?}"));
    }
}

/// Leftovers of a killed job lie in one of the folders in which the tracer looks.
fn overhead_beside_left_overs(case: &Case) {
    let folder = case.folder.join("temporary");
    fs::create_dir(&folder).expect("a folder");
    case.launch(2, "death.c").arg("kill").set("MPITRACE_SEGMENT_DIR", &folder).trace().run();
    litter::sweep();
    // Open MPI leaves a folder of its own there.
    let is_record = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("mpitrace-");
    let left = || fs::read_dir(&folder).expect("the folder").flatten().filter(is_record).count();
    assert_eq!(left(), 2, "a killed job leaves its live records");
    let path = library(case);
    let variables = [("TMPDIR", folder.to_str().expect("a plain path"))];
    let words = ["overhead", "--mpi", &path, "-e", "no-such-event"];
    assert_refused(&mpitrace(case, &words, &variables), "an event that is none, beside left-overs");
    let costs = mpitrace(case, &["overhead", "--json", "--mpi", &path], &variables);
    assert_eq!((costs.code, left()), (0, 2), "{}", costs.stdout);
    // That the machine is busy may be said.
    assert!(!costs.stderr.contains("recover") && !costs.stderr.contains("left"), "{}", costs.stderr);
}
