//! Traces: synthetic ones, and those that `recover` makes of the segments.

use std::path::Path;

use mpitrace_format::layout::state;
use mpitrace_format::recover::{by_job, leftovers, recover_job};
use mpitrace_platform::node_files;
use mpitrace_testing::synthetic::{self, SyntheticRank, SyntheticRequest};

use super::{Seed, segment};

/// Traces of several shapes.
///
/// # Errors
/// The temporary folder cannot be written to.
pub fn all() -> std::io::Result<Vec<Seed>> {
    let folder = std::env::temp_dir().join(format!("mpitrace-seeds-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut seeds = Vec::new();
    for (name, ranks) in [("loop", a_loop()), ("killed", killed()), ("ring", ring()), ("requests", requests())] {
        let path = folder.join(name);
        synthetic::write(&path, &ranks)?;
        seeds.push((name, std::fs::read(&path)?));
    }
    seeds.push(("one-clock", recovered(&folder, &[segment::plain(0), segment::plain(1)])?));
    seeds.push(("two-clocks", recovered(&folder, &[segment::full(0), segment::full(2)])?));
    std::fs::remove_dir_all(&folder)?;
    Ok(seeds)
}

fn recovered(folder: &Path, segments: &[Vec<u8>]) -> std::io::Result<Vec<u8>> {
    for (number, bytes) in segments.iter().enumerate() {
        let name = format!("{}seed-{number}{}", node_files::ANY_PREFIX, node_files::SEGMENT);
        std::fs::write(folder.join(name), bytes)?;
    }
    let found = leftovers(&[folder.to_owned()], None).map_err(std::io::Error::other)?;
    let jobs = by_job(found);
    let recovered = recover_job(&jobs[0], &folder.join("recovered.mpitrace")).map_err(std::io::Error::other)?;
    let path = recovered.ok_or_else(|| std::io::Error::other("no rank had finished MPI_Init"))?.path;
    let bytes = std::fs::read(&path)?;
    std::fs::remove_file(&path)?;
    Ok(bytes)
}

/// Barriers and broadcasts in turn; some calls were paused, some not kept.
fn a_loop() -> Vec<SyntheticRank> {
    let rank = |number: u32| {
        let mut rank = SyntheticRank::new(number, 2);
        rank.metadata = vec![("host".to_owned(), "node1".to_owned()), ("command".to_owned(), "./p".to_owned())];
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        let broadcast = rank.operation("MPI_Bcast", 0, 64);
        rank.describe(broadcast, Some(0), "MPI_INT", None);
        for repetition in 0..24 {
            let begin = 1000 * repetition + 10 * u64::from(number);
            rank.call(barrier, begin, begin + 300);
            rank.call(broadcast, begin + 400, begin + 600 + repetition % 5 * 20);
        }
        rank.disturb();
        rank.paused_call(barrier);
        rank.dropped_call(broadcast);
        rank
    };
    vec![rank(0), rank(1)]
}

/// Of three ranks one left nothing, one is inside a call on a communicator that the program has named.
fn killed() -> Vec<SyntheticRank> {
    let rank = |number: u32| {
        let mut rank = SyntheticRank::new(number, 3);
        rank.header.state = state::RUNNING;
        let communicator = rank.communicator(5, 2, number, Some("halo"));
        let reduction = rank.operation("MPI_Allreduce", communicator, 8);
        rank.describe(reduction, None, "MPI_DOUBLE", Some("MPI_SUM"));
        let folded = rank.folded_communicator();
        let scattered = rank.operation("MPI_Scatter", folded, u64::MAX);
        for repetition in 0..6u64 {
            rank.call(reduction, 100 * repetition + 1, 100 * repetition + 60);
            rank.call(scattered, 100 * repetition + 70, 100 * repetition + 90);
        }
        rank.call(reduction, 700, if number == 0 { 0 } else { 760 });
        rank
    };
    vec![rank(0), rank(1)]
}

/// The last calls of two threads.
fn ring() -> Vec<SyntheticRank> {
    let rank = |number: u32| {
        let mut rank = SyntheticRank::new(number, 2);
        let gather = rank.operation("MPI_Gather", 0, 4);
        rank.describe(gather, Some(1), "MPI_INT", None);
        (0..20u64).for_each(|repetition| rank.call(gather, 50 * repetition + 1, 50 * repetition + 30));
        rank.thread();
        (20..40u64).for_each(|repetition| rank.call(gather, 50 * repetition + 1, 50 * repetition + 30));
        rank.leave_last(32);
        rank.swap_runs();
        rank
    };
    vec![rank(0), rank(1)]
}

/// Non-blocking calls.
fn requests() -> Vec<SyntheticRank> {
    let rank = |number: u32| {
        let mut rank = SyntheticRank::new(number, 2);
        let started = rank.operation("MPI_Iallreduce", 0, 8);
        let blocking = rank.operation("MPI_Allreduce", 0, 8);
        for repetition in 0..12u64 {
            let request = SyntheticRequest { init: 5, test: 7 * repetition, wait: 11, tests: repetition as u32 };
            rank.call_with_request(started, 90 * repetition + 1, 90 * repetition + 40, request);
            rank.call(blocking, 90 * repetition + 50, 90 * repetition + 80);
        }
        rank
    };
    vec![rank(0), rank(1)]
}
