//! `mpitrace scale`: a program whose work is sleep, on 1 to 8 ranks.

use crate::support::companion::{self, assert_refused};
use crate::support::{Case, Test};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

pub const TESTS: &[Test] = &[
    Test::new("a_program_that_sleeps_scales_as_its_law_says", strong),
    Test::new("each_rank_with_work_of_its_own_is_weak_scaling", weak),
];

/// Runs the program so often on so many ranks, and keeps the traces.
fn runs(case: &Case, mode: &str, ranks: u32, times: usize) -> Vec<PathBuf> {
    let run = |number: usize| {
        let trace = case.launch(ranks, "scaled.c").arg(mode).trace().run().trace;
        let kept = case.folder.join(format!("{mode}-{ranks}-{number}.mpitrace"));
        fs::copy(&trace.path, &kept).expect("a copy");
        kept
    };
    (0..times).map(run).collect()
}

fn scale(files: &[PathBuf], options: &[&str]) -> Value {
    let words: Vec<OsString> = ["scale", "--json"].iter().chain(options).map(OsString::from).collect();
    let words: Vec<OsString> = words.into_iter().chain(files.iter().map(OsString::from)).collect();
    companion::json(&companion::mpitrace(&words))
}

fn strong(case: &Case) {
    let small: Vec<PathBuf> = [1, 2, 4].into_iter().flat_map(|ranks| runs(case, "strong", ranks, 3)).collect();
    let eight = runs(case, "strong", 8, 3);
    let found = scale(&small, &[]);
    assert_eq!(found["mode"], "strong", "{found}");
    assert!(found["program"].as_str().is_some_and(|name| name.starts_with("scaled")), "{found}");
    let of_levels = |key: &str| -> Vec<f64> {
        let levels = found["levels"].as_array().expect("levels").iter();
        levels.map(|level| level[key]["value"].as_f64().expect("a number")).collect()
    };
    // Sleep takes at least as long as the law says, on a busy machine longer.
    for (seconds, law) in of_levels("seconds").into_iter().zip([2.2, 1.4, 1.3]) {
        assert!(seconds > 0.99 * law, "{seconds} s of {law} s: {found}");
    }
    // By the law it is useful for 2.2 of 2.2, 1.2 of 1.4 and 0.7 of 1.3 s.
    let parallel = of_levels("parallel_efficiency");
    assert!(parallel[0] > parallel[1] && parallel[0] > parallel[2] && parallel[2] < 0.8, "{parallel:?}");
    // The turns make others wait for longer and longer.
    let prediction = &found["prediction"];
    let limit = &found["parts"][prediction["limits"][0]["part"].as_u64().expect("a part") as usize]["part"];
    assert_eq!((&limit["kind"], &limit["function"]), (&"waiting".into(), &"MPI_Barrier".into()), "{found}");
    // On 8 ranks the law has 1.85 s: beyond what 4 take, where the work alone would be faster.
    let all = scale(&[small, eight].concat(), &[]);
    let eight = all["levels"][3]["seconds"]["value"].as_f64().expect("a number");
    assert!(eight > 1.84, "{all}");
    // Where ranks spin on fewer processors than they are, what they wait for comes later and later: so no upper end.
    let low = prediction["seconds"]["interval"][0].as_f64().expect("an interval");
    assert!(prediction["ranks"] == 8 && low < 1.15 * eight, "{eight} s on 8 ranks; {prediction}");
}

fn weak(case: &Case) {
    let files: Vec<PathBuf> = [1, 2, 4].into_iter().flat_map(|ranks| runs(case, "weak", ranks, 2)).collect();
    let found = scale(&files, &["--mode", "weak"]);
    let speedup = |at: usize| found["levels"][at]["speedup"]["value"].as_f64().expect("a number");
    // By the law 0.6, 0.8 and 1.2 s: scaled speedups of 1.5 and 2.
    assert!(speedup(2) > 0.0 && speedup(2) < 3.0 && speedup(0) == 1.0, "{found}");
    let picture = case.folder.join("scaling.svg");
    let mut words: Vec<OsString> = ["scale", "--mode", "weak", "-o"].iter().map(OsString::from).collect();
    words.push(picture.clone().into());
    words.extend(files.iter().map(OsString::from));
    assert_eq!(companion::mpitrace(&words).code, 0);
    assert!(fs::read_to_string(picture).expect("a picture").starts_with("<svg"));
    let one: Vec<OsString> =
        [&OsString::from("scale"), &files[0].clone().into(), &files[1].clone().into()].into_iter().cloned().collect();
    assert_refused(&companion::mpitrace(&one), "runs on one number of ranks");
}
