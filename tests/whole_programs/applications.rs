//! Applications as Debian ships them: their results and exit codes are the same with and without the tracer, and the
//! trace has as many calls of each function as an independent counter in front of the tracer counts.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{Case, On, Test, Trace, build, companion, library};

/// The library that the packages are built for.
pub(super) const DEBIAN: On = On::Only(&["ompi4"]);

/// On a busy machine two ranks that wait for each other take minutes.
pub(super) const LIMIT: Duration = Duration::from_secs(1200);

pub const TESTS: &[Test] = &[
    application("lammps_computes_the_same", |case| compare(case, &LAMMPS), "lmp"),
    application("cp2k_computes_the_same", |case| compare(case, &CP2K), "cp2k.psmp"),
    application("scalapack_computes_the_same", |case| compare(case, &SCALAPACK), SCALAPACK.words[0]),
    application("mumps_computes_the_same", |case| compare(case, &MUMPS), "/usr/lib/mumps/dsimpletest"),
    application("hpcc_computes_the_same", |case| compare(case, &HPCC), "hpcc"),
    application("nwchem_computes_the_same", |case| compare(case, &NWCHEM), "nwchem.openmpi"),
    application(
        "h5py_writes_the_same_file",
        |case| compare(case, &H5PY),
        "/usr/lib/python3/dist-packages/h5py/_debian_h5py_mpi/__init__.py",
    ),
    application("petsc4py_computes_the_same", |case| compare(case, &PETSC4PY), PETSC),
    application("slepc4py_computes_the_same", |case| compare(case, &SLEPC4PY), SLEPC),
    application(
        "a_pool_of_mpi4py_computes_the_same",
        |case| compare(case, &POOL),
        "/usr/lib/python3/dist-packages/mpi4py/futures/pool.py",
    ),
];

const fn application(name: &'static str, run: fn(&Case), needs: &'static str) -> Test {
    Test::new(name, run).on(DEBIAN).needs(needs).second_tier()
}

/// A program with its input, and what of its output has to be the same.
pub(super) struct Application {
    pub(super) name: &'static str,
    /// The command of a rank; `@NAME` is that file in tests/programs.
    pub(super) words: &'static [&'static str],
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// Files of tests/programs, and their names in the folder of the run.
    pub(super) inputs: &'static [(&'static str, &'static str)],
    /// Files that it writes, with what is compared of each; empty: its standard output.
    pub(super) outputs: &'static [(&'static str, Compared)],
    /// It prints at least so many lines that are compared.
    pub(super) least: usize,
    /// A function that it calls, at least so often on all ranks.
    pub(super) called: (&'static str, u64),
}

/// The part of a text that is compared.
pub(super) enum Compared {
    /// All lines but those with one of these words.
    Without(&'static [&'static str]),
    /// Lines with one of these words alone.
    With(&'static [&'static str]),
    /// All lines, in any order: more than one rank prints.
    Unordered,
    /// The lines with this word, without these columns, counted from 0.
    Columns(&'static str, &'static [usize]),
    /// The lines that a function makes of it.
    By(fn(&str) -> Vec<String>),
    /// Each byte of the file.
    Bytes,
}

const STDOUT: &str = "stdout";

const PLAIN: Application =
    Application { name: "", words: &[], variables: &[], inputs: &[], outputs: &[], least: 1, called: ("", 0) };

/// Lines that hold times.
pub(super) const LAMMPS: Application = Application {
    name: "LAMMPS, LJ melt",
    words: &["lmp", "-in", "@melt.lammps", "-log", "none"],
    outputs: &[(STDOUT, Compared::Without(&["Loop time", "Performance:", "CPU", "Total wall time", " | "]))],
    least: 60,
    called: ("MPI_Allreduce", 40),
    ..PLAIN
};

