//! Interruptions of a rank by the operating system, against the program's own numbers.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::trace::DumpRow;
use crate::support::{Case, Test};
use mpitrace_format::layout::*;
use mpitrace_trace::reader::{Part, Trace};

pub const TESTS: &[Test] = &[
    Test::new("a_processor_hog_is_seen_as_often_as_the_kernel_counts", hog),
    Test::new("a_sleeping_rank_is_seen_before_its_calls", sleep),
    Test::new("a_sleep_inside_a_call_is_seen_in_it", inside),
    Test::new("a_quota_is_seen_as_one", quota).where_permitted(|| Group::new("try").map(drop)),
    Test::new("a_migration_is_seen_with_both_processors", migrate),
    Test::new("switched_off_nothing_is_seen", off),
    Test::new("a_call_of_seconds_has_its_exit", long).second_tier(),
];

/// The numbers of rank 1: context switches, ns off the processor, moves.
struct Witness {
    switches: u64,
    off_ns: f64,
    moves: usize,
}

/// The program's trace under this setting, and what it knows.
fn run(case: &Case, what: &str, setting: &str) -> (Trace, Witness) {
    let file = case.folder.join(format!("witness-{setting}"));
    let plain = case.launch(2, "interrupted.c").arg(what).arg("/dev/null").run();
    let traced = case.launch(2, "interrupted.c").arg(what).arg(&file).set("MPITRACE_INTERRUPTIONS", setting);
    let traced = traced.trace().run();
    traced.same_as(&plain);
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    let text = fs::read_to_string(&file).expect("what the program knows");
    let numbers: Vec<f64> = text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    let [switches, off_ns, moves] = numbers[..] else { panic!("{text}") };
    let trace = Trace::open(&[&traced.trace.path]).expect("a trace");
    (trace, Witness { switches: switches as u64, off_ns, moves: moves as usize })
}

/// How the first thread of rank 1 is watched.
fn mechanism_of(trace: &Trace) -> u16 {
    trace.parts[1].threads()[0].interruptions_by
}

/// The settings under which the mechanism that they name works here, with the mechanism.
const MECHANISMS: [(&str, u16); 2] = [("page", interruptions_by::EVENT_PAGE), ("rseq", interruptions_by::RSEQ)];

/// Interruptions behind the first record of rank 1 and up to its last, between which lies the program's own count.
fn behind_the_first(part: &Part) -> Vec<InterruptionEntry> {
    part.interruptions().iter().filter(|entry| (1..NO_RECORD).contains(&entry.record)).copied().collect()
}

fn hog(case: &Case) {
    for (setting, mechanism) in MECHANISMS {
        let (trace, witness) = run(case, "hog", setting);
        if mechanism_of(&trace) != mechanism {
            continue;
        }
        let part = &trace.parts[1];
        let seen = behind_the_first(part);
        let off_ns: u64 = seen.iter().map(|entry| entry.off_ns).sum();
        let error_ns: u64 = seen.iter().map(|entry| entry.error_ns).sum();
        assert!(witness.switches >= 4, "the hog took no turns: {}", witness.switches);
        assert_eq!(part.threads()[0].unlisted, 0);
        let (seen_ns, known_ns) = (off_ns as f64, witness.off_ns);
        // The first one and the last one may lie partly outside of the program's own readings.
        let edges = 2.0 * seen.iter().map(|entry| entry.off_ns).max().unwrap_or(0) as f64;
        assert!(
            seen_ns <= known_ns + error_ns as f64 + edges,
            "{setting}: {seen_ns} ns seen, {known_ns} known, {error_ns}"
        );
        // What a hypervisor takes is time off the processor to the program alone.
        assert!(seen_ns >= 0.8 * known_ns - error_ns as f64, "{setting}: {seen_ns} ns seen of {known_ns}");
        if mechanism == interruptions_by::EVENT_PAGE {
            // One may fall between a call's look and the program's count, at each end.
            let switches: u64 = seen.iter().map(|entry| u64::from(entry.switches)).sum();
            assert!(switches.abs_diff(witness.switches) <= 2, "{switches} seen, {} counted", witness.switches);
        }
        // It did not sleep; the kernel's own threads may have made it wait for a lock.
        let involuntary: u64 = seen.iter().filter(|entry| entry.voluntary == 0).map(|entry| entry.off_ns).sum();
        assert!(10 * involuntary >= 9 * off_ns, "{setting}: {involuntary} of {off_ns} ns without a voluntary switch");
        check_flags(part);
    }
}

/// A call is marked where it has an entry, and nowhere else.
fn check_flags(part: &Part) {
    for (record, operation) in (0u32..).zip(part.blocks().flat_map(|block| block.operation())) {
        let entries = part.interruptions_of(record);
        let is_between = |entry: &InterruptionEntry| entry.flags & interruption_flags::BETWEEN != 0;
        let expected = [entries.iter().any(|entry| !is_between(entry)), entries.iter().any(is_between)];
        assert_eq!([INTERRUPTED, INTERRUPTED_BEFORE].map(|flag| operation & flag != 0), expected, "record {record}");
    }
}

fn sleep(case: &Case) {
    for (setting, mechanism) in MECHANISMS {
        let (trace, _) = run(case, "sleep", setting);
        if mechanism_of(&trace) != mechanism {
            continue;
        }
        let part = &trace.parts[1];
        check_flags(part);
        for record in 1..=10 {
            let entries = part.interruptions_of(record);
            let before: u64 = entries
                .iter()
                .filter(|entry| entry.flags & interruption_flags::BETWEEN != 0)
                .map(|entry| entry.off_ns + entry.error_ns)
                .sum();
            assert!(before >= 20_000_000, "{setting}, record {record}: {entries:?}");
            assert!(entries.iter().any(|entry| entry.voluntary > 0), "{setting}, record {record}: {entries:?}");
            assert!(entries.iter().all(|entry| entry.flags & interruption_flags::REASON != 0), "{entries:?}");
        }
    }
}

