//! Ranks that die in the middle: every call that had returned is in the trace that `recover` makes of what they leave.

use crate::support::companion::{assert_refused, mpitrace};
use crate::support::{Case, On, Outcome, Test, Trace, litter};
use std::ffi::OsStr;
use std::fs;

pub const TESTS: &[Test] = &[
    Test::new("by_sigkill_loses_no_call_that_returned", |case| dies(case, "kill")),
    Test::new("by_a_wild_pointer_loses_no_call_that_returned", |case| dies(case, "segv")).second_tier(),
    Test::new("by_abort_loses_no_call_that_returned", |case| dies(case, "abort")).second_tier(),
    Test::new("by_exit_without_finalize_loses_no_call_that_returned", |case| dies(case, "exit")),
    Test::new("by_abort_of_the_world_with_code_0_is_the_same", |case| aborts(case, "world", 0)),
    Test::new("by_abort_of_comm_self_is_the_same", |case| aborts(case, "self", 7)).second_tier(),
    Test::new("by_abort_of_a_part_is_the_same", |case| aborts(case, "part", 7)).second_tier(),
    Test::new("by_an_error_that_is_fatal_is_the_same", |case| aborts(case, "error", 2)),
    Test::new("in_a_hang_shows_who_was_where", hang),
    Test::new("leaves_what_the_next_run_names", next_run),
    Test::new("with_damaged_left_overs_is_no_trap", damaged).on(On::Any).second_tier(),
    Test::new("without_left_overs_recovers_nothing", nothing).on(On::Any),
    Test::new("keeps_its_left_overs_where_no_trace_can_be_written", unwritable).on(On::Any),
];

/// Runs death.c, whose rank 1 dies this way.
fn die(case: &Case, ranks: u32, how: &str, traced: bool) -> Outcome {
    let launch = case.launch(ranks, "death.c").arg(how);
    let outcome = if traced { launch.trace().run() } else { launch.run() };
    litter::sweep();
    outcome
}

/// The trace of death.c, recovered where no rank could write it.
fn recovered(case: &Case, ranks: u32, how: &str) -> Trace {
    let mut traced = die(case, ranks, how, true);
    let mut codes = vec![die(case, ranks, how, false).code];
    if case.mpi.library == "MPICH" {
        // Its launcher kills the ranks that are left, if there are any by then, and reports how all of them ended in
        // one number, or-ed: an alarm, 14, is 14, 15 or 9 by turns, without the tracer too.
        let own = match how {
            "kill" => libc::SIGKILL,
            "segv" => libc::SIGSEGV,
            "timeout" => libc::SIGALRM,
            "abort" => 3,
            _ => 4,
        };
        codes.extend([own, libc::SIGKILL, own | libc::SIGKILL]);
        if !codes.contains(&traced.code) {
            // Once in some hundred runs, on a busy machine, it was 1 with nothing on stderr; why is not known. Another
            // run tells that from a tracer that changes the code.
            println!("{how}: exit code {} and not one of {codes:?}; once more\n{}", traced.code, traced.stderr);
            if !traced.trace.path.exists() {
                case.recover();
            }
            traced = die(case, ranks, how, true);
        }
    }
    assert!(codes.contains(&traced.code), "exit code {}, without the tracer {codes:?}\n{}", traced.code, traced.stderr);
    if traced.trace.path.exists() { traced.trace } else { case.recover() }
}

fn dies(case: &Case, how: &str) {
    let trace = recovered(case, 2, how);
    let info = trace.info();
    assert!(!info.complete, "{info:?}");
    assert_eq!(info.ranks, 2);
    let operation = info.only("MPI_Allreduce");
    assert!(operation.repetitions >= 50, "{operation:?}");
    assert_eq!(trace.repetitions(0, 1), ((0..50).collect(), vec![]), "the rank that died, between two calls");
    assert_eq!(trace.repetitions(0, 0), ((0..50).collect(), vec![50]), "the rank that waited for it");
    let categories = &trace.categorize(&[])[0];
    assert_eq!(categories.category.len(), 50, "only what all ranks finished is in statistics");
}

