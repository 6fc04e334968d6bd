//! Operations on communicators whose names differ by a number that counts are one row in the tables of each command.

use mpitrace_testing::synthetic::SyntheticRank;
use serde_json::json;

use crate::support::{Folder, mpitrace};

/// Two ranks, 12 steps: in each three calls on a communicator of its own name, of 1, 2 ... 12 µs.
fn steps(folder: &Folder) -> String {
    let ranks = [0, 1].map(|number| {
        let mut rank = SyntheticRank::new(number, 2);
        let world = rank.operation("MPI_Barrier", 0, 0);
        for step in 0..12 {
            let communicator = rank.communicator(10 + step, 2, number, Some(&format!("step {step:03} of 12")));
            let allreduce = rank.operation("MPI_Allreduce", communicator, 8);
            for call in 0..3 {
                let enter = 1_000_000 + 100_000 * (4 * step + call);
                rank.call(allreduce, enter, enter + 1000 * (step + 1));
            }
            let enter = 1_000_000 + 100_000 * (4 * step + 3);
            rank.call(world, enter, enter + 500);
        }
        rank
    });
    folder.trace(&ranks)
}

#[test]
fn are_one_row_with_sums_and_ranges_where_names_count() {
    let folder = Folder::new();
    let trace = steps(&folder);
    let said = |words: &[&str]| {
        let ran = mpitrace(words);
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.stderr);
        ran.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    let row = |words: &[&str], starts: &str| {
        let lines = said(words);
        let rows: Vec<&String> = lines.iter().filter(|line| line.starts_with(starts)).collect();
        assert_eq!(rows.len(), 1, "{words:?}: {lines:#?}");
        rows[0].clone()
    };
    assert_eq!(row(&["info", &trace], "1-12 "), "1-12 MPI_Allreduce step * of 12 8 2 36");
    let row_of = row(&["stats", &trace], "1-12 MPI_Allreduce ");
    assert!(row_of.contains(" 36 1.00 to 12.0 "), "{row_of}");
    let row_of = row(&["categorize", &trace], "1-12 MPI_Allreduce ");
    assert!(row_of.contains(" 1.00 to 12.0 ") && row_of.ends_with(" 0 0 24"), "{row_of}");
    let row_of = row(&["summary", &trace, "--by", "operation"], "MPI_Allreduce of 8 bytes on step * of 12 ");
    assert!(row_of.contains(" 468 "), "2 ranks x 3 x 78 µs: {row_of}");
    row(&["summary", &trace, "--by", "communicator"], "step * of 12 ");
    // Each, where all is wanted, and in JSON.
    for command in ["stats", "categorize", "info"] {
        let wide = said(&[command, &trace, "--wide"]);
        assert_eq!(wide.iter().filter(|line| line.contains("MPI_Allreduce step 0")).count(), 12, "{wide:#?}");
    }
    let numbers = mpitrace(&["stats", "--json", &trace]).json();
    assert_eq!(numbers.as_array().map(Vec::len), Some(13));
    assert_eq!(numbers[12]["communicator"], json!("step 011 of 12"));
    let by = mpitrace(&["summary", "--json", "--by", "operation", &trace]).json();
    assert_eq!(by.as_array().map(Vec::len), Some(13));
    let page = folder.path("page.html");
    said(&["report", &trace, "-o", &page]);
    let page = std::fs::read_to_string(page).expect("the page");
    assert_eq!(page.matches("<td>step * of 12</td>").count(), 1);
    assert!(page.contains("<summary>12 operations</summary>"));
}
