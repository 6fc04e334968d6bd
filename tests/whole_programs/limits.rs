//! Refusals of a system: room for files, memory, descriptors, perf events. The program's results and exit code stay,
//! and one line of one rank says what is lost and why.
//!
//! Folders that are missing, full or read-only are so in a mount namespace that the test makes for the job.

use crate::support::{Case, On, Outcome, Test, binaries, build};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

pub const TESTS: &[Test] = &[
    Test::new("on_the_size_of_files_keep_what_fits", file_size),
    Test::new("on_open_files_lose_nothing", open_files),
    Test::new("on_open_files_that_the_program_has_used_up_lose_nothing", no_descriptors),
    Test::new("on_address_space_leave_the_program_its_own", address_space),
    Test::new("on_data_end_the_recording_and_not_the_program", data).on(On::Only(&["ompi4", "mpich4"])),
    Test::new("of_the_tracer_s_memory_at_any_request_end_no_program", each_request)
        .on(On::Only(&["mpich5-abi"]))
        .second_tier(),
    Test::new("of_the_tracer_s_memory_end_no_rank", requests_of_ranks).second_tier(),
    Test::new("on_perf_events_by_seccomp_are_said", seccomp),
    Test::new("on_system_calls_by_seccomp_end_no_tracing", own_calls),
    Test::new("on_perf_events_by_paranoid_are_said", paranoid),
    Test::new("of_a_timer_every_300_us_lose_nothing", signals),
    mounted("on_live_records_are_said_by_the_rank_that_meets_them", half_way_of_one_rank),
    mounted("on_live_records_from_the_start_are_said", tiny_segments),
    mounted("on_live_records_leave_the_earlier_ones_to_recover", half_way_and_killed),
    mounted("on_live_records_leave_blocks_beside_the_trace_to_recover", small_and_killed),
    mounted("on_spilled_records_count_what_follows", full_spill),
    mounted("on_shared_memory_change_no_result", shared_memory),
    // MPICH 5 itself dies where /dev/shm has no more room than the tracer leaves to the library.
    mounted("on_every_folder_leave_records_in_private_memory", no_folder)
        .on(On::Only(&["mpich4", "ompi4", "ompi5", "impi", "impi-abi"])),
    mounted("on_a_full_output_folder_lose_nothing", full_output),
    mounted("on_a_read_only_output_folder_lose_nothing", read_only_output),
];

const fn mounted(name: &'static str, run: fn(&Case)) -> Test {
    Test::new(name, run).where_permitted(mounts_permitted)
}

/// Calls on each rank: their records take more than the first two steps in which memory is taken.
const CALLS: u64 = 50_000;
/// Records of two ranks, each of which makes [`CALLS`] and one call on the world.
const RECORDS: u64 = 2 * (CALLS + 1);

/// Shell commands before the job, in a mount namespace of its own. `$0` is the argument.
pub fn in_namespace(commands: &str, argument: &Path) -> Vec<OsString> {
    let script = format!("{commands} && exec \"$@\"");
    let mut words: Vec<OsString> = vec!["unshare".into(), "--mount".into()];
    // SAFETY: geteuid takes nothing and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        words.push("--map-root-user".into());
    }
    words.extend(["sh".into(), "-c".into(), script.into(), argument.into()]);
    words
}

pub fn mounts_permitted() -> Result<(), String> {
    let words = in_namespace("mount -t tmpfs none \"$0\"", Path::new("/mnt"));
    let tried = Command::new(&words[0]).args(&words[1..]).arg("true").output();
    match tried {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err("no mount namespaces may be made here".to_owned()),
    }
}

/// A folder of the test that is a file system of this size in the namespace.
fn small(case: &Case, size: &str) -> (Vec<OsString>, std::path::PathBuf) {
    let folder = case.folder.join("small");
    fs::create_dir_all(&folder).expect("a folder");
    (in_namespace(&format!("mount -t tmpfs -o size={size} none \"$0\""), &folder), folder)
}

/// Exactly one line with this text, and none but it and those with one of `others`.
#[track_caller]
fn assert_said(outcome: &Outcome, text: &str, others: &[&str]) {
    assert_eq!(outcome.lines_with(text).len(), 1, "one line with `{text}`:\n{}", outcome.stderr);
    let more = outcome.lines_with("mpitrace: ").into_iter();
    let more: Vec<_> = more.filter(|line| !line.contains(text) && !others.iter().any(|o| line.contains(o))).collect();
    assert!(more.is_empty(), "{more:#?}");
}

