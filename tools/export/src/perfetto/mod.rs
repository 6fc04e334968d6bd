//! A timeline in Perfetto's protobuf, packet by packet: a process for each rank, a track for each of its threads, and a
//! counter track for each counter.
//!
//! A call is a slice, one with a request a slice on a lane of its own, since such calls overlap. The calls of a
//! repetition are joined by a flow. A counter's value stands from the entry of the call that it belongs to.

mod schema;
mod tracks;
mod wire;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use mpitrace_analysis::messages::MessageCall;
use mpitrace_format::layout::message;
use mpitrace_format::samples::Samples;
use mpitrace_show::destination::{Content, Destination, Sink};
use mpitrace_statistics::categories::Category;
use mpitrace_trace::calls::samples::RunSamples;

use super::call_columns::{self, CallColumn, Value};
use super::labels::Labels;
use super::messages::MessageRows;
use super::rows::{Calls, Row, Selection};
use super::stamps::Stamps;
use schema::{
    BOOTTIME, COUNTER, Clock, ClockSnapshot, DebugAnnotation, INCREMENTAL_STATE_CLEARED, INSTANT, Interned,
    InternedData, NEEDS_INCREMENTAL_STATE, REALTIME, SLICE_BEGIN, SLICE_END, TracePacket, TrackDescriptor, TrackEvent,
};
use tracks::Tracks;

/// A timeline.
pub fn export(calls: &Calls, operation: Option<usize>, destination: &mut Destination) -> Result<()> {
    let labels = Labels::new(calls)?;
    let messages = MessageRows::new(calls);
    let stamps = Stamps::new(calls, &messages);
    destination.stream(Content::Binary, |sink| {
        let mut packets = Packets { sink, buffer: Vec::new() };
        let samples = calls.traced.samples()?.unwrap_or_default();
        let names = packets.begin(calls, &messages, &samples, &stamps)?;
        for (index, part) in calls.trace.parts.iter().enumerate() {
            let host = part.metadata().into_iter().find(|(name, _)| name == "host").map(|(_, host)| host);
            let (mut tracks, described) = Tracks::of_rank(part.rank(), host.as_deref(), &calls.counter_names);
            described.into_iter().try_for_each(|track| packets.track(track))?;
            let selection = Selection { operation, rank: Some(part.rank()), limit: None };
            calls.each(selection, |row| packets.call(calls, &row, &labels, &stamps, &mut tracks))?;
            for call in messages.calls(index) {
                let name = names[&messages.functions[index][call[0].record.operation as usize]];
                packets.message_call(call, name, &stamps, &mut tracks)?;
            }
            let all = names.len() + calls.operations.operations.len();
            let of_rank = samples.threads.iter().zip(&samples.samples.threads).filter(|((of, _), _)| *of == index);
            for ((_, ticks), thread) in of_rank {
                let Some(number) = part.threads().iter().position(|one| one.tid == thread.tid) else { continue };
                for (&tick, &(_, stack)) in ticks.iter().zip(&thread.samples) {
                    let at = stamps.stamp(calls.clock.of_part(index).nanoseconds(tick));
                    packets.sample(at, &samples.samples, (stack, all as u64), number as u32, &mut tracks)?;
                }
            }
        }
        Ok(())
    })
}

/// Everything is one sequence: its texts are interned once.
const SEQUENCE: u32 = 1;

/// The category of a call whose repetition is not complete.
const INCOMPLETE: &str = "incomplete";

struct Packets<'s> {
    sink: &'s mut Sink<'s>,
    buffer: Vec<u8>,
}

