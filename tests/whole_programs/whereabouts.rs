//! Where ranks are outside of recorded calls, ranks that are stuck in a call, and jobs that die under `mpitrace run`.

use crate::support::companion::{self, mpitrace};
use crate::support::{Case, On, Outcome, Test, Trace, binaries, litter};
use mpitrace_format::layout::{activity, state};
use mpitrace_platform::system::lock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::partners::Partners;
use mpitrace_trace::reader;
use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    Test::new("a_rank_in_a_receive_is_seen_there", |case| point_to_point(case, "recv", "MPI_Recv")),
    Test::new("a_rank_that_waits_for_a_message_is_seen_there", |case| point_to_point(case, "wait", "MPI_Wait"))
        .second_tier(),
    Test::new("a_rank_that_probes_is_seen_there", |case| point_to_point(case, "probe", "MPI_Probe")).second_tier(),
    Test::new("a_rank_in_finalize_is_seen_there", finalize),
    Test::new("a_rank_in_an_error_handler_is_seen_there", handler),
    Test::new("a_job_that_dies_under_run_is_recovered_at_once", |case| dies(case, "kill")),
    Test::new("a_job_that_aborts_under_run_is_recovered_at_once", |case| dies(case, "abort")).second_tier(),
    Test::new("a_job_whose_ranks_go_on_after_mpi_abort_is_told_as_aborted", aborts_and_goes_on),
    Test::new("a_rank_in_finalize_is_read_with_those_that_were_recovered", beside_finalize),
    Test::new("a_crash_under_run_is_remembered_by_the_trace", crashes).on(LAUNCHERS),
    Test::new("a_job_that_the_library_ends_under_run_is_told_as_that", library_ends).on(LAUNCHERS),
    Test::new("a_job_that_is_ended_under_run_is_recovered_at_once", ended).on(On::Any),
    Test::new("a_job_without_mpi_under_run_has_one_line", without).on(On::Any),
    Test::new("left_overs_are_listed_with_their_job_and_its_processes", listed).on(On::Any),
];

/// Open MPI's and MPICH's, which end the other ranks in their own ways.
const LAUNCHERS: On = On::Only(&["ompi4", "mpich4", "mpich5", "ompi5"]);

/// Runs whereabouts.c, whose rank 1 kills itself after so many seconds.
fn run(case: &Case, how: &str, dies: &str) -> Outcome {
    let outcome = case.launch(2, "whereabouts.c").arg(how).trace().arg(dies).run();
    litter::sweep();
    outcome
}

/// Where the first thread of a rank was.
fn activity_of(trace: &reader::Trace, rank: usize) -> (u32, String) {
    let part = &trace.parts[rank];
    let (what, function) = activity::decoded(part.threads()[0].activity);
    (what, part.text(function).unwrap_or_default())
}

fn point_to_point(case: &Case, how: &str, function: &str) {
    run(case, how, "1");
    let recovered = case.recover_soon();
    let trace = reader::Trace::open(&[&recovered.path]).expect("a trace");
    assert_eq!(activity_of(&trace, 0), (activity::POINT_TO_POINT, function.to_owned()));
    assert_eq!(activity_of(&trace, 1), (activity::COMPUTING, String::new()));
    assert_eq!(trace.parts[0].info().state, state::RUNNING);
    let partners = Partners::new(&trace, &Operations::new(&trace));
    let awaited = trace.parts[0].awaited(0).iter();
    let awaited: Vec<_> = awaited.map(|message| (partners.world_rank(0, message.partner), message.tag)).collect();
    assert_eq!(awaited, [(Some(1), 7)], "the message that rank 0 waits for");
    assert_eq!(trace.parts[1].awaited(0), []);
}