const ROOM: &str = "no room left for the trace buffer";
const WRITTEN: &str = "traced into";
const NOT_WRITTEN: &str = "cannot write";
const LOST: &str = "except those in private memory, which are lost";

/// From MPI_Init on. Beyond the limit the kernel sends SIGXFSZ, which ends a program.
fn file_size(case: &Case) {
    let launch = |limit: u64| {
        let launch = case.launch(2, "fills.c").arg(CALLS.to_string()).arg("-1");
        launch.arg("fsize").arg(limit.to_string())
    };
    let plain = launch(0).run();
    assert_eq!(plain.code, 0, "{}", plain.stderr);
    for limit in [0, 4096] {
        let traced = launch(limit).trace().run();
        traced.same_as(&plain);
        assert_said(&traced, ROOM, &[NOT_WRITTEN]);
        assert_said(&traced, NOT_WRITTEN, &[ROOM]);
        assert_eq!(traced.lines_with(LOST).len(), 1, "at {limit} bytes\n{}", traced.stderr);
        let records = case.recover().info().records;
        assert!((2..RECORDS).contains(&records), "{records} records were made before the limit of {limit} bytes");
        case.segments.empty();
    }
    // Below what the arrays take, 1.2 MB a rank at 24 bytes a record, packed blocks still fit: 1 to 2 bytes a record,
    // by how much the calls' times differ.
    for limit in [400_000, 20_000_000] {
        let traced = launch(limit).trace().run();
        traced.same_as(&plain);
        assert_said(&traced, WRITTEN, &[ROOM]);
        assert_eq!(traced.trace.info().records, RECORDS);
    }
}

fn open_files(case: &Case) {
    let shell = ["sh", "-c", "ulimit -n 64 && exec \"$@\"", "sh"].map(OsString::from);
    let launch = || case.launch(2, "fills.c").arg("1000").arg("-1").behind(&shell);
    let plain = launch().run();
    assert_eq!(plain.code, 0, "{}", plain.stderr);
    let traced = launch().set("MPITRACE_EVENTS", "task-clock,page-faults").trace().run();
    traced.same_as(&plain);
    assert_eq!(traced.trace.info().records, 2002, "{}", traced.stderr);
}

/// From some moment on the program holds all descriptors that it may have: the trace, and where the records do not all
/// fit into memory their block file, is written by one that was kept for it.
fn no_descriptors(case: &Case) {
    let shell = ["sh", "-c", "ulimit -n 512 && exec \"$@\"", "sh"].map(OsString::from);
    for (when, capacity) in [("last", "0"), ("first", "4096")] {
        let launch = || {
            let launch = case.launch(2, "holds_descriptors.c").arg(when).arg("20000").behind(&shell);
            if capacity == "0" { launch } else { launch.set("MPITRACE_CAPACITY", capacity) }
        };
        let plain = launch().run();
        if plain.code != 0 {
            // The library needs one itself.
            continue;
        }
        let traced = launch().trace().run();
        traced.same_as(&plain);
        assert_said(&traced, WRITTEN, &[]);
        let info = traced.trace.info();
        assert_eq!((info.records, info.complete), (2 * 20_001, true), "{when}\n{}", traced.stderr);
    }
}

/// Whoever limits it has measured what the program needs: the tracer takes a part of what is left, in which fewer
/// records have room.
fn address_space(case: &Case) {
    const MIB: u64 = 1 << 20;
    let launch =
        |what: &str, number: u64| case.launch(2, "fills.c").arg("5000").arg("-1").arg(what).arg(number.to_string());
    let space = launch("space", 0).run();
    let space = space.lines_with("space ")[0].split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok());
    let space = space.expect("the address space of a rank");
    for (left, memory) in [(1000 * MIB, 650 * MIB), (100 * MIB, 20 * MIB)] {
        let limit = format!("ulimit -v {} && exec \"$@\"", (space + left) / 1024);
        let shell = ["sh", "-c", &limit, "sh"].map(OsString::from);
        let plain = launch("memory", memory).behind(&shell).run();
        assert!(plain.stdout.contains("with memory"), "{}{}", plain.stdout, plain.stderr);
        let traced = launch("memory", memory).behind(&shell).trace().run();
        traced.same_as(&plain);
        let info = traced.trace.info();
        assert_eq!((info.records, info.complete), (10_002, true), "{}", traced.stderr);
        assert_said(&traced, "the address space is limited", &[WRITTEN]);
    }
}

