//! The templates of packaging/ci: their steps are read from the files and executed, but for the installation, which
//! needs the network, and the checkout, which the test makes itself.

use crate::support::{Case, On, Test, binaries, build, process, root};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    Test::new("of_github_run_the_gate_and_warn_where_it_does_not_decide", github).on(On::Only(&["ompi4", "mpich4"])),
    Test::new("of_gitlab_run_the_gate_on_a_merge_request", gitlab).on(On::Only(&["ompi4", "mpich4"])),
];

/// The text of a template.
fn template(name: &str) -> String {
    fs::read_to_string(root().join("packaging/ci").join(name)).expect("the template")
}

/// The lines below the one that is `head`, as far as they are indented more, without that indentation.
fn block(text: &str, head: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines = text.lines().skip_while(|line| line.trim() != head);
    let first = indent(lines.next().unwrap_or_else(|| panic!("no {head} in the template")));
    let inner: Vec<&str> = lines.take_while(|line| line.trim().is_empty() || indent(line) > first).collect();
    let least = inner.iter().filter(|line| !line.trim().is_empty()).map(|line| indent(line)).min().unwrap_or(0);
    inner.iter().map(|line| line.get(least..).unwrap_or_default().to_owned()).collect()
}

/// The script of the step of this name of GitHub's template.
fn step(text: &str, name: &str) -> String {
    let from = text.find(&format!("- name: {name}")).unwrap_or_else(|| panic!("no step {name}"));
    block(&text[from..], "run: |").join("\n")
}

/// A folder with programs that stand for those which the template installs: `mpitrace`, which makes few runs, and
/// `pip`.
fn installed(case: &Case) -> PathBuf {
    let folder = case.folder.join("bin");
    fs::create_dir_all(&folder).expect("a folder");
    let mpitrace = format!(
        "#!/bin/sh\n[ \"$1\" = gate ] && {{ shift; set -- gate --runs 2 \"$@\"; }}\nexec '{}' \"$@\"\n",
        binaries::companion().display()
    );
    for (name, text) in [("mpitrace", mpitrace.as_str()), ("pip", "#!/bin/sh\necho \"pip $*\"\n")] {
        let path = folder.join(name);
        fs::write(&path, text).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a script that can be run");
    }
    folder
}

/// Sources whose Makefile has the program.
fn sources(case: &Case, folder: &Path) {
    fs::create_dir_all(folder).expect("a folder");
    let program = build::program(case.mpi, "repeat.c");
    fs::write(folder.join("Makefile"), format!("app:\n\tcp '{}' app\n", program.display())).expect("a file");
}

/// Executes a script in the folder of the test, as the service would: it ends with the first command that fails.
fn execute(case: &Case, name: &str, script: &str, variables: &[(&str, &str)]) -> process::Finished {
    let launcher: Vec<String> = case.mpi.launcher.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut command = Command::new("bash");
    command.args(["-e", "-o", "pipefail", "-c", script]).current_dir(&case.folder);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", installed(case).display()));
    command.env("XDG_CACHE_HOME", case.folder.join("cache"));
    command.env("BUILD", "make").env("RUN", format!("{} -np 2 ./app 10", launcher.join(" ")));
    command.env("MPITRACE_WHEEL", "mpitrace.whl").envs(variables.iter().copied());
    process::run(command, &case.folder.join(name), Duration::from_secs(120))
}

fn github(case: &Case) {
    let text = template("github.yml");
    // actions/checkout: the paths that the template names.
    for path in ["old", "new"] {
        assert!(text.contains(&format!("path: {path}\n")), "{text}");
        sources(case, &case.folder.join(path));
    }
    let built = execute(case, "build", &step(&text, "Build both"), &[]);
    assert_eq!(built.code, 0, "{}", built.stderr);
    let command = fs::read_to_string(case.folder.join("baseline/command")).expect("the baseline");
    assert!(command.contains(&format!("{}/old/app 10", case.folder.display())), "{command}");
    let summary = case.folder.join("step-summary");
    let gate = step(&text, "Gate");
    let found = execute(case, "gate", &gate, &[("GITHUB_STEP_SUMMARY", &summary.to_string_lossy())]);
    // So few runs do not decide.
    assert_eq!(found.code, 3, "{}\n{}", found.stdout, found.stderr);
    assert!(found.stdout.contains("::warning::mpitrace gate: not decided"), "{}", found.stdout);
    let summary = fs::read_to_string(summary).expect("the summary");
    assert!(summary.starts_with("### mpitrace gate: not-decided\n"), "{summary}");
    // What the template uploads.
    assert!(text.contains("path: mpitrace-gate\n") && case.folder.join("mpitrace-gate/junit.xml").exists());
}

fn gitlab(case: &Case) {
    let text = template("gitlab.yml");
    let git = |words: &[&str]| {
        let name = ["-c", "user.name=test", "-c", "user.email=test@example.org"];
        let output = Command::new("git").args(name).args(words).current_dir(&case.folder).output().expect("git");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    sources(case, &case.folder);
    git(&["init", "-q", "."]);
    git(&["add", "Makefile"]);
    git(&["commit", "-q", "-m", "old"]);
    let base = git(&["rev-parse", "HEAD"]);
    let script: Vec<String> =
        block(&text, "script:").iter().map(|line| line.trim_start_matches("- ").to_owned()).collect();
    let found = execute(case, "script", &script.join("\n"), &[("CI_MERGE_REQUEST_DIFF_BASE_SHA", &base)]);
    // The template lets a job with this code be orange.
    assert!(text.contains("exit_codes: 3\n"), "{text}");
    assert_eq!(found.code, 3, "{}\n{}", found.stdout, found.stderr);
    assert!(found.stdout.contains("pip install mpitrace.whl"), "{}", found.stdout);
    let command = fs::read_to_string(case.folder.join("baseline/command")).expect("the baseline");
    assert!(command.contains(&format!("{}/old/app 10", case.folder.display())), "{command}");
    assert!(text.contains("junit: mpitrace-gate/junit.xml") && case.folder.join("mpitrace-gate/junit.xml").exists());
}
