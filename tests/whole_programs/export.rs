//! `mpitrace export`, read back by others: tests/readers has a few lines of Python for each format, and otf2-tools
//! reads OTF2.

use crate::support::companion::{self, assert_refused, mpitrace};
use crate::support::{Case, On, TARGET, Test, Trace, binaries, litter, process, root};
use mpitrace_functions::Function;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// tests/mpi/install.sh makes it.
const PYTHON: &str = "mpi/readers/bin/python";
const BOTH: On = On::Only(&["ompi4", "mpich4"]);

pub const TESTS: &[Test] = &[
    Test::new("columns_are_dump_s_and_the_documented_query_gives_the_medians", columns)
        .on(BOTH)
        .needs(PYTHON)
        .second_tier(),
    Test::new("melted_csv_has_the_run_time_of_each_rank_and_the_counters", melted).on(BOTH).needs(PYTHON).second_tier(),
    Test::new("reprompi_s_rows_give_the_run_times", reprompi).on(BOTH).needs(PYTHON),
    Test::new("perfetto_s_schema_knows_every_field_and_every_call_is_a_slice", perfetto).on(BOTH).needs(PYTHON),
    Test::new("otf2_print_reads_every_event_without_a_warning", otf2).on(BOTH).needs("otf2-print"),
    Test::new("messages_have_both_ends_in_each_format", messages).on(BOTH).needs(PYTHON),
    Test::new("otf2_of_a_killed_run_can_be_read", otf2_of_a_killed_run).on(BOTH).needs("otf2-print"),
    Test::new("otf2_that_does_not_fit_leaves_nothing", otf2_too_large).on(On::Any).needs("otf2-print"),
];

/// Blocking calls of several threads, requests, counters, and regions around calls: the programs of other tests.
fn traces(case: &Case) -> Vec<Trace> {
    let run = |ranks, program: &str, events: &str| {
        let outcome = case.launch(ranks, program).trace().set("MPITRACE_EVENTS", events).run();
        assert_eq!(outcome.code, 0, "{program}: {}", outcome.stderr);
        outcome.trace
    };
    let plain = |ranks, program| case.launch(ranks, program).trace().run().trace;
    let traces =
        vec![plain(3, "threads.c"), plain(3, "requests.c"), run(2, "messages.c", "messages"), plain(2, "inner.c")];
    traces.iter().for_each(|trace| assert!(trace.info().complete && trace.info().records > 0));
    traces
}

#[track_caller]
fn export(trace: &Trace, format: &str, output: &Path, options: &[&str]) -> PathBuf {
    let mut arguments: Vec<&OsStr> = vec!["export".as_ref(), trace.path.as_ref(), "--format".as_ref()];
    arguments.extend([format.as_ref(), "-o".as_ref(), output.as_os_str()]);
    arguments.extend(options.iter().map(OsStr::new));
    let finished = mpitrace(&arguments);
    assert_eq!((finished.code, finished.stdout.as_str()), (0, ""), "{arguments:?}: {}", finished.stderr);
    assert!(!PathBuf::from(format!("{}.part", output.display())).exists());
    output.to_owned()
}

/// The result of a file of tests/readers.
#[track_caller]
fn read<A: AsRef<OsStr>>(case: &Case, reader: &str, arguments: &[A]) -> Value {
    let mut command = Command::new(TARGET.join(PYTHON));
    command.arg(root().join("tests/readers").join(reader)).args(arguments);
    let finished = process::run(command, &case.folder.join("reader"), Duration::from_secs(120));
    assert_eq!((finished.code, finished.stderr.as_str()), (0, ""), "{reader}");
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error} in {:.2000}", finished.stdout))
}

/// `dump --json` by (rank, thread, operation, repetition).
fn dumped(trace: &Trace) -> BTreeMap<[u64; 4], Value> {
    by_key(&json(trace, "dump"))
}

fn json(trace: &Trace, command: &str) -> Value {
    let finished = mpitrace(&[command.as_ref(), trace.path.as_os_str(), "--json".as_ref()]);
    companion::json(&finished)
}