fn inside(case: &Case) {
    for (setting, mechanism) in MECHANISMS {
        let (trace, _) = run(case, "inside", setting);
        if mechanism_of(&trace) != mechanism {
            continue;
        }
        // Which rank reduces is the library's choice; one does in each call.
        let slept = trace.parts.iter().map(|part| {
            check_flags(part);
            let in_call = |entry: &&InterruptionEntry| entry.flags & interruption_flags::BETWEEN == 0;
            let long = |entry: &&InterruptionEntry| entry.off_ns + entry.error_ns >= 5_000_000;
            part.interruptions().iter().filter(in_call).filter(long).count()
        });
        let slept: usize = slept.sum();
        assert!(slept >= 10, "{setting}: {slept} sleeps were seen");
    }
}

/// A control group with a quota that is more than any machine of the tests has.
pub struct Group(pub PathBuf);

impl Group {
    pub fn new(name: &str) -> Result<Group, String> {
        let top = Path::new("/sys/fs/cgroup");
        let version_1 = top.join("cpu/cpu.cfs_quota_us").exists();
        let folder = if version_1 { top.join("cpu") } else { top.to_owned() };
        let group = Group(folder.join(format!("mpitrace-{}-{name}", std::process::id())));
        let made = fs::create_dir(&group.0).and_then(|()| match version_1 {
            true => fs::write(group.0.join("cpu.cfs_quota_us"), "10000000"),
            false => fs::write(group.0.join("cpu.max"), "10000000 100000"),
        });
        made.map(|()| group).map_err(|error| format!("no control group with a quota can be made: {error}"))
    }
}

impl Group {
    /// For how long the kernel has held its processes for their quota, ns.
    fn throttled_ns(&self) -> u64 {
        let stat = fs::read_to_string(self.0.join("cpu.stat")).expect("the state of a control group");
        let value =
            |name: &str| -> Option<u64> { stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()) };
        value("throttled_usec ").map(|us| 1000 * us).or_else(|| value("throttled_time ")).expect("a time")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

fn quota(case: &Case) {
    let group = Group::new(case.mpi.name).expect("a group");
    for (setting, mechanism) in MECHANISMS {
        let launch = case.launch(2, "interrupted.c").arg("quota").arg("/dev/null").arg(&group.0);
        let before = group.throttled_ns();
        let traced = launch.set("MPITRACE_INTERRUPTIONS", setting).trace().run();
        assert_eq!(traced.code, 0, "{}", traced.stderr);
        let trace = Trace::open(&[&traced.trace.path]).expect("a trace");
        if mechanism_of(&trace) != mechanism {
            continue;
        }
        let seen = behind_the_first(&trace.parts[1]);
        let off_ns: u64 = seen.iter().map(|entry| entry.off_ns).sum();
        let throttled_ns: u64 = seen.iter().map(|entry| entry.throttled_ns).sum();
        assert!(off_ns >= 500_000_000, "the quota held no rank: {off_ns}");
        assert!(seen.iter().all(|entry| entry.throttled_ns <= entry.off_ns));
        // Other processes take the processor too: of a rank that gets less than its quota the kernel holds nothing.
        let due_ns = off_ns.min(group.throttled_ns() - before);
        assert!(2 * throttled_ns >= due_ns, "{setting}: {throttled_ns} of {off_ns} ns, {due_ns} due to the quota");
    }
}

fn migrate(case: &Case) {
    for (setting, mechanism) in MECHANISMS {
        let (trace, witness) = run(case, "migrate", setting);
        if mechanism_of(&trace) != mechanism {
            continue;
        }
        let part = &trace.parts[1];
        check_flags(part);
        let moved = |entry: &&InterruptionEntry| entry.processor_before != entry.processor_after;
        let seen = behind_the_first(part);
        let moves = seen.iter().filter(moved).filter(|entry| entry.flags & interruption_flags::BETWEEN != 0).count();
        assert!(moves >= witness.moves, "{setting}: {moves} moves seen of {}: {seen:?}", witness.moves);
        // The processors follow each other.
        let all = part.interruptions();
        assert!(all.windows(2).all(|pair| pair[0].processor_after == pair[1].processor_before), "{all:?}");
    }
}

fn off(case: &Case) {
    let (trace, _) = run(case, "sleep", "0");
    assert_eq!(mechanism_of(&trace), interruptions_by::OFF);
    for part in &trace.parts {
        assert_eq!(part.interruptions(), []);
        assert_eq!(part.flagged([INTERRUPTED, INTERRUPTED_BEFORE]), [0, 0]);
    }
}

/// Its ticks do not fit into 32 bits on a machine of 1.5 GHz and more.
fn long(case: &Case) {
    {
        let traced = case.launch(2, "interrupted.c").arg("long").trace().run();
        let rows = traced.trace.dump(&["--rank", "0"]);
        let of_world: Vec<_> = rows.iter().filter(|row| row.communicator == "MPI_COMM_WORLD").collect();
        let took = |row: &DumpRow| row.exit_ns.expect("an exit") - row.enter_ns;
        assert_eq!(of_world.len(), 10);
        assert!(took(of_world[0]) > 2.9e9, "{:?}", of_world[0]);
        assert!(of_world.windows(2).all(|pair| pair[0].exit_ns.expect("an exit") <= pair[1].enter_ns), "{rows:?}");
    }
}
