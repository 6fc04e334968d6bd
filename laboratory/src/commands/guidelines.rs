//! `mpitrace benchmark guidelines`: whether operations take no longer than others that do the same.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Args;
use mpitrace_commands::exit_code;
use mpitrace_show::output::{self, Output};
use mpitrace_show::table::{Cell, Table, number, text, time};
use mpitrace_show::text;
use mpitrace_source::Source;
use mpitrace_source::options::{Input, RuleOption, TimeOption};
use mpitrace_statistics::comparison::{Guideline, Kept, guidelines};
use serde::Serialize;

use super::share;
use crate::by_size::{self, Alike};
use crate::guidelines::{self, Found};

/// Test performance guidelines: an operation takes no longer than others that do the same
///
/// As MPI_Allreduce <= MPI_Reduce + MPI_Bcast, no size longer than a larger one, none longer than its parts one after
/// the other; as far as the trace has both sides, of the same ranks and data type. By the one-sided test of Wilcoxon on
/// the good repetitions, corrected for all guidelines (Holm).
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    time: TimeOption,
    #[command(flatten)]
    rule: RuleOption,
    /// An operation that takes longer by no more than this share keeps the guideline
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = share)]
    margin: f64,
    /// Also show those that hold, and those of which the repetitions do not tell
    #[arg(long)]
    all: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// A guideline that was tested.
#[derive(Debug, Serialize)]
struct Tested {
    /// `pattern`, `monotony` or `split`.
    kind: &'static str,
    /// `holds`, `violated` or `unknown`.
    verdict: &'static str,
    #[serde(flatten)]
    left: Alike,
    bytes: u64,
    /// The operations that the left side is to take no longer than, one after the other.
    right: Vec<RightSide>,
    left_median_ns: f64,
    right_median_ns: f64,
    /// Good repetitions of the left side; those of the right one.
    repetitions: [usize; 2],
    /// Values that count as independent.
    independent: [usize; 2],
    /// How many times as long the left side takes.
    factor: Option<f64>,
    /// Of 95 % for all guidelines together.
    factor_interval: Option<[f64; 2]>,
    p_raw: f64,
    p: f64,
}

#[derive(Debug, Serialize)]
struct RightSide {
    function: String,
    bytes: u64,
    /// So many calls of it.
    calls: u64,
}

/// Shows them.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let source = Source::open(&arguments.input)?;
    let time = arguments.time.time;
    source.check(None, time)?;
    source.warn(time);
    let operations = by_size::operations(&source, time, arguments.rule.rule)?;
    let found = guidelines::found(&operations, |alike| ranks(&source, alike));
    ensure!(!found.is_empty(), "no guideline of which there are both sides");
    let sides: Vec<[Vec<f64>; 2]> = found.iter().map(|found| found.times.clone()).collect();
    let results = guidelines(&sides, arguments.margin);
    let tested: Vec<Tested> =
        found.into_iter().zip(results).map(|(found, result)| Tested::new(found, &result)).collect();
    if arguments.json {
        output::json_rows(output, "benchmark-guidelines", tested.iter().map(Ok))?;
    } else {
        write(&tested, arguments.all, output)?;
    }
    Ok(exit_code(&source))
}

/// The parts of the ranks of an operation; where there is no trace as many numbers as there are ranks.
fn ranks(source: &Source, alike: &Alike) -> Vec<usize> {
    let communicator = source.traced().zip(alike.communicator_id);
    let members = communicator.map(|(traced, id)| &traced.run.operations.communicators[id].members);
    match members {
        Some(members) => members.iter().map(|&(part, _)| part).collect(),
        None => (0..alike.ranks as usize).collect(),
    }
}

impl Tested {
    fn new(found: Found, result: &Guideline) -> Tested {
        let right = found.right.into_iter().map(|(function, bytes, calls)| RightSide { function, bytes, calls });
        Tested {
            kind: found.kind.name(),
            verdict: result.kept.name(),
            left: found.left,
            bytes: found.bytes,
            right: right.collect(),
            left_median_ns: result.median_ns[0],
            right_median_ns: result.median_ns[1],
            repetitions: found.times.map(|times| times.len()),
            independent: result.independent,
            factor: result.factor,
            factor_interval: result.interval,
            p_raw: result.p_raw,
            p: result.p,
        }
    }

    /// `MPI_Allgather of 8 <= MPI_Gather of 8 + MPI_Bcast of 16`.
    fn sentence(&self) -> String {
        let one = |side: &RightSide| {
            let calls = if side.calls > 1 { format!("{} x ", side.calls) } else { String::new() };
            format!("{calls}{} of {}", side.function, side.bytes)
        };
        let right: Vec<String> = self.right.iter().map(one).collect();
        let communicator = match self.left.communicator.as_str() {
            "MPI_COMM_WORLD" => String::new(),
            other => format!(", {other}"),
        };
        let sentence = format!("{} of {} <= {}{communicator}", self.left.function, self.bytes, right.join(" + "));
        text::printable(&sentence).into_owned()
    }

    fn cells(&self) -> Vec<Cell> {
        vec![
            self.sentence().into(),
            self.left.ranks.to_string().into(),
            self.left.datatype.clone().unwrap_or_default().into(),
            self.left.reduction.clone().unwrap_or_default().into(),
            time(self.left_median_ns),
            time(self.right_median_ns),
            self.factor.map(text::number).unwrap_or_default().into(),
            self.factor_interval.map(|ends| ends.map(text::number).join(" to ")).unwrap_or_default().into(),
            format!("{:.2e}", self.p).into(),
            self.verdict.to_owned().into(),
        ]
    }
}

fn write(tested: &[Tested], all: bool, output: &mut Output) -> Result<()> {
    let count = |kept: Kept| tested.iter().filter(|one| one.verdict == kept.name()).count();
    writeln!(
        output,
        "{}: {} violated, {} hold, {} not known from these repetitions (bytes as in the trace)",
        text::count(tested.len() as u64, "guideline"),
        count(Kept::Violated),
        count(Kept::Holds),
        count(Kept::Unknown)
    )?;
    let mut table = Table::new(&[
        text("guideline"),
        number("ranks").spare(3),
        text("type").spare(5).optional(),
        text("operator").spare(4).optional(),
        number("left").spare(1),
        number("right").spare(1),
        number("factor"),
        number("95 %"),
        number("p").spare(2),
        text("verdict"),
    ]);
    let shown: Vec<&Tested> = tested.iter().filter(|one| all || one.verdict == Kept::Violated.name()).collect();
    shown.iter().for_each(|one| table.row(one.cells()));
    if !shown.is_empty() {
        let style = output.style;
        table.write(output, style)?;
    }
    Ok(())
}