fn by_key(rows: &Value) -> BTreeMap<[u64; 4], Value> {
    let key = |row: &Value| ["rank", "thread", "operation", "repetition"].map(|key| row[key].as_u64().expect(key));
    let list = rows.as_array().expect("rows");
    let map: BTreeMap<_, _> = list.iter().map(|row| (key(row), row.clone())).collect();
    assert_eq!(map.len(), list.len(), "no call twice");
    map
}

/// Equal, but for what reading a float from text may lose.
#[track_caller]
fn assert_same(found: &Value, expected: &Value, what: &str) {
    match (found.as_f64(), expected.as_f64()) {
        (Some(found), Some(expected)) => assert!((found - expected).abs() < 1e-3, "{what}: {found} for {expected}"),
        _ => assert_eq!(found, expected, "{what}"),
    }
}

/// The first block of SQL in docs/exporting.md.
fn documented_query(case: &Case) -> PathBuf {
    let page = fs::read_to_string(root().join("docs/exporting.md")).expect("the page on exporting");
    let query = page.split("```sql\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a query in the page");
    let path = case.folder.join("query.sql");
    fs::write(&path, query).expect("the query");
    path
}

fn columns(case: &Case) {
    let query = documented_query(case);
    for (number, trace) in traces(case).iter().enumerate() {
        let path = |name: &str| case.folder.join(format!("{number}{name}"));
        let files = [
            query.clone(),
            export(trace, "parquet", &path(".parquet"), &[]),
            export(trace, "arrow", &path(".arrow"), &[]),
            export(trace, "arrow", &path(".arrows"), &[]),
        ];
        let dumped = dumped(trace);
        let categories = trace.categorize(&[]);
        for (file, found) in files[1..].iter().zip(read(case, "columns.py", &files).as_array().expect("a list")) {
            let rows = by_key(&found["rows"]);
            assert!(rows.keys().eq(dumped.keys()), "the calls of {}", file.display());
            for (key, row) in &rows {
                let expected = dumped[key].as_object().expect("a row");
                for (name, value) in expected.iter().filter(|(name, _)| *name != "counters") {
                    assert_same(&row[name], value, &format!("{name} of {key:?} in {}", file.display()));
                }
                for (name, value) in expected["counters"].as_object().expect("counters") {
                    assert_same(&row[name], value, name);
                }
                let [_, _, operation, repetition] = key.map(|number| number as usize);
                let category = &categories[operation].category[repetition];
                assert_eq!(row["category"], category.as_str(), "category of {key:?}");
            }
            let answer = found["answer"].as_array().expect("the medians");
            assert_eq!(answer.len(), categories.len());
            for (row, expected) in answer.iter().zip(&categories) {
                assert_eq!(row[0], expected.operation);
                assert_same(&row[1], &expected.median_ns.into(), &format!("median in {}", file.display()));
            }
        }
    }
}

fn melted(case: &Case) {
    for (number, trace) in traces(case).iter().enumerate() {
        let folder = case.folder.join(format!("{number}/"));
        export(trace, "csv", &folder, &[]);
        let dumped = dumped(trace);
        for expected in trace.categorize(&[]) {
            let operation = expected.operation.to_string();
            let zipped = export(trace, "csv", &folder.join("one.csv.gz"), &["--operation", &operation]);
            for file in [folder.join(format!("operation-{operation}.csv")), zipped] {
                let found = read(case, "melt.py", &[&file]);
                assert_same(&found["median_ns"], &expected.median_ns.into(), "median");
                for (repetition, run_time) in expected.run_time_ns.iter().enumerate() {
                    assert_same(&found["run_time_ns"][repetition.to_string()], &(*run_time).into(), "run time");
                }
                for ([rank, _, of, repetition], row) in &dumped {
                    for (name, value) in row["counters"].as_object().expect("counters") {
                        if *of == expected.operation {
                            let melted = &found["counters"][name][format!("{repetition} {rank}")];
                            assert_same(melted, value, name);
                        }
                    }
                }
            }
        }
    }
}

