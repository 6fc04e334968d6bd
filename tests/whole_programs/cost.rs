//! The cost of what the tracer does at a call, counted and not timed: instructions do not depend on what else runs on
//! the machine.

use std::process::Command;

use crate::support::{Case, On, Test, binaries, root};

pub const TESTS: &[Test] = &[
    Test::new("a_recorded_call_executes_few_instructions", few)
        // Its own function has another name than the tracer's, so that the two are told apart.
        .on(On::Only(&["mpich4"]))
        .first_on(&["mpich4"])
        .needs("valgrind"),
    Test::new("a_poll_executes_few_instructions", few_at_a_poll)
        .on(On::Only(&["mpich4"]))
        .first_on(&["mpich4"])
        .needs("valgrind"),
    Test::new("no_subject_executes_more_instructions_than_are_stored", stored)
        .on(On::Only(&["mpich4", "ompi4"]))
        .second_tier()
        .needs("valgrind"),
];

/// Instructions that a recorded MPI_Allreduce executes beside the library's own: as measured of the profile `counted`,
/// rustc 1.95, x86-64. Another compiler or architecture needs another figure.
const STORED: f64 = 141.0;
/// Instructions of an MPI_Test that finds nothing, without the stamps of about each sixteenth.
const STORED_POLL: f64 = 92.0;
/// By so much it may be more.
const TOLERANCE: f64 = 1.05;

fn few(case: &Case) {
    const CALLS: u32 = 20_000;
    let (text, records) = annotated(case, "repeat.c", &[&CALLS.to_string()], "1");
    assert_eq!(records, u64::from(CALLS));
    check(&text, ":MPI_Allreduce", CALLS, STORED);
}

fn few_at_a_poll(case: &Case) {
    const POLLS: u32 = 100_000;
    let (text, _) = annotated(case, "costs.c", &["poll", &POLLS.to_string()], "1");
    check(&text, ":MPI_Test", POLLS, STORED_POLL);
}

/// So many calls of the wrapper with this name execute no more than is stored.
fn check(text: &str, name: &str, calls: u32, stored: f64) {
    let of_wrapper = text.lines().filter(|line| line.split_whitespace().any(|word| word.ends_with(name)));
    let executed = of_wrapper.map(count).sum::<u64>() as f64 / f64::from(calls);
    println!("{name}: {executed:.1} instructions");
    assert!(executed > 20.0, "the wrapper was not found\n{text}");
    assert!(executed <= stored * TOLERANCE, "{name} executes {executed:.1} instructions; {stored} are stored");
}

/// Runs a program, and counts what it executes: the text with a line for each function and file, and the records.
fn annotated(case: &Case, program: &str, words: &[&str], interruptions: &str) -> (String, u64) {
    let counted = case.folder.join("callgrind");
    let out = format!("--callgrind-out-file={}", counted.display());
    let tool = ["valgrind", "--tool=callgrind", &out];
    let launch = words.iter().fold(case.launch(1, program), |launch, word| launch.arg(*word));
    let launch = launch.behind(&tool.map(Into::into)).set("MPITRACE_INTERRUPTIONS", interruptions);
    let ran = launch.trace_by(binaries::counted_tracer()).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let annotated = Command::new("callgrind_annotate")
        .args(["--threshold=100", "--inclusive=no", "--auto=no"])
        .arg(&counted)
        .output();
    let text = String::from_utf8_lossy(&annotated.expect("a program of valgrind's").stdout).into_owned();
    (text, ran.trace.info().records)
}

/// The instructions of a line: that and their share come before FILE:FUNCTION and the object.
fn count(line: &str) -> u64 {
    let digits: String = line.trim_start().chars().take_while(|&c| c != ' ').filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// True if a line is of what the tracer does at a call: a function of the crate `interpose`. What packs the records
/// depends on the times in them: 560 to 620 instructions a call with it, in five runs.
fn is_at_a_call(line: &str) -> bool {
    let of_interpose = [":MPI_", ":mpitrace_region_", "mpitrace::"].iter().any(|name| line.contains(name));
    of_interpose && line.ends_with("libmpitrace.so]")
}

const SUBJECTS: [&str; 6] = ["call", "message", "type", "used", "operator", "region"];
/// Where the counts of each library are, and with which versions they were made.
const TABLE: &str = "docs/developers/measurements/instructions.txt";
/// A count may be so much more than the stored one.
const MORE: f64 = 1.03;

/// With `WRITE_COUNTS=1` in the environment it prints the lines of the table, and compares nothing.
fn stored(case: &Case) {
    let [few, many] = [2000, 6000];
    let of_tracer = |subject: &str, times: u64| {
        // What interrupts a thread is not the same in each run.
        let (text, _) = annotated(case, "costs.c", &[subject, &times.to_string()], "0");
        text.lines().filter(|line| is_at_a_call(line)).map(count).sum::<u64>()
    };
    let counted: Vec<(&str, u64)> = SUBJECTS
        .into_iter()
        .map(|subject| (subject, (of_tracer(subject, many) - of_tracer(subject, few)) / (many - few)))
        .collect();
    let compiler = Command::new("rustc").arg("--version").output().expect("the compiler");
    let library = case.traced(1, "repeat.c").info().library;
    let compiler = String::from_utf8_lossy(&compiler.stdout).trim().to_owned();
    let versions = format!("{}: {}; {compiler}; {}", case.mpi.name, library.trim(), std::env::consts::ARCH);
    let lines: Vec<String> = counted.iter().map(|(subject, count)| format!("{subject:9} {count:5}")).collect();
    let made = format!("{versions}\n{}\n", lines.join("\n"));
    if std::env::var_os("WRITE_COUNTS").is_some() {
        println!("{made}");
        return;
    }
    let table = std::fs::read_to_string(root().join(TABLE)).expect("the table");
    let Some((_, rows)) = table.split_once(&format!("{versions}\n")) else {
        println!("not compared: {TABLE} has no counts of {versions}");
        return;
    };
    for (subject, count) in counted {
        let row = rows.lines().find_map(|row| row.strip_prefix(subject)?.trim().parse::<f64>().ok());
        let stored = row.unwrap_or_else(|| panic!("{TABLE} has no {subject}; it is to have\n{made}"));
        assert!(
            count as f64 <= stored * MORE,
            "{subject} executes {count} instructions of the tracer, and {stored} are stored. Where that has to be, \
             {TABLE} is to have\n{made}"
        );
    }
}
