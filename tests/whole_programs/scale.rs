//! The requests of the tracer to MPI, memory and the file system in a world of 10^5 ranks: one rank of them, on an MPI
//! library that simulates the others (tests/programs/mock_ranks.c), and counts.

use crate::support::{Case, On, Outcome, Test, build};
use std::collections::BTreeMap;
use std::fs;

pub const TESTS: &[Test] = &[
    Test::new("the_work_for_a_communicator_does_not_grow_with_the_ranks", communicators).on(MOCK),
    Test::new("init_and_finalize_do_not_grow_with_the_ranks", init_and_finalize).on(MOCK),
    Test::new("a_library_that_duplicates_no_communicator_is_named", without_a_duplicate).on(MOCK),
];

/// The library whose interface the mock has.
const MOCK: On = On::Only(&["mpich5-abi"]);

const FEW: u32 = 1000;
const MANY: u32 = 100_000;
/// Bytes that do not count as growth: less than one for each of `MANY` ranks.
const SLACK: u64 = 1 << 16;

/// The counts in each phase of tests/programs/rank_scale.c: by phase, by kind.
struct Counts(BTreeMap<String, BTreeMap<String, u64>>);

impl Counts {
    fn new(outcome: &Outcome) -> Counts {
        let mut phases = BTreeMap::new();
        for line in outcome.stdout.lines() {
            let mut words = line.split(' ');
            if words.next() != Some("phase") {
                continue;
            }
            let phase = words.next().expect("the name of the phase").to_owned();
            let words: Vec<_> = words.collect();
            let count = |pair: &[&str]| Some((pair[0].to_owned(), pair[1].parse().ok()?));
            phases.insert(phase, words.chunks_exact(2).filter_map(count).collect());
        }
        Counts(phases)
    }

    #[track_caller]
    fn get(&self, phase: &str, what: &str) -> u64 {
        self.0.get(phase).and_then(|phase| phase.get(what)).copied().unwrap_or_else(|| panic!("no {what} in {phase}"))
    }

    /// Comparisons of ranks, and ranks handed over to new groups.
    fn group_work(&self, phase: &str) -> u64 {
        self.get(phase, "compared") + self.get(phase, "grouped")
    }
}

/// One rank of a world of so many, with the tracer and without; and what the tracer did with files, kind by kind.
fn one_rank(case: &Case, ranks: u32, rank: u32) -> (Counts, Counts, String) {
    // Names of one length: a path that is too long for one broadcast takes a second one.
    let shared = case.folder.join(format!("shared{ranks:06}-{rank}"));
    fs::create_dir(&shared).expect("a folder for the trace");
    let files = case.folder.join(format!("files{ranks}-{rank}"));
    let launch = || {
        let mock = build::shared_library(case.mpi, "mock_ranks.c");
        let launch = case.launch(1, "rank_scale.c").preload(mock);
        let said = case.folder.join(format!("said{ranks}"));
        launch.set("MOCK_RANKS", ranks.to_string()).set("MOCK_RANK", rank.to_string()).set("MOCK_SAID", said)
    };
    let plain = launch().run_by(&[]);
    assert_eq!(plain.code, 0, "{}", plain.stderr);
    let counter = build::shared_library(case.mpi, "count_files.c");
    let launch = launch().preload(counter).set("COUNT_BELOW", &shared).set("COUNT_INTO", &files);
    let traced = launch.trace().set("MPITRACE_OUTPUT", shared.join("trace.mpitrace")).set("MPITRACE_JOINT", "1");
    // The leaders would meet after some of the calls.
    let traced = traced.set("MPITRACE_RESYNC", "0");
    let traced = traced.run_by(&[]);
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    // Only rank 0 can write here: what the others would write is left.
    case.segments.empty();
    let files = fs::read_to_string(files).unwrap_or_default();
    (Counts::new(&traced), Counts::new(&plain), files)
}