const OUT_OF_MEMORY: &str = "Cannot allocate memory";

/// The program lowers RLIMIT_DATA when MPI is initialised. What the tracer then asks for is not there.
fn data(case: &Case) {
    let launch = || case.launch(2, "out_of_memory.c").arg("limit").arg("1048576");
    let plain = launch().run();
    assert_eq!((plain.code, plain.stdout.as_str()), (3, "ran\nfinalized\n"), "{}", plain.stderr);
    let traced = launch().trace().run();
    traced.same_as(&plain);
    assert_said(&traced, OUT_OF_MEMORY, &[]);
    let info = case.recover().info();
    assert!(!info.complete && info.records > 0, "{info:?}");
}

/// In one process after the other, which fork makes: on a library that lets them initialise MPI without a launcher.
fn each_request(case: &Case) {
    let launch = case.launch(1, "out_of_memory.c").arg("each").arg("200");
    let launch = launch.preload(build::shared_library(case.mpi, "mock_ranks.c"));
    let launch = launch.preload(build::shared_library(case.mpi, "count_mallocs.c")).trace();
    let launch = launch.set("MPITRACE_OUTPUT", case.folder.join("of-%p.mpitrace")).set("MPITRACE_VERBOSE", "0");
    let launch = launch.set("MPITRACE_CAPACITY", "256");
    let outcome = launch.set("MPITRACE_EVENTS", "messages,p2p-time").run_by(&[]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (3, ""), "{}", outcome.stderr);
    let line = outcome.lines_with("children ").first().copied().unwrap_or_else(|| panic!("{}", outcome.stderr));
    let children = line.rsplit(' ').next().and_then(|word| word.parse::<u32>().ok());
    assert!(children.is_some_and(|children| children >= 200), "{line}");
}

fn requests_of_ranks(case: &Case) {
    let counter = build::shared_library(case.mpi, "count_mallocs.c");
    let launch = |first: u32| case.launch(2, "out_of_memory.c").arg("from").arg(first.to_string());
    let plain = launch(1).run();
    assert_eq!(plain.code, 3, "{}", plain.stderr);
    for first in [1, 300, 1200, 2000] {
        let launch = launch(first).preload(counter.clone()).trace();
        let traced = launch.set("MPITRACE_CAPACITY", "256").run();
        traced.same_as(&plain);
        assert!(!traced.trace.path.exists() || traced.trace.info().complete, "{}", traced.stderr);
        case.segments.empty();
    }
}

fn seccomp(case: &Case) {
    let filter = build::program(case.mpi, "without_calls.c");
    let launch = || case.launch(2, "repeat.c").behind(&[filter.clone().into(), "perf_event_open".into()]);
    let plain = launch().run();
    let traced = launch().set("MPITRACE_EVENTS", "task-clock,messages").trace().run();
    traced.same_as(&plain);
    assert_said(&traced, "task-clock is left out", &[WRITTEN]);
    let info = traced.trace.info();
    assert_eq!((info.records, info.complete), (20, true));
    assert!(info.counters_limited["task-clock"].contains("seccomp"), "{:?}", info.counters_limited);
    assert!(info.counters.iter().any(|name| name.contains("messages")), "{:?}", info.counters);
}

/// System calls that only the traced run makes, as the page on limits has them: without any of them nothing is lost but
/// what one line says, and no panic ends the tracing.
const OWN_CALLS: [&str; 15] = [
    "clock_gettime",
    "clock_nanosleep",
    "fallocate",
    "fstatfs",
    "fsync",
    "getcwd",
    "getppid",
    "getrusage",
    "linkat",
    "memfd_create",
    "perf_event_open",
    "pwrite64",
    "rt_sigpending",
    "rt_sigtimedwait",
    "statx",
];

