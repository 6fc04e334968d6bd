//! Violations of programs that never ran.

use mpitrace_format::layout::UNKNOWN_BYTES;

use super::*;
use mpitrace_testing::synthetic::{self, SyntheticRank};

fn causality(name: &str, ranks: &[SyntheticRank]) -> Causality {
    let path = std::env::temp_dir().join(format!("mpitrace-causality-{}-{name}", std::process::id()));
    synthetic::write(&path, ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    std::fs::remove_file(&path).unwrap();
    Causality::new(&trace, &Clock::new(&trace), &Operations::new(&trace))
}

fn world(size: u32) -> Vec<SyntheticRank> {
    (0..size).map(|rank| SyntheticRank::new(rank, size)).collect()
}

const REPETITIONS: u64 = 5;

/// A program of four ranks that all enter and leave within 1 µs; the clock of rank 2 is ahead by `ahead` ns.
fn shifted(function: &str, root: Option<i32>, bytes: [u64; 4], ahead: i64) -> [u64; 3] {
    let mut ranks = world(4);
    for (number, rank) in ranks.iter_mut().enumerate() {
        let operation = rank.operation(function, 0, bytes[number]);
        rank.describe(operation, root, "MPI_BYTE", None);
        let ahead = if number == 2 { ahead } else { 0 };
        for repetition in 0..REPETITIONS {
            let enter = (1_000_000 + 100_000 * repetition + 10 * number as u64).wrapping_add_signed(ahead);
            rank.call(operation, enter, enter + 1000);
        }
    }
    let Causality { checked, violated, violated_raw, .. } = causality("shifted", &ranks);
    [checked, violated, violated_raw].map(|count| count / REPETITIONS)
}

/// A function, its root, the bytes that each rank passed, and how many exits of a repetition are checked, violated with
/// the clock of rank 2 ahead, and violated with it behind.
type Case = (&'static str, Option<i32>, [u64; 4], [u64; 3]);

const CASES: [Case; 24] = [
    ("Barrier", None, [0; 4], [4, 3, 1]),
    ("Allreduce", None, [8; 4], [4, 3, 1]),
    ("Allgather", None, [8; 4], [4, 3, 1]),
    ("Alltoall", None, [8; 4], [4, 3, 1]),
    ("Reduce_scatter_block", None, [8; 4], [4, 3, 1]),
    ("Bcast", Some(0), [8; 4], [3, 0, 1]),
    ("Bcast", Some(2), [8; 4], [3, 3, 0]),
    ("Scatter", Some(2), [8; 4], [3, 3, 0]),
    ("Gather", Some(0), [8; 4], [1, 1, 0]),
    ("Gather", Some(2), [8; 4], [1, 0, 1]),
    ("Reduce", Some(2), [8; 4], [1, 0, 1]),
    ("Scan", None, [8; 4], [3, 1, 1]),
    ("Exscan", None, [8; 4], [3, 1, 1]),
    // No bytes, or an unknown number.
    ("Allreduce", None, [0; 4], [0, 0, 0]),
    ("Bcast", Some(2), [0; 4], [0, 0, 0]),
    ("Scan", None, [UNKNOWN_BYTES; 4], [0, 0, 0]),
    // Rank 2 brings nothing into an Allgatherv, but gets what the others bring.
    ("Allgatherv", None, [8, 8, 0, 8], [4, 0, 1]),
    ("Gatherv", Some(0), [8, 8, 0, 8], [1, 0, 0]),
    ("Gatherv", Some(2), [8, 8, 0, 8], [1, 0, 1]),
    // Rank 2 gets nothing of what rank 0 scatters.
    ("Scatterv", Some(0), [16, 8, 0, 8], [2, 0, 0]),
    ("Reduce_scatter", None, [32; 4], [0, 0, 0]),
    ("Alltoallv", None, [32; 4], [0, 0, 0]),
    ("Alltoallw", None, [32; 4], [0, 0, 0]),
    ("Neighbor_allgather", None, [8; 4], [0, 0, 0]),
];

#[test]
fn a_shifted_clock_violates_what_each_function_implies_and_nothing_else() {
    for (name, root, bytes, [checked, ahead, behind]) in CASES {
        let non_blocking = format!("MPI_I{}{}", name[..1].to_lowercase(), &name[1..]);
        for function in [format!("MPI_{name}"), non_blocking, format!("MPI_{name}_init")] {
            let of = |nanoseconds| shifted(&function, root, bytes, nanoseconds);
            assert_eq!(of(0), [checked, 0, 0], "{function} {root:?} {bytes:?}");
            assert_eq!(of(5000), [checked, ahead, ahead], "{function} {root:?} {bytes:?}, ahead");
            assert_eq!(of(-5000), [checked, behind, behind], "{function} {root:?} {bytes:?}, behind");
        }
    }
}

#[test]
fn a_violation_within_both_stated_errors_is_one_by_the_plain_times_only() {
    // Rank 1 leaves 300 ns before rank 0 has entered.
    let with_error = |error: u64| {
        let mut ranks = world(2);
        for (number, rank) in (0..).zip(&mut ranks) {
            rank.header.domain_error = error;
            let barrier = rank.operation("MPI_Barrier", 0, 0);
            rank.call(barrier, 1000, 2000 + number);
            rank.call(barrier, 11_000 - 1000 * number, 11_700 - 1000 * number);
        }
        causality("errors", &ranks)
    };
    let function = "MPI_Barrier".to_owned();
    let worst = Some(Violation { by_ns: 300.0, operation: 0, function, repetition: 1, left: 1, entered: 0 });
    assert_eq!(with_error(0), Causality { checked: 4, violated: 1, violated_raw: 1, worst: worst.clone() });
    assert_eq!(with_error(149).violated, 1);
    assert_eq!(with_error(151), Causality { checked: 4, violated: 0, violated_raw: 1, worst });
}

#[test]
fn ranks_count_in_the_order_of_the_communicator() {
    let mut ranks = world(4);
    for (number, rank) in (0u32..).zip(&mut ranks) {
        let reversed = rank.communicator(7, 4, 3 - number, None);
        let scan = rank.operation("MPI_Scan", reversed, 8);
        let bcast = rank.operation("MPI_Bcast", reversed, 8);
        rank.describe(bcast, Some(3), "MPI_INT", None);
        // World rank 0, the last in the communicator and the root of the Bcast, enters late: no Scan waits for it.
        let enter = if number == 0 { 5000 } else { 1000 };
        rank.call(scan, enter, enter + 1000);
        rank.call(bcast, enter + 10_000, enter + 11_000);
    }
    let found = causality("reversed", &ranks);
    assert_eq!((found.checked, found.violated_raw), (3 + 3, 3));
    assert_eq!(found.worst.map(|worst| (worst.operation, worst.entered)), Some((1, 0)));
}

#[test]
fn nothing_is_checked_of_one_rank_alone_and_of_repetitions_that_are_incomplete() {
    let mut ranks = world(2);
    for (number, rank) in (0..).zip(&mut ranks) {
        let own = rank.communicator(10 + number, 1, 0, None);
        let alone = rank.operation("MPI_Barrier", own, 0);
        let together = rank.operation("MPI_Barrier", 0, 0);
        rank.call(alone, 10, 20);
        // The clocks are 1 µs apart.
        let shift = 1000 * number;
        rank.call(together, 1000 + shift, 1500 + shift);
        rank.call(together, 11_000 + shift, if number == 0 { 0 } else { 12_500 });
    }
    let found = causality("incomplete", &ranks);
    assert_eq!((found.checked, found.violated_raw), (2, 1));
}

/// A generator of numbers that look random: xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// True if rank `i` holds, when it leaves, data that rank `j` has brought. As the functions are described, pair by
/// pair.
fn holds(function: &str, root: usize, bytes: &[u64], i: usize, j: usize) -> bool {
    let (mine, theirs) = (bytes[i] > 0, bytes[j] > 0);
    i != j
        && match function {
            "MPI_Barrier" => true,
            "MPI_Allreduce" | "MPI_Alltoall" => mine && theirs,
            "MPI_Allgatherv" => theirs,
            "MPI_Scatterv" => j == root && mine,
            "MPI_Gatherv" => i == root && theirs,
            "MPI_Exscan" => j < i && mine && theirs,
            _ => false,
        }
}

#[test]
fn any_program_has_the_violations_that_its_pairs_have() {
    const FUNCTIONS: [&str; 8] = [
        "MPI_Barrier",
        "MPI_Allreduce",
        "MPI_Alltoall",
        "MPI_Allgatherv",
        "MPI_Scatterv",
        "MPI_Gatherv",
        "MPI_Exscan",
        "MPI_Alltoallv",
    ];
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for trial in 0..200 {
        let size = 1 + random.below(6) as usize;
        let function = FUNCTIONS[random.below(8) as usize];
        let root = random.below(size as u64) as usize;
        let is_uniform = ["MPI_Barrier", "MPI_Allreduce", "MPI_Alltoall", "MPI_Exscan"].contains(&function);
        let all = 8 * random.below(3);
        let bytes: Vec<u64> = (0..size).map(|_| if is_uniform { all } else { 8 * random.below(2) }).collect();
        let error = 1 + random.below(200);
        let mut ranks = world(size as u32);
        let mut expected = [0; 3];
        let mut operations = Vec::new();
        for (number, rank) in ranks.iter_mut().enumerate() {
            rank.header.domain_error = error;
            // The root of a Scatterv sends what all of them get.
            let sends_all = function == "MPI_Scatterv" && number == root;
            let size = if sends_all { bytes.iter().sum() } else { bytes[number] };
            operations.push(rank.operation(function, 0, size));
            let root = ["MPI_Scatterv", "MPI_Gatherv"].contains(&function).then_some(root as i32);
            rank.describe(operations[number], root, "MPI_BYTE", None);
        }
        for repetition in 0..20 {
            let spans: Vec<(u64, u64)> = (0..size)
                .map(|_| {
                    let enter = 1_000_000 + 10_000 * repetition + random.below(1000);
                    (enter, enter + 1 + random.below(1000))
                })
                .collect();
            for (number, &(enter, exit)) in spans.iter().enumerate() {
                ranks[number].call(operations[number], enter, exit);
            }
            for (i, (_, exit)) in spans.iter().enumerate() {
                let others = (0..size).filter(|&j| holds(function, root, &bytes, i, j));
                let entries: Vec<u64> = others.map(|j| spans[j].0).collect();
                expected[0] += u64::from(!entries.is_empty());
                expected[1] += u64::from(entries.iter().any(|entry| exit + 2 * error < *entry));
                expected[2] += u64::from(entries.iter().any(|entry| exit < entry));
            }
        }
        let found = causality("pairs", &ranks);
        let counts = [found.checked, found.violated, found.violated_raw];
        assert_eq!(counts, expected, "trial {trial}: {function} of {bytes:?}, root {root}, error {error}");
    }
}

#[test]
fn the_worst_violation_is_that_by_the_longest_time() {
    let mut ranks = world(2);
    for (number, rank) in (0..).zip(&mut ranks) {
        let operation = rank.operation("MPI_Barrier", 0, 0);
        for (k, ahead) in (1..).zip([3000, 5000, 4000]) {
            let enter = 100_000 * k + ahead * number;
            rank.call(operation, enter, enter + 1000);
        }
    }
    let worst = causality("worst", &ranks).worst.unwrap();
    assert_eq!((worst.by_ns.round(), worst.repetition, worst.left, worst.entered), (4000.0, 1, 0, 1));
}
