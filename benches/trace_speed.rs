//! The cost of the companion's work on a large trace, against the least that it can be:
//! `cargo bench --bench trace_speed`.
//!
//! Writes a trace of two ranks and three operations, one of which has half of all calls, into a temporary folder
//! (`TMPDIR` names another place), and measures all in one run: each row is the fastest of `ROUNDS`. `RECORDS`: of both
//! ranks. Then traces with many communicators, operations and ranks (`RANKS`).
//!
//! The memory of a row is the most that was resident during it (VmHWM, reset before). Of the trace's own pages, which
//! the system can take back at any time, is told apart what was resident at its end.

use std::error::Error;
use std::fs::{self, File};
use std::hint::black_box;
use std::path::Path;
use std::str::FromStr;
use std::time::Instant;

use memmap2::Mmap;
use mpitrace_format::TraceError;
use mpitrace_statistics::categories::{Robust, Roth};
use mpitrace_statistics::{
    Intervals, Outliers, Sample, are_dependent, autocorrelation, dependence, dependence_lasts, dependence_of_quantile,
    ljung_box, median, modes, period,
};
use mpitrace_testing::Random;
use mpitrace_testing::synthetic::{SyntheticRank, write};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::{Operation, Operations};
use mpitrace_trace::reader::Trace;
use mpitrace_trace::run_time::RunTime;
use mpitrace_trace::run_time::completion_times::{CompletionTimes, RankTimes};
use rayon::prelude::*;

const RANKS: u32 = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let records: u64 = variable("RECORDS", 100_000_000);
    let rounds: usize = variable("ROUNDS", 3);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("large.mpitrace");
    make(&path, records / u64::from(RANKS))?;
    let bytes = fs::metadata(&path)?.len();
    println!("{records} records of {RANKS} ranks, {:.2} GB; {} processors", bytes as f64 * 1e-9, processors());

    let mut rows = Rows { rounds, rows: Vec::new() };
    rows.measure("the bytes read once, one processor", None, || read(&path, 1));
    let both = rows.measure("the bytes read once, all processors", None, || read(&path, processors()));
    rows.measure("opened: every checksum and index", Some(both), || Trace::open(&[&path]));
    rows.measure("info: opened, matched, clocks", Some(both), || {
        let trace = Trace::open(&[&path])?;
        Ok::<_, Box<dyn Error>>((Operations::new(&trace), Clock::new(&trace)))
    });
    let trace = Trace::open(&[&path])?;
    rows.measure("matched: operations and repetitions", Some(both), || Operations::new(&trace));
    rows.measure("the clocks", Some(both), || Clock::new(&trace));
    let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
    rows.measure("one pass: the run times of all operations", Some(both), || {
        let of = |operation: &Operation| operation.run_time_values(&trace, &clock, RunTime::Local);
        operations.operations.iter().map(|operation| of(operation).len()).sum::<usize>()
    });

    let largest = operations.operations.iter().max_by_key(|operation| operation.repetition.len());
    let largest = largest.ok_or("no operation")?;
    let (repetition, x) = largest.run_times(&trace, &clock, RunTime::Local);
    println!("\nthe operation with most repetitions, {}:\n", x.len());
    let copy = rows.measure("one median selection", None, || median(&mut x.clone()));
    rows.measure("categories by roth", Some(copy), || Roth::default().categorize(&repetition, &x));
    let sort = rows.measure("one sort, one processor", None, || {
        let mut copy = x.clone();
        copy.sort_unstable_by(f64::total_cmp);
        copy
    });
    rows.measure("categories by robust", Some(sort), || Robust.categorize(&repetition, &x));
    rows.measure("a sorted sample", Some(sort), || Sample::new(&x));
    rows.measure("stats: the numbers of the run times", Some(sort), || numbers(&x));
    let columns: Vec<_> = largest
        .parts
        .iter()
        .enumerate()
        .map(|(member, &part)| (member, &trace.parts[part], clock.of_part(part)))
        .collect();
    rows.measure("completion times", Some(sort), || {
        let mut times = CompletionTimes::default();
        for (member, part, clock) in &columns {
            let record = |row: usize| largest.records(row).get(*member) as usize;
            let rows = (0..largest.repetition.len()).into_par_iter().with_min_len(1 << 14);
            let ticks = |row| part.times_of(record(row));
            let (enter, exit): (Vec<f64>, Vec<f64>) =
                rows.map(ticks).map(|(enter, exit)| (clock.nanoseconds(enter), clock.nanoseconds(exit))).unzip();
            let duration: Vec<f64> = enter.iter().zip(&exit).map(|(enter, exit)| exit - enter).collect();
            times.add(RankTimes { enter_ns: &enter, exit_ns: &exit, duration_ns: &duration });
        }
        times
    });
    drop(columns);
    drop((operations, trace, x));
    let many = folder.path().join("many.mpitrace");
    let ranks: u32 = variable("RANKS", 100_000);
    write(&many, &[0, 1].map(|rank| many_communicators(rank, 30_000)))?;
    info(&mut rows, "30 000 communicators: info", None, &many);
    write(&many, &(0..16).map(|rank| in_any_turns(rank, 1_000_000)).collect::<Vec<_>>())?;
    info(&mut rows, "16 ranks, calls on three communicators each in any turns: info", None, &many);
    write(&many, &[0, 1].map(|rank| many_operations(rank, 131_072)))?;
    info(&mut rows, "131 072 operations: info", None, &many);
    write(&many, &(0..ranks).map(|rank| few_calls(rank, ranks)).collect::<Vec<_>>())?;
    rows.measure("many ranks: opened", None, || Trace::open(&[&many]));
    info(&mut rows, "many ranks: info", None, &many);
    rows.print();
    Ok(())
}

