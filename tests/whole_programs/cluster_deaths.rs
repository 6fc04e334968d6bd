//! Jobs on three virtual nodes that end at random moments, in MPI_Init, while they run and in each step of the end:
//! each rank that left anything on its node is in the one trace that the nodes recover, or in a trace that ranks wrote,
//! with each call that had returned. See tests/cluster/deaths.sh.
//!
//! A test tries each kind of end once, or `TESTS_SOAK` ends at random: `tests/run.sh --soak deaths`.

use crate::cluster::{over_at, run_on, script, srun, test, words};
use crate::support::soak::{self, Soak, Table};
use crate::support::truth::{self, Compared, Recorded, Truth};
use crate::support::{Case, Test, Trace, binaries, build};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, iter};

pub const TESTS: &[Test] = &[
    test("under_srun_lose_no_rank", |case| deaths(case, Launcher::Srun)).second_tier(),
    test("without_a_batch_system_lose_no_rank", |case| deaths(case, Launcher::Own)).second_tier(),
    test("while_the_trace_is_written_lose_no_rank", |case| deaths(case, Launcher::Written)).second_tier(),
];

const RANKS: usize = 6;
/// The ranks of n3, which one end takes with it.
const DEAD: [u64; 2] = [4, 5];
/// What a try may take, beside other load.
const TRY: Duration = Duration::from_secs(120);

/// A kind of end: its name in the table, and the words SENDER and HOW of a plan.
struct End {
    name: &'static str,
    sender: &'static str,
    how: &'static str,
}

const fn end(name: &'static str, sender: &'static str, how: &'static str) -> End {
    End { name, sender, how }
}

const ENDS: [End; 12] = [
    end("SIGKILL of one rank", "rank", "kill"),
    end("SIGKILL of one rank in MPI_Finalize", "rank", "killed-in-finalize"),
    end("SIGSEGV", "rank", "segv"),
    end("abort()", "rank", "sigabrt"),
    end("exit without MPI_Finalize", "rank", "exit"),
    end("exit of one rank, the others in MPI_Finalize", "rank", "finalize"),
    end("MPI_Abort", "rank", "abort"),
    end("SIGKILL of all ranks, from the start on", "ranks", "none"),
    end("SIGKILL of the ranks of a node, from the start on", "node", "none"),
    end("SIGKILL of the launcher, from the start on", "launcher", "none"),
    end("SIGTERM to the launcher, from the start on", "terminate", "none"),
    end("scancel, from the start on", "cancel", "none"),
];

/// The last of each plan: the cluster has a node less then.
const POWER: End = end("death of a node", "power", "none");

/// Of dies_at.c: where a rank gives or takes the descriptor of the trace, writes, synchronises it or gives it its name.
const STEPS: [End; 5] = [
    end("SIGKILL of a rank where it gives the descriptor", "give", "at-step"),
    end("SIGKILL of a rank where it takes the descriptor", "take", "at-step"),
    end("SIGKILL of a rank where it writes", "write", "at-step"),
    end("SIGKILL of a rank where it synchronises the trace", "sync", "at-step"),
    end("SIGKILL of a rank where it publishes the trace", "publish", "at-step"),
];

#[derive(Clone, Copy, PartialEq)]
enum Launcher {
    Srun,
    Own,
    /// The library's own, and the ends of `STEPS`.
    Written,
}

/// A file of a rank on a node, as `recover --list --json` has it.
#[derive(Deserialize, Debug)]
struct Left {
    rank: Option<u64>,
    problem: Option<String>,
}

/// A line of the plan.
struct Try {
    end: &'static End,
    folder: PathBuf,
    line: String,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    tries: u64,
    /// Ranks that left something, and those of them that are in no trace.
    left: u64,
    missing: u64,
    compared: Compared,
    recovered: u64,
}

impl soak::Sums for Sums {
    fn add(&mut self, more: &Sums) {
        self.tries += more.tries;
        self.left += more.left;
        self.missing += more.missing;
        self.compared.returned += more.compared.returned;
        self.compared.lost += more.compared.lost;
        self.recovered += more.recovered;
    }

