//! Names that no shell and no text expects: spaces, newlines, quotes, bytes that are no UTF-8.

use crate::support::companion::mpitrace;
use crate::support::want::WORLD;
use crate::support::{Case, On, Test, build, want};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::process::Command;

/// Open MPI's launcher refuses the name of such a host.
const TOLERANT: On = On::Only(&["mpich4", "mpich5", "mpich5-abi"]);

pub const TESTS: &[Test] = &[
    Test::new("of_program_output_and_live_records_may_be_of_any_bytes", files),
    Test::new("of_communicators_may_be_of_any_bytes", communicator),
    Test::new("of_hosts_may_be_of_any_bytes", host).on(TOLERANT).where_permitted(own_host_name),
];

/// A file's name.
fn odd(ending: &[u8]) -> OsString {
    OsString::from_vec([b"a b\nc\"d' \xff\xfe\x80", ending].concat())
}

fn files(case: &Case) {
    let folder = case.folder.join(odd(b""));
    let segments = case.segments.0.join(odd(b".live"));
    fs::create_dir(&folder).expect("a folder");
    fs::create_dir(&segments).expect("a folder");
    let program = folder.join(odd(b".program"));
    fs::copy(build::program(case.mpi, "repeat.c"), &program).expect("a copy");
    // The launchers themselves take none of these names: `env` does.
    let launch = || case.launch(2, "/usr/bin/env").arg(&program);
    let plain = launch().run();
    assert_eq!(plain.code, 0, "{}{}", plain.stdout, plain.stderr);
    let output = folder.join(odd(b".mpitrace"));
    let mut traced = launch().trace().set("MPITRACE_OUTPUT", &output).set("MPITRACE_SEGMENT_DIR", &segments).run();
    traced.same_as(&plain);
    let said = traced.lines_with("mpitrace");
    assert_eq!(said.len(), 1, "one line, whatever the name\n{}", traced.stderr);
    traced.trace.path.clone_from(&output);
    let info = traced.trace.info();
    info.assert_is(&[want("MPI_Allreduce", WORLD, 2).of(8, "MPI_DOUBLE").by("MPI_SUM").times(10)]);
    assert_eq!(fs::read_dir(&segments).expect("the folder").count(), 0, "live records are left behind");
    fs::remove_dir(&segments).expect("an empty folder");
    let left: Vec<_> = fs::read_dir(&case.folder).expect("the folder").flatten().map(|e| e.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains('\u{fffd}') || *name == odd(b"")), "{left:?}");
    // A trace of that name can be read for every purpose.
    for command in ["info", "dump", "categorize"] {
        let finished = mpitrace(&[OsStr::new(command), output.as_os_str()]);
        assert_eq!(finished.code, 0, "{command}: {}", finished.stderr);
    }
}

fn communicator(case: &Case) {
    let trace = case.traced(2, "odd_name.c");
    let info = trace.info();
    let barrier = info.only("MPI_Barrier");
    assert_eq!((barrier.repetitions, barrier.incomplete, barrier.ranks), (3, 0, 2), "{barrier:?}");
    assert!(barrier.communicator.contains("\"b\"\t'c'"), "{:?}", barrier.communicator);
    // In a table it takes one line.
    let finished = mpitrace(&[OsStr::new("info"), trace.path.as_os_str()]);
    let of_it = |line: &&str| line.contains("MPI_Barrier") && line.contains("\"b\"");
    assert_eq!(finished.stdout.lines().filter(of_it).count(), 1, "{}", finished.stdout);
}

/// Names of hosts are the kernel's, one for each namespace.
fn own_host_name() -> Result<(), String> {
    let tried = Command::new("unshare").args(["--uts", "sh", "-c", "echo a > /proc/sys/kernel/hostname"]).output();
    match tried {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err("no host name of one's own can be had here".to_owned()),
    }
}

fn host(case: &Case) {
    // Without a space, at which MPICH's own protocol between a rank and its launcher breaks.
    let script = String::from("printf 'no-de\\377' > /proc/sys/kernel/hostname && exec \"$@\"");
    let under = ["unshare", "--uts", "sh", "-c", &script, "sh"].map(OsString::from);
    let plain = case.launch(2, "repeat.c").run_under(&under);
    let launch = case.launch(2, "repeat.c").set("MPITRACE_OUTPUT", case.folder.join("of-%h.mpitrace"));
    let mut traced = launch.trace().run_under(&under);
    assert_eq!(plain.code, 0, "{}", plain.stderr);
    traced.same_as(&plain);
    let found: Vec<_> = fs::read_dir(&case.folder).expect("the folder").flatten().map(|e| e.path()).collect();
    let is_trace = |path: &&PathBuf| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"of-no"));
    traced.trace.path.clone_from(found.iter().find(is_trace).unwrap_or_else(|| panic!("no trace in {found:?}")));
    let info = traced.trace.info();
    info.assert_is(&[want("MPI_Allreduce", WORLD, 2).of(8, "MPI_DOUBLE").by("MPI_SUM").times(10)]);
    assert!(info.hosts.keys().all(|host| host.starts_with("no")), "{:?}", info.hosts);
}
