//! The rows as Parquet.

use anyhow::Result;
use mpitrace_export::named_columns::Columns;
use mpitrace_export::parquet;
use mpitrace_show::date;
use mpitrace_show::destination::Sink;

use super::conclusions;
use super::headline::Kind;
use super::row::{LargestLoss, RunRow};

/// Writes them: the columns of the JSON, those of the largest loss each as one of its own.
pub fn write(rows: &[RunRow], sink: &mut Sink) -> Result<()> {
    parquet::write(of_rows(rows), sink)
}

/// The columns, beside what else a table has.
pub fn of_rows(rows: &[RunRow]) -> Columns {
    let texts = |of: fn(&RunRow) -> Option<&str>| rows.iter().map(of);
    let numbers = |of: fn(&RunRow) -> f64| rows.iter().map(of);
    let loss = |of: fn(&LargestLoss) -> Option<f64>| rows.iter().map(move |row| of(row.largest_loss.as_ref()?));
    let words = |of: fn(&LargestLoss) -> Option<&str>| rows.iter().map(move |row| of(row.largest_loss.as_ref()?));
    let millisecond = |row: &RunRow| row.started.as_deref().and_then(date::seconds).map(|seconds| 1000 * seconds);
    let slow = conclusions::slow_nodes(rows);
    let is_slow = |host: &str| slow.iter().any(|(name, _)| name == host);
    let names = |row: &RunRow, wanted: &dyn Fn(&str) -> bool| -> String {
        row.hosts.iter().map(|host| host.host.as_str()).filter(|host| wanted(host)).collect::<Vec<_>>().join(",")
    };
    let hosts: Vec<String> = rows.iter().map(|row| names(row, &|_| true)).collect();
    let slow_hosts: Vec<String> = rows.iter().map(|row| names(row, &is_slow)).collect();
    let slower = conclusions::slower_programs(rows);
    let slower_by: Vec<Option<f64>> = rows.iter().map(|row| conclusions::slower_by(&slower, row)).collect();
    Columns::new()
        .texts("file", texts(|row| Some(&row.file)))
        .texts("job", texts(|row| row.job.as_deref()))
        .texts("user", texts(|row| row.user.as_deref()))
        .texts("program", texts(|row| row.program.as_deref()))
        .counts("nodes", rows.iter().map(|row| row.nodes as u32))
        .counts("ranks", rows.iter().map(|row| row.ranks))
        .some_milliseconds("started", rows.iter().map(millisecond))
        .numbers("seconds", numbers(|row| row.seconds))
        .truths("seconds_is_bound", rows.iter().map(|row| row.seconds_is_bound))
        .numbers("rank_seconds", numbers(|row| row.rank_seconds))
        .numbers("rank_hours", numbers(|row| row.rank_hours))
        .numbers("useful_s", numbers(|row| row.useful_s))
        .some_numbers("computing_s", rows.iter().map(|row| row.computing_s))
        .texts("library", texts(|row| row.library.as_deref()))
        .texts("build_id", texts(|row| row.build_id.as_deref()))
        .texts("arguments_hash", texts(|row| row.arguments_hash.as_deref()))
        .texts("hosts", hosts.iter().map(|hosts| Some(hosts.as_str())))
        .texts("slow_hosts", slow_hosts.iter().map(|hosts| Some(hosts.as_str()).filter(|hosts| !hosts.is_empty())))
        .some_numbers("slower_by", slower_by.iter().copied())
        .numbers("hung_s", numbers(|row| row.hung_s))
        .numbers("mpi_share", numbers(|row| row.mpi_share))
        .numbers("waiting_s", numbers(|row| row.waiting_s))
        .numbers("off_processor_s", numbers(|row| row.off_processor_s))
        .some_numbers("efficiency", rows.iter().map(|row| row.efficiency))
        .texts("loss_kind", words(|loss| Some(&loss.kind)))
        .some_counts("loss_rank", rows.iter().map(|row| row.largest_loss.as_ref()?.rank))
        .texts("loss_because", words(|loss| loss.because.as_deref()))
        .texts("loss_function", words(|loss| loss.function.as_deref()))
        .some_numbers("loss_seconds", loss(|loss| Some(loss.seconds)))
        .some_numbers("loss_gain_s", loss(|loss| loss.gain_s))
        .texts("ended", texts(|row| Some(&row.ended)))
        .texts("kind", texts(|row| Some(Kind::of(row).name())))
}