/// The energy of a hydrogen molecule, with all digits that CP2K prints.
pub(super) const CP2K: Application = Application {
    name: "CP2K, hydrogen molecule",
    words: &["cp2k.psmp", "-i", "@hydrogen.cp2k"],
    variables: &[("OMP_NUM_THREADS", "1")],
    outputs: &[(STDOUT, Compared::By(computed))],
    least: 100,
    called: ("MPI_Allreduce", 100),
    ..PLAIN
};

/// The result of each test, without its times and rate.
pub(super) const SCALAPACK: Application = Application {
    name: "ScaLAPACK, LU factorisation (xdlu)",
    words: &["/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests/xdlu"],
    variables: &[("OPENBLAS_NUM_THREADS", "1"), ("OMP_NUM_THREADS", "1")],
    inputs: &[("factors.scalapack", "LU.dat")],
    outputs: &[(STDOUT, Compared::Columns("WALL", &[8, 9, 10]))],
    least: 2,
    called: ("MPI_Bcast", 10),
};

pub(super) const MUMPS: Application = Application {
    name: "MUMPS, dsimpletest",
    words: &["sh", "-c", "exec /usr/lib/mumps/dsimpletest < /usr/lib/mumps/input_simpletest_real"],
    variables: &[("OPENBLAS_NUM_THREADS", "1"), ("OMP_NUM_THREADS", "1")],
    outputs: &[(STDOUT, Compared::Without(&["Time", "time", "Elapsed"]))],
    least: 100,
    called: ("MPI_Bcast", 50),
    ..PLAIN
};

pub(super) const HPCC: Application = Application {
    name: "HPCC (HPL, PTRANS, RandomAccess, FFT, latency)",
    words: &["hpcc"],
    variables: &[("OPENBLAS_NUM_THREADS", "1"), ("OMP_NUM_THREADS", "1")],
    inputs: &[("small.hpcc", "hpccinf.txt")],
    outputs: &[("hpccoutf.txt", Compared::By(verdicts))],
    least: 5,
    called: ("MPI_Allreduce", 100),
};

/// Global Arrays over ARMCI: one-sided calls, and ranks that poll.
pub(super) const NWCHEM: Application = Application {
    name: "NWChem, hydrogen molecule (Global Arrays)",
    words: &["nwchem.openmpi", "@hydrogen.nwchem"],
    variables: &[("OPENBLAS_NUM_THREADS", "1"), ("OMP_NUM_THREADS", "1")],
    outputs: &[(STDOUT, Compared::With(&["energy ", "Total energy", "1-e energy", "2-e energy", "HOMO", "LUMO"]))],
    least: 5,
    called: ("MPI_Win_allocate", 2),
    ..PLAIN
};

pub(super) const H5PY: Application = Application {
    name: "h5py, collective output",
    words: &["/usr/bin/python3", "@hdf5_together.py", "together.h5"],
    outputs: &[(STDOUT, Compared::Without(&[])), ("together.h5", Compared::Bytes)],
    called: ("MPI_File_write_at_all", 8),
    ..PLAIN
};

pub(super) const PETSC: &str =
    "/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-real/lib/python3/dist-packages/petsc4py/__init__.py";

pub(super) const PETSC4PY: Application = Application {
    name: "petsc4py, three Krylov solvers",
    words: &["/usr/bin/python3", "@poisson_petsc.py"],
    variables: &[
        ("PYTHONPATH", "/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-real/lib/python3/dist-packages"),
        ("OPENBLAS_NUM_THREADS", "1"),
        ("OMP_NUM_THREADS", "1"),
    ],
    outputs: &[(STDOUT, Compared::Without(&[]))],
    least: 3,
    called: ("MPI_Allreduce", 100),
    ..PLAIN
};

pub(super) const SLEPC: &str =
    "/usr/lib/slepcdir/slepc3.18/x86_64-linux-gnu-real/lib/python3/dist-packages/slepc4py/__init__.py";

