//! A Parquet dataset of several runs: `operation=N/run=NAME/ranks=A-B/part-K.parquet`, as Hive names folders, and
//! `_runs/NAME.json`, what `info --json` says of the run. Each run is added by a process of its own; several can be
//! added at the same time.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

use super::Exporter;
use super::columns::{Batches, Rows};
use super::destination::{Content, Destination, write_file};
use super::parquet::Parquet;
use super::partitions::{FILE, Table};
use super::rows::Calls;
use crate::commands::info;

/// The folder of what is known of the runs. Readers of datasets leave out names that begin so.
const RUNS: &str = "_runs";

/// Adds one run.
struct Dataset {
    run: String,
    /// The most ranks of a file.
    block: usize,
}

/// What is known of a run.
#[derive(Serialize)]
struct RunFacts<'f> {
    run: &'f str,
    /// The rule of the column `category`.
    method: &'static str,
    /// By the endings of the columns' names.
    units: HashMap<&'static str, &'static str>,
    /// What `info --json` prints: the MPI library, the settings, the operations.
    info: info::facts::Facts,
}

/// The exporter that adds a run under this name.
///
/// # Errors
/// The name cannot be that of a folder; blocks of no rank.
pub fn exporter(run: String, block: usize) -> Result<Box<dyn Exporter>> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    ensure!(
        run.starts_with(|first: char| first.is_ascii_alphanumeric()) && run.chars().all(is_plain),
        "--dataset {run:?}: a run is named by letters, digits, -, _ and ., and begins with a letter or digit"
    );
    ensure!(block > 0, "--rank-block 0: at least 1 rank is in a file");
    Ok(Box::new(Dataset { run, block }))
}

impl Exporter for Dataset {
    fn export(&self, calls: &Calls, operation: Option<usize>, destination: &mut Destination) -> Result<()> {
        let folder = destination.path();
        ensure!(!destination.is_pipe(), "a dataset is a folder and cannot go into a pipe: -o FOLDER");
        ensure!(!folder.is_file(), "{}: is a file, and a dataset is a folder", folder.display());
        ensure!(!calls.operations.operations.is_empty(), "this trace has no operation");
        let fail = || format!("cannot write {}", folder.display());
        let runs = folder.join(RUNS);
        fs::create_dir_all(&runs).with_context(fail)?;
        let facts = runs.join(format!("{}.json", self.run));
        ensure!(!facts.exists(), "{}: has a run {} already; name another one", folder.display(), self.run);
        let part = runs.join(format!("{}.part", self.run));
        if let Err(error) = fs::create_dir(&part) {
            match error.kind() {
                std::io::ErrorKind::AlreadyExists => bail!(
                    "{}: another export is adding this run, or was ended; then remove this folder",
                    part.display()
                ),
                _ => return Err(error).with_context(fail),
            }
        }
        let written = self.write(calls, operation, &part).and_then(|()| {
            self.publish(&part, folder).with_context(fail)?;
            // The run is there when this file is.
            write_file(&facts, Content::Text, |sink| Ok(serde_json::to_writer_pretty(sink, &self.facts(calls))?))
        });
        let _ = fs::remove_dir_all(&part);
        written
    }
}

impl Dataset {
    /// The files, below a folder for each operation.
    fn write(&self, calls: &Calls, operation: Option<usize>, part: &Path) -> Result<()> {
        let metadata = HashMap::from([("mpitrace.run".to_owned(), self.run.clone())]);
        let batches = Batches::of(calls, false)?.for_dataset(metadata);
        let operations = calls.operations.operations.iter().enumerate();
        for (number, of) in operations.filter(|(number, _)| operation.is_none_or(|wanted| wanted == *number)) {
            let rows: Vec<usize> = (0..of.repetition.len()).collect();
            for first in (0..of.parts.len()).step_by(self.block) {
                let members = first..(first + self.block).min(of.parts.len());
                let rank = |member: usize| calls.trace.parts[of.parts[member]].rank();
                let name = format!("ranks={}-{}", rank(members.start), rank(members.end - 1));
                let folder = part.join(format!("operation={number}")).join(name);
                fs::create_dir_all(&folder)?;
                let repetitions = (FILE / members.len()).max(1);
                for (index, rows) in rows.chunks(repetitions).enumerate() {
                    let path = folder.join(format!("part-{index}.{}", Parquet::ENDING));
                    let rows = Rows::OfOperation(number, members.clone(), rows);
                    write_file(&path, Content::Compressed, |sink| Parquet.write(&batches, rows, false, sink))?;
                }
            }
        }
        Ok(())
    }

    /// Moves the files to where they are read.
    fn publish(&self, part: &Path, folder: &Path) -> std::io::Result<()> {
        for entry in fs::read_dir(part)? {
            let entry = entry?;
            let operation = folder.join(entry.file_name());
            fs::create_dir_all(&operation)?;
            let run = operation.join(format!("run={}", self.run));
            // Left by an export that was ended before it said that the run is there.
            if run.exists() {
                fs::remove_dir_all(&run)?;
            }
            fs::rename(entry.path(), run)?;
        }
        Ok(())
    }

    fn facts(&self, calls: &Calls) -> RunFacts<'_> {
        RunFacts {
            run: &self.run,
            method: calls.rule.name(),
            units: HashMap::from([("_ns", "nanoseconds"), ("bytes", "bytes")]),
            info: info::facts::Facts::of(calls.trace, calls.operations, calls.clock),
        }
    }
}