fn own_calls(case: &Case) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/what-cannot-be-traced.md");
    let page = fs::read_to_string(page).expect("the page on limits");
    let filter = build::program(case.mpi, "without_calls.c");
    for call in OWN_CALLS {
        assert!(page.contains(&format!("`{call}`")), "the page names {call}");
        let launch = || case.launch(2, "repeat.c").behind(&[filter.clone().into(), call.into()]);
        let plain = launch().run();
        if plain.code != 0 {
            // The library itself cannot do without it.
            continue;
        }
        let traced = launch().trace().run();
        traced.same_as(&plain);
        assert!(!traced.stderr.contains("internal error"), "without {call}: {}", traced.stderr);
        if traced.trace.path.exists() {
            assert_eq!(traced.trace.info().records, 20, "without {call}: {}", traced.stderr);
        } else {
            assert_eq!(traced.lines_with(NOT_WRITTEN).len(), 1, "without {call}: {}", traced.stderr);
            assert_eq!(case.recover().info().records, 20, "without {call}");
        }
    }
}

/// An event of the kernel, for a process without the rights that root has, where a normal user may not have it.
fn paranoid(case: &Case) {
    let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let level: i32 = level.trim().parse().unwrap_or(2);
    let drop = ["setpriv", "--bounding-set=-perfmon,-sys_admin", "--inh-caps=-perfmon,-sys_admin"].map(OsString::from);
    let launch = || case.launch(2, "repeat.c").behind(&drop);
    let plain = launch().run();
    assert_eq!(plain.code, 0, "{}", plain.stderr);
    let traced = launch().set("MPITRACE_EVENTS", "context-switches").trace().run();
    traced.same_as(&plain);
    let info = traced.trace.info();
    assert_eq!((info.records, info.complete), (20, true));
    if level >= 2 {
        assert_said(&traced, "context-switches", &[WRITTEN]);
        assert!(info.counters_limited["context-switches"].contains("perf_event_paranoid"), "{info:?}");
    } else {
        assert_said(&traced, WRITTEN, &[]);
    }
}

fn signals(case: &Case) {
    let plain = case.launch(2, "interval_timer.c").arg("20000").run();
    assert!(plain.stdout.contains("rank 0:") && !plain.stdout.contains("not interrupted"), "{}", plain.stdout);
    let traced = case.launch(2, "interval_timer.c").arg("20000").trace().run();
    traced.same_as(&plain);
    let info = traced.trace.info();
    assert_eq!((info.records, info.dropped, info.complete), (40_000, 0, true), "{}", traced.stderr);
}

/// Rank 0 has room for the few calls that it makes.
fn half_way_of_one_rank(case: &Case) {
    let (before, folder) = small(case, "2m");
    let launch = || case.launch(2, "fills.c").arg(CALLS.to_string()).arg("1");
    let plain = launch().run_under(&before);
    let traced = launch().trace().set("MPITRACE_SEGMENT_DIR", &folder).run_under(&before);
    traced.same_as(&plain);
    assert_said(&traced, ROOM, &[WRITTEN]);
    let info = traced.trace.info();
    assert_eq!((info.records, info.dropped, info.complete), (CALLS + 2, 0, true));
}

/// A folder without room for what each rank uses at first holds the buffer of none of them, whichever comes first.
fn tiny_segments(case: &Case) {
    let plain = case.launch(2, "fills.c").arg("1000").run();
    for size in ["64k", "256k"] {
        let (before, folder) = small(case, size);
        let launch = case.launch(2, "fills.c").arg("1000").trace();
        let traced = launch.set("MPITRACE_SEGMENT_DIR", &folder).run_under(&before);
        traced.same_as(&plain);
        assert_said(&traced, "cannot hold the trace buffer: it is in /dev/shm", &[WRITTEN]);
        assert_eq!((traced.trace.info().records, traced.trace.info().complete), (2002, true), "{size}");
    }
}

