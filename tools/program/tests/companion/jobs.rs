//! `mpitrace jobs`: many traces as a table.

use std::fs::{self, File};
use std::path::Path;

use mpitrace_testing::synthetic::{self, SyntheticRank};
use serde_json::{Value, json};

use super::support::{Folder, Ran, command, killed, plain};

const MILLISECOND: u64 = 1_000_000;

/// Runs `jobs` with an index of the test's own.
#[track_caller]
fn jobs(folder: &Folder, arguments: &[&str]) -> Ran {
    let mut command = command(&["jobs"]);
    let output = command.args(arguments).env("XDG_CACHE_HOME", folder.path("cache")).output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn rows(folder: &Folder, options: &[&str]) -> Vec<Value> {
    let traces = folder.path("traces");
    let ran = jobs(folder, &[&["--json", &traces], options].concat());
    assert!(ran.code < 2, "{}", ran.stderr);
    serde_json::from_value(ran.json()).unwrap()
}

/// A program that computes, rank by rank, and meets; on nodes of one rank each.
struct Job<'j> {
    program: &'j str,
    /// Facts of the run beside the others.
    known: Vec<(&'j str, &'j str)>,
    started: &'j str,
    /// By rank: the node, and for how long it computes in each of 10 steps, ns.
    ranks: Vec<(String, u64)>,
}

impl Job<'_> {
    fn ranks(&self) -> Vec<SyntheticRank> {
        let longest = self.ranks.iter().map(|(_, ns)| *ns).max().unwrap();
        let rank = |(number, (host, ns)): (usize, &(String, u64))| {
            let mut rank = SyntheticRank::new(number as u32, self.ranks.len() as u32);
            let mut know = |name: &str, value: &str| rank.metadata.push((name.to_owned(), value.to_owned()));
            know("host", host);
            know("command", &format!("/opt/{} -n 3", self.program));
            know("start_time", self.started);
            know("job", "4711");
            self.known.iter().for_each(|(name, value)| know(name, value));
            let barrier = rank.operation("MPI_Barrier", 0, 0);
            for step in 0..10 {
                let begin = step * (longest + 1000);
                rank.call(barrier, begin + ns, begin + longest + 1000);
            }
            rank
        };
        self.ranks.iter().enumerate().map(rank).collect()
    }

    fn write(&self, folder: &Folder, name: &str) -> String {
        let path = folder.path(&format!("traces/{name}"));
        fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        synthetic::write(Path::new(&path), &self.ranks()).unwrap();
        path
    }
}

/// One on two nodes, of which the second computes for half of the time.
fn of<'j>(program: &'j str, started: &'j str) -> Job<'j> {
    Job { program, known: Vec::new(), started, ranks: vec![("n1".into(), 2 * MILLISECOND), ("n2".into(), MILLISECOND)] }
}

#[test]
fn a_run_is_a_row_with_the_keys_of_its_summary() {
    let folder = Folder::new();
    let path = of("solver", "2026-11-22T09:30:00+0100").write(&folder, "2026/11/a.mpitrace");
    let rows = rows(&folder, &[]);
    let [row] = &rows[..] else { panic!("{rows:?}") };
    let summary = super::support::mpitrace(&["summary", "--json", &path]).json();
    assert_eq!(row["file"], path);
    assert_eq!((&row["job"], &row["program"], &row["ended"]), (&json!("4711"), &json!("solver"), &json!("finished")));
    assert_eq!((&row["nodes"], &row["ranks"], &row["started"]), (&json!(2), &json!(2), &json!("2026-11-22T08:30:00Z")));
    assert!(row["user"].as_str().is_some_and(|user| !user.is_empty()));
    let same = [
        ("seconds", &summary["seconds"]),
        ("waiting_s", &summary["waiting_s"]),
        ("efficiency", &summary["efficiency"]["parallel"]),
    ];
    same.into_iter().for_each(|(key, expected)| assert_eq!(&row[key], expected, "{key}"));
    let number = |value: &Value| value.as_f64().unwrap();
    let in_mpi = number(&summary["mpi_share"]["all"]) * number(&summary["running_s"]);
    assert!((number(&row["mpi_share"]) - in_mpi / number(&summary["rank_seconds"])).abs() < 1e-12, "{row:#}");
    for key in ["kind", "rank", "because", "function", "seconds", "share", "gain_s"] {
        assert_eq!(row["largest_loss"][key], summary["losses"][0][key], "{key}");
    }
    assert_eq!((&row["largest_loss"]["kind"], &row["largest_loss"]["rank"]), (&json!("late-rank"), &json!(0)));
    let useful = [0, 1].map(|node| row["hosts"][node]["useful_s"].as_f64().unwrap());
    assert!((useful[0] - 0.02).abs() < 2e-4 && (useful[1] - 0.01).abs() < 2e-4, "{useful:?}");
}

