//! MPICH's own test suite, where `MPICH_TESTS` names its folder `test/mpi`: each of its programs is run without and
//! with the tracer in turn, and prints the same and ends with the same exit code.
//!
//! The suite is configured and built for the library, out of its own folder, in `target/tests/mpich-suite`. A program
//! whose results differ between two runs without the tracer is run again: what the tracer gives must be one of those.

use crate::support::library::Compiler;
use crate::support::{Case, Mpi, On, Outcome, TARGET, Test};
use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

/// The libraries of Debian, which have all of the compilers.
const EITHER: On = On::Only(&["ompi4", "mpich4"]);

macro_rules! tests {
    ($($name:literal $folders:expr;)*) => {
        pub const TESTS: &[Test] = &[$(
            Test::new($name, |case| same(case, &$folders)).on(EITHER).second_tier().alone().where_permitted(given),
        )*];
    };
}

tests! {
    "of_collectives_print_and_end_the_same" ["coll"];
    "of_communicators_print_and_end_the_same" ["comm", "group", "topo", "attr"];
    "of_messages_print_and_end_the_same" ["pt2pt", "datatype"];
    "of_init_and_errors_print_and_end_the_same" ["init", "info", "errhan"];
    "of_mistakes_print_and_end_the_same" ["errors/coll", "errors/comm", "errors/group", "errors/pt2pt", "errors/topo"];
    "by_mpif_h_print_and_end_the_same" ["f77/coll", "f77/comm", "f77/init", "f77/pt2pt", "f77/topo", "f77/attr", "f77/profile"];
    "by_use_mpi_print_and_end_the_same" ["f90/coll", "f90/comm", "f90/init", "f90/pt2pt", "f90/topo", "f90/profile"];
    "by_use_mpi_f08_print_and_end_the_same" ["f08/coll", "f08/comm", "f08/init", "f08/pt2pt", "f08/topo", "f08/profile"];
}

/// The variable that names the folder.
const SWITCH: &str = "MPICH_TESTS";
/// The variable that leaves out the runs on more ranks than it says: those spin where there are few processors.
const MOST_RANKS: &str = "MPICH_TESTS_RANKS";

fn given() -> Result<(), String> {
    env::var_os(SWITCH).map(drop).ok_or_else(|| format!("{SWITCH} names no folder with MPICH's test suite"))
}

/// As often a program whose results differ is run once more, each way.
const ATTEMPTS: usize = 4;

/// The part of a run that is compared: launchers mix the lines of several ranks.
type Seen = (i32, Vec<String>);

/// A line of a list of tests: `allred 4 arg=-count=10`.
struct Line {
    program: PathBuf,
    ranks: u32,
    /// How long it may run, s.
    seconds: u32,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
}

fn same(case: &Case, folders: &[&str]) {
    let source = PathBuf::from(env::var_os(SWITCH).expect("asked for by the test"));
    let build = configured(case.mpi, &source);
    let (mut runs, mut repeated, mut traces, mut missing) = (0, 0, 0, 0);
    let (mut differing, mut mismatched) = (Vec::new(), Vec::new());
    for folder in folders {
        make(case.mpi, &source, &build, folder);
        for line in lines(&source, &build, folder) {
            if !line.program.is_file() {
                // What cannot be built with this library.
                missing += 1;
                continue;
            }
            runs += 1;
            let (mut plain, mut traced) = (BTreeSet::new(), BTreeSet::new());
            for attempt in 0..ATTEMPTS {
                plain.insert(result(&run(case, &line, false)));
                let outcome = run(case, &line, true);
                if outcome.trace.path.is_file() {
                    traces += 1;
                    let found = outcome.trace.info_of_all().mismatches;
                    // Some programs call what does not belong together on purpose.
                    if !found.is_empty() && !folder.starts_with("errors") {
                        mismatched.push(format!("{} {:?}: {found:#?}", line.program.display(), line.arguments));
                    }
                }
                traced.insert(result(&outcome));
                let _ = fs::remove_file(&outcome.trace.path);
                case.segments.empty();
                if traced.is_subset(&plain) {
                    repeated += usize::from(attempt > 0);
                    break;
                }
            }
            if traced.is_disjoint(&plain) {
                let words =
                    (line.program.strip_prefix(&build).unwrap_or(&line.program).display().to_string(), line.ranks);
                differing.push(format!("{words:?} {:?}: with {traced:#?}, without {plain:#?}", line.arguments));
            }
        }
    }
    let name = case.mpi.name;
    let figures = format!(
        "{name} {}: {runs} runs each way, {} differ, {} with mismatched calls, {repeated} alike only when run again, {traces} traces, {missing} not built",
        folders.join(" "),
        differing.len(),
        mismatched.len()
    );
    println!("{figures}");
    let _ = fs::write(build.join(format!("{}.txt", folders[0].replace('/', "-"))), format!("{figures}\n"));
    assert!(runs > 0, "no program of the suite was built");
    assert!(traces > 0, "no program was traced");
    assert!(mismatched.is_empty(), "{figures}\n{}", mismatched.join("\n"));
    assert!(differing.is_empty(), "{figures}\n{}", differing.join("\n"));
}

