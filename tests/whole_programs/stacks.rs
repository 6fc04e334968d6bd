//! The stacks of ranks that do not go on, with source lines, and that nothing changes for a rank whose stack is taken.

use crate::broken::{jobs, mpitrace};
use crate::support::binaries::companion;
use crate::support::companion::json;
use crate::support::process::{self, Running};
use crate::support::{Case, On, Test, build, litter};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    Test::new("of_ranks_that_others_wait_for_have_lines_and_are_folded", folded).on(LIBRARIES),
    Test::new("of_a_rank_that_sleeps_and_one_that_computes_have_lines", outside).on(LIBRARIES).second_tier(),
    Test::new("of_a_fortran_program_have_lines", fortran).on(On::Fortran),
    Test::new("of_a_python_program_are_pythons", python).on(On::Python),
    Test::new("are_taken_without_any_change_for_the_rank", unchanged).on(On::Only(&["ompi4"])),
    Test::new("of_a_rank_under_a_debugger_are_left_alone", debugged).on(On::Only(&["mpich4"])),
    Test::new("may_be_read_by_others_only_where_the_user_asks", permission).on(On::Only(&["mpich4"])),
    Test::new("under_yama_are_read_by_run_or_where_the_user_asks", under_yama)
        .on(On::Only(&["mpich4"]))
        .where_permitted(yama),
    Test::new("are_in_the_trace_of_a_job_that_was_killed", killed).on(LIBRARIES),
    Test::new("of_a_killed_rank_under_a_debugger_are_not_there_for_this_reason", killed_under_a_debugger)
        .on(On::Only(&["mpich4"]))
        .second_tier(),
    Test::new("are_printed_by_run_where_a_rank_is_stuck", stuck).on(On::Only(&["mpich4"])).second_tier(),
    Test::new("a_watchdog_ends_with_the_verdict_and_runs_a_command", watchdog).on(On::Only(&["ompi4"])),
];

const LIBRARIES: On = On::Only(&["ompi4", "mpich4"]);
/// A verdict has to be there by then, on however busy a machine.
const LIMIT: Duration = Duration::from_secs(100);

/// `name (file:line)` of the line that ends in this mark.
pub fn frame(name: &str, file: &str, mark: &str) -> String {
    let text = fs::read_to_string(build::source(file)).expect("a program");
    let marks = [format!("/* {mark} */"), format!("! {mark}"), format!("# {mark}")];
    let is_marked = |line: &str| marks.iter().any(|mark| line.trim_end().trim_end_matches(" {").ends_with(mark));
    let number = 1 + text.lines().position(is_marked).unwrap_or_else(|| panic!("no {mark} in {file}"));
    format!("{name} ({file}:{number})")
}

/// The frames of stands.c.
fn stands(mark: &str) -> Vec<String> {
    let again = format!("{} [3 times]", frame("stand", "stands.c", "recursion"));
    vec![frame("main", "stands.c", "main"), again, frame("stand", "stands.c", mark)]
}

/// The first look with a verdict.
fn verdict(case: &Case, running: &mut Running, words: &[&str]) -> Value {
    verdict_on(case, running, words, 0)
}

/// The first look with a verdict that names at least so many ranks: a rank that comes to its call after the others is
/// not in the verdict on these.
fn verdict_on(case: &Case, running: &mut Running, words: &[&str], ranks: usize) -> Value {
    let started = Instant::now();
    loop {
        assert!(!running.has_ended() && started.elapsed() < LIMIT, "{}", running.stderr());
        if let Some(job) = jobs(case).pop() {
            let finished = mpitrace(case, &[&["watch", &job.job, "--once", "--json", "--stuck", "1"], words].concat());
            // On a busy machine a thread that gets no processor does not stop within the time that it may take.
            let is_read = !finished.stdout.contains("cannot be read");
            if finished.code == 1 && is_read {
                let look = json(&finished);
                if look["stuck"]["ranks"].as_array().is_some_and(|found| found.len() >= ranks) {
                    return look;
                }
            }
        }
        sleep(Duration::from_millis(100));
    }
}

