//! Jobs on virtual nodes whose shared folder is a network file system, or one that is full: the trace is one whole
//! file, or nothing is lost and one line says so.

use crate::cluster::{
    BETWEEN_NODES, assert_nothing_left, assert_one_trace, assert_same, permitted, run_on, script, srun, test, traces,
    untraced, words,
};
use crate::support::{Case, Launch, TARGET, Test, Trace, binaries, companion};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A test with file systems in user space.
const fn mounted(name: &'static str, run: fn(&Case)) -> Test {
    Test::new(name, run).on(BETWEEN_NODES).where_permitted(mounts_permitted)
}

pub const TESTS: &[Test] = &[
    mounted("with_close_to_open_caching_hold_one_trace", |case| through(case, "bindfs")).second_tier(),
    mounted("over_sftp_hold_one_trace", |case| through(case, "sshfs")).second_tier(),
    mounted("that_are_full_at_close_lose_nothing", full_at_close).second_tier(),
    test("that_cannot_be_written_lose_nothing", read_only).second_tier(),
];

pub fn mounts_permitted() -> Result<(), String> {
    if !Path::new("/dev/fuse").exists() {
        return Err("there is no /dev/fuse".to_owned());
    }
    permitted()
}

/// The variables by which the nodes see the folder of the test through another file system.
fn cluster_with(case: &Case, mount: &str, limit: Option<u64>) -> Vec<OsString> {
    let mut variables = words(&[&format!("MOUNT={mount}"), &format!("SHARED={}", shared(case).display())]);
    variables.extend(limit.map(|limit| format!("MOUNT_LIMIT={limit}").into()));
    variables
}

/// The folder that the nodes share in that way. The cluster's own files lie beside it.
fn shared(case: &Case) -> PathBuf {
    let folder = case.folder.join("shared");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn launch<'c>(case: &'c Case<'_>) -> Launch<'c> {
    case.launch(6, "counts.c").trace().set("MPITRACE_OUTPUT", shared(case).join("run.mpitrace"))
}

/// Twice under one name, which the nodes have seen before.
fn through(case: &Case, file_system: &str) {
    let plain = untraced(case, &srun(case, &[]));
    let mount = format!("{} {file_system}", script("close_to_open.sh").display());
    let both = words(&["bash", "-c", "\"$@\" >/dev/null && rm $0/run.mpitrace && \"$@\""]);
    let twice = [both, vec![shared(case).into_os_string()], srun(case, &[])].concat();
    // Slurm gives the step's folders to the ranks: all ask the file system for the same name again.
    let mut traced = run_on(case, &cluster_with(case, &mount, None), &twice, launch(case));
    assert_same(&traced, &plain, 6);
    // On a busy machine a rank may be late for a synchronisation of the clocks, which is said in a line of its own.
    let said: Vec<String> = traced.lines_with("traced into").into_iter().map(str::to_owned).collect();
    assert_eq!(said.len(), 2, "one line of each run\n{}", traced.stderr);
    assert_eq!(
        traced.lines_with("mpitrace: ").len(),
        2 + traced.lines_with("were abandoned").len(),
        "{}",
        traced.stderr
    );
    // The first trace was removed on another node: this one may still see it, and then takes the next number.
    let left: Vec<_> = fs::read_dir(shared(case)).expect("the folder").flatten().map(|entry| entry.path()).collect();
    assert_eq!(left.len(), 1, "{left:?}\n{}", traced.stderr);
    fs::rename(&left[0], case.folder.join("run.mpitrace")).expect("the trace");
    traced.trace = Trace::new(case.folder.join("run.mpitrace"));
    traced.stderr = said[1].clone();
    assert_one_trace(case, &traced, &[2, 2, 2]);
}

/// The file system of tests/cluster/quota_at_close.c.
fn quota_at_close() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let program = TARGET.join("tests/quota_at_close");
        let options = Command::new("pkg-config").args(["--cflags", "--libs", "fuse3"]).output().expect("pkg-config");
        let options = String::from_utf8_lossy(&options.stdout).into_owned();
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(script("quota_at_close.c"));
        assert!(compiler.args(options.split_whitespace()).status().expect("a compiler").success());
        program
    };
    BUILT.get_or_init(build).clone()
}

/// The limit is between the parts of the first node's ranks and those of the last one's: so only some ranks learn of
/// it.
fn full_at_close(case: &Case) {
    let plain = untraced(case, &srun(case, &[]));
    let free = run_on(case, &[], &srun(case, &[]), launch(case));
    assert_eq!(free.code, 0, "{}", free.stderr);
    let file = shared(case).join("run.mpitrace");
    let half = fs::metadata(&file).expect("a trace").len() / 2;
    fs::remove_file(&file).expect("a trace");

    let mount = quota_at_close().display().to_string();
    // On each node, then, what is kept becomes a trace.
    let companion = binaries::companion();
    let recover = format!("{} recover /dev/shm -o {}/$node.mpitrace", companion.display(), case.folder.display());
    let line = format!("\"$@\"; code=$?; for node in n1 n2 n3; do at $node {recover} >/dev/null; done; exit $code");
    let launcher = [words(&["bash", "-c", &line, "run"]), srun(case, &[])].concat();
    let traced = run_on(case, &cluster_with(case, &mount, Some(half)), &launcher, launch(case));
    assert_same(&traced, &plain, 6);
    let said = traced.lines_with("cannot write");
    assert_eq!((said.len(), traced.lines_with("mpitrace: rank").len()), (1, 1), "{}", traced.stderr);
    assert!(said[0].contains("run.mpitrace: Disk quota exceeded") && said[0].contains("mpitrace recover"), "{said:?}");
    let left: Vec<_> =
        fs::read_dir(shared(case)).expect("the folder").flatten().map(|entry| entry.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
    let files = traces(case);
    assert_eq!(files.len(), 3, "{}", traced.stderr);
    let info = companion::mpitrace(&[words(&["info", "--json"]), files.iter().map(OsString::from).collect()].concat());
    let info = companion::json(&info);
    // With a call that splits the world and one that frees the half.
    assert_eq!((&info["ranks"], &info["records"]), (&6.into(), &(68 * 6).into()), "{info}");
    assert_nothing_left(case);
}

/// A folder in which nothing can be made: the ranks do not find each other, and nothing can be written at the end.
fn read_only(case: &Case) {
    let plain = untraced(case, &srun(case, &[]));
    let launch = case.launch(6, "counts.c").trace().set("MPITRACE_OUTPUT", "/proc/trace.mpitrace");
    let traced = run_on(case, &[], &srun(case, &[]), launch);
    assert_same(&traced, &plain, 6);
    let said = traced.lines_with("/proc is not one folder for all nodes");
    assert_eq!(said.len(), 3, "one of each node\n{}", traced.stderr);
    assert_eq!(traced.lines_with("the records of all ranks are kept").len(), 6, "{}", traced.stderr);
}
