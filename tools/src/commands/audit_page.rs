//! `mpitrace stats --audit`: how an unmodified benchmark has synchronised its ranks, and how well.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use mpitrace::run_time::RunTime;
use mpitrace::synchronisation_check::{Audit, Observed, Spread, Synchronisation, Window, audit};
use mpitrace_functions::Function;
use serde::Serialize;

use crate::output::{Attribute, JsonList, Output};
use crate::source::{Description, Source, Traced};
use crate::text;

/// So many numbers of repetitions are listed; `--json` has all.
const LISTED: usize = 10;

/// Audits the operations that are asked for.
///
/// # Errors
/// The source is no trace: the calls before each repetition are not known.
pub fn run(source: &Source, operation: Option<usize>, as_json: bool, output: &mut Output) -> Result<ExitCode> {
    let Some(traced) = source.traced() else {
        bail!("--audit needs a trace: what the ranks called before each repetition stands in nothing else");
    };
    source.warn(RunTime::Global);
    let mut each = source.wanted(operation).map(|number| Audited::of(source, traced, number));
    if as_json {
        let mut list = JsonList::new(output)?;
        each.try_for_each(|audited| list.push(&audited))?;
        list.end()?;
    } else {
        for (index, audited) in each.enumerate() {
            if index > 0 {
                writeln!(output)?;
            }
            audited.write(output)?;
        }
    }
    Ok(super::shown_source(source))
}

#[derive(Serialize)]
struct Audited<'s> {
    #[serde(flatten)]
    description: &'s Description,
    audit: Option<Facts>,
}

/// An audit, for programs.
#[derive(Serialize)]
struct Facts {
    synchronisation: &'static str,
    asked_for: Option<&'static str>,
    share: f64,
    start: Option<Widths>,
    exit: Option<Widths>,
    barrier_exit: Option<Widths>,
    wait_ns: Option<f64>,
    window: Option<WindowFacts>,
    apart: Vec<u64>,
    error_ns: Option<f64>,
    start_ns: Vec<f64>,
    sentences: Vec<String>,
}

#[derive(Serialize)]
struct Widths {
    median_ns: f64,
    p95_ns: f64,
    max_ns: f64,
}

#[derive(Serialize)]
struct WindowFacts {
    width_ns: f64,
    deviation_ns: f64,
    expired: Vec<u64>,
    passed: Vec<u64>,
    unseen: Vec<u64>,
}

impl<'s> Audited<'s> {
    fn of(source: &'s Source, traced: &Traced, number: usize) -> Self {
        let observed = Observed::of(&traced.trace, &traced.operations, &traced.clock, number);
        let description = &source.operations()[number];
        Audited { description, audit: audit(&observed).map(|audit| Facts::of(audit, description)) }
    }

    fn write(&self, output: &mut Output) -> Result<()> {
        let title =
            format!("operation {}: {}", self.description.operation, text::printable(&self.description.function));
        let bytes = self.description.bytes.map(|bytes| format!(" of {bytes} bytes")).unwrap_or_default();
        let title = output.style.paint(Attribute::Bold, &format!("{title}{bytes}"));
        writeln!(output, "{title}")?;
        match &self.audit {
            Some(facts) => facts.sentences.iter().try_for_each(|sentence| writeln!(output, "* {sentence}"))?,
            None => writeln!(output, "* fewer than two repetitions: nothing to audit")?,
        }
        Ok(())
    }
}

impl Facts {
    fn of(audit: Audit, description: &Description) -> Self {
        Facts {
            sentences: sentences(&audit, description),
            synchronisation: name(audit.synchronisation),
            asked_for: audit.asked_for.map(name),
            share: audit.share,
            start: audit.start.map(Widths::of),
            exit: audit.exit.map(Widths::of),
            barrier_exit: audit.barrier_exit.map(Widths::of),
            wait_ns: audit.wait_ns,
            window: audit.window.map(WindowFacts::of),
            apart: audit.apart,
            error_ns: audit.error_ns,
            start_ns: audit.start_ns,
        }
    }
}

impl Widths {
    fn of(spread: Spread) -> Self {
        Widths { median_ns: spread.median_ns, p95_ns: spread.p95_ns, max_ns: spread.max_ns }
    }
}

impl WindowFacts {
    fn of(window: Window) -> Self {
        let Window { width_ns, deviation_ns, expired, passed, unseen } = window;
        WindowFacts { width_ns, deviation_ns, expired, passed, unseen }
    }
}

fn name(synchronisation: Synchronisation) -> &'static str {
    match synchronisation {
        Synchronisation::None => "none",
        Synchronisation::Barrier => "barrier",
        Synchronisation::DoubleBarrier => "double-barrier",
        Synchronisation::Barriers => "barriers",
        Synchronisation::Dissemination => "dissemination",
        Synchronisation::Window => "window",
        Synchronisation::RoundTime => "round-time",
    }
}

