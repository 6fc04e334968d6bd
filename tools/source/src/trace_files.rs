//! The files that are one trace: ranks, or nodes, that could not write together have each written a file of their own,
//! `NAME.rank0.ENDING` or `NAME.HOST.ENDING` in the place of `NAME.ENDING`. Where a job was ended while some ranks were
//! in MPI_Finalize and others were not, such files stand beside the one of the ranks that were recovered.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use mpitrace_format::file;

const ENDING: &str = "mpitrace";

/// The files that are meant: a folder stands for the trace in it, the name of a trace that is not there for the files
/// that were written in its place, and one that lacks ranks also for the files beside it that these ranks wrote.
///
/// # Errors
/// A folder that cannot be read, or has no trace, or those of several runs; files of several runs in the place of one.
pub fn named(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(in_folder(path)?);
        } else if path.symlink_metadata().is_ok() {
            files.push(path.clone());
            files.extend(of_other_ranks(path, paths));
        } else {
            let runs = by_run(beside(path));
            let many = runs.len();
            ensure!(
                many < 2,
                "{}: does not exist; beside it are files of {many} runs: name those of one",
                path.display()
            );
            files.extend(runs.into_iter().next().unwrap_or_else(|| vec![path.clone()]));
        }
    }
    Ok(files)
}

/// The files beside one that lacks ranks which its other ranks wrote, without those that are `known`.
fn of_other_ranks(path: &Path, known: &[PathBuf]) -> Vec<PathBuf> {
    let lacking = file::header(path).filter(|header| header.parts < header.world_size);
    let Some(job) = lacking.map(|header| header.job) else { return Vec::new() };
    let mut found = beside(path);
    found.retain(|other| !known.contains(other) && file::job(other) == Some(job));
    found.sort();
    let ranks = |path: &PathBuf| -> Option<Vec<u32>> {
        let parts = file::parts(&File::open(path).ok()?, file::header(path)?.parts).ok()?;
        Some(parts.iter().map(|part| part.rank.rank).collect())
    };
    if found.is_empty() {
        return found;
    }
    // A copy under another name has no rank that is missing.
    let of_known = known.iter().filter(|path| file::job(path) == Some(job)).filter_map(ranks);
    let mut seen: HashSet<u32> = of_known.flatten().collect();
    found.retain(|other| ranks(other).is_some_and(|new| new.into_iter().all(|rank| seen.insert(rank))));
    found
}

/// True if there is a trace of this name, in one file or in several.
pub fn exists(path: &Path) -> bool {
    path.exists() || !by_run(beside(path)).is_empty()
}

fn in_folder(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let is_trace = |path: &PathBuf| path.extension().is_some_and(|ending| ending == ENDING);
    let mut runs = by_run(entries.flatten().map(|entry| entry.path()).filter(is_trace));
    match runs.len() {
        0 => bail!("{}: no trace is in this folder", folder.display()),
        1 => Ok(runs.swap_remove(0)),
        many => bail!(
            "{}: traces of {many} runs are in this folder: name one of them (`mpitrace jobs {}` lists all)",
            folder.display(),
            folder.display()
        ),
    }
}

/// The files whose name has something more before the ending.
fn beside(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(stem) = path.file_stem().map(|stem| format!("{}.", stem.to_string_lossy())) else { return Vec::new() };
    let is_of = |found: &PathBuf| {
        found.extension() == path.extension()
            && found.file_stem().is_some_and(|found| found.to_string_lossy().starts_with(&stem))
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = |entry: fs::DirEntry| match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from(entry.file_name()),
        _ => entry.path(),
    };
    // Of files that are whole traces none stands for another.
    let lacks_ranks = |found: &PathBuf| file::header(found).is_some_and(|header| header.parts < header.world_size);
    entries.map(named).filter(is_of).filter(lacks_ranks).collect()
}

/// Traces by their runs, each in the order of its names: files that lack ranks and have the same token are of one run.
pub fn by_run(files: impl IntoIterator<Item = PathBuf>) -> Vec<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = files.into_iter().collect();
    files.sort();
    let mut runs: Vec<(Option<[u8; 16]>, Vec<PathBuf>)> = Vec::new();
    for path in files {
        let run = file::header(&path).filter(|header| header.parts < header.world_size).map(|header| header.job);
        match runs.iter_mut().find(|(known, _)| run.is_some() && *known == run) {
            Some((_, of_run)) => of_run.push(path),
            None => runs.push((run, vec![path])),
        }
    }
    runs.into_iter().map(|(_, of_run)| of_run).collect()
}

#[cfg(test)]
mod tests {
    use mpitrace_testing::synthetic::{self, SyntheticRank};

    use super::*;

    fn write(path: &Path, job: u8, ranks: &[u32]) {
        let rank = |&number: &u32| {
            let mut rank = SyntheticRank::new(number, 2);
            rank.header.job = [job; 16];
            rank
        };
        synthetic::write(path, &ranks.iter().map(rank).collect::<Vec<_>>()).unwrap();
    }

    #[test]
    fn files_of_ranks_are_the_trace_in_whose_place_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let parts = [path("a.2.rank0.mpitrace"), path("a.2.rank1.mpitrace")];
        parts.iter().zip(0..).for_each(|(part, rank)| write(part, 1, &[rank]));
        assert_eq!(named(&[path("a.2.mpitrace")]).unwrap(), parts);
        assert_eq!(named(&[folder.path().to_owned()]).unwrap(), parts);
        assert!(exists(&path("a.2.mpitrace")) && !exists(&path("a.3.mpitrace")));
        assert_eq!(
            named(&[path("a.3.mpitrace")]).unwrap(),
            [path("a.3.mpitrace")],
            "the reader says that it is missing"
        );
        assert_eq!(named(&parts[..1]).unwrap(), parts[..1], "a file that is named is that file");
        // Of the ranks that were recovered and those that had written by then.
        write(&path("b.mpitrace"), 4, &[1]);
        write(&path("b.copy.mpitrace"), 4, &[1]);
        write(&path("b.rank0.mpitrace"), 4, &[0]);
        write(&path("b.rank0.2.mpitrace"), 5, &[0]);
        let both = [path("b.mpitrace"), path("b.rank0.mpitrace")];
        assert_eq!(named(&both[..1]).unwrap(), both);
        assert_eq!(named(&both).unwrap(), both);
        for name in ["b.mpitrace", "b.copy.mpitrace", "b.rank0.mpitrace", "b.rank0.2.mpitrace"] {
            fs::remove_file(path(name)).unwrap();
        }
        // Another run's whole trace is no part of it.
        write(&path("a.2.other.mpitrace"), 2, &[0, 1]);
        assert_eq!(named(&[path("a.2.mpitrace")]).unwrap(), parts);
        let error = named(&[folder.path().to_owned()]).unwrap_err().to_string();
        assert!(error.contains("traces of 2 runs"), "{error}");
        write(&path("a.2.rank1.2.mpitrace"), 3, &[1]);
        let error = named(&[path("a.2.mpitrace")]).unwrap_err().to_string();
        assert!(error.contains("files of 2 runs"), "{error}");
        let empty = tempfile::tempdir().unwrap();
        assert!(named(&[empty.path().to_owned()]).unwrap_err().to_string().contains("no trace"));
    }
}