pub(super) const SLEPC4PY: Application = Application {
    name: "slepc4py, three eigensolvers",
    words: &["/usr/bin/python3", "@eigen_slepc.py"],
    variables: &[
        (
            "PYTHONPATH",
            "/usr/lib/slepcdir/slepc3.18/x86_64-linux-gnu-real/lib/python3/dist-packages:\
             /usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-real/lib/python3/dist-packages",
        ),
        ("OPENBLAS_NUM_THREADS", "1"),
        ("OMP_NUM_THREADS", "1"),
    ],
    outputs: &[(STDOUT, Compared::Without(&[]))],
    least: 3,
    called: ("MPI_Allreduce", 100),
    ..PLAIN
};

/// Rank 0 gives out work, and polls with MPI_Iprobe.
pub(super) const POOL: Application = Application {
    name: "mpi4py.futures, pool of ranks",
    words: &["/usr/bin/python3", "@pool.py"],
    outputs: &[(STDOUT, Compared::Unordered)],
    least: 3,
    called: ("MPI_Barrier", 2),
    ..PLAIN
};

/// The outputs of a run.
pub(super) struct Given {
    texts: Vec<Vec<String>>,
    seconds: f64,
    pub(super) trace: Trace,
}

fn compare(case: &Case, of: &Application) {
    let plain = run(case, of, false);
    let traced = run(case, of, true);
    let lines = plain.texts.iter().map(Vec::len).max().unwrap_or(0);
    assert!(lines >= of.least, "{}: {lines} lines to compare", of.name);
    assert_eq!(traced.texts, plain.texts, "{}: without the tracer on the right", of.name);

    let info = traced.trace.info_of_all();
    let mut recorded = BTreeMap::new();
    for operation in &info.operations {
        *recorded.entry(operation.function.clone()).or_insert(0) += operation.repetitions * operation.ranks;
    }
    let counted = counts(case);
    assert!(counted.get(of.called.0).is_some_and(|calls| *calls >= of.called.1), "{}: {counted:?}", of.name);
    assert_eq!(recorded, counted, "{}: calls of both ranks, as the counter has them on the right", of.name);
    let calls: u64 = counted.values().sum();
    assert!(info.complete && info.dropped == 0 && info.failed == 0, "{}: {info:?}", of.name);
    assert_eq!(info.records, calls, "{}: a record for each call", of.name);
    let [without, with] = [plain.seconds, traced.seconds];
    let row = format!("| {} | {calls} | {without:.1} | {with:.1} | {} |\n", of.name, in_tracer(&traced.trace));
    fs::write(case.folder.join("row.md"), row).expect("the row of docs/developers/reliability.md");
}

/// Runs it on two ranks; the counter is there where the tracer is.
pub(super) fn run(case: &Case, of: &Application, traced: bool) -> Given {
    for (source, name) in of.inputs {
        fs::copy(build::source(source), case.folder.join(name)).expect("an input");
    }
    let word = |word: &str| word.strip_prefix('@').map_or(word.into(), |name| build::source(name).into_os_string());
    let program = library::path_of(of.words[0]).expect("asked for by the test");
    let mut launch = case.launch(2, program.to_str().expect("a plain path")).within(LIMIT);
    for argument in &of.words[1..] {
        launch = launch.arg(word(argument));
    }
    for (name, value) in of.variables {
        launch = launch.set(name, value);
    }
    if traced {
        launch = launch.trace().preload(counter(case)).set("COUNTS_OUTPUT", case.folder.join("counts"));
        launch = launch.set("TIMES_OUTPUT", case.folder.join("times"));
    }
    let started = Instant::now();
    let outcome = launch.run();
    let seconds = started.elapsed().as_secs_f64();
    assert_eq!(outcome.code, 0, "{}: {}{}", of.name, outcome.stdout, outcome.stderr);
    let text = |(name, what): &(&str, Compared)| {
        if *name == STDOUT {
            return what.of(&outcome.stdout);
        }
        let path = case.folder.join(name);
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        // A program may write behind what is there.
        fs::remove_file(&path).expect("its own file");
        match what {
            Compared::Bytes => vec![format!("{} bytes, hash {:x}", bytes.len(), hash(&bytes))],
            what => what.of(&String::from_utf8_lossy(&bytes)),
        }
    };
    Given { texts: of.outputs.iter().map(text).collect(), seconds, trace: outcome.trace }
}