    fn cells(&self) -> Vec<String> {
        let Sums { tries, left, missing, compared: Compared { returned, lost, .. }, recovered } = self;
        [tries, left, missing, returned, lost, recovered].map(u64::to_string).into()
    }
}

static SOAK: Soak<Sums> = Soak::new();

fn deaths(case: &Case, launcher: Launcher) {
    let tries = plan(case, launcher);
    let lines: String = tries.iter().map(|planned| format!("{}\n", planned.line)).collect();
    let plan = case.folder.join("plan");
    fs::write(&plan, lines).expect("the plan");
    let before: Vec<OsString> = vec![script("deaths.sh").into(), binaries::companion().into(), plan.into()];
    let command = if launcher == Launcher::Srun { srun(case, &[]) } else { over_at(case) };
    let mut launch = case.launch(RANKS as u32, "returned.c").within(TRY * tries.len() as u32);
    if launcher == Launcher::Written {
        launch = launch.preload(build::shared_library(case.mpi, "dies_at.c"));
    }
    // Ranks that wait let others have the processor.
    launch = launch.set("OMPI_MCA_mpi_yield_when_idle", "1").set("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1");
    launch = launch.set("MPIR_CVAR_POLLS_BEFORE_YIELD", "1").set("I_MPI_THREAD_YIELD", "2");
    launch = launch.behind(&words(&["sh", "-c", ". \"$2/settings\"; exec \"$@\"", "sh"])).trace();
    let outcome = run_on(case, &[], &[before, command].concat(), launch);
    assert_eq!(outcome.code, 0, "{}{}", outcome.stdout, outcome.stderr);
    let failures: Vec<String> = tries.iter().filter_map(|planned| checked(case, planned).err()).collect();
    assert!(failures.is_empty(), "{} of {} tries:\n{}", failures.len(), tries.len(), failures.join("\n"));
}

/// Each end once, or as many as a soak asks for, and then the death of a node.
fn plan(case: &Case, launcher: Launcher) -> Vec<Try> {
    let ends: Vec<&'static End> = match launcher {
        Launcher::Srun => ENDS.iter().collect(),
        Launcher::Own => ENDS.iter().filter(|end| end.sender != "cancel").collect(),
        Launcher::Written => STEPS.iter().collect(),
    };
    let drawn: Vec<&'static End> = match soak::tries() {
        Some(number) if launcher != Launcher::Written => (1..number).map(|_| ends[random(ends.len())]).collect(),
        Some(number) => ends.iter().copied().cycle().take(number).collect(),
        None => ends,
    };
    let last = (launcher != Launcher::Written).then_some(&POWER);
    drawn.into_iter().chain(last).enumerate().map(|(number, end)| Try::new(case, end, number)).collect()
}

/// A number below this one: keys differ from one state to the next.
fn random(below: usize) -> usize {
    (RandomState::new().hash_one(below) >> 20) as usize % below
}

/// As likely between 10 and 100 as between 1000 and 10 000, up to 10 to the power of this.
fn spread(decades: f64) -> u64 {
    10_f64.powf(random(10_000) as f64 / 10_000.0 * decades) as u64
}

impl Try {
    fn new(case: &Case, end: &'static End, number: usize) -> Self {
        let folder = case.folder.join(format!("try{number}"));
        let mut variables = format!("MPITRACE_OUTPUT={}", folder.join("a.mpitrace").display());
        // So few that chunks are packed and refilled again and again.
        if number % 2 == 1 {
            variables += ",MPITRACE_CAPACITY=256";
        }
        let (mut rank, calls, us) = (random(RANKS), spread(3.0), 10 * spread(4.5));
        // Of jobs that are ended from outside: from MPI_Init on, which takes up to some seconds on a busy machine.
        let (sender, how, delay_ms) = match end.how {
            "none" => (end.sender, "none", random(5000)),
            "at-step" => {
                variables += &format!(",DIES_AT={},DIES_ONCE={}", end.sender, folder.join("once").display());
                variables += &format!(",DIES_BELOW={}", folder.display());
                // Of a rank that there is not: all come to MPI_Finalize.
                rank = RANKS;
                ("rank", "finalize", 0)
            }
            how => (end.sender, how, 0),
        };
        let delay = delay_ms as f64 / 1000.0;
        let line = format!("{} {sender} {delay} {variables} {how} {rank} {calls} {us}", folder.display());
        Self { end, folder, line }
    }

