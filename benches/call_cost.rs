//! The cost of a traced call: `cargo bench --bench call_cost`.
//!
//! For each MPI compiler on the path, one process runs the same loop untraced, traced, paused, disabled,
//! under ring, under spill, with messages as records or counted, with three events of the kernel read around each call,
//! with call sites, with counters inside the stack, and with every performance variable that the library has, in turn;
//! what a row adds is the median of the differences to the untraced run of the same turn, and stands beside two bare
//! time stamps of the same process. The prototype is a wrapper written by hand, which does the least that a tracer can
//! do. A plain loop of 10^6 calls fills arrays that have no memory yet. Then what code inside the stack pays for its
//! counters, timers and regions. `MPICC` names other compilers.

use mpitrace_testing::binaries;

use std::path::{Path, PathBuf};
use std::process::Command;

const TURNS: usize = 7;

/// Name, argument of the program, environment.
type Case = (&'static str, Option<&'static str>, &'static [(&'static str, &'static str)]);

const CASES: [Case; 13] = [
    ("untraced", None, &[]),
    ("traced", None, &[]),
    ("paused", Some("paused"), &[]),
    ("disabled", None, &[("MPITRACE_DISABLE", "1")]),
    ("records", None, &[("MPITRACE_P2P", "records"), ("MPITRACE_CAPACITY", "65536")]),
    ("counting", None, &[("MPITRACE_EVENTS", "messages")]),
    ("events", None, &[("MPITRACE_EVENTS", "task-clock,context-switches,page-faults")]),
    ("sites", None, &[("MPITRACE_CALLSITE", "1")]),
    ("inner", Some("inner"), &[]),
    ("variables", None, &[("MPITRACE_PVARS", "*")]),
    ("unwatched", None, &[("MPITRACE_INTERRUPTIONS", "0")]),
    (PROTOTYPE, None, &[]),
    ("packed", None, &[("MPITRACE_CAPACITY", "65536")]),
];

/// The case of the wrapper written by hand.
const PROTOTYPE: &str = "prototype";
/// A plain loop through fresh memory: untraced, traced, traced without a look at interruptions, and the prototype.
const FILLING: [Case; 4] = [
    ("untraced", Some("fill"), &[]),
    ("traced", Some("fill"), &[]),
    ("unwatched", Some("fill"), &[("MPITRACE_INTERRUPTIONS", "0")]),
    (PROTOTYPE, Some("fill"), &[("PROTOTYPE", "fresh")]),
];

fn main() {
    let root = mpitrace_testing::root();
    binaries::build();
    let library = binaries::tracer();
    let scratch = std::env::temp_dir().join(format!("mpitrace-call-cost-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a temporary folder");
    let compilers = std::env::var("MPICC").unwrap_or_else(|_| "mpicc.openmpi mpicc.mpich".to_owned());
    println!("ns per MPI_Allreduce of 8 bytes on MPI_COMM_SELF, medians of {TURNS} turns");
    for compiler in compilers.split_whitespace() {
        match compile(compiler, root, &scratch) {
            Some(program) => measure(compiler, &Subjects { program, library: &library, scratch: &scratch }),
            None => println!("{compiler}: skipped, it does not compile an MPI program here"),
        }
    }
    let _ = std::fs::remove_dir_all(&scratch);
}

/// The programs that are run, and where their traces go. The prototype lies beside the program.
struct Subjects<'a> {
    program: PathBuf,
    library: &'a Path,
    scratch: &'a Path,
}

fn compile(compiler: &str, root: &Path, scratch: &Path) -> Option<PathBuf> {
    let program = scratch.join("call_cost");
    let compile = |arguments: &[&str], source: &str, made: &Path| {
        let mut command = Command::new(compiler);
        command
            .args(["-O2", "-I"])
            .arg(root.join("include"))
            .args(arguments)
            .arg("-o")
            .arg(made)
            .arg(root.join(source));
        command.status().is_ok_and(|status| status.success())
    };
    let compiled = compile(&["-shared", "-fPIC"], "benches/prototype.c", &prototype(scratch))
        && compile(&[], "benches/call_cost.c", &program);
    compiled.then_some(program)
}

fn prototype(scratch: &Path) -> PathBuf {
    scratch.join("prototype.so")
}

/// The program's own measurement, ns.
#[derive(Clone, Copy)]
struct Times {
    call: f64,
    pair: f64,
    /// A send to MPI_PROC_NULL, and one to the rank itself with its receive.
    messages: [f64; 2],
    /// Adding to a counter, a timer started and stopped, a region begun and ended.
    inner: [f64; 3],
    /// Reading three events of the kernel, bare.
    reading: f64,
}

fn measure(compiler: &str, subjects: &Subjects) {
    let mut runs: [Vec<Times>; CASES.len()] = Default::default();
    for _ in 0..TURNS {
        for (case, runs) in CASES.iter().zip(&mut runs) {
            runs.push(run(case, subjects));
        }
    }
    let pair = median(runs.iter().flatten().map(|times| times.pair).collect());
    let untraced = |what: fn(&Times) -> f64| median(runs[0].iter().map(what).collect());
    println!(
        "{compiler}: two bare time stamps {pair:.1}, untraced call {:.1}, send to MPI_PROC_NULL {:.1}, \
         message to itself {:.1}",
        untraced(|times| times.call),
        untraced(|times| times.messages[0]),
        untraced(|times| times.messages[1])
    );
    for ((name, _, _), runs_with) in CASES.iter().zip(&runs).skip(1) {
        let added = |what: fn(&Times) -> f64| {
            median(runs_with.iter().zip(&runs[0]).map(|(with, without)| what(with) - what(without)).collect())
        };
        let call = added(|times| times.call);
        println!(
            "  {name:9} adds {call:5.1}, {:.2} of two time stamps; to a send {:4.1}, to a message {:5.1}",
            call / pair,
            added(|times| times.messages[0]),
            added(|times| times.messages[1])
        );
    }
    let case = |name: &str| CASES.iter().position(|case| case.0 == name).expect("a name of a case");
    let runs_of = |name: &str| &runs[case(name)];
    let against = |name: &str, other: &str| {
        median(runs_of(name).iter().zip(runs_of(other)).map(|(one, other)| one.call - other.call).collect())
    };
    let cost = |name: &str| against(name, "untraced");
    println!(
        "  traced, in times the prototype {:.2}; without a look at interruptions {:.2}",
        cost("traced") / cost(PROTOTYPE),
        cost("unwatched") / cost(PROTOTYPE)
    );
    let times_of_send = runs[1].iter().zip(&runs[0]).map(|(with, without)| with.messages[0] / without.messages[0]);
    let times_of_message = runs[1].iter().zip(&runs[0]).map(|(with, without)| with.messages[1] / without.messages[1]);
    println!(
        "  traced, in times the untraced one: a send to MPI_PROC_NULL {:.3}, a message to itself {:.3}",
        median(times_of_send.collect()),
        median(times_of_message.collect())
    );
    println!(
        "  in times the traced call: paused {:.2}; with full arrays, packed while it runs {:.2}",
        cost("paused") / cost("traced"),
        cost("packed") / cost("traced")
    );
    fill(subjects);
    let typical = |name: &str, what: fn(&Times) -> f64| median(runs_of(name).iter().map(what).collect());
    let events = against("events", "traced");
    let reading = typical("events", |times| times.reading);
    println!(
        "  three events of the kernel add {events:.1} to the traced call, {:.2} of two bare readings ({reading:.1})",
        events / reading / 2.0
    );
    println!(
        "  inside the stack: adding to a counter {:.1}, a timer {:.1}, a region {:.1}",
        typical("inner", |times| times.inner[0]),
        typical("inner", |times| times.inner[1]),
        typical("inner", |times| times.inner[2])
    );
}

/// A plain loop of calls that fills fresh memory, in processor time of all threads.
fn fill(subjects: &Subjects) {
    let mut added: [Vec<f64>; FILLING.len()] = Default::default();
    for _ in 0..TURNS {
        let times = FILLING.each_ref().map(|case| match numbers(case, subjects)[..] {
            [time] => time,
            ref other => panic!("{other:?}"),
        });
        added.iter_mut().zip(times).for_each(|(added, time)| added.push(time - times[0]));
    }
    let [_, traced, unwatched, prototype] = added.map(median);
    println!(
        "  a plain loop through fresh memory adds {traced:.1} (without a look at interruptions {unwatched:.1}), the \
         prototype {prototype:.1}: {:.2} of it",
        traced / prototype
    );
}

/// The numbers that the program prints.
fn numbers((name, argument, settings): &Case, subjects: &Subjects) -> Vec<f64> {
    let mut command = Command::new(&subjects.program);
    command.args(argument).envs(settings.iter().copied());
    match *name {
        "untraced" => {}
        PROTOTYPE => drop(command.env("LD_PRELOAD", prototype(subjects.scratch))),
        _ => {
            command.env("LD_PRELOAD", subjects.library).env("MPITRACE_VERBOSE", "0");
            command.env("MPITRACE_OUTPUT", subjects.scratch.join("trace.mpitrace"));
        }
    }
    let output = command.output().expect("the program starts");
    let _ = std::fs::remove_file(subjects.scratch.join("trace.mpitrace"));
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(!numbers.is_empty(), "{name}: {text}{}", String::from_utf8_lossy(&output.stderr));
    numbers
}

fn run(case: &Case, subjects: &Subjects) -> Times {
    match numbers(case, subjects)[..] {
        [call, pair, nobody, itself, add, timer, region, reading] => {
            Times { call, pair, messages: [nobody, itself], inner: [add, timer, region], reading }
        }
        ref other => panic!("{}: {other:?}", case.0),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    mpitrace_statistics::median(&mut values).expect("at least one turn")
}
