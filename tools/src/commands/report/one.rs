//! The operations of one run.

use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use mpitrace::run_time::RunTime;

use super::{Arguments, Place};
use crate::commands::exit_code;
use crate::draw::terminal::Look;
use crate::memory;
use crate::output::{self, Output};
use crate::progress::{self, Progress};
use crate::report::detail::{Detail, SHOWN};
use crate::report::fingerprint::{Fingerprint, Overview, Report};
use crate::report::measured::Measured;
use crate::report::terminal;
use crate::report::timeline::Timeline;
use crate::report::{file, make, page, pictures};
use crate::source::Source;

pub(super) fn run(arguments: &Arguments, time: RunTime, place: Place, output: &mut Output) -> Result<ExitCode> {
    let source = progress::during("reading", || Source::open(&arguments.input))?;
    source.check(arguments.operation, time)?;
    source.warn(time);
    source.warn_of_memory(arguments.operation, memory::PAGE);
    let report = report(&source, arguments, time)?;
    match place {
        Place::Page(path) => {
            file::whole(path, |file| page::write(&report, file))?;
        }
        Place::Folder(folder) => {
            let only = arguments.plot.as_deref();
            pictures::write(
                &report,
                time,
                folder,
                only,
                &arguments.picture.format_or(pictures::Format::default().size),
            )?;
        }
        Place::Terminal => {
            let look = Look::of_output(output.style);
            terminal::write(&report, time, look, output)?;
        }
        Place::Nowhere => {}
    }
    if arguments.json {
        output::json(output, "report", &report)?;
    }
    Ok(exit_code(&source))
}

fn report(source: &Source, arguments: &Arguments, time: RunTime) -> Result<Report> {
    let wanted: Vec<usize> = source.wanted(arguments.operation).collect();
    let counters = wanted.iter().map(|&number| source.counters(number).len()).max().unwrap_or(0);
    let detail = Detail::new(wanted.len().min(SHOWN), counters);
    let mut fingerprints = Vec::new();
    let mut overview = Vec::new();
    let mut notes = Vec::new();
    let progress = Progress::new(wanted.len() as u64);
    for number in wanted {
        let rule = arguments.rule.rule;
        let made = make::fingerprint(Measured::new(source, number, detail.cells)?, rule, &detail)?;
        progress.step();
        overview.push(make::overview(&made.fingerprint, time));
        fingerprints.push(made.fingerprint);
        let of_operation = source.notes(number).iter().map(|note| format!("operation {number}: {note}"));
        notes.extend(of_operation);
    }
    if let Some(Range { start, end }) = arguments.input.repetitions {
        let to = if end == u64::MAX { String::new() } else { end.to_string() };
        notes.push(format!("of each operation only the repetitions {start}..{to} are looked at"));
    }
    notes.extend(keep_longest(&mut fingerprints, &mut overview));
    let mut run = super::run_facts(source);
    run.timeline = source.traced().and_then(Timeline::new);
    Ok(Report {
        name: names(&arguments.input.files),
        generator: super::generator(),
        complete: source.complete(),
        time: time.name(),
        method: arguments.rule.rule.name(),
        run,
        overview,
        fingerprints,
        notes,
    })
}

/// What the files are called.
fn names(files: &[PathBuf]) -> String {
    let first = files.first().map(|file| super::name(file)).unwrap_or_default();
    match files.len() {
        0 | 1 => first,
        several => format!("{first} and {} more", several - 1),
    }
}

/// Of more operations than are shown keeps those that took longest in all; says so.
fn keep_longest(fingerprints: &mut Vec<Fingerprint>, overview: &mut [Overview]) -> Option<String> {
    let operations = overview.len();
    if operations <= SHOWN {
        return None;
    }
    let took = |row: &Overview| row.median_ns.unwrap_or(0.0) * row.operation.repetitions as f64;
    let mut order: Vec<usize> = (0..operations).collect();
    order.sort_by(|&a, &b| took(&overview[b]).total_cmp(&took(&overview[a])));
    for &place in &order[SHOWN..] {
        overview[place].shown = false;
    }
    let mut shown = overview.iter().map(|row| row.shown);
    fingerprints.retain(|_| shown.next().unwrap_or(false));
    Some(format!(
        "{SHOWN} of {operations} operations are shown, those with the most time (median times repetitions); \
         --operation shows any other"
    ))
}
