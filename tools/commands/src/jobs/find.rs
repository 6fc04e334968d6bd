//! The traces in folders, and their rows.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mpitrace_show::progress::Progress;
use rayon::prelude::*;

use super::index::{Entry, Index, Stamp};
use super::row::RunRow;

/// No more traces that cannot be read are named.
const NAMED: usize = 8;

/// The rows of all traces in folders and below them, and how many could not be read.
#[derive(Default)]
pub struct FoundRuns {
    pub rows: Vec<RunRow>,
    pub unreadable: usize,
}

/// By the canonical path of the folder and the name in it, so that none comes twice.
type Folders = BTreeMap<PathBuf, BTreeMap<OsString, Seen>>;

/// A trace: its file as it is shown, and what identifies its content.
struct Seen {
    shown: PathBuf,
    stamp: Stamp,
}

/// Finds them, and computes the rows that are not in the index.
///
/// # Errors
/// A folder that is named and cannot be read.
pub fn rows(named: &[PathBuf]) -> Result<FoundRuns> {
    let mut folders = Folders::new();
    let mut problems = Vec::new();
    for path in named {
        let metadata = fs::metadata(path).with_context(|| path.display().to_string())?;
        if metadata.is_dir() {
            fs::read_dir(path).with_context(|| path.display().to_string())?;
            walk(path, &mut folders, &mut problems);
        } else {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let folder = folder.canonicalize().with_context(|| path.display().to_string())?;
            add(&mut folders, folder, path.clone(), &metadata);
        }
    }
    let mut rows = Vec::new();
    let mut missing: Vec<(PathBuf, Seen)> = Vec::new();
    for (folder, traces) in folders {
        let mut known = Index::in_folder(&folder).read();
        for (name, seen) in traces {
            match known.remove(&*folder.join(name).to_string_lossy()).filter(|entry| entry.stamp == seen.stamp) {
                Some(Entry { row, .. }) => rows.push(RunRow { file: shown(&seen.shown), ..row }),
                None => missing.push((folder.clone(), seen)),
            }
        }
    }
    let progress = Progress::new(missing.len() as u64);
    let computed: Vec<(PathBuf, Seen, Result<RunRow>)> = missing
        .into_par_iter()
        .map(|(folder, seen)| {
            let row = RunRow::of_traces(&[&seen.shown]);
            if let Ok(row) = &row {
                remember(&folder, &seen, row);
            }
            progress.step();
            (folder, seen, row)
        })
        .collect();
    drop(progress);
    let mut unreadable = 0;
    for (_, seen, row) in computed {
        match row {
            Ok(row) => rows.push(RunRow { file: shown(&seen.shown), ..row }),
            Err(error) => {
                unreadable += 1;
                let text = format!("{error:#}");
                let name = seen.shown.display().to_string();
                problems.push(if text.contains(&name) { text } else { format!("{name}: {text}") });
            }
        }
    }
    say(&problems);
    Ok(FoundRuns { rows: joined(rows), unreadable })
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn remember(folder: &Path, seen: &Seen, row: &RunRow) {
    let file = shown(&folder.join(seen.shown.file_name().unwrap_or_default()));
    Index::in_folder(folder).add(&[Entry { stamp: seen.stamp.clone(), row: RunRow { file, ..row.clone() } }]);
}

/// Keeps the row of a trace that was just written.
pub fn keep(path: &Path, row: &RunRow) {
    let (Ok(path), Ok(metadata)) = (path.canonicalize(), fs::metadata(path)) else { return };
    if let Some(folder) = path.parent() {
        remember(folder, &Seen { shown: path.clone(), stamp: Stamp::new(&metadata) }, row);
    }
}

fn add(folders: &mut Folders, folder: PathBuf, shown: PathBuf, metadata: &Metadata) {
    let name = shown.file_name().map(OsStr::to_owned).unwrap_or_default();
    folders.entry(folder).or_default().insert(name, Seen { shown, stamp: Stamp::new(metadata) });
}

/// The traces in a folder and below it. Links to folders are not followed: they may lead in circles.
fn walk(folder: &Path, found: &mut Folders, problems: &mut Vec<String>) {
    let entries = match folder.canonicalize().and_then(|own| Ok((own, fs::read_dir(folder)?))) {
        Ok((own, entries)) => entries.flatten().map(move |entry| (own.clone(), entry)),
        Err(error) => return problems.push(format!("{}: {error}", folder.display())),
    };
    for (own, entry) in entries {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&path, found, problems);
        } else if path.extension().is_some_and(|ending| ending == "mpitrace") {
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_file() => {
                    add(found, own, path, &metadata);
                }
                Ok(_) => {}
                Err(error) => problems.push(format!("{}: {error}", path.display())),
            }
        }
    }
}

fn say(problems: &[String]) {
    for problem in problems.iter().take(NAMED) {
        eprintln!("mpitrace: {}", mpitrace_show::text::printable(problem));
    }
    if problems.len() > NAMED {
        eprintln!("mpitrace: {} more cannot be read: `mpitrace info FILE` says why", problems.len() - NAMED);
    }
}

/// The rows, one of each run: files that lack ranks of the same run are read together.
fn joined(rows: Vec<RunRow>) -> Vec<RunRow> {
    let mut of_run: HashMap<String, Vec<RunRow>> = HashMap::new();
    let mut joined = Vec::new();
    for row in rows {
        match row.lacking.clone() {
            Some(run) => of_run.entry(run).or_default().push(row),
            None => joined.push(row),
        }
    }
    for mut rows in of_run.into_values() {
        rows.sort_by(|one, other| one.file.cmp(&other.file));
        let files: Vec<&str> = rows.iter().map(|row| row.file.as_str()).collect();
        match Some(&files).filter(|files| files.len() > 1).map(|files| RunRow::of_traces(files)) {
            Some(Ok(row)) => joined.push(row),
            // The same rank in two files: they are copies, or of two attempts to recover the run.
            _ => joined.extend(rows),
        }
    }
    joined
}
