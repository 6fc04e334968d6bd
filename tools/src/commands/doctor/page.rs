//! `doctor` for people: a page of lines.

use std::io::{self, Write};

use super::counters::{Counters, Event};
use super::facts::{Facts, Mpi};
use crate::mpi::stamp::Source;
use crate::output::{Attribute, Style};
use crate::text;

/// Titles of the lines are set in a column of this width.
const TITLE: usize = 11;

/// Writes the page.
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
    lines.extend(clock(facts).into_iter().map(|line| ("clock", line)));
    lines.extend(counters(&facts.counters).into_iter().map(|line| ("counters", line)));
    lines.push(("interrupts", facts.interruptions.line()));
    lines.push(("memory", memory(facts)));
    let preloaded = Some(facts.preloaded.join(", ")).filter(|list| !list.is_empty());
    lines.push(("preloaded", preloaded.unwrap_or_else(|| "nothing else".to_owned())));
    lines.extend(facts.namesakes.iter().map(|path| {
        ("preloaded", format!("{} has the tracer's name: give LD_PRELOAD the whole path, as run does", path.display()))
    }));
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
    let mut lines = vec![format!("{}: {traced}", mpi.installed.path.display()), format!("  {name}{abi}")];
    lines.push(format!("  found by {}", mpi.installed.found_by.join(", ")));
    lines.extend(mpi.problem.as_ref().map(|problem| format!("  {problem}")));
    if mpi.tool_interface {
        let performance = text::count(mpi.performance_variables.len() as u64, "performance variable");
        lines.push(format!("  MPI_T: {performance}"));
    }
    lines
}

fn clock(facts: &Facts) -> Vec<String> {
    let clock = &facts.clock;
    let source = match clock.source {
        Source::Tsc => "the processor's time stamp counter",
        Source::Cntvct => "the processor's virtual counter",
        Source::MonotonicRaw => "CLOCK_MONOTONIC_RAW, as the processor's counter cannot be trusted",
    };
    let lacking: Vec<&str> = clock.flags.iter().filter(|(_, has)| !**has).map(|(flag, _)| *flag).collect();
    let lacking = match lacking[..] {
        [] => String::new(),
        _ => format!("; the processor lacks {}", lacking.join(", ")),
    };
    let kernel = clock.clocksource.as_ref().map(|name| {
        let others: Vec<&str> = clock.available.iter().map(String::as_str).filter(|other| other != name).collect();
        let others = if others.is_empty() { String::new() } else { format!(", and has {}", others.join(", ")) };
        format!("the kernel reads {name}{others}")
    });
    let boot = clock.boot_id.as_ref().map(|id| format!("boot id {id}"));
    [Some(format!("{source}{lacking}")), kernel, boot].into_iter().flatten().collect()
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
    add("work, without what the kernel does for the program", &|event| event.works && !event.kernel);
    let mut reasons: Vec<&str> = counters.events.iter().filter_map(|event| event.error.as_deref()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for reason in reasons {
        add(reason, &|event| event.error.as_deref() == Some(reason));
    }
    lines.extend(counters.hint.clone());
    lines
}

fn memory(facts: &Facts) -> String {
    /// Bytes of a MiB.
    const MIB: f64 = 1048576.0;
    match &facts.memory {
        None => "no /dev/shm: the trace buffers go to the temporary folder".to_owned(),
        Some(memory) => {
            let mib = |bytes: u64| bytes as f64 / MIB;
            let (free, all) = (mib(memory.free_bytes), mib(memory.bytes));
            format!("{}: {free:.0} of {all:.0} MiB free for trace buffers", memory.folder.display())
        }
    }
}
