"""Decodes a Perfetto trace by the schema that Perfetto publishes, and does what its importer does: interned texts are
looked up, slices are closed, flows are followed. Fails where something does not fit the schema; else prints JSON."""
import collections
import json
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

BEGIN, END, COUNTER = (schema.TrackEvent.Type.Value(f"TYPE_{name}") for name in ("SLICE_BEGIN", "SLICE_END", "COUNTER"))


def check(message):
    """Fields that the schema does not know, at any depth."""
    assert len(UnknownFieldSet(message)) == 0, message
    for field, value in message.ListFields():
        if field.message_type:
            for inner in value if hasattr(value, "__len__") else [value]:
                check(inner)


trace = schema.Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
check(trace)

tracks, texts, cleared = {}, {}, set()
slices, counters, flows, clocks = [], collections.Counter(), collections.defaultdict(list), {}
events = []
for packet in trace.packet:
    sequence = packet.trusted_packet_sequence_id
    assert sequence, packet
    if packet.sequence_flags & packet.SEQ_INCREMENTAL_STATE_CLEARED:
        texts[sequence] = collections.defaultdict(dict)
    if packet.HasField("interned_data"):
        for field, entries in packet.interned_data.ListFields():
            for entry in entries:
                text = entry.str.decode() if field.name == "debug_annotation_string_values" else entry.name
                texts[sequence][field.name][entry.iid] = text
    if packet.HasField("clock_snapshot"):
        clocks = {clock.clock_id: clock.timestamp for clock in packet.clock_snapshot.clocks}
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        assert track.uuid not in tracks, track
        tracks[track.uuid] = track
    if packet.HasField("track_event"):
        assert packet.sequence_flags & packet.SEQ_NEEDS_INCREMENTAL_STATE and sequence in texts, packet
        assert packet.HasField("timestamp"), packet
        events.append((packet.timestamp, packet.track_event, texts[sequence]))

# By time; what has one time stamp stays in its order.
open_slices = collections.defaultdict(list)
for timestamp, event, words in sorted(events, key=lambda one: one[0]):
    track = tracks[event.track_uuid]
    process = tracks[track.parent_uuid].process
    if event.type == COUNTER:
        assert track.HasField("counter"), track
        counters[track.name] += event.counter_value
    elif event.type == BEGIN:
        beside = {}
        for one in event.debug_annotations:
            value = getattr(one, one.WhichOneof("value"))
            if one.HasField("string_value_iid"):
                value = words["debug_annotation_string_values"][value]
            beside[words["debug_annotation_names"][one.name_iid]] = value
        found = {
            "name": words["event_names"][event.name_iid],
            "category": [words["event_categories"][iid] for iid in event.category_iids],
            "track": track.name,
            "rank": process.pid - 1,
            "begin_ns": timestamp,
            "end_ns": None,
            "flows": list(event.flow_ids),
            **beside,
        }
        open_slices[event.track_uuid].append(found)
        slices.append(found)
    else:
        # Slices of one track lie within each other or apart: an end is that of the innermost.
        assert event.type == END, event
        open_slices[event.track_uuid].pop()["end_ns"] = timestamp
processes = [track.process.process_name for track in tracks.values() if track.HasField("process")]
json.dump({"processes": processes, "slices": slices, "counters": counters, "clocks": clocks}, sys.stdout)
