//! `mpitrace benchmark scheme`: the schemes by which benchmarks process their times, applied to these repetitions.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use mpitrace_analysis::run::Run;
use mpitrace_commands::exit_code;
use mpitrace_format::layout::OPERATION_MASK;
use mpitrace_show::output::{self, Output};
use mpitrace_show::table::{Table, number, text};
use mpitrace_show::text;
use mpitrace_source::numbers::selection::{LeftOut, Selection, Wanted};
use mpitrace_source::options::{Input, RuleOption};
use mpitrace_source::{Source, Traced};
use mpitrace_statistics::Interval;
use mpitrace_trace::run_time::RunTime;
use mpitrace_words::description::Description;
use serde::Serialize;

use crate::counted;
use crate::schemes::{Measurement, Outcome, Removal, Scheme, Times};
use crate::synchronisation_check::{Observed, command};

/// Show one number for each operation, by a data processing scheme of Hunold and Carpen-Amarie
///
/// The number is what a benchmark with this scheme would print. --repetitions selects those that the benchmark counts;
/// its current release may measure differently.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    /// The scheme
    #[arg(value_name = "SCHEME", long)]
    scheme: SchemeName,
    /// Only this operation
    #[arg(long, value_name = "N")]
    operation: Option<usize>,
    /// How the scheme measures: each call (ms1), or a loop from its first entry to its last exit (ms2)
    #[arg(long, value_name = "SCHEME")]
    measurement: Option<Measurement>,
    /// Repetitions of a loop, for ps3, ps7 and ps8 [default: all]
    #[arg(long = "loop", value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    in_loop: Option<u32>,
    /// For ps2, the run time by its name in MPIBlib: the root's own (root), or the longest on any rank (maximum); the
    /// one from first entry to last exit (global) is ps4
    #[arg(long, value_name = "METHOD")]
    timing: Option<TimingName>,
    /// Leave out outliers: outside of Tukey's fences, or above twice the 99th percentile (mpibench). The default is the
    /// benchmark's own
    #[arg(long, value_name = "RULE")]
    remove: Option<Removal>,
    /// Only the repetitions of this category
    #[arg(long, default_value = "all")]
    category: Wanted,
    #[command(flatten)]
    rule: RuleOption,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// The timing methods of MPIBlib (Lastovetsky et al. 2008) that need no global time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TimingName {
    /// On the root, else on rank 0.
    Root,
    /// The longest on any rank.
    Maximum,
}

/// The data processing schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SchemeName {
    /// MPIBlib, SKaMPI: mean of the longest time on any rank, with its interval and standard error
    Ps2,
    /// OSU, mpicroscope: least, largest and mean of the ranks' means
    Ps3,
    /// MPIBlib in global time: mean of first entry to last exit, with its interval and standard error
    Ps4,
    /// MPIBench: least, largest and mean of all times of all ranks up to twice their 99th percentile
    Ps5,
    /// NBCBench: least, largest, mean and median of each rank, the largest over the ranks
    Ps6,
    /// Intel MPI Benchmarks, Phloem: least, largest and mean of the ranks' loops
    Ps7,
    /// mpptest: the least of the root's loops
    Ps8,
    /// Intel MPI Benchmarks since 2018: t_min, t_max and t_avg of the calls of the last loop, barriers between them
    Imb,
    /// OSU Micro-Benchmarks: the same without the calls that it skips
    Osu,
}

impl From<SchemeName> for Scheme {
    fn from(name: SchemeName) -> Scheme {
        match name {
            SchemeName::Ps2 => Scheme::Ps2,
            SchemeName::Ps3 | SchemeName::Imb | SchemeName::Osu => Scheme::Ps3,
            SchemeName::Ps4 => Scheme::Ps4,
            SchemeName::Ps5 => Scheme::Ps5,
            SchemeName::Ps6 => Scheme::Ps6,
            SchemeName::Ps7 => Scheme::Ps7,
            SchemeName::Ps8 => Scheme::Ps8,
        }
    }
}

/// The name that the option's value has.
fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// The outcome for an operation.
#[derive(Debug, Serialize)]
struct Applied {
    #[serde(flatten)]
    operation: Description,
    scheme: String,
    measurement: String,
    remove: String,
    /// Repetitions in a loop; `None`: all.
    #[serde(rename = "loop")]
    in_loop: Option<u32>,
    category: String,
    min_ns: Option<f64>,
    max_ns: Option<f64>,
    mean_ns: Option<f64>,
    mean_interval: Option<IntervalNs>,
    /// s / n^0.5 of the times that the mean is of; of ps2 and ps4.
    standard_error_ns: Option<f64>,
    median_ns: Option<f64>,
    /// Times that went into it: of each rank one for each repetition, for ps2, ps4 and ps8 one for each repetition.
    used: usize,
    /// Times left out as outliers, or as they do not fill a loop.
    removed: usize,
    left_out: LeftOut,
    /// Why there is no outcome.
    note: Option<String>,
}