fn end(case: &Case, running: Running) {
    let processes: Vec<u32> = jobs(case).iter().flat_map(|job| job.processes.clone()).collect();
    processes.iter().for_each(|&process| process::signal(process, libc::SIGKILL));
    drop(running);
    litter::sweep();
    case.segments.empty();
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().unwrap_or_else(|| panic!("{value}")).iter().filter_map(Value::as_str).collect()
}

fn stack(look: &Value, rank: u32) -> Vec<&str> {
    let stacks = look["stuck"]["stacks"].as_array().unwrap_or_else(|| panic!("{look:#}"));
    let of_rank = stacks.iter().find(|stack| stack["ranks"].as_array().is_some_and(|all| all.contains(&rank.into())));
    strings(&of_rank.unwrap_or_else(|| panic!("no stack of rank {rank}: {look:#}"))["frames"])
}

fn folded(case: &Case) {
    let mut running = case.launch(4, "stands.c").arg("recv").trace().start();
    let look = verdict_on(case, &mut running, &[], 4);
    let expected = [&stands("recv")[..], &["MPI_Recv".to_owned()]].concat();
    // Each of the cycle is waited for: rank 0 by the receives, the others by the barrier.
    let stacks = &look["stuck"]["stacks"];
    assert_eq!((&stacks[0]["ranks"], &stacks[1]["ranks"]), (&[0].into(), &[1, 2, 3].into()), "{look:#}");
    assert_eq!(strings(&stacks[1]["frames"]), expected);
    let look = verdict_on(case, &mut running, &["--stacks", "ranks"], 4);
    assert_eq!(stack(&look, 0), [&frame("main", "stands.c", "barrier"), "MPI_Barrier"]);
    assert_eq!(stack(&look, 3), expected);
    let look = verdict(case, &mut running, &["--stacks", "none"]);
    assert_eq!(look["stuck"]["stacks"], serde_json::json!([]));
    let job = jobs(case).pop().expect("the job").job;
    let line = format!("ranks 1-3: {}", expected.join(" > "));
    // A rank that gets no processor does not stand still in time, and has no stack.
    let screens = (0..10).map(|_| mpitrace(case, &["watch", &job, "--once", "--stuck", "1"]).stdout);
    let shown = |screen: &String| screen.lines().any(|found| found == line);
    assert!(screens.into_iter().any(|screen| shown(&screen)), "{line}");
    end(case, running);
}

fn outside(case: &Case) {
    for (how, ends) in [("sleep", &["sleep"][..]), ("spin", &[])] {
        let mut running = case.launch(2, "stands.c").arg(how).trace().start();
        let look = verdict(case, &mut running, &[]);
        let expected = [stands(how), ends.iter().map(|&name| name.to_owned()).collect()].concat();
        assert_eq!(stack(&look, 1), expected, "{look:#}");
        end(case, running);
    }
}

fn fortran(case: &Case) {
    let mut running = case.launch(2, "stands.f90").trace().start();
    let look = verdict(case, &mut running, &[]);
    let frames = stack(&look, 1);
    // The main program has a name of its own in some compilers' data.
    let expected = [frame("halo::exchange", "stands.f90", "recv"), "MPI_Recv".to_owned()];
    assert_eq!(frames[frames.len() - 2..], expected, "{look:#}");
    let main = frame("", "stands.f90", "main");
    assert!(frames.iter().any(|frame| frame.ends_with(&main)), "{frames:?}");
    end(case, running);
}

fn python(case: &Case) {
    let mut running = case.launch(2, "stands.py").trace().start();
    let look = verdict(case, &mut running, &[]);
    let names = [("<module>", "module"), ("main", "main"), ("Solver.step", "step"), ("Solver.exchange", "recv")];
    let mut expected: Vec<String> = names.iter().map(|(name, mark)| frame(name, "stands.py", mark)).collect();
    let frames: Vec<String> = stack(&look, 1).iter().map(|&frame| frame.to_owned()).collect();
    expected.push(frames.last().expect("frames").clone());
    assert_eq!(frames, expected, "{look:#}");
    assert!(["MPI_Recv", "MPI_Mprobe"].contains(&frames[4].as_str()), "{frames:?}");
    end(case, running);
}

/// Runs of a program in which a look at it is tried.
const TRIES: usize = 10;

