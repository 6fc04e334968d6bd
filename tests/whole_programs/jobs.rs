//! `mpitrace jobs` over traces of real programs: some finish, some are killed.

use crate::support::companion;
use crate::support::{Case, On, TARGET, Test, binaries, litter, process, root};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const PYTHON: &str = "mpi/readers/bin/python";

pub const TESTS: &[Test] = &[
    Test::new("a_folder_of_runs_is_a_table", table),
    Test::new("the_official_parser_reads_the_metrics", metrics).on(On::Any).needs(PYTHON),
    Test::new("the_official_parser_reads_the_metrics_of_a_running_job", running).needs(PYTHON).second_tier(),
    Test::new("duckdb_reads_the_rows", parquet).on(On::Any).needs(PYTHON).second_tier(),
];

/// `mpitrace jobs` over a folder, with an index beside it.
fn jobs(case: &Case, options: &[&str]) -> process::Finished {
    let mut command = Command::new(binaries::companion());
    command.arg("jobs").args(options).arg(case.folder.join("traces"));
    command.env("XDG_CACHE_HOME", case.folder.join("cache"));
    process::run(command, &case.folder.join("jobs"), Duration::from_secs(60))
}

/// Runs a program under `mpitrace run` into a folder of traces.
fn run(case: &Case, program: &str, argument: &str, name: &str) -> i32 {
    let folder = case.folder.join("traces");
    fs::create_dir_all(&folder).expect("a folder");
    let cache = format!("XDG_CACHE_HOME={}", case.folder.join("cache").display());
    let before = ["env".into(), cache.into(), binaries::companion().into(), "run".into(), "-o".into()];
    let output = [folder.join(name).into_os_string(), "--".into()];
    case.launch(2, program).arg(argument).run_under(&[&before[..], &output].concat()).code
}

fn table(case: &Case) {
    assert_eq!(run(case, "repeat.c", "100", "good.mpitrace"), 0);
    run(case, "death.c", "kill", "killed.mpitrace");
    // `run` has kept the row of the one that finished.
    let index = case.folder.join("cache/mpitrace");
    let kept = |folder: &Path| fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    assert!(kept(&index), "{}", index.display());
    let rows = companion::json(&jobs(case, &["--json"]));
    let of = |name: &str| -> Value {
        let all = rows.as_array().expect("rows").iter();
        let named = |row: &&Value| row["file"].as_str().is_some_and(|file| file.ends_with(name));
        all.cloned().collect::<Vec<_>>().iter().find(named).cloned().unwrap_or_else(|| panic!("{name} in {rows}"))
    };
    let good = of("good.mpitrace");
    assert_eq!((&good["ended"], &good["ranks"], &good["nodes"]), (&"finished".into(), &2.into(), &1.into()));
    assert!(good["program"].as_str().is_some_and(|name| name.starts_with("repeat")), "{good}");
    assert!(good["seconds"].as_f64() > Some(0.0) && good["started"].is_string(), "{good}");
    assert_ne!(of("killed.mpitrace")["ended"], "finished");
    let said = jobs(case, &[]).stdout;
    assert!(said.starts_with("2 runs, ") && said.contains(": 1 finished, 1 killed.\n"), "{said}");
}

/// The output in a format, in a file.
fn file(case: &Case, format: &str) -> PathBuf {
    assert_eq!(run(case, "repeat.c", "100", "x.mpitrace"), 0);
    let path = case.folder.join("x").with_extension(format);
    let mut command = Command::new("sh");
    command.args(["-c", "\"$0\" jobs --format \"$1\" \"$2\" > \"$3\""]).arg(binaries::companion()).arg(format);
    command.arg(case.folder.join("traces")).arg(&path).env("XDG_CACHE_HOME", case.folder.join("cache"));
    let finished = process::run(command, &case.folder.join("jobs"), Duration::from_secs(60));
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    path
}

/// The result of a file of tests/readers.
fn read(case: &Case, reader: &str, files: &[&Path]) -> Value {
    let mut command = Command::new(TARGET.join(PYTHON));
    command.arg(root().join("tests/readers").join(reader)).args(files);
    let finished = process::run(command, &case.folder.join("reader"), Duration::from_secs(60));
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    serde_json::from_str(&finished.stdout).expect("JSON")
}

fn metrics(case: &Case) {
    let metrics = read(case, "openmetrics.py", &[&file(case, "openmetrics")]);
    let seconds = &metrics["mpitrace_rank_seconds"];
    assert_eq!((&seconds["type"], &seconds["unit"]), (&"counter".into(), &"seconds".into()));
    assert_eq!(seconds["samples"][0][0], "mpitrace_rank_seconds_total");
    assert!(seconds["samples"][0][2].as_f64() > Some(0.0), "{metrics}");
    assert_eq!(metrics["mpitrace_jobs"]["samples"][0][2], 1.0);
}