/// Runs abort.c, whose rank 1 ends the job while the others are in the eleventh call: the exit code and what the
/// library says of it are the same, and ten calls can be recovered.
fn aborts(case: &Case, on: &str, code: i32) {
    let mut codes = vec![];
    if case.mpi.library == "MPICH" {
        // As in `recovered`.
        codes = vec![code, libc::SIGKILL, code | libc::SIGKILL];
    }
    let mut said = [Vec::new(), Vec::new()];
    // A launcher that ends a job can lose what the ranks said last: Open MPI 4's does every other time.
    for _ in 0..12 {
        for traced in [false, true] {
            let launch = case.launch(3, "abort.c").arg(on).arg(code.to_string());
            let outcome = if traced { launch.trace().run() } else { launch.run() };
            litter::sweep();
            let what_it_said = what_the_library_said(&outcome.stderr);
            if said[usize::from(traced)].len() < what_it_said.len() {
                said[usize::from(traced)] = what_it_said;
            }
            if !traced {
                codes.push(outcome.code);
                continue;
            }
            assert!(codes.contains(&outcome.code), "{} and not one of {codes:?}\n{}", outcome.code, outcome.stderr);
            assert_ten_calls(&case.recover_soon());
        }
        if !said[0].is_empty() && said[0] == said[1] {
            return;
        }
    }
    panic!("the library does not say the same without and with the tracer: {said:#?}");
}

/// Ten calls of all ranks; two ranks in the eleventh.
fn assert_ten_calls(trace: &Trace) {
    let info = trace.info();
    assert_eq!((info.ranks, info.complete), (3, false), "{info:?}");
    let reduce = info.operations.first().expect("an operation");
    let got = (reduce.function.as_str(), reduce.bytes, reduce.ranks, reduce.repetitions);
    assert_eq!(got, ("MPI_Allreduce", 4, 3, 10), "{info:?}");
    let rows = trace.dump(&[]);
    let of = |rank, returned: bool| {
        let rows = rows.iter().filter(move |row| row.rank == rank && row.exit_ns.is_some() == returned);
        rows.filter(|row| row.function == "MPI_Allreduce").count()
    };
    assert_eq!([0, 1, 2].map(|rank| of(rank, true)), [10; 3]);
    assert_eq!([0, 2].map(|rank| of(rank, false)), [1; 2]);
}

/// The words of the lines that name the end, without numbers: processes, communicators and addresses have others each
/// time.
fn what_the_library_said(stderr: &str) -> Vec<String> {
    let named = ["MPI_ABORT was", "rrorcode", "Abort(", "MPI_Bcast", "MPI_ERR_COUNT", "nvalid count", "egative count"];
    let words = |line: &str| {
        let words = line.split(|c: char| !c.is_ascii_alphanumeric());
        words.filter(|word| !word.contains(|c: char| c.is_ascii_digit())).collect::<Vec<_>>().join(" ")
    };
    stderr.lines().filter(|line| named.iter().any(|name| line.contains(name))).map(words).collect()
}

fn hang(case: &Case) {
    let trace = recovered(case, 3, "timeout");
    assert!(!trace.info().complete);
    let finished = mpitrace(&["info".as_ref(), trace.path.as_os_str()]);
    assert_eq!(finished.code, 1);
    let said = |words: &[&str]| finished.stdout.lines().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(said(&["MPI_Barrier", "0", "2"]), "who was in the Barrier:\n{}", finished.stdout);
    assert!(said(&["never entered", "1"]), "who never entered it:\n{}", finished.stdout);
}

