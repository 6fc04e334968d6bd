//! `mpitrace run` and `mpitrace doctor` on several nodes.

use crate::cluster::{
    assert_one_trace, assert_same, cluster_folder, over_at, own_launcher, run_on, script, srun, test, untraced, words,
};
use crate::support::process::{self, Finished};
use crate::support::{Case, On, Outcome, TARGET, Test, Trace, binaries, root, tracer};
use serde_json::Value;
use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

/// One of each family.
const FAMILIES: On = On::Only(&["ompi5", "mpich5", "impi"]);

pub const TESTS: &[Test] = &[
    test("by_srun_gives_one_trace", |case| one_trace(case, &[], &srun(case, &[]))).second_tier(),
    test("in_a_batch_job_gives_one_trace", |case| one_trace(case, &batch(), &own_launcher(case))).second_tier(),
    test("in_an_allocation_gives_one_trace", |case| one_trace(case, &allocation(), &own_launcher(case))).second_tier(),
    test("without_a_batch_system_gives_one_trace", |case| one_trace(case, &[], &over_at(case))).second_tier(),
    test("doctor_tries_two_ranks_on_two_nodes", doctor_tries).on(FAMILIES).second_tier(),
    test("doctor_names_the_node_that_lacks_the_tracer", doctor_lacks).on(On::Only(&["mpich5"])).second_tier(),
    test("doctor_names_a_folder_that_is_not_shared", doctor_not_shared).on(On::Only(&["mpich5"])).second_tier(),
];

fn batch() -> Vec<OsString> {
    [vec![script("batch.sh").into()], words(&["-N3", "--ntasks-per-node=2", "--"])].concat()
}

fn allocation() -> Vec<OsString> {
    words(&["salloc", "-Q", "-N3", "--ntasks-per-node=2"])
}

/// `mpitrace run` between what makes the job and the launcher of its ranks. Only they may have the tracer.
fn one_trace(case: &Case, before: &[OsString], launcher: &[OsString]) {
    let plain = untraced(case, &[before, launcher].concat());
    let path = case.folder.join("by-run.mpitrace");
    let run: Vec<OsString> =
        vec![binaries::companion().into(), "run".into(), "-o".into(), path.clone().into(), "--".into()];
    let launch = case.launch(6, "counts.c").behind(&[script("ancestors.sh").into()]);
    let outcome = run_on(case, &[], &[before, &run, launcher].concat(), launch);
    let outcome = Outcome { trace: Trace::at(path), ..outcome };
    assert_same(&outcome, &plain, 6);
    assert_one_trace(case, &outcome, &[2, 2, 2]);
}

/// Runs a script on the head of a cluster; $0 is the MPI library, $1 the companion, $2 the tracer.
fn on_head(case: &Case, text: &str) -> Finished {
    let library = case.launch(2, "counts.c").trace().run().trace.info().factors["library_file"].clone();
    let mut command = Command::new(script("cluster.sh"));
    command
        .arg(cluster_folder(case))
        .args(["bash", "-euc", text])
        .arg(library)
        .arg(binaries::companion())
        .arg(tracer());
    command.envs(case.mpi.environment.iter().map(|(name, value)| (name, value)));
    command.env("KEEP", format!("{} {}", root().display(), TARGET.display())).env_remove("LD_PRELOAD");
    command.env("I_MPI_FABRICS", "shm:ofi").env("FI_PROVIDER", "tcp").current_dir(&case.folder);
    process::run(command, &case.folder.join("output"), Duration::from_secs(110))
}

#[track_caller]
fn facts(finished: &Finished, code: i32) -> Value {
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert_eq!(finished.code, code, "{said}");
    crate::support::companion::json(finished)
}

fn doctor_tries(case: &Case) {
    let finished = on_head(case, "salloc -Q -N3 --ntasks-per-node=2 \"$1\" doctor --json --mpi \"$0\"");
    let facts = facts(&finished, 0);
    assert_eq!((&facts["works"], &facts["reason"]), (&Value::Bool(true), &Value::Null));
    let allocation = &facts["allocation"];
    assert_eq!((&allocation["system"], &allocation["job_nodes"]), (&"Slurm".into(), &3.into()));
    let launchers = allocation["launchers"].as_array().expect("a list");
    assert_eq!(launchers.len(), 2, "Slurm's and the library's own: {allocation}");
    for tried in launchers {
        let trace = &tried["trace"];
        assert_eq!((&trace["ranks"], &trace["clock_domains"]), (&2.into(), &2.into()), "{tried}");
        let hosts: Vec<_> = tried["nodes"].as_array().expect("nodes").iter().map(|node| node["host"].clone()).collect();
        assert_eq!((hosts.len(), &tried["problem"]), (2, &Value::Null), "{tried}");
        assert_ne!(hosts[0], hosts[1], "{tried}");
    }
    // Slurm's default here is to serve no library.
    assert!(launchers[0]["command"].as_str().is_some_and(|command| command.contains("srun --mpi=pm")), "{allocation}");
}

fn doctor_lacks(case: &Case) {
    let text = "
        install() { mkdir -p /tmp/tools && cp \"$1\" \"$2\" /tmp/tools; }
        install \"$@\"
        at n1 mkdir /tmp/tools
        at n1 cp \"$@\" /tmp/tools
        salloc -Q -w n1,n2 -N2 /tmp/tools/mpitrace doctor --json --mpi \"$0\"";
    let facts = facts(&on_head(case, text), 1);
    let reason = facts["reason"].as_str().expect("a reason");
    assert!(reason.contains("n2 lacks /tmp/tools/libmpitrace.so: each node must find it"), "{reason}");
}

fn doctor_not_shared(case: &Case) {
    let text = "
        for node in n1 n2; do at $node mkdir /tmp/private; done
        mkdir /tmp/private
        MPITRACE_OUTPUT=/tmp/private/a.mpitrace salloc -Q -N2 \"$1\" doctor --json --mpi \"$0\"";
    let facts = facts(&on_head(case, text), 1);
    let reason = facts["reason"].as_str().expect("a reason");
    assert!(reason.contains(" does not share /tmp/private: name a folder that all nodes share"), "{reason}");
}