fn reprompi(case: &Case) {
    let trace = case.launch(3, "counts.c").trace().run().trace;
    let info = trace.info_of_all();
    for expected in trace.categorize(&[]) {
        let operation = expected.operation.to_string();
        let about = &info.operations[expected.operation as usize];
        let path = case.folder.join(format!("{operation}.txt"));
        let found = read(case, "reprompi.py", &[export(&trace, "reprompi", &path, &["--operation", &operation])]);
        assert_eq!(found["settings"]["nprocs"], about.ranks.to_string());
        let job = &found["jobs"][format!("{} {}", about.function, about.bytes)];
        assert_eq!(job.as_object().map(|job| job.len()), Some(expected.run_time_ns.len()));
        for (repetition, run_time) in expected.run_time_ns.iter().enumerate() {
            let seconds = job[repetition.to_string()].as_f64().expect("a time");
            // Ten digits behind the point, twice.
            assert!((seconds * 1e9 - run_time).abs() < 0.2, "{seconds} s for {run_time} ns");
        }
    }
}

fn perfetto(case: &Case) {
    for (number, trace) in traces(case).iter().enumerate() {
        let file = export(trace, "perfetto", &case.folder.join(format!("{number}.pftrace.gz")), &[]);
        let unpacked = case.folder.join("unpacked");
        let mut command = Command::new("gzip");
        command.args(["-dc".as_ref(), file.as_os_str()]).stdout(fs::File::create(&unpacked).expect("a file"));
        assert!(command.status().expect("gzip").success());
        let found = read(case, "perfetto_trace.py", &[&unpacked]);
        let dumped = dumped(trace);
        let slices = found["slices"].as_array().expect("slices");
        assert_eq!(slices.len(), dumped.len());
        let earliest = dumped.values().map(|row| row["enter_ns"].as_f64().expect("a time")).fold(0.0, f64::min);
        let mut flows: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
        for slice in slices {
            let number = |key: &str| slice[key].as_u64().unwrap_or_else(|| panic!("{key} of {slice}"));
            let of = |thread: u64| dumped.get(&[number("rank"), thread, number("operation"), number("repetition")]);
            let track = slice["track"].as_str().expect("a track");
            let thread = track["thread ".len()..].split(',').next().and_then(|thread| thread.parse().ok());
            let row = thread.and_then(of).unwrap_or_else(|| panic!("no call for {slice}"));
            assert_eq!(track.ends_with("requests"), row.get("init_ns").is_some(), "{slice}");
            assert_eq!((&slice["name"], &slice["communicator"]), (&row["function"], &row["communicator"]));
            for (side, time) in [("begin_ns", "enter_ns"), ("end_ns", "exit_ns")] {
                let expected = row[time].as_f64().expect("a time") - earliest;
                assert!((number(side) as f64 - expected).abs() <= 1.5, "{side} of {slice}: not {expected}");
            }
            for flow in slice["flows"].as_array().expect("flows") {
                let call = (number("operation"), number("repetition"));
                flows.entry(flow.as_u64().expect("a number")).or_default().push(call);
            }
        }
        assert!(flows.values().all(|calls| calls.iter().all(|call| *call == calls[0])), "a flow is one repetition");
        let sums = found["counters"].as_object().expect("counters");
        assert_eq!(sums.len(), trace.info().counters.len());
        for (name, sum) in sums {
            let expected: u64 = dumped.values().filter_map(|row| row["counters"][name].as_u64()).sum();
            assert_eq!(sum.as_u64(), Some(expected), "{name}");
        }
    }
}

/// The output of otf2-print for an archive: without a word on stderr.
#[track_caller]
fn printed(case: &Case, options: &[&str], archive: &Path) -> String {
    let mut command = Command::new("otf2-print");
    command.args(options).arg(archive.join("traces.otf2"));
    let finished = process::run(command, &case.folder.join("otf2-print"), Duration::from_secs(60));
    assert_eq!((finished.code, finished.stderr.as_str()), (0, ""));
    for word in ["WARN", "ERROR", "Unknown", "INVALID"] {
        assert!(!finished.stdout.contains(word), "{word} in\n{:.4000}", finished.stdout);
    }
    finished.stdout
}