impl Packets<'_> {
    fn write(&mut self, packet: TracePacket) -> Result<()> {
        self.buffer.clear();
        // Trace.packet is field 1.
        wire::message(1, &packet, &mut self.buffer);
        Ok(self.sink.write_all(&self.buffer)?)
    }

    /// The clock, and all texts: the numbers of the functions of message calls.
    fn begin(
        &mut self,
        calls: &Calls,
        messages: &MessageRows,
        samples: &RunSamples,
        stamps: &Stamps,
    ) -> Result<BTreeMap<String, u64>> {
        if let Some(realtime_ns) = stamps.realtime_ns {
            let clock = |clock_id, timestamp| Clock { clock_id: Some(clock_id), timestamp: Some(timestamp) };
            let clocks = vec![clock(BOOTTIME, 0), clock(REALTIME, realtime_ns)];
            let clock_snapshot = Some(ClockSnapshot { clocks });
            self.write(TracePacket { clock_snapshot, timestamp: Some(0), ..packet() })?;
        }
        let operations = calls.operations;
        let functions: BTreeSet<&String> = messages.functions.iter().flatten().collect();
        let of_calls = operations.operations.iter().map(|operation| operation.key.function.as_str());
        let of_messages = (operations.operations.len() as u64 + 1..).zip(&functions);
        let numbers = of_messages.map(|(number, name)| ((*name).clone(), number)).collect();
        let categories = Category::ALL.iter().map(|category| category.name()).chain([INCOMPLETE]);
        let interned_data = InternedData {
            event_categories: interned(categories),
            event_names: interned(
                of_calls
                    .chain(functions.iter().map(|name| name.as_str()))
                    .chain(samples.samples.frames.iter().map(String::as_str)),
            ),
            debug_annotation_names: interned(shown_beside().map(|column| column.name).chain(["stack"])),
            debug_annotation_string_values: interned(operations.communicators.iter().map(|known| known.name.as_str())),
        };
        let sequence_flags = Some(INCREMENTAL_STATE_CLEARED | NEEDS_INCREMENTAL_STATE);
        self.write(TracePacket { interned_data: Some(interned_data), sequence_flags, ..packet() })?;
        Ok(numbers)
    }

    fn track(&mut self, track: TrackDescriptor) -> Result<()> {
        self.write(TracePacket { track_descriptor: Some(track), ..packet() })
    }

    fn event(&mut self, timestamp: u64, event: TrackEvent) -> Result<()> {
        let sequence_flags = Some(NEEDS_INCREMENTAL_STATE);
        self.write(TracePacket { timestamp: Some(timestamp), track_event: Some(event), sequence_flags, ..packet() })
    }

    fn call(&mut self, calls: &Calls, row: &Row, labels: &Labels, stamps: &Stamps, tracks: &mut Tracks) -> Result<()> {
        let enter = stamps.stamp(row.enter_ns);
        let exit = row.exit_ns.map(|exit| stamps.stamp(exit).max(enter));
        let (uuid, new) = match row.starting_ns() {
            None => tracks.thread(row.thread, false),
            // An open one keeps its lane.
            Some(_) => tracks.lane(row.thread, enter, exit.unwrap_or(u64::MAX)),
        };
        new.map_or(Ok(()), |track| self.track(track))?;
        for index in 0..calls.counter_names.len() {
            if let Some(value) = row.counters.get(index) {
                let event = TrackEvent {
                    r#type: Some(COUNTER),
                    track_uuid: Some(tracks.counter(index)),
                    counter_value: Some(value.min(i64::MAX as u64) as i64),
                    ..TrackEvent::default()
                };
                self.event(enter, event)?;
            }
        }
        let operation = &calls.operations.operations[row.operation as usize];
        let category = labels.of_row(row).map(Category::place);
        let begin = TrackEvent {
            r#type: Some(SLICE_BEGIN),
            track_uuid: Some(uuid),
            name_iid: Some(u64::from(row.operation) + 1),
            category_iids: vec![category.unwrap_or(Category::ALL.len()) as u64 + 1],
            // Unique among the repetitions of all operations for 2^40 of each.
            flow_ids: Vec::from_iter(
                (operation.parts.len() > 1).then_some(u64::from(row.operation) << 40 | (row.repetition + 1)),
            ),
            debug_annotations: beside(row, operation.key.communicator),
            ..TrackEvent::default()
        };
        self.event(enter, begin)?;
        // A call that did not return stays open.
        let Some(exit) = exit else { return Ok(()) };
        let end = TrackEvent { r#type: Some(SLICE_END), track_uuid: Some(uuid), ..TrackEvent::default() };
        self.event(exit, end)
    }

    /// A message call on a track of its own, with the arrows of its messages: from the call that sends one to the call
    /// that has received it.
    fn message_call(&mut self, call: &[MessageCall], name: u64, stamps: &Stamps, tracks: &mut Tracks) -> Result<()> {
        let first = &call[0];
        let (uuid, new) = tracks.thread(first.record.thread, true);
        new.map_or(Ok(()), |track| self.track(track))?;
        let is_end = |call: &&MessageCall| match call.is_send() {
            true => call.flags & message::COMPLETES == 0,
            false => call.flags & (message::STARTS | message::FINDS) == 0,
        };
        let begin = TrackEvent {
            r#type: Some(SLICE_BEGIN),
            track_uuid: Some(uuid),
            name_iid: Some(name),
            // Beyond those of repetitions.
            flow_ids: call.iter().filter(is_end).filter_map(|call| Some(1 << 63 | u64::from(call.message?))).collect(),
            ..TrackEvent::default()
        };
        let enter = stamps.stamp(first.enter_ns);
        self.event(enter, begin)?;
        let end = TrackEvent { r#type: Some(SLICE_END), track_uuid: Some(uuid), ..TrackEvent::default() };
        self.event(stamps.stamp(first.exit_ns).max(enter), end)
    }

    /// A sample: its innermost frame, with the stack beside it. `stack`: its number, and that of the names before those
    /// of frames.
    fn sample(
        &mut self,
        at: u64,
        samples: &Samples,
        (stack, names): (u32, u64),
        thread: u32,
        tracks: &mut Tracks,
    ) -> Result<()> {
        let Some((_, frame)) = (stack as usize).checked_sub(1).map(|index| samples.stacks[index]) else {
            return Ok(());
        };
        let (uuid, new) = tracks.thread(thread, false);
        new.map_or(Ok(()), |track| self.track(track))?;
        let frames: Vec<&str> = samples.frames_of(stack).collect();
        let whole = DebugAnnotation {
            name_iid: Some(shown_beside().count() as u64 + 1),
            string_value: Some(frames.join(" < ")),
            ..DebugAnnotation::default()
        };
        let instant = TrackEvent {
            r#type: Some(INSTANT),
            track_uuid: Some(uuid),
            name_iid: Some(names + u64::from(frame) + 1),
            debug_annotations: vec![whole],
            ..TrackEvent::default()
        };
        self.event(at, instant)
    }
}

fn shown_beside() -> impl Iterator<Item = &'static CallColumn> {
    call_columns::data_columns().filter(|column| column.is_beside)
}