    /// Why this try failed, with what was said.
    fn failed(&self, why: &str) -> String {
        let said = |name: &str| fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        let recovered = ["recover.n1", "recover.n2", "recover.n3"].map(said).concat();
        format!("{}: {why}\n{recovered}{}", self.line, said("said"))
    }

    /// The ranks of nodes that live of which something was left.
    fn left(&self) -> Result<BTreeSet<u64>, String> {
        let mut ranks = BTreeSet::new();
        for node in ["n1", "n2", "n3"] {
            let Ok(text) = fs::read_to_string(self.folder.join(format!("left.{node}"))) else { continue };
            let Ok(listed) = serde_json::from_str::<serde_json::Value>(&text) else { continue };
            let rows: Vec<Left> = serde_json::from_value(listed["rows"].clone())
                .map_err(|error| self.failed(&format!("{error} in {text}")))?;
            if let Some(row) = rows.iter().find(|row| row.problem.is_some() && row.rank.is_some()) {
                return Err(self.failed(&format!("{row:?}")));
            }
            ranks.extend(rows.iter().filter_map(|row| row.rank));
        }
        Ok(ranks)
    }
}

/// The traces in a folder.
fn traces(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "mpitrace")).collect()
}

/// Compares what a try left with its traces, and adds it to the table; the error says what is missing.
fn checked(case: &Case, planned: &Try) -> Result<(), String> {
    let left = planned.left()?;
    let traces = traces(&planned.folder);
    let named = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("recovered"));
    let recovered = traces.iter().filter(|path| named(path)).count();
    let (mut found, mut best) = (BTreeSet::new(), [Recorded::default(); RANKS]);
    for path in &traces {
        let trace = Trace::new(path.clone());
        found.extend(trace.info().hosts.into_values().flatten());
        // A rank that was killed where its trace was whole may be in two.
        for (best, recorded) in iter::zip(&mut best, truth::recorded(&trace, &[], RANKS)) {
            iter::zip(best, recorded).for_each(|(best, recorded)| *best = recorded.max(*best));
        }
    }
    let lives = |rank: &u64| planned.end.sender != "power" || !DEAD.contains(rank);
    let truths: Vec<(u64, Truth)> =
        (0..RANKS as u64).filter_map(|rank| Some((rank, Truth::of_rank(&planned.folder, rank as u32)?))).collect();
    let expected: BTreeSet<u64> = truths.iter().map(|(rank, _)| *rank).filter(lives).chain(left.clone()).collect();
    let mut compared = Compared::default();
    for (rank, truth) in truths.iter().filter(|(rank, _)| lives(rank)) {
        compared.add(truth, &best[*rank as usize]);
    }
    let more = Sums {
        tries: 1,
        left: expected.len() as u64,
        missing: expected.difference(&found).count() as u64,
        compared,
        recovered: u64::from(recovered > 0),
    };
    SOAK.add(case, planned.end.name, &more);
    if more.missing > 0 {
        return Err(planned.failed(&format!("{expected:?} left something, and of {found:?} there is a trace")));
    }
    if compared.lost > 0 || compared.invented > 0 {
        return Err(planned.failed(&format!("{compared:?} of {truths:?}")));
    }
    if recovered > 1 {
        return Err(planned.failed(&format!("the nodes have made {recovered} traces of one job")));
    }
    if planned.end.how == "at-step" && !planned.folder.join("once").exists() {
        return Err(planned.failed("no rank was killed"));
    }
    let _ = fs::remove_dir_all(&planned.folder);
    Ok(())
}

/// In a soak, a table below that of the deaths on one node, into target/tests/deaths.md.
pub fn write_table() {
    let left = ["ranks that left something", "in no trace"];
    SOAK.write(&Table {
        file: "deaths.md",
        below: true,
        how: format!("{RANKS} ranks on 3 virtual nodes"),
        columns: &["end", "tries", left[0], left[1], "calls that had returned", "lost", "recovered"],
        kinds: ENDS.iter().chain([&POWER]).chain(&STEPS).map(|end| end.name).collect(),
        of_all: true,
    });
}
