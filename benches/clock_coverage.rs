//! How often the stated errors hold: `cargo build --release --workspace && cargo bench --bench clock_coverage`.
//!
//! The errors of one run are nearly one draw, so each run counts once: `RUNS` (2000) short ones of two ranks, one of them with a
//! pretended clock, and of each the error in the middle of its calls. Prints how many lay within their 95 % interval, and within
//! their hard bounds. `MPICC` and `MPIRUN` name another MPI.

use std::path::Path;
use std::process::Command;

use mpitrace::clock::{Clock, Truth};
use mpitrace::trace::Trace;

fn variable(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = root.join("target/release/libmpitrace.so");
    assert!(library.exists(), "{} is missing: cargo build --release --workspace", library.display());
    let scratch = std::env::temp_dir().join(format!("mpitrace-clock-coverage-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a temporary folder");
    let compiler = variable("MPICC", "mpicc.openmpi");
    let program = scratch.join("program");
    let source = root.join("benches/clock_methods.c");
    let compiled = Command::new(&compiler).arg("-O2").arg("-o").arg(&program).arg(source).status();
    if !compiled.is_ok_and(|status| status.success()) {
        println!("{compiler}: skipped, it does not compile an MPI program here");
        return;
    }
    let runs: u32 = variable("RUNS", "2000").parse().expect("RUNS is a number");
    let mut draws = Vec::new();
    for run in 0..runs {
        draws.extend(draw(run, &program, &library, &scratch));
    }
    let _ = std::fs::remove_dir_all(&scratch);
    let share =
        |of: fn(&Draw) -> bool| draws.iter().filter(|draw| of(draw)).count() as f64 * 100.0 / draws.len() as f64;
    let mut errors: Vec<f64> = draws.iter().map(|draw| draw.error_ns).collect();
    let mut stated: Vec<f64> = draws.iter().map(|draw| draw.stated_ns).collect();
    println!(
        "{compiler}: {} runs, {:.1} % within their 95 % interval, {:.1} % within their hard bounds; the middle one of the errors \
         {:.1} ns, of the half intervals {:.1} ns, the largest error {:.1} ns",
        draws.len(),
        share(|draw| draw.covered),
        share(|draw| draw.held),
        mpitrace::statistics::median(&mut errors).unwrap_or(f64::NAN),
        mpitrace::statistics::median(&mut stated).unwrap_or(f64::NAN),
        errors.iter().copied().fold(0.0, f64::max),
    );
}

struct Draw {
    error_ns: f64,
    stated_ns: f64,
    covered: bool,
    held: bool,
}

fn draw(run: u32, program: &Path, library: &Path, scratch: &Path) -> Option<Draw> {
    let path = scratch.join("run.mpitrace");
    let _ = std::fs::remove_file(&path);
    launch(run, program, library, &path);
    let trace = Trace::open(&[&path]).expect("a trace");
    let clock = Clock::of(&trace);
    let part = trace.parts.iter().position(|part| part.info().pretended != 0)?;
    let enter = trace.parts[part].enter();
    let own = clock.of_part(part);
    let middle = *enter.get(enter.len() / 2)?;
    // What is true in the microsecond around it is true of it.
    let at = own.nanoseconds(middle);
    let truth = Truth::between(&trace, &clock, at - 500.0, at + 500.0)?;
    let stated_ns = own.error_ns(middle)?;
    Some(Draw {
        error_ns: truth.max_ns,
        stated_ns,
        covered: truth.max_ns <= stated_ns,
        held: truth.hard_bounds_held.unwrap_or(false),
    })
}

fn launch(run: u32, program: &Path, library: &Path, path: &Path) {
    let launcher = variable("MPIRUN", "mpirun.openmpi --allow-run-as-root --oversubscribe");
    let mut words = launcher.split_whitespace();
    let mut command = Command::new(words.next().expect("MPIRUN names a launcher"));
    command.args(words).args(["-np", "2", "env"]);
    command.arg(format!("LD_PRELOAD={}", library.display()));
    command.arg(format!("MPITRACE_OUTPUT={}", path.display()));
    // Another clock each time.
    let (offset, drift) = (f64::from(run % 19) * 1.7e8 - 1.5e9, f64::from(run % 21) * 5.0 - 50.0);
    command.arg(format!("MPITRACE_TEST_CLOCK=1:offset_ns={offset},ppm={drift}"));
    command.args(["MPITRACE_VERBOSE=0"]).arg(program).arg("0.02");
    let status = command.status().expect("the launcher starts");
    assert!(status.success(), "{command:?}");
}
