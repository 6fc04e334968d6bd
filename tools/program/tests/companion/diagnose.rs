//! `mpitrace diagnose`, over times whose cause is known.

use mpitrace_testing::Random;
use mpitrace_testing::synthetic::SyntheticRank;

use crate::support::{Folder, mpitrace, plain};

/// The thesis' run in its four columns: 8 ranks, 1000 repetitions, a warm-up of 60 with a few more level 3 misses on
/// each rank. Some repetitions have many more and take hardly longer; the outliers have as many as any.
fn thesis(folder: &Folder) -> String {
    let mut random = Random::new(2022);
    let mut lines = "iteration id, MPI rank, metric name, value\n".to_owned();
    for repetition in 0..1000 {
        let chance = random.uniform();
        let mut time = if repetition < 60 { 42_000.0 } else { 25_000.0 } * (1.0 + 0.04 * random.uniform());
        let mut more = if repetition < 60 { 1.3 } else { 1.0 };
        match chance {
            _ if repetition == 0 => (time, more) = (60_000.0, 20.0),
            _ if repetition < 60 => {}
            chance if chance < 0.02 => time *= 4.0 + 20.0 * random.uniform(),
            chance if chance < 0.07 => more = 5.0,
            _ => {}
        }
        for rank in 0..8 {
            let time = time * (1.0 - 0.1 * random.uniform());
            let misses = (200.0 * more * (0.3 * random.normal()).exp()).round();
            lines.push_str(&format!(
                "{repetition}, {rank}, runtime, {time}\n{repetition}, {rank}, PAPI_L3_TCM, {misses}\n"
            ));
            for name in ["PAPI_L1_TCM", "PAPI_L2_TCM", "PAPI_BR_MSP"] {
                let value = (1000.0 * (0.2 * random.normal()).exp()).round();
                lines.push_str(&format!("{repetition}, {rank}, {name}, {value}\n"));
            }
        }
    }
    folder.file("thesis.csv", lines.as_bytes())
}