fn finalize(case: &Case) {
    let own = run(case, "finalize", "1").trace.path.with_extension("rank0.mpitrace");
    // Rank 0 stops waiting when rank 1 has died: where the launcher ends it later, it has written its own file.
    if own.exists() {
        let info = mpitrace(&["info".as_ref(), own.as_os_str()]);
        assert!(info.stdout.contains("rank 1 of 2 left nothing in this trace\n"), "{}", info.stdout);
        case.segments.empty();
        return;
    }
    let recovered = case.recover_soon();
    let info = mpitrace(&["info".as_ref(), recovered.path.as_os_str()]);
    assert_eq!(info.code, 1);
    assert!(info.stdout.contains("rank 0 waited in MPI_Finalize\n"), "{}", info.stdout);
    assert!(info.stdout.contains("rank 1 did not reach MPI_Finalize\n"), "{}", info.stdout);
}

/// Where rank 0 has written its own file, that is read with the one into which rank 1 was recovered.
fn beside_finalize(case: &Case) {
    let output = case.folder.join("x.mpitrace");
    let done = case.launch(2, "whereabouts.c").arg("finalize").arg("1").run_under(&under_run(case, &output));
    litter::sweep();
    let info = mpitrace(&["info".as_ref(), output.as_os_str()]);
    assert!(!info.stdout.contains("left nothing in this trace"), "{}\n{}", done.stderr, info.stdout);
    assert!(info.stdout.contains("rank 1 did not reach MPI_Finalize\n"), "{}", info.stdout);
    let ended = done.lines_with("The job did not end normally: ");
    // A launcher that kills all ranks at once hides which one ended first.
    let by_launcher = "by signal 9 (SIGKILL); a rank began or ended";
    let is_told = |line: &str| line.contains("rank 1") || line.contains(by_launcher);
    assert!(ended.len() == 1 && is_told(ended[0]), "{}", done.stderr);
    if output.with_extension("rank0.mpitrace").exists() {
        let beside = "recovered into x.mpitrace; it is read together with 1 file that ranks in MPI_Finalize wrote \
                      (x.rank0.mpitrace";
        assert_eq!(done.lines_with(beside).len(), 1, "{}", done.stderr);
    }
    case.segments.empty();
}

fn aborts_and_goes_on(case: &Case) {
    let output = case.folder.join("x.mpitrace");
    let done = case.launch(2, "death.c").arg("returns").run_under(&under_run(case, &output));
    litter::sweep();
    assert_ne!(done.code, 0);
    let ended = done.lines_with("The job did not end normally: ");
    assert!(ended.len() == 1 && ended[0].contains("rank 1 called MPI_Abort"), "{}", done.stderr);
}

fn handler(case: &Case) {
    run(case, "handler", "2");
    let recovered = case.recover_soon();
    let trace = reader::Trace::open(&[&recovered.path]).expect("a trace");
    let expected = if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        activity::ERROR_HANDLER
    } else {
        activity::COMPUTING
    };
    assert_eq!(activity_of(&trace, 0).0, expected);
}

/// `mpitrace run` into this trace, up to the command.
fn under_run(case: &Case, output: &Path) -> Vec<OsString> {
    let folder = format!("MPITRACE_SEGMENT_DIR={}", case.segments.0.display());
    let companion = binaries::companion().into();
    vec!["env".into(), folder.into(), companion, "run".into(), "-o".into(), output.into(), "--".into()]
}

fn dies(case: &Case, how: &str) {
    let output = case.folder.join("x.mpitrace");
    let done = case.launch(2, "death.c").arg(how).run_under(&under_run(case, &output));
    litter::sweep();
    assert_ne!(done.code, 0);
    assert_eq!(case.segments.left(), Vec::<String>::new(), "nothing is left:\n{}", done.stderr);
    let info = Trace::new(output).info();
    assert_eq!((info.complete, info.only("MPI_Allreduce").repetitions), (false, 50), "{info:?}");
    assert_eq!(done.lines_with("The job did not end normally: ").len(), 1, "{}", done.stderr);
    assert_eq!(done.lines_with("recovered into x.mpitrace").len(), 1, "{}", done.stderr);
    let where_it_was =
        "rank 0 is in MPI_Allreduce on MPI_COMM_WORLD (operation 0, repetition 50); never entered by rank 1";
    assert_eq!(done.lines_with(where_it_was).len(), 1, "{}", done.stderr);
    // How is known where the kernel says so: since Linux 6.15 always.
    let first = done.lines_with("The job did not end normally: ")[0];
    let names_it = match how {
        "abort" => first.contains("rank 1 called MPI_Abort"),
        // A launcher that kills all ranks at once hides which one ended first.
        "kill" => {
            first.contains("rank 1 ended first, by signal 9 (SIGKILL)")
                || first.contains("it was ended after ")
                    && first.contains(" by signal 9 (SIGKILL); a rank began or ended")
        }
        _ => first.contains("rank 1 "),
    };
    // On a busy machine both may have ended when they are looked at.
    assert!(names_it || done.stderr.contains("ranks 0-1 ended first"), "{}", done.stderr);
}

