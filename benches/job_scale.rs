//! The cost of analysing the trace of a job of many ranks: `cargo bench --bench job_scale`.
//!
//! Writes two traces into a temporary folder, a file for each rank: a loop of two operations on the world, and
//! six operations on the world and on the row and the column of each rank in a square, in turns that follow no rule.
//! Then every command reads them once. Memory is the most that the process had for itself (`RssAnon`), read ten times a
//! second; the trace's own pages, which the system can take back at any time, are not in it.
//!
//! `RANKS`: how many, a square (64). `CALLS`: of each rank (1 000 000). `COMMANDS`: what is measured, separated by
//! commas.

use mpitrace_testing::binaries;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use mpitrace_testing::Random;
use mpitrace_testing::synthetic::{SyntheticRank, write};
use rayon::prelude::*;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Which calls the ranks of a job make.
#[derive(Clone, Copy)]
enum Job {
    Loop,
    AnyTurns,
}

fn main() -> Result<()> {
    binaries::build();
    let (ranks, calls): (u32, u64) = (variable("RANKS", 64)?, variable("CALLS", 1_000_000)?);
    let commands = variable("COMMANDS", "info,summary,categorize,stats".to_owned())?;
    let side = ranks.isqrt();
    if side * side != ranks {
        return Err(format!("RANKS is {ranks}, which is not a square").into());
    }
    let all = u64::from(ranks) * calls;
    println!("{ranks} ranks, {all} calls\n\n| | bytes a call | s | most memory, GB |\n|---|---|---|---|");
    for (job, name) in [(Job::Loop, "loop"), (Job::AnyTurns, "any turns")] {
        let folder = tempfile::tempdir()?;
        let made = (0..ranks).into_par_iter().map(|number| made(folder.path(), job, number, side, calls));
        let files: Vec<PathBuf> = made.collect::<Result<_>>()?;
        let lengths = files.iter().map(|file| Ok(fs::metadata(file)?.len()));
        let bytes: u64 = lengths.sum::<Result<u64>>()?;
        for command in commands.split(',') {
            let (seconds, most) = measured(command, &files)?;
            let (bytes, most) = (bytes as f64 / all as f64, most as f64 * 1e-6);
            println!("| {name}: `{command}` | {bytes:.2} | {seconds:.1} | {most:.2} |");
        }
    }
    Ok(())
}

fn variable<T: FromStr>(name: &str, default: T) -> Result<T> {
    match std::env::var(name) {
        Ok(value) => value.parse().map_err(|_| format!("{name} is no such value: {value}").into()),
        Err(_) => Ok(default),
    }
}

/// The trace of one rank.
fn made(folder: &Path, job: Job, number: u32, side: u32, calls: u64) -> Result<PathBuf> {
    let path = folder.join(format!("{number}.mpitrace"));
    write(&path, &[rank(job, number, side, calls)])?;
    Ok(path)
}

fn rank(job: Job, number: u32, side: u32, calls: u64) -> SyntheticRank {
    let mut rank = SyntheticRank::new(number, side * side);
    rank.header.nominal_hz = 2_500_000_000;
    let mut operations = vec![rank.operation("MPI_Allreduce", 0, 8), rank.operation("MPI_Barrier", 0, 0)];
    if let Job::AnyTurns = job {
        let row = rank.communicator(1 + u64::from(number / side), side, number % side, None);
        let column = rank.communicator(1 + u64::from(side + number % side), side, number / side, None);
        for communicator in [row, column] {
            operations.push(rank.operation("MPI_Allreduce", communicator, 64));
            operations.push(rank.operation("MPI_Bcast", communicator, 1024));
        }
    }
    // The turns and the distances are the same on all ranks, and each has run times of its own.
    let (mut same, mut own) = (Random::new(0), Random::new(1 + u64::from(number)));
    let mut now = 1_000_000;
    for call in 0..calls {
        let (which, gap) = match job {
            Job::Loop => (call as usize % 2, 5000),
            Job::AnyTurns => ((same.uniform() * 6.0) as usize, 50_000 + (same.uniform() * 1e5) as u64),
        };
        let enter = now + (own.uniform() * 500.0) as u64;
        let slow = if own.uniform() < 1e-3 { 10.0 } else { 1.0 };
        let run_time = (30_000.0 * slow * (1.0 + 0.05 * own.normal())) as u64;
        rank.call(operations[which], enter, enter + run_time);
        now += 350_000 + gap;
    }
    let last = &mut rank.header.last_anchor;
    (last.tick, last.raw_ns) = (now, now * 2 / 5);
    rank
}

/// The cost of a command: s, and kB.
fn measured(command: &str, files: &[PathBuf]) -> Result<(f64, u64)> {
    let begun = Instant::now();
    let mut child = Command::new(binaries::companion());
    let mut child = child.args(command.split(' ')).args(files).stdout(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        // It may end at any time, and then has no such line.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let own = text.lines().find_map(|line| line.strip_prefix("RssAnon:")?.split_whitespace().next());
        most = own.and_then(|kilobytes| kilobytes.parse().ok()).unwrap_or(0).max(most);
        thread::sleep(Duration::from_millis(100));
    };
    if !ended.success() {
        return Err(format!("mpitrace {command} ended with {ended}").into());
    }
    Ok((begun.elapsed().as_secs_f64(), most))
}