/// FNV-1a (Fowler, Noll, Vo).
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl Compared {
    fn of(&self, text: &str) -> Vec<String> {
        let any = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
        let kept = |keep: &dyn Fn(&str) -> bool| text.lines().filter(|line| keep(line)).map(str::to_owned).collect();
        match self {
            Compared::Without(words) => kept(&|line| !any(line, words)),
            Compared::With(words) => kept(&|line| any(line, words)),
            Compared::Unordered => {
                let mut lines: Vec<String> = kept(&|_| true);
                lines.sort();
                lines
            }
            Compared::Columns(word, left_out) => {
                let lines = text.lines().filter(|line| line.contains(word));
                lines.map(|line| without_columns(line, |column| left_out.contains(&column))).collect()
            }
            Compared::By(rule) => rule(text),
            Compared::Bytes => vec![text.to_owned()],
        }
    }
}

fn without_columns(line: &str, is_left_out: impl Fn(usize) -> bool) -> String {
    let words = line.split_whitespace().enumerate();
    words.filter(|(column, _)| !is_left_out(*column)).map(|(_, word)| format!("{word} ")).collect()
}

/// The verdicts of HPCC, without times and rates. Lines of processor time are printed only where its clock has moved.
fn verdicts(output: &str) -> Vec<String> {
    let words = ["WALL ", "FAILED", "||Ax-b||", "Success=", "CommWorldProcs="];
    let lines = output.lines().filter(|line| words.iter().any(|word| line.contains(word)));
    lines.map(|line| without_columns(line, |column| line.starts_with("WALL") && [7, 9].contains(&column))).collect()
}

/// The output of CP2K before its table of times, without values of the process; of the lines of its iterations without
/// the time, the fourth column.
fn computed(output: &str) -> Vec<String> {
    let of_process = ["STARTED AT", "PROCESS ID", "MEMORY|", "memory usage"];
    let lines = output.lines().take_while(|line| !line.contains("T I M I N G"));
    let lines = lines.filter(|line| !of_process.iter().any(|word| line.contains(word)));
    lines.map(|line| without_columns(line, |column| column == 3 && line.contains("/Diag."))).collect()
}

/// The counter, which is built without MPI.
fn counter(case: &Case) -> std::path::PathBuf {
    let library = case.folder.join("outermost_calls.so");
    let source = build::source("outermost_calls.c");
    let options = ["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o"];
    let built = Command::new("cc").args(options).arg(&library).arg(source).status();
    assert!(built.expect("a compiler").success());
    library
}

/// How often the program has called each function, on all ranks.
fn counts(case: &Case) -> BTreeMap<String, u64> {
    let mut counted = BTreeMap::new();
    let files = fs::read_dir(&case.folder).expect("the folder").flatten();
    let files: Vec<_> = files.filter(|file| file.file_name().to_string_lossy().starts_with("counts.")).collect();
    assert_eq!(files.len(), 2, "one file of each rank");
    for file in files {
        for line in fs::read_to_string(file.path()).expect("the counts").lines() {
            let (function, calls) = line.split_once(' ').expect("a function and a number");
            *counted.entry(function.to_owned()).or_insert(0) += calls.parse::<u64>().expect("a number");
        }
    }
    counted
}

/// The time of all ranks in the tracer, s, and its share of their time.
fn in_tracer(trace: &Trace) -> String {
    let summary = companion::mpitrace(&["summary".as_ref(), "--json".as_ref(), trace.path.as_os_str()]);
    let summary: serde_json::Value = serde_json::from_str(&summary.stdout).expect("JSON");
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let (tracer, all) = (number(&summary["parts"]["tracer"]), number(&summary["rank_seconds"]));
    format!("{tracer:.3} ({:.1} %)", 100.0 * tracer / all)
}
