//! The output of `run` after a job: the summary of its trace.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use mpitrace::clock::Clock;
use mpitrace::operations::Operations;
use mpitrace::reader::Trace;

use crate::output::Style;
use crate::summary::Summary;

/// A larger trace takes seconds to read; `mpitrace summary` is named in its place. Bytes.
const LARGEST: u64 = 1 << 30;

/// The default output of a job.
const DEFAULT: &str = "mpitrace-%j.mpitrace";

/// Writes the summary of the one trace that the job has left, if it can be told which one that is. `started`: before the
/// job.
pub fn summarize(output: Option<&Path>, started: SystemTime) {
    let Some(path) = trace(output.unwrap_or(Path::new(DEFAULT)), started) else { return };
    let name = name(&path);
    if path.metadata().is_ok_and(|file| file.len() > LARGEST) {
        eprintln!("mpitrace: `mpitrace summary {name}` shows where the time went");
        return;
    }
    // A trace that cannot be read is no reason for another exit code than the job's.
    let Ok(trace) = Trace::open(&[&path]) else { return };
    let summary = Summary::of(&trace, &Operations::of(&trace), &Clock::of(&trace), &name);
    let _ = summary.write(&mut io::stderr().lock(), Style::Plain);
}

/// How a command line in this folder names the file.
fn name(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let relative = here.and_then(|here| path.strip_prefix(here).ok());
    relative.unwrap_or(path).display().to_string()
}

/// The only file written since then that can be the trace with this name, which may have patterns in it.
fn trace(output: &Path, started: SystemTime) -> Option<PathBuf> {
    let output = std::path::absolute(output).ok()?;
    let folder = output.parent().filter(|folder| !folder.to_string_lossy().contains('%'))?;
    let name = output.file_name()?.to_string_lossy().into_owned();
    let is_new = |path: &Path| {
        let written = path.metadata().and_then(|file| file.modified());
        written.is_ok_and(|written| written >= started)
    };
    let files = folder.read_dir().ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut traces = files.filter(|path| path.file_name().is_some_and(|file| matches(&name, file)) && is_new(path));
    let only = traces.next()?;
    traces.next().is_none().then_some(only)
}

/// Whether a file's name is that of the output: a pattern matches any text, and a number may precede the ending.
fn matches(name: &str, file: &OsStr) -> bool {
    let file = file.to_string_lossy();
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let Some(rest) = file.strip_suffix(ending).map(|rest| rest.trim_end_matches('.')) else { return false };
    let pieces = pieces(stem);
    let [first, others @ ..] = &pieces[..] else { return false };
    let Some(mut rest) = rest.strip_prefix(first as &str) else { return false };
    for (number, piece) in (1..).zip(others) {
        let last = number == others.len();
        if last && piece.is_empty() {
            return true;
        }
        let Some(at) = (if last { rest.rfind(piece as &str) } else { rest.find(piece as &str) }) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.is_empty() || rest.strip_prefix('.').is_some_and(|number| number.parse::<u32>().is_ok())
}

/// What lies between the patterns of a name; `%%` is a percent sign.
fn pieces(stem: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut characters = stem.chars();
    while let Some(character) = characters.next() {
        match character {
            '%' => match characters.next() {
                Some('%') | None => pieces.iter_mut().last().into_iter().for_each(|piece| piece.push('%')),
                Some(_) => pieces.push(String::new()),
            },
            other => pieces.iter_mut().last().into_iter().for_each(|piece| piece.push(other)),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_known_by_its_name_whatever_the_patterns_become() {
        let cases = [
            ("a.mpitrace", "a.mpitrace", true),
            ("a.mpitrace", "a.2.mpitrace", true),
            ("a.mpitrace", "ab.mpitrace", false),
            ("a.mpitrace", "a.b.mpitrace", false),
            ("mpitrace-%j.mpitrace", "mpitrace-4711.mpitrace", true),
            ("mpitrace-%j.mpitrace", "other-4711.mpitrace", false),
            ("run-%h-%t-x.mpitrace", "run-node1-2026-x.3.mpitrace", true),
            ("run-%h-%t-x.mpitrace", "run-node1-2026-y.mpitrace", false),
            ("100%%.mpitrace", "100%.mpitrace", true),
            ("a", "a", true),
        ];
        for (name, file, expected) in cases {
            assert_eq!(matches(name, OsStr::new(file)), expected, "{name} {file}");
        }
    }

    #[test]
    fn only_a_file_written_since_the_start_is_the_trace() {
        let folder = tempfile::tempdir().unwrap();
        let (name, other) = (folder.path().join("x-%p.mpitrace"), folder.path().join("x-1.mpitrace"));
        let before = SystemTime::UNIX_EPOCH;
        assert_eq!(trace(&name, before), None);
        std::fs::write(&other, "").unwrap();
        assert_eq!(trace(&name, before), Some(other.clone()));
        assert_eq!(trace(&name, SystemTime::now() + std::time::Duration::from_secs(3600)), None);
        std::fs::write(folder.path().join("x-2.mpitrace"), "").unwrap();
        assert_eq!(trace(&name, before), None, "two files");
    }
}
