//! Point-to-point and one-sided messages, counted between the collectives.

use crate::support::trace::Row;
use crate::support::{Case, Test};

pub const TESTS: &[Test] = &[
    Test::new("of_every_kind_are_counted_for_the_next_collective", every_kind),
    Test::new("are_not_counted_unless_asked_for", not_asked),
    Test::new("are_counted_by_the_names_asked_for_and_no_others", by_name),
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

fn rows(case: &Case, events: Option<&str>) -> Vec<Row> {
    let plain = case.launch(2, "messages.c").run();
    let launch = case.launch(2, "messages.c").trace();
    let traced = match events {
        Some(events) => launch.set("MPITRACE_EVENTS", events).run(),
        None => launch.run(),
    };
    traced.same_as(&plain);
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    let rows = traced.trace.dump(&[]);
    assert_eq!(rows.len(), 2 * KINDS.len(), "a barrier before and after each kind, on both ranks");
    rows
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
