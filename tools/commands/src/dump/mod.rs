//! `mpitrace dump`: the calls, one a row.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Args;
use mpitrace_analysis::run::Need;
use mpitrace_export::listing::{self, Form};
use mpitrace_export::messages::MessageRows;
use mpitrace_export::rows::{Calls, Selection};
use mpitrace_show::output::Output;
use mpitrace_show::progress;
use mpitrace_show::text;
use mpitrace_source::Traced;
use mpitrace_source::options::TraceInput;
use mpitrace_source::{check_operation, warn_if_incomplete};
use mpitrace_trace::reader::Part;

/// List the calls, one row for each, rank by rank
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: TraceInput,
    /// Only the calls of this operation
    #[arg(long, value_name = "N")]
    operation: Option<usize>,
    /// Only the calls of this rank
    #[arg(long, value_name = "R")]
    rank: Option<u32>,
    /// List the message calls instead (of runs with MPITRACE_P2P=records)
    #[arg(long, conflicts_with = "operation")]
    messages: bool,
    /// At most this many rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// As CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let need = if arguments.messages { Need::Messages } else { Need::Operations };
    let traced = progress::during("reading", || Traced::open(&arguments.input.files, need))?;
    let trace = &traced.run.trace;
    if let Some(rank) = arguments.rank {
        let known: Vec<u32> = trace.parts.iter().map(Part::rank).collect();
        ensure!(known.contains(&rank), "no rank {rank}: this trace has ranks {}", text::ranks(&known));
    }
    let calls = Calls::new(&traced);
    let selection = Selection { operation: arguments.operation, rank: arguments.rank, limit: arguments.limit };
    let form = match (arguments.json, arguments.csv) {
        (true, _) => Form::Json,
        (_, true) => Form::Csv,
        _ => Form::Table,
    };
    if arguments.messages {
        let rows = MessageRows::recorded(&calls)?;
        warn_if_incomplete(trace);
        listing::messages(&rows, selection, form, output)?;
        return Ok(crate::exit::concluded(trace.complete));
    }
    check_operation(arguments.operation, calls.operations.operations.len())?;
    warn_if_incomplete(trace);
    listing::calls(&calls, selection, form, output)?;
    Ok(crate::exit::concluded(trace.complete))
}