fn count(printed: &str, event: &str) -> usize {
    printed.lines().filter(|line| line.split_whitespace().next() == Some(event)).count()
}

/// Each LEAVE is of the region that its location has entered last.
#[track_caller]
fn assert_nested(events: &str) {
    let mut entered: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in events.lines().filter(|line| line.starts_with("ENTER ") || line.starts_with("LEAVE ")) {
        let (event, region) = line.split_once("Region: ").expect("a region");
        let mut words = event.split_whitespace();
        let (event, location) = (words.next(), words.next().expect("a location"));
        let within = entered.entry(location).or_default();
        match event {
            Some("ENTER") => within.push(region),
            _ => assert_eq!(within.pop(), Some(region), "{line}"),
        }
    }
    assert!(entered.values().all(Vec::is_empty), "{entered:?}");
}

fn otf2(case: &Case) {
    for (number, trace) in traces(case).iter().enumerate() {
        let archive = export(trace, "otf2", &case.folder.join(format!("{number}.otf2")), &[]);
        let events = printed(case, &[], &archive);
        let dumped = dumped(trace);
        let requests = dumped.values().filter(|row| row.get("init_ns").is_some()).count();
        let regions =
            dumped.values().filter(|row| !row["function"].as_str().expect("a name").starts_with("MPI_")).count();
        let function = |row: &Value| row["function"].as_str().and_then(Function::named);
        // OTF2 has no kind for the collectives that manage handles.
        let without_kind = dumped.values().filter_map(function).filter(|function| function.otf2.is_none()).count();
        let collectives = dumped.len() - requests - regions - without_kind;
        let blocking = dumped.values().filter(|row| row.get("init_ns").is_none());
        let counted = |row: &Value| {
            row["counters"].as_object().expect("counters").values().filter(|value| value.is_u64()).count()
        };
        let values: usize = blocking.map(counted).sum();
        let expected = [
            ("ENTER", dumped.len()),
            ("LEAVE", dumped.len()),
            ("MPI_COLLECTIVE_BEGIN", collectives),
            ("MPI_COLLECTIVE_END", collectives),
            ("NON_BLOCKING_COLLECTIVE_REQUEST", requests),
            ("NON_BLOCKING_COLLECTIVE_COMPLETE", requests),
            ("METRIC", values),
        ];
        for (event, expected) in expected {
            assert_eq!(count(&events, event), expected, "{event}");
        }
        // ENTER LOCATION TIMESTAMP: the thread is above the rank.
        let earliest = dumped.values().map(|row| row["enter_ns"].as_f64().expect("a time")).fold(0.0, f64::min);
        let entered = |line: &str| {
            let mut words = line.split_whitespace();
            let location: u64 = (words.next() == Some("ENTER")).then(|| words.next())??.parse().ok()?;
            Some((location & 0xffff_ffff, location >> 32, words.next()?.parse::<u64>().ok()?))
        };
        let mut found: Vec<_> = events.lines().filter_map(entered).collect();
        let stamp = |row: &Value| (row["enter_ns"].as_f64().expect("a time") - earliest.floor()).round() as u64;
        let mut expected: Vec<_> = dumped.iter().map(|(key, row)| (key[0], key[1], stamp(row))).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);

        assert_nested(&events);

        let definitions = printed(case, &["-G"], &archive);
        let info = trace.info();
        for operation in &info.operations {
            let communicator = format!("Name: \"{}\"", operation.communicator);
            assert!(definitions.lines().any(|line| line.starts_with("COMM ") && line.contains(&communicator)));
        }
        assert_eq!(count(&definitions, "LOCATION_GROUP"), info.ranks as usize);
        assert_eq!(count(&definitions, "METRIC_MEMBER"), info.counters.len());
    }
}

