//! The Intel MPI Benchmarks, unmodified, as they come with Intel's wheel: what they say of themselves is in the trace.

use crate::support::companion::{self, mpitrace};
use crate::support::trace::Info;
use crate::support::{Case, On, Outcome, TARGET, Test, Trace};

/// Below the target folder.
const IMB: &str = "mpi/impi/bin/IMB-MPI1";

/// Built against Intel's library, which has MPICH's ABI, and so runs on MPICH 5 too.
pub const TESTS: &[Test] = &[Test::new("imb_agrees_in_repetitions_and_takes_its_time_around_ours", imb)
    .on(On::Only(&["impi", "mpich5"]))
    .needs(IMB)];

/// A line of IMB's table.
struct Line {
    bytes: u64,
    repetitions: u64,
    average_us: f64,
}

fn table(outcome: &Outcome) -> Vec<Line> {
    let numbers = |line: &str| line.split_whitespace().map(|word| word.parse().ok()).collect::<Option<Vec<f64>>>();
    let lines = outcome.stdout.lines().filter_map(numbers).filter(|numbers| numbers.len() == 5);
    lines.map(|line| Line { bytes: line[0] as u64, repetitions: line[1] as u64, average_us: line[4] }).collect()
}

fn imb(case: &Case) {
    let home = case.mpi.home.as_ref().expect("a wheel");
    let program = TARGET.join(IMB);
    let launch = case.launch(2, program.to_str().expect("a plain path")).set("LD_LIBRARY_PATH", home.join("lib"));
    let words = ["-npmin", "2", "-iter", "200", "-msglog", "3:4", "Allreduce"];
    let traced = words.into_iter().fold(launch, |launch, word| launch.arg(word)).trace().run();
    assert_eq!(traced.code, 0, "{}{}", traced.stdout, traced.stderr);
    let table = table(&traced);
    let sizes: Vec<_> = table.iter().map(|line| line.bytes).collect();
    assert_eq!(sizes, [0, 8, 16], "{}", traced.stdout);
    let info = traced.trace.info();
    assert!(info.complete && info.dropped == 0);
    for line in &table {
        assert_agrees(&traced.trace, &info, line);
    }
}

/// IMB measures in the last n calls of a size. Before them it calls once, then up to n times, to see how many
/// repetitions fit into its time limit, and n / 10 times to warm up. (Counted by a tool of its own, for n = 200 and
/// 1000; on a busy machine the look at the limit ends earlier.)
///
/// IMB takes its time around ours, so what it says is never less than what the trace holds, whatever else the machine
/// does. How much more it is, benches/imb.rs shows.
#[track_caller]
fn assert_agrees(trace: &Trace, info: &Info, line: &Line) {
    let Line { bytes, repetitions: n, average_us } = line;
    let operation = info.operations.iter().find(|operation| {
        operation.function == "MPI_Allreduce"
            && operation.datatype.as_deref() == Some("MPI_FLOAT")
            && operation.bytes == *bytes
    });
    let operation = operation.unwrap_or_else(|| panic!("no Allreduce of {bytes} bytes: {:#?}", info.operations));
    let (calls, least) = (operation.repetitions, 1 + n / 10 + n);
    assert!((least..=least + n).contains(&calls), "{calls} calls of {bytes} bytes, {n} repetitions by IMB");
    assert_eq!(operation.ranks, 2);
    let number = operation.operation.to_string();
    let rows = trace.dump(&["--operation", &number]);
    let measured = rows.iter().filter(|row| row.repetition >= calls - n);
    let times: Vec<f64> = measured.filter_map(|row| Some(row.exit_ns? - row.enter_ns)).collect();
    assert_eq!(times.len() as u64, 2 * n);
    let mean_us = times.iter().sum::<f64>() / times.len() as f64 / 1e3;
    let path = trace.path.to_str().expect("a plain path");
    let counted = mpitrace(&["benchmark", "scheme", path, "--scheme", "imb", "--json", "--operation", &number]);
    let counted = &companion::json(&counted)[0];
    assert_eq!(counted["used"], 2 * n, "{counted}");
    assert!((counted["mean_ns"].as_f64().unwrap() / 1e3 - mean_us).abs() < 1e-6 * mean_us, "{mean_us}: {counted}");
    // IMB prints two decimals.
    assert!(mean_us > 0.0 && mean_us <= average_us + 0.01, "{bytes} bytes: {average_us} us by IMB, {mean_us:.3} by us");
}
