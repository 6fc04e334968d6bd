//! Records for which the folder of the segments has no room lie in private memory. While code of the tracer still runs
//! they are kept beside the trace; what is lost is counted and said. And memory is given back behind MPI_Finalize.

use crate::limits::{in_namespace, mounts_permitted};
use crate::support::{Case, Outcome, Test, Trace, binaries};
use std::fs;

pub const TESTS: &[Test] = &[
    mounted("is_kept_where_mpi_abort_ends_the_job", |case| kept(case, "abort")),
    mounted("is_kept_where_exit_ends_the_job", |case| kept(case, "exit")),
    mounted("is_kept_where_main_returns", |case| kept(case, "return")),
    mounted("is_kept_under_run_without_a_word", under_run),
    mounted("is_counted_where_a_signal_ends_the_job", |case| lost(case, "segv", "64m")),
    mounted("is_counted_where_the_folder_of_the_trace_is_full", |case| lost(case, "abort", "64k")),
    mounted("is_no_more_in_use_behind_finalize", given_back),
];

const fn mounted(name: &'static str, run: fn(&Case)) -> Test {
    Test::new(name, run).where_permitted(mounts_permitted)
}

/// Calls of rank 0 on MPI_COMM_SELF, whose records take more than the folder has.
const CALLS: u64 = 150_000;
/// All calls of rank 0: one on the world and the first barrier beside them.
const OF_RANK_0: u64 = CALLS + 2;
/// The calls of rank 1, the last of which does not return.
const OF_RANK_1: u64 = 3;

/// Rank 0 fills a folder of 2 MiB and ends; then what is left there, and in the folder of the trace, which has so much
/// room, is recovered.
fn ended(case: &Case, how: &str, room: &str) -> (Outcome, Trace) {
    let (folder, recovered) = (case.folder.join("small"), Trace::new(case.folder.join("recovered.mpitrace")));
    fs::create_dir_all(&folder).expect("a folder");
    let commands = format!(
        "mount -t tmpfs -o size=2m none \"$0\"; mkdir \"$0/out\"; mount -t tmpfs -o size={room} none \"$0/out\"; \
         \"$@\"; code=$?; '{}' recover \"$0\" \"$0/out\" -o '{}'; ls -A \"$0\" \"$0/out\" >&2; exit $code; :",
        binaries::companion().display(),
        recovered.path.display()
    );
    let launch = case.launch(2, "fills.c").arg(CALLS.to_string()).arg("0").arg(how).arg("0").trace();
    let launch = launch.set("MPITRACE_SEGMENT_DIR", &folder).set("MPITRACE_OUTPUT", folder.join("out/run.mpitrace"));
    let outcome = launch.run_under(&in_namespace(&commands, &folder));
    assert_ne!(outcome.code, 0, "{}", outcome.stderr);
    assert!(!outcome.lines_with("no room left for the trace buffer").is_empty(), "{}", outcome.stderr);
    (outcome, recovered)
}

fn kept(case: &Case, how: &str) {
    let (outcome, recovered) = ended(case, how, "64m");
    let info = recovered.info();
    // Rank 1 is ended by the launcher, and may have had no room for its own.
    let most = OF_RANK_0 + OF_RANK_1;
    assert!((OF_RANK_0..=most).contains(&info.records), "{} of {most} records\n{}", info.records, outcome.stderr);
    let said = outcome.lines_with("the records are kept, those in private memory in");
    // MPICH's launcher may end before it has handed on the last line of a rank that aborts.
    let may_be_cut = how == "abort" && case.mpi.library == "MPICH";
    assert!(said.len() == 1 || may_be_cut && said.is_empty(), "{}", outcome.stderr);
    assert!(said.iter().all(|line| line.contains("small/out -o FILE")), "{said:?}");
    assert!(!outcome.stderr.contains("are lost:"), "{}", outcome.stderr);
}

/// `run` recovers them itself, so that it does not say how.
fn under_run(case: &Case) {
    let folder = case.folder.join("small");
    fs::create_dir_all(&folder).expect("a folder");
    let output = case.folder.join("run.mpitrace");
    let commands = "export MPITRACE_SEGMENT_DIR=\"$0\"; mount -t tmpfs -o size=2m none \"$0\"".to_owned();
    let mut words = in_namespace(&commands, &folder);
    words.extend([binaries::companion().into(), "run".into(), "-o".into(), output.clone().into(), "--".into()]);
    let launch = case.launch(2, "fills.c").arg(CALLS.to_string()).arg("0").arg("abort").arg("0");
    let outcome = launch.run_under(&words);
    assert_ne!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.lines_with("recovered into").len() == 1, "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("records are kept"), "{}", outcome.stderr);
    assert!((OF_RANK_0..=OF_RANK_0 + OF_RANK_1).contains(&Trace::new(output).info().records), "{}", outcome.stderr);
    let left = fs::read_dir(&case.folder).expect("the folder of the trace").flatten().map(|entry| entry.file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().ends_with(".segment")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// As many records cannot be kept as `info` calls lost.
fn lost(case: &Case, how: &str, room: &str) {
    let (outcome, recovered) = ended(case, how, room);
    let info = recovered.info();
    assert!((16_384..CALLS).contains(&info.records), "{info:?}");
    let made = OF_RANK_0..=OF_RANK_0 + OF_RANK_1;
    assert!(made.contains(&(info.records + info.lost)), "{} and {}", info.records, info.lost);
    if how == "abort" {
        let said = outcome.lines_with("records in private memory are lost: they cannot be copied to");
        assert_eq!(said.len(), 1, "{}", outcome.stderr);
        let words: Vec<&str> = said[0].split_whitespace().collect();
        let number = words.windows(2).find(|pair| pair[1] == "records").and_then(|pair| pair[0].parse::<u64>().ok());
        let of_rank_1 = info.lost - number.expect("a number");
        assert!(of_rank_1 <= OF_RANK_1, "{number:?} and {}", info.lost);
        assert_eq!(outcome.lines_with("the other records are kept").len(), 1, "{}", outcome.stderr);
    }
}

/// Some pages may stay; also of records that were packed while the program ran.
fn given_back(case: &Case) {
    let folder = case.folder.join("small");
    fs::create_dir_all(&folder).expect("a folder");
    for capacity in ["2000000", "4096"] {
        let launch = || case.launch(2, "behind_finalize.c").arg(&folder).arg("40000");
        let before = in_namespace("mount -t tmpfs -o size=64m none \"$0\"", &folder);
        let launch = || launch().set("MPITRACE_SEGMENT_DIR", &folder).set("MPITRACE_CAPACITY", capacity);
        let plain = launch().run_under(&before);
        let traced = launch().trace().run_under(&before);
        assert_eq!(plain.stdout, "nothing, 0 files\n".repeat(2), "{}", plain.stderr);
        assert_eq!((traced.code, &traced.stdout), (plain.code, &plain.stdout), "{}", traced.stderr);
        assert_eq!(traced.trace.info().records, 2 * 40_000);
    }
}
