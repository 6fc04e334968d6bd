//! Jobs that use more of everything than the tracer has a limit or a table for, and are killed: each call that had
//! returned is in the trace that `recover` makes, or is counted among those that are not kept.
//!
//! The program counts its calls in a file that it maps (tests/programs/above_limits.c).

use crate::support::companion::mpitrace;
use crate::support::{Case, On, Test, Trace, litter};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    Test::new("of_every_kind_lose_no_call_in_a_kill", |case| killed(case, 2, SOME, 0, Some("region"))),
    Test::new("in_the_middle_lose_no_call_in_a_kill", in_the_middle).second_tier(),
    Test::new("of_communicators_lose_no_call_in_a_kill", communicators).second_tier(),
    Test::new("of_operations_lose_no_call_in_a_kill", |case| killed(case, 1, OPERATIONS, 0, None))
        .on(ONE)
        .second_tier(),
    Test::new("of_groups_lose_no_call_in_a_kill", |case| killed(case, 2, GROUPS, 0, None)).second_tier(),
    Test::new("of_threads_count_each_call_that_is_not_kept", threads).on(ONE).second_tier(),
];

/// Ranks of MPICH 5 and Open MPI 5 spin while they agree on a communicator: 7000 of them take minutes on a busy
/// machine, without the tracer too.
const LIMIT: Duration = Duration::from_secs(900);

/// No library takes part in it.
const ONE: On = On::Only(&["mpich4"]);

/// Above the limits of communicators (2048 freed ones) and of names (1 MiB).
const SOME: &[&str] = &[
    "communicators=2200",
    "types=600",
    "operators=300",
    "groups=300",
    "windows=40",
    "files=40",
    "requests=600",
    "sites=1500",
    "regions=300",
    "names=100",
    "threads=40",
    "operations=3000",
];
/// Beyond the second step of the limit, from which on a folded communicator gets an entry with its 128th call.
const COMMUNICATORS: &[&str] = &["communicators=7000"];
/// Above 2^17.
const OPERATIONS: &[&str] = &["operations=140000"];
/// Above 2^15 combinations of group and tag.
const GROUPS: &[&str] = &["groups=33500"];
/// Above 4096, which have an entry at once.
const THREADS: &str = "threads=4200";

fn in_the_middle(case: &Case) {
    for (number, after) in [3_000, 9_999, 10_501].into_iter().enumerate() {
        // Full chunks are written to block files, and calls have their place.
        let settings = [("MPITRACE_CAPACITY", "2000"), ("MPITRACE_CALLSITE", "1")];
        killed_with(case, number, 2, SOME, after, None, &settings);
    }
}

fn communicators(case: &Case) {
    killed(case, 2, COMMUNICATORS, 0, None);
}

/// The calls of threads without an entry or a chunk are counted alone.
fn threads(case: &Case) {
    killed(case, 1, &[THREADS], 0, Some("MPI_Allreduce"));
}

fn killed(case: &Case, ranks: u32, kinds: &[&str], after: u64, dropped: Option<&str>) {
    killed_with(case, 0, ranks, kinds, after, dropped, &[]);
}

fn killed_with(
    case: &Case,
    number: usize,
    ranks: u32,
    kinds: &[&str],
    after: u64,
    dropped: Option<&str>,
    settings: &[(&'static str, &'static str)],
) {
    let folder = case.folder.join(format!("counted-{number}"));
    fs::create_dir(&folder).expect("a folder for the counts");
    let launch = case.launch(ranks, "above_limits.c").arg(&folder).arg(after.to_string());
    let launch = kinds.iter().fold(launch, |launch, kind| launch.arg(*kind));
    let launch = settings.iter().fold(launch, |launch, (name, value)| launch.set(name, *value));
    let traced = launch.trace().within(LIMIT).run();
    litter::sweep();
    assert!(!traced.trace.path.exists(), "the ranks were killed\n{}", traced.stderr);
    let trace = case.recover_soon();
    let found = recorded(&trace);
    let (mut lost, mut begun) = (0, 0);
    for rank in 0..ranks {
        let counted = counted(&folder, rank);
        assert!(!counted.is_empty(), "rank {rank} has made no calls\n{}", traced.stderr);
        let of_rank = |function: &str| found.get(&(rank, function.to_owned())).copied().unwrap_or(0);
        let mut more = 0;
        for (function, calls) in &counted {
            let recorded = of_rank(function);
            let is_well = recorded >= *calls || dropped == Some(function);
            assert!(is_well, "rank {rank}: {calls} of {function}, {recorded} in the trace\n{}", traced.stderr);
            lost += calls.saturating_sub(recorded);
            more += recorded.saturating_sub(*calls);
        }
        // One may have returned before the program could count it.
        assert!(more <= 1, "rank {rank}: {more} calls that the program has not made");
        begun += more;
    }
    let info = trace.info_of_all();
    // One that no record was kept of may have begun, or returned before the program could count it, in place of that
    // one.
    let dropped_at_most = lost + u64::from(ranks) - begun;
    assert!((lost..=dropped_at_most).contains(&info.dropped), "{} dropped, {lost}\n{}", info.dropped, traced.stderr);
    assert_eq!(info.lost, 0, "{}", traced.stderr);
    assert_eq!(lost > 0, dropped.is_some(), "{lost} calls are not kept");
    fs::remove_file(&trace.path).expect("the trace");
}

/// Calls that have returned in the trace, by rank and function; regions together.
fn recorded(trace: &Trace) -> BTreeMap<(u32, String), u64> {
    let dumped = mpitrace(&["dump".as_ref(), "--csv".as_ref(), trace.path.as_os_str()]);
    let mut lines = dumped.stdout.lines();
    let columns: Vec<&str> = lines.next().expect("the names of the columns").split(',').collect();
    let column = |name: &str| columns.iter().position(|column| *column == name).expect("a column");
    let [rank, function, exit] = ["rank", "function", "exit_ns"].map(column);
    let mut found = BTreeMap::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        if fields[exit].is_empty() {
            continue;
        }
        let function = if fields[function].starts_with("region-") { "region" } else { fields[function] };
        *found.entry((fields[rank].parse().expect("a rank"), function.to_owned())).or_insert(0) += 1;
    }
    found
}

/// The calls that a rank has counted, by function.
fn counted(folder: &Path, rank: u32) -> BTreeMap<String, u64> {
    let bytes = fs::read(folder.join(format!("counted.{rank}"))).expect("what the rank counted");
    let entry = |bytes: &[u8; 64]| {
        let (name, calls) = bytes.split_at(56);
        let name = String::from_utf8_lossy(name).trim_end_matches('\0').to_owned();
        (name, u64::from_le_bytes(calls.try_into().expect("a word")))
    };
    bytes.as_chunks().0.iter().map(entry).filter(|(name, _)| !name.is_empty()).collect()
}
