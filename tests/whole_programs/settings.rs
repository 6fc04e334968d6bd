//! The variables that the tracer reads, and what it says.

use crate::support::companion::mpitrace;
use crate::support::{Case, Test, binaries};
use std::fs;

pub const TESTS: &[Test] = &[
    Test::new("disable_writes_nothing", disable),
    Test::new("unknown_names_are_named_once", unknown_name),
    Test::new("unreadable_values_are_named_once", unreadable_value),
    Test::new("removed_settings_are_named_once_and_refused_by_run", removed),
    Test::new("verbose_0_is_silent_and_1_is_one_line", verbose),
    Test::new("command_lines_and_variables_stay_out_of_the_trace_where_they_are_asked_to", left_out),
    Test::new("segment_folder_that_cannot_be_used_is_said_once", no_segment_folder),
];

fn disable(case: &Case) {
    let plain = case.launch(2, "repeat.c").run();
    let disabled = case.launch(2, "repeat.c").set("MPITRACE_DISABLE", "1").trace().run();
    disabled.same_as(&plain);
    assert!(!disabled.trace.path.exists());
    assert!(disabled.lines_with("mpitrace").is_empty(), "{}", disabled.stderr);
}

/// The program runs on and is traced, and exactly one line names what is wrong.
fn warned(case: &Case, name: &str, value: &str) {
    let plain = case.launch(2, "repeat.c").run();
    let warned = case.launch(2, "repeat.c").set(name, value).trace().run();
    warned.same_as(&plain);
    assert_eq!(warned.lines_with(name).len(), 1, "one line about {name}={value}:\n{}", warned.stderr);
    let info = warned.trace.info();
    assert_eq!((info.complete, info.records), (true, 20));
}

fn unknown_name(case: &Case) {
    warned(case, "MPITRACE_FOO", "1");
}

fn unreadable_value(case: &Case) {
    for (name, value) in [("MPITRACE_CAPACITY", "abc"), ("MPITRACE_CAPACITY", "-5"), ("MPITRACE_KEEP", "maybe")] {
        warned(case, name, value);
    }
}

fn removed(case: &Case) {
    for (name, value, way) in [("MPITRACE_FULL", "ring", "MPITRACE_OUTPUT_MAX"), ("MPITRACE_STUCK", "60", "--stuck")] {
        warned(case, name, value);
        let variable = format!("{name}={value}").into();
        let run = ["env".into(), variable, binaries::companion().into(), "run".into(), "--".into()];
        let refused = case.launch(2, "repeat.c").run_under(&run);
        let said = refused.lines_with(name);
        assert_eq!((refused.code, said.len()), (2, 1), "{}", refused.stderr);
        assert!(said[0].contains(way) && refused.stdout.is_empty(), "{}", refused.stderr);
    }
}

/// The trace holds arguments and variables, unless MPITRACE_COMMAND and MPITRACE_ENVIRONMENT leave them out.
fn left_out(case: &Case) {
    let holds = |settings: &[(&str, &str)]| {
        let launch = case
            .launch(2, "repeat.c")
            .arg("10")
            .arg("0")
            .arg("an-argument")
            .set("OMP_KEPT", "a-variable")
            .set("OMP_LEFT", "another");
        let launch = settings.iter().fold(launch, |launch, (name, value)| launch.set(name, value));
        let outcome = launch.trace().run();
        assert_eq!((outcome.code, outcome.trace.info().records), (0, 20), "{}", outcome.stderr);
        let bytes = fs::read(&outcome.trace.path).expect("a trace");
        let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        let info = mpitrace(&["info".as_ref(), outcome.trace.path.as_os_str(), "--json".as_ref()]).stdout;
        let variables = ["\"env.OMP_KEPT\"", "\"env.OMP_LEFT\""].map(|name| info.contains(name));
        // The values are arguments of the launcher too.
        (has("repeat"), has("an-argument"), variables, [has("a-variable"), has("another")])
    };
    let all = [true, true];
    assert_eq!(holds(&[]), (true, true, all, all));
    assert_eq!(holds(&[("MPITRACE_COMMAND", "0")]), (true, false, all, all));
    assert_eq!(holds(&[("MPITRACE_ENVIRONMENT", "OMP_KEPT, HOME_*")]).2, [true, false]);
    let kept = [true, false];
    let settings = [("MPITRACE_ENVIRONMENT", "OMP_K*"), ("MPITRACE_COMMAND", "0")];
    assert_eq!(holds(&settings), (true, false, kept, kept));
    let settings = [("MPITRACE_ENVIRONMENT", "0"), ("MPITRACE_COMMAND", "0")];
    assert_eq!(holds(&settings), (true, false, [false, false], [false, false]));
}

fn verbose(case: &Case) {
    let plain = case.launch(2, "repeat.c").run();
    for (level, lines) in [("0", 0), ("1", 1)] {
        let traced = case.launch(2, "repeat.c").set("MPITRACE_VERBOSE", level).trace().run();
        traced.same_as(&plain);
        assert_eq!(traced.lines_with("mpitrace").len(), lines, "at level {level}:\n{}", traced.stderr);
        assert!(traced.trace.info().complete);
    }
}

/// Then the records lie elsewhere, which is worth one line, and the trace is as good as ever.
fn no_segment_folder(case: &Case) {
    let file = case.folder.join("file");
    fs::write(&file, "").expect("a file where a folder is asked for");
    let plain = case.launch(2, "repeat.c").run();
    let unusable = file.join("below");
    let traced = case.launch(2, "repeat.c").set("MPITRACE_SEGMENT_DIR", &unusable).trace().run();
    traced.same_as(&plain);
    let said = traced.lines_with(&unusable.display().to_string());
    assert_eq!(said.len(), 1, "one line that names the folder:\n{}", traced.stderr);
    let info = traced.trace.info();
    assert_eq!((info.complete, info.records), (true, 20));
}
