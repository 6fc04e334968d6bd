//! The rows as Parquet.

use anyhow::Result;
use arrow_array::{Float64Array, StringArray, TimestampMillisecondArray, UInt32Array};
use mpitrace_show::destination::Sink;

use super::date;
use super::row::{LargestLoss, Row};
use crate::export::parquet;
use crate::in_memory::batches::Columns;

/// Writes them: the columns of the JSON, those of the largest loss each as one of its own.
pub fn write(rows: &[Row], sink: &mut Sink) -> Result<()> {
    let texts = |of: fn(&Row) -> Option<&str>| rows.iter().map(of).collect::<StringArray>();
    let numbers = |of: fn(&Row) -> f64| rows.iter().map(of);
    let loss = |of: fn(&LargestLoss) -> Option<f64>| {
        rows.iter().map(|row| of(row.largest_loss.as_ref()?)).collect::<Float64Array>()
    };
    let words = |of: fn(&LargestLoss) -> Option<&str>| {
        rows.iter().map(|row| of(row.largest_loss.as_ref()?)).collect::<StringArray>()
    };
    let millisecond = |row: &Row| row.started.as_deref().and_then(date::seconds).map(|seconds| 1000 * seconds);
    let rank = |row: &Row| row.largest_loss.as_ref()?.rank;
    let batch = Columns::new()
        .optional("file", texts(|row| Some(&row.file)))
        .optional("job", texts(|row| row.job.as_deref()))
        .optional("user", texts(|row| row.user.as_deref()))
        .optional("program", texts(|row| row.program.as_deref()))
        .with("nodes", UInt32Array::from_iter_values(rows.iter().map(|row| row.nodes as u32)))
        .with("ranks", UInt32Array::from_iter_values(rows.iter().map(|row| row.ranks)))
        .optional("started", rows.iter().map(millisecond).collect::<TimestampMillisecondArray>().with_timezone("UTC"))
        .numbers("seconds", numbers(|row| row.seconds))
        .numbers("rank_seconds", numbers(|row| row.rank_seconds))
        .numbers("mpi_share", numbers(|row| row.mpi_share))
        .numbers("waiting_s", numbers(|row| row.waiting_s))
        .numbers("off_processor_s", numbers(|row| row.off_processor_s))
        .optional("efficiency", rows.iter().map(|row| row.efficiency).collect::<Float64Array>())
        .optional("loss_kind", words(|loss| Some(&loss.kind)))
        .optional("loss_rank", rows.iter().map(rank).collect::<UInt32Array>())
        .optional("loss_because", words(|loss| loss.because.as_deref()))
        .optional("loss_function", words(|loss| loss.function.as_deref()))
        .optional("loss_seconds", loss(|loss| Some(loss.seconds)))
        .optional("loss_gain_s", loss(|loss| loss.gain_s))
        .optional("ended", texts(|row| Some(&row.ended)))
        .batch(Default::default())?;
    let mut writer = parquet::writer(sink, batch.schema())?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}
