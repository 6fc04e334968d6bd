//! `mpitrace stats`: the numbers of a report, of each operation.

mod arguments;
mod completion;
mod counters;
mod facts;
mod non_blocking;
mod page;
mod ranks;
pub mod selection;

use std::process::ExitCode;

use anyhow::Result;

pub use arguments::Arguments;

use crate::output::{self, Output};
use crate::progress::{self, Progress};
use crate::source::Source;
use facts::Facts;

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let source = progress::during("reading", || Source::open(&arguments.input))?;
    let time = arguments.time.time;
    source.check(arguments.operation, time)?;
    source.warn(time);
    let numbers: Vec<usize> = source.wanted(arguments.operation).collect();
    let steps = numbers.len() as u64 * facts::STEPS;
    let progress = if arguments.json { Progress::beside_output(steps) } else { Progress::new(steps) };
    let each = numbers.iter().map(|&number| Facts::new(arguments, &source, number, &progress));
    if arguments.json {
        output::json_rows(output, "stats", each)?;
    } else {
        let all: Vec<Facts> = each.collect::<Result<_>>()?;
        drop(progress);
        let style = output.style;
        match (arguments.operation, &all[..]) {
            (Some(_), [facts]) => page::one(facts, output, style)?,
            _ => page::all(&all, output, style)?,
        }
    }
    Ok(super::exit_code(&source))
}
