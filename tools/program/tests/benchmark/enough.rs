//! `mpitrace benchmark enough`: how many repetitions and runs are enough.

use mpitrace_testing::Random;
use mpitrace_testing::synthetic::SyntheticRank;
use serde_json::{Value, json};

use crate::support::{Folder, mpitrace};
use crate::traces::trace;

fn enough(folder: &Folder, ranks: &[SyntheticRank], more: &[&str]) -> Value {
    let ran = mpitrace(&[&["benchmark", "enough", "--json", &folder.trace(ranks)], more].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    ran.json()[0].clone()
}

#[test]
fn no_number_of_repetitions_beats_the_step_of_the_clock() {
    let folder = Folder::new();
    let found = enough(&folder, &trace(500, |_, i| 200 + 10 * ((i * 7) % 5)), &[]);
    assert_eq!(found["median"]["repetitions"], json!(null));
    assert!(found["mean"]["repetitions"].as_u64().is_some(), "{found}");
}

#[test]
fn more_runs_tell_how_many_are_enough() {
    let folder = Folder::new();
    let first = folder.trace(&trace(50, |_, i| 1000 + i));
    let second = folder.path("second.mpitrace");
    std::fs::rename(&first, &second).unwrap();
    let first = folder.trace(&trace(50, |_, i| 1100 + i));
    let found = mpitrace(&["benchmark", "enough", "--json", &first, "--runs", &second]).json();
    let runs = &found[0]["runs"];
    assert_eq!(runs["median_ns"], json!([1124.5, 1024.5]));
    // Student's t at 0.975: 100 / sqrt(2) is 6.6 % of the mean, and 1 % of it takes (1.974 x 6.581)^2 = 168.8 runs.
    assert_eq!(runs["runs"], 169);
    // The file itself, and one that comes twice, are no further runs.
    let again = mpitrace(&["benchmark", "enough", "--json", &first, "--runs", &first, &second, &second]).json();
    assert_eq!(&again[0]["runs"], runs);
    assert_eq!(mpitrace(&["benchmark", "enough", "--json", &first, "--runs", &first]).json()[0]["runs"], json!(null));
    assert_eq!(mpitrace(&["benchmark", "enough", "--json", &first]).json()[0]["runs"], json!(null));
}

#[test]
fn a_stopping_rule_is_followed_to_where_a_program_would_have_stopped() {
    let folder = Folder::new();
    let mut random = Random::new(7);
    let ranks = trace(2000, |rank, i| {
        let level = if i < 30 { 20_000.0 } else { 10_000.0 };
        (level * (0.03 * random.normal()).exp()) as u64 / (1 + u64::from(rank))
    });
    let of = |more: &[&str]| enough(&folder, &ranks, more)["stopping"].clone();
    assert_eq!(of(&[]), json!(null));
    let found = of(&["--stopping", "100,1500", "--half-width", "0.01"]);
    assert_eq!((&found["enough"], &found["class"], &found["warmup_end"]), (&json!(true), &json!("warmup"), &json!(30)));
    let (stop, looked_at) = (found["repetitions"].as_u64().unwrap(), found["looked_at"].as_u64().unwrap());
    assert!((100..1000).contains(&stop) && looked_at == stop, "{found}");
    assert!(found["error"].as_f64().unwrap() <= 0.01, "{found}");
    // The median of the good ones, whatever came before.
    assert!((9_700.0..10_300.0).contains(&found["median_ns"].as_f64().unwrap()), "{found}");
    let most = of(&["--stopping", "100,150", "--half-width", "0.0001"]);
    assert_eq!((&most["repetitions"], &most["enough"]), (&json!(150), &json!(false)));
    let more = of(&["--stopping", "100,5000", "--half-width", "0.0001"]);
    assert_eq!((&more["repetitions"], &more["enough"]), (&json!(null), &json!(false)));
    let page =
        mpitrace(&["benchmark", "enough", &folder.trace(&ranks), "--operation", "0", "--stopping", "100,1500"]).stdout;
    assert!(page.contains(&format!("stopping rule: stops after {stop} of 100 to 1500, error ")), "{page}");
    let levels = looked_at / 10;
    assert_eq!(found["longest_level"], json!(levels));
    assert!(page.contains(&format!(", if no level lasts longer than {levels} repetitions\n")), "{page}");
}