fn crashes(case: &Case) {
    let output = case.folder.join("x.mpitrace");
    let done = case.launch(2, "death.c").arg("segv").run_under(&under_run(case, &output));
    litter::sweep();
    if !done.stderr.contains("signal 11") {
        return println!("skipped: the kernel does not say how a process ended\n{}", done.stderr);
    }
    let death = "rank 1 was not in MPI when it died of signal 11 (SIGSEGV)";
    assert_eq!(done.lines_with(death).len(), 1, "{}", done.stderr);
    let info = mpitrace(&["info".as_ref(), output.as_os_str()]);
    assert!(info.code == 1 && info.stdout.lines().any(|line| line == death), "{}", info.stdout);
    assert!(!info.stdout.contains("missing-rank"), "{}", info.stdout);
    let info = mpitrace(&["info".as_ref(), "--json".as_ref(), output.as_os_str()]);
    let info = companion::json(&info);
    assert_eq!((&info["stuck"]["kind"], &info["stuck"]["ranks"]), (&"dead-rank".into(), &vec![1].into()));
    assert_eq!((&info["where"][0]["state"], &info["where"][1]["state"]), (&"in_call".into(), &"dead".into()));
}

/// Rank 1 passes a wrong argument, and the library ends the job; the launcher kills the others, with MPICH 4 all ranks.
fn library_ends(case: &Case) {
    let output = case.folder.join("x.mpitrace");
    let done = case.launch(2, "abort.c").arg("error").arg("2").run_under(&under_run(case, &output));
    litter::sweep();
    assert_ne!(done.code, 0, "{}", done.stderr);
    if !["exit code", "signal"].iter().any(|how| done.stderr.contains(how)) {
        return println!("skipped: the kernel does not say how a process ended\n{}", done.stderr);
    }
    let by_library = done.lines_with("the MPI library ended the job in MPI_Bcast").len();
    let by_launcher = done.lines_with("the launcher ended the job with exit code").len();
    let expected = if case.mpi.library == "MPICH" { by_library + by_launcher } else { by_library };
    assert_eq!(expected, 1, "{}", done.stderr);
    assert!(!done.stderr.contains("when it ended"), "{}", done.stderr);
    assert!(!done.stderr.contains("ended first, signal 9"), "{}", done.stderr);
    let info = mpitrace(&["info".as_ref(), output.as_os_str()]);
    assert!(info.stdout.contains("ended the job"), "{}", info.stdout);
}

/// Asked to end, as by a time limit: `run` recovers what its job leaves, before it ends by itself.
fn ended(case: &Case) {
    let output = case.folder.join("x.mpitrace");
    let mut words = under_run(case, &output);
    words.extend(case.launch(2, "whereabouts.c").arg("long").command(&output));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).envs(case.mpi.environment.iter().map(|(name, value)| (name, value)));
    let run = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("mpitrace");
    // Until both are where they stay.
    for _ in 0..600 {
        let segments = case.segments.left();
        if segments.iter().filter(|name| !name.contains("-init-")).count() == 2 {
            break;
        }
        sleep(Duration::from_millis(100));
    }
    sleep(Duration::from_secs(2));
    // SAFETY: takes numbers; the child has not been waited for, so that the number is its.
    unsafe { libc::kill(run.id() as libc::pid_t, libc::SIGTERM) };
    let done = run.wait_with_output().expect("its end");
    litter::sweep();
    let stderr = String::from_utf8_lossy(&done.stderr);
    // The exit code is the launcher's: MPICH's ended with 0 in 8 of 12 untraced runs that were asked to end.
    assert!(case.mpi.library == "MPICH" || !done.status.success(), "{stderr}");
    assert_eq!(case.segments.left(), Vec::<String>::new(), "nothing is left:\n{stderr}");
    assert!(!Trace::new(output).info().complete);
    assert!(stderr.contains("rank 0 is in MPI_Barrier on MPI_COMM_WORLD"), "{stderr}");
}

