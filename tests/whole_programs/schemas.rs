//! The JSON output of each command, validated against packaging/mpitrace.schema.json.

use crate::support::binaries::{TARGET, companion};
use crate::support::process;
use crate::support::{Case, On, Test, Trace, litter, root};
use mpitrace_format::layout::communicator_flags as flags;
use mpitrace_testing::synthetic::{self, SyntheticRank};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

const PYTHON: &str = "mpi/readers/bin/python";
const SCHEMA: &str = "packaging/mpitrace.schema.json";

pub const TESTS: &[Test] =
    &[Test::new("hold_for_the_output_of_each_command", each_command).on(On::Only(&["ompi4", "mpich4"])).needs(PYTHON)];

/// The outputs so far, each in a file.
struct Outputs<'c> {
    case: &'c Case<'c>,
    files: Vec<PathBuf>,
    forms: BTreeSet<String>,
}

impl Outputs<'_> {
    /// Runs a command, which looks for jobs of this test alone, and keeps its output.
    #[track_caller]
    fn keep(&mut self, words: &[&str]) -> Value {
        let number = self.files.len();
        let segments = &self.case.segments.0;
        let mut command = Command::new(companion());
        // Behind the command: a job's words come last.
        command
            .arg(words[0])
            .arg("--json")
            .args(&words[1..])
            .env("MPITRACE_SEGMENT_DIR", segments)
            .env("TMPDIR", segments);
        command
            .env_remove("LD_PRELOAD")
            .env("XDG_CACHE_HOME", self.case.folder.join("cache"))
            .current_dir(&self.case.folder);
        command.envs(self.case.mpi.environment.iter().map(|(name, value)| (name, value)));
        let folder = self.case.folder.join(format!("companion{number}"));
        let finished = process::run(command, &folder, Duration::from_secs(120));
        // A gate of two runs decides nothing.
        assert!(finished.code != 2 && finished.code < 4, "{words:?}: {}", finished.stderr);
        let file = self.case.folder.join(format!("{number}.json"));
        fs::write(&file, &finished.stdout).expect("a file");
        self.files.push(file);
        let value: Value = serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}"));
        self.forms.insert(value["schema"].as_str().expect("a schema").to_owned());
        value
    }

    /// All commands that read a trace.
    fn keep_all(&mut self, trace: &Trace) {
        let path = trace.path.to_str().expect("a plain path");
        for command in ["info", "dump", "summary", "categorize", "diagnose", "clock", "report"] {
            self.keep(&[command, path]);
        }
        self.keep(&["clock", "--export", "-", path]);
        self.keep(&["stats", "--per-rank", path]);
        self.keep(&["summary", "--by", "rank", path]);
        self.keep(&["compare", "--a", path, "--b", path]);
    }
}

fn each_command(case: &Case) {
    let mut outputs = Outputs { case, files: Vec::new(), forms: BTreeSet::new() };
    let requests = case.launch(3, "requests.c").trace().set("MPITRACE_CALLSITE", "1").run().trace;
    let counted = case.launch(2, "messages.c").trace().set("MPITRACE_EVENTS", "messages,page-faults").run().trace;
    let sample = case.launch(2, "repeat.c").trace().set("MPITRACE_KEEP", "account").run().trace;
    [&requests, &counted, &sample].into_iter().for_each(|trace| outputs.keep_all(trace));

    let info = outputs.keep(&["info", sample.path.to_str().expect("a plain path")]);
    // The program was built here and each library elsewhere.
    for name in ["program_compiler", "compiler"] {
        let compiler = info["factors"][name].as_str();
        assert!(compiler.is_some_and(|compiler| compiler != "unknown"), "{name}: {}", info["factors"]);
    }
    let library = info["factors"]["library_file"].as_str().expect("the library's file").to_owned();
    outputs.keep(&["doctor", "--mpi", &library]);
    outputs.keep(&["doctor", "--mpi", &library, "--variables"]);
    outputs.keep(&["overhead", "--mpi", &library]);

    let folder = case.folder.to_str().expect("a plain path").to_owned();
    outputs.keep(&["jobs", &folder]);
    ["node", "program"].iter().for_each(|by| drop(outputs.keep(&["jobs", "--by", by, &folder])));
    let again: Vec<_> = (0..12).map(|_| case.launch(2, "repeat.c").arg("20").trace().run().trace).collect();
    let on_three = case.launch(3, "repeat.c").arg("20").trace().run().trace;
    let why = case.folder.join("why");
    fs::create_dir_all(&why).expect("a folder");
    for (number, trace) in again.iter().enumerate() {
        fs::copy(&trace.path, why.join(format!("{number}.mpitrace"))).expect("a copy");
    }
    let explained = outputs.keep(&["jobs", "--why", why.to_str().expect("a plain path")]);
    assert_eq!(explained["rows"][0]["runs"], 12, "{explained}");
    let files: Vec<&str> =
        again[..3].iter().chain([&on_three]).map(|trace| trace.path.to_str().expect("a plain path")).collect();
    outputs.keep(&[&["scale", "--mode", "strong"], &files[..]].concat());

    outputs.keep(&gate_words(case).iter().map(String::as_str).collect::<Vec<_>>());

    hangs(&mut outputs);
    untraced(&mut outputs);
    worlds(&mut outputs);

    let mut command = Command::new(TARGET.join(PYTHON));
    command.arg(root().join("tests/readers/schema.py")).arg(root().join(SCHEMA)).args(&outputs.files);
    let finished = process::run(command, &case.folder.join("reader"), Duration::from_secs(120));
    assert_eq!((finished.code, finished.stderr.as_str()), (0, ""));
    assert_eq!(finished.stdout, outputs.files.len().to_string());
    let schema: Value = serde_json::from_slice(&fs::read(root().join(SCHEMA)).expect("the schema")).expect("JSON");
    let forms: BTreeSet<String> =
        serde_json::from_value(schema["properties"]["schema"]["enum"].clone()).expect("forms");
    assert_eq!(outputs.forms, forms, "each form of the schema");
}

