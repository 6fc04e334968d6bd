//! Why the runs of a program differ: what is known of each, out of its row and its trace.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use anyhow::Result;
use mpitrace_analysis::account;
use mpitrace_analysis::run::{Need, Run};
use mpitrace_runs::{WhyFacts, write_why};
use mpitrace_scaling::why::{Factor, LEAST_RUNS, Values, explain};
use mpitrace_show::date;
use mpitrace_show::output::Output;
use mpitrace_show::progress::Progress;
use mpitrace_show::text;
use mpitrace_trace::calls::algorithms::Visible;
use mpitrace_words::names::value_of;
use rayon::prelude::*;

use super::row::RunRow;

/// Settings that name what is another one in each run.
const OF_A_RUN: [&str; 2] = ["env.MPITRACE_OUTPUT", "env.MPITRACE_SEGMENT_DIR"];

/// The facts of a run beside its row, by name.
struct Known {
    /// Ranks off their processors that others had, as a share of their time.
    off: Option<f64>,
    names: BTreeMap<String, String>,
}

/// The explanations, of the programs with most runs first: runs on as many ranks and nodes together.
pub fn all(rows: &[RunRow]) -> Vec<WhyFacts> {
    let mut groups: BTreeMap<(&str, u32, usize), Vec<&RunRow>> = BTreeMap::new();
    // What did not finish took another time and computed something else.
    for row in rows.iter().filter(|row| row.ended == "finished" && row.seconds > 0.0) {
        groups.entry((row.program.as_deref().unwrap_or_default(), row.ranks, row.nodes)).or_default().push(row);
    }
    let mut groups: Vec<_> = groups.into_iter().filter(|(_, rows)| rows.len() >= LEAST_RUNS).collect();
    groups.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.len()));
    let progress = Progress::new(groups.iter().map(|(_, rows)| rows.len() as u64).sum());
    let facts = |((program, ranks, nodes), rows): ((&str, u32, usize), Vec<&RunRow>)| {
        let known = rows.par_iter().map(|row| {
            let known = Known::read(row);
            progress.step();
            known
        });
        let known: Vec<Option<Known>> = known.collect();
        let read: Vec<(&RunRow, Known)> =
            rows.into_iter().zip(known).filter_map(|(row, known)| Some((row, known?))).collect();
        let seconds: Vec<f64> = read.iter().map(|(row, _)| row.seconds).collect();
        let mut why = explain(&seconds, &factors(&read))?;
        for of in why.factors.iter_mut().filter(|of| of.is_time) {
            if let Some((contrast, since)) = of.contrast.as_mut().and_then(|of| Some((of.value.parse().ok()?, of))) {
                since.value = date::text(contrast);
            }
        }
        Some(WhyFacts::new(program, ranks, nodes, why))
    };
    groups.into_iter().filter_map(facts).collect()
}

/// Writes them.
pub fn write(all: &[WhyFacts], output: &mut Output) -> Result<()> {
    if all.is_empty() {
        let least = text::count(LEAST_RUNS as u64, "run");
        writeln!(output, "No program has {least} or more that finished on as many ranks and nodes, and differ.")?;
    }
    for (place, facts) in all.iter().enumerate() {
        if place > 0 {
            writeln!(output)?;
        }
        write_why(facts, output)?;
    }
    Ok(())
}

impl Known {
    /// `None`: the trace cannot be read any more.
    fn read(row: &RunRow) -> Option<Known> {
        let run = mpitrace_source::open(&[&row.file], Need::Operations).ok()?;
        let metadata = run.trace.parts.first().map(|part| part.metadata()).unwrap_or_default();
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for (name, shown) in [("library", "library"), ("program_build_id", "program build"), ("command", "arguments")] {
            names.extend(value_of(&metadata, name).map(|value| (shown.to_owned(), value)));
        }
        let settings = metadata.iter().filter(|(name, _)| !OF_A_RUN.contains(&name.as_str()));
        names.extend(settings.filter_map(|(name, value)| Some((name.strip_prefix("env.")?.to_owned(), value.clone()))));
        names.extend(algorithms(&run));
        let ranks = account::ranks(&run.trace, &run.clock, &run.operations, &[]);
        let off = ranks.iter().map(|rank| rank.off_processor.map(|off| off.preempted + off.throttled));
        let off: Option<f64> = off.sum();
        let whole: f64 = ranks.iter().map(|rank| rank.wall_ns).sum();
        Some(Known { off: off.map(|off| (off / whole).clamp(0.0, 0.99)), names })
    }
}

/// For each function the algorithms that most calls of its operations had.
fn algorithms(run: &Run) -> Vec<(String, String)> {
    let visible = Visible::new(&run.trace);
    let mut of_functions: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for operation in run.operations.operations.iter().filter(|operation| !operation.key.is_region) {
        let calls = visible.of(&operation.key.function).calls(&run.trace, operation).unwrap_or_default();
        if let Some((algorithm, _)) = calls.into_iter().max_by_key(|(_, calls)| *calls) {
            of_functions.entry(&operation.key.function).or_default().insert(algorithm.to_string());
        }
    }
    let named = |(function, algorithms): (&str, BTreeSet<String>)| {
        (format!("algorithm of {function}"), Vec::from_iter(algorithms).join(", "))
    };
    of_functions.into_iter().map(named).collect()
}

/// The factors of these runs; those that do not vary explain nothing.
fn factors(runs: &[(&RunRow, Known)]) -> Vec<Factor> {
    let factor = |name: &str, values| Factor { name: name.to_owned(), values };
    let hosts = |(row, _): &(&RunRow, Known)| row.hosts.iter().map(|host| host.host.clone()).collect();
    let mut factors = vec![factor("node", Values::Sets(runs.iter().map(hosts).collect()))];
    let began: Option<Vec<i64>> = runs.iter().map(|(row, _)| row.started.as_deref().and_then(date::seconds)).collect();
    factors.extend(began.map(|times| factor("start time", Values::Times(times))));
    // A run that has its processor for a share of the time takes the inverse of that longer.
    let off: Option<Vec<f64>> = runs.iter().map(|(_, known)| Some(-(1.0 - known.off?).ln())).collect();
    factors.extend(off.map(|off| factor("interruptions", Values::Numbers(off))));
    let names: BTreeSet<&String> = runs.iter().flat_map(|(_, known)| known.names.keys()).collect();
    let unknown = || "not recorded".to_owned();
    let of_name = |name: &String| {
        let values = runs.iter().map(|(_, known)| known.names.get(name).cloned().unwrap_or_else(unknown));
        let values: Vec<String> = values.collect();
        let differs = values.iter().any(|value| *value != values[0]);
        differs.then(|| factor(name, Values::Names(values)))
    };
    factors.extend(names.into_iter().filter_map(of_name));
    factors
}
