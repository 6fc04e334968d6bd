//! Settings of a whole machine, which tests change in the emulated machine of tests/machine/ only: which
//! users may use the PMU, and how. That machine's PMU counts instructions and cycles, and nothing else.

use crate::processor_counters::{MOCK, SLACK, TURNS, assert_exact, excess, on_mock, run};
use crate::support::{Case, On, Outcome, Test, binaries};
use serde_json::Value;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

pub const TESTS: &[Test] = &[
    Test::new("reads_the_same_with_system_calls_and_without", access).on(MOCK).where_permitted(emulated),
    Test::new("has_cycles_in_step_with_instructions", cycles).on(MOCK).where_permitted(emulated),
    Test::new("names_events_that_it_lacks_and_counts_the_others", lacking).on(MOCK).where_permitted(emulated),
    Test::new("has_fewer_counters_than_are_asked_for", too_many).on(MOCK).where_permitted(emulated),
    Test::new("shares_its_counters_and_marks_what_is_scaled", shared).on(MOCK).where_permitted(emulated),
    Test::new("obeys_perf_event_paranoid_and_says_so", paranoid).on(MOCK).where_permitted(emulated),
    Test::new("has_a_system_counter_that_both_ranks_read", system_counter)
        .on(On::Only(&["ompi4", "mpich4"]))
        .where_permitted(emulated),
    Test::new("is_described_by_doctor", doctor).on(On::Any).where_permitted(emulated),
];

const USER_ACCESS: &str = "/proc/sys/kernel/perf_user_access";
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// tests/machine/ sets the variable.
pub fn emulated() -> Result<(), String> {
    let given = env::var_os("TESTS_MACHINE").is_some();
    given.then_some(()).ok_or_else(|| "changes settings of the machine: see tests/machine/run.sh".to_owned())
}

/// A setting of the kernel, changed until this is dropped.
struct Setting {
    path: &'static str,
    before: String,
}

impl Setting {
    fn change(path: &'static str) -> Self {
        Self { path, before: fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}")) }
    }

    fn to(&self, value: i32) {
        fs::write(self.path, value.to_string()).unwrap_or_else(|error| panic!("{} to {value}: {error}", self.path));
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        let _ = fs::write(self.path, self.before.trim());
    }
}

fn access(case: &Case) {
    let access = Setting::change(USER_ACCESS);
    let counted = [0, 1].map(|allowed| {
        access.to(allowed);
        assert_exact(&run(on_mock(case, "instructions,cycles", TURNS)), "instructions")
    });
    assert!(counted[0].abs_diff(counted[1]) <= SLACK, "by read and from user space: {counted:?}");
}

/// The emulator lets each instruction take 2 ns, and its cycles are 1 ns.
fn cycles(case: &Case) {
    let rows = run(on_mock(case, "instructions,cycles", TURNS)).trace.dump(&[]);
    let (cycles, instructions) = excess(&rows, 0, "cycles", TURNS);
    assert!(cycles.abs_diff(2 * instructions) <= 2 * SLACK, "{cycles} cycles of {instructions} instructions");
}

fn lacking(case: &Case) {
    let missing = ["cache-misses", "L1-dcache-load-misses", "branch-misses"];
    let outcome = run(on_mock(case, &format!("{},instructions,page-faults", missing.join(",")), TURNS));
    let info = outcome.trace.info();
    for name in missing {
        let reason = info.counters_limited.get(name).unwrap_or_else(|| panic!("{name} counts: {info:?}"));
        assert!(reason.contains("this machine has no such counter"), "{name}: {reason}");
        assert_eq!(outcome.lines_with(&format!("{name} is left out")).len(), 1, "{}", outcome.stderr);
    }
    assert!(info.counters.starts_with(&["instructions".to_owned(), "page-faults".to_owned()]), "{info:?}");
    assert_exact(&outcome, "instructions");
}

/// Six of the same kind, which differ by whom they count, and the counter for cycles are what it has.
fn too_many(case: &Case) {
    // Instructions retired and cycles by their raw codes, with the program, the kernel and both: all count something
    // else.
    let events = ["instructions", "r8:u", "r8:k", "r11:u", "r11:k", "r8", "instructions:u", "instructions:k", "r11"];
    let outcome = run(on_mock(case, &events.join(","), TURNS));
    let info = outcome.trace.info();
    let counted: Vec<&str> = events.into_iter().filter(|name| info.counters.iter().any(|c| c == name)).collect();
    assert!((2..events.len()).contains(&counted.len()), "{info:?}");
    for name in events.iter().filter(|name| !counted.contains(name)) {
        let reason = info.counters_limited.get(*name).unwrap_or_else(|| panic!("{name} is missing: {info:?}"));
        // The kernel opens one more than there are counters for, and never lets such a group count.
        let refused = ["cannot count it together with the", "the events never count"];
        assert!(refused.iter().any(|text| reason.contains(text)), "{name}: {reason}");
    }
    assert_eq!(info.counters_scaled, Vec::<String>::new());
    assert_exact(&outcome, "instructions");
    if counted.contains(&"r8:u") {
        assert_exact(&outcome, "r8:u");
    }
}

