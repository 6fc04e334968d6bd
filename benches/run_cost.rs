//! The time that the tracer adds to a run on one node: `cargo bench --bench run_cost`.
//!
//! Two ranks (`RANKS`) that compute for `SECONDS` (0.2) of processor time, without the tracer and with it in turns,
//! `PAIRS` (20) times. Shown are medians of the command's time, and of MPI_Init and MPI_Finalize of the rank that took
//! longest; what is added is the median of the pairs' differences. `BUSY` (0) processes compute meanwhile, each for at
//! most ten minutes. `MPI` names an installation (its `bin`), or `openmpi` or `mpich` of the system. `BEFORE` names
//! another libmpitrace.so, which is measured in the same turns.

use mpitrace_testing::binaries;

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Set in a process that is to compute for as long as the one lives that has started it.
const IS_BUSY: &str = "MPITRACE_BENCH_BUSY";
const LONGEST: Duration = Duration::from_secs(600);

fn variable(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

fn number<T: std::str::FromStr>(name: &str, default: &str) -> T {
    variable(name, default).parse().unwrap_or_else(|_| panic!("{name} is a number"))
}

struct Busy(Vec<Child>);

impl Busy {
    fn start(processes: usize) -> Busy {
        let start = || {
            let mut command = Command::new(std::env::current_exe().expect("the path of this benchmark"));
            command.env(IS_BUSY, std::process::id().to_string()).spawn().expect("a busy process")
        };
        Busy((0..processes).map(|_| start()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn compute(parent: &str) {
    let since = Instant::now();
    while since.elapsed() < LONGEST && std::os::unix::process::parent_id().to_string() == parent {
        for _ in 0..1_000_000 {
            std::hint::spin_loop();
        }
    }
}

struct Program {
    launcher: PathBuf,
    path: PathBuf,
    trace: PathBuf,
    ranks: String,
    seconds: String,
}

/// Milliseconds of the command, of MPI_Init and of MPI_Finalize.
type Times = [f64; 3];

impl Program {
    fn run(&self, tracer: Option<&Path>) -> Times {
        let _ = std::fs::remove_file(&self.trace);
        let mut command = Command::new(&self.launcher);
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command
            .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
            .env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
        command.args(["-n", &self.ranks, "env"]);
        if let Some(tracer) = tracer {
            command.args(["MPITRACE_VERBOSE=0", &format!("LD_PRELOAD={}", tracer.display())]);
            command.arg(format!("MPITRACE_OUTPUT={}", self.trace.display()));
        }
        command.arg(&self.path).arg(&self.seconds);
        let since = Instant::now();
        let output = command.output().expect("the launcher starts");
        let whole = since.elapsed().as_secs_f64() * 1e3;
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(tracer.is_none() || self.trace.exists(), "a trace: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let of = |name: &str| {
            let words: Vec<&str> = text.split_whitespace().collect();
            let values = words.windows(2).filter(|pair| pair[0] == name).filter_map(|pair| pair[1].parse().ok());
            values.fold(0.0, f64::max)
        };
        [whole, of("init"), of("finalize")]
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

fn main() {
    if let Ok(parent) = std::env::var(IS_BUSY) {
        return compute(&parent);
    }
    let (pairs, busy): (usize, usize) = (number("PAIRS", "20"), number("BUSY", "0"));
    binaries::build();
    let folder = std::env::temp_dir().join(format!("mpitrace-run-cost-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let mpi = variable("MPI", "openmpi");
    let (compiler, launcher) = match &*mpi {
        "openmpi" | "mpich" => (PathBuf::from(format!("mpicc.{mpi}")), PathBuf::from(format!("mpirun.{mpi}"))),
        bin => (Path::new(bin).join("mpicc"), Path::new(bin).join("mpirun")),
    };
    let program = Program {
        launcher,
        path: folder.join("program"),
        trace: folder.join("run.mpitrace"),
        ranks: variable("RANKS", "2"),
        seconds: variable("SECONDS", "0.2"),
    };
    let source = mpitrace_testing::root().join("benches/run_cost.c");
    let compiled = Command::new(&compiler).arg("-O2").arg("-o").arg(&program.path).arg(source).status();
    if compiled.is_ok_and(|status| status.success()) {
        measure(&program, &mpi, pairs, busy);
    } else {
        println!("{}: skipped, it does not compile an MPI program here", compiler.display());
    }
    std::fs::remove_dir_all(folder).expect("the temporary folder");
}

fn measure(program: &Program, mpi: &str, pairs: usize, busy: usize) {
    let before = PathBuf::from(variable("BEFORE", ""));
    let tracers = [("traced", binaries::tracer()), ("traced, before", before)];
    let tracers: Vec<_> = tracers.into_iter().filter(|(_, tracer)| tracer.exists()).collect();
    let mut untraced: Vec<Times> = Vec::new();
    let mut traced: Vec<Vec<Times>> = vec![Vec::new(); tracers.len()];
    let load_before = load();
    let busy_ones = Busy::start(busy);
    for _ in 0..pairs {
        untraced.push(program.run(None));
        traced.iter_mut().zip(&tracers).for_each(|(times, (_, tracer))| times.push(program.run(Some(tracer))));
    }
    drop(busy_ones);
    println!("{mpi}, {} ranks, {busy} busy processes, load {load_before} before and {} after\n", program.ranks, load());
    println!("| {pairs} pairs, ms | run | MPI_Init | MPI_Finalize |\n|---|--:|--:|--:|");
    let row = |name: &str, value: &dyn Fn(usize) -> f64| {
        println!("| {name} | {:.1} | {:.1} | {:.1} |", value(0), value(1), value(2));
    };
    let of = |times: &[Times], place: usize| median(times.iter().map(|times| times[place]).collect());
    row("untraced", &|place| of(&untraced, place));
    for ((name, _), times) in tracers.iter().zip(&traced) {
        row(name, &|place| of(times, place));
        let differences = |place: usize| times.iter().zip(&untraced).map(move |(one, other)| one[place] - other[place]);
        row(&format!("{name}: added, median"), &|place| median(differences(place).collect()));
        row(&format!("{name}: added, most"), &|place| differences(place).fold(f64::MIN, f64::max));
    }
}