/// Two worlds of a run, which not each library can spawn.
fn worlds(outputs: &mut Outputs<'_>) {
    let files = [1, 2].map(|job| {
        let path = outputs.case.folder.join(format!("world{job}.mpitrace"));
        let mut rank = SyntheticRank::new(0, 1);
        rank.header.job = [job; 16];
        let other = rank.communicator(7, 1, 0, None);
        rank.flag_communicator(other, flags::INTER);
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        rank.call(barrier, 1000, 2000);
        synthetic::write(&path, &[rank]).expect("a trace");
        path.to_str().expect("a plain path").to_owned()
    });
    for command in ["summary", "info"] {
        outputs.keep(&[command, &files[0], &files[1]]);
    }
}

/// A gate of a program against itself.
fn gate_words(case: &Case) -> Vec<String> {
    let baseline = case.folder.join("baseline");
    let command = case.launch(2, "repeat.c").command(&case.folder.join("unused.mpitrace"));
    let words: Vec<String> = command.into_iter().map(|word| word.into_string().expect("plain words")).collect();
    fs::create_dir_all(&baseline).expect("a folder");
    fs::write(baseline.join("command"), words.join("\n")).expect("a file");
    let options = ["gate", "--runs", "2", "--baseline", baseline.to_str().expect("a plain path"), "--"];
    options.into_iter().map(str::to_owned).chain(words).collect()
}

/// A job without the tracer, as `watch` shows it by the number of its launcher.
fn untraced(outputs: &mut Outputs) {
    let case = outputs.case;
    let running = case.launch(2, "broken.c").arg("receives").start();
    let (launcher, started) = (running.id().to_string(), Instant::now());
    // Until both ranks are there: before, no job is.
    while crate::broken::mpitrace(case, &["watch", &launcher, "--json"]).stdout.matches("\"process\"").count() != 2 {
        assert!(started.elapsed() < Duration::from_secs(60), "{}", running.stderr());
        sleep(Duration::from_millis(200));
    }
    let found = outputs.keep(&["watch", &launcher]);
    let places = found["where"].as_array().expect("places").iter();
    places.filter_map(|place| place["process"].as_u64()).for_each(|pid| process::signal(pid as u32, libc::SIGKILL));
    drop(running);
    litter::sweep();
}

/// A job that hangs, as `watch` shows it, and what `recover` makes of it.
fn hangs(outputs: &mut Outputs) {
    let case = outputs.case;
    let running = case.launch(3, "broken.c").arg("missing").trace().start();
    let started = Instant::now();
    let listed = loop {
        let all = outputs.keep(&["watch", "--list"]);
        // Jobs of other tests may be listed too.
        let own = crate::broken::jobs(case).pop().map(|own| own.job);
        let rows = all["rows"].as_array().expect("rows");
        let listed = rows.iter().find(|row| own.is_some() && row["job"].as_str() == own.as_deref());
        let listed = listed.cloned().unwrap_or_default();
        if listed["ranks"] == 3 && listed["processes"].as_array().is_some_and(|processes| processes.len() == 3) {
            break listed;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{listed}\n{}", running.stderr());
        sleep(Duration::from_millis(200));
    };
    outputs.keep(&["watch", listed["job"].as_str().expect("a key"), "--once", "--stuck", "1"]);
    let processes: Vec<u32> = serde_json::from_value(listed["processes"].clone()).expect("numbers");
    processes.iter().for_each(|&process| process::signal(process, libc::SIGKILL));
    drop(running);
    litter::sweep();
    let folder = case.segments.0.to_str().expect("a plain path").to_owned();
    let trace = Trace::new(case.folder.join("recovered.mpitrace"));
    outputs.keep(&["recover", "--list", &folder]);
    outputs.keep(&["recover", &folder, "-o", trace.path.to_str().expect("a plain path")]);
    outputs.keep_all(&trace);
}
