//! The baseline of a gate.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

/// The file with its command line.
const COMMAND: &str = "command";

pub enum Baseline {
    /// How to run it.
    Command(Vec<OsString>),
    /// Traces of earlier runs.
    Traces(Vec<PathBuf>),
}

impl Baseline {
    /// # Errors
    /// A folder that cannot be read, or that has neither.
    pub fn find(folder: &Path) -> Result<Baseline> {
        let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        let file = folder.join(COMMAND);
        if file.exists() {
            let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            let words = words(&text);
            ensure!(!words.is_empty(), "{}: is empty", file.display());
            return Ok(Baseline::Command(words));
        }
        let is_trace = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "mpitrace");
        let mut traces: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_trace).collect();
        if traces.is_empty() {
            bail!("{}: has neither traces nor a file `{COMMAND}` with the baseline's command line", folder.display());
        }
        traces.sort();
        Ok(Baseline::Traces(traces))
    }
}

/// A word a line, or all of them on one line.
fn words(text: &str) -> Vec<OsString> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    match &lines[..] {
        [line] => line.split_whitespace().map(OsString::from).collect(),
        lines => lines.iter().map(OsString::from).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_lines_or_lie_on_one() {
        assert_eq!(words("mpirun -np 4 ./a\n"), ["mpirun", "-np", "4", "./a"]);
        assert_eq!(words("mpirun\n-np\n4\n./a b\n\n"), ["mpirun", "-np", "4", "./a b"]);
        assert_eq!(words(" \n"), [] as [OsString; 0]);
    }

    #[test]
    fn a_command_goes_before_traces_and_one_of_both_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let of = || Baseline::find(folder.path());
        assert!(of().is_err_and(|error| error.to_string().contains("neither traces nor a file `command`")));
        for name in ["b.mpitrace", "a.mpitrace", "c.txt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let traces = ["a.mpitrace", "b.mpitrace"].map(|name| folder.path().join(name));
        assert!(matches!(of(), Ok(Baseline::Traces(found)) if found == traces));
        fs::write(folder.path().join(COMMAND), "mpirun ./a").unwrap();
        assert!(matches!(of(), Ok(Baseline::Command(words)) if words == ["mpirun", "./a"]));
    }
}