#[test]
fn a_row_is_computed_once_and_again_when_the_trace_is_another() {
    let folder = Folder::new();
    let path = of("solver", "2026-11-22T09:30:00Z").write(&folder, "a.mpitrace");
    let before = rows(&folder, &[]);
    // The same size and time: what is in the file now is not looked at.
    let (length, modified) = (fs::metadata(&path).unwrap().len(), fs::metadata(&path).unwrap().modified().unwrap());
    fs::write(&path, vec![b'x'; length as usize]).unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert_eq!(rows(&folder, &[]), before);
    // Another time: it is read, and is no trace.
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(modified + std::time::Duration::from_secs(1))
        .unwrap();
    let ran = jobs(&folder, &[&path]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("a.mpitrace"), "{}", ran.stderr);
    // Without a place for the index all is computed.
    of("solver", "2026-11-22T09:30:00Z").write(&folder, "a.mpitrace");
    let mut command = command(&["jobs", &path]);
    let output = command.env_remove("XDG_CACHE_HOME").env_remove("HOME").output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn traces_that_cannot_be_read_are_named_or_summed_and_cost_no_other_one() {
    let folder = Folder::new();
    of("solver", "2026-11-22T09:30:00Z").write(&folder, "good.mpitrace");
    (0..20).for_each(|number| drop(folder.file(&format!("traces/{number}.mpitrace"), b"no trace")));
    let ran = jobs(&folder, &[&folder.path("traces")]);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!((ran.code, lines.len(), ran.stdout.lines().count()), (1, 9, 2), "{}", ran.stderr);
    assert!(lines[8].contains("12 more"), "{}", lines[8]);
    let missing = jobs(&folder, &[&folder.path("nothing")]);
    assert_eq!((missing.code, &*missing.stdout, missing.stderr.lines().count()), (2, "", 1));
}

#[test]
fn rows_are_chosen_sorted_and_summed() {
    let folder = Folder::new();
    of("solver", "2026-11-22T09:30:00Z").write(&folder, "b.mpitrace");
    of("mesher", "2026-11-25T09:30:00Z").write(&folder, "a.mpitrace");
    let long = Job { ranks: vec![("n3".into(), 9 * MILLISECOND); 2], ..of("solver", "2026-11-20T09:30:00Z") };
    long.write(&folder, "c.mpitrace");
    synthetic::write(Path::new(&folder.path("traces/killed.mpitrace")), &killed()).unwrap();
    let names = |options: &[&str]| -> Vec<String> {
        let name = |row: &Value| Path::new(row["file"].as_str().unwrap()).file_stem().unwrap().to_str().unwrap().into();
        rows(&folder, options).iter().map(name).collect()
    };
    assert_eq!(names(&[]), ["killed", "c", "b", "a"]);
    // When the killed one began is not known.
    assert_eq!(names(&["--since", "2026-11-22"]), ["killed", "b", "a"]);
    assert_eq!(names(&["--since", "0d"]), ["killed"]);
    assert_eq!(names(&["--since", "9999w"]), ["killed", "c", "b", "a"]);
    assert_eq!(names(&["--program", "solver"]), ["c", "b"]);
    assert_eq!(names(&["--sort", "time", "--program", "solver"]), ["b", "c"]);
    assert_eq!(names(&["--sort", "loss"])[2..], ["b", "a"]);
    assert_eq!(names(&["--user", "no-such-user"]), [""; 0]);
    assert_eq!(rows(&folder, &["--program", "none"]), [] as [Value; 0]);

    let said = |options: &[&str]| jobs(&folder, &[options, &[&folder.path("traces")]].concat());
    assert_eq!(said(&["--program", "none"]).stdout, "no runs match (found: 4)\n");
    assert_eq!(said(&["--by", "user", "--program", "none"]).stdout, "no runs match (found: 4)\n");
    assert!(said(&["--sort", "off-processor"]).stdout.contains("\nSorted by off processor, the worst last.\n"));
    assert!(!said(&[]).stdout.contains("Sorted"), "the order of every table");
    let refused = said(&["--since", "7 days"]);
    assert!(refused.code == 2 && refused.stderr.contains("as in 7d"), "{}", refused.stderr);

    let by = |what: &str, options: &[&str]| -> Vec<(String, u64, u64)> {
        let groups = rows(&folder, &[&["--by", what], options].concat());
        let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
        let of = |row: &Value| (row["name"].as_str().unwrap().into(), number(row, "jobs"), number(row, "unfinished"));
        groups.iter().map(of).collect()
    };
    // Those that cost most come last.
    assert_eq!(by("program", &[]), [("unknown".into(), 1, 1), ("mesher".into(), 1, 0), ("solver".into(), 2, 0)]);
    let nodes = [("n1".into(), 2, 0), ("n2".into(), 2, 0), ("n3".into(), 1, 0), ("unknown".into(), 1, 1)];
    let mut found = by("node", &[]);
    found.sort();
    assert_eq!(found, nodes);
    let weeks = [("2026-11-16".into(), 2, 0), ("2026-11-23".into(), 1, 0), ("unknown".into(), 1, 1)];
    assert_eq!(by("week", &[]), weeks);
    assert_eq!(by("user", &[]).len(), 1);
    let text = jobs(&folder, &["--by", "node", &folder.path("traces")]);
    assert_eq!((text.code, text.stdout.lines().count()), (0, 5), "{}", text.stdout);
}

#[test]
fn files_of_one_run_are_one_row() {
    let folder = Folder::new();
    let [zero, one] = plain();
    for (name, rank) in [("x.n1", zero), ("x.n2", one)] {
        fs::create_dir_all(folder.path("traces")).unwrap();
        synthetic::write(Path::new(&folder.path(&format!("traces/{name}.mpitrace"))), &[rank]).unwrap();
    }
    for _ in 0..2 {
        let rows = rows(&folder, &[]);
        assert_eq!(rows.len(), 1);
        assert_eq!((&rows[0]["ended"], &rows[0]["ranks"]), (&json!("finished"), &json!(2)));
    }
}

#[test]
fn a_slow_node_and_a_slower_program_are_named() {
    let folder = Folder::new();
    let mut random = mpitrace_testing::Random::new(5);
    for number in 0..60u64 {
        let mut nodes: Vec<u64> = (0..12).collect();
        (0..4).for_each(|place| nodes.swap(place, place + random.bits() as usize % (12 - place)));
        // Node 7 is 5 % slow; the first position has more to do; from run 40 on all takes longer.
        let mut ns = |place: usize, node: u64| {
            let position = if place == 0 { 1.2 } else { 1.0 };
            let slow = if node == 7 { 1.05 } else { 1.0 };
            let since = if number < 40 { 1.0 } else { 1.3 };
            (1e6 * position * slow * since * (0.005 * random.normal()).exp()) as u64
        };
        let ranks = (0..4).map(|place| (format!("n{}", nodes[place]), ns(place, nodes[place]))).collect();
        let started = format!("2026-11-{:02}T{:02}:00:00Z", 1 + number / 10, number % 10);
        let build = if number < 40 { "aaaa" } else { "bbbb" };
        let known = vec![("library", "Open MPI v4.1.4, of Debian"), ("program_build_id", build)];
        Job { program: "solver", known, started: &started, ranks }.write(&folder, &format!("{number}.mpitrace"));
    }
    let of = |what: &str, key: &str| -> Vec<(String, Value)> {
        let named = rows(&folder, &["--by", what]).into_iter().filter(|row| !row[key].is_null());
        named.map(|row| (row["name"].as_str().unwrap().to_owned(), row[key].clone())).collect()
    };
    let nodes = of("node", "slow");
    let [(name, slow)] = &nodes[..] else { panic!("{nodes:?}") };
    assert_eq!(name, "n7");
    assert!((0.03..0.07).contains(&slow["share"].as_f64().unwrap()), "{slow}");
    let programs = of("program", "slower");
    let [(name, slower)] = &programs[..] else { panic!("{programs:?}") };
    assert_eq!((name.as_str(), &slower["runs"]), ("solver", &json!([40, 20])));
    assert!((0.25..0.35).contains(&slower["share"].as_f64().unwrap()), "{slower}");
    let expected = "host=\"n7\"";
    let metrics = jobs(&folder, &["--format", "openmetrics", &folder.path("traces")]).stdout;
    let line =
        |start: &str| metrics.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{metrics}"));
    assert!(line("mpitrace_node_slow_share{").contains(expected), "{metrics}");
    assert!(
        line("mpitrace_node_jobs_total{host=\"n7\"} ").rsplit(' ').next().unwrap().parse::<u32>().unwrap() > 5,
        "{metrics}"
    );
    let slower = line("mpitrace_program_slower_share{");
    for label in ["library=\"Open MPI v4.1.4\"", "ranks=\"4\"", "nodes=\"4\"", "build_before=\"aaaa\",build=\"bbbb\""] {
        assert!(slower.contains(label), "{slower}");
    }
    // A row has both.
    for row in rows(&folder, &[]) {
        let hosts = row["hosts"].as_array().unwrap().iter().filter(|host| host["host"] == "n7");
        let hosts: Vec<&Value> = hosts.map(|host| &host["host"]).collect();
        assert_eq!(row["slow_hosts"], json!(hosts), "{row:#}");
        let is_since = row["started"].as_str().unwrap() >= "2026-11-05";
        assert_eq!(row["slower_by"].is_number(), is_since, "{row:#}");
    }
    let text = jobs(&folder, &[&folder.path("traces")]).stdout;
    let first: Vec<&str> = text.lines().take(4).collect();
    assert!(first[0].starts_with("60 runs, 0.000") && first[0].ends_with(" rank h: 60 finished."), "{}", first[0]);
    assert!(first[1].starts_with("Most is lost by job 4711 (solver of "), "{}", first[1]);
    assert!(first[2].starts_with("Node n7 is slow: its ranks compute "), "{}", first[2]);
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("longer since 2026-11-05T00:00:00Z (40 runs before, 20 since)"), "{text}");
    // The worst of them are a screen.
    assert!(
        text.lines().count() < 30 && text.contains("20 of 60 runs, sorted by lost: --sort lost shows all."),
        "{text}"
    );
    let all = jobs(&folder, &["--sort", "started", &folder.path("traces")]).stdout;
    assert!(all.lines().count() > 60, "{all}");
}

