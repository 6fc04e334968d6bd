//! The message calls of a trace, one a row for each message: as `dump --messages` lists them.

use anyhow::{Result, ensure};
use mpitrace_analysis::messages::{self, MessageCall, Messages};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;
use serde::{Serialize, Serializer};

use super::call_columns::Value;
use super::rows::Calls;

/// The message calls of a trace.
pub struct MessageRows<'t> {
    trace: &'t Trace,
    clock: &'t Clock,
    operations: &'t Operations,
    /// Them, and the messages that they belong to.
    pub messages: &'t Messages,
    /// For each part and each of its operations of message calls: the name of the function.
    pub functions: Vec<Vec<String>>,
}

/// A recorded message call, with the texts and numbers that a row of an export has.
#[derive(Clone, Copy, Debug)]
pub struct MessageRow<'r> {
    /// The rank that made it.
    pub rank: u32,
    /// The record that the rank has of it.
    pub call: &'r MessageCall,
    /// Name of the MPI function.
    pub function: &'r str,
    communicator: Option<&'r str>,
    bytes: Option<u64>,
    error_ns: Option<f64>,
}

impl<'t> MessageRows<'t> {
    /// The rows of a trace.
    ///
    /// # Errors
    /// They were not recorded.
    pub fn recorded(calls: &Calls<'t>) -> Result<MessageRows<'t>> {
        let are_recorded = messages::are_recorded(calls.trace);
        ensure!(are_recorded, "no message calls in this trace: MPITRACE_P2P=records records them");
        Ok(MessageRows::new(calls))
    }

    /// The rows of a trace; none where messages were not recorded.
    pub fn new(calls: &Calls<'t>) -> MessageRows<'t> {
        let Calls { trace, operations, clock, .. } = *calls;
        let names = |part: &mpitrace_trace::reader::Part| {
            let entries = part.message_operations().iter();
            entries.map(|entry| part.text(entry.function).unwrap_or_default()).collect()
        };
        let functions = trace.parts.iter().map(names).collect();
        let messages = calls.traced.run.messages();
        MessageRows { trace, clock, operations, messages, functions }
    }

    /// The calls of a part, in order: the messages of each.
    pub fn calls(&self, part: usize) -> impl Iterator<Item = &[MessageCall]> {
        let calls = self.messages.calls.get(part).map_or(&[][..], Vec::as_slice);
        messages::each_call(calls).map(|range| &calls[range])
    }

    /// Them, rank by rank, each in order.
    pub fn all(&self) -> impl Iterator<Item = MessageRow<'_>> {
        let calls = self.messages.calls.iter().enumerate();
        calls.flat_map(move |(part, calls)| (0..calls.len()).map(move |place| self.row(part, place)))
    }

    fn row(&self, part: usize, place: usize) -> MessageRow<'_> {
        let call = &self.messages.calls[part][place];
        MessageRow {
            rank: self.trace.parts[part].rank(),
            call,
            function: &self.functions[part][call.record.operation as usize],
            communicator: call.communicator.map(|id| self.operations.communicators[id].name.as_str()),
            bytes: self.messages.bytes(call),
            error_ns: self.clock.of_part(part).error_ns(call.record.enter),
        }
    }
}

impl MessageRow<'_> {
    /// The names of the values.
    pub const NAMES: [&'static str; 12] = [
        "rank",
        "thread",
        "function",
        "communicator",
        "direction",
        "partner",
        "tag",
        "bytes",
        "enter_ns",
        "exit_ns",
        "error_ns",
        "message",
    ];
    /// Characters in a table, at least.
    pub const WIDTHS: [usize; 12] = [4, 0, 13, 14, 0, 7, 6, 8, 16, 16, 8, 8];
    /// The order in which a table leaves them out.
    pub const SPARE: [u8; 12] = [0, 6, 0, 1, 0, 0, 2, 0, 0, 3, 4, 5];

    /// In their order.
    pub fn values(&self) -> [Value<'_>; 12] {
        let call = self.call;
        [
            self.rank.into(),
            call.record.thread.into(),
            Value::Text(self.function),
            self.communicator.map_or(Value::Unknown, Value::Text),
            Value::Text(if call.is_send() { "send" } else { "receive" }),
            call.partner.into(),
            Some(call.tag).filter(|tag| *tag >= 0).into(),
            self.bytes.into(),
            call.enter_ns.into(),
            call.exit_ns.into(),
            self.error_ns.into(),
            call.message.into(),
        ]
    }
}

impl Serialize for MessageRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Self::NAMES.iter().zip(self.values()))
    }
}
