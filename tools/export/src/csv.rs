//! Four columns, the long form (Roth 2021, 3.4): iteration id, MPI rank, metric name, value. The metrics are the run
//! time, what is known of its account, and the counters.
//!
//! One operation a file, as the rows do not name it. Repetitions that a rank lacks are left out: a reader that takes
//! the maximum over the ranks would take it over too few.

use anyhow::Result;
use mpitrace_show::destination::{Content, Destination, Sink};
use mpitrace_show::text::csv_field;

use super::call_columns::{self, Value};
use super::one_operation::{only_operation, tell_incomplete};
use super::rows::Calls;

/// Iteration, rank, metric, value.
pub fn export(calls: &Calls, operation: Option<usize>, destination: &mut Destination) -> Result<()> {
    if !destination.is_folder() {
        let number = only_operation(calls, operation)?;
        return destination.stream(Content::Text, |sink| write(calls, number, sink));
    }
    let all = 0..calls.operations.operations.len();
    let wanted = all.filter(|number| operation.is_none_or(|wanted| wanted == *number));
    for number in wanted {
        destination.member(&format!("operation-{number}.csv"), Content::Text, |sink| write(calls, number, sink))?;
    }
    Ok(())
}

fn write(calls: &Calls, number: usize, sink: &mut Sink) -> Result<()> {
    tell_incomplete(calls, number);
    writeln!(sink, "iteration,rank,metric,value")?;
    let rows: Vec<usize> = calls.operations.operations[number].complete_rows().collect();
    calls.of_operation(number, &rows, |row| {
        let (iteration, rank) = (row.repetition, row.rank);
        if let Some(duration) = calls.duration_ns(row.place) {
            writeln!(sink, "{iteration},{rank},runtime,{duration}")?;
        }
        for column in call_columns::data_columns().filter(|column| column.is_metric) {
            match column.value(&row) {
                Value::Unknown => {}
                value => writeln!(sink, "{iteration},{rank},{},{value}", column.name)?,
            }
        }
        for (name, value) in row.counters.iter().filter_map(|(name, value)| Some((name, value?))) {
            writeln!(sink, "{iteration},{rank},{},{value}", csv_field(name))?;
        }
        Ok(())
    })
}
