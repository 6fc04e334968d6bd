//! Jobs on virtual nodes of which some ranks are not traced, or cannot find each other: each ends as without the
//! tracer, the traced ranks keep what they have, and one line says so.

use crate::cluster::{assert_nothing_left, assert_same, over_at, run_on, srun, test, traces, untraced, words};
use crate::support::companion::{self, mpitrace};
use crate::support::{Case, Outcome, Test, tracer};
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

pub const TESTS: &[Test] = &[
    test("with_another_version_on_one_node_ends", another_version).second_tier(),
    test("with_the_tracer_disabled_on_one_rank_ends", disabled_on_one_rank).second_tier(),
    test("with_folders_of_their_own_leaves_parts_of_one_run", not_shared).second_tier(),
    test("that_is_stated_to_be_traced_joins_clocks_without_a_shared_folder", stated).second_tier(),
    test("with_other_output_names_on_some_ranks_takes_that_of_rank_0", differing_names).second_tier(),
];

/// A shell's line that a rank executes before its program, and that may change its environment.
fn first(line: &str) -> Vec<OsString> {
    words(&["bash", "-c", &format!("{line}; exec \"$@\""), "rank"])
}

/// Each node has a folder of this name.
const OWN_FOLDER: &str = "mkdir -p /tmp/own";

/// The parts of one run are one trace of the ranks that were traced.
#[track_caller]
fn assert_parts_of_one_run(files: &[PathBuf], ranks: usize) {
    let arguments: Vec<OsString> =
        [words(&["info", "--json"]), files.iter().map(|file| file.clone().into_os_string()).collect()].concat();
    let info = mpitrace(&arguments);
    assert_eq!(info.code, 1, "ranks are missing\n{}{}", info.stdout, info.stderr);
    let info = companion::json(&info);
    let hosts = info["hosts"].as_object().expect("hosts");
    let found: usize = hosts.values().map(|ranks| ranks.as_array().map_or(0, Vec::len)).sum();
    assert_eq!((found, info["ranks"].as_u64()), (ranks, Some(6)), "{info}");
}

/// One line in the beginning, one at the end, whichever rank's they are.
#[track_caller]
fn assert_said_once(traced: &Outcome) {
    assert_eq!(traced.lines_with("of 6 ranks were found to be traced").len(), 1, "{}", traced.stderr);
    assert_eq!(traced.lines_with("mpitrace: ").len(), 2, "{}", traced.stderr);
}

/// A library of another version: its ranks count as having none, and it counts the others so.
fn another_version(case: &Case) {
    let version = env!("CARGO_PKG_VERSION");
    let other = version.replace(|digit: char| digit.is_ascii_digit(), "7");
    assert_ne!(version, other);
    let mut bytes = fs::read(tracer()).expect("the tracer");
    // The version stands before the blank that ends it in the job's name, wherever the compiler has put it.
    let places: Vec<usize> =
        bytes.windows(version.len()).enumerate().filter(|(_, w)| *w == version.as_bytes()).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "the library has its version in it");
    for at in places {
        bytes[at..at + other.len()].copy_from_slice(other.as_bytes());
    }
    let library = case.folder.join("libmpitrace.so");
    fs::write(&library, bytes).expect("a copy of the tracer");
    let line = format!("[ $(hostname) != n2 ] || export LD_PRELOAD={}", library.display());
    let plain = untraced(case, &srun(case, &[]));
    let launch = case.launch(6, "counts.c").behind(&first(&line)).trace();
    let traced = run_on(case, &[], &srun(case, &[]), launch);
    assert_same(&traced, &plain, 6);
    assert_eq!(traces(case).len(), 6, "{}", traced.stderr);
    assert_eq!(
        traced.lines_with("of 6 ranks were found to be traced").len(),
        2,
        "one for each version\n{}",
        traced.stderr
    );
    assert_nothing_left(case);
}

