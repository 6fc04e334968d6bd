//! The time of ranks at every end and setting: its parts add up, none is below 0, and none is counted twice.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Case, Test, Trace, binaries, companion, litter};
use mpitrace_analysis::account::{Account, HowEnded, RankAccount, RankPart};
use mpitrace_statistics::categories::Rule;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader;
use serde_json::Value;

pub const TESTS: &[Test] = &[
    Test::new("leave_parts_that_add_up", |case| add_up(case, "1")),
    Test::new("with_records_of_messages_leave_parts_that_add_up", |case| add_up(case, "records")),
    Test::new("without_stamps_of_messages_leave_parts_that_add_up", |case| add_up(case, "0")),
    Test::new("in_a_hang_are_those_that_the_program_knows", |case| hang(case, "hang", RANKS)),
    Test::new("in_a_hang_of_two_beside_others_are_those_that_the_program_knows", |case| hang(case, "pair", 2)),
    Test::new("beside_an_interruption_at_mpi_finalize_leave_parts_that_add_up", interrupted),
];

const RANKS: u32 = 3;

/// The folder in memory for the times that ended.c stores. It is removed with this.
struct Times(PathBuf);

impl Times {
    fn new(case: &Case) -> Times {
        let folder = case.segments.0.with_extension("times");
        fs::create_dir(&folder).expect("a folder for times");
        Times(folder)
    }

    /// Removes what an earlier run has stored.
    fn forget(&self) {
        for file in fs::read_dir(&self.0).expect("times") {
            fs::remove_file(file.expect("a file").path()).expect("a file");
        }
    }
}

