//! `mpitrace run` on several nodes.

use crate::cluster::{
    assert_one_trace, assert_same, over_at, own_launcher, run_on, script, srun, test, untraced, words,
};
use crate::support::{Case, Outcome, Test, Trace, binaries};
use std::ffi::OsString;

pub const TESTS: &[Test] = &[
    test("by_srun_gives_one_trace", |case| one_trace(case, &[], &srun(case, &[]))).second_tier(),
    test("in_a_batch_job_gives_one_trace", |case| one_trace(case, &batch(), &own_launcher(case))).second_tier(),
    test("in_an_allocation_gives_one_trace", |case| one_trace(case, &allocation(), &own_launcher(case))).second_tier(),
    test("without_a_batch_system_gives_one_trace", |case| one_trace(case, &[], &over_at(case))).second_tier(),
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
