//! Compresses the traces of a job when it has ended.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use mpitrace::packed::{self, PackError};

use crate::process;

/// How the default name of a trace begins, in the working directory.
const DEFAULT: &str = "mpitrace-";
/// How it ends.
const ENDING: &str = "mpitrace";

/// The traces that were there before the job, where its own will be.
pub struct Packing {
    folder: PathBuf,
    /// How the names of the job's traces begin, and their extension.
    beginning: String,
    ending: OsString,
    before: HashSet<PathBuf>,
}

impl Packing {
    /// `output`: the name of the trace, which may have pieces that the tracer fills in.
    pub fn before(output: Option<&Path>) -> Packing {
        let default = Path::new(DEFAULT).with_extension(ENDING);
        let output = output.unwrap_or(&default);
        let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let stem = output.file_stem().unwrap_or_default().to_string_lossy();
        let mut packing = Packing {
            folder: folder.to_owned(),
            // From the first piece on that is filled in, names differ.
            beginning: stem.split('%').next().unwrap_or_default().to_owned(),
            ending: output.extension().unwrap_or_default().to_owned(),
            before: HashSet::new(),
        };
        packing.before = packing.traces().collect();
        packing
    }

    /// Compresses the new traces and adds to their run metadata; prints why one cannot be compressed.
    pub fn after(&self, metadata: &[(String, String)]) {
        for path in self.traces().filter(|path| !self.before.contains(path)) {
            // A signal ended the job: nothing more is started.
            if process::is_to_end() {
                return;
            }
            match packed::pack_with(&path, &path, metadata) {
                // Skips other files with such a name, and files that another process is still writing.
                Ok(_) | Err(PackError::Unreadable(_) | PackError::Changed { .. }) => {}
                Err(error) => eprintln!("mpitrace: {error}"),
            }
        }
    }

    fn traces(&self) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&self.beginning) && path.extension().unwrap_or_default() == self.ending
        })
    }
}

#[cfg(test)]
mod tests {
    use mpitrace::reader::Trace;
    use mpitrace::synthetic::{self, SyntheticRank};

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
        let packing = Packing::before(Some(&path("a-%p.mpitrace")));
        for name in &names[1..] {
            write(&path(name));
        }
        fs::write(path("a-text.mpitrace"), "a text").unwrap();
        packing.after(&[]);
        let smaller = names.map(|name| fs::metadata(path(name)).unwrap().len() < plain);
        assert_eq!(smaller, [false, true, true, false]);
        assert_eq!(Trace::open(&[path(names[1])]).unwrap().records(), 2000);
        assert_eq!(fs::read(path("a-text.mpitrace")).unwrap(), b"a text");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 6, "nothing else is left");
    }
}