fn info(rows: &mut Rows, name: &'static str, against: Option<f64>, path: &Path) {
    rows.measure(name, against, || {
        let trace = Trace::open(&[path])?;
        Ok::<_, TraceError>((Operations::new(&trace), Clock::new(&trace)))
    });
}

/// A call on each of many communicators.
fn many_communicators(number: u32, communicators: u64) -> SyntheticRank {
    let mut rank = SyntheticRank::new(number, 2);
    for key in 1..=communicators {
        let communicator = rank.communicator(key, 2, number, None);
        let operation = rank.operation("MPI_Barrier", communicator, 0);
        (0..4).for_each(|call| rank.call(operation, 1000 * (4 * key + call), 1000 * (4 * key + call) + 500));
    }
    rank
}

/// Calls on the world of 16 ranks, and on the row and the column of each in a square, in turns that follow no rule.
fn in_any_turns(number: u32, calls: u64) -> SyntheticRank {
    let mut rank = SyntheticRank::new(number, 16);
    let row = rank.communicator(1 + u64::from(number / 4), 4, number % 4, None);
    let column = rank.communicator(5 + u64::from(number % 4), 4, number / 4, None);
    let operations = [0, row, column].map(|on| [8, 64].map(|bytes| rank.operation("MPI_Allreduce", on, bytes)));
    // The same on all ranks.
    let mut random = Random::new(0);
    for call in 0..calls {
        let which = (random.uniform() * 6.0) as usize;
        rank.call(operations[which / 2][which % 2], 50_000 * call, 50_000 * call + 20_000);
    }
    rank
}

/// Calls of many sizes.
fn many_operations(number: u32, operations: u64) -> SyntheticRank {
    let mut rank = SyntheticRank::new(number, 2);
    for bytes in 0..operations {
        let operation = rank.operation("MPI_Bcast", 0, bytes);
        (0..4).for_each(|call| rank.call(operation, 1000 * (4 * bytes + call), 1000 * (4 * bytes + call) + 500));
    }
    rank
}

fn few_calls(number: u32, ranks: u32) -> SyntheticRank {
    let mut rank = SyntheticRank::new(number, ranks);
    let operation = rank.operation("MPI_Barrier", 0, 0);
    (0..10).for_each(|call| rank.call(operation, 1000 * call, 1000 * call + 500));
    rank
}

/// Every number that `mpitrace stats` has of a series of run times.
fn numbers(values: &[f64]) -> impl Sized {
    let sample = Sample::new(values);
    let middle = sample.median().unwrap_or(0.0);
    let of_both = [dependence(values), dependence_of_quantile(values, middle)];
    let intervals = Intervals::knowing(values, sample.sorted(), 0.95, of_both);
    let quantiles = intervals.quantiles([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]);
    let dependent = are_dependent(values, &sample);
    let slow = values.iter().enumerate().filter(|(_, value)| **value >= 2.0 * middle);
    let slow: Vec<f64> = slow.map(|(index, _)| index as f64).collect();
    (
        (quantiles, intervals.mean(), sample.moments()),
        (sample.median_absolute_deviation(), sample.box_plot(), sample.step()),
        (Outliers::count(&sample), period(&slow, 2.0)),
        (ljung_box(&autocorrelation(values, 10), values.len()), dependent),
        (dependent && dependence_lasts(values, &sample), modes(values, &sample)),
    )
}