/// The ends of an interval, ns.
#[derive(Clone, Copy, Debug, Serialize)]
struct IntervalNs {
    lower_ns: f64,
    upper_ns: f64,
    /// The probability with which it covers the value.
    coverage: f64,
}

impl From<Interval> for IntervalNs {
    fn from(interval: Interval) -> IntervalNs {
        IntervalNs { lower_ns: interval.lower, upper_ns: interval.upper, coverage: interval.coverage }
    }
}

/// Applies the scheme to each operation.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let source = &Source::open(&arguments.input)?;
    let scheme = arguments.scheme;
    let loops = matches!(scheme, SchemeName::Ps3 | SchemeName::Ps7 | SchemeName::Ps8);
    let asked = arguments.in_loop.is_some() || arguments.measurement == Some(Measurement::Ms2);
    ensure!(loops || !asked, "{} takes each call by itself: no --loop and no --measurement ms2", name(&scheme));
    ensure!(arguments.timing.is_none() || scheme == SchemeName::Ps2, "--timing is an option of ps2");
    let time = if scheme == SchemeName::Ps4 { RunTime::Global } else { RunTime::Local };
    source.check(arguments.operation, time)?;
    source.warn(time);
    let each = source.wanted(arguments.operation).map(|number| Applied::new(arguments, source, scheme, number));
    if arguments.json {
        output::json_rows(output, "benchmark-scheme", each)?;
    } else {
        let all: Vec<Applied> = each.collect::<Result<_>>()?;
        write(&all, output)?;
    }
    Ok(exit_code(source))
}

impl Applied {
    fn new(arguments: &Arguments, source: &Source, name_of: SchemeName, number: usize) -> Result<Applied> {
        let scheme = Scheme::from(name_of);
        let mut selection = Selection::new(source, number, RunTime::Local, arguments.rule.rule, arguments.category)?;
        leave_out_uncounted(source, number, name_of, &mut selection);
        let measurement = arguments.measurement.unwrap_or(scheme.measurement());
        let removal = arguments.remove.unwrap_or(scheme.removal());
        let times = times(arguments, source, number, measurement, &selection)?;
        let outcome = scheme.apply(&times, measurement, removal, arguments.in_loop.map(|size| size as usize));
        let note = outcome.as_ref().err().map(|error| format!("{} {error}", name(&name_of)));
        let Outcome { minimum, maximum, mean, mean_interval, standard_error, median, used, removed } =
            outcome.unwrap_or_default();
        Ok(Applied {
            operation: source.operations()[number].clone(),
            scheme: name(&name_of),
            measurement: name(&measurement),
            remove: name(&removal),
            in_loop: arguments.in_loop,
            category: arguments.category.name(),
            min_ns: minimum,
            max_ns: maximum,
            mean_ns: mean,
            mean_interval: mean_interval.map(IntervalNs::from),
            standard_error_ns: standard_error,
            median_ns: median,
            used,
            removed,
            left_out: selection.left_out,
            note,
        })
    }
}

/// Leaves out what the benchmark of today does not count.
fn leave_out_uncounted(source: &Source, number: usize, scheme: SchemeName, selection: &mut Selection<'_>) {
    let Some(Traced { run: Run { trace, operations, clock, .. }, .. }) =
        source.traced().filter(|_| matches!(scheme, SchemeName::Imb | SchemeName::Osu))
    else {
        return;
    };
    let observed = Observed::new(trace, operations, clock, number);
    let is_barrier = operations.operations[number].key.is_blocking_barrier();
    let rows = match scheme {
        SchemeName::Osu => counted::by_osu(&observed, &command(trace), is_barrier),
        _ => counted::by_imb(&observed, &command(trace), is_barrier),
    };
    let counted = &observed.repetition[rows];
    for (kept, repetition) in selection.kept.iter_mut().zip(&*selection.repetition) {
        let counts = counted.binary_search(repetition).is_ok();
        selection.left_out.category += usize::from(*kept && !counts);
        *kept &= counts;
    }
}

