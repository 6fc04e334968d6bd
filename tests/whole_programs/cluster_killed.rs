//! Jobs on several nodes that are killed: what their ranks left on the nodes becomes one trace. See
//! tests/cluster/killed.sh.

use crate::cluster::{assert_nothing_left, over_at, permitted, run_on, script, srun, test, traces};
use crate::cluster_folders::mounts_permitted;
use crate::support::{Case, On, Outcome, Test, Trace, binaries, companion};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// One of each family.
const FAMILIES: On = On::Only(&["ompi5", "mpich5", "impi"]);

pub const TESTS: &[Test] = &[
    test("by_scancel_are_recovered_by_a_later_job", |case| recovered(case, "cancel")).second_tier(),
    test("at_the_time_limit_are_recovered_by_a_later_job", |case| recovered(case, "limit")).on(FAMILIES).second_tier(),
    test("before_the_time_limit_recover_by_themselves", |case| recovered(case, "warned")).on(FAMILIES).second_tier(),
    test("by_scancel_end_when_the_account_of_slurm_says", accounted)
        .on(On::Only(&["mpich5"]))
        .where_permitted(has_accounts)
        .second_tier(),
    test("by_scancel_are_recovered_by_an_epilogue", |case| recovered(case, "epilogue")).on(FAMILIES).second_tier(),
    test("over_close_to_open_caching_are_recovered_by_a_later_job", over_bindfs)
        .on(On::Only(&["mpich5"]))
        .where_permitted(mounts_permitted)
        .second_tier(),
    test("with_a_node_leave_a_trace_that_names_its_ranks", lost_node).on(FAMILIES).second_tier(),
];

/// Runs endless.c until it is killed and recovered in this way; returns the trace.
fn kill(case: &Case, how: &str, launcher: &[OsString]) -> (Outcome, Trace) {
    kill_on(case, &case.folder, &[], how, launcher)
}

/// Runs endless.c as [`kill`], with the trace in this folder, on a cluster with these variables.
fn kill_on(case: &Case, folder: &Path, variables: &[OsString], how: &str, launcher: &[OsString]) -> (Outcome, Trace) {
    let trace = folder.join("recovered.mpitrace");
    let companion = binaries::companion();
    let epilogue = case.folder.join("epilogue");
    let recover = format!("{} recover --ended -o {}", companion.display(), trace.display());
    fs::write(&epilogue, format!("#!/bin/bash\nrunuser -u \"$SLURM_JOB_USER\" -- {recover} || true\n"))
        .expect("an epilogue");
    fs::set_permissions(&epilogue, fs::Permissions::from_mode(0o755)).expect("an epilogue that can be run");
    let mut cluster = variables.to_vec();
    if how == "epilogue" {
        cluster.push(format!("EPILOGUE={}", epilogue.display()).into());
    }
    let mut before = vec![script("killed.sh").into(), how.into(), companion.into(), trace.clone().into()];
    before.extend_from_slice(launcher);
    let launch = case.launch(6, "endless.c").arg(folder).trace();
    (run_on(case, &cluster, &before, launch), Trace::new(trace))
}

