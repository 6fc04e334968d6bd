//! `mpitrace benchmark guidelines`.

use mpitrace_testing::synthetic::SyntheticRank;
use serde_json::{Value, json};

use crate::support::{Folder, mpitrace};

/// 60 calls of each operation: its function, root, operator and bytes, and what it takes, ns.
type Operations = [(&'static str, Option<i32>, Option<&'static str>, u64, u64)];

fn trace(folder: &Folder, operations: &Operations) -> String {
    let ranks = [0, 1].map(|number| {
        let mut rank = SyntheticRank::new(number, 2);
        let mut enter = 1_000_000;
        for &(function, root, reduction, bytes, took) in operations {
            let operation = rank.operation(function, 0, bytes);
            rank.describe(operation, root, "MPI_INT", reduction);
            for i in 0..60 {
                rank.call(operation, enter, enter + took + i * 17 % 61);
                enter += 1_000_000;
            }
        }
        rank
    });
    folder.trace(&ranks)
}

fn row<'r>(rows: &'r Value, function: &str, kind: &str) -> &'r Value {
    let mut rows = rows.as_array().unwrap().iter();
    rows.find(|row| row["function"] == function && row["kind"] == kind).unwrap_or_else(|| panic!("{function} {kind}"))
}

#[test]
fn a_violated_guideline_has_its_factor_and_one_that_holds_its_interval() {
    let folder = Folder::new();
    let sum = Some("MPI_SUM");
    let trace = trace(
        &folder,
        &[
            // 9 us against 3 and 2 us.
            ("MPI_Allreduce", None, sum, 64, 9000),
            ("MPI_Reduce", Some(0), sum, 64, 3000),
            ("MPI_Bcast", Some(0), None, 64, 2000),
            ("MPI_Bcast", Some(0), None, 128, 3000),
        ],
    );
    let rows = mpitrace(&["benchmark", "guidelines", "--json", &trace]).json();
    let allreduce = row(&rows, "MPI_Allreduce", "pattern");
    assert_eq!(allreduce["verdict"], "violated", "{allreduce}");
    let right = json!([
        {"function": "MPI_Reduce", "bytes": 64, "calls": 1},
        {"function": "MPI_Bcast", "bytes": 64, "calls": 1},
    ]);
    assert_eq!(allreduce["right"], right);
    let factor = allreduce["factor"].as_f64().unwrap();
    assert!((1.77..1.81).contains(&factor), "9030 over 5060: {factor}");
    let interval = &allreduce["factor_interval"];
    assert!(interval[0].as_f64().unwrap() > 1.7 && interval[1].as_f64().unwrap() < 1.9, "{interval}");
    assert!(allreduce["p"].as_f64().unwrap() < 1e-6 && allreduce["p"].as_f64() > allreduce["p_raw"].as_f64());
    assert_eq!(row(&rows, "MPI_Reduce", "pattern")["verdict"], "holds");
    assert_eq!(row(&rows, "MPI_Bcast", "monotony")["verdict"], "holds");
    let split = row(&rows, "MPI_Bcast", "split");
    assert_eq!(
        (&split["bytes"], &split["right"][0]["calls"], &split["verdict"]),
        (&json!(128), &json!(2), &json!("holds"))
    );
    assert_eq!(rows.as_array().unwrap().len(), 4);
    let page = mpitrace(&["benchmark", "guidelines", &trace]).stdout;
    assert!(page.starts_with("4 guidelines: 1 violated, 3 hold, 0 not known"), "{page}");
    assert!(page.contains("MPI_Allreduce of 64 <= MPI_Reduce of 64 + MPI_Bcast of 64"), "{page}");
    assert!(!page.contains("holds\n"), "{page}");
    assert!(mpitrace(&["benchmark", "guidelines", "--all", &trace]).stdout.contains("2 x MPI_Bcast of 64"));
    // Within the margin it is none.
    let wide = mpitrace(&["benchmark", "guidelines", "--json", "--margin", "0.95", &trace]).json();
    assert_eq!(row(&wide, "MPI_Allreduce", "pattern")["verdict"], "holds");
}

#[test]
fn without_both_sides_there_is_nothing_to_test() {
    let folder = Folder::new();
    let ran = mpitrace(&["benchmark", "guidelines", &trace(&folder, &[("MPI_Bcast", Some(0), None, 64, 2000)])]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("no guideline of which there are both sides"), "{}", ran.stderr);
}