#[test]
fn if_most_programs_take_longer_the_machine_is_named() {
    let folder = Folder::new();
    for number in 0..60u64 {
        // From run 40 on a busy machine; `short` has too few runs to be compared.
        let ns = if number < 40 { 1_000_000 + number * 100 } else { 1_300_000 + number * 100 };
        let started = format!("2026-11-{:02}T{:02}:00:00Z", 1 + number / 10, number % 10);
        for program in ["solver", "mesher", "short"].iter().filter(|program| **program != "short" || number > 55) {
            let ranks = vec![("n1".to_owned(), ns), ("n2".to_owned(), ns)];
            // With either library.
            for library in ["MPICH 5", "Open MPI 4"] {
                let known = vec![("library", library)];
                let job = Job { program, known, started: &started, ranks: ranks.clone() };
                job.write(&folder, &format!("{program}-{library}-{number}.mpitrace"));
            }
        }
    }
    // Programs that became slower with both are two samples: none comes twice.
    let metrics = jobs(&folder, &["--format", "openmetrics", &folder.path("traces")]).stdout;
    let samples = metrics.lines().filter(|line| !line.starts_with('#'));
    let mut samples: Vec<&str> = samples.map(|line| line.rsplit_once(' ').unwrap().0).collect();
    let of_slower = samples.iter().filter(|sample| sample.starts_with("mpitrace_program_slower_share{")).count();
    let all = samples.len();
    samples.sort_unstable();
    samples.dedup();
    assert_eq!((of_slower, samples.len()), (4, all), "{metrics}");
    let text = jobs(&folder, &[&folder.path("traces")]).stdout;
    let place = |words: &str| text.lines().position(|line| line.starts_with(words)).unwrap_or_else(|| panic!("{text}"));
    let [mesher, solver, machine] = ["mesher with", "solver with", "Most programs take longer: look at"].map(place);
    assert!(mesher < solver && solver < machine, "{text}");
}