/// The columns that the scheme needs, of the repetitions that count.
fn times(
    arguments: &Arguments,
    source: &Source,
    number: usize,
    measurement: Measurement,
    selection: &Selection<'_>,
) -> Result<Times> {
    let ranks = source.ranks(number);
    let root = root_member(source, number);
    let indices = 0..ranks.numbers.len();
    let timed = if arguments.timing == Some(TimingName::Root) { root..root + 1 } else { indices.clone() };
    let stamps = |index: usize| {
        let (enter, exit) = (ranks.enter_ns(index)?, ranks.exit_ns(index)?);
        Some([selection.only(enter), selection.only(exit)])
    };
    let needs_stamps = measurement == Measurement::Ms2;
    Ok(Times {
        duration_ns: timed.map(|index| selection.only(ranks.duration_ns(index))).collect(),
        global_ns: match arguments.scheme {
            SchemeName::Ps4 => Some(selection.only(source.run_times(number, RunTime::Global)?.run_time_ns)),
            _ => None,
        },
        stamps_ns: if needs_stamps { indices.map(stamps).collect() } else { None },
        root,
    })
}

fn write(all: &[Applied], output: &mut Output) -> Result<()> {
    let mut table = Table::new(&[
        number("operation"),
        text("function"),
        text("communicator").spare(3),
        number("bytes"),
        number("ranks").spare(4),
        number("used"),
        number("removed"),
        number("left out").optional().spare(6),
        number("incomplete").optional().spare(5),
        number("min").optional().spare(1),
        number("mean").optional(),
        text("interval").optional(),
        number("std. error").optional().spare(7),
        number("median").optional(),
        number("max").optional().spare(2),
    ]);
    for applied in all {
        let operation = &applied.operation;
        let interval = applied.mean_interval;
        table.row(vec![
            operation.operation.to_string(),
            text::printable(&operation.function).into_owned(),
            text::printable(&operation.communicator).into_owned(),
            text::optional(operation.bytes),
            operation.ranks.to_string(),
            applied.used.to_string(),
            applied.removed.to_string(),
            positive((applied.left_out.category + applied.left_out.not_finite) as u64),
            positive(operation.incomplete),
            time(applied.min_ns),
            time(applied.mean_ns),
            interval.map(ends).unwrap_or_default(),
            time(applied.standard_error_ns),
            time(applied.median_ns),
            time(applied.max_ns),
        ]);
    }
    let style = output.style;
    table.write(output, style)?;
    if let Some(applied) = all.first() {
        let in_loop = applied.in_loop.map(|size| format!(", loops of {size}")).unwrap_or_default();
        writeln!(
            output,
            "\n{}, {}{in_loop}, outliers removed: {}",
            applied.scheme, applied.measurement, applied.remove
        )?;
    }
    for applied in all {
        if let Some(note) = &applied.note {
            writeln!(output, "operation {}: {note}", applied.operation.operation)?;
        }
    }
    Ok(())
}

/// A time, or nothing.
fn time(ns: Option<f64>) -> String {
    ns.map(text::time).unwrap_or_default()
}

/// Both ends of an interval.
fn ends(interval: IntervalNs) -> String {
    format!("{} to {}", text::time(interval.lower_ns), text::time(interval.upper_ns))
}

/// A number, or nothing for 0.
fn positive(number: u64) -> String {
    text::optional(Some(number).filter(|&number| number > 0))
}

/// Which of an operation's ranks is its root, by index; that of rank 0 of its communicator where it has none.
fn root_member(source: &Source, number: usize) -> usize {
    let root = source.operations()[number].root.unwrap_or(0);
    match source.traced() {
        Some(traced) => traced_member(traced, number, root).unwrap_or(0),
        // Their ranks are those of MPI_COMM_WORLD.
        None => source.ranks(number).numbers.iter().position(|&rank| i64::from(rank) == i64::from(root)).unwrap_or(0),
    }
}

/// The member that has this rank in the operation's communicator. Members come in the order of their world ranks, which
/// need not be that of their ranks in the communicator.
fn traced_member(traced: &Traced, number: usize, root: i32) -> Option<usize> {
    let operation = &traced.run.operations.operations[number];
    let records = operation.records(operation.complete_rows().next()?);
    operation.parts.iter().zip(records.iter()).position(|(&part, record)| {
        let part = &traced.run.trace.parts[part];
        let entry = &part.operations()[(part.operation_of(record as usize) & OPERATION_MASK) as usize];
        i64::from(part.communicators()[entry.communicator as usize].rank) == i64::from(root)
    })
}
