//! A rank that does not answer in the tracer's own work, since it was stopped or spins in a signal handler: the others
//! give up only the comparison of clocks, or each writes a file of its own, and all are one trace for every command.

use crate::support::companion::{json, mpitrace};
use crate::support::{Case, On, Test, Trace};
use std::fs;
use std::path::Path;

/// By whose variables the program knows its rank before MPI_Init.
const KNOWN: On = On::Only(&["ompi4", "mpich4", "mpich5", "ompi5", "impi"]);

pub const TESTS: &[Test] = &[
    Test::new("where_clocks_are_compared_costs_the_comparison_alone", |case| in_comparison(case, "stop")).on(KNOWN),
    Test::new("where_clocks_are_compared_and_spins_costs_the_comparison_alone", |case| in_comparison(case, "spin"))
        .on(KNOWN),
    Test::new("where_the_trace_is_written_leaves_one_trace_of_several_files", |case| while_written(case, "stop"))
        .on(KNOWN),
    // The others wait for a minute for one that runs.
    Test::new("where_the_trace_is_written_and_spins_leaves_one_trace_of_several_files", |case| {
        while_written(case, "spin")
    })
    .on(KNOWN)
    .second_tier(),
];

const RANKS: u32 = 3;
/// A rank of three may come so late to the comparison that it need not wait for its turn.
const TRIES: usize = 8;

/// Runs no_answer.c: its trace, and whether the last rank was silent.
fn run(case: &Case, place: &str, how: &str) -> (Trace, bool) {
    case.segments.empty();
    let folder = case.folder.join("said");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).expect("a folder");
    let outcome = case.launch(RANKS, "no_answer.c").arg(place).arg(how).arg(&folder).trace().run();
    assert_eq!(outcome.code, 0, "{place}, {how}: {}", outcome.stderr);
    (outcome.trace, folder.join("silent.0").exists())
}

fn in_comparison(case: &Case, how: &str) {
    for number in 0..TRIES {
        let (trace, was_silent) = run(case, "init", how);
        let info = trace.info();
        assert_eq!((info.complete, info.ranks, info.records), (true, RANKS.into(), 10 * u64::from(RANKS)), "{info:?}");
        if was_silent {
            // Its bound is that of the meeting before.
            let all = json(&mpitrace(&["info".as_ref(), trace.path.as_os_str(), "--json".as_ref()]));
            assert!(all["clock"]["tested_ns"].as_f64().is_some_and(|error| error > 0.0), "{all:#}");
            println!("silent in try {number}: {}", all["clock"]["tested_ns"]);
            return;
        }
    }
    panic!("the last rank never waited for its turn");
}

/// True if all ranks are in the trace that a command is given by this name, each with all of its calls.
fn is_whole(named: &Path) -> bool {
    let info = json(&mpitrace(&["info".as_ref(), named.as_os_str(), "--json".as_ref()]));
    info["complete"] == true && info["ranks"] == RANKS && info["records"] == 10 * RANKS
}

fn while_written(case: &Case, how: &str) {
    let (trace, was_silent) = run(case, "finalize", how);
    assert!(was_silent && !trace.path.exists(), "{was_silent}");
    let of_rank = |rank: u32| trace.path.with_extension(format!("rank{rank}.mpitrace"));
    assert!((0..RANKS).all(|rank| of_rank(rank).exists()), "{:?}", fs::read_dir(&case.folder).map(Iterator::count));
    assert!(is_whole(&trace.path), "by the name that it would have");
    assert_eq!(case.segments.left(), Vec::<String>::new(), "all is in the files");
    let rows = json(&mpitrace(&["jobs".as_ref(), case.folder.as_os_str(), "--json".as_ref()]));
    assert_eq!(rows.as_array().map(Vec::len), Some(1), "{rows:#}");
    assert_eq!(rows[0]["ranks"], RANKS, "{rows:#}");
    let summary = json(&mpitrace(&["summary".as_ref(), trace.path.as_os_str(), "--json".as_ref()]));
    assert_eq!((&summary["ranks"], &summary["complete"]), (&RANKS.into(), &true.into()), "{summary:#}");
}
