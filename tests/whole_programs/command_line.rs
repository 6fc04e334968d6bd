//! `mpitrace run`, and the companion's manners.

use crate::support::companion::{assert_refused, mpitrace};
use crate::support::{Case, On, Test, Trace, binaries};
use std::ffi::OsString;

pub const TESTS: &[Test] = &[
    Test::new("run_traces_a_job_and_exits_as_it_does", run),
    Test::new("run_of_what_is_not_there_is_refused", run_nothing).on(On::Any),
    Test::new("wrong_usage_is_refused_in_one_line", wrong_usage).on(On::Any),
    Test::new("numbers_agree_between_the_commands", agree).on(On::Any),
];

fn run(case: &Case) {
    for (code, repetitions) in [("0", 12), ("7", 9)] {
        let launch = || case.launch(2, "repeat.c").arg(repetitions.to_string()).arg(code);
        let plain = launch().run();
        let trace = Trace::new(case.folder.join(format!("run-{code}.mpitrace")));
        let mut before: Vec<OsString> = vec![binaries::companion().into(), "run".into(), "-o".into()];
        before.extend([trace.path.clone().into(), "--".into()]);
        let traced = launch().run_under(&before);
        // Launchers put a process id into what they say of a job that failed.
        if code == "0" {
            traced.same_as(&plain);
        }
        assert_eq!(traced.code, plain.code, "{}", traced.stderr);
        let info = trace.info();
        assert_eq!((info.complete, info.only("MPI_Allreduce").repetitions), (true, repetitions));
    }
}

fn run_nothing(case: &Case) {
    let output = case.folder.join("none.mpitrace");
    let run = |words: &[&str]| {
        let mut arguments: Vec<OsString> = vec!["run".into(), "-o".into(), output.clone().into(), "--".into()];
        arguments.extend(words.iter().map(OsString::from));
        mpitrace(&arguments)
    };
    let finished = run(&["/nonexistent/mpirun", "-np", "2", "./program"]);
    assert_ne!(finished.code, 0);
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    assert_refused(&run(&[]), "run without a command");
    assert!(!output.exists());
}

fn wrong_usage(case: &Case) {
    let trace = case.launch(2, "repeat.c").trace().run().trace;
    let path = trace.path.to_str().expect("a plain path");
    let usages: [&[&str]; 7] = [
        &["no-such-command"],
        &["info"],
        &["info", "--no-such-option", path],
        &["dump", path, "--operation", "first"],
        &["dump", path, "--operation", "77"],
        &["categorize", path, "--method", "guess"],
        &["categorize", path, "--time", "local-time"],
    ];
    for usage in usages {
        assert_refused(&mpitrace(usage), &format!("{usage:?}"));
    }
}

fn agree(case: &Case) {
    let trace = case.traced(2, "counts.c");
    let info = trace.info_of_all();
    let rows = trace.dump_of_all(&[]);
    let categories = trace.categorize(&[]);
    assert_eq!(info.records, rows.len() as u64);
    assert_eq!(info.operations.len(), categories.len());
    for (operation, categories) in info.operations.iter().zip(&categories) {
        assert_eq!((operation.operation, &operation.function), (categories.operation, &categories.function));
        assert_eq!((categories.method.as_str(), categories.time.as_str()), ("robust", "local"));
        let n = operation.repetitions;
        assert_eq!((categories.repetitions, categories.category.len() as u64), (n, n));
        let counts = &categories.counts;
        assert_eq!(counts.first + counts.warmup + counts.outlier + counts.good, n);
        // local: the longest of the ranks' own times.
        for (k, run_time) in (0..n).zip(&categories.run_time_ns) {
            let of_k = rows.iter().filter(|row| row.operation == operation.operation && row.repetition == k);
            let times = of_k.filter_map(|row| Some(row.exit_ns? - row.enter_ns));
            let longest = times.fold(0.0, f64::max);
            assert!((longest - run_time).abs() <= 1.0, "{longest} against {run_time} for {k} of {operation:?}");
        }
        assert!(categories.median_ns > 0.0);
    }
    let number = |options: &[&str]| trace.dump_of_all(options).len();
    assert_eq!(number(&["--limit", "7"]), 7);
    assert_eq!(number(&["--rank", "1"]), rows.len() / 2);
    assert_eq!(number(&["--operation", "1"]), 20);
}