/// Each way of sending and receiving, recorded: read back as arrows and as events.
fn messages(case: &Case) {
    let outcome = case.launch(4, "partners.c").trace().set("MPITRACE_P2P", "records").run();
    let trace = outcome.trace;
    let arguments = ["dump".as_ref(), "--messages".as_ref(), "--json".as_ref(), trace.path.as_os_str()];
    let dumped = companion::json(&mpitrace(&arguments));
    let rows = dumped.as_array().expect("rows");
    assert!(rows.len() > 1000 && rows.iter().all(|row| row["message"].is_u64()), "{} rows", rows.len());
    // What is summed up over messages is so in the same order each time, to the last digit.
    let summary = || mpitrace(&["summary".as_ref(), "--json".as_ref(), trace.path.as_os_str()]).stdout;
    let first = summary();
    assert!((0..5).all(|_| summary() == first));
    let sent: Vec<u64> = {
        let is_sent = |row: &&Value| row["direction"] == "send" && !waits(row);
        rows.iter().filter(is_sent).map(|row| row["message"].as_u64().expect("a message")).collect()
    };
    let file = export(&trace, "perfetto", &case.folder.join("m.pftrace"), &[]);
    let found = read(case, "perfetto_trace.py", &[&file]);
    let mut ends: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for slice in found["slices"].as_array().expect("slices") {
        if slice["track"].as_str().is_some_and(|track| track.ends_with("messages")) {
            for flow in slice["flows"].as_array().expect("flows") {
                ends.entry(flow.as_u64().expect("a number")).or_default().push(slice["rank"].as_u64().expect("a rank"));
            }
        }
    }
    assert_eq!(ends.len(), sent.len());
    assert!(ends.values().all(|ranks| ranks.len() == 2), "an arrow has two ends");
    if Command::new("otf2-print").arg("--version").output().is_ok() {
        let events = printed(case, &[], &export(&trace, "otf2", &case.folder.join("m.otf2"), &[]));
        let [sends, receives] = [["MPI_SEND", "MPI_ISEND"], ["MPI_RECV", "MPI_IRECV"]]
            .map(|names| names.iter().map(|name| count(&events, name)).sum::<usize>());
        assert_eq!((sends, receives), (sent.len(), sent.len()));
    }
}

/// True: the call finds a request complete.
fn waits(row: &Value) -> bool {
    let function = row["function"].as_str().expect("a name");
    function.starts_with("MPI_Wait") || function.starts_with("MPI_Test")
}

fn otf2_of_a_killed_run(case: &Case) {
    let outcome = case.launch(2, "death.c").arg("kill").trace().run();
    litter::sweep();
    let trace = if outcome.trace.path.exists() { outcome.trace } else { case.recover() };
    assert!(!trace.info().complete);
    let archive = export(&trace, "otf2", &case.folder.join("killed.otf2"), &[]);
    let events = printed(case, &[], &archive);
    let rows = dumped(&trace);
    let returned = rows.values().filter(|row| !row["exit_ns"].is_null()).count();
    assert_eq!((count(&events, "ENTER"), count(&events, "LEAVE")), (rows.len(), returned));
}

/// The OTF2 library keeps to itself that a file could not be written whole.
fn otf2_too_large(case: &Case) {
    let trace = case.launch(2, "repeat.c").arg("1000").trace().run().trace;
    let archive = case.folder.join("large.otf2");
    let mut command = Command::new("sh");
    // Files of 4 KiB at most; writing more fails, as on a full disk, and is no signal.
    command.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" export \"$1\" --format otf2 -o \"$2\""]);
    command.arg(binaries::companion()).arg(&trace.path).arg(&archive);
    let finished = process::run(command, &case.folder.join("limited"), Duration::from_secs(60));
    assert_refused(&finished, "an archive that does not fit");
    assert!(finished.stderr.contains("cannot write"), "{}", finished.stderr);
    let left = fs::read_dir(&case.folder).expect("the folder").flatten().map(|entry| entry.file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().starts_with("large.otf2")));
}
