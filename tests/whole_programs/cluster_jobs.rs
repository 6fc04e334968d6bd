//! Jobs on virtual nodes in the ways in which a batch system can start them: what is started together is one trace, and
//! the traces say of which job they are.

use crate::cluster::{
    assert_nothing_left, assert_one_trace, assert_same, is_open_mpi, over_at, own_launcher, run_on, srun, test, traces,
    untraced, words,
};
use crate::support::{Case, On, Test, Trace, tracer};
use std::ffi::OsString;
use std::path::Path;

pub const TESTS: &[Test] = &[
    test("of_two_programs_are_one_trace", heterogeneous).second_tier(),
    test("in_a_job_array_have_its_index", array).second_tier(),
    test("after_each_other_in_one_allocation_are_two_traces", second_step).second_tier(),
    test("that_spawn_a_world_on_other_nodes_are_two_traces", spawned)
        .on(On::Only(&["mpich5", "mpich5-abi", "impi", "impi-abi"]))
        .second_tier(),
];

/// A step with two components: two ranks of one command, and four of another, are one MPI_COMM_WORLD.
fn heterogeneous(case: &Case) {
    let interface = if is_open_mpi(case.mpi) { "--mpi=pmix" } else { "--mpi=pmi2" };
    // srun takes the words after a colon for those of the next component.
    let line = format!("srun {interface} -N1 -n2 \"$@\" : -N2 -n4 --ntasks-per-node=2 \"$@\"");
    let launcher = words(&["bash", "-c", &line, "run"]);
    let plain = untraced(case, &launcher);
    let traced = run_on(case, &[], &launcher, case.launch(6, "counts.c").trace());
    assert_same(&traced, &plain, 6);
    assert_one_trace(case, &traced, &[2, 2, 2]);
}

/// The tasks of an array have names of their own, and say which they are.
fn array(case: &Case) {
    let folder = case.folder.display().to_string();
    let submit = [
        "bash",
        "-c",
        // Both tasks run at once; the job is over when both have left a file.
        "printf '#!/bin/bash\\n%s; echo $? >%q/code.$SLURM_ARRAY_TASK_ID\\n' \"$(printf '%q ' \"$@\")\" \"$0\" >\"$0/job\"; \
         sbatch --parsable -a 3-4 -N3 --ntasks-per-node=2 -O -o \"$0/task.%a\" \"$0/job\" >\"$0/number\"; \
         until [ -e \"$0/code.3\" ] && [ -e \"$0/code.4\" ]; do sleep 0.1; done; \
         cat \"$0/task.3\" \"$0/task.4\" >&2; exit $(($(cat \"$0/code.3\") + $(cat \"$0/code.4\")))",
        &folder,
    ];
    let launcher = [words(&submit), own_launcher(case)].concat();
    let launch =
        case.launch(6, "counts.c").trace().set("MPITRACE_OUTPUT", Path::new(&folder).join("task-%a-%r.mpitrace"));
    let traced = run_on(case, &[], &launcher, launch);
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    for index in [3, 4] {
        let info = Trace::new(case.folder.join(format!("task-{index}-0.mpitrace"))).info();
        assert_eq!((info.complete, info.ranks, info.records), (true, 6, 66 * 6), "{}", traced.stderr);
        let factor = |name: &str| info.factors.get(name).map(String::as_str);
        assert_eq!(factor("batch_system"), Some("Slurm"));
        assert_eq!(factor("job_array_index"), Some(&*index.to_string()));
        assert_eq!(factor("job_nodes"), Some("n[1-3]"));
        assert!(factor("job").is_some_and(|job| job.parse::<u32>().is_ok()), "{:?}", info.factors);
    }
    assert_nothing_left(case);
}

/// Both have the job's number in the name that they ask for.
fn second_step(case: &Case) {
    let step = srun(case, &[]).iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
    let line = format!("{step} \"$@\" && {step} \"$@\"");
    let launcher = words(&["salloc", "-Q", "-N3", "--ntasks-per-node=2", "bash", "-c", &line, "both"]);
    let launch = case.launch(6, "counts.c").trace().set("MPITRACE_OUTPUT", case.folder.join("job-%j.mpitrace"));
    let traced = run_on(case, &[], &launcher, launch);
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    let files = traces(case);
    assert_eq!(files.len(), 2, "{}", traced.stderr);
    let mut steps: Vec<String> = Vec::new();
    for file in &files {
        let info = Trace::new(file.clone()).info();
        assert_eq!((info.complete, info.ranks, info.records), (true, 6, 66 * 6), "{}", traced.stderr);
        steps.extend(info.factors.get("job_step").cloned());
    }
    steps.sort_unstable();
    assert_eq!(steps, ["0", "1"]);
    let numbered = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".2.mpitrace"));
    assert_eq!(files.iter().filter(|file| numbered(file)).count(), 1, "{files:?}");
    assert_nothing_left(case);
}

/// The world that is spawned gets its environment from the launcher, and writes a trace of its own, with the next
/// number.
///
/// In a batch job MPICH 5's hydra ends with a failed assertion there, and Open MPI 5's launcher with "invalid pointer",
/// without the tracer too; Open MPI has no option that reaches ranks which are spawned on another node.
fn spawned(case: &Case) {
    // Two ranks on different nodes spawn two more.
    let numbers = |word: &OsString| if word == "n1:2,n2:2,n3:2" { "n1:1,n2:1,n3:1".into() } else { word.clone() };
    let mut launcher: Vec<OsString> = over_at(case).iter().map(numbers).collect();
    let ranks = launcher.iter().position(|word| word == "-np" || word == "-ppn").expect("a number of ranks");
    launcher.truncate(ranks);
    let numbers = if case.mpi.name.starts_with("impi") { vec!["-ppn", "1"] } else { Vec::new() };
    launcher.extend(words(&numbers));
    launcher.extend(words(&["-np", "2"]));
    let plain = run_on(case, &[], &launcher, case.launch(2, "spawned.c"));
    assert_eq!(plain.code, 0, "{}{}", plain.stdout, plain.stderr);
    // On the nodes of a world that MPICH's hydra spawns nothing names it: the user states that all are traced.
    let variables = [
        ("MPITRACE_JOINT", if case.mpi.name.starts_with("impi") { "0".into() } else { "1".into() }),
        ("LD_PRELOAD", tracer()),
        ("MPITRACE_OUTPUT", case.folder.join("spawned.mpitrace")),
        ("MPITRACE_SEGMENT_DIR", "/dev/shm".into()),
    ];
    for (name, value) in variables {
        launcher.extend(["-genv".into(), name.into(), value.into_os_string()]);
    }
    let traced = run_on(case, &[], &launcher, case.launch(2, "spawned.c"));
    assert_eq!((traced.code, &traced.stdout), (0, &plain.stdout), "{}", traced.stderr);
    let files = traces(case);
    assert_eq!(files.len(), 2, "{}", traced.stderr);
    for file in files {
        let info = Trace::new(file).info();
        assert_eq!((info.complete, info.ranks), (true, 2), "{}", traced.stderr);
    }
    assert_nothing_left(case);
}
