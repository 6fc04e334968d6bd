//! `mpitrace benchmark work`: the overhead of a non-blocking operation by the time of the work alone.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Args;
use mpitrace_commands::exit_code;
use mpitrace_show::output::{self, Output};
use mpitrace_show::table::{Table, number, text};
use mpitrace_show::text;
use mpitrace_source::Source;
use mpitrace_source::numbers::selection::{Selection, Wanted};
use mpitrace_source::options::Input;
use mpitrace_statistics::categories::Rule;
use mpitrace_statistics::median;
use mpitrace_trace::run_time::RunTime;
use mpitrace_words::description::Description;
use serde::Serialize;

/// Show the overhead of non-blocking operations, from the time that the work between start and wait takes alone
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    /// Only this operation
    #[arg(long, value_name = "N")]
    operation: Option<usize>,
    /// The time of the work alone, as the program measured it
    #[arg(long, value_name = "NS")]
    work: f64,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Medians over the repetitions, of each the largest of all ranks.
#[derive(Debug, Serialize)]
struct Overhead {
    #[serde(flatten)]
    operation: Description,
    /// From the start until it was found complete, ns.
    total_ns: Option<f64>,
    /// `total_ns` less the time of the work alone, ns.
    overhead_by_work_ns: Option<f64>,
}

/// Shows them.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let source = Source::open(&arguments.input)?;
    source.check(arguments.operation, RunTime::Local)?;
    source.warn(RunTime::Local);
    let mut found = Vec::new();
    for operation in source.wanted(arguments.operation) {
        let Some(overheads) = source.overheads(operation) else { continue };
        let selection = Selection::new(&source, operation, RunTime::Local, Rule::default(), Wanted::All)?;
        let total_ns = median(&mut selection.only(overheads.total_ns)).filter(|total| total.is_finite());
        let overhead_by_work_ns = total_ns.map(|total| total - arguments.work);
        found.push(Overhead { operation: source.operations()[operation].clone(), total_ns, overhead_by_work_ns });
    }
    ensure!(!found.is_empty(), "no non-blocking operation whose requests were traced");
    if arguments.json {
        output::json_rows(output, "benchmark-work", found.iter().map(Ok))?;
    } else {
        let mut table = Table::new(&[
            number("operation"),
            text("function"),
            number("bytes"),
            number("ranks"),
            number("start to completion"),
            number("overhead by work"),
        ]);
        for Overhead { operation, total_ns, overhead_by_work_ns } in &found {
            table.row(vec![
                operation.operation.to_string(),
                text::printable(&operation.function).into_owned(),
                text::optional(operation.bytes),
                operation.ranks.to_string(),
                total_ns.map(text::time).unwrap_or_default(),
                overhead_by_work_ns.map(text::time).unwrap_or_default(),
            ]);
        }
        let style = output.style;
        table.write(output, style)?;
    }
    Ok(exit_code(&source))
}