#[test]
fn the_thesis_case_names_its_cache_misses_first() {
    let folder = Folder::new();
    let file = thesis(&folder);
    let ran = mpitrace(&["diagnose", "--from", "csv", &file]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let sentences: Vec<&str> = ran.stdout.lines().filter_map(|line| line.strip_prefix("* ")).collect();
    let first = "PAPI_L3_TCM differs between the 59 repetitions of the warm-up and the good ones: ";
    assert!(sentences[0].starts_with(first), "{}", ran.stdout);
    assert!(sentences[0].contains(" on all ranks together, more in "), "{}", ran.stdout);
    let last = " of the extra time of the 35 outliers has no recorded cause; not recorded: waiting for late ranks, samples \
        of the code";
    assert!(sentences[1].ends_with(last), "{}", ran.stdout);

    let robust = mpitrace(&["diagnose", "--from", "csv", &file, "--method", "robust"]);
    assert!(
        robust.stdout.contains("\n* PAPI_L3_TCM differs between the 59 repetitions of the warm-up and "),
        "{}",
        robust.stdout
    );

    let ran = mpitrace(&["diagnose", "--from", "csv", &file, "--json"]);
    let json = ran.json();
    let operation = &json[0];
    assert_eq!(operation["sentences"][0], sentences[0]);
    let cause = &operation["causes"][0];
    assert_eq!((&cause["kind"], &cause["counter"]), (&"counter".into(), &"PAPI_L3_TCM".into()));
    assert_eq!((&cause["group"], &cause["rank"]), (&"warmup".into(), &serde_json::Value::Null));
    assert!(cause["p"].as_f64().unwrap() <= 0.05 && cause["share"].as_f64().unwrap() > 0.5, "{cause}");
    // As in the thesis, section 4.2.2: the cause of the warm-up does not go along with the run time as a whole.
    let correlations = operation["correlations"].as_array().unwrap();
    let of = |rank: serde_json::Value| {
        let found = correlations.iter().find(|one| one["counter"] == "PAPI_L3_TCM" && one["rank"] == rank);
        found.unwrap_or_else(|| panic!("no {rank} in {correlations:#?}"))
    };
    let all = of(serde_json::Value::Null);
    assert_eq!(all["pairs"], 8 * 1000);
    assert!(all["pearson"].as_f64().unwrap().abs() < 0.3, "{all}");
    assert_eq!((of(3.into())["pairs"].as_u64(), correlations.len()), (Some(1000), 4 * 9));
}

/// Roth 2021, 3.4: 1 for points on a line that rises, -1 on one that falls, 1 by ranks wherever both rise.
#[test]
fn coefficients_are_those_of_what_goes_along_with_the_run_time() {
    let mut lines = "iteration id, MPI rank, metric name, value\n".to_owned();
    for repetition in 0..100 {
        for rank in 0..2 {
            let time = 1000.0 + f64::from(repetition * 37 % 100) + 50.0 * f64::from(rank);
            let values =
                [("line", 3.0 * time), ("falling", 1e5 - time), ("power", (time / 100.0).powi(9)), ("same", 7.0)];
            lines.push_str(&format!("{repetition}, {rank}, runtime, {time}\n"));
            values.iter().for_each(|(name, value)| lines.push_str(&format!("{repetition}, {rank}, {name}, {value}\n")));
        }
    }
    let folder = Folder::new();
    let file = folder.file("lines.csv", lines.as_bytes());
    let json = mpitrace(&["diagnose", "--from", "csv", &file, "--json"]).json();
    let of = |name: &str, key: &str| {
        let all = json[0]["correlations"].as_array().unwrap();
        let found = all.iter().find(|one| one["counter"] == name && one["rank"].is_null()).expect("of all ranks");
        found[key].as_f64().map(|r| (r * 1e9).round() / 1e9)
    };
    assert_eq!([of("line", "pearson"), of("line", "spearman")], [Some(1.0); 2]);
    assert_eq!([of("falling", "pearson"), of("falling", "spearman")], [Some(-1.0); 2]);
    assert_eq!(of("power", "spearman"), Some(1.0));
    assert!(of("power", "pearson").is_some_and(|r| (0.9..0.999).contains(&r)), "{:?}", of("power", "pearson"));
    assert_eq!([of("same", "pearson"), of("same", "spearman")], [None; 2]);
}

#[test]
fn a_late_rank_and_a_delay_by_the_tracer_are_named() {
    let mut random = Random::new(7);
    let mut late = |highest: f64| (highest * random.uniform()) as u64;
    let ranks: Vec<SyntheticRank> = (0..4)
        .map(|number| {
            let mut rank = SyntheticRank::new(number, 4);
            let allreduce = rank.operation("MPI_Allreduce", 0, 8);
            for k in 0..600 {
                let begin = 1_000_000 + 5_000_000 * k;
                let (is_late, is_perturbed) = (k % 10 == 9, k % 60 == 30);
                let after = if is_late && number == 2 { 1_000_000 + late(1000.0) } else { late(1000.0) };
                let took = 2000 + if is_late { 1_000_000 } else { 0 } + if is_perturbed { 20_000 } else { 0 };
                rank.call(allreduce, begin + after, begin + took + late(50.0));
                if is_perturbed && number == 0 {
                    rank.disturb();
                }
            }
            rank
        })
        .collect();
    let folder = Folder::new();
    let file = folder.trace(&ranks);
    let ran = mpitrace(&["diagnose", &file]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let sentences: Vec<&str> = ran.stdout.lines().filter_map(|line| line.strip_prefix("* ")).collect();
    let first = "others wait for rank 2 in 60 of the 70 outliers: 180 ms, ";
    assert!(sentences[0].starts_with(first), "{}", ran.stdout);
    assert!(
        sentences[0].ends_with(" of their extra time; whether it was on its processor is not known"),
        "{}",
        ran.stdout
    );
    let cause = &mpitrace(&["diagnose", &file, "--json"]).json()[0]["causes"][0];
    assert_eq!((&cause["kind"], &cause["rank"], &cause["group"]), (&"late-rank".into(), &2.into(), &"outlier".into()));
    assert!((cause["seconds"].as_f64().unwrap() - 0.18).abs() < 0.001, "{cause}");
    assert!(cause["because"].is_null() && cause["late"]["unknown_s"].as_f64() > Some(0.17), "{cause}");
    let ran = mpitrace(&["diagnose", &file, "--time", "last"]);
    let sentences: Vec<&str> = ran.stdout.lines().filter_map(|line| line.strip_prefix("* ")).collect();
    let perturbed = "the tracer itself delays rank 0 in 10 of the 10 outliers: ";
    assert!(sentences.iter().any(|sentence| sentence.starts_with(perturbed)), "{}", ran.stdout);
    // By this run time the repetitions with the late rank are as fast as the others.
    let steady = "others wait for rank 2 in ";
    assert!(sentences[0].starts_with(steady) && sentences[0].contains("also in fast ones"), "{}", ran.stdout);
}

#[test]
fn what_has_no_time_stamps_has_no_late_ranks() {
    let folder = Folder::new();
    let file = folder.file("a.csv", b"0,0,runtime,5\n1,0,runtime,5\n");
    let ran = mpitrace(&["diagnose", "--from", "csv", &file]);
    let expected = "nothing to compare: 1 operation of at most 2 repetitions, 10.0 ns in all\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, expected), "{}", ran.stderr);
    let refused = mpitrace(&["diagnose", "--from", "csv", &file, "--time", "global"]);
    let line = format!("mpitrace: {file}: has no time stamps of one clock: only --time local exists, not global\n");
    assert_eq!((refused.code, refused.stdout.as_str(), refused.stderr), (2, "", line));
}

#[test]
fn operations_without_a_slow_repetition_and_bad_numbers_are_one_line() {
    let folder = Folder::new();
    let file = folder.trace(&plain());
    let ran = mpitrace(&["diagnose", &file, "--operation", "1"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.starts_with("operation 1: MPI_Bcast of 4 bytes on comm-2\n3 repetitions: 1 first, 2 good\n"),
        "{}",
        ran.stdout
    );
    let refused = mpitrace(&["diagnose", &file, "--operation", "2"]);
    let line = "mpitrace: no operation 2: there are operations 0 to 1\n";
    assert_eq!((refused.code, refused.stdout.as_str(), refused.stderr.as_str()), (2, "", line));
}
