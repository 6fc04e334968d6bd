//! Two runs laid over each other.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, ensure};
use mpitrace::run_time::RunTime;

use super::{Arguments, Place};
use crate::commands::FINDING;
use crate::commands::compare::identity;
use crate::draw::terminal::Look;
use crate::memory;
use crate::output::{self, Output};
use crate::report::comparison::{self, Comparison};
use crate::report::detail::{Detail, SHOWN};
use crate::report::measured::Measured;
use crate::report::terminal;
use crate::report::{file, make, page, pictures};
use crate::source::Source;

pub(super) fn run(
    arguments: &Arguments,
    files: [&PathBuf; 2],
    time: RunTime,
    place: Place,
    output: &mut Output,
) -> Result<ExitCode> {
    let sources = [open(arguments, files[0], time)?, open(arguments, files[1], time)?];
    let comparison = compare(arguments, &sources, files, time)?;
    match place {
        Place::Page(path) => {
            file::whole(path, |file| page::write_comparison(&comparison, file))?;
        }
        Place::Folder(folder) => pictures::write_comparison(&comparison, time, folder)?,
        Place::Terminal => {
            let look = Look::of_output(output.style);
            terminal::write_comparison(&comparison, time, look, output)?;
        }
        Place::Nowhere => {}
    }
    if arguments.json {
        output::json(output, "report-compare", &comparison)?;
    }
    output.flush()?;
    Ok(if comparison.complete { ExitCode::SUCCESS } else { ExitCode::from(FINDING) })
}

fn open(arguments: &Arguments, file: &Path, time: RunTime) -> Result<Source> {
    let input = &arguments.input;
    let source = Source::read(&[file.to_owned()], input.from.format)?.limited_to(input.repetitions.as_ref());
    source.check(None, time)?;
    source.warn(time);
    source.warn_of_memory(None, memory::PAGE);
    Ok(source)
}

fn compare(arguments: &Arguments, sources: &[Source; 2], files: [&PathBuf; 2], time: RunTime) -> Result<Comparison> {
    let identities = [0, 1].map(|side: usize| identity::all(sources[side].operations()));
    let paired = identity::pair(identities[0].iter().collect(), identities[1].iter().collect());
    let mut notes = paired.notes();
    let mut found = paired.pairs;
    ensure!(
        !found.is_empty(),
        "{} and {} have no operation in common (function, bytes, ranks and root)",
        files[0].display(),
        files[1].display()
    );
    if found.len() > SHOWN {
        notes.push(format!("the first {SHOWN} of {} operations are shown", found.len()));
        found.truncate(SHOWN);
    }
    // A pair takes the room of two.
    let detail = Detail::new(2 * found.len(), 0);
    let mut pairs = Vec::new();
    for (a, b) in found {
        let made = |side: usize, number: usize| -> Result<make::Made> {
            let mut measured = Measured::new(&sources[side], number, detail.cells)?;
            // What is not laid over each other takes no room.
            measured.heat = None;
            measured.counters.clear();
            make::fingerprint(measured, arguments.rule.rule, &detail)
        };
        pairs.push(comparison::pair(identities[0][a].key(), made(0, a)?, made(1, b)?));
    }
    Ok(Comparison {
        names: files.map(|file| super::name(file)),
        generator: super::generator(),
        complete: sources.iter().all(Source::complete),
        time: time.name(),
        method: arguments.rule.rule.name(),
        runs: [super::run_facts(&sources[0]), super::run_facts(&sources[1])],
        pairs,
        notes,
    })
}
