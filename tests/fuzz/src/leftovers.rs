//! Recovers what killed jobs left, in a new folder for each input.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use mpitrace_format::recover::{by_job, leftovers, recover_job};
use mpitrace_platform::node_files;
use mpitrace_trace::reader::Trace;

use crate::analyse;
use crate::seeds::segment;

/// A trace is larger than what it was made of by no more than this: 4096 for each of the parts and the table of parts.
const GROWTH: u64 = 1 << 20;

static FOLDER: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("mpitrace-fuzz-{}", std::process::id())));

/// Recovers a segment of these bytes beside a sound one.
pub fn recover(bytes: &[u8]) {
    in_folder(|folder| {
        leave(folder, 1, bytes);
        leave(folder, 2, &segment::plain(1));
        run(folder, bytes.len() as u64);
    });
}

/// Recovers two sound segments into a folder in which the name of the trace is taken by these bytes.
pub fn recover_beside(bytes: &[u8]) {
    in_folder(|folder| {
        std::fs::write(folder.join("out.mpitrace"), bytes).expect("a file for the input");
        leave(folder, 1, &segment::plain(0));
        leave(folder, 2, &segment::plain(1));
        run(folder, bytes.len() as u64);
    });
}

fn run(folder: &Path, input: u64) {
    let output = folder.join("out.mpitrace");
    let found = leftovers(&[folder.to_owned()], None).expect("the folder can be read");
    let given: u64 = input + 2 * segment::plain(0).len() as u64;
    for job in by_job(found) {
        let Ok(Some(recovered)) = recover_job(&job, &output) else { continue };
        // The table of parts has holes.
        let length = 512 * recovered.path.metadata().expect("a trace was made").blocks();
        assert!(length <= 4 * given + GROWTH, "{given} bytes became {length}");
        // What it was joined with may be damaged; what was recovered is whole, and its segments are gone.
        match Trace::open(&[&recovered.path]) {
            Ok(trace) => {
                let records: u64 = trace.parts.iter().map(|part| part.records() as u64).sum();
                assert!(records >= recovered.records, "{} of {} records", records, recovered.records);
                analyse::trace(&trace);
            }
            Err(error) => panic!("recovered to {error}"),
        }
    }
}

fn leave(folder: &Path, number: u32, bytes: &[u8]) {
    let name = format!("{}fuzz-{number}{}", node_files::ANY_PREFIX, node_files::SEGMENT);
    std::fs::write(folder.join(name), bytes).expect("a file for the input");
}

fn in_folder(run: impl FnOnce(&Path)) {
    let _ = std::fs::remove_dir_all(&*FOLDER);
    std::fs::create_dir_all(&*FOLDER).expect("a folder for the input");
    run(&FOLDER);
    let _ = std::fs::remove_dir_all(&*FOLDER);
}