struct Rows {
    rounds: usize,
    rows: Vec<SpeedRow>,
}

struct SpeedRow {
    name: &'static str,
    seconds: f64,
    /// The value that it is held against.
    against: Option<f64>,
    peak: u64,
    of_files: u64,
}

impl Rows {
    /// Does the work so many times; the shortest time, s.
    fn measure<T>(&mut self, name: &'static str, against: Option<f64>, work: impl Fn() -> T) -> f64 {
        // 5: the peak begins anew (proc(5)).
        let _ = fs::write("/proc/self/clear_refs", "5");
        let mut seconds = f64::INFINITY;
        let mut of_files = 0;
        for _ in 0..self.rounds {
            let begun = Instant::now();
            let result = black_box(work());
            seconds = seconds.min(begun.elapsed().as_secs_f64());
            of_files = status("RssFile:");
            drop(result);
        }
        eprintln!("{name}: {seconds:.3} s");
        self.rows.push(SpeedRow { name, seconds, against, peak: status("VmHWM:"), of_files });
        seconds
    }

    fn print(&self) {
        println!("| | s | ratio | peak memory, GB | of that the trace's pages |");
        println!("|---|---|---|---|---|");
        for row in &self.rows {
            let ratio = row.against.map_or("1".to_owned(), |against| format!("{:.2}", row.seconds / against));
            let [peak, files] = [row.peak, row.of_files].map(|kib| kib as f64 * 1024e-9);
            println!("| {} | {:.3} | {ratio} | {peak:.2} | {files:.2} |", row.name, row.seconds);
        }
    }
}

/// KiB of memory, as the kernel tells.
fn status(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The sum of the file's words, mapped anew: what no reader can be faster than.
fn read(path: &Path, processors: usize) -> u64 {
    let file = File::open(path).expect("the trace was just written");
    // SAFETY: no other process knows the file.
    let map = unsafe { Mmap::map(&file) }.expect("it can be mapped");
    let words: &[u64] = bytemuck::cast_slice(&map);
    let sum = |words: &[u64]| words.iter().fold(0u64, |sum, word| sum.wrapping_add(*word));
    std::thread::scope(|scope| {
        let shares = words.chunks(words.len().div_ceil(processors));
        let threads: Vec<_> = shares.map(|share| scope.spawn(move || sum(share))).collect();
        threads.into_iter().fold(0u64, |sum, thread| sum.wrapping_add(thread.join().unwrap_or(0)))
    })
}

fn make(path: &Path, calls: u64) -> std::io::Result<()> {
    let ranks: Vec<SyntheticRank> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..RANKS).map(|rank| scope.spawn(move || one_rank(rank, calls))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a rank needs memory only")).collect()
    });
    write(path, &ranks)?;
    // Or the system would go on writing while times are measured.
    File::open(path)?.sync_all()
}

/// A loop over three operations of 20 us, on a clock of 2.5 GHz as usual machines have it; the first tenth is slower,
/// run times scatter by 5 %, and one in a thousand is an outlier.
fn one_rank(number: u32, calls: u64) -> SyntheticRank {
    let mut rank = SyntheticRank::new(number, RANKS);
    rank.header.nominal_hz = 2_500_000_000;
    let allreduce = rank.operation("MPI_Allreduce", 0, 8);
    let bcast = rank.operation("MPI_Bcast", 0, 1024);
    let barrier = rank.operation("MPI_Barrier", 0, 0);
    rank.describe(allreduce, None, "MPI_DOUBLE", Some("MPI_SUM"));
    rank.describe(bcast, Some(0), "MPI_BYTE", None);
    let mut random = Random::new(u64::from(number));
    let mut now = 1_000_000;
    for call in 0..calls {
        let level = if call < calls / 10 { 75_000.0 } else { 50_000.0 };
        let slow = if random.uniform() < 1e-3 { 10.0 } else { 1.0 };
        let duration = (level * slow * (1.0 + 0.05 * random.normal())) as u64;
        rank.call([allreduce, bcast, allreduce, barrier][call as usize % 4], now, now + duration);
        now += 1_000_000;
    }
    // The anchors are in ns.
    let last = &mut rank.header.last_anchor;
    last.raw_ns = last.tick * 2 / 5;
    rank
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn variable<T: FromStr>(name: &str, default: T) -> T {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} cannot be read")),
        Err(_) => default,
    }
}