/// The result of each system call, and the time at which it returns, are the same; no signal is lost.
fn unchanged(case: &Case) {
    let plain = case.launch(2, "stands.c").arg("calls").run();
    assert!(!plain.stdout.contains("early") && plain.stdout.contains("signals: all\n"), "{}", plain.stdout);
    // A thread that enters a call while it is about to be stopped, since it was seen running, can have that call ended.
    // Seen in one of three runs of all tests: so one run of these may differ, and no second one.
    let mut ended_a_call = 0;
    // On a busy machine the program can end before the first look at it does.
    let looked_at = (0..TRIES).any(|_| {
        let mut running = case.launch(2, "stands.c").arg("calls").trace().start();
        let mut taken = 0;
        while !running.has_ended() {
            if let Some(job) = jobs(case).pop() {
                let words = ["watch", &job.job, "--once", "--json", "--stuck", "0.1", "--stacks", "threads"];
                taken += u32::from(mpitrace(case, &words).stdout.contains("stands.c"));
            }
        }
        println!("{taken} looks with stacks\n{}", running.stdout());
        if ended_a_call == 0 && running.stdout() != plain.stdout {
            ended_a_call += 1;
            return false;
        }
        assert_eq!(running.stdout(), plain.stdout);
        taken > 0
    });
    assert!(looked_at, "no look in {TRIES} runs");
}

fn debugged(case: &Case) {
    let mut running = case.launch(2, "stands.c").arg("recv").trace().start();
    verdict(case, &mut running, &["--stacks", "none"]);
    let pid = jobs(case).pop().expect("the job").processes[1];
    // SAFETY: takes numbers; this thread traces the process from now on, which is not stopped.
    assert_eq!(unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid as libc::pid_t, 0, 0) }, 0);
    let look = verdict(case, &mut running, &[]);
    let of_rank_1 = &look["stuck"]["stacks"][1];
    assert_eq!((&of_rank_1["ranks"], &of_rank_1["frames"]), (&[1].into(), &Value::Array(Vec::new())), "{look:#}");
    let why = format!("process {} debugs it", std::process::id());
    // The debugger is named by its thread.
    let found = of_rank_1["why_not"].as_str().unwrap_or_default().to_owned();
    assert!(found == why || found.ends_with(" debugs it"), "{found}");
    end(case, running);
}

/// Once for each rank, before MPI_Init returns. Debian's MPICH 4 sets nothing of its own.
fn permission(case: &Case) {
    for (value, times) in [("0", 0), ("1", 2)] {
        let ptracer = build::shared_library(case.mpi, "ptracer.c");
        let launch = case.launch(2, "counts.c").preload(ptracer).set("MPITRACE_STACKS", value).trace();
        let outcome = launch.run();
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert_eq!(outcome.stderr.matches("PR_SET_PTRACER -1\n").count(), times, "{value}: {}", outcome.stderr);
    }
}

/// Yama keeps processes that are no ancestors from reading ranks, but not those with the capability.
fn yama() -> Result<(), String> {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").map_err(|_| "the kernel has no Yama")?;
    // SAFETY: takes nothing and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    match (scope.trim(), is_root) {
        ("1", false) => Ok(()),
        ("1", true) => Err("root may read all processes, whatever Yama says".to_owned()),
        (scope, _) => Err(format!("Yama's ptrace_scope is {scope} and not 1")),
    }
}

fn under_yama(case: &Case) {
    for (asked, is_read) in [("", false), ("1", true)] {
        let launch = case.launch(2, "stands.c").arg("recv").set("MPITRACE_STACKS", asked).trace();
        let mut running = launch.start();
        let look = verdict(case, &mut running, &[]);
        let text = look["stuck"]["stacks"].to_string();
        assert_eq!((text.contains("MPI_Recv"), text.contains("ptrace_scope 1")), (is_read, !is_read), "{look:#}");
        end(case, running);
    }
    // The ancestor of the ranks.
    killed(case);
}

/// `mpitrace run` of stands.c into this trace, with these options.
fn under_run(case: &Case, output: &Path, options: &[&str]) -> Running {
    let segments = format!("MPITRACE_SEGMENT_DIR={}", case.segments.0.display());
    let mut words: Vec<OsString> = vec!["env".into(), segments.into(), companion().into()];
    words.extend(["run".into(), "-o".into(), output.into()]);
    words.extend(options.iter().map(OsString::from));
    words.push("--".into());
    words.extend(case.launch(2, "stands.c").arg("recv").command(output));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).envs(case.mpi.environment.iter().map(|(name, value)| (name, value)));
    Running::start(command, &case.folder.join("under-run"), LIMIT)
}

