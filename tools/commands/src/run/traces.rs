//! Which traces are the job's: files that have its output's name and were not there before it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use mpitrace_format::file;

/// The default output of a job, in the working directory.
pub const DEFAULT: &str = "mpitrace-%j.mpitrace";

/// The files that were there before the job, where its traces will be.
pub struct Traces {
    /// `None`: the folder's name is yet to be filled in, and which one it is cannot be told.
    folder: Option<PathBuf>,
    name: String,
    before: HashSet<PathBuf>,
}

impl Traces {
    /// `output`: the name of the trace, which may have pieces that the tracer fills in.
    pub fn before(output: Option<&Path>) -> Traces {
        let output = output.unwrap_or(Path::new(DEFAULT));
        let output = std::path::absolute(output).unwrap_or_else(|_| output.to_owned());
        let folder = output.parent().filter(|folder| !folder.to_string_lossy().contains('%'));
        let name = output.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut traces = Traces { folder: folder.map(Path::to_owned), name, before: HashSet::new() };
        traces.before = traces.all().collect();
        traces
    }

    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    pub fn since(&self) -> Vec<PathBuf> {
        let mut new: Vec<PathBuf> = self.all().filter(|path| !self.before.contains(path)).collect();
        new.sort();
        new
    }

    fn all(&self) -> impl Iterator<Item = PathBuf> {
        let entries = self.folder.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        entries.filter(|entry| matches(&self.name, &entry.file_name())).map(|entry| entry.path())
    }
}

/// True if a file's name is that of the output. A pattern matches any text, and before the ending may stand what the
/// tracer puts there, a number, a node or a rank.
fn matches(name: &str, found: &OsStr) -> bool {
    let found = found.to_string_lossy();
    let (stem, ending) =
        name.rsplit_once('.').map_or((name, String::new()), |(stem, ending)| (stem, format!(".{ending}")));
    let Some(rest) = found.strip_suffix(&*ending) else { return false };
    // The texts between the patterns; `%%` is a percent sign.
    let pieces = file::filled(stem.as_ref(), |sign| Some(if sign == b'%' { "%" } else { "\0" }.to_owned()));
    let pieces = pieces.to_string_lossy();
    let pieces: Vec<&str> = pieces.split('\0').collect();
    let [first, others @ ..] = &pieces[..] else { return false };
    let Some(mut rest) = rest.strip_prefix(first) else { return false };
    for (number, piece) in (1..).zip(others) {
        let last = number == others.len();
        if last && piece.is_empty() {
            return true;
        }
        let Some(at) = (if last { rest.rfind(piece) } else { rest.find(piece) }) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.is_empty() || rest.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_known_by_its_name_whatever_the_patterns_become() {
        let cases = [
            ("a.mpitrace", "a.mpitrace", true),
            ("a.mpitrace", "a.2.mpitrace", true),
            ("a.mpitrace", "a.node1.2.mpitrace", true),
            ("a.mpitrace", "ab.mpitrace", false),
            ("a.mpitrace", ".a.mpitrace.0a.partial", false),
            ("mpitrace-%j.mpitrace", "mpitrace-4711.mpitrace", true),
            ("mpitrace-%j.mpitrace", "other-4711.mpitrace", false),
            ("run-%h-%t-x.mpitrace", "run-node1-2026-x.3.mpitrace", true),
            ("run-%h-%t-x.mpitrace", "run-node1-2026-y.mpitrace", false),
            ("100%%.mpitrace", "100%.mpitrace", true),
            ("a", "a", true),
            ("a", "a.2", true),
        ];
        for (name, file, expected) in cases {
            assert_eq!(matches(name, OsStr::new(file)), expected, "{name} {file}");
        }
    }

    #[test]
    fn only_files_that_were_not_there_before_are_the_job_s() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("x-1.mpitrace"), "").unwrap();
        let traces = Traces::before(Some(&path("x-%p.mpitrace")));
        assert_eq!(traces.since(), Vec::<PathBuf>::new());
        for name in ["x-2.mpitrace", "y-2.mpitrace", "x-1.2.mpitrace"] {
            fs::write(path(name), "").unwrap();
        }
        assert_eq!(traces.since(), [path("x-1.2.mpitrace"), path("x-2.mpitrace")]);
        assert!(Traces::before(Some(&path("%h/x.mpitrace"))).folder().is_none());
    }
}
