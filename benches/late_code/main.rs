//! The code that makes a rank late, of programs with a known fault: `cargo bench --bench late_code`.
//!
//! Each program (benches/late_code/) runs under `mpitrace run` with its fault. Right: the first three lines of
//! `summary` have a line of the program that is marked with "late"; of Python also the function without a line. Wrong:
//! they name other code of the program as what makes a rank late. Else the code is not known: none is named, or a
//! function of Python in a library, whose caller is not known. Untraced it runs with the fault and without it. The gain
//! that `summary` predicts has to be within 10 % of the difference of these medians; of an interval, its nearer limit.
//!
//! `TURNS` (5) says how often, `PROGRAMS` names some of them, `BUSY` (0) is the number of threads that compute beside
//! them, `MPICC`, `MPICXX`, `MPIF90` and `MPIRUN` name compilers and launcher, with options.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use mpitrace_testing::binaries;
use serde_json::Value;

/// A program: its name, its source, its arguments with the fault and without it.
struct Program {
    name: &'static str,
    source: &'static str,
    with: &'static [&'static str],
    without: &'static [&'static str],
}

const fn own(name: &'static str, source: &'static str) -> Program {
    Program { name, source, with: &["1"], without: &["0"] }
}

const fn trainer(name: &'static str, with: &'static [&'static str]) -> Program {
    Program { name, source: "trainer.py", with, without: &["none"] }
}

const fn halo(name: &'static str, with: &'static [&'static str], without: &'static [&'static str]) -> Program {
    Program { name, source: "halo.cpp", with, without }
}

const USUAL: &[&str] = &["-i", "150", "-e", "1000"];

const PROGRAMS: [Program; 17] = [
    halo("patch", &["-i", "150", "-e", "1000", "-m", "2", "-f", "a"], USUAL),
    halo(
        "output",
        &["-i", "100", "-e", "50", "-n", "400", "-m", "5", "-f", "b"],
        &["-i", "100", "-e", "50", "-n", "400"],
    ),
    halo("sweep", &["-i", "150", "-e", "1000", "-m", "3", "-f", "d"], USUAL),
    halo("touch", &["-i", "150", "-e", "1000", "-m", "2", "-f", "f"], USUAL),
    halo("lock", &["-i", "300", "-n", "200", "-e", "1000", "-f", "g"], &["-i", "300", "-n", "200", "-e", "1000"]),
    halo("gather", &["-i", "150", "-e", "1000", "-m", "4", "-f", "i"], USUAL),
    trainer("trainer-sleep", &["sleep"]),
    trainer("trainer-collect", &["collect"]),
    trainer("trainer-data", &["data"]),
    own("parse", "parse.c"),
    own("sensor", "sensor.c"),
    own("index", "index.cpp"),
    own("particles", "particles.cpp"),
    own("radiation", "radiation.f90"),
    own("tokens", "tokens.py"),
    own("regions", "regions.c"),
    own("worker", "worker.cpp"),
];

/// The summary's answer about the code.
enum Said {
    Right,
    NotKnown,
    Wrong(String),
}

fn main() {
    binaries::build();
    let turns: usize = variable("TURNS", "5").parse().expect("TURNS is a number");
    let busy: usize = variable("BUSY", "0").parse().expect("BUSY is a number");
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
    let wanted = variable("PROGRAMS", &names.join(" "));
    let is_over = AtomicBool::new(false);
    println!("{turns} turns, {busy} busy threads beside them, s ({})", variable("MPIRUN", LAUNCHER));
    println!("| program | right | not known | wrong | removed | predicted: least | most | within 10 % |");
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    std::thread::scope(|scope| {
        (0..busy).for_each(|_| {
            drop(scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop()
                }
            }))
        });
        let mut sums = [0; 5];
        for program in PROGRAMS.iter().filter(|program| wanted.split(' ').any(|name| name == program.name)) {
            let row = measured(program, turns, scratch.path());
            sums.iter_mut().zip(row).for_each(|(sum, one)| *sum += one);
        }
        is_over.store(true, Ordering::Relaxed);
        let [right, unknown, wrong, held, predicted] = sums;
        println!("| all | {right} | {unknown} | {wrong} | | | | {held} of {predicted} |");
    });
}

const LAUNCHER: &str = "mpirun.openmpi --allow-run-as-root --oversubscribe -np 2";

