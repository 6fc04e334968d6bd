//! The sentences about a job that hung and was ended: that no rank moved, for how long, and never more than all of its
//! time.

use crate::support::{Folder, command, mpitrace};
use mpitrace_format::layout::{Anchor, LastStamp, activity, state, wait_class};
use mpitrace_format::metadata;
use mpitrace_testing::synthetic::SyntheticRank;

const MS: u64 = 1_000_000;

/// Two ranks make calls for 1 s, of which they are in messages for 400 ms, and wait for messages from then on until
/// they are ended at 10 s. `seen`: `mpitrace run` saw it; else they were found ended at 12 s.
fn ranks(seen: bool) -> [SyntheticRank; 2] {
    [0, 1].map(|number| {
        let mut rank = SyntheticRank::new(number, 2).stamped();
        rank.header.leader = 0;
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        for k in 1..=9 {
            rank.call(barrier, 100 * k * MS, 100 * k * MS + MS);
        }
        rank.exchanged(1 - number, 400 * MS, 20);
        (rank.times.rank.init, rank.times.rank.init_library) = (50 * MS, 50 * MS);
        rank.enter_function(activity::POINT_TO_POINT, "MPI_Recv");
        let inside = 1 + wait_class::POINT_TO_POINT as u32;
        rank.times.last = vec![LastStamp { tick: (999 + u64::from(number)) * MS, inside, padding: 0 }];
        rank.header.state = state::RUNNING;
        let known = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        if seen {
            let end = Anchor { tick: 10_000 * MS, raw_ns: 10_000 * MS, ..Anchor::default() };
            rank.header.last_anchor = end;
            rank.metadata.push(known(metadata::END_ERROR_NS, "2000000"));
            rank.metadata.push(known(metadata::STILL_NS, "8500000000 9500000000"));
        } else {
            rank.metadata.push(known(metadata::DEAD_BY_NS, "12000000000"));
        }
        rank
    })
}

/// The text of a command in one line.
fn said(words: &[&str]) -> String {
    mpitrace(words).stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The row of `jobs`, with an index of the test's own.
fn row(folder: &Folder, file: &str) -> serde_json::Value {
    let mut command = command(&["jobs", "--json", file]);
    let output = command.env("XDG_CACHE_HOME", folder.path("cache")).output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    told["rows"][0].clone()
}

#[test]
fn the_time_since_the_last_movement_is_a_loss_and_leads_to_info() {
    let folder = Folder::new();
    let file = folder.trace(&ranks(true));
    let told = mpitrace(&["summary", &file, "--json"]).json();
    let near = |found: &serde_json::Value, expected: f64| (found.as_f64().unwrap() - expected).abs() < 1e-6;
    assert!(near(&told["rank_seconds"], 20.0) && near(&told["parts"]["hung"], 18.0), "{told:#}");
    assert!(near(&told["parts"]["point_to_point"], 0.801) && near(&told["parts"]["init"], 0.1), "{told:#}");
    assert_eq!(told["unknown_ends"], 0);
    let loss = &told["losses"][0];
    assert_eq!((&loss["kind"], loss["seconds"].as_f64()), (&"hung".into(), told["parts"]["hung"].as_f64()));
    assert!(near(&loss["gain_s"], 9.0), "{loss:#}");
    let summary = said(&["summary", &file]);
    assert!(
        summary.starts_with("The job did not end normally: ") && summary.contains(" 2 ranks, 10.0 s: "),
        "{summary}"
    );
    assert!(summary.contains("90.5 % since the last movement"), "{summary}");
    assert!(summary.contains("No rank began or ended an MPI call in the last 9.00 s."), "{summary}");
    assert!(summary.contains(&format!("Next: mpitrace info {file}")), "{summary}");
    let table = mpitrace(&["summary", &file, "--by", "rank"]).stdout;
    assert!(table.lines().next().unwrap().contains("hung"), "{table}");

    let info = mpitrace(&["info", &file, "--json"]).json();
    let end = &info["ends"][0];
    assert_eq!(end["how"], "observed");
    assert!(near(&end["at_s"], 10.0) && near(&end["earliest_s"], 9.998) && near(&end["hung_s"], 9.0), "{end:#}");
    assert!(near(&end["hung_least_s"], 8.498) && near(&end["hung_most_s"], 9.0), "{end:#}");
    let page = said(&["info", &file]);
    assert!(page.contains("ranks 0-1: seen 10.0 s after the entry of MPI_Init, at most 2.00 ms late"), "{page}");
    let row = &row(&folder, &file);
    assert!(near(&row["hung_s"], 18.0) && row["seconds_is_bound"] == false, "{row:#}");
}

#[test]
fn an_end_that_nobody_saw_is_a_bound() {
    let folder = Folder::new();
    let file = folder.trace(&ranks(false));
    let told = mpitrace(&["summary", &file, "--json"]).json();
    assert!(told["parts"]["hung"].as_f64().unwrap() < 1e-3 && told["seconds"].as_f64().unwrap() < 1.001, "{told:#}");
    assert_eq!(told["unknown_ends"], 2);
    assert!((told["unknown_s"].as_f64().unwrap() - 11.001).abs() < 1e-6, "{told:#}");
    let most = told["hung"]["most_s"].as_f64().unwrap();
    assert!((21.9..22.1).contains(&most), "from 1 s to 12 s on each: {told:#}");
    let summary = said(&["summary", &file]);
    assert!(summary.starts_with("The job did not end normally: "), "{summary}");
    assert!(summary.contains(" 2 ranks, at least 1.00 s: "), "{summary}");
    let bound = "the time of 2 ranks is up to the last time stamp, at most 11.0 s before the end";
    assert!(summary.contains(bound), "{summary}");
    let page = said(&["info", &file]);
    assert!(page.contains("not seen: the last time stamp is "), "{page}");
    let row = &row(&folder, &file);
    assert!(row["seconds_is_bound"] == true, "{row:#}");
}
