//! `mpitrace benchmark synchronisation`: how an unmodified benchmark has synchronised its ranks, and how well.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use mpitrace_commands::exit_code;
use mpitrace_functions::Function;
use mpitrace_show::output::{self, Attribute, Output};
use mpitrace_show::text;
use mpitrace_source::options::Input;
use mpitrace_source::{Source, Traced};
use mpitrace_statistics::median;
use mpitrace_trace::run_time::RunTime;
use mpitrace_words::description::Description;
use serde::Serialize;

use crate::barrier_bounds::{Barriers, Bounds, Verdict};
use crate::synchronisation_check::{Observed, Spread, Synchronisation, SynchronisationCheck, Window, check};

/// So many numbers of repetitions are listed; `--json` has all.
const LISTED: usize = 10;

/// Show how a benchmark synchronises its ranks, how far apart they started, and which repetitions it discards
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    /// Only this operation
    #[arg(long, value_name = "N")]
    operation: Option<usize>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Checks the operations that are asked for.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let source = Source::open(&arguments.input)?;
    let Some(traced) = source.traced() else {
        bail!("the synchronisation can be seen in a trace only: no other file holds the calls before each repetition");
    };
    source.check(arguments.operation, RunTime::Global)?;
    source.warn(RunTime::Global);
    let each = source.wanted(arguments.operation).map(|number| Checked::new(&source, traced, number));
    if arguments.json {
        output::json_rows(output, "benchmark-synchronisation", each.map(Ok))?;
    } else {
        for (index, checked) in each.enumerate() {
            if index > 0 {
                writeln!(output)?;
            }
            checked.write(output)?;
        }
    }
    Ok(exit_code(&source))
}

#[derive(Serialize)]
struct Checked<'s> {
    #[serde(flatten)]
    description: &'s Description,
    synchronisation_check: Option<Facts>,
    barrier_bounds: Option<BarrierFacts>,
}

/// Bounds by barriers before and behind the operation, which need no global clock: medians over the repetitions that
/// have them, ns.
#[derive(Serialize)]
struct BarrierFacts {
    repetitions: usize,
    /// Times between pairs of barriers, which have no work.
    gaps: usize,
    lower_ns: Option<f64>,
    global_ns: Option<f64>,
    upper_ns: Option<f64>,
    /// Repetitions whose global time lies outside of its bounds.
    contradicted: usize,
    /// By more than the stated errors of the clocks.
    contradicted_with_errors: usize,
}

/// The check, for programs.
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

impl<'s> Checked<'s> {
    fn new(source: &'s Source, traced: &Traced, number: usize) -> Self {
        let observed = Observed::new(&traced.run.trace, &traced.run.operations, &traced.run.clock, number);
        let description = &source.operations()[number];
        Checked {
            description,
            synchronisation_check: check(&observed).map(|check| Facts::new(check, description)),
            barrier_bounds: BarrierFacts::new(traced, number),
        }
    }

    fn write(&self, output: &mut Output) -> Result<()> {
        let title =
            format!("operation {}: {}", self.description.operation, text::printable(&self.description.function));
        let bytes = self.description.bytes.map(|bytes| format!(" of {bytes} bytes")).unwrap_or_default();
        let title = output.style.paint(Attribute::Bold, &format!("{title}{bytes}"));
        writeln!(output, "{title}")?;
        match &self.synchronisation_check {
            Some(facts) => facts.sentences.iter().try_for_each(|sentence| writeln!(output, "* {sentence}"))?,
            None => writeln!(output, "* fewer than two repetitions: nothing to check")?,
        }
        if let Some(bounds) = &self.barrier_bounds {
            let [lower, global, upper] =
                [bounds.lower_ns, bounds.global_ns, bounds.upper_ns].map(|ns| ns.map(text::time).unwrap_or_default());
            let gaps = match bounds.gaps {
                0 => String::new(),
                gaps => format!(" ({} between pairs left out)", text::count(gaps as u64, "time")),
            };
            writeln!(
                output,
                "* barriers around {}{gaps}: work of {lower} to {upper} without a clock, {global} with; contradicted \
                 {}, beyond the clocks' errors {}",
                bounds.repetitions, bounds.contradicted, bounds.contradicted_with_errors
            )?;
        }
        Ok(())
    }
}

impl BarrierFacts {
    fn new(traced: &Traced, number: usize) -> Option<BarrierFacts> {
        let barriers = Barriers::new(&traced.run.trace, &traced.run.clock, &traced.run.operations, number)?;
        let (found, gaps) = barriers.of_work();
        let middle = |of: fn(&Bounds) -> f64| median(&mut found.iter().map(of).collect::<Vec<_>>());
        let count = |is_one: fn(&Verdict) -> bool| found.iter().filter(|bounds| is_one(&bounds.verdict)).count();
        (!found.is_empty()).then(|| BarrierFacts {
            repetitions: found.len(),
            gaps,
            lower_ns: middle(|bounds| bounds.lower_ns),
            global_ns: middle(|bounds| bounds.global_ns),
            upper_ns: middle(|bounds| bounds.upper_ns),
            contradicted: count(|verdict| *verdict != Verdict::Held),
            contradicted_with_errors: count(|verdict| *verdict == Verdict::Contradicted),
        })
    }
}

