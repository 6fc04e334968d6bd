//! Samples of the ranks: `mpitrace run --sample`.

use crate::stacks::frame;
use crate::support::binaries::companion;
use crate::support::build::source;
use crate::support::{Case, On, Outcome, Test, companion as tool};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

pub const TESTS: &[Test] = &[
    Test::new("are_as_many_as_the_processor_time_of_code_in_the_kernel_and_outside", hot).on(On::Only(&["ompi4"])),
    Test::new("are_taken_of_a_plain_user_without_those_of_the_kernel", plain).on(On::Only(&["mpich4"])),
    Test::new("of_a_job_that_was_killed_are_kept", killed).on(On::Only(&["mpich4"])).second_tier(),
    Test::new("alone_name_the_cause_of_the_warm_up_of_the_tutorial", tutorial)
        .on(On::Only(&["ompi4", "mpich4"]))
        .second_tier(),
    Test::new("of_python_name_the_function_that_runs_and_no_other", python).on(On::Python),
];

/// Samples a second, in hot.c.
const HZ: f64 = 2000.0;
/// Tries of a program whose slow repetitions take some us: a busy machine may hide them.
const TRIES: usize = 8;

/// hot.c under `mpitrace run --sample`, behind these words.
fn sampled(case: &Case, how: &str, before: &[&str], output: &Path) -> Outcome {
    let mut words: Vec<OsString> = before.iter().map(OsString::from).collect();
    words.extend([
        companion().into(),
        "run".into(),
        "--sample".into(),
        HZ.to_string().into(),
        "-o".into(),
        output.into(),
    ]);
    words.push("--".into());
    case.launch(2, "hot.c").arg(how).run_under(&words)
}

/// hot.py: what is called in zlib is the truth.
fn python(case: &Case) {
    // Where the observer waits for a processor it has fewer names; it has no wrong one.
    let has_names = |number| named_in_python(case, number).into_iter().all(|share| share > 0.9);
    assert!((0..TRIES).any(has_names), "names are missing in each of {TRIES} runs");
}

/// The shares of the samples of two functions that have their name, in a run of hot.py.
fn named_in_python(case: &Case, number: usize) -> [f64; 2] {
    let (output, folded) =
        (case.folder.join(format!("python{number}.mpitrace")), case.folder.join(format!("{number}.folded")));
    let words = ["run", "--sample", "2000", "-o"].map(OsString::from);
    let words = [&[companion().into()], &words[..], &[output.clone().into(), "--".into()]].concat();
    let outcome = case.launch(2, "hot.py").run_under(&words);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let words = ["export", "--format", "folded", "-o"].map(OsString::from);
    assert_eq!(tool::mpitrace(&[&words[..], &[folded.clone().into(), output.into()]].concat()).code, 0);
    let text = fs::read_to_string(&folded).expect("folded stacks");
    lines_are_of_their_functions(&text);
    callers_have_called(&text);
    let mut shares = [0.0; 2];
    for (at, (called, name)) in [("crc32", "crc (hot.py"), ("adler32", "adler (hot.py")].into_iter().enumerate() {
        for caller in ["in_one_loop (hot.py", "in_loops_of_their_own (hot.py"] {
            assert!(text.lines().any(|line| line.contains(caller)), "no {caller} in {text}");
        }
        let (mut all, mut named) = (0, 0);
        // Intel MPI inflates its settings itself.
        for line in text.lines().filter(|line| !line.contains(";MPI_Init_thread;")) {
            let (stack, samples) = line.rsplit_once(' ').expect("a stack and a number");
            let frames: Vec<&str> = stack.split(';').collect();
            let Some(truth) = frames.iter().position(|frame| frame.contains(called)) else { continue };
            let of_python = |frame: &&&str| frame.contains("(hot.py") || **frame == "[python]";
            let found = frames[..truth].iter().rev().find(of_python);
            let samples: u32 = samples.parse().expect("a number");
            all += samples;
            let is_named = found.is_some_and(|frame| frame.starts_with(name));
            named += if is_named { samples } else { 0 };
            assert!(is_named || [Some(&"[python]"), None].contains(&found), "{stack}");
        }
        println!("{named} of {all} samples of {called} have their function");
        assert!(all > 50, "{all} samples of {called}: {text}");
        shares[at] = f64::from(named) / f64::from(all);
    }
    shares
}

/// The lines of functions of hot.py in these stacks lie in the functions.
fn lines_are_of_their_functions(stacks: &str) {
    let source = fs::read_to_string(source("hot.py")).expect("hot.py");
    let mut known = 0;
    for frame in stacks.lines().flat_map(|line| line.split(';')) {
        let Some((function, rest)) = frame.split_once(" (hot.py:") else { continue };
        let line: usize = rest.split(')').next().and_then(|line| line.parse().ok()).expect("a line");
        let before: Vec<&str> = source.lines().take(line).collect();
        let last = before.iter().rev().find_map(|line| line.strip_prefix("def ")?.split('(').next());
        assert!(last == Some(function) || function == "<module>", "{frame} is in {last:?}");
        known += 1;
    }
    assert!(known > 0, "no lines in {stacks}");
}

/// The callers in these stacks of hot.py call what lies on them in the program; `main` is called by the module.
fn callers_have_called(stacks: &str) {
    let mut known = 0;
    for stack in stacks.lines() {
        let frames: Vec<&str> = stack.split(';').filter(|frame| frame.contains(" (hot.py")).collect();
        for pair in frames.windows(2) {
            let [caller, called] = [0, 1].map(|at| pair[at].split(" (hot.py").next().expect("a name"));
            let expected: &[&str] = match called {
                "main" => &["<module>"],
                "in_one_loop" | "in_loops_of_their_own" => &["main"],
                _ => &["in_one_loop", "in_loops_of_their_own"],
            };
            assert!(expected.contains(&caller), "{caller} calls {called}: {stack}");
            known += 1;
        }
    }
    println!("{known} callers");
}

