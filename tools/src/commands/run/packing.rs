//! Compresses the traces of a job when it has ended.

use std::path::PathBuf;

use mpitrace::packed::{self, PackError};

use crate::process;

/// Compresses these traces and adds to their run metadata; prints why one cannot be compressed.
pub fn pack(traces: &[PathBuf], metadata: &[(String, String)]) {
    for path in traces {
        // A signal ended the job: nothing more is started.
        if process::is_to_end() {
            return;
        }
        match packed::pack_with(path, path, metadata) {
            // Skips other files with such a name, and files that another process is still writing.
            Ok(_) | Err(PackError::Unreadable(_) | PackError::Changed { .. }) => {}
            Err(error) => eprintln!("mpitrace: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use mpitrace::reader::Trace;
    use mpitrace_testing::synthetic::{self, SyntheticRank};

    use super::super::traces::Traces;
    use super::*;

    fn write(path: &Path) -> u64 {
        let mut rank = SyntheticRank::new(0, 1);
        let operation = rank.operation("MPI_Barrier", 0, 0);
        (0..2000).for_each(|call| rank.call(operation, 100 * call + 1, 100 * call + 50));
        synthetic::write(path, &[rank]).unwrap();
        fs::metadata(path).unwrap().len()
    }

    #[test]
    fn only_the_traces_of_the_job_are_compressed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let names = ["a-1.mpitrace", "a-1.2.mpitrace", "a-2.mpitrace", "b.mpitrace"];
        let plain = write(&path(names[0]));
        fs::write(path("a-note.mpitrace"), "a note").unwrap();
        let traces = Traces::before(Some(&path("a-%p.mpitrace")));
        for name in &names[1..] {
            write(&path(name));
        }
        fs::write(path("a-text.mpitrace"), "a text").unwrap();
        pack(&traces.since(), &[]);
        let smaller = names.map(|name| fs::metadata(path(name)).unwrap().len() < plain);
        assert_eq!(smaller, [false, true, true, false]);
        assert_eq!(Trace::open(&[path(names[1])]).unwrap().records(), 2000);
        assert_eq!(fs::read(path("a-text.mpitrace")).unwrap(), b"a text");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 6, "nothing else is left");
    }
}
