//! The traces of these tests.

use mpitrace_testing::synthetic::SyntheticRank;

/// Two ranks and an operation whose calls begin every 100 µs; `took` is how long a repetition takes on a rank, ns.
pub fn trace(repetitions: u64, mut took: impl FnMut(u32, u64) -> u64) -> [SyntheticRank; 2] {
    [0, 1].map(|number| {
        let mut rank = SyntheticRank::new(number, 2);
        let allreduce = rank.operation("MPI_Allreduce", 0, 8);
        rank.describe(allreduce, None, "MPI_DOUBLE", Some("MPI_SUM"));
        for i in 0..repetitions {
            // Rank 1 comes 50 ns later.
            let enter = 1_000_000 + 100_000 * i + 50 * u64::from(number);
            rank.call(allreduce, enter, enter + took(number, i));
        }
        rank
    })
}
