//! `mpitrace_enough` ends a benchmark's loop, alike on all ranks, with and without the tracer, which records none of
//! it.

use std::process::Command;

use crate::support::want::WORLD;
use crate::support::{Case, Launch, On, Test, root, want};

pub const TESTS: &[Test] = &[
    Test::new("ends_a_loop_alike_on_all_ranks_and_is_not_recorded", alike).first_on(&["ompi4", "mpich4", "impi"]),
    Test::new("ends_no_later_than_the_benchmark_or_the_variable_says", maxima),
    Test::new("by_mpiblibs_rule_has_students_interval_of_the_mean", mpiblib).on(On::Only(&["mpich5", "ompi5"])),
    Test::new("says_what_its_variable_cannot_be_and_takes_the_default", refused).on(On::Any),
    Test::new("can_be_asked_from_fortran", fortran).on(On::Fortran).first_on(&["mpich5"]),
    Test::new("has_an_interval_that_holds_what_is_known_of_noise", noise).on(On::Any),
    Test::new("is_made_a_library_that_calls_mpi_by_its_pmpi_names_alone", library).on(On::Only(&["ompi4", "mpich5"])),
];

/// A line `enough SIZE REPETITIONS ANSWER`, as a program prints where all ranks were told the same.
#[derive(Debug, PartialEq)]
struct Line {
    bytes: u64,
    repetitions: u64,
    answer: i64,
}

fn lines(stdout: &str) -> Vec<Line> {
    let numbers = |line: &str| -> Option<Vec<i64>> {
        line.strip_prefix("enough ")?.split(' ').map(|word| word.parse().ok()).collect()
    };
    let line =
        |numbers: Vec<i64>| Line { bytes: numbers[0] as u64, repetitions: numbers[1] as u64, answer: numbers[2] };
    stdout.lines().filter_map(numbers).map(line).collect()
}

const SIZES: [u64; 3] = [8, 256, 8192];

fn loop_of<'c>(case: &'c Case, most: &str, run_time: &str) -> Launch<'c> {
    case.launch(2, "enough.c").arg(most).arg(run_time)
}

fn alike(case: &Case) {
    let plain = loop_of(case, "5000", "noise").run();
    let traced = loop_of(case, "5000", "noise").trace().set("MPITRACE_VERBOSE", "1").run();
    traced.same_as(&plain);
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    assert!(traced.lines_with("MPITRACE_ENOUGH").is_empty(), "{}", traced.stderr);
    let lines = lines(&traced.stdout);
    assert_eq!(lines.iter().map(|line| line.bytes).collect::<Vec<_>>(), SIZES, "{}", traced.stdout);
    // The warm-up of 40 is over, and the noise of 3 % known to 1 %.
    assert!(lines.iter().all(|line| line.answer == 1 && (79..1500).contains(&line.repetitions)), "{lines:?}");
    for line in &lines {
        let found = format!("found {} 40 10", line.repetitions);
        assert!(traced.stdout.lines().any(|text| text.starts_with(&found) && text.ends_with(" 1 1")), "{found}");
    }
    assert!(traced.stdout.contains("of equal ones: 1, none before: -1, of no communicator: -1\n"), "{}", traced.stdout);
    let of_size = |line: &Line| {
        want("MPI_Allreduce", WORLD, 2).of(line.bytes, "MPI_DOUBLE").by("MPI_SUM").times(line.repetitions)
    };
    let told = |operation| want("MPI_Reduce", WORLD, 2).of(8, "MPI_INT").by(operation).root(0).times(3);
    // In the order of their first calls.
    let mut expected = vec![
        of_size(&lines[0]),
        want("MPI_Barrier", WORLD, 2).times(lines.iter().map(|line| line.repetitions).sum()),
        told("MPI_MIN"),
        told("MPI_MAX"),
    ];
    expected.extend(lines[1..].iter().map(of_size));
    traced.trace.info().assert_is(&expected);
}

fn maxima(case: &Case) {
    // No error is so small: the benchmark's own maximum ends the loop.
    let own = loop_of(case, "60", "measured").set("MPITRACE_ENOUGH", "robust,error=1e-12").trace().run();
    assert_eq!(own.code, 0, "{}", own.stderr);
    let of = |repetitions, answer| SIZES.map(|bytes| Line { bytes, repetitions, answer });
    assert_eq!(lines(&own.stdout), of(60, 0), "{}", own.stdout);
    let by_rule = loop_of(case, "60", "measured").set("MPITRACE_ENOUGH", "robust,max=40,error=1e-12").run();
    assert_eq!(lines(&by_rule.stdout), of(40, 2), "{}", by_rule.stdout);
    // The rank 0 of the communicator decides, whatever the others are told.
    let fixed = loop_of(case, "60", "measured").set_on_rank(1, "MPITRACE_ENOUGH", "off");
    let fixed = fixed.set_on_rank(0, "MPITRACE_ENOUGH", "mpiblib,min=7,max=7,error=1e-12").run();
    assert_eq!(lines(&fixed.stdout), of(7, 2), "{}{}", fixed.stdout, fixed.stderr);
    let off = loop_of(case, "30", "measured").set("MPITRACE_ENOUGH", "off").run();
    assert_eq!(lines(&off.stdout), of(30, 0), "{}", off.stdout);
}