fn running(case: &Case) {
    let (folder, output) = (case.folder.join("metrics"), case.folder.join("x.mpitrace"));
    fs::create_dir_all(&folder).expect("a folder");
    let job = case.launch(2, "whereabouts.c").arg("long").command(&output);
    let mut command = Command::new(binaries::companion());
    command.args(["run", "--metrics"]).arg(&folder).arg("-o").arg(&output).arg("--").args(job);
    command.envs(case.mpi.environment.iter().map(|(name, value)| (name, value)));
    // A number of a batch system that no launcher looks at.
    command
        .env("OAR_JOB_ID", "17")
        .env("MPITRACE_SEGMENT_DIR", &case.segments.0)
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let mut run = command.spawn().expect("mpitrace");
    let files = || fs::read_dir(&folder).expect("the folder").flatten().map(|entry| entry.path());
    let is_whole = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "prom");
    // Each rank has called MPI_Allreduce five times; rank 0 waits in a Barrier for a minute.
    let seen = (0..600).find_map(|_| {
        sleep(Duration::from_millis(100));
        let text = fs::read_to_string(files().find(is_whole)?).ok()?;
        text.contains("} 11\n").then_some(text)
    });
    // SAFETY: takes numbers; the child has not been waited for, so that the number is its.
    unsafe { libc::kill(run.id() as libc::pid_t, libc::SIGTERM) };
    run.wait().expect("its end");
    litter::sweep();
    assert_eq!(files().count(), 0, "the file goes with the job");
    let copy = case.folder.join("running.prom");
    fs::write(&copy, seen.expect("the calls of both ranks within a minute")).expect("a copy");
    let metrics = read(case, "openmetrics.py", &[&copy]);
    // `jobs` has the owner of the trace.
    let user = process::run(Command::new("whoami"), &case.folder.join("user"), Duration::from_secs(60)).stdout;
    let of = |name: &str, kind: &str, sample: &str| {
        let family = &metrics[format!("mpitrace_running_{name}")];
        assert_eq!((&family["type"], &family["samples"][0][0]), (&kind.into(), &sample.into()), "{metrics}");
        let labels = &family["samples"][0][1];
        assert_eq!((&labels["job"], &labels["user"]), (&"17".into(), &user.trim().into()), "{metrics}");
        let program = &labels["program"];
        assert!(program.as_str().is_some_and(|program| program.starts_with("whereabouts")), "{metrics}");
        family["samples"][0][2].as_f64().expect("a number")
    };
    assert_eq!(of("ranks", "gauge", "mpitrace_running_ranks"), 2.0);
    assert_eq!(of("calls", "counter", "mpitrace_running_calls_total"), 11.0);
    let off = of("off_processor_seconds", "counter", "mpitrace_running_off_processor_seconds_total");
    let still = of("standstill_seconds", "gauge", "mpitrace_running_standstill_seconds");
    assert!((0.0..60.0).contains(&off) && (0.0..60.0).contains(&still), "{metrics}");
}

/// The queries of the documentation, each in one line.
fn parquet(case: &Case) {
    let page = fs::read_to_string(root().join("docs/jobs.md")).expect("the page");
    let documented = page.lines().filter(|line| line.starts_with("FROM 'jobs.parquet' "));
    let queries = ["SELECT count(*), sum(rank_seconds) > 0, max(started) > TIMESTAMP '2026-01-01' FROM 'jobs.parquet'"];
    let queries: Vec<&str> = queries.into_iter().chain(documented).collect();
    let rows = file(case, "parquet");
    let answers = queries.iter().enumerate().map(|(number, query)| {
        let text = case.folder.join(format!("query.{number}"));
        fs::write(&text, query.replace("jobs.parquet", "calls.parquet")).expect("a file");
        read(case, "columns.py", &[&text, &rows])
    });
    let answers: Vec<Value> = answers.collect();
    assert_eq!(answers[0][0]["answer"], serde_json::json!([[1, true, true]]));
    assert_eq!(answers[0][0]["columns"]["started"], "timestamp[ms, tz=UTC]");
    let [month, waiting] = [&answers[1][0]["answer"], &answers[2][0]["answer"]];
    let (day, job) = (month[0][0].as_str().expect("a day"), &month[0]);
    assert!(day.len() == 10 && day.starts_with("20"), "{month}");
    assert_eq!((&job[2], &job[3], month.as_array().map(Vec::len)), (&"finished".into(), &1.into(), Some(1)), "{month}");
    assert!(job[4].as_f64() > Some(0.0) && job[1] == waiting[0][0], "{month} {waiting}");
}
