//! `doctor` for people: a page of lines.

use std::io::{self, Write};

use mpitrace_job::mpi::stamp::Source;
use mpitrace_show::output::{Attribute, Style};
use mpitrace_show::text;

use super::counters::{Counters, Event};
use super::facts::{Facts, Mpi};

const TITLE: usize = 11;

pub fn write(facts: &Facts, output: &mut dyn Write, style: Style) -> io::Result<()> {
    if let Some(reason) = &facts.reason {
        let line = format!("Tracing will not work here: {}", text::printable(reason));
        writeln!(output, "{}", style.paint(Attribute::Red, &line))?;
    }
    let mut before = "";
    for (title, line) in lines(facts) {
        let shown = if title == before { "" } else { title };
        let shown = style.paint(Attribute::Bold, &format!("{shown:TITLE$}"));
        writeln!(output, "{}", format!("{shown} {}", text::printable(&line)).trim_end())?;
        before = title;
    }
    Ok(())
}

/// The lines with their titles; lines of one title belong together.
fn lines(facts: &Facts) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let tracer = facts.tracer.as_ref().map(|path| path.display().to_string());
    lines.push(("tracer", tracer.unwrap_or_else(|| "not found".to_owned())));
    lines.extend(facts.mpi.iter().flat_map(library).map(|line| ("MPI", line)));
    if facts.mpi.is_empty() {
        lines.push(("MPI", "no library found".to_owned()));
    }
    lines.push(("clock", clock(facts)));
    lines.extend(counters(&facts.counters).into_iter().map(|line| ("counters", line)));
    let preloaded = Some(facts.preloaded.join(", ")).filter(|list| !list.is_empty());
    lines.push(("preloaded", preloaded.unwrap_or_else(|| "nothing else".to_owned())));
    lines
}

fn library(mpi: &Mpi) -> Vec<String> {
    let name = if mpi.library.is_empty() { "does not state its name" } else { &mpi.library };
    let abi = mpi.abi.and_then(|abi| serde_json::to_value(abi).ok());
    let abi = abi.as_ref().and_then(|abi| abi.as_str()).map(|abi| format!(" ({abi} ABI)")).unwrap_or_default();
    let traced = match mpi.traced {
        Some(true) => "is traced",
        Some(false) => "is NOT traced",
        None => "was not tried",
    };
    let mut lines = vec![format!("{}: {traced}", mpi.path.display()), format!("  {name}{abi}")];
    lines.extend(mpi.problem.as_ref().map(|problem| format!("  {problem}")));
    lines
}

fn clock(facts: &Facts) -> String {
    let clock = &facts.clock;
    let source = match clock.source {
        Source::Tsc => "the processor's time stamp counter",
        Source::Cntvct => "the processor's virtual counter",
        Source::MonotonicRaw => "CLOCK_MONOTONIC_RAW, as the processor's counter is not reliable",
    };
    let lacking: Vec<&str> = clock.flags.iter().filter(|(_, has)| !**has).map(|(flag, _)| *flag).collect();
    let lacking = match lacking[..] {
        [] => String::new(),
        _ => format!("; the processor lacks {}", lacking.join(", ")),
    };
    format!("{source}{lacking}")
}

fn counters(counters: &Counters) -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |title: &str, wanted: &dyn Fn(&Event) -> bool| {
        let names: Vec<&str> = counters.events.iter().filter(|event| wanted(event)).map(|event| event.name).collect();
        if !names.is_empty() {
            lines.push(format!("{title}: {}", names.join(", ")));
        }
    };
    add("work", &|event| event.works && event.kernel);
    add("work, in the program only", &|event| event.works && !event.kernel);
    let mut reasons: Vec<&str> = counters.events.iter().filter_map(|event| event.error.as_deref()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for reason in reasons {
        add(reason, &|event| event.error.as_deref() == Some(reason));
    }
    lines.extend(counters.hint.clone());
    lines
}
