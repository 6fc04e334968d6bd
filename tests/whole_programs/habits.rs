//! What a program does too often, or one rank after the other: habits.c has one habit at a time. A busy machine may
//! hide a habit: so each is looked for in a few runs, of which those do not count in which the ranks had no processor
//! for the largest part of the time.

use crate::stacks::frame;
use crate::support::binaries::companion;
use crate::support::{Case, On, Test, companion as tool};
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;

pub const TESTS: &[Test] = &[
    Test::new("many_short_calls_in_a_row_are_told_and_dependent_ones_are_not", small)
        .on(On::Only(&["ompi4", "mpich4"])),
    Test::new("amounts_far_from_equal_are_told_and_equal_ones_are_not", amounts).on(On::Only(&["ompi4", "mpich4"])),
    Test::new("a_rank_that_works_alone_is_told", serial).on(On::Only(&["ompi4", "mpich4"])),
    Test::new("equal_work_one_after_the_other_is_told", chain).on(On::Only(&["ompi4", "mpich4"])),
    Test::new("a_late_rank_that_changes_after_a_while_is_told", moving).on(On::Only(&["ompi4", "mpich4"])),
    Test::new("time_before_init_and_after_finalize_is_told", around).on(On::Only(&["ompi4", "mpich4"])),
];

/// So many runs in which the ranks had their processors, ...
const TRIES: usize = 4;
/// ... and so many runs at most.
const RUNS: usize = 12;

/// The summary of a run of habits.c under `run`, as text and JSON.
fn run(case: &Case, habit: &str, ranks: u32, number: usize) -> (String, Value) {
    let output: PathBuf = case.folder.join(format!("{habit}{number}.mpitrace"));
    let words: Vec<OsString> = vec![companion().into(), "run".into(), "-o".into(), output.clone().into(), "--".into()];
    let outcome = case.launch(ranks, "habits.c").arg(habit).run_under(&words);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let text = tool::mpitrace(&["summary".as_ref(), output.as_os_str()]).stdout;
    let text = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    (text, tool::json(&tool::mpitrace(&["summary".as_ref(), output.as_os_str(), "--json".as_ref()])))
}

/// The losses of a kind.
fn of_kind<'s>(summary: &'s Value, kind: &str) -> Option<&'s Value> {
    summary["losses"].as_array().expect("losses").iter().find(|loss| loss["kind"] == kind)
}

/// Runs the habit until what is said of it is right.
fn until_right(case: &Case, habit: &str, ranks: u32, is_right: impl Fn(&str, &Value) -> bool) {
    let mut counted = 0;
    for number in 0..RUNS {
        let (text, summary) = run(case, habit, ranks, number);
        if is_right(&text, &summary) {
            return;
        }
        println!("{habit}: {text}");
        // Beside other work the ranks wait for other reasons than the habit in some of the runs that count, too.
        counted += usize::from(summary["without_processor"].is_null());
        assert!(counted < TRIES, "{habit} was never told");
    }
    println!("skipped: the ranks had no processor");
}

/// Runs the habit until the loss of this kind is right.
fn found(case: &Case, habit: &str, kind: &str, ranks: u32, is_right: impl Fn(&str, &Value, &Value) -> bool) {
    until_right(case, habit, ranks, |text, summary| {
        of_kind(summary, kind).is_some_and(|loss| is_right(text, summary, loss))
    });
}

fn small(case: &Case) {
    found(case, "small", "many-small", 2, |text, summary, loss| {
        let [calls, groups, of_group] =
            ["calls", "groups", "calls_per_group"].map(|key| loss[key].as_u64().expect(key));
        let sentence = summary["finding"].as_str().unwrap_or_default();
        // Where both ranks were held up between two calls a group ends.
        (62_000..=64_000).contains(&calls)
            && (160..=320).contains(&groups)
            && (150..=400).contains(&of_group)
            && loss["function"] == "MPI_Allreduce"
            && loss["bytes"] == 8
            && sentence.contains("MPI_Allreduce of 8 bytes in ")
            && text.contains(sentence)
    });
    let (text, summary) = run(case, "krylov", 2, 0);
    assert!(of_kind(&summary, "many-small").is_none(), "{text}");
}

fn amounts(case: &Case) {
    found(case, "amounts", "unequal-amounts", 4, |text, summary, loss| {
        let times = loss["times_the_mean"].as_f64().expect("times");
        // Rank 3 sends 4096 times as much as each other one.
        assert!((times - 4.0 * 4096.0 / 4099.0).abs() < 0.001 && loss["rank"] == 3, "{loss}");
        let is_said = text.contains("Rank 3 sends 4.0 x the mean of the ranks in 40 MPI_Alltoallv");
        let [gain_s, job_s] = [&loss["gain_most_s"], &summary["seconds"]].map(|value| value.as_f64().expect("a time"));
        is_said || gain_s < 0.03 * job_s
    });
    let (text, summary) = run(case, "equal", 4, 0);
    assert!(of_kind(&summary, "unequal-amounts").is_none(), "{text}");
}

fn serial(case: &Case) {
    let place = frame("write_text", "habits.c", "text");
    found(case, "serial", "serial", 2, |text, summary, loss| {
        let is_named = summary["code"].is_null() || loss["place"].is_null() || text.contains(&place);
        loss["rank"] == 0 && is_named && text.contains("Rank 0 works alone for ")
    });
}

fn chain(case: &Case) {
    found(case, "chain", "pipeline", 2, |text, _, loss| {
        let step_s = loss["step_s"].as_f64().expect("a step");
        (2.5e-3..10e-3).contains(&step_s)
            && (loss["first_rank"] == 0 && loss["last_rank"] == 1)
            && text.contains("one after the other, from rank 0 to rank 1")
    });
}

fn moving(case: &Case) {
    until_right(case, "moving", 2, |text, summary| {
        let shown = summary["losses_by_gain"].as_array().expect("losses");
        let moves = shown.iter().find_map(|loss| loss["moves"].as_object());
        let is_right = moves.is_some_and(|moves| {
            (18..=22).contains(&moves["repetitions"].as_u64().unwrap_or(0))
                && moves["stretches"].as_array().is_some_and(|all| (7..=9).contains(&all.len()))
        });
        is_right && text.contains("rank 0 until ") && text.contains("--plot arrival")
    });
    // What takes the ranks' processors for a while makes one of them late in that time: of the first run in which they
    // had them nothing is said.
    let runs = (0..RUNS).map(|number| run(case, "at_random", 2, number));
    let Some((text, summary)) = runs.into_iter().find(|(_, summary)| summary["without_processor"].is_null()) else {
        println!("skipped: the ranks had no processor");
        return;
    };
    let shown = summary["losses_by_gain"].as_array().expect("losses");
    assert!(shown.iter().all(|loss| loss.get("moves").is_none()), "{text}");
}

fn around(case: &Case) {
    let (text, summary) = run(case, "around", 2, 0);
    let of = |key: &str| summary[key].as_f64().unwrap_or_else(|| panic!("{key}: {summary}"));
    assert!(of("before_init_s") >= 0.48, "{text}");
    assert!(summary["around"].as_array().is_some_and(|all| all.len() == 2), "{summary}");
    assert!(text.contains("before MPI_Init "), "{text}");
    // The end of a process is seen where its threads are sampled.
    if summary["after_finalize_s"].is_null() {
        println!("skipped: no samples");
        return;
    }
    assert!(of("after_finalize_s") >= 0.48, "{text}");
    assert!(text.contains("after MPI_Finalize "), "{text}");
}
