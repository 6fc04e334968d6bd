//! `mpitrace jobs --why`: why the runs of a program differ.

use std::fs;
use std::path::Path;

use mpitrace_testing::Random;
use mpitrace_testing::synthetic::{self, SyntheticRank};
use serde_json::Value;

use super::support::{Folder, Ran, command};

#[track_caller]
fn why(folder: &Folder, options: &[&str]) -> Ran {
    let mut command = command(&["jobs", "--why"]);
    let output = command.args(options).arg(folder.path("traces")).env("XDG_CACHE_HOME", folder.path("cache")).output();
    let output = output.unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Writes runs of a program with two ranks on one of five nodes, with two libraries and three inputs in turns; those on
/// `slow` take 10 % longer, and all scatter by 1 %.
fn write(folder: &Folder, runs: usize, slow: &str) {
    fs::create_dir_all(folder.path("traces")).unwrap();
    let mut random = Random::new(5);
    for number in 0..runs {
        let node = format!("n{}", random.bits() % 5);
        let by = (0.01 * random.normal()).exp() * if node == slow { 1.1 } else { 1.0 };
        let (library, input) = (["5.0.6", "5.0.7"][number % 2], random.bits() % 3);
        let hour = random.bits() % 24;
        let ranks = [0, 1].map(|rank| {
            let mut of = SyntheticRank::new(rank, 2);
            let mut know = |name: &str, value: &str| of.metadata.push((name.to_owned(), value.to_owned()));
            know("host", &node);
            know("command", &format!("/opt/solver -n {input}"));
            know("library", library);
            know("start_time", &format!("2026-11-{:02}T{hour:02}:30:00Z", 1 + number % 28));
            let barrier = of.operation("MPI_Barrier", 0, 0);
            of.call(barrier, ((9e8 + 5e7 * f64::from(rank)) * by) as u64, (1e9 * by) as u64);
            of
        });
        synthetic::write(Path::new(&folder.path(&format!("traces/{number}.mpitrace"))), &ranks).unwrap();
    }
}

#[test]
fn the_slow_node_explains_the_variance_and_nothing_else_does() {
    let folder = Folder::new();
    write(&folder, 80, "n3");
    let found = why(&folder, &["--json"]).json();
    let [of] = &found.as_array().unwrap()[..] else { panic!("{found}") };
    assert_eq!(
        (&of["program"], &of["ranks"], &of["nodes"], &of["runs"]),
        (&"solver".into(), &2.into(), &1.into(), &80.into())
    );
    let factors = of["factors"].as_array().unwrap();
    let causes: Vec<&Value> = factors.iter().filter(|factor| factor["is_cause"] == true).collect();
    let [node] = &causes[..] else { panic!("{of}") };
    assert_eq!(
        (&node["factor"], &node["contrast"]["value"], &node["values"]),
        (&"node".into(), &"n3".into(), &5.into())
    );
    let longer = node["contrast"]["longer"]["value"].as_f64().unwrap();
    assert!((longer - 0.1).abs() < 0.02 && node["share"].as_f64() > Some(0.7), "{node}");
    let names: Vec<&str> = factors.iter().filter_map(|factor| factor["factor"].as_str()).collect();
    for name in ["start time", "library", "arguments"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let text = why(&folder, &[]).stdout;
    let sentence = of["sentence"].as_str().unwrap();
    assert!(sentence.contains("with n3 take ") && sentence.contains("longer"), "{sentence}");
    assert!(text.starts_with(sentence) && text.contains("largest contrast"), "{text}");
}

#[test]
fn runs_that_differ_by_chance_or_are_few_have_no_reason() {
    let folder = Folder::new();
    write(&folder, 40, "none");
    let text = why(&folder, &[]).stdout;
    assert!(text.contains("no factor explains more of that than chance would"), "{text}");
    let few = Folder::new();
    write(&few, 8, "n3");
    let text = why(&few, &[]).stdout;
    assert!(text.starts_with("No program has 12 runs or more"), "{text}");
    assert_eq!(why(&few, &["--json"]).json(), serde_json::json!([]));
    let both = why(&few, &["--by", "node"]);
    assert_eq!((both.code, both.stdout.as_str()), (2, ""), "{}", both.stderr);
}
