//! ReproMPI's raw output (hunsa/reprompi, src/reprompi_bench/output_management): settings as `#@key=value`, a line of
//! titles, and a row for each process and repetition, as under its option `-v`.
//!
//! Message sizes are in bytes, under the title that ReproMPI gives them when it is built with
//! `OPTION_PRINT_MSIZES_BYTES`: a trace knows no counts. What the rows do not tell apart needs a file each.

use std::collections::{HashMap, HashSet};

use anyhow::{Result, bail};
use mpitrace_format::layout::OPERATION_MASK;
use mpitrace_functions::{Form, Function};
use mpitrace_show::destination::{Content, Destination, Sink};
use mpitrace_trace::operations::Operation;

use super::one_operation::tell_incomplete;
use super::rows::{Calls, Row};

/// The rows of a benchmark that never ran.
pub fn export(calls: &Calls, operation: Option<usize>, destination: &mut Destination) -> Result<()> {
    let all = 0..calls.operations.operations.len();
    let wanted: Vec<usize> = all.filter(|number| operation.is_none_or(|wanted| wanted == *number)).collect();
    if !destination.is_folder() {
        check_distinct(calls, &wanted)?;
        return destination.stream(Content::Text, |sink| write(calls, &wanted, sink));
    }
    for &number in &wanted {
        let name = format!("operation-{number}.txt");
        destination.member(&name, Content::Text, |sink| write(calls, &[number], sink))?;
    }
    Ok(())
}

/// The rows name the function and the message size, and the head the number of processes: operations that differ in
/// anything else would become one.
fn check_distinct(calls: &Calls, numbers: &[usize]) -> Result<()> {
    let Some(&first) = numbers.first() else { bail!("this trace has no operation") };
    let operation = |number: usize| &calls.operations.operations[number];
    let mut seen = HashMap::new();
    for &number in numbers {
        let key = &operation(number).key;
        let why = match seen.insert((&key.function, key.bytes), number) {
            Some(other) => format!("operations {other} and {number} are both {} with the same size", key.function),
            None if operation(number).parts != operation(first).parts => {
                format!("operations {first} and {number} are of different ranks")
            }
            None => continue,
        };
        bail!("{why}, which ReproMPI's rows do not distinguish: --operation N, or a file each in -o FOLDER/");
    }
    Ok(())
}

fn write(calls: &Calls, numbers: &[usize], sink: &mut Sink) -> Result<()> {
    write_head(calls, numbers, sink)?;
    write!(sink, "process {:>50} {:>10} {:>12} ", "test", "nrep", "msize_bytes")?;
    let times = ["loc_tstart_sec", "loc_tend_sec", "gl_tstart_sec", "gl_tend_sec"];
    times.iter().try_for_each(|title| write!(sink, "{title:>14} "))?;
    writeln!(sink)?;
    for &number in numbers {
        tell_incomplete(calls, number);
        let operation = &calls.operations.operations[number];
        let what = format!("{:>50}", test(&operation.key.function));
        let bytes = operation.key.bytes.unwrap_or(0);
        let rows: Vec<usize> = operation.complete_rows().collect();
        calls.of_operation(number, &rows, |row| Ok(write_times(calls, &row, &what, bytes, sink)?))?;
    }
    Ok(())
}

/// ReproMPI's name of a function; one that it does not measure stands under its own name.
fn test(function: &str) -> &str {
    let known = Function::named(function).filter(|function| function.form == Form::Blocking);
    known.and_then(|function| function.reprompi).unwrap_or(function)
}

fn write_head(calls: &Calls, numbers: &[usize], sink: &mut Sink) -> Result<()> {
    let operations: Vec<&Operation> = numbers.iter().map(|&number| &calls.operations.operations[number]).collect();
    let factors = calls.trace.parts.first().map(|part| part.metadata()).unwrap_or_default();
    if let Some((_, command)) = factors.iter().find(|(name, _)| name == "command") {
        writeln!(sink, "#Command-Line Arguments: {}", mpitrace_show::text::printable(command))?;
    }
    // What ReproMPI has for a whole run and a trace for each operation stands there where all agree.
    let mut agreed = |key: &str, value: fn(&Operation) -> Option<String>| -> Result<()> {
        let first = operations.first().and_then(|operation| value(operation));
        if let Some(value) = first.clone().filter(|_| operations.iter().all(|operation| value(operation) == first)) {
            writeln!(sink, "#@{key}={value}")?;
        }
        Ok(())
    };
    agreed("operation", |operation| operation.key.reduction.clone())?;
    agreed("datatype", |operation| operation.key.datatype.clone())?;
    agreed("root_proc", |operation| operation.key.root.filter(|&root| root >= 0).map(|root| root.to_string()))?;
    agreed("nprocs", |operation| Some(operation.size.to_string()))?;
    writeln!(sink, "#@clock=mpitrace")?;
    writeln!(sink, "#@clocksync={}", calls.clock.method.name())?;
    let barrier = operations.iter().all(|operation| has_barriers(calls, operation));
    writeln!(sink, "#@procsync={}", if barrier { "MPI_Barrier" } else { "None" })?;
    writeln!(sink, "#@runtime_type=local")?;
    Ok(())
}

/// Before so many of the repetitions a benchmark that synchronises by them has a barrier.
const MOST_REPETITIONS: f64 = 0.9;

/// True if the last call of each rank before most repetitions is a barrier. Windows are not seen.
fn has_barriers(calls: &Calls, operation: &Operation) -> bool {
    let rows: Vec<usize> = operation.complete_rows().collect();
    let before = |(member, &part): (usize, &usize)| {
        let part = &calls.trace.parts[part];
        let names = part.operations().iter().map(|entry| part.text(entry.function));
        let barriers: Vec<bool> = names
            .map(|name| name.and_then(|name| Function::named(&name)).is_some_and(Function::is_blocking_barrier))
            .collect();
        // Each thread's records follow each other.
        let mut starts = HashSet::from([0]);
        let mut end = 0;
        for run in part.runs() {
            end += run.count as usize;
            starts.insert(end);
        }
        let follows = |row: &&usize| {
            let record = operation.records(**row).get(member) as usize;
            let before = record.checked_sub(1).filter(|_| !starts.contains(&record));
            before.is_some_and(|before| barriers[(part.operation_of(before) & OPERATION_MASK) as usize])
        };
        rows.iter().filter(follows).count() as f64 >= MOST_REPETITIONS * rows.len() as f64
    };
    !operation.key.is_blocking_barrier() && !rows.is_empty() && operation.parts.iter().enumerate().all(before)
}

/// Local times count from the rank's MPI_Init; between the two lies the time that `--time local` counts.
fn write_times(calls: &Calls, row: &Row, what: &str, bytes: u64, sink: &mut Sink) -> std::io::Result<()> {
    let (Some(duration), Some(exit)) = (calls.duration_ns(row.place), row.exit_ns) else { return Ok(()) };
    let part = &calls.trace.parts[row.place.part];
    let since = part.times_of(row.place.record).0.wrapping_sub(part.info().first_anchor.tick);
    let start = calls.clock.of_part(row.place.part).ticks_ns(since);
    write!(sink, "{:>7} {what} {:>10} {bytes:>12}", row.rank, row.repetition)?;
    for time in [start, start + duration, row.enter_ns, exit] {
        write!(sink, " {:>14.10}", time * 1e-9)?;
    }
    writeln!(sink)
}