impl Facts {
    fn new(check: SynchronisationCheck, description: &Description) -> Self {
        Facts {
            sentences: sentences(&check, description),
            synchronisation: name(check.synchronisation),
            asked_for: check.asked_for.map(name),
            share: check.share,
            start: check.start.map(Widths::new),
            exit: check.exit.map(Widths::new),
            barrier_exit: check.barrier_exit.map(Widths::new),
            wait_ns: check.wait_ns,
            window: check.window.map(WindowFacts::new),
            apart: check.apart,
            error_ns: check.error_ns,
            start_ns: check.start_ns,
        }
    }
}

impl Widths {
    fn new(spread: Spread) -> Self {
        Widths { median_ns: spread.median_ns, p95_ns: spread.p95_ns, max_ns: spread.max_ns }
    }
}

impl WindowFacts {
    fn new(window: Window) -> Self {
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

fn sentences(check: &SynchronisationCheck, description: &Description) -> Vec<String> {
    let how = match check.synchronisation {
        Synchronisation::None => "no synchronisation of the ranks was seen before a repetition",
        Synchronisation::Barrier => "a barrier synchronises the ranks before a repetition",
        Synchronisation::DoubleBarrier => "two barriers synchronise the ranks before a repetition",
        Synchronisation::Barriers => "several barriers synchronise the ranks before a repetition",
        Synchronisation::Dissemination => {
            "messages in log2(ranks) rounds, a dissemination barrier, synchronise the ranks"
        }
        Synchronisation::Window => "the ranks start in windows: at times on a grid, however long a repetition takes",
        Synchronisation::RoundTime => "a barrier and an agreed start time synchronise the ranks",
    };
    let share = match check.share {
        1.0 => String::new(),
        share => format!(" (so for {:.1} % of the repetitions)", 100.0 * share),
    };
    let mut sentences = vec![format!("{how}{share}")];
    sentences.extend(asked(check));
    if check.synchronisation == Synchronisation::None && !check.messages_counted {
        sentences.push(
            "messages were not counted, so a barrier made of them would not be seen: record with MPITRACE_EVENTS=messages"
                .to_owned(),
        );
    }
    if Function::named(&description.function).is_some_and(Function::is_blocking_barrier) {
        sentences.push("barriers before a barrier count as its repetitions, not as its synchronisation".to_owned());
    }
    let certain = match check.error_ns {
        Some(error) => format!("; error of a rank's time: at most {}", text::time(error)),
        None => "; the error of a rank's time is unknown".to_owned(),
    };
    sentences.extend(check.start.map(|start| format!("the ranks started {}{certain}", apart(&start))));
    if let Some((left, wait)) = check.barrier_exit.zip(check.wait_ns) {
        sentences.push(format!(
            "they left the barrier {} and entered the call {} later",
            apart(&left),
            text::time(wait)
        ));
    }
    if let Some(window) = &check.window {
        sentences.extend(of_windows(window));
    }
    if check.synchronisation == Synchronisation::RoundTime {
        sentences.push(match check.apart.len() {
            0 => "no repetition started so far apart that the benchmark repeated it".to_owned(),
            _ => format!("{} started too far apart: a benchmark that checks this repeats them", list(&check.apart)),
        });
    }
    sentences
}

/// The synchronisation that the command line asks for, where something else was seen.
fn asked(check: &SynchronisationCheck) -> Option<String> {
    let asked = check.asked_for.filter(|asked| *asked != check.synchronisation)?;
    let barriers = [Synchronisation::DoubleBarrier, Synchronisation::Barriers];
    if asked == Synchronisation::Barrier && barriers.contains(&check.synchronisation) {
        return None;
    }
    let why = match (asked, check.synchronisation) {
        (Synchronisation::Window, Synchronisation::None) => {
            ": no rank waits for its start, as where windows are shorter than a repetition takes; try longer ones"
        }
        (Synchronisation::RoundTime, Synchronisation::None) => ": there is no barrier before the agreed start time",
        _ => "",
    };
    Some(format!("the command line asks for: {}{why}", name(asked)))
}

fn of_windows(window: &Window) -> Vec<String> {
    let grid = format!(
        "a window is {} long; the first rank enters {} from its beginning (median)",
        text::time(window.width_ns),
        text::time(window.deviation_ns)
    );
    let mut sentences = vec![grid];
    if !window.expired.is_empty() {
        sentences.push(format!("{} ended after their window: the benchmark discards them", list(&window.expired)));
    }
    if !window.passed.is_empty() {
        let what = "began after their start time: the benchmark discards these, too";
        sentences.push(format!("{} {what}", list(&window.passed)));
    }
    if !window.unseen.is_empty() {
        let what = "were entered late by a rank that had arrived in time: the benchmark cannot see this";
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
