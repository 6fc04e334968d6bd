//! The schemes by which benchmarks process their times, applied to these repetitions.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use mpitrace::run_time::RunTime;
use mpitrace::statistics::schemes::{Measurement, Outcome, Removal, Scheme, Times};
use serde::Serialize;

use super::arguments::{Arguments, MeasurementName, Remove, SchemeName, name};
use super::numbers::IntervalNs;
use super::page::{ends, positive, time};
use super::selection::{LeftOut, Selection, root_member};
use crate::output::{JsonList, Output};
use crate::source::{Description, Source};
use crate::table::{Table, number, text};
use crate::text;

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
    median_ns: Option<f64>,
    /// Times that went into it: of each rank one for each repetition, for ps2, ps4 and ps8 one for each repetition.
    used: usize,
    /// Times left out as outliers, or as they do not fill a loop.
    removed: usize,
    left_out: LeftOut,
    /// Why there is no outcome.
    note: Option<String>,
}

/// Applies the scheme to each operation.
pub fn run(arguments: &Arguments, source: &Source, output: &mut Output) -> Result<ExitCode> {
    let Some(scheme) = arguments.scheme else { return Ok(ExitCode::SUCCESS) };
    let loops = matches!(scheme, SchemeName::Ps3 | SchemeName::Ps7 | SchemeName::Ps8);
    let asked = arguments.in_loop.is_some() || arguments.measurement == Some(MeasurementName::Ms2);
    ensure!(loops || !asked, "{} takes each call by itself: no --loop and no --measurement ms2", name(&scheme));
    let time = if scheme == SchemeName::Ps4 { RunTime::Global } else { RunTime::Local };
    source.check(arguments.operation, time)?;
    source.warn(time);
    let mut each = source.wanted(arguments.operation).map(|number| Applied::of(arguments, source, scheme, number));
    if arguments.json {
        let mut list = JsonList::new(output)?;
        each.try_for_each(|applied| list.push(&applied?))?;
        list.end()?;
    } else {
        let all: Vec<Applied> = each.collect::<Result<_>>()?;
        write(&all, output)?;
    }
    Ok(crate::commands::shown_source(source))
}

impl Applied {
    fn of(arguments: &Arguments, source: &Source, name_of: SchemeName, number: usize) -> Result<Applied> {
        let scheme = Scheme::from(name_of);
        // The scheme removes by itself, from what it takes means of.
        let selection = Selection::without_removal(arguments, source, number)?;
        let measurement = arguments.measurement.map_or(scheme.measurement(), Measurement::from);
        let removal = arguments.remove.map_or(scheme.removal(), Removal::from);
        let times = times(source, number, scheme, measurement, &selection)?;
        let outcome = scheme.apply(&times, measurement, removal, arguments.in_loop.map(|size| size as usize));
        let note = outcome.as_ref().err().map(|error| format!("{} {error}", name(&name_of)));
        let Outcome { minimum, maximum, mean, mean_interval, median, used, removed } = outcome.unwrap_or_default();
        let measurement = match measurement {
            Measurement::Ms1 => MeasurementName::Ms1,
            Measurement::Ms2 => MeasurementName::Ms2,
        };
        let remove = match removal {
            Removal::None => Remove::None,
            Removal::Tukey => Remove::Tukey,
            Removal::MpiBench => Remove::Mpibench,
        };
        Ok(Applied {
            operation: source.operations()[number].clone(),
            scheme: name(&name_of),
            measurement: name(&measurement),
            remove: name(&remove),
            in_loop: arguments.in_loop,
            category: name(&arguments.category),
            min_ns: minimum,
            max_ns: maximum,
            mean_ns: mean,
            mean_interval: mean_interval.map(IntervalNs::from),
            median_ns: median,
            used,
            removed,
            left_out: selection.left_out,
            note,
        })
    }
}

/// The columns that the scheme needs, of the repetitions that count.
fn times(
    source: &Source,
    number: usize,
    scheme: Scheme,
    measurement: Measurement,
    selection: &Selection<'_>,
) -> Result<Times> {
    let ranks = source.ranks(number);
    let indices = 0..ranks.numbers.len();
    let stamps = |index: usize| {
        let (enter, exit) = (ranks.enter_ns(index)?, ranks.exit_ns(index)?);
        Some([selection.only(enter), selection.only(exit)])
    };
    let needs_stamps = measurement == Measurement::Ms2;
    Ok(Times {
        duration_ns: indices.clone().map(|index| selection.only(ranks.duration_ns(index))).collect(),
        global_ns: match scheme {
            Scheme::Ps4 => Some(selection.only(source.run_times(number, RunTime::Global)?.run_time_ns)),
            _ => None,
        },
        stamps_ns: if needs_stamps { indices.map(stamps).collect() } else { None },
        root: root_member(source, number),
    })
}

fn write(all: &[Applied], output: &mut Output) -> Result<()> {
    let mut table = Table::new(&[
        number("operation"),
        text("function"),
        text("communicator"),
        number("bytes"),
        number("ranks"),
        number("used"),
        number("removed"),
        number("left out").optional(),
        number("incomplete").optional(),
        number("min").optional(),
        number("mean").optional(),
        text("interval").optional(),
        number("median").optional(),
        number("max").optional(),
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
