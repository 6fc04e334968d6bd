//! `mpitrace benchmark models`: Hockney and LogGP.

use mpitrace_format::layout::{MessageEntry, message, partner};
use mpitrace_testing::synthetic::SyntheticRank;
use serde_json::json;

use crate::support::{Folder, mpitrace};

fn world() -> [SyntheticRank; 2] {
    [0, 1].map(|number| {
        let mut rank = SyntheticRank::new(number, 2);
        rank.metadata.push(("host".to_owned(), "n1".to_owned()));
        rank
    })
}

/// 50 Bcasts of each size, in the median `took` of the size.
fn broadcasts(ranks: &mut [SyntheticRank; 2], sizes: &[u64], took: impl Fn(u64) -> u64) {
    for rank in ranks {
        let mut enter = 1_000_000;
        for &bytes in sizes {
            let bcast = rank.operation("MPI_Bcast", 0, bytes);
            rank.describe(bcast, Some(0), "MPI_BYTE", None);
            for i in 0..50 {
                rank.call(bcast, enter, enter + took(bytes) + i * 7 % 11 - 5);
                enter += 1_000_000;
            }
        }
    }
}

/// Messages of 8 bytes and more there and back, 1000 ns and 1 ns for 4 bytes each.
fn ping_pongs(ranks: &mut [SyntheticRank; 2]) {
    let entry =
        |flags: u32, rank: u32| MessageEntry { flags, partner: partner::known(0, rank), ..MessageEntry::default() };
    let mut now = 500_000_000;
    for bytes in [8, 1024, 65_536, 1 << 20] {
        for turn in 0..60 {
            let (from, to) = (turn % 2, 1 - turn % 2);
            let there = now + 1000 + bytes / 4;
            ranks[from].message("MPI_Send", entry(message::SEND, to as u32), None, bytes as u32, [now, now + 100]);
            ranks[to].message("MPI_Recv", entry(message::RECEIVE, from as u32), None, 0, [now - 100, there]);
            now = there + 200;
        }
    }
}