#[test]
fn formats_of_other_tools_go_to_standard_output() {
    let folder = Folder::new();
    of("odd \"name\"", "2026-11-22T09:30:00Z").write(&folder, "a.mpitrace");
    let metrics = jobs(&folder, &["--format", "openmetrics", &folder.path("traces")]);
    assert_eq!(metrics.code, 0, "{}", metrics.stderr);
    let lines: Vec<&str> = metrics.stdout.lines().collect();
    assert_eq!(lines.last(), Some(&"# EOF"));
    assert!(lines.contains(&"# UNIT mpitrace_rank_seconds seconds"), "{}", metrics.stdout);
    // Counters only rise: with the archive, and never within the last days.
    assert!(metrics.stderr.contains("--archive FILE keeps their rows"), "{}", metrics.stderr);
    let recent = jobs(&folder, &["--format", "openmetrics", "--since", "7d", &folder.path("traces")]);
    assert_eq!((recent.code, &*recent.stdout, recent.stderr.lines().count()), (2, "", 1), "{}", recent.stderr);
    if cfg!(feature = "columns") {
        let counted = || {
            let archive = folder.path("jobs.parquet");
            let ran = jobs(&folder, &["--format", "openmetrics", "--archive", &archive, &folder.path("traces")]);
            assert_eq!((ran.code, &*ran.stderr), (0, ""));
            ran.stdout
        };
        of("short", "2026-11-23T09:30:00Z").write(&folder, "b.mpitrace");
        let before = counted();
        fs::remove_file(folder.path("traces/b.mpitrace")).unwrap();
        assert_eq!(counted(), before, "the trace is gone, its row is not");
    }
    if cfg!(feature = "columns") {
        let parquet = jobs(&folder, &["--format", "parquet", &folder.path("traces")]);
        assert_eq!((parquet.code, &parquet.stdout[..4]), (0, "PAR1"), "{}", parquet.stderr);
    }
}