/// Records made before the folder was full can be recovered, and the rest is counted.
fn half_way_and_killed(case: &Case) {
    let folder = case.folder.join("small");
    fs::create_dir(&folder).expect("a folder");
    let recovered = case.folder.join("recovered.mpitrace");
    let commands = format!(
        "mount -t tmpfs -o size=2m none \"$0\"; \"$@\"; code=$?; '{}' recover \"$0\" -o '{}'; exit $code; :",
        binaries::companion().display(),
        recovered.display()
    );
    // Of two ranks that fill it, one could leave the other no room for its tables, without which no record counts.
    let launch = || case.launch(2, "fills.c").arg((2 * CALLS).to_string()).arg("0").arg("death").arg("0");
    let launch = launch().trace().set("MPITRACE_SEGMENT_DIR", &folder);
    let killed = launch.run_under(&in_namespace(&commands, &folder));
    assert_ne!(killed.code, 0, "{}", killed.stderr);
    // Of rank 0, and of rank 1 where its first record came after rank 0 had filled the folder.
    let said = killed.lines_with(ROOM);
    assert!(said.iter().any(|line| line.contains("rank 0:")), "{}", killed.stderr);
    assert!(said.len() == 1 || said.len() == 2 && said.iter().any(|line| line.contains("rank 1:")), "{said:?}");
    let info = crate::support::Trace::new(recovered).info();
    assert!(!info.complete);
    // Memory is taken for 16384 records at once.
    assert!((16384..2 * CALLS).contains(&info.records), "{info:?}");
    // Those of rank 0, and one of rank 1 on the world, which may not have returned or have found no room.
    let made = 2 * CALLS + 1..=2 * CALLS + 2;
    assert!(info.lost > 0 && info.dropped == 0, "{info:?}");
    assert!(made.contains(&(info.records + info.lost)), "{} and {}", info.records, info.lost);
}

/// Where the segments hardly find room, the blocks lie beside the trace, and none is lost for want of tables. What lies
/// in private memory is counted; `recover` also works while the folder is full.
fn small_and_killed(case: &Case) {
    let folder = case.folder.join("small");
    fs::create_dir(&folder).expect("a folder");
    for size in ["1m", "500k", "400k"] {
        let recovered = case.folder.join(format!("recovered-{size}.mpitrace"));
        let commands = format!(
            "mount -t tmpfs -o size={size} none \"$0\"; \"$@\"; code=$?; '{}' recover \"$0\" -o '{}'; exit $code; :",
            binaries::companion().display(),
            recovered.display()
        );
        let launch = case.launch(2, "fills.c").arg(CALLS.to_string()).arg("-1").arg("death").arg("0");
        let launch = launch.trace().set("MPITRACE_SEGMENT_DIR", &folder).set("MPITRACE_CAPACITY", "5000");
        let killed = launch.run_under(&in_namespace(&commands, &folder));
        assert_ne!(killed.code, 0, "{}", killed.stderr);
        assert!(recovered.exists(), "{size}: {}", killed.stderr);
        let info = crate::support::Trace::new(recovered).info();
        // Rank 1 may have written a trace of its own.
        let made = (2 - info.missing.len() as u64) * (CALLS + 1);
        assert!((made - 1..=made).contains(&(info.records + info.lost)), "{size}: {info:?}");
        assert_eq!(info.dropped, 0, "{size}");
        assert!(info.lost <= if size == "1m" { 0 } else { 2 * 5000 }, "{size}: {} lost", info.lost);
    }
}

/// Records written and in memory stay in the trace, and all that follows is counted.
fn full_spill(case: &Case) {
    let folder = case.folder.join("small");
    fs::create_dir(&folder).expect("a folder");
    let recovered = case.folder.join("recovered.mpitrace");
    let commands = format!(
        "mount -t tmpfs -o size=2m none \"$0\"; mkdir \"$0/out\"; mount -t tmpfs -o size=128k none \"$0/out\"; \
         \"$@\"; code=$?; '{}' recover \"$0\" -o '{}'; exit $code; :",
        binaries::companion().display(),
        recovered.display()
    );
    const MADE: u64 = 6 * CALLS;
    let launch = || case.launch(2, "fills.c").arg(MADE.to_string()).arg("0");
    let launch = || launch().set("MPITRACE_CAPACITY", "4096");
    let plain = launch().run();
    let traced = launch().trace().set("MPITRACE_OUTPUT", folder.join("out/run.mpitrace"));
    let traced = traced.set("MPITRACE_SEGMENT_DIR", &folder);
    let traced = traced.run_under(&in_namespace(&commands, &folder));
    traced.same_as(&plain);
    assert_eq!(traced.lines_with("further calls are counted and not kept").len(), 1, "{}", traced.stderr);
    // There is no room for the trace either.
    assert_eq!(traced.lines_with("the records of all ranks are kept").len(), 1, "{}", traced.stderr);
    let info = crate::support::Trace::new(recovered).info();
    let found: Vec<_> = info.all_calls.iter().filter(|all| all.communicator == "MPI_COMM_SELF").collect();
    let [all] = found[..] else { panic!("not one operation: {:?}", info.all_calls) };
    assert_eq!((all.calls, all.kept + all.timed), (MADE, MADE));
    assert!(all.kept > 4096 && all.timed > 0, "{all:?}");
}

