//! The tracer changes nothing that memory allocators, checkers of memory and other tools see of a program.

use crate::support::want::{NUMBERED, WORLD};
use crate::support::{Case, On, Test, Want, build, want};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Libraries that the checkers know their way about: others fill the report with errors of their own.
const EITHER: On = On::Only(&["ompi4", "mpich4"]);

pub const TESTS: &[Test] = &[
    Test::new("calls_ask_for_no_memory", mallocs),
    Test::new("are_results_with_another_malloc", other_mallocs),
    Test::new("are_results_under_address_sanitizer", address_sanitizer).on(EITHER),
    Test::new("are_results_under_valgrind", valgrind).on(EITHER).needs("valgrind").second_tier().alone(),
    Test::new("are_the_counts_of_a_tool_in_the_program", linked_tool),
];

/// counts.c on two ranks.
fn counts() -> Vec<Want> {
    let on = |communicator, root| {
        [
            want("MPI_Allreduce", communicator, 2).of(64, "MPI_DOUBLE").by("MPI_SUM").times(20),
            want("MPI_Bcast", communicator, 2).of(16, "MPI_INT").root(root).times(10),
            want("MPI_Barrier", communicator, 2).times(3),
        ]
    };
    [on(WORLD, 1), on(NUMBERED, 0)].concat()
}

/// Blocking calls never; non-blocking ones neither, once a thread has made one.
fn mallocs(case: &Case) {
    let counter = build::shared_library(case.mpi, "count_mallocs.c");
    for arguments in [&[][..], &["requests"][..]] {
        let launch = || arguments.iter().fold(case.launch(2, "mallocs.c"), |launch, word| launch.arg(*word));
        let plain = launch().run();
        let traced = launch().preload(counter.clone()).trace().run();
        traced.same_as(&plain);
        let line = traced.lines_with("start ").first().copied().unwrap_or_else(|| panic!("{}", traced.stderr));
        let counts: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [start, first, again] = counts[..] else { panic!("{line}") };
        assert!(start > 0 && first > 0, "what is counted is counted: {line}");
        assert_eq!(again, 0, "{arguments:?}: {line}");
    }
}

/// The libraries of Debian's packages libjemalloc2 and libtcmalloc-minimal4, where they are installed, and an allocator
/// of the test's own.
fn other_mallocs(case: &Case) {
    let libraries = ["libjemalloc.so.2", "libtcmalloc_minimal.so.4"];
    let installed = libraries.iter().map(|name| Path::new("/usr/lib/x86_64-linux-gnu").join(name));
    let mut allocators: Vec<PathBuf> = installed.filter(|path| path.exists()).collect();
    allocators.push(build::shared_library(case.mpi, "own_malloc.c"));
    for allocator in allocators {
        let plain = case.launch(2, "counts.c").preload(allocator.clone()).run();
        for first in [true, false] {
            let launch = case.launch(2, "counts.c");
            let launch = if first {
                launch.trace().preload(allocator.clone())
            } else {
                launch.preload(allocator.clone()).trace()
            };
            let traced = launch.run();
            traced.same_as(&plain);
            if plain.code != 0 {
                println!("{}: exit code {} without the tracer", allocator.display(), plain.code);
                case.segments.empty();
                continue;
            }
            traced.trace.info().assert_is(&counts());
        }
    }
}

/// The runtime of the sanitizer is not the first library then.
const SANITIZER: &str = "verify_asan_link_order=0:detect_leaks=0";

fn address_sanitizer(case: &Case) {
    for program in ["counts.c", "requests.c", "threads.c"] {
        let path = build::sanitized(case.mpi, program);
        let launch = || case.launch(2, path.to_str().expect("a plain path")).set("ASAN_OPTIONS", SANITIZER);
        let plain = launch().run();
        assert_eq!(plain.code, 0, "{program}: {}{}", plain.stdout, plain.stderr);
        let traced = launch().trace().run();
        traced.same_as(&plain);
        assert!(traced.lines_with("AddressSanitizer").is_empty(), "{program}: {}", traced.stderr);
        let info = traced.trace.info();
        assert!(info.complete && info.records > 0 && info.dropped == 0, "{info:?}");
        if program == "counts.c" {
            info.assert_is(&counts());
        }
    }
}

/// No error that valgrind finds has the tracer among its frames.
fn valgrind(case: &Case) {
    for program in ["counts.c", "requests.c"] {
        let logs = case.folder.join(format!("valgrind-{program}"));
        fs::create_dir(&logs).expect("a folder");
        let words = ["valgrind", "--error-limit=no", "--num-callers=50", "--child-silent-after-fork=yes"];
        let mut words: Vec<OsString> = words.iter().map(|&word| OsString::from(word)).collect();
        words.push(format!("--log-file={}/%p", logs.display()).into());
        let plain = case.launch(2, program).run();
        let traced = case.launch(2, program).behind(&words).trace().run();
        traced.same_as(&plain);
        if program == "counts.c" {
            traced.trace.info().assert_is(&counts());
        }
        let mut summaries = 0;
        for entry in fs::read_dir(&logs).expect("the folder").flatten() {
            let log = fs::read_to_string(entry.path()).expect("a log");
            summaries += usize::from(log.contains("ERROR SUMMARY"));
            for block in blocks(&log) {
                assert!(!block.contains("libmpitrace.so"), "{program}: {block}");
            }
        }
        assert_eq!(summaries, 2, "a log of each rank");
    }
}

/// The parts of a log of valgrind between empty lines.
fn blocks(log: &str) -> Vec<String> {
    let text = |line: &str| line.splitn(3, "==").nth(2).unwrap_or(line).trim().to_owned();
    let lines: Vec<String> = log.lines().map(text).collect();
    lines.split(String::is_empty).map(|block| block.join("\n")).collect()
}

/// Its wrappers come before all libraries, and it calls PMPI_X.
fn linked_tool(case: &Case) {
    let run = |traced: bool| {
        let tally = case.folder.join(if traced { "with" } else { "without" });
        let launch = case.launch(2, "linked_tool.c").set("TALLY_OUTPUT", &tally);
        let outcome = if traced { launch.trace().run() } else { launch.run() };
        let counted = [0, 1].map(|rank| {
            fs::read_to_string(case.folder.join(format!("{}.{rank}", tally.display()))).expect("the tool's counts")
        });
        (outcome, counted)
    };
    let (plain, without) = run(false);
    let (traced, with) = run(true);
    traced.same_as(&plain);
    assert_eq!(with, without);
    assert_eq!(with, ["MPI_Barrier 6\nMPI_Bcast 20\nMPI_Allreduce 40\n"; 2]);
    traced.trace.info().assert_is(&counts());
}
