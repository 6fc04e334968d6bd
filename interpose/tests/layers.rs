//! The preloaded library is built in layers: a file uses files of its own layer and of those below, and no circle.

use std::path::Path;

use mpitrace_testing::modules::{Modules, circle};

/// The folders of `interpose/src`, from the ground to the roof.
const LAYERS: [&str; 12] = [
    "base",
    "mpi",
    "interruptions",
    "call_sites",
    "handles",
    "record",
    "operation",
    "counters",
    "clocks",
    "recorder",
    "job",
    "exports",
];

#[test]
fn no_file_of_the_preloaded_library_uses_one_of_a_layer_above() {
    let mut arrows = Modules::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).arrows();
    // The library itself, and a file that no module is.
    arrows.retain(|file, _| !["", "null"].contains(&file.as_str()));
    let layer = |file: &str| {
        let folder = file.split("::").next().unwrap_or_default();
        LAYERS.iter().position(|layer| *layer == folder).unwrap_or_else(|| panic!("{file} is in no layer"))
    };
    let mut up = Vec::new();
    for (file, used) in &arrows {
        let used = used.iter().filter(|used| !used.is_empty());
        up.extend(used.filter(|used| layer(used) > layer(file)).map(|used| format!("{file} -> {used}")));
    }
    assert!(arrows.len() > 100, "the files were found");
    assert!(up.is_empty(), "arrows up: {up:#?}");
    assert_eq!(circle(&arrows), None);
}