fn communicators(case: &Case) {
    // The first member of its communicators, and one that is not.
    for rank in [0, 501] {
        let worlds = [FEW, MANY].map(|ranks| (ranks, one_rank(case, ranks, rank)));
        for (ranks, (traced, plain, _)) in &worlds {
            for what in ["translated", "grouped", "sent", "received", "collective", "made"] {
                assert_eq!(traced.get("dup", what), 0, "{what} for 100 duplicates, rank {rank} of {ranks}");
                assert_eq!(traced.get("allreduce", what), 0, "{what} for 1000 calls, rank {rank} of {ranks}");
            }
            // 10 each. The first rank of a half is the first or the second of the world.
            assert!(
                traced.get("split", "translated") <= 10 && traced.group_work("split") <= 20,
                "rank {rank} of {ranks}"
            );
            for (phase, groups) in [("create_group", 10), ("intercomm_create", 2)] {
                let most = 6 * groups * u64::from(*ranks) * u64::from(ranks.ilog2());
                let work = traced.group_work(phase) - plain.group_work(phase);
                assert!(work < most, "{phase}: {work} comparisons, rank {rank} of {ranks}");
                assert!(work > 0, "{phase}: its key is made of its members");
            }
        }
        let [(_, few), (_, many)] = &worlds;
        for phase in ["dup", "split", "allreduce", "free"] {
            assert_eq!(few.0.get(phase, "local"), many.0.get(phase, "local"), "calls of MPI for {phase}");
            assert_no_growth(few, many, phase, SLACK);
        }
    }
}

/// The tracer asks for no more memory in this phase where there are many ranks than where there are few.
#[track_caller]
fn assert_no_growth(few: &(Counts, Counts, String), many: &(Counts, Counts, String), phase: &str, slack: u64) {
    let [few, many] = [few, many]
        .map(|(traced, plain, _)| traced.get(phase, "allocated").saturating_sub(plain.get(phase, "allocated")));
    assert!(many < few + slack, "{phase}: {few} bytes in a world of {FEW} ranks, {many} in one of {MANY}");
}

fn without_a_duplicate(case: &Case) {
    let mock = build::shared_library(case.mpi, "mock_ranks.c");
    let run = |rank: u32| {
        let launch = case.launch(1, "rank_scale.c").preload(mock.clone()).trace().set("MPITRACE_JOINT", "1");
        let output = case.folder.join(format!("of{rank}.mpitrace"));
        let launch = launch.set("MPITRACE_OUTPUT", &output).set("MOCK_NO_DUPLICATE", "1").set("MOCK_RANKS", "4");
        let outcome = launch.set("MOCK_RANK", rank.to_string()).run_by(&[]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let written = output.with_extension(format!("rank{rank}.mpitrace"));
        assert!(written.exists(), "{} of rank {rank}: {}", written.display(), outcome.stderr);
        outcome.stderr.lines().filter(|line| line.contains("does not duplicate MPI_COMM_WORLD")).count()
    };
    assert_eq!([run(0), run(2)], [1, 0], "one rank says so");
}

fn init_and_finalize(case: &Case) {
    let few = one_rank(case, FEW, 0);
    let many = one_rank(case, MANY, 0);
    for phase in ["init", "finalize"] {
        for what in ["collective", "made", "translated", "grouped"] {
            assert_eq!(few.0.get(phase, what), many.0.get(phase, what), "{what} in {phase}");
        }
    }
    assert!(many.0.get("init", "collective") > 0, "all ranks are known to be traced");
    // The leaders have their clocks probed, with one other in each round, and there are log2(leaders) rounds.
    let rounds = |ranks: u32| u64::from(ranks.next_power_of_two().trailing_zeros());
    for what in ["sent", "received"] {
        let [few, many] = [(&few, FEW), (&many, MANY)].map(|(counts, ranks)| {
            let messages = counts.0.get("init", what) + counts.0.get("finalize", what);
            assert_eq!(messages % rounds(ranks), 0, "{what}");
            messages / rounds(ranks)
        });
        assert_eq!(few, many, "{what} in a round");
        assert!(few > 0);
    }
    // Each leader keeps the ranks of all, of 4 bytes each; with the words of a bit for each rank, in a few copies.
    assert_no_growth(&few, &many, "init", SLACK + 5 * u64::from(MANY));
    // Rank 0 writes the table of all parts.
    assert_no_growth(&few, &many, "finalize", SLACK + 256 * u64::from(MANY));
    let without_bytes = |line: &str| line.split(" bytes-read").next().unwrap_or_default().to_owned();
    assert_eq!(without_bytes(&few.2), without_bytes(&many.2), "operations on files");
    assert!(many.2.starts_with("create "), "{}", many.2);
}