/// The next run of this user says on stderr that something is left, and leaves it alone. Later ones say no more.
fn next_run(case: &Case) {
    die(case, 2, "kill", true);
    let left = case.segments.left();
    assert!(!left.is_empty(), "a killed job leaves its live records");
    let next = case.launch(2, "repeat.c").trace().run();
    assert_eq!(next.code, 0);
    assert_eq!(next.lines_with("mpitrace recover").len(), 1, "one line that says what to do:\n{}", next.stderr);
    assert!(next.trace.info().complete);
    let later = case.launch(2, "repeat.c").trace().run();
    assert_eq!(later.lines_with("mpitrace recover").len(), 0, "{}", later.stderr);
    let asked = case.launch(2, "repeat.c").set("MPITRACE_VERBOSE", "2").trace().run();
    assert_eq!(asked.lines_with("mpitrace recover").len(), 1, "{}", asked.stderr);
    assert_eq!(case.segments.left(), left, "what another run left is touched by recover alone");
    let info = case.recover().info();
    assert_eq!((info.complete, info.only("MPI_Allreduce").bytes), (false, 8));
}

/// Left-overs that are cut off or scribbled on: an incomplete trace or a clear refusal, and no crash.
fn damaged(case: &Case) {
    die(case, 2, "kill", true);
    let segments = &case.segments;
    let left = segments.left().into_iter();
    let whole: Vec<_> = left
        .map(|name| segments.0.join(name))
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(path).expect("a segment")))
        .collect();
    assert!(!whole.is_empty(), "a killed job leaves its live records");
    for damage in 0..60_usize {
        for (path, bytes) in &whole {
            let mut bytes = bytes.clone();
            let at = bytes.len() * (damage / 3) / 20;
            match damage % 3 {
                0 => bytes.truncate(at),
                1 => bytes[at] ^= 0xff,
                _ => {
                    let end = (at + 64).min(bytes.len());
                    bytes[at..end].fill(0xa5);
                }
            }
            fs::write(path, bytes).expect("a damaged segment");
        }
        let output = case.folder.join(format!("damage{damage}.mpitrace"));
        let finished = mpitrace(&["recover".as_ref(), segments.0.as_os_str(), "-o".as_ref(), output.as_os_str()]);
        let what = format!("damage {damage}\n{}{}", finished.stdout, finished.stderr);
        assert!(matches!(finished.code, 0..=2), "exit code {} for {what}", finished.code);
        if finished.code == 0 {
            let info = Trace::new(output).info();
            assert!(info.records <= 101, "{} records from nowhere, {what}", info.records);
        } else {
            assert!(!finished.stderr.is_empty(), "{what}");
        }
    }
    for (path, _) in whole {
        let _ = fs::remove_file(path);
    }
}

fn nothing(case: &Case) {
    let folder = case.folder.join("left");
    fs::create_dir(&folder).expect("an empty folder");
    let output = case.folder.join("nothing.mpitrace");
    let recover = |folder: &OsStr| mpitrace(&["recover".as_ref(), folder, "-o".as_ref(), output.as_os_str()]);
    assert_refused(&recover(folder.as_os_str()), "an empty folder");
    assert_refused(&recover("/nonexistent".as_ref()), "a folder that is not there");
    fs::write(folder.join("foreign"), "no live records").expect("a foreign file");
    assert_refused(&recover(folder.as_os_str()), "a folder of other things");
    assert!(folder.join("foreign").exists(), "other people's files stay");
    assert!(!output.exists());
}

fn unwritable(case: &Case) {
    die(case, 2, "kill", true);
    let mut left = case.segments.left();
    left.sort();
    assert!(!left.is_empty(), "a killed job leaves its live records");
    let folder = case.segments.0.as_os_str();
    for output in ["/proc/a.mpitrace", "/nonexistent/a.mpitrace", "/", "/dev/null/a.mpitrace"] {
        assert_refused(&mpitrace(&["recover".as_ref(), folder, "-o".as_ref(), output.as_ref()]), output);
    }
    let listed = mpitrace(&["recover".as_ref(), folder, "--list".as_ref()]);
    assert_eq!((listed.code, listed.stdout.lines().count()), (0, 1 + left.len()), "{}", listed.stdout);
    let mut kept = case.segments.left();
    kept.sort();
    assert_eq!(kept, left);
    case.recover();
}