fn sentences(audit: &Audit, description: &Description) -> Vec<String> {
    let how = match audit.synchronisation {
        Synchronisation::None => "no synchronisation of the ranks was seen before a repetition",
        Synchronisation::Barrier => "a barrier synchronises the ranks before a repetition",
        Synchronisation::DoubleBarrier => "two barriers synchronise the ranks before a repetition",
        Synchronisation::Barriers => "several barriers synchronise the ranks before a repetition",
        Synchronisation::Dissemination => {
            "messages in log2(ranks) rounds, a dissemination barrier, synchronise the ranks"
        }
        Synchronisation::Window => "the ranks start in windows: at times on a grid, whatever a repetition took",
        Synchronisation::RoundTime => "a barrier, and then a time that the ranks have agreed on, synchronises them",
    };
    let share = match audit.share {
        1.0 => String::new(),
        share => format!(" (so for {:.1} % of the repetitions)", 100.0 * share),
    };
    let mut sentences = vec![format!("{how}{share}")];
    sentences.extend(asked(audit));
    if audit.synchronisation == Synchronisation::None && !audit.messages_counted {
        sentences.push(
            "messages were not counted, so a barrier made of them would not be seen: record with MPITRACE_EVENTS=messages"
                .to_owned(),
        );
    }
    if Function::named(&description.function).is_some_and(Function::is_blocking_barrier) {
        sentences.push("barriers before a barrier count as its repetitions, not as its synchronisation".to_owned());
    }
    let certain = match audit.error_ns {
        Some(error) => format!("; the time of a rank is right to {}", text::time(error)),
        None => "; how right the time of a rank is, nothing states".to_owned(),
    };
    sentences.extend(audit.start.map(|start| format!("the ranks started {}{certain}", apart(&start))));
    if let Some((left, wait)) = audit.barrier_exit.zip(audit.wait_ns) {
        sentences.push(format!("the barrier let them go {}; {} later they entered", apart(&left), text::time(wait)));
    }
    if let Some(window) = &audit.window {
        sentences.extend(of_windows(window));
    }
    if audit.synchronisation == Synchronisation::RoundTime {
        sentences.push(match audit.apart.len() {
            0 => "none started so far apart that the benchmark had to do it again".to_owned(),
            _ => format!("{} started too far apart: a benchmark that checks does them again", list(&audit.apart)),
        });
    }
    sentences
}

/// What the command line asks for, where something else was seen.
fn asked(audit: &Audit) -> Option<String> {
    let asked = audit.asked_for.filter(|asked| *asked != audit.synchronisation)?;
    let barriers = [Synchronisation::DoubleBarrier, Synchronisation::Barriers];
    if asked == Synchronisation::Barrier && barriers.contains(&audit.synchronisation) {
        return None;
    }
    let why = match (asked, audit.synchronisation) {
        (Synchronisation::Window, Synchronisation::None) => {
            ": no rank waits for its start, as where windows are shorter than a repetition takes; try longer ones"
        }
        (Synchronisation::RoundTime, Synchronisation::None) => ": no barrier is before the time that is agreed on",
        _ => "",
    };
    Some(format!("the command line asks for: {}{why}", name(asked)))
}

fn of_windows(window: &Window) -> Vec<String> {
    let grid = format!(
        "a window is {} long; the first rank enters {} from its begin (median)",
        text::time(window.width_ns),
        text::time(window.deviation_ns)
    );
    let mut sentences = vec![grid];
    if !window.expired.is_empty() {
        sentences.push(format!("{} ended after their window: the benchmark throws them away", list(&window.expired)));
    }
    if !window.passed.is_empty() {
        let what = "began when their start time had passed: it throws these away, too";
        sentences.push(format!("{} {what}", list(&window.passed)));
    }
    if !window.unseen.is_empty() {
        let what = "were entered late by a rank that had come in time: this the benchmark cannot see";
        sentences.push(format!("{} {what}", list(&window.unseen)));
    }
    sentences
}

fn apart(spread: &Spread) -> String {
    format!(
        "{} apart (median; 95 % of them {} or less, at most {})",
        text::time(spread.median_ns),
        text::time(spread.p95_ns),
        text::time(spread.max_ns)
    )
}

/// `3 repetitions (5, 17, 80)`.
fn list(numbers: &[u64]) -> String {
    let shown: Vec<String> = numbers.iter().take(LISTED).map(u64::to_string).collect();
    let more = if numbers.len() > LISTED { ", ..." } else { "" };
    format!("{} ({}{more})", text::count(numbers.len() as u64, "repetition"), shown.join(", "))
}