/// `perf stat` counts the same thread on the same counters by more events than there are, and the kernel takes turns.
fn shared(case: &Case) {
    // 22 ms a call, where the kernel takes turns every 4 ms.
    const TURNS: u64 = 500_000;
    let others = ["r8:u"; 10].join(",");
    let words = ["perf", "stat", "-e", &others].map(Into::into);
    let outcome = run(on_mock(case, "instructions:u", TURNS).arg("40").behind(&words));
    let info = outcome.trace.info();
    assert_eq!(info.counters_scaled, ["instructions:u"], "{info:?}");
    let rows = outcome.trace.dump(&[]);
    let of_loop = (11 * TURNS * 2) as f64;
    let values: Vec<f64> = rows
        .iter()
        .filter(|row| row.function == "MPI_Allreduce" && row.bytes == 88)
        .filter_map(|row| row.counters.get("instructions:u").copied().flatten())
        .map(|value| value as f64 / of_loop)
        .collect();
    // A call in which the event never had a counter has no value. The others are estimates of what is the same each
    // time.
    assert!(values.len() > 20, "{values:?}");
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    assert!((0.9..1.1).contains(&mean) && values.iter().all(|value| (0.5..2.0).contains(value)), "{mean}: {values:?}");
}

/// A program without rights, by each level of the setting.
fn paranoid(case: &Case) {
    let setting = Setting::change(PARANOID);
    for folder in [&case.folder, &case.segments.0] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).expect("the folder is ours");
    }
    let words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"].map(Into::into);
    let unprivileged = |level: i32| -> Outcome {
        setting.to(level);
        run(on_mock(case, "instructions,context-switches", TURNS).behind(&words))
    };
    let strict = unprivileged(3).trace.info();
    assert!(strict.counters_limited["instructions"].contains("is 3 here and must be 2 or less"), "{strict:?}");
    assert!(strict.counters_limited["context-switches"].contains("is 3 here and must be 1 or less"), "{strict:?}");
    let program_only = unprivileged(2);
    let info = program_only.trace.info();
    assert!(info.counters_limited["instructions"].contains("counts the program and not the kernel"), "{info:?}");
    assert!(info.counters_limited["context-switches"].contains("is 2 here and must be 1 or less"), "{info:?}");
    assert_exact(&program_only, "instructions");
    for level in [1, 0, -1] {
        let outcome = unprivileged(level);
        let info = outcome.trace.info();
        assert!(info.counters_limited.is_empty(), "level {level}: {info:?}");
        assert!(["instructions", "context-switches"].iter().all(|name| info.counters.iter().any(|c| c == name)));
        assert_exact(&outcome, "instructions");
    }
}

/// Time stamps are of cntvct_el0, at the rate of cntfrq_el0, and one clock to all ranks.
fn system_counter(case: &Case) {
    const CALLS: u64 = 200;
    let outcome = case.launch(2, "ticking.c").arg(CALLS.to_string()).trace().run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let counter = outcome.trace.info().clock;
    assert_eq!(counter.source.as_deref(), Some("cntvct"));
    let (hz, stated) = (counter.frequency_hz.expect("a rate"), frequency_register());
    assert!((hz / stated - 1.0).abs() < 1e-3, "{hz} Hz, and {stated} Hz by the register");
    let (code, clock) = outcome.trace.clock();
    assert_eq!((code, clock.domains.as_slice()), (0, &[vec![0, 1]][..]), "{clock:?}");
    assert!(clock.error_ns.max.is_some_and(|error| error > 0.0), "{clock:?}");
    assert!(clock.causality.checked > 0 && clock.causality.violated == 0, "{clock:?}");
    // A millisecond or more lies between two calls of a rank.
    let rows = outcome.trace.dump(&[]);
    for rank in 0..2 {
        let calls = rows.iter().filter(|row| row.rank == rank && row.function == "MPI_Allreduce");
        let mut enters: Vec<f64> = calls.map(|row| row.enter_ns).collect();
        enters.sort_by(f64::total_cmp);
        assert_eq!(enters.len() as u64, CALLS);
        assert!(enters.windows(2).all(|pair| pair[1] - pair[0] >= 0.999e6), "rank {rank}: {enters:?}");
    }
}

/// Ticks of the system counter per second.
#[cfg(target_arch = "aarch64")]
fn frequency_register() -> f64 {
    let hz: u64;
    // SAFETY: reads a register that user space may read.
    unsafe { core::arch::asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nostack, nomem)) };
    hz as f64
}

#[cfg(not(target_arch = "aarch64"))]
fn frequency_register() -> f64 {
    unreachable!("the emulated machine is an arm64 one")
}

fn doctor(_: &Case) {
    let told = Command::new(binaries::companion()).args(["doctor", "--json"]).output().expect("it starts");
    let facts: Value = serde_json::from_slice(&told.stdout).unwrap_or_else(|error| panic!("{error}: {told:?}"));
    let works = |name: &str| {
        let events = facts["counters"]["events"].as_array().expect("a list");
        let event = events.iter().find(|event| event["name"] == name).unwrap_or_else(|| panic!("no {name}: {facts}"));
        event["works"].as_bool().expect("whether it works")
    };
    assert!(works("instructions") && works("cycles") && works("page-faults"), "{facts}");
    assert!(!works("cache-misses") && !works("branch-misses"), "{facts}");
    let clock = facts["clock"].to_string();
    assert!(clock.contains("cntvct"), "{clock}");
}