fn run(case: &Case, line: &Line, traced: bool) -> Outcome {
    let program = line.program.to_str().expect("a plain path");
    let mut launch = case.launch(line.ranks, program);
    for argument in &line.arguments {
        launch = launch.arg(argument.clone());
    }
    for (name, value) in &line.variables {
        launch = launch.set(name, value);
    }
    if traced {
        launch = launch.trace().set("MPITRACE_VERBOSE", "0");
    }
    // Some programs of the suite are meant not to end by themselves.
    let limit = ["timeout", "--kill-after=10", &line.seconds.to_string()].map(OsString::from);
    launch.within(Duration::from_secs(300)).run_under(&limit)
}

/// Addresses, numbers of processes and times differ from run to run.
fn result(outcome: &Outcome) -> Seen {
    let without_digits = |line: &str| -> String { line.chars().filter(|letter| !letter.is_ascii_digit()).collect() };
    let mut lines: Vec<_> = outcome.stdout.lines().map(without_digits).collect();
    lines.sort_unstable();
    (outcome.code, lines)
}

/// The folder in which the suite is configured for this library.
fn configured(mpi: &Mpi, source: &Path) -> PathBuf {
    static CONFIGURING: Mutex<()> = Mutex::new(());
    let _one = CONFIGURING.lock();
    let build = TARGET.join("tests/mpich-suite").join(mpi.name);
    if build.join("config.status").is_file() {
        return build;
    }
    fs::create_dir_all(&build).expect("a folder for the suite");
    let compiler = |compiler: &Compiler| compiler.before[0].to_string_lossy().into_owned();
    let (c, fortran) = (compiler(&mpi.c), mpi.fortran.as_ref().map_or_else(String::new, compiler));
    let options = ["--disable-spawn", "--disable-rma", "--disable-cxx"].map(str::to_owned);
    let mut variables = vec![format!("CC={c}"), format!("MPICC={c}")];
    variables.extend(["F77", "FC", "MPIF77", "MPIFC"].map(|name| format!("{name}={fortran}")));
    variables.extend(["FFLAGS", "FCFLAGS"].map(|name| format!("{name}=-fallow-argument-mismatch -w")));
    let mut command = Command::new(source.join("configure"));
    let output = command.args(options).args(variables).current_dir(&build).output().expect("the suite's configure");
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    build
}

/// Builds what can be built in a folder: a library may lack what a program needs.
fn make(mpi: &Mpi, source: &Path, build: &Path, folder: &str) {
    let mut variables = Vec::new();
    if let (true, Some(fortran)) = (folder.starts_with("f08"), &mpi.fortran) {
        // Configured for another library than its own, the suite leaves out what the programs of mpi_f08 share.
        let object = build.join("util/mtest_f08.o");
        let mut command = Command::new(&fortran.before[0]);
        command
            .args(&fortran.before[1..])
            .args(["-w", "-c"])
            .arg(source.join("util/mtest_f08.f90"))
            .arg("-o")
            .arg(&object);
        let built = command.current_dir(build.join("util")).output().expect("a compiler");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        variables.push(format!("LDADD={}", object.display()));
    }
    for part in ["util", "dtpools", folder] {
        let log = fs::File::create(build.join(format!("make-{}.log", part.replace('/', "-")))).expect("a log");
        let mut command = Command::new("make");
        command.args(["-k", "-j2", "-C"]).arg(build.join(part)).stderr(log.try_clone().expect("a log")).stdout(log);
        command.args(if part == folder { &variables[..] } else { &[] }).status().expect("make");
    }
}

/// The tests of a folder. Those that need to run as another job or host are none.
fn lines(source: &Path, build: &Path, folder: &str) -> Vec<Line> {
    let lists = [build, source].map(|root| root.join(folder).join("testlist"));
    let text = lists.iter().find_map(|list| fs::read_to_string(list).ok());
    let text = text.unwrap_or_else(|| panic!("no list of tests in {folder}"));
    let most = env::var(MOST_RANKS).map_or(u32::MAX, |most| most.parse().expect("a number of ranks"));
    let mut lines = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let mut words = line.split_whitespace();
        let (Some(name), Some(ranks)) = (words.next(), words.next()) else { continue };
        // A folder, where all are listed with its own list.
        let Ok(ranks) = ranks.parse() else { continue };
        if ranks > most {
            continue;
        }
        let (mut arguments, mut variables, mut seconds) = (Vec::new(), Vec::new(), 100);
        for (key, value) in words.filter_map(|word| word.split_once('=')) {
            match (key, value.split_once('=')) {
                ("arg", _) => arguments.push(value.to_owned()),
                ("timeLimit", _) => seconds = value.parse().unwrap_or(seconds).min(200),
                ("env", Some((name, value))) => variables.push((name.to_owned(), value.to_owned())),
                _ => {}
            }
        }
        lines.push(Line { program: build.join(folder).join(name), ranks, seconds, arguments, variables });
    }
    lines
}