#[test]
fn lines_through_sizes_have_the_parameters_that_made_them() {
    let folder = Folder::new();
    let mut ranks = world();
    broadcasts(&mut ranks, &[8, 64, 4096, 65_536], |bytes| 2000 + bytes / 2);
    ping_pongs(&mut ranks);
    let trace = folder.trace(&ranks);
    let found = mpitrace(&["benchmark", "models", "--json", &trace]).json();
    let near = |value: &serde_json::Value, truth: f64| (value.as_f64().unwrap() / truth - 1.0).abs() < 0.01;
    let bcast = &found["collectives"][0];
    assert_eq!((&bcast["function"], &bcast["root"], &bcast["ranks"]), (&json!("MPI_Bcast"), &json!(0), &json!(2)));
    let line = &bcast["lines"][0];
    assert!(near(&line["alpha_ns"], 2000.0) && near(&line["beta_ns_per_byte"], 0.5), "{line}");
    let inside = |interval: &serde_json::Value, truth: f64| {
        interval[0].as_f64().unwrap() <= truth && interval[1].as_f64().unwrap() >= truth
    };
    assert!(inside(&line["alpha_interval_ns"], 2000.0) && inside(&line["beta_interval_ns_per_byte"], 0.5), "{line}");
    assert!(inside(&line["bandwidth_interval_gb_s"], 2.0), "{line}");
    assert_eq!((bcast["sizes"].as_array().unwrap().len(), bcast["off"].clone()), (4, json!([])));
    let messages = &found["messages"][0];
    assert_eq!((&messages["way"], &messages["times_of"]), (&json!("one-node"), &json!("round-trips")));
    assert!(near(&messages["lines"][0]["alpha_ns"], 1000.0), "{messages}");
    let parameter = |name: &str| {
        let all = messages["loggp"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap().clone()
    };
    assert_eq!((parameter("o_s")["value"].clone(), parameter("o_s")["bytes"].clone()), (json!(100.0), json!(8)));
    assert!(near(&parameter("G")["value"], 0.25));
    for unknown in ["L", "o_r", "g"] {
        let found = parameter(unknown);
        assert!(found["value"].is_null() && found["reason"].is_string(), "{found}");
    }
    let page = mpitrace(&["benchmark", "models", "--sizes", &trace]).stdout;
    assert!(page.contains("messages on one node") && page.contains("o_r: not known: no small message"), "{page}");
    assert!(page.contains("MPI_Bcast (MPI_BYTE, root 0)"), "{page}");
}

#[test]
fn another_algorithm_from_a_size_on_is_another_line_and_what_is_off_is_said() {
    let folder = Folder::new();
    let mut ranks = world();
    let sizes: Vec<u64> = (3..15).map(|power| 1 << power).collect();
    broadcasts(&mut ranks, &sizes, |bytes| if bytes < 512 { 1000 + bytes } else { 9000 + bytes / 4 });
    let found = mpitrace(&["benchmark", "models", "--json", &folder.trace(&ranks)]).json();
    let lines = found["collectives"][0]["lines"].as_array().unwrap();
    let ends: Vec<_> = lines.iter().map(|line| (line["from_bytes"].clone(), line["to_bytes"].clone())).collect();
    assert_eq!(ends, [(json!(8), json!(256)), (json!(512), json!(16_384))]);
    assert!(found["messages_reason"].as_str().unwrap().contains("MPITRACE_P2P=records"), "{found}");
    // Of four sizes there is one line, and one is off it.
    let mut ranks = world();
    broadcasts(&mut ranks, &[8, 64, 512, 4096], |bytes| if bytes == 64 { 2000 } else { 1000 + bytes });
    let trace = folder.trace(&ranks);
    let found = mpitrace(&["benchmark", "models", "--json", &trace]).json();
    let off = &found["collectives"][0]["off"];
    assert!(
        off.as_array().unwrap().iter().any(|off| off["from_bytes"] == 64 && off["residual"].as_f64() > Some(0.1)),
        "{off}"
    );
    let page = mpitrace(&["benchmark", "models", &trace]).stdout;
    assert!(page.contains("off the line, MPI_Bcast (MPI_BYTE, root 0): ") && page.contains("% above"), "{page}");
}

#[test]
fn too_few_sizes_have_no_line_but_a_reason() {
    let folder = Folder::new();
    let mut ranks = world();
    broadcasts(&mut ranks, &[8, 64], |bytes| 1000 + bytes);
    let trace = folder.trace(&ranks);
    let found = mpitrace(&["benchmark", "models", "--json", &trace]).json();
    let bcast = &found["collectives"][0];
    assert_eq!(bcast["lines"], json!([]));
    assert!(bcast["reason"].as_str().unwrap().starts_with("2 sizes"), "{bcast}");
    let page = mpitrace(&["benchmark", "models", &trace]).stdout;
    assert!(page.contains("MPI_Bcast (MPI_BYTE, root 0): no line: 2 sizes"), "{page}");
    let nothing = mpitrace(&["benchmark", "models", &folder.trace(&world())]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (2, ""));
}

#[test]
fn round_trips_of_a_pair_are_a_distribution_and_each_is_a_line_of_csv() {
    let folder = Folder::new();
    let mut ranks = world();
    ping_pongs(&mut ranks);
    let trace = folder.trace(&ranks);
    let of = |more: &[&str]| mpitrace(&[&["benchmark", "round-trips", &trace], more].concat());
    let rows = of(&["--json", "--pair", "0,1"]).json();
    let sizes: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["bytes"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [8, 1024, 65_536, 1 << 20]);
    // Twice 1002 ns and the 200 ns before the answer; the 30 of each size that rank 0 began.
    let small = &rows[0];
    assert_eq!((&small["round_trips"], &small["turnaround_ns"]), (&json!(30), &json!(200.0)));
    for name in ["min_ns", "p5_ns", "mean_ns", "median_ns", "p99_ns", "max_ns"] {
        assert!((small[name].as_f64().unwrap() - 2204.0).abs() < 0.01, "{name}: {small}");
    }
    let csv = of(&["--csv", "--bytes", "8"]).stdout;
    assert!(csv.starts_with("rank,partner,bytes,at_ns,round_trip_ns,turnaround_ns,both_waited\n0,1,8,"), "{csv}");
    // The answer of a message is one that its own answer follows, but for the last.
    assert_eq!((csv.matches("\n0,1,8,").count(), csv.matches("\n1,0,8,").count()), (30, 29));
    assert!(of(&["--pair", "1,0"]).stdout.contains("round trips"));
    let none = of(&["--bytes", "9"]);
    assert_eq!((none.code, none.stdout.as_str()), (2, ""));
    assert!(none.stderr.contains("no such round trips"), "{}", none.stderr);
}
