//! The calls of a trace, batch by batch: a thread makes the next batches while one is read.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::{Context, Result, anyhow};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use mpitrace::categories::Rule;

use super::Opened;
use crate::export::columns::Batches;
use crate::export::rows::Calls;

/// Batches that are made before they are asked for.
const AHEAD: usize = 2;

/// Batches of calls. When it is dropped, the thread that makes them ends.
#[derive(Debug)]
pub struct CallStream {
    schema: SchemaRef,
    batches: Receiver<Result<RecordBatch>>,
}

impl CallStream {
    /// Starts to make the batches, once the categories of all operations are known.
    pub(super) fn start(opened: Arc<Opened>, operation: Option<usize>, rule: Rule) -> Result<CallStream> {
        let (ready, schema) = sync_channel(1);
        let (sender, batches) = sync_channel(AHEAD);
        let make = move || make(&opened, operation, rule, &ready, &sender);
        thread::Builder::new().name("mpitrace".to_owned()).spawn(make)?;
        Ok(CallStream { schema: schema.recv().context("the thread that reads the calls has ended")??, batches })
    }
}

/// Sends the schema, or why there is none, and then the batches. When the receiver of one of them has gone, it ends.
fn make(
    opened: &Opened,
    operation: Option<usize>,
    rule: Rule,
    ready: &SyncSender<Result<SchemaRef>>,
    sender: &SyncSender<Result<RecordBatch>>,
) {
    let calls = opened.traced().map(|traced| Calls::new(traced).with_rule(rule));
    let batches = match calls.as_ref().map_err(|error| anyhow!("{error:#}")).and_then(|calls| Batches::new(calls)) {
        Ok(batches) => batches,
        Err(error) => return drop(ready.send(Err(error))),
    };
    if ready.send(Ok(batches.schema.clone())).is_err() {
        return;
    }
    let sent =
        batches.each(operation, |batch| sender.send(Ok(batch.clone())).map_err(|_| anyhow!("the reader has gone")));
    if let Err(error) = sent {
        let _ = sender.send(Err(error));
    }
}

impl Iterator for CallStream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.recv().ok()?;
        Some(batch.map_err(|error| ArrowError::ExternalError(error.into())))
    }
}

impl RecordBatchReader for CallStream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