fn variable(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

/// Prints a row. Runs that are right, not known, wrong, of a gain within 10 % of what removal gives, of a gain.
fn measured(program: &Program, turns: usize, scratch: &Path) -> [usize; 5] {
    let words = compiled(program, scratch);
    let (mut said, mut times, mut gains) = ([0; 3], [Vec::new(), Vec::new()], Vec::new());
    for turn in 0..turns {
        times[0].push(timed(&words, program.with, scratch));
        times[1].push(timed(&words, program.without, scratch));
        let trace = scratch.join(format!("{}{turn}.mpitrace", program.name));
        run(&words, program.with, Some(&trace), scratch);
        let (said_here, gain) = judged(program, &trace);
        gains.extend(gain);
        said[match said_here {
            Said::Right => 0,
            Said::NotKnown => 1,
            Said::Wrong(sentence) => {
                println!("<!-- {}: {sentence} -->", program.name);
                2
            }
        }] += 1;
    }
    let removed = median(&times[0]) - median(&times[1]);
    let is_held = |[least, most]: &&[f64; 2]| (least - 0.1 * removed..=most + 0.1 * removed).contains(&removed);
    let held = gains.iter().filter(is_held).count();
    let [right, unknown, wrong] = said;
    let [least, most] = [0, 1].map(|of| median(&gains.iter().map(|gain: &[f64; 2]| gain[of]).collect::<Vec<f64>>()));
    let (name, all) = (program.name, gains.len());
    println!("| {name} | {right} | {unknown} | {wrong} | {removed:.3} | {least:.3} | {most:.3} | {held} of {all} |");
    [right, unknown, wrong, held, gains.len()]
}

fn source(program: &Program) -> PathBuf {
    mpitrace_testing::root().join("benches/late_code").join(program.source)
}

/// The words that start a program, but for its arguments.
fn compiled(program: &Program, scratch: &Path) -> Vec<String> {
    let (source, binary) = (source(program), scratch.join(program.name));
    let (variable_name, default, options): (_, _, &[&str]) = match source.extension().and_then(|end| end.to_str()) {
        Some("c") => ("MPICC", "mpicc.openmpi", &["-fopenmp"]),
        Some("cpp") => ("MPICXX", "mpicxx.openmpi", &["-pthread"]),
        Some("f90") => ("MPIF90", "mpif90.openmpi", &[]),
        _ => return vec![variable("PYTHON", "/usr/bin/python3"), source.display().to_string()],
    };
    let compiler = variable(variable_name, default);
    let mut command = Command::new(&compiler);
    command.args(["-g", "-O2"]).args(options).arg("-o").arg(&binary).arg(&source).arg("-lm").current_dir(scratch);
    assert!(command.status().is_ok_and(|status| status.success()), "{compiler} does not compile {}", program.source);
    vec![binary.display().to_string()]
}

/// Runs it, under `mpitrace run` if a trace is wanted.
fn run(words: &[String], arguments: &[&str], trace: Option<&Path>, scratch: &Path) {
    let launcher = variable("MPIRUN", LAUNCHER);
    let mut all: Vec<String> = launcher.split_whitespace().map(str::to_owned).collect();
    if let Some(trace) = trace {
        let traced = [binaries::companion().display().to_string(), "run".to_owned(), "-o".to_owned()];
        all.splice(0..0, traced.into_iter().chain([trace.display().to_string(), "--".to_owned()]));
    }
    all.extend(words.iter().cloned().chain(arguments.iter().map(|&word| word.to_owned())));
    let mut command = Command::new(&all[0]);
    command.args(&all[1..]).current_dir(scratch).stdout(Stdio::null()).stderr(Stdio::null());
    command.envs([("OMP_NUM_THREADS", "2"), ("OMP_WAIT_POLICY", "passive")]);
    assert!(command.status().is_ok_and(|status| status.success()), "{all:?} does not run");
}

/// How long it takes untraced, s.
fn timed(words: &[String], arguments: &[&str], scratch: &Path) -> f64 {
    let begin = Instant::now();
    run(words, arguments, None, scratch);
    begin.elapsed().as_secs_f64()
}

/// The summary's answer about the code, and the least and the most gain that it predicts, s.
fn judged(program: &Program, trace: &Path) -> (Said, Option<[f64; 2]>) {
    let summary = |options: &[&str]| {
        let output = Command::new(binaries::companion()).arg("summary").arg(trace).args(options).output();
        String::from_utf8(output.expect("the companion").stdout).expect("text")
    };
    let first = summary(&[]).lines().take(3).map(str::trim).collect::<Vec<_>>().join(" ");
    let json: Value = serde_json::from_str(&summary(&["--json"])).expect("JSON");
    let text = std::fs::read_to_string(source(program)).expect("the source");
    let late = text.lines().zip(1..).filter(|(line, _)| {
        let comment = ["//", "/*", "# ", "! "].iter().filter_map(|sign| line.rfind(sign)).max();
        comment.is_some_and(|at| line[at + 2..].trim_start().starts_with("late"))
    });
    let function_of = |number: usize| {
        let mut before = text.lines().take(number).collect::<Vec<_>>().into_iter().rev();
        before.find_map(|line| line.trim_start().strip_prefix("def ")?.split('(').next())
    };
    let place = |number: usize| {
        let function = function_of(number).map(|function| format!("{function} ({})", program.source));
        [Some(format!("{}:{number})", program.source)), function]
    };
    let places: Vec<String> = late.flat_map(|(_, number)| place(number)).flatten().collect();
    let said = match json["code"].as_str() {
        _ if places.iter().any(|place| first.contains(place)) => Said::Right,
        Some(sentence) if !sentence.contains("(python") => Said::Wrong(sentence.to_owned()),
        _ => Said::NotKnown,
    };
    let is_right = matches!(said, Said::Right);
    let gain = json["code"].as_str().filter(|_| is_right).and_then(predicted);
    (said, gain)
}

/// The least and the most gain, s, of a sentence that ends like "; gain 1.20 s.", or with an interval.
fn predicted(sentence: &str) -> Option<[f64; 2]> {
    let text = sentence.split("; gain ").nth(1)?.trim_end_matches('.').trim_end_matches(" without it");
    let (numbers, unit) = text.trim_start_matches("at most ").rsplit_once(' ')?;
    let unit = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "µs" => 1e-6,
        _ => return None,
    };
    let number = |text: &str| Some(unit * text.parse::<f64>().ok()?);
    let (least, most) = numbers.split_once(" to ").unwrap_or((numbers, numbers));
    Some([number(least)?, number(most)?])
}

fn median(values: &[f64]) -> f64 {
    mpitrace_statistics::median(&mut values.to_vec()).unwrap_or(f64::NAN)
}