fn mpiblib(case: &Case) {
    // All repetitions count, also those of the warm-up, which alone are 40.
    let run = loop_of(case, "5000", "noise").set("MPITRACE_ENOUGH", "mpiblib,min=10,error=0.02").run();
    let lines = lines(&run.stdout);
    assert!(lines.len() == 3 && lines.iter().all(|line| line.answer == 1 && line.repetitions < 40), "{}", run.stdout);
    assert!(run.stdout.lines().any(|line| line.starts_with("found ") && line.contains(" 0 21")), "{}", run.stdout);
}

fn refused(case: &Case) {
    for bad in ["exact", "robust,min=9,max=8", "robust,error=0", "mpiblib,", "robust,confidence=1", "off1"] {
        let run = loop_of(case, "60", "measured").set("MPITRACE_ENOUGH", bad).run();
        let lines = run.lines_with(&format!("MPITRACE_ENOUGH={bad} is not off, or robust or mpiblib"));
        // Each communicator that is asked about reads it: the world and one of its own.
        assert_eq!((run.code, lines.len()), (0, 2), "{bad}: {}", run.stderr);
    }
}

fn fortran(case: &Case) {
    let run = case.launch(2, "enough_fortran.f90").run();
    assert_eq!(run.code, 0, "{}", run.stderr);
    // 101, 102 and 103 in turns: the step of the clock is half a percent either way.
    let words: Vec<&str> = run.stdout.trim().split(' ').collect();
    let [_, made, answer, looked_at, median] = words[..] else { panic!("{}", run.stdout) };
    assert_eq!((answer, made, median), ("1", looked_at, "102.0"), "{}", run.stdout);
}

/// The figures of a noise in the output of tests/programs/enough_noise.c.
struct Found {
    enough: f64,
    of: f64,
    held: f64,
    repetitions: f64,
    warmup: f64,
}

fn noise(case: &Case) {
    let found = |rule: &str, words: &[&str], noise: &str| {
        let launch = words.iter().fold(case.launch(1, "enough_noise.c"), |launch, word| launch.arg(*word));
        let run = launch.arg(noise).set("MPITRACE_ENOUGH", rule).run();
        assert_eq!(run.code, 0, "{}", run.stderr);
        let numbers: Vec<f64> = run.stdout.split([' ', ',', '\n']).filter_map(|word| word.parse().ok()).collect();
        let [enough, of, held, repetitions, warmup] = numbers[..] else { panic!("{}", run.stdout) };
        println!("{rule} {}", run.stdout.trim());
        Found { enough, of, held, repetitions, warmup }
    };
    // What is stated of an interval of 95 % is that it holds in 92 of 100 measurements at least, for every noise.
    for noise in ["independent", "dependent", "warms-up", "outliers", "coarse"] {
        let Found { enough, of, held, repetitions, warmup } = found("robust", &["median"], noise);
        assert!(enough == of && held >= 0.92 * of, "{noise}: {held} of {enough}");
        assert_eq!(warmup, if noise == "warms-up" { 100.0 } else { 1.0 }, "{noise}");
        // 1.2533 x 1.96 x 5 % / sqrt n = 1 % at n = 151; two looks a quarter apart must have it, behind the warm-up.
        assert!((151.0..1000.0).contains(&repetitions), "{noise}: {repetitions}");
    }
    // 1.96 x 5 % / sqrt n = 1 % at n = 96.
    let Found { enough, of, held, repetitions, .. } = found("mpiblib,min=30", &["mean"], "independent");
    assert!(enough == of && held >= 0.92 * of && (85.0..110.0).contains(&repetitions), "{held} {repetitions}");
    // It takes repetitions for independent that are not.
    let Found { of, held, .. } = found("mpiblib,min=30", &["mean"], "dependent");
    assert!(held < 0.85 * of, "{held}");
    // A warm-up counts, so that the mean is that of both levels; and one huge value in twenty keeps the interval wide.
    let Found { of, held, .. } = found("mpiblib,min=30", &["mean"], "warms-up");
    assert!(held < 0.01 * of, "{held}");
    let Found { enough, of, .. } = found("mpiblib,min=30,max=1000", &["mean"], "outliers");
    assert!(enough < 0.05 * of, "{enough}");
}

fn library(case: &Case) {
    let words = case.mpi.c.before.iter().chain(&case.mpi.c.after).map(|word| word.to_string_lossy());
    let compiler = format!("MPICC={}", words.collect::<Vec<_>>().join(" "));
    let mut make = Command::new("make");
    make.args(["bench-lib", &compiler]).current_dir(root()).env("CARGO_TARGET_DIR", &case.folder);
    let output = make.output().expect("make");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let symbols = Command::new("nm").arg(case.folder.join("bench-lib/libmpitrace_bench.a")).output().expect("nm");
    let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
    for defined in ["mpitrace_enough", "mpitrace_enough_start", "mpitrace_enough_found", "mpitrace_fortran_enough"] {
        assert!(symbols.lines().any(|line| line.ends_with(&format!(" T {defined}"))), "{defined}: {symbols}");
    }
    let called: Vec<&str> = symbols.lines().filter_map(|line| line.trim().strip_prefix("U ")).collect();
    assert!(called.contains(&"PMPI_Reduce"), "{called:?}");
    assert!(!called.iter().any(|name| name.starts_with("MPI_")), "{called:?}");
}
