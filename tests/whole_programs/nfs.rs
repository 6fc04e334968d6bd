//! Jobs on two machines whose shared folder is on NFS, which one of them exports and both use as clients: those of
//! tests/machine/nfs/.

use crate::cluster::words;
use crate::counts::calls;
use crate::support::want::{NUMBERED, WORLD};
use crate::support::{Case, On, Outcome, Test, Trace, binaries, companion};
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

pub const TESTS: &[Test] = &[
    Test::new("holds_one_whole_trace_of_both_machines", whole).on(ON).where_permitted(two_machines),
    Test::new("over_quota_is_said_and_no_call_is_lost", over_quota).on(ON).where_permitted(two_machines),
];

/// Debian's MPICH 4 hangs in Finalize between nodes, without any tracer.
const ON: On = On::Only(&["ompi4"]);

/// The machines' own name for what is exported.
const EXPORTED: &str = "/export";

fn two_machines() -> Result<(), String> {
    env::var_os("TESTS_NODES")
        .map(drop)
        .ok_or_else(|| "needs two machines that share a folder by NFS: see tests/machine/nfs/run.sh".to_owned())
}

/// Two ranks of a program on each machine, all of a user without rights.
fn job(case: &Case, program: &[&str], output: Option<&Path>) -> Outcome {
    let user = words(&["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "env", "HOME=/home/tester"]);
    let launcher = [user, case.mpi.launcher.clone(), words(&["--host", "node1:2,node2:2", "-np", "4"])].concat();
    let launch = program[1..].iter().fold(case.launch(4, program[0]), |launch, argument| launch.arg(*argument));
    let launch = match output {
        Some(path) => launch.trace().set("MPITRACE_OUTPUT", path).set("MPITRACE_SEGMENT_DIR", "/dev/shm"),
        None => launch,
    };
    launch.run_by(&launcher)
}

/// A folder on NFS that the user may write.
fn shared(case: &Case) -> PathBuf {
    let folder = case.folder.join("shared");
    fs::create_dir_all(&folder).expect("a folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("the folder is ours");
    folder
}

fn names(folder: &Path) -> Vec<OsString> {
    fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.file_name()).collect()
}

/// The output of a command on a machine.
fn on(machine: &str, command: &[OsString]) -> String {
    let told = Command::new("ssh").arg(machine).args(command).output().expect("ssh starts");
    assert!(told.status.success(), "{command:?} on {machine}: {}", String::from_utf8_lossy(&told.stderr));
    String::from_utf8_lossy(&told.stdout).into_owned()
}

#[track_caller]
fn assert_nothing_in_memory() {
    for machine in ["node1", "node2"] {
        let left = on(machine, &words(&["ls", "/dev/shm"]));
        // But for the folder of the test itself.
        let ours = |name: &&str| name.starts_with("mpitrace") && !name.starts_with("mpitrace-test-");
        assert_eq!(left.lines().find(ours), None, "on {machine}");
    }
}

fn whole(case: &Case) {
    let mounts = fs::read_to_string("/proc/mounts").expect("the mounts");
    assert!(mounts.lines().any(|line| line.contains(" /stage nfs4 ")), "{mounts}");
    let program = ["counts.c"];
    let plain = job(case, &program, None);
    let folder = shared(case);
    let path = folder.join("run.mpitrace");
    let traced = job(case, &program, Some(&path));
    traced.same_as(&plain);
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    assert_eq!(traced.lines_with("mpitrace: ").len(), 1, "{}", traced.stderr);
    assert_eq!(names(&folder), ["run.mpitrace"]);
    let info = Trace::new(path.clone()).info();
    info.assert_is(&[calls(WORLD, 4, 1), calls(NUMBERED, 2, 0), calls(NUMBERED, 2, 0)].concat());
    assert!(info.complete && info.missing.is_empty(), "{info:?}");
    let hosts: BTreeMap<String, Vec<u64>> = [("node1".to_owned(), vec![0, 1]), ("node2".to_owned(), vec![2, 3])].into();
    assert_eq!(info.hosts, hosts);
    // The other machine reads the same file.
    let dump = [binaries::companion().into_os_string(), "dump".into(), "--csv".into(), path.into_os_string()];
    let [here, there] = ["node1", "node2"].map(|machine| on(machine, &dump));
    assert!(here.lines().count() > 4 * 66 && here == there, "{} and {} bytes", here.len(), there.len());
    assert_nothing_in_memory();
}

/// The limit on what a user may store on the exported file system, KiB; none once this is dropped.
struct Quota;

impl Quota {
    fn new(kib: u64) -> Self {
        Self::set(kib);
        Self
    }

    fn set(kib: u64) {
        let mut command = Command::new("setquota");
        command.args(["-u", "tester", "0", &kib.to_string(), "0", "0", EXPORTED]);
        assert!(command.status().expect("setquota starts").success(), "{command:?}");
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        Self::set(0);
    }
}

/// There is room for the files by which ranks find each other, and not for the trace.
fn over_quota(case: &Case) {
    let program = ["ticking.c", "1000"];
    let plain = job(case, &program, None);
    let folder = shared(case);
    let path = folder.join("run.mpitrace");
    let free = job(case, &program, Some(&path));
    assert_eq!(free.code, 0, "{}", free.stderr);
    // In blocks of 512 bytes.
    let kib = fs::metadata(&path).expect("a trace").blocks() / 2;
    assert!(kib >= 128, "{kib} KiB are too few to leave room for anything else");
    fs::remove_file(&path).expect("a trace");

    let quota = Quota::new(kib / 2);
    let traced = job(case, &program, Some(&path));
    drop(quota);
    traced.same_as(&plain);
    let said = traced.lines_with("cannot write");
    assert_eq!((said.len(), traced.lines_with("mpitrace: rank").len()), (1, 1), "{}", traced.stderr);
    assert!(said[0].contains("run.mpitrace: Disk quota exceeded") && said[0].contains("mpitrace recover"), "{said:?}");
    assert_eq!(names(&folder), Vec::<OsString>::new());

    let parts = ["node1", "node2"].map(|machine| {
        let part = folder.join(machine).with_extension("mpitrace");
        let companion = binaries::companion().into_os_string();
        on(machine, &[companion, "recover".into(), "/dev/shm".into(), "-o".into(), part.clone().into()]);
        part.into_os_string()
    });
    let info = companion::mpitrace(&[words(&["info", "--json"]), parts.to_vec()].concat());
    let info = companion::json(&info);
    assert_eq!((&info["ranks"], &info["records"]), (&4.into(), &(1000 * 4).into()), "{info}");
    assert_nothing_in_memory();
}