fn tutorial(case: &Case) {
    let mut found = Vec::new();
    for number in 0..TRIES {
        let output = case.folder.join(format!("{number}.mpitrace"));
        let words =
            [companion().into(), "run".into(), "--sample".into(), "5000".into(), "-o".into(), output.clone().into()];
        let words = [&words[..], &["--".into()]].concat();
        let outcome = case.launch(2, "../../LD_PRELOAD-examples/warm_up.c").run_under(&words);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let of_run = frames(&output);
        let is_cause = |(frame, share, others): &(String, f64, f64)| {
            frame.contains("fill_slot (warm_up.c:") && *share > 0.4 && *others < 0.2
        };
        if of_run.iter().any(is_cause) {
            return;
        }
        found.push(of_run);
    }
    panic!("{found:?}");
}

/// The frames that `diagnose` finds in the slow half, with their shares.
fn frames(output: &Path) -> Vec<(String, f64, f64)> {
    let shown = tool::json(&tool::mpitrace(&["diagnose".as_ref(), output.as_os_str(), "--json".as_ref()]));
    let all = shown.as_array().expect("rows").iter().flat_map(|row| row["hot"].as_array().expect("groups").clone());
    let frames = all.flat_map(|group| group["frames"].as_array().expect("frames").clone());
    let share = |frame: &Value, key: &str| frame[key].as_f64().expect("a share");
    let text = |frame: &Value| frame["frame"].as_str().expect("a frame").to_owned();
    frames.map(|frame| (text(&frame), share(&frame, "share"), share(&frame, "share_others"))).collect()
}

/// How many samples in the calls of hot.c have all of these texts in their stacks.
fn count(case: &Case, output: &Path, texts: &[&str]) -> f64 {
    let folded = case.folder.join("x.folded");
    let words = ["export", "--format", "folded", "-o"].map(OsString::from);
    let exported = tool::mpitrace(&[&words[..], &[folded.clone().into(), output.into()]].concat());
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    let text = fs::read_to_string(&folded).expect("folded stacks");
    let of_calls = text.lines().filter(|line| line.starts_with("MPI_Allreduce (operation 0), "));
    let (mut all, mut found) = (0.0, 0.0);
    for (stack, samples) in of_calls.map(|line| line.rsplit_once(' ').expect("a stack and a number")) {
        let samples: f64 = samples.parse().expect("a number");
        all += samples;
        found += if texts.iter().all(|text| stack.contains(text)) { samples } else { 0.0 };
    }
    assert!(all > 0.0, "{text}");
    found
}

/// By the processor time of hot.c: 120 calls of 4 ms in slow code, as many of 0.5 ms in the other one, on each of two
/// ranks.
fn assert_sampled(case: &Case, output: &Path, slow: &str) {
    let [slow, fast] = [slow, "add (hot.c:"].map(|code| count(case, output, &["work (hot.c:", code]));
    let of = |ms: f64| 2.0 * 120.0 * ms / 1000.0 * HZ;
    assert!((slow / of(4.0) - 1.0).abs() < 0.2, "{slow} samples in slow code, {} expected", of(4.0));
    assert!((fast / of(0.5) - 1.0).abs() < 0.4, "{fast} samples in the other code, {} expected", of(0.5));
}

fn hot(case: &Case) {
    let slow = [("kernel", frame("touch", "hot.c", "touched")), ("user", frame("count_slowly", "hot.c", "counted"))];
    for (how, frame) in slow {
        let output = case.folder.join(format!("{how}.mpitrace"));
        let outcome = sampled(case, how, &[], &output);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let (function, _) = frame.split_once(' ').expect("a function and its line");
        assert_sampled(case, &output, function);
        let in_line = count(case, &output, &[&frame, if how == "kernel" { ";[kernel]" } else { "" }]);
        assert!(in_line > 0.5 * 2.0 * 120.0 * 0.004 * HZ, "{in_line} in {frame}");
    }
}

/// A user without capabilities, for whom time in the kernel is what is missing between samples.
fn plain(case: &Case) {
    // SAFETY: takes nothing and cannot fail.
    if unsafe { libc::getuid() } != 0 {
        // All tests are of a plain user then.
        return;
    }
    let drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--securebits=+noroot,+no_setuid_fixup"];
    let output = case.folder.join("plain.mpitrace");
    let outcome = sampled(case, "kernel", &drop, &output);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").expect("the level");
    if paranoid.trim().parse::<i32>().is_ok_and(|level| level > 2) {
        assert_eq!(outcome.lines_with("mpitrace: no samples: ").len(), 1, "{}", outcome.stderr);
        return;
    }
    assert_sampled(case, &output, "touch (hot.c:");
    let in_kernel = count(case, &output, &[&frame("touch", "hot.c", "touched"), ";[kernel]"]);
    assert!(in_kernel > 0.5 * 2.0 * 120.0 * 0.004 * HZ, "{in_kernel} below the line that touches memory");
}

fn killed(case: &Case) {
    let output = case.folder.join("killed.mpitrace");
    let outcome = sampled(case, "killed", &[], &output);
    assert!(outcome.stderr.contains("recovered into"), "{}", outcome.stderr);
    assert_sampled(case, &output, "touch (hot.c:");
}