/// Asked to end, as by a time limit: the stacks are taken before the job is.
fn killed(case: &Case) {
    let (output, stderr) = (0..5)
        .map(|number| {
            let output = case.folder.join(format!("x{number}.mpitrace"));
            let mut running = under_run(case, &output, &[]);
            verdict(case, &mut running, &["--stacks", "none"]);
            (output, ask_to_end(&mut running))
        })
        // On a busy machine a thread that gets no processor does not stop within the time that it may take.
        .find(|(_, stderr)| !stderr.contains(": no stack: it did not stop"))
        .expect("a job whose ranks stopped");
    let line = format!("rank 1: {} > MPI_Recv", stands("recv").join(" > "));
    assert!(stderr.lines().any(|found| found == format!("mpitrace: {line}")), "{line}\n{stderr}");
    let info = json(&mpitrace(case, &["info", "--json", &output.display().to_string()]));
    assert_eq!(stack(&info, 1).last(), Some(&"MPI_Recv"), "{info:#}");
    assert_eq!(stack(&info, 0), [&frame("main", "stands.c", "barrier"), "MPI_Barrier"]);
}

/// Asks `mpitrace run` to end, and waits for that: its lines.
fn ask_to_end(running: &mut Running) -> String {
    process::signal(running.id(), libc::SIGTERM);
    while !running.has_ended() {
        sleep(Duration::from_millis(20));
    }
    litter::sweep();
    running.stderr()
}

fn killed_under_a_debugger(case: &Case) {
    let output = case.folder.join("x.mpitrace");
    let mut running = under_run(case, &output, &[]);
    verdict(case, &mut running, &["--stacks", "none"]);
    let pid = jobs(case).pop().expect("the job").processes[1];
    let mut strace =
        Command::new("strace").args(["-q", "-o", "/dev/null", "-p", &pid.to_string()]).spawn().expect("strace");
    while !fs::read_to_string(format!("/proc/{pid}/status"))
        .expect("the rank")
        .contains(&format!("TracerPid:\t{}", strace.id()))
    {
        sleep(Duration::from_millis(20));
    }
    let stderr = ask_to_end(&mut running);
    strace.wait().expect("it ends with the rank");
    let line = format!("mpitrace: rank 1: no stack: process {} debugs it", strace.id());
    assert!(stderr.lines().any(|found| found == line), "{line}\n{stderr}");
}

fn stuck(case: &Case) {
    let output = case.folder.join("x.mpitrace");
    let mut running = under_run(case, &output, &["--stuck", "1"]);
    let line = format!("mpitrace: rank 1: {} > MPI_Recv", stands("recv").join(" > "));
    while !running.stderr().lines().any(|found| found == line) {
        assert!(!running.has_ended(), "{line}\n{}", running.stderr());
        sleep(Duration::from_millis(100));
    }
    end(case, running);
}

fn watchdog(case: &Case) {
    let running = case.launch(2, "stands.c").arg("recv").trace().start();
    let job = loop {
        match jobs(case).pop() {
            Some(job) if job.processes.len() == 2 => break job,
            _ => sleep(Duration::from_millis(100)),
        }
    };
    let kept = case.folder.join("verdict.json");
    let command = format!("cat > '{}'; kill {}", kept.display(), job.processes[1]);
    let words = ["watch", &job.job, "--until-stuck", "--stuck", "1", "--json", "--on-stuck", &command];
    let finished = mpitrace(case, &words);
    assert_eq!(finished.code, 1, "{}{}", finished.stdout, finished.stderr);
    assert_eq!(finished.stdout.lines().count(), fs::read_to_string(&kept).expect("the look").lines().count());
    assert_eq!(stack(&json(&finished), 1).last(), Some(&"MPI_Recv"));
    let read: Value = serde_json::from_slice(&fs::read(&kept).expect("the look")).expect("JSON");
    assert_eq!(read["stuck"]["ranks"], serde_json::json!([0, 1]), "the receive and the barrier are a cycle");
    end(case, running);
}
