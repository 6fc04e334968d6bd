//! The first sentence about a job that did not end by MPI_Finalize: how it ended, in `summary`, on the page, in JSON.

use crate::support::{Folder, mpitrace, plain};
use mpitrace_format::layout::{Anchor, activity, state};
use mpitrace_format::metadata;
use mpitrace_testing::synthetic::SyntheticRank;
use serde_json::json;

const MS: u64 = 1_000_000;

/// Two ranks with ten barriers, and a last one that rank 0 alone enters. `mpitrace run` saw their ends at these times,
/// ms, each for this reason.
fn ranks(ends: [(u64, &str); 2]) -> [SyntheticRank; 2] {
    ranks_that_stood(ends, "0 1000000000")
}

/// Ranks as those of [`ranks`], which had not moved for these times, ns.
fn ranks_that_stood(ends: [(u64, &str); 2], still: &str) -> [SyntheticRank; 2] {
    [0, 1].map(|number| {
        let (end, how) = ends[number as usize];
        let mut rank = SyntheticRank::new(number, 2).stamped();
        rank.header.leader = 0;
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        (1..=10).for_each(|k| rank.call(barrier, 100 * k * MS, 100 * k * MS + MS));
        if number == 0 {
            rank.call(barrier, 1100 * MS, 0);
        }
        rank.header.state = state::RUNNING;
        rank.header.last_anchor = Anchor { tick: end * MS, raw_ns: end * MS, ..Anchor::default() };
        let known = [(metadata::END_ERROR_NS, "2000000"), (metadata::STILL_NS, still), (metadata::ENDED, how)];
        rank.metadata.extend(known.map(|(name, value)| (name.to_owned(), value.to_owned())));
        rank
    })
}

/// The first sentence of `summary`, in one line, and its JSON.
fn first(ranks: &[SyntheticRank]) -> (String, serde_json::Value) {
    let folder = Folder::new();
    let file = folder.trace(ranks);
    let told = mpitrace(&["summary", "--json", &file]).json();
    let ran = mpitrace(&["summary", &file]);
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = told["ended"]["sentence"].as_str().unwrap_or_default().to_owned();
    assert!(words.starts_with(&sentence), "{sentence} does not begin\n{words}");
    if !sentence.is_empty() {
        assert!(words.ends_with(&format!("Next: mpitrace info {file}")), "{words}");
        let page = folder.path("page.html");
        assert_eq!(mpitrace(&["report", &file, "-o", &page]).stderr.lines().count(), 1, "the trace is incomplete");
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.contains(&format!("<p class=\"verdict\">{sentence}</p>")), "{sentence} is not on the page");
        assert_eq!(mpitrace(&["info", "--json", &file]).json()["ended"], told["ended"]);
    }
    (sentence, told["ended"].clone())
}

#[test]
fn the_rank_that_was_killed_before_the_others_is_named() {
    let (sentence, told) = first(&ranks([(2500, "signal 15 (SIGTERM)"), (1500, "signal 9 (SIGKILL)")]));
    let expected = "The job did not end normally: rank 1 ended first, by signal 9 (SIGKILL), at least 998 ms before \
                    the next rank.";
    assert_eq!(sentence, expected);
    assert_eq!((&told["class"], &told["ranks"]), (&json!(null), &json!([1])), "{told:#}");
    assert_eq!((&told["first"]["rank"], &told["without_finalize"]), (&json!(1), &json!([0, 1])), "{told:#}");
    let before = told["first"]["before_next_s"].as_f64().unwrap();
    assert!((before - 0.998).abs() < 1e-9, "{told:#}");
}

/// The dates of the ends overlap, or are those of a launcher that ends all ranks: none is the first.
#[test]
fn of_ranks_that_ended_together_the_verdict_is_said() {
    for later in [9501, 9550] {
        let ends = [(later, "signal 15 (SIGTERM)"), (9500, "signal 15 (SIGTERM)")];
        let (sentence, told) = first(&ranks_that_stood(ends, "8000000000 9000000000"));
        let expected = "The job did not end normally: rank 1 has not come to call 10 of MPI_COMM_WORLD: not in MPI; \
                        nothing has moved for 8.00 s.";
        assert_eq!(sentence, expected);
        assert_eq!((&told["class"], &told["first"]), (&json!("missing-rank"), &json!(null)), "{told:#}");
    }
}

/// As a time limit ends a job whose ranks move.
#[test]
fn a_job_that_was_ended_while_it_moved_is_said_to_have_been_ended() {
    let (sentence, told) = first(&ranks([(2501, "signal 15 (SIGTERM)"), (2500, "signal 15 (SIGTERM)")]));
    let expected = "The job did not end normally: it was ended after 2.50 s by signal 15 (SIGTERM); a rank began or \
                    ended an MPI call in the last 1.00 s.";
    assert_eq!(sentence, expected);
    assert_eq!((&told["class"], &told["ranks"]), (&json!(null), &json!([0, 1])), "{told:#}");
    let outside = &told["from_outside"];
    assert_eq!(outside["how"], "signal 15 (SIGTERM)");
    let near = |name: &str, expected: f64| (outside[name].as_f64().unwrap() - expected).abs() < 2e-3;
    assert!(near("after_s", 2.5) && near("moved_within_s", 1.0), "{told:#}");
}

#[test]
fn a_rank_that_crashed_is_the_cause() {
    let (sentence, told) = first(&ranks([(2500, "signal 15 (SIGTERM)"), (1500, "signal 11 (SIGSEGV)")]));
    let expected = "The job did not end normally: rank 1 was not in MPI when it died of signal 11 (SIGSEGV).";
    assert_eq!(sentence, expected);
    assert_eq!((&told["class"], &told["ranks"]), (&json!(null), &json!([1])), "{told:#}");
}

#[test]
fn a_call_of_mpi_abort_is_the_cause() {
    let mut ranks = ranks([(2500, "signal 15 (SIGTERM)"), (2501, "signal 15 (SIGTERM)")]);
    ranks[1].header.state = state::ABORTED;
    let (sentence, told) = first(&ranks);
    assert_eq!(sentence, "The job did not end normally: rank 1 called MPI_Abort.");
    assert_eq!(told["ranks"], json!([1]), "{told:#}");
}

/// Nothing is known of the ends, nor of what the ranks were in.
#[test]
fn without_a_cause_the_ranks_are_named() {
    let mut ranks = ranks([(2500, ""), (2500, "")]);
    for rank in &mut ranks {
        rank.metadata.clear();
        rank.header.last_anchor = rank.header.first_anchor;
        rank.enter_function(activity::COMPUTING, "");
    }
    ranks[0] = {
        let mut rank = SyntheticRank::new(0, 2).stamped();
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        (1..=10).for_each(|k| rank.call(barrier, 100 * k * MS, 100 * k * MS + MS));
        rank.header.state = state::RUNNING;
        rank
    };
    let (sentence, _) = first(&ranks);
    assert_eq!(sentence, "The job did not end normally: ranks 0-1 did not come to the end of MPI_Finalize.");
}

#[test]
fn of_a_job_that_ended_well_nothing_is_said() {
    assert_eq!(first(&plain()), (String::new(), json!(null)));
}
