//! Which line of the program makes a call.

use std::fs;

use crate::support::trace::Operation;
use crate::support::{Case, On, Test, build, companion};

pub const TESTS: &[Test] = &[
    Test::new("are_part_of_what_makes_an_operation_where_asked_for", lines),
    Test::new("of_fortran_are_the_programs_own_and_not_the_librarys", fortran).on(On::Fortran),
    Test::new("of_python_are_lines_of_the_script", python).on(On::Python),
];

/// Where the line of tests/programs/places.py is that ends in this mark.
fn line_of(mark: &str) -> u64 {
    let text = fs::read_to_string(build::source("places.py")).expect("the program");
    1 + text.lines().position(|line| line.ends_with(&format!("# {mark}"))).expect("the mark") as u64
}

/// Call sites in a Python program that is run by itself, and by mpi4py.
fn python(case: &Case) {
    let launch = || case.launch(2, "places.py").trace().set("MPITRACE_CALLSITE", "1");
    for outcome in [launch().run(), launch().by_module("mpi4py").run()] {
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let info = outcome.trace.info();
        let of = |function: &str, line: u64| {
            let is_it = |operation: &&Operation| operation.function == function && site(operation).1 == line;
            let found = info.operations.iter().filter(is_it);
            found.map(|operation| (site(operation).0.to_owned(), operation.repetitions)).collect::<Vec<_>>()
        };
        let lines = ["first", "second", "step"].map(|mark| of("MPI_Allreduce", line_of(mark)));
        assert_eq!(lines.each_ref().map(|found| found.len()), [1; 3], "{:#?}", info.operations);
        for ((name, repetitions), expected) in lines.into_iter().flatten().zip(["main", "main", "Solver.step"]) {
            // Before 3.11 without its class.
            assert!(expected.ends_with(&name) && repetitions == 5, "{name} {repetitions}");
        }
        // Code that lies where other code has lain.
        let made = [1, 2].map(|line| of("MPI_Barrier", line));
        assert_eq!(made, [(); 2].map(|()| vec![("<module>".to_owned(), 20)]), "{:#?}", info.operations);
        assert_eq!(of("MPI_Bcast", line_of("thread")).len(), 1, "{:#?}", info.operations);
    }
}

/// The function that calls, and the line; lines are known where the program has debug data, and it has.
fn site(operation: &Operation) -> (&str, u64) {
    let site = operation.call_site.as_ref().unwrap_or_else(|| panic!("no call site: {operation:?}"));
    let symbol = site.symbol.as_deref().unwrap_or_else(|| panic!("no function: {operation:?}"));
    (symbol, site.line.unwrap_or_else(|| panic!("no line: {operation:?}")))
}

fn lines(case: &Case) {
    let launch = || case.launch(2, "places.c").trace();
    let together = launch().run().trace.info();
    assert_eq!(together.operations.len(), 3, "{together:#?}");
    assert!(together.operations.iter().all(|operation| operation.call_site.is_none()));
    let outcome = launch().set("MPITRACE_CALLSITE", "1").run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let apart = outcome.trace.info();
    let found: Vec<_> = apart
        .operations
        .iter()
        .map(|operation| (operation.function.as_str(), site(operation), operation.repetitions, operation.incomplete))
        .collect();
    assert_eq!(
        found,
        [
            ("MPI_Allreduce", ("exchange", 9), 5, 0),
            ("MPI_Allreduce", ("main", 19), 5, 0),
            ("MPI_Iallreduce", ("main", 21), 5, 0),
            // Where ranks call from different lines, that of the lowest one.
            ("MPI_Bcast", ("main", 24), 5, 0),
            ("MPI_Allreduce", ("main", 20), 2, 0),
        ]
    );
    // The line comes first in the tables, and is in the titles.
    let path = outcome.trace.path.display().to_string();
    for command in ["stats", "categorize"] {
        let said = companion::mpitrace(&[command, &path]).stdout;
        assert!(said.starts_with("line ") && said.contains("\nplaces.c:9 "), "{command}: {said}");
    }
    for (command, title) in [("diagnose", " at places.c:9"), ("report", ", places.c:9")] {
        let said = companion::mpitrace(&[command, &path, "--operation", "0"]).stdout;
        assert!(said.contains(title), "{command}: {said}");
    }
}

/// Fortran calls reach the C functions through the MPI library's own Fortran library.
fn fortran(case: &Case) {
    let outcome = case.launch(3, "fortran_mpif.f90").trace().set("MPITRACE_CALLSITE", "1").run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let info = outcome.trace.info();
    // Each is called from one line, out of which the compiler may make several places.
    assert!(info.operations.len() >= 7, "{info:#?}");
    let mut lines: Vec<u64> = info
        .operations
        .iter()
        .map(|operation| {
            let file = operation.call_site.as_ref().and_then(|site| site.file.clone()).unwrap_or_default();
            assert!(file.ends_with("fortran_mpif.f90"), "{operation:?}");
            site(operation).1
        })
        .collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 7);
}