fn without(case: &Case) {
    let output = case.folder.join("x.mpitrace");
    let mut words = under_run(case, &output);
    words.extend(["sh", "-c", "exit 3"].map(OsString::from));
    // Behind `env`, its variable and the companion.
    let finished = mpitrace(&words[3..]);
    assert_eq!((finished.code, finished.stderr.lines().count()), (3, 1), "{}", finished.stderr);
    assert!(finished.stderr.contains("no rank entered MPI_Init"), "{}", finished.stderr);
    // The tracer does not come through a script that preloads something else.
    let script = ["env", "LD_PRELOAD="].map(OsString::from);
    let replaced = case.launch(2, "repeat.c").behind(&script).run_under(&under_run(case, &output));
    assert_eq!(replaced.code, 0, "{}", replaced.stderr);
    assert_eq!(replaced.lines_with("a script that changes LD_PRELOAD").len(), 1, "{}", replaced.stderr);
}

fn listed(case: &Case) {
    // A number of a batch system that no launcher looks at.
    case.launch(2, "whereabouts.c").arg("barrier").arg("1").set("OAR_JOB_ID", "17").trace().run();
    litter::sweep();
    let list = |words: &[&str]| {
        let folder = case.segments.0.to_string_lossy().into_owned();
        let finished = mpitrace(&[&["recover", &*folder, "--list"], words].concat());
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        finished.stdout
    };
    assert_eq!(list(&[]).matches("has ended").count(), 2);
    let files: serde_json::Value = serde_json::from_str(&list(&["--json"])).expect("JSON");
    for file in files["rows"].as_array().expect("a list") {
        assert_eq!((&file["job"], &file["world_size"], &file["lives"]), (&0.into(), &2.into(), &false.into()));
        assert!(file["bytes"].as_u64() > Some(4096), "{file}");
        let (began, written) = (file["began"].as_i64().expect("s"), file["written"].as_i64().expect("s"));
        assert!(began > 1_700_000_000 && written >= began, "{file}");
    }
    assert_eq!(list(&["--job", "17"]).matches("has ended").count(), 2);
    let output = case.folder.join("other.mpitrace");
    let words = ["recover".as_ref(), case.segments.0.as_os_str(), "--job".as_ref(), "18".as_ref(), "-o".as_ref()];
    let other = mpitrace(&[&words, &[output.as_os_str()][..]].concat());
    assert_eq!((other.code, output.exists()), (2, false), "those of job 17 stay: {}", other.stderr);
    // Nor is job 18 waited for while a rank of job 17 runs: it has a lock, which is all that tells it.
    // That of rank 1: what rank 0 has recorded names the job, and it is read of ranks that have ended.
    let of_rank_1 = files["rows"].as_array().expect("a list").iter().find(|file| file["rank"] == 1);
    let segment = of_rank_1.and_then(|file| file["file"].as_str()).expect("a file").to_owned();
    let held = File::options().write(true).open(segment).expect("a segment");
    lock(&held, false).expect("no process has it");
    assert_eq!(list(&["--job", "17"]).matches("runs").count(), 1);
    let other = mpitrace(&[&words, &[output.as_os_str()][..]].concat());
    assert!(other.code == 2 && other.stderr.contains("18: no such job is left here"), "{}", other.stderr);
    drop(held);
    let info = case.recover().info();
    assert_eq!((info.ranks, info.complete), (2, false));
}
