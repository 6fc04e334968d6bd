//! `mpitrace benchmark means`: the sampling distribution of the mean.

use mpitrace_testing::Random;

use crate::support::{Folder, mpitrace};
use crate::traces::trace;

/// Run times of an exponential distribution: means of few are skewed, and of 500 nearly normal.
#[test]
fn means_of_many_are_normal_and_those_of_few_are_not() {
    let folder = Folder::new();
    let mut random = Random::new(21);
    let trace = folder.trace(&trace(2000, |_, _| 1000 + (-5000.0 * random.uniform().max(1e-12).ln()) as u64));
    let of = |more: &[&str]| mpitrace(&[&["benchmark", "means", &trace, "--operation", "0"], more].concat());
    let rows = of(&["--json", "--sizes", "5,500"]).json();
    let number = |row: usize, name: &str| rows[row][name].as_f64().unwrap();
    assert_eq!((rows.as_array().unwrap().len(), rows[0]["repetitions"].as_u64()), (2, Some(2000)));
    assert_eq!((rows[0]["normal"].as_bool(), rows[1]["normal"].as_bool()), (Some(false), Some(true)), "{rows}");
    for row in [0, 1] {
        let ratio = number(row, "standard_deviation_ns") / number(row, "expected_deviation_ns");
        assert!((0.9..1.1).contains(&ratio), "{rows}");
        assert!(number(row, "p2_5_ns") < number(row, "mean_ns") && number(row, "mean_ns") < number(row, "p97_5_ns"));
    }
    let csv = of(&["--csv", "--sizes", "5", "--samples", "7"]).stdout;
    assert_eq!((csv.lines().next(), csv.lines().count()), (Some("operation,size,mean_ns"), 8));
    assert_eq!(csv, of(&["--csv", "--sizes", "5", "--samples", "7"]).stdout, "the same seed");
    assert_ne!(csv, of(&["--csv", "--sizes", "5", "--samples", "7", "--seed", "2"]).stdout);
    assert!(of(&[]).stdout.contains("no (p 0.000)"));
}
