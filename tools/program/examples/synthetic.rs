//! Writes a trace of a program that never ran, to measure the companion with:
//! `cargo run --release --example synthetic -- RANKS CALLS FILE`.

use std::path::Path;

use mpitrace_testing::synthetic::{SyntheticRank, write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, ranks, calls, file] = &arguments[..] else {
        return Err("usage: synthetic RANKS CALLS FILE".into());
    };
    let (ranks, calls): (u32, u64) = (ranks.parse()?, calls.parse()?);
    let content: Vec<SyntheticRank> = (0..ranks).map(|rank| one_rank(rank, ranks, calls)).collect();
    write(Path::new(file), &content)?;
    Ok(())
}

/// A loop over three operations, of which one is called twice as often as the others; run times scatter, and some are
/// outliers.
fn one_rank(number: u32, ranks: u32, calls: u64) -> SyntheticRank {
    let mut rank = SyntheticRank::new(number, ranks);
    let allreduce = rank.operation("MPI_Allreduce", 0, 8);
    let bcast = rank.operation("MPI_Bcast", 0, 1024);
    let barrier = rank.operation("MPI_Barrier", 0, 0);
    rank.describe(allreduce, None, "MPI_DOUBLE", Some("MPI_SUM"));
    rank.describe(bcast, Some(0), "MPI_BYTE", None);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64 ^ u64::from(number);
    let mut now = 1_000_000;
    for call in 0..calls {
        // xorshift64
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let duration = 2000 + random % 500 + if random.is_multiple_of(1000) { 10_000 } else { 0 };
        rank.call([allreduce, bcast, allreduce, barrier][call as usize % 4], now, now + duration);
        now += 13_000;
    }
    rank
}
