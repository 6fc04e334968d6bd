//! `mpitrace run` on several nodes.

use crate::cluster::{
    assert_one_trace, assert_same, over_at, own_launcher, permitted, run_on, script, srun, test, untraced, words,
};
use crate::support::{Case, Outcome, Test, Trace, binaries, root, tracer};
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

pub const TESTS: &[Test] = &[
    test("by_srun_gives_one_trace", |case| one_trace(case, &[], &srun(case, &[]))).second_tier(),
    test("in_a_batch_job_gives_one_trace", |case| one_trace(case, &batch(), &own_launcher(case))).second_tier(),
    test("in_an_allocation_gives_one_trace", |case| one_trace(case, &allocation(), &own_launcher(case))).second_tier(),
    test("without_a_batch_system_gives_one_trace", |case| one_trace(case, &[], &over_at(case))).second_tier(),
    test("by_a_task_prolog_traces_each_job_unless_it_opts_out", task_prolog).second_tier(),
    test("by_an_option_of_srun_gives_one_trace", option_of_srun).where_permitted(headers_of_slurm).second_tier(),
];

fn batch() -> Vec<OsString> {
    [vec![script("batch.sh").into()], words(&["-N3", "--ntasks-per-node=2", "--"])].concat()
}

fn allocation() -> Vec<OsString> {
    words(&["salloc", "-Q", "-N3", "--ntasks-per-node=2"])
}

/// The compiler's arguments for the plugin of Slurm.
fn plugin(output: &Path) -> Command {
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Werror", "-shared", "-fPIC", "-o"]).arg(output);
    compiler.arg(root().join("packaging/slurm/mpitrace_spank.c"));
    compiler
}

fn headers_of_slurm() -> Result<(), String> {
    permitted()?;
    let found = plugin(Path::new("/dev/null")).arg("-fsyntax-only").output();
    let found = found.is_ok_and(|checked| checked.status.success());
    if found { Ok(()) } else { Err("there is no slurm/spank.h (libslurm-dev)".to_owned()) }
}

/// `srun --mpitrace=EVENTS`, with the plugin of packaging/slurm. Without the option nothing is traced.
fn option_of_srun(case: &Case) {
    let built = case.folder.join("mpitrace_spank.so");
    assert!(plugin(&built).status().expect("a compiler").success());
    let plugstack = format!("PLUGSTACK=required {} library={}", built.display(), tracer().display());
    let path = case.folder.join("by-option.mpitrace");
    let run = |option: Option<&str>| {
        let options: Vec<&str> = ["-N3", "--ntasks-per-node=2"].into_iter().chain(option).collect();
        let launch = case.launch(6, "counts.c").set("MPITRACE_OUTPUT", &path);
        run_on(case, &[plugstack.clone().into()], &srun(case, &options), launch)
    };
    let plain = run(None);
    assert_eq!((plain.code, path.exists()), (0, false), "{}", plain.stderr);
    let outcome = run(Some("--mpitrace=page-faults"));
    let outcome = Outcome { trace: Trace::new(path.clone()), ..outcome };
    assert_same(&outcome, &plain, 6);
    assert_one_trace(case, &outcome, &[2, 2, 2]);
    assert_eq!(outcome.trace.info().counters, ["page-faults"]);
}

/// Each task is traced by the TaskProlog of packaging/slurm, with the settings of the site or of the job, unless the
/// job opts out.
fn task_prolog(case: &Case) {
    let path = case.folder.join("by-prolog.mpitrace");
    let shipped = fs::read_to_string(root().join("packaging/slurm/task_prolog.sh")).expect("a TaskProlog");
    let library = "@PREFIX@/lib/mpitrace/libmpitrace.so";
    assert!(shipped.contains(library));
    let edited = shipped
        .replace(library, &tracer().display().to_string())
        .replace("/logs/%u/%d/%x-%j.%s.mpitrace", &path.display().to_string());
    let prolog = case.folder.join("task_prolog.sh");
    fs::write(&prolog, edited).expect("a script");
    fs::set_permissions(&prolog, Permissions::from_mode(0o755)).expect("a script that can be run");
    let cluster: [OsString; 1] = [format!("TASK_PROLOG={}", prolog.display()).into()];
    let run = |settings: &[(&str, &str)]| {
        let launch = settings.iter().fold(case.launch(6, "counts.c"), |launch, (name, value)| launch.set(name, value));
        run_on(case, &cluster, &srun(case, &["-N3", "--ntasks-per-node=2"]), launch)
    };
    let plain = run(&[("MPITRACE_DISABLE", "1")]);
    assert_eq!((plain.code, path.exists()), (0, false), "{}", plain.stderr);
    let outcome =
        Outcome { trace: Trace::new(path.clone()), ..run(&[("MPITRACE_VERBOSE", "1"), ("MPITRACE_KEEP", "calls")]) };
    assert_same(&outcome, &plain, 6);
    assert_one_trace(case, &outcome, &[2, 2, 2]);
    // The settings of the site are where the job has none.
    let second = run(&[]);
    assert_eq!((second.code, second.lines_with("mpitrace").len()), (0, 0), "silent: {}", second.stderr);
    assert!(path.with_extension("2.mpitrace").exists());
}

/// `mpitrace run` between what makes the job and the launcher of its ranks. Only they may have the tracer.
fn one_trace(case: &Case, before: &[OsString], launcher: &[OsString]) {
    let plain = untraced(case, &[before, launcher].concat());
    let path = case.folder.join("by-run.mpitrace");
    let run: Vec<OsString> =
        vec![binaries::companion().into(), "run".into(), "-o".into(), path.clone().into(), "--".into()];
    let launch = case.launch(6, "counts.c").behind(&[script("ancestors.sh").into()]);
    let outcome = run_on(case, &[], &[before, &run, launcher].concat(), launch);
    let outcome = Outcome { trace: Trace::new(path), ..outcome };
    assert_same(&outcome, &plain, 6);
    assert_one_trace(case, &outcome, &[2, 2, 2]);
}
