//! The Intel MPI Benchmarks, unmodified, as they come with Intel's wheel: what they say of themselves is in the trace.
//! And a program of which models and guidelines can be had.

use serde_json::Value;

use crate::support::companion::{self, mpitrace};
use crate::support::trace::Info;
use crate::support::{Case, On, Outcome, TARGET, Test, Trace};

/// Below the target folder.
const IMB: &str = "mpi/impi/bin/IMB-MPI1";

/// Built against Intel's library, which has MPICH's ABI, and so runs on MPICH 5 too.
pub const TESTS: &[Test] = &[
    Test::new("imb_agrees_in_repetitions_and_takes_its_time_around_ours", imb)
        .on(On::Only(&["impi", "mpich5"]))
        .needs(IMB),
    Test::new("models_go_through_what_messages_and_operations_took", models),
];

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

/// The times of the ping-pongs of this size, ns: halves of round trips, from the calls as they are dumped.
fn halves(rows: &[Value], bytes: u64) -> Vec<f64> {
    let of = |rank: u64, direction: &str| -> Vec<[f64; 2]> {
        let wanted = |row: &&Value| {
            row["rank"] == rank && row["direction"] == direction && row["tag"] == 1 && row["bytes"] == bytes
        };
        let time = |row: &Value, name: &str| row[name].as_f64().expect("a time");
        rows.iter().filter(wanted).map(|row| [time(row, "enter_ns"), time(row, "exit_ns")]).collect()
    };
    let (sent, came) = (of(0, "send"), of(0, "receive"));
    let (received, answered) = (of(1, "receive"), of(1, "send"));
    assert_eq!((sent.len(), came.len(), received.len(), answered.len()), (60, 60, 60, 60), "{bytes} bytes");
    let there = (0..60).map(|k| (came[k][1] - sent[k][0] - (answered[k][0] - received[k][1])) / 2.0);
    // Of rank 1 and the next message to it.
    let back = (0..59).map(|k| (received[k + 1][1] - answered[k][0] - (sent[k + 1][0] - came[k][1])) / 2.0);
    there.chain(back).collect()
}

fn models(case: &Case) {
    let outcome = case.launch(2, "models.c").trace().set("MPITRACE_P2P", "records").run();
    assert_eq!(outcome.code, 0, "{}{}", outcome.stdout, outcome.stderr);
    let path = outcome.trace.path.to_str().expect("a plain path");
    let rows = companion::json(&mpitrace(&["dump", "--messages", "--json", path]));
    let rows = rows.as_array().expect("rows");
    let found = companion::json(&mpitrace(&["benchmark", "models", "--json", path]));
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("no number: {value}"));
    let messages = &found["messages"][0];
    assert_eq!((&messages["way"], &messages["pairs"]), (&"one-node".into(), &1.into()), "{messages}");
    assert_eq!(messages["times_of"], "round-trips", "{messages}");
    for size in messages["sizes"].as_array().expect("sizes") {
        // One byte is the size of answers too.
        let bytes = size["bytes"].as_u64().expect("bytes");
        if bytes > 1 {
            let halves = halves(rows, bytes);
            let (least, most) = halves.iter().fold((f64::MAX, 0.0f64), |(low, high), &ns| (low.min(ns), high.max(ns)));
            let median = number(&size["median_ns"]);
            assert!((least - 1.0..=most + 1.0).contains(&median), "{least} to {most}: {size}");
            assert!(size["times"].as_u64() <= Some(119), "{size}");
        }
    }
    for parameter in messages["loggp"].as_array().expect("parameters") {
        assert!(parameter["value"].is_number() != parameter["reason"].is_string(), "{parameter}");
    }
    let collectives = found["collectives"].as_array().expect("operations");
    let functions: Vec<_> = collectives.iter().map(|one| one["function"].as_str().expect("a name")).collect();
    assert_eq!(functions, ["MPI_Allgather", "MPI_Allreduce", "MPI_Bcast", "MPI_Gather", "MPI_Reduce"]);
    for operation in collectives {
        let first =
            if ["MPI_Allgather", "MPI_Gather"].contains(&operation["function"].as_str().unwrap()) { 8 } else { 16 };
        let sizes = operation["sizes"].as_array().expect("sizes");
        let bytes: Vec<_> = sizes.iter().map(|size| size["bytes"].as_u64().expect("bytes")).collect();
        assert_eq!(bytes, (0..8).map(|k| first << (2 * k)).collect::<Vec<u64>>(), "{operation}");
        let lines = operation["lines"].as_array().expect("lines");
        for size in sizes {
            let m = number(&size["bytes"]);
            let is_of = |line: &&Value| (number(&line["from_bytes"])..=number(&line["to_bytes"])).contains(&m);
            let line = lines.iter().find(is_of).unwrap_or_else(|| panic!("no line: {size}"));
            let by_line = number(&line["alpha_ns"]) + m * number(&line["beta_ns_per_byte"]);
            let residual = number(&size["median_ns"]) / by_line - 1.0;
            assert!((residual - number(&size["residual"])).abs() < 1e-6, "{size} {line}");
        }
    }
    let tested = companion::json(&mpitrace(&["benchmark", "guidelines", "--json", path]));
    let tested = tested.as_array().expect("rows");
    let of = |kind: &str| tested.iter().filter(|row| row["kind"] == kind).count();
    // Six patterns at 8 sizes, and 7 steps of five operations.
    assert_eq!((of("pattern"), of("monotony"), of("split")), (48, 35, 35));
    for row in tested {
        let ends = row["factor_interval"].as_array().map(|ends| [number(&ends[0]), number(&ends[1])]);
        let verdict = match ends {
            Some([_, upper]) if upper <= 1.05 => "holds",
            Some(_) if number(&row["p"]) <= 0.05 => "violated",
            _ => "unknown",
        };
        assert_eq!(row["verdict"], verdict, "{row}");
    }
}