/// The records of all ranks but those of the dead nodes: 50 calls that returned, and the one that they were in.
#[track_caller]
fn assert_recovered(case: &Case, outcome: &Outcome, trace: &Trace, ranks: &[u64]) {
    let said = format!("{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.code, 0, "{said}");
    assert!(outcome.lines_with("left behind").is_empty() && !outcome.stdout.contains("left behind"), "{said}");
    assert_eq!(traces(case).as_slice(), std::slice::from_ref(&trace.path), "{said}");
    assert_nothing_left(case);
    let info = trace.info();
    let by_host: Vec<u64> = info.hosts.values().flatten().copied().collect();
    assert_eq!((info.complete, info.ranks, by_host.as_slice()), (false, 6, ranks), "{said}");
    for &rank in ranks {
        let in_a_call = if rank == 1 { vec![] } else { vec![50] };
        assert_eq!(trace.repetitions(0, rank), ((0..50).collect(), in_a_call), "rank {rank}");
    }
    let (code, clock) = trace.clock();
    assert_eq!((code, clock.method.as_str(), clock.domains.len()), (0, "joint", ranks.len() / 2), "{clock:?}");
}

fn recovered(case: &Case, how: &str) {
    let (outcome, trace) = kill(case, how, &srun(case, &[]));
    assert_recovered(case, &outcome, &trace, &[0, 1, 2, 3, 4, 5]);
    assert_eq!(trace.info().missing, Vec::<u64>::new());
    if how == "epilogue" {
        let words = ["info".as_ref(), "--json".as_ref(), trace.path.as_os_str()];
        let info: serde_json::Value = serde_json::from_str(&companion::mpitrace(&words).stdout).expect("JSON");
        let ends = info["ends"].as_array().expect("ends");
        assert!(ends.len() == 6 && ends.iter().all(|end| end["how"] == "job"), "{ends:?}");
    }
}

fn has_accounts() -> Result<(), String> {
    let is_here = |program: &str| Path::new("/usr/sbin").join(program).exists();
    if is_here("slurmdbd") && is_here("mariadbd") {
        permitted()
    } else {
        Err("no slurmdbd or no mariadb-server-core".into())
    }
}

/// Its nodes are asked later, and told when it ended by `sacct`.
fn accounted(case: &Case) {
    let (outcome, trace) = kill_on(case, &case.folder, &["ACCOUNTING=1".into()], "account", &srun(case, &[]));
    assert_recovered(case, &outcome, &trace, &[0, 1, 2, 3, 4, 5]);
    let words = ["info".as_ref(), "--json".as_ref(), trace.path.as_os_str()];
    let info: serde_json::Value = serde_json::from_str(&companion::mpitrace(&words).stdout).expect("JSON");
    let ended = fs::read_to_string(case.folder.join("ended")).expect("the date of sacct");
    let ended: f64 = ended.trim().parse().expect("seconds since 1970");
    let start = info["factors"]["start_time"].as_str().expect("the start");
    let mut date = Command::new("date");
    date.args(["-d", start, "+%s"]);
    let start = String::from_utf8(date.output().expect("date").stdout).expect("a number");
    let start: f64 = start.trim().parse().expect("seconds since 1970");
    for end in info["ends"].as_array().expect("ends") {
        let at = start + end["at_s"].as_f64().expect("a time");
        // Both dates are whole seconds, and ranks enter MPI_Init one after the other.
        assert!(end["how"] == "job" && (at - ended).abs() < 3.0, "{at}, {ended}: {end}");
    }
}

/// The nodes remember names and sizes in the folder of the trace for 5 s.
fn over_bindfs(case: &Case) {
    let shared = case.folder.join("shared");
    fs::create_dir(&shared).expect("a folder");
    let mount = format!("MOUNT={} bindfs", script("close_to_open.sh").display());
    let variables = [mount.into(), format!("SHARED={}", shared.display()).into()];
    let (outcome, trace) = kill_on(case, &shared, &variables, "cancel", &srun(case, &[]));
    let left = fs::read_dir(&shared).expect("the folder").flatten().map(|entry| entry.file_name().into_string());
    let left: Vec<String> = left.map(|name| name.expect("a plain name")).collect();
    assert!(left.iter().all(|name| !name.contains("joining") && !name.starts_with('.')), "{left:?}");
    let path = case.folder.join("recovered.mpitrace");
    fs::rename(&trace.path, &path).expect("the trace");
    assert_recovered(case, &outcome, &Trace::new(path), &[0, 1, 2, 3, 4, 5]);
}

fn lost_node(case: &Case) {
    let (outcome, trace) = kill(case, "node", &over_at(case));
    assert_recovered(case, &outcome, &trace, &[0, 1, 2, 3]);
    assert_eq!(trace.info().missing, [4, 5]);
}
