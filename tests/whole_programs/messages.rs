//! Point-to-point and one-sided messages, counted between the collectives.

use crate::support::trace::DumpRow;
use crate::support::{Case, Test, companion};
use std::collections::BTreeMap;

pub const TESTS: &[Test] = &[
    Test::new("of_every_kind_are_counted_for_the_next_collective", every_kind),
    Test::new("behind_the_last_collective_are_in_the_totals", totals),
    Test::new("are_not_counted_unless_asked_for", not_asked),
    Test::new("are_counted_by_the_names_asked_for_and_no_others", by_name),
    Test::new("that_a_rank_waits_for_make_it_late_where_their_time_is_counted", time),
];

const NAMES: [&str; 8] =
    ["messages-sent", "bytes-sent", "messages-received", "bytes-received", "puts", "bytes-put", "gets", "bytes-got"];

/// For each barrier of tests/programs/messages.c what came before it.
const KINDS: [[u64; 8]; 7] = [
    [0; 8],
    [3, 30, 3, 30, 0, 0, 0, 0],
    [6, 120, 6, 120, 0, 0, 0, 0],
    [4, 120, 4, 120, 0, 0, 0, 0],
    [2, 80, 2, 80, 0, 0, 0, 0],
    [2, 100, 2, 100, 0, 0, 0, 0],
    [0, 0, 0, 0, 4, 84, 3, 100],
];

fn rows(case: &Case, events: Option<&str>) -> Vec<DumpRow> {
    let plain = case.launch(2, "messages.c").run();
    let launch = case.launch(2, "messages.c").trace();
    let traced = match events {
        Some(events) => launch.set("MPITRACE_EVENTS", events).run(),
        None => launch.run(),
    };
    traced.same_as(&plain);
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    let rows = up_to_barriers(traced.trace.dump_of_all(&[]));
    assert_eq!(rows.len(), 2 * KINDS.len(), "a barrier before and after each kind, on both ranks");
    rows
}

/// The barriers, with what was counted for all calls since the one before: windows are made and fenced in between.
fn up_to_barriers(mut rows: Vec<DumpRow>) -> Vec<DumpRow> {
    rows.sort_by(|a, b| (a.rank, a.enter_ns).partial_cmp(&(b.rank, b.enter_ns)).expect("times"));
    let mut since: BTreeMap<String, u64> = BTreeMap::new();
    let mut barriers = Vec::new();
    for mut row in rows {
        for (name, value) in &mut row.counters {
            let sum = since.entry(name.clone()).or_default();
            *sum += value.expect("a value");
            *value = Some(*sum);
        }
        if row.function == "MPI_Barrier" {
            since.clear();
            barriers.push(row);
        }
    }
    barriers
}

fn every_kind(case: &Case) {
    for row in rows(case, Some("messages")) {
        let counted: Vec<_> = NAMES.iter().map(|name| row.counters[*name]).collect();
        assert_eq!(
            counted,
            KINDS[row.repetition as usize].map(Some),
            "before barrier {} of rank {}",
            row.repetition,
            row.rank
        );
    }
}

fn totals(case: &Case) {
    for barriers in ["0", "1"] {
        let launch = case.launch(2, "only_messages.c").arg(barriers);
        let traced = launch.trace().set("MPITRACE_EVENTS", "messages,p2p-time").run();
        assert_eq!(traced.code, 0, "{}", traced.stderr);
        let totals = traced.trace.info().counter_totals;
        for direction in ["sent", "received"] {
            let [messages, bytes] = ["messages", "bytes"].map(|what| &totals[&format!("{what}-{direction}")]);
            assert_eq!((messages.total, messages.on_ranks()), (200, vec![100; 2]), "{totals:?}");
            assert_eq!((bytes.total, bytes.on_ranks()), (819_200, vec![409_600; 2]), "{totals:?}");
        }
        assert_eq!(totals["puts"].total, 0);
        assert!(totals["p2p-time"].on_ranks().iter().all(|&ns| ns > 0), "{totals:?}");
        let page = companion::mpitrace(&["info".as_ref(), traced.trace.path.as_os_str()]).stdout;
        assert!(page.contains("messages-sent 200, 100 on each rank\n"), "{page}");
        assert!(
            traced.trace.dump(&[]).iter().all(|row| row.counters["messages-sent"] == Some(0)),
            "before the barrier"
        );
    }
}

fn not_asked(case: &Case) {
    assert!(rows(case, None).iter().all(|row| row.counters.is_empty()));
}

fn by_name(case: &Case) {
    for row in rows(case, Some("bytes-received, bytes-put")) {
        let kind = KINDS[row.repetition as usize];
        let counted: Vec<_> = row.counters.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(counted, [("bytes-put", Some(kind[5])), ("bytes-received", Some(kind[3]))]);
    }
}

/// The time in calls that are not recorded: rank 1 waits for messages, rank 2 makes no such call.
fn time(case: &Case) {
    let traced = case.launch(3, "late_message.c").trace().set("MPITRACE_EVENTS", "p2p-time").run();
    traced.same_as(&case.launch(3, "late_message.c").run());
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    assert_eq!(traced.trace.info().counters, ["p2p-time"]);
    let rows = traced.trace.dump(&[]);
    for rank in 0..3 {
        let mine: Vec<&DumpRow> = rows.iter().filter(|row| row.rank == rank).collect();
        assert_eq!(mine.len(), 11, "rank {rank}");
        for pair in mine.windows(2) {
            let spent = pair[1].counters["p2p-time"].expect("a value");
            let between = pair[1].enter_ns - pair[0].exit_ns.expect("it returned");
            // Times are divided by a rounded frequency.
            assert!(spent as f64 <= 1.001 * between + 1000.0, "{spent} of {between} ns: {:?}", pair[1]);
            assert_eq!(spent == 0, rank == 2, "{:?}", pair[1]);
        }
    }
    let summary = companion::mpitrace(&["summary".as_ref(), traced.trace.path.as_os_str(), "--json".as_ref()]);
    let summary = companion::json(&summary);
    let losses = summary["losses"].as_array().expect("a list").iter().filter(|loss| loss["kind"] == "late-rank");
    for loss in losses.clone() {
        let known = !loss["because"].is_null() || loss["on_processor"] != true;
        assert!(known, "computing or other calls is told apart: {loss}");
    }
    // Point-to-point calls that can wait are timed by themselves.
    let late = losses.clone().any(|loss| loss["because"] == "point-to-point" && loss["rank"] == 1);
    assert!(late, "{summary:#}");
}
