//! Data types that a program makes: what is in them is known by whatever constructor, also when what they are made of
//! is freed.

use serde_json::Value;

use crate::support::companion::{json, mpitrace};
use crate::support::want::WORLD;
use crate::support::{Case, Test, want};

pub const TESTS: &[Test] = &[
    Test::new("what_is_in_a_type_is_known_of_each_constructor", constructors),
    Test::new("types_made_and_freed_in_turns_are_told_apart", turns),
];

const CONSTRUCTORS: [&str; 14] = [
    "contiguous",
    "vector",
    "hvector",
    "indexed",
    "hindexed",
    "indexed_block",
    "hindexed_block",
    "subarray",
    "darray",
    "struct",
    "struct of one",
    "resized",
    "dup",
    "committed dup",
];

fn constructors(case: &Case) {
    let trace = |how| {
        let outcome = case.launch(2, "constructors.c").arg(how).trace().run();
        assert_eq!(outcome.code, 0, "{how}: {}", outcome.stderr);
        outcome.trace.path
    };
    let other = json(&mpitrace(&["info".as_ref(), "--json".as_ref(), trace("other").as_os_str()]));
    let mismatches = other["mismatches"].as_array().unwrap();
    let differ = |kind: &Value| kind["kind"] == "datatype" && kind["calls"][0]["datatype"] == "derived";
    assert!(mismatches.iter().all(differ), "{other}");
    let told: Vec<&str> = mismatches.iter().filter_map(|kind| kind["communicator"].as_str()).collect();
    assert_eq!(told, CONSTRUCTORS);
    // Each of the two ranks keeps one of each.
    let same = mpitrace(&["info".as_ref(), trace("same").as_os_str()]);
    let left = format!("left by some rank: {} data types never freed", 2 * CONSTRUCTORS.len());
    assert!(same.code == 0 && !same.stdout.contains("MISMATCH"), "{}", same.stdout);
    assert!(same.stdout.lines().any(|line| line == left), "{left} in\n{}", same.stdout);
}

fn turns(case: &Case) {
    let outcome = case.launch(2, "constructors.c").arg("loop").trace().run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let info = mpitrace(&["info".as_ref(), outcome.trace.path.as_os_str()]);
    assert!(info.code == 0 && !info.stdout.contains("never freed"), "{}", info.stdout);
    let broadcasts = |bytes, datatype| want("MPI_Bcast", WORLD, 2).of(bytes, datatype).root(0);
    outcome.trace.info().assert_is(&[
        broadcasts(16, "derived").times(250),
        broadcasts(12, "derived").times(150),
        broadcasts(16, "MPI_DOUBLE").times(100),
    ]);
}