/// The values beside a call, by the numbers of the interned names. The only text that is interned is that of its
/// communicator.
fn beside(row: &Row, communicator: usize) -> Vec<DebugAnnotation> {
    let value = |(name, column): (u64, &CallColumn)| {
        let named = DebugAnnotation { name_iid: Some(name), ..DebugAnnotation::default() };
        Some(match column.value(row) {
            Value::Unknown | Value::Signed(_) | Value::Flag(false) => return None,
            Value::Number(value) => DebugAnnotation { uint_value: Some(value), ..named },
            Value::Real(value) => DebugAnnotation { double_value: Some(value), ..named },
            Value::Flag(true) => DebugAnnotation { bool_value: Some(true), ..named },
            Value::Algorithm(algorithm) => DebugAnnotation { string_value: Some(algorithm.to_string()), ..named },
            Value::Text(_) => DebugAnnotation { string_value_iid: Some(communicator as u64 + 1), ..named },
        })
    };
    (1..).zip(shown_beside()).filter_map(value).collect()
}

fn packet() -> TracePacket {
    TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..TracePacket::default() }
}

/// Numbered from 1, as 0 stands for none.
fn interned<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<Interned> {
    (1..).zip(texts).map(|(iid, text)| Interned { iid: Some(iid), text: Some(text.to_owned()) }).collect()
}