fn disabled_on_one_rank(case: &Case) {
    let plain = untraced(case, &srun(case, &[]));
    let line = "[ \"${PMIX_RANK:-${SLURM_PROCID}}\" != 3 ] || export MPITRACE_DISABLE=1";
    let traced = run_on(case, &[], &srun(case, &[]), case.launch(6, "counts.c").behind(&first(line)).trace());
    assert_same(&traced, &plain, 6);
    assert_eq!(traces(case).len(), 5, "{}", traced.stderr);
    assert_said_once(&traced);
    assert_parts_of_one_run(&traces(case), 5);
    assert_nothing_left(case);
}

/// The launcher, and then what the nodes have written in a folder of their own is copied to the test's.
fn and_copy(case: &Case, launcher: &[OsString]) -> Vec<OsString> {
    let folder = case.folder.display();
    let line = format!(
        "\"$@\"; code=$?; for node in n1 n2 n3; do at $node cp -n /tmp/own/*.mpitrace {folder}; done; exit $code"
    );
    [words(&["bash", "-c", &line, "run"]), launcher.to_vec()].concat()
}

/// Nothing proves that the ranks of the other nodes are traced: each rank writes a file, and the files are of one
/// node's ranks each.
fn not_shared(case: &Case) {
    let plain = untraced(case, &srun(case, &[]));
    let launch = case.launch(6, "counts.c").behind(&first(OWN_FOLDER)).trace();
    let launch = launch.set("MPITRACE_OUTPUT", "/tmp/own/trace.mpitrace");
    let traced = run_on(case, &[], &and_copy(case, &srun(case, &[])), launch);
    assert_same(&traced, &plain, 6);
    assert_eq!(traces(case).len(), 6, "{}", traced.stderr);
    let said = traced.lines_with("/tmp/own is not one folder for all nodes");
    assert_eq!(said.len(), 3, "one of each node\n{}", traced.stderr);
}

/// With the user's word for it the clocks are joined, and each node writes a file.
fn stated(case: &Case) {
    let launcher = over_at(case);
    let plain = untraced(case, &launcher);
    let launch = case
        .launch(6, "counts.c")
        .behind(&first(OWN_FOLDER))
        .trace()
        .set("MPITRACE_OUTPUT", "/tmp/own/trace.mpitrace")
        .set("MPITRACE_JOINT", "1");
    let traced = run_on(case, &[], &and_copy(case, &launcher), launch);
    assert_same(&traced, &plain, 6);
    assert_eq!(traces(case).len(), 3, "{}", traced.stderr);
    let said = traced.lines_with("the folder is not one for all nodes: each node has written such a file");
    assert_eq!((said.len(), traced.lines_with("mpitrace: ").len()), (1, 1), "{}", traced.stderr);
    let files = traces(case);
    let info = mpitrace(&[words(&["info", "--json"]), files.iter().map(OsString::from).collect()].concat());
    assert_eq!(info.code, 0, "{}{}", info.stdout, info.stderr);
    let info = companion::json(&info);
    // With a call that splits the world and one that frees the half.
    assert_eq!((&info["complete"], &info["records"]), (&true.into(), &(68 * 6).into()), "{info}");
    assert_eq!(info["clock"]["domains"].as_array().map(Vec::len), Some(3), "{info}");
    let clock = mpitrace(&[words(&["clock"]), files.iter().map(OsString::from).collect()].concat());
    assert_eq!(clock.code, 0, "{}{}", clock.stdout, clock.stderr);
}

fn differing_names(case: &Case) {
    let plain = untraced(case, &srun(case, &[]));
    let [of_first, other] = ["first", "other"].map(|name| case.folder.join(format!("{name}.mpitrace")));
    let line = format!("[ $(hostname) = n1 ] || export MPITRACE_OUTPUT={}", other.display());
    let launch = case.launch(6, "counts.c").behind(&first(&line)).trace().set("MPITRACE_OUTPUT", &of_first);
    let traced = run_on(case, &[], &srun(case, &[]), launch);
    assert_same(&traced, &plain, 6);
    assert_eq!(traces(case), [of_first], "{}", traced.stderr);
    assert_eq!(traced.lines_with("MPITRACE_OUTPUT is not the same on all ranks").len(), 1, "{}", traced.stderr);
    assert_eq!(traced.lines_with("mpitrace: ").len(), 2, "{}", traced.stderr);
}