impl Drop for Times {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs ended.c, by `mpitrace run` or with the library alone: the trace, recovered where no rank could write it.
fn ended(case: &Case, times: &Times, what: &str, how: &str, messages: &str, by_run: bool) -> Trace {
    case.segments.empty();
    let launch = case.launch(RANKS, "ended.c").arg(what).arg(how).arg(&times.0);
    if by_run {
        let trace = Trace::new(case.folder.join(format!("{what}-{how}-{messages}.mpitrace")));
        let _ = fs::remove_file(&trace.path);
        let mut before: Vec<OsString> = vec!["env".into()];
        before.push(format!("MPITRACE_SEGMENT_DIR={}", case.segments.0.display()).into());
        before.push(format!("MPITRACE_P2P={messages}").into());
        before.extend([
            binaries::companion().into(),
            "run".into(),
            "-o".into(),
            trace.path.clone().into(),
            "--".into(),
        ]);
        let outcome = launch.run_under(&before);
        litter::sweep();
        // Where ranks were still ending.
        if !trace.path.exists() {
            println!("{what} {how} {messages}: recovered later\n{}", outcome.stderr);
            return case.recover_soon();
        }
        return trace;
    }
    let outcome = launch.trace().set("MPITRACE_P2P", messages).run();
    litter::sweep();
    if outcome.trace.path.exists() { outcome.trace } else { case.recover_soon() }
}

/// The ranks of a trace, whose parts add up, also in what the companion says of it.
#[track_caller]
fn ranks(path: &Path, what: &str) -> Vec<RankAccount> {
    let trace = reader::Trace::open(&[path]).expect("a trace");
    let (clock, operations) = (Clock::new(&trace), Operations::new(&trace));
    let knot = mpitrace_live::held(&trace, &operations, &clock);
    let account = Account::with_knot(&trace, &clock, &operations, Rule::default(), &knot);
    for rank in &account.ranks {
        let sum: f64 = rank.parts.sum();
        assert!((sum / rank.wall_ns - 1.0).abs() < 1e-3, "{what}: {sum}: {rank:?}");
        for &part in RankPart::ALL {
            assert!(rank.parts[part] >= -1e-3 * rank.wall_ns, "{what}: {part:?} of {rank:?}");
        }
        assert!(rank.parts.sum_of(&RankPart::MPI) <= rank.wall_ns * 1.001, "{what}: {rank:?}");
    }
    let summary = companion::json(&companion::mpitrace(&["summary".as_ref(), path.as_os_str(), "--json".as_ref()]));
    let number = |value: &Value| value.as_f64().expect("a number");
    let parts = summary["parts"].as_object().expect("parts");
    let (sum, all) = (parts.values().map(number).sum::<f64>(), number(&summary["rank_seconds"]));
    assert!((sum / all - 1.0).abs() < 1e-3, "{what}: {summary:#}");
    for share in ["all", "min", "median", "max"] {
        let share = number(&summary["mpi_share"][share]);
        assert!((0.0..=1.001).contains(&share), "{what}: {summary:#}");
    }
    account.ranks
}

fn add_up(case: &Case, messages: &str) {
    let times = Times::new(case);
    for what in ["collectives", "messages"] {
        for how in ["finalize", "kill", "abort", "exit", "moving", "hang"] {
            for by_run in [false, true] {
                let named = format!("{what}, {how}, MPITRACE_P2P={messages}, by run: {by_run}");
                let trace = ended(case, &times, what, how, messages, by_run);
                for rank in ranks(&trace.path, &named) {
                    let expected = match (how, rank.end.how) {
                        ("finalize", how) => how == HowEnded::Finalized,
                        // Its process may have ended before the observer knew it.
                        (_, HowEnded::Observed) => by_run,
                        (_, how) => how == HowEnded::LastStamp,
                    };
                    assert!(expected, "{named}: {:?}", rank.end);
                }
            }
        }
    }
}

/// A time, or a number, that ended.c has stored; 0 until then.
fn stored(times: &Times, name: &str) -> i64 {
    let bytes = fs::read(times.0.join(name)).unwrap_or_default();
    bytes.try_into().map_or(0, i64::from_ne_bytes)
}

/// For how long so many ranks of ended.c hung until rank 0 killed itself, as the program knows it, ns.
fn known(times: &Times, ranks: u32) -> f64 {
    let moved = (0..ranks).map(|rank| stored(times, &format!("moved.{rank}"))).max().expect("ranks");
    let killed = stored(times, "killed");
    assert!(moved > 0 && killed > 0, "{moved}, {killed}");
    (killed - moved) as f64
}

/// When rank 0 of ended.c was gone, CLOCK_MONOTONIC_RAW, ns: on a busy machine a process that was killed needs a while
/// to give back its memory.
fn gone(times: &Times) -> i64 {
    let begin = Instant::now();
    let process = loop {
        match stored(times, "process") {
            0 => thread::sleep(Duration::from_millis(1)),
            process => break process,
        }
        assert!(begin.elapsed() < Duration::from_secs(300), "rank 0 has stored no process number");
    };
    // SAFETY: takes numbers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) } as libc::c_int;
    if descriptor >= 0 {
        let mut polled = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, which is open.
        while unsafe { libc::poll(&mut polled, 1, -1) } < 1 {}
        // SAFETY: the descriptor is this function's.
        unsafe { libc::close(descriptor) };
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time may be written.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Of so many runs one is as the program knows it: a rank can be taken from its processor between its own time stamps
/// and those of the tracer.
const TRIES: usize = 4;
const CLOSE_NS: f64 = 5e6;

/// So many ranks hung.
fn hang(case: &Case, how: &str, hung: u32) {
    let times = Times::new(case);
    for what in ["collectives", "messages"] {
        let tries: Vec<String> = (0..TRIES).map_while(|_| differs(case, &times, what, how, hung)).collect();
        assert!(tries.len() < TRIES, "{what}: {tries:#?}");
    }
}

/// The first thing that is not as the program knows it.
fn differs(case: &Case, times: &Times, what: &str, how: &str, ranks_hung: u32) -> Option<String> {
    times.forget();
    let (trace, gone) = thread::scope(|scope| {
        let gone = scope.spawn(|| gone(times));
        (ended(case, times, what, how, "1", true), gone.join().expect("a time"))
    });
    let (found, known) = (ranks(&trace.path, what), known(times, ranks_hung));
    let longest = known + (gone - stored(times, "killed")) as f64;
    let first = &found[0];
    let is_dated = found.iter().all(|rank| rank.end.how == HowEnded::Observed);
    // Rank 0 was killed first, and may have been seen late.
    let late_ns = first.end.at_ns - first.end.earliest_ns;
    let is_close = known - CLOSE_NS <= first.hung.ns && first.hung.ns <= longest + CLOSE_NS + late_ns;
    let most = first.hung.most_ns.unwrap_or(f64::INFINITY) + CLOSE_NS;
    let holds = first.hung.least_ns - CLOSE_NS <= longest && known <= most;
    let info = companion::json(&companion::mpitrace(&["info".as_ref(), trace.path.as_os_str(), "--json".as_ref()]));
    let ends = info["ends"].as_array().expect("ends");
    assert_eq!(ends.len() as u32, RANKS, "{info:#}");
    let summary =
        companion::json(&companion::mpitrace(&["summary".as_ref(), trace.path.as_os_str(), "--json".as_ref()]));
    let losses = summary["losses"].as_array().expect("losses");
    let loss = losses.iter().find(|loss| loss["kind"] == "hung").expect("a loss");
    assert_eq!(loss["seconds"], summary["parts"]["hung"], "{summary:#}");
    // Every command has the sum.
    let hung_s = found.iter().map(|rank| rank.hung.ns).sum::<f64>() / 1e9;
    let is_sum = |told: &Value| told.as_f64().is_some_and(|seconds| (seconds - hung_s).abs() <= 1e-6);
    assert!(is_sum(&loss["seconds"]), "{hung_s}: {summary:#}");
    let ends: f64 = ends.iter().map(|end| end["hung_s"].as_f64().expect("a time")).sum();
    assert!((ends - hung_s).abs() <= 1e-6, "{hung_s}: {info:#}");
    let jobs = companion::json(&companion::mpitrace(&["jobs".as_ref(), trace.path.as_os_str(), "--json".as_ref()]));
    assert!(is_sum(&jobs[0]["hung_s"]), "{hung_s}: {jobs:#}");

    let plain = ended(case, times, what, how, "1", false);
    let (bounded, again) = (ranks(&plain.path, what), self::known(times, ranks_hung));
    let most = bounded[0].hung.most_ns.unwrap_or(0.0);
    let is_bound = bounded[0].hung.least_ns <= again && again <= most + CLOSE_NS;
    let said = companion::mpitrace(&["summary".as_ref(), plain.path.as_os_str()]).stdout;
    assert!(said.contains("at least") && said.contains("the time of 3 ranks is up to the last time stamp"), "{said}");
    let is_known = is_dated && is_close && holds && is_bound;
    (!is_known).then(|| format!("{known} to {longest} ns: {found:#?}\nby the library alone {again} ns: {bounded:#?}"))
}

/// A rank is off its processor for 100 ms at the entry of MPI_Finalize: in one part, so that none is below 0.
fn interrupted(case: &Case) {
    let outcome = case.launch(2, "slow_finalize.c").trace().run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    for rank in ranks(&outcome.trace.path, "interrupted at MPI_Finalize") {
        assert_eq!(rank.end.how, HowEnded::Finalized);
        assert!(rank.wall_ns >= 1e8, "{rank:?}");
    }
}
