//! Small programs with one known loss: what `summary` names first.

use crate::support::companion::{self, mpitrace};
use crate::support::{Case, On, Test};
use serde_json::Value;

pub const TESTS: &[Test] = &[
    Test::new("are_named_by_the_first_loss_and_the_verdict", all).on(BOTH).alone(),
    Test::new("of_messages_are_named_without_records_of_them", unrecorded).on(BOTH).alone(),
    Test::new("begin_where_a_chain_of_messages_begins", chain).on(BOTH).alone(),
];

const BOTH: On = On::Only(&["ompi4", "mpich4"]);

/// The behaviour that the program is asked for, the rank that loses most, and reasons of which one has to be stated;
/// none: any. A busy machine preempts whoever computes.
const TRUTHS: [(&str, Option<u64>, &[&str]); 14] = [
    ("sleep", Some(1), &["asleep"]),
    ("lock", Some(1), &["asleep"]),
    ("compute", Some(1), &["computing", "preempted"]),
    ("turns", None, &[]),
    ("halo", Some(1), &["asleep"]),
    ("pipeline", Some(1), &["asleep"]),
    ("workers", Some(2), &["asleep"]),
    ("receiver", Some(1), &["asleep"]),
    ("requests", Some(2), &["asleep"]),
    ("chain", Some(0), &["asleep"]),
    ("group", Some(2), &["asleep"]),
    ("file", Some(1), &["io"]),
    ("end", Some(1), &["computing", "preempted"]),
    ("nothing", None, &[]),
];

/// `messages`: as `MPITRACE_P2P`.
fn summary(case: &Case, what: &str, messages: &str) -> Value {
    let traced = case.launch(3, "truths.c").arg(what).trace().set("MPITRACE_P2P", messages).run();
    assert_eq!(traced.code, 0, "{what}: {}", traced.stderr);
    companion::json(&mpitrace(&["summary".as_ref(), "--json".as_ref(), traced.trace.path.as_os_str()]))
}

/// True if something else took the ranks' processors for longer than they took them from each other: of three ranks on
/// two processors each lacks one for half of the time for which it has one. Then that is what costs most.
fn is_preempted_by_others(summary: &Value) -> bool {
    let seconds = |value: &Value| value.as_f64().unwrap_or(0.0);
    let running = seconds(&summary["running_s"]) - seconds(&summary["parts"]["waiting_finalize"]);
    let preempted = seconds(&summary["off_processor_by"]["preempted_s"]);
    let ran = running - seconds(&summary["off_processor_s"]);
    let by_themselves = if summary["sharing"].is_null() { 0.0 } else { 0.5 * ran };
    let says = |verdict: &str| verdict.contains("preempted") || verdict.contains("had no processor");
    preempted > 2.0 * by_themselves && summary["verdict"].as_str().is_some_and(says)
}

/// On a busy machine what is asked for is not always what costs most: one of so many tries has to be right.
const TRIES: usize = 3;

fn all(case: &Case) {
    for (what, rank, reasons) in TRUTHS {
        let tries: Vec<String> = (0..TRIES).map_while(|_| wrong(case, what, rank, reasons)).collect();
        assert!(tries.len() < TRIES, "{what}: {tries:#?}");
    }
}

/// The fault of the summary; `None`: it has none.
fn wrong(case: &Case, what: &str, rank: Option<u64>, reasons: &[&str]) -> Option<String> {
    let summary = summary(case, what, "records");
    let verdict = summary["verdict"].as_str().expect("a sentence");
    let losses = summary["losses"].as_array().expect("losses").iter();
    // Others pass on what a rank loses.
    let is_own = |loss: &&Value| loss["because"] != "point-to-point" && loss["because"] != "earlier_call";
    let late = losses.filter(|loss| loss["kind"] == "late-rank").find(is_own);
    let is_right = match (what, rank) {
        ("nothing", _) => !verdict.contains("give it less work"),
        (_, None) => verdict.contains("in turns"),
        (_, Some(rank)) => {
            let because =
                late.is_some_and(|late| late["rank"] == rank && reasons.iter().any(|one| late["because"] == *one));
            let at_end = what != "end" || late.is_some_and(|late| late["function"] == "MPI_Finalize");
            because && at_end && verdict.to_lowercase().contains(&format!("rank {rank}"))
        }
    };
    (!is_right && !is_preempted_by_others(&summary)).then(|| format!("{verdict} {late:?}"))
}

/// Rank 1 passes on what rank 0 loses.
fn chain(case: &Case) {
    let found = || {
        let summary = summary(case, "chain", "records");
        let losses = summary["losses"].as_array().expect("losses").iter();
        let is_passed_on = |loss: &&Value| loss["rank"] == 1 && loss["because"] == "point-to-point";
        let mut passed_on = losses.filter(is_passed_on).filter(|loss| loss["function"] == "MPI_Recv");
        let origin = passed_on.next()?["origin"].as_array()?.clone();
        Some(origin.iter().filter_map(|one| one["rank"].as_u64()).collect::<Vec<_>>())
    };
    let wrong = |_| Some(found()).filter(|found| *found != Some(vec![1, 0]));
    let tries: Vec<_> = (0..TRIES).map_while(wrong).collect();
    assert!(tries.len() < TRIES, "{tries:?}");
}

/// Which rank is late for its partners is known from their time between collective calls, too.
fn unrecorded(case: &Case) {
    let wrong = |what: &str, rank: u64| {
        let summary = summary(case, what, "1");
        let losses = summary["losses"].as_array().expect("losses").iter();
        let late = losses.filter(|loss| loss["kind"] == "point-to-point").find(|loss| !loss["because"].is_null());
        let is_right = late.is_some_and(|late| late["partner"] == rank && late["because"] == "asleep");
        let verdict = summary["verdict"].as_str().expect("a sentence");
        let is_right = is_right && verdict.contains(&format!("rank {rank}"));
        (!is_right && !is_preempted_by_others(&summary)).then(|| format!("{what}: {verdict} {late:?}"))
    };
    for (what, rank) in [("halo", 1), ("pipeline", 1), ("workers", 2), ("receiver", 1), ("requests", 2), ("chain", 0)] {
        let tries: Vec<String> = (0..TRIES).map_while(|_| wrong(what, rank)).collect();
        assert!(tries.len() < TRIES, "{tries:#?}");
    }
}
