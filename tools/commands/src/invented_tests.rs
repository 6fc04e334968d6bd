//! One line of the table is enough for the companion: an invented collective, from a trace to every output.

use std::fs::{self, File};
use std::path::Path;

use clap::Parser;
use mpitrace_export::Otf2Collective;
use mpitrace_show::output::Output;
use mpitrace_testing::invented;
use mpitrace_testing::synthetic::{self, SyntheticRank, SyntheticRequest};
use serde_json::Value;

use crate::cli::{Cli, tests::NoBenchmark};

/// Ten blocking calls of 1 µs, and ten non-blocking ones that wait for 100 ns, on two ranks.
fn write_trace(path: &Path) {
    let ranks = [0, 1].map(|number: u32| {
        let mut rank = SyntheticRank::new(number, 2);
        let [blocking, started] = ["MPI_Inform", "MPI_Whisper"].map(|function| {
            let operation = rank.operation(function, 0, 8);
            rank.describe(operation, Some(1), "MPI_INT", Some("MPI_SUM"));
            operation
        });
        for i in 1..=10 {
            rank.call(blocking, 10_000 * i, 10_000 * i + 1000);
            let request = SyntheticRequest { init: 50, test: 0, wait: 100, tests: 0 };
            rank.call_with_request(started, 10_000 * i + 2000, 10_000 * i + 4000, request);
        }
        rank
    });
    synthetic::write(path, &ranks).unwrap();
}

/// The standard output of the companion.
fn mpitrace(folder: &Path, arguments: &[&str]) -> String {
    let path = folder.join("stdout");
    let mut output = Output::file(File::create(&path).unwrap());
    let cli = Cli::<NoBenchmark>::try_parse_from(["mpitrace"].iter().chain(arguments)).unwrap();
    cli.command.run(&mut output).unwrap();
    std::io::Write::flush(&mut output).unwrap();
    fs::read_to_string(path).unwrap()
}

#[test]
fn one_line_of_the_table_is_enough_for_the_companion() {
    mpitrace_functions::add(invented::FUNCTIONS);
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let trace = folder.join("invented.mpitrace");
    write_trace(&trace);
    let trace = trace.to_str().unwrap();
    let json = |arguments: &[&str]| -> Value {
        let mut value: Value = serde_json::from_str(&mpitrace(folder, arguments)).unwrap();
        value.as_object_mut().and_then(|keys| keys.remove("rows")).unwrap_or(value)
    };

    // The two forms find each other: 50 ns in the start and 100 in MPI_Wait are left of the 1000 of the blocking one.
    let stats = json(&["stats", trace, "--json"]);
    assert!(stats[0]["non_blocking"].is_null(), "{stats}");
    let non_blocking = &stats[1]["non_blocking"];
    assert_eq!((&non_blocking["blocking_operation"], &non_blocking["overlap"]), (&0.into(), &0.85.into()), "{stats}");

    // Two ranks leave after the root: no violations, but checked.
    let clock = json(&["clock", trace, "--json"]);
    assert_eq!(clock["causality"]["checked"], 20, "{clock}");

    let rows = json(&["export", trace, "--format", "json", "-o", "-"]);
    assert_eq!((&rows[0]["function"], rows[0].get("wait_ns")), (&"MPI_Inform".into(), None));
    let started = rows.as_array().unwrap().iter().find(|row| row["function"] == "MPI_Whisper").unwrap();
    assert_eq!(started["wait_ns"], 100.0);
    let csv = mpitrace(folder, &["export", trace, "--format", "csv", "--operation", "1", "-o", "-"]);
    assert_eq!(csv.lines().nth(1), Some("0,0,runtime,2000"));

    let timeline = folder.join("timeline.perfetto");
    mpitrace(folder, &["export", trace, "--format", "perfetto", "-o", timeline.to_str().unwrap()]);
    let timeline = fs::read(timeline).unwrap();
    assert!(timeline.windows(11).any(|name| name == b"MPI_Whisper"));

    // OTF2 needs its library; what it is handed does not.
    let kind = Otf2Collective::new;
    assert!(kind("MPI_Scatter").is_some());
    assert_eq!([kind("MPI_Whisper"), kind("MPI_Inform_init")], [kind("MPI_Scatter"); 2]);

    // Out to ReproMPI under its name for it, and in again with root and operator.
    let raw = folder.join("rumour.txt");
    let raw = raw.to_str().unwrap();
    mpitrace(folder, &["export", trace, "--format", "reprompi", "--operation", "0", "-o", raw]);
    assert!(fs::read_to_string(raw).unwrap().contains(" Rumour "));
    let stats = json(&["stats", "--from", "reprompi", raw, "--json"]);
    assert_eq!((&stats[0]["function"], &stats[0]["root"]), (&"MPI_Inform".into(), &1.into()), "{stats}");
}