/// A /dev/shm of these sizes, or none. MPI libraries need it themselves: some do not start then.
fn shared_memory(case: &Case) {
    let other = case.folder.join("other");
    fs::create_dir(&other).expect("a folder");
    let small = |size: &str| format!("mount -t tmpfs -o size={size} none /dev/shm");
    let none = "mkdir -p \"$0/dev\" && mount -t tmpfs none \"$0/dev\" && mkdir \"$0/dev/pts\" \
                && for name in null zero full random urandom tty; do \
                    touch \"$0/dev/$name\" && mount --bind /dev/$name \"$0/dev/$name\"; done \
                && mount --bind /dev/pts \"$0/dev/pts\" && ln -s pts/ptmx \"$0/dev/ptmx\" \
                && ln -s /proc/self/fd \"$0/dev/fd\" && ln -s fd/0 \"$0/dev/stdin\" \
                && ln -s fd/1 \"$0/dev/stdout\" && ln -s fd/2 \"$0/dev/stderr\" && mount --move \"$0/dev\" /dev";
    for commands in [small("4k"), small("1m"), small("32m"), none.to_owned()] {
        let before = in_namespace(&commands, &other);
        let launch = || case.launch(2, "fills.c").arg("1000").set("TMPDIR", &other);
        let plain = launch().run_under(&before);
        let traced = launch().trace().set("MPITRACE_SEGMENT_DIR", "").run_under(&before);
        let what = format!("{commands}\n{}\nwithout the tracer:\n{}", traced.stderr, plain.stderr);
        // Launchers have several codes for ranks that do not start.
        assert_eq!(traced.code == 0, plain.code == 0, "exit codes {} and {}: {what}", traced.code, plain.code);
        if plain.code == 0 {
            traced.same_as(&plain);
            assert_said(&traced, WRITTEN, &[ROOM]);
            assert_eq!((traced.trace.info().records, traced.trace.info().complete), (2002, true), "{commands}");
        }
    }
    // Markers of jobs that could not start, and headers of those killed in MPI_Init, lie where live records would.
    let left = fs::read_dir(&other).expect("the folder").flatten().map(|entry| entry.file_name());
    let of_rank =
        |name: &OsString| name.to_string_lossy().ends_with(".segment") && !name.to_string_lossy().contains("-init-");
    let left: Vec<_> = left.filter(of_rank).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Neither the folder that is named nor those that are tried without a name.
fn no_folder(case: &Case) {
    let file = case.folder.join("file");
    fs::write(&file, "").expect("a file where a folder is asked for");
    let none = file.join("none");
    let launch = || case.launch(2, "fills.c").arg("1000");
    // As much as the tracer leaves to the MPI library.
    let before = in_namespace("mount -t tmpfs -o size=16m none /dev/shm", &none);
    let plain = launch().run_under(&before);
    let launch = launch().trace().set("MPITRACE_SEGMENT_DIR", &none).set("TMPDIR", &none);
    let traced = launch.run_under(&before);
    assert_eq!(plain.code, 0, "{}", plain.stderr);
    traced.same_as(&plain);
    assert_said(&traced, "it is in private memory", &[WRITTEN]);
    assert_eq!((traced.trace.info().records, traced.trace.info().complete), (2002, true));
}

fn full_output(case: &Case) {
    let (before, folder) = small(case, "4k");
    unwritable(case, &before, &folder, "No space left on device");
}

fn read_only_output(case: &Case) {
    let folder = case.folder.join("small");
    fs::create_dir_all(&folder).expect("a folder");
    let before = in_namespace("mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\"", &folder);
    unwritable(case, &before, &folder, "Read-only file system");
}

fn unwritable(case: &Case, before: &[OsString], folder: &Path, why: &str) {
    let launch = || case.launch(2, "fills.c").arg("5000");
    let plain = launch().run_under(before);
    let traced = launch().trace().set("MPITRACE_OUTPUT", folder.join("run.mpitrace")).run_under(before);
    traced.same_as(&plain);
    assert_said(&traced, why, &[]);
    assert_eq!(traced.lines_with("the records of all ranks are kept").len(), 1, "{}", traced.stderr);
    assert_eq!(case.recover().info().records, 2 * 5001, "nothing is lost");
}
