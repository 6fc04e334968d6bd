//! The messages of Perfetto's protos/perfetto/trace/perfetto_trace.proto that an export consists of, with the fields in
//! use.

use super::wire::{self, Message};

/// A message with its fields: the number, the type on the wire, and the field of Rust, none, one or many of it.
macro_rules! message {
    (
        $(#[$about:meta])*
        pub struct $name:ident { $($(#[$field_about:meta])* $number:literal $kind:ident, pub $field:ident: $type:ty,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $($(#[$field_about])* pub $field: $type,)*
        }

        impl Message for $name {
            fn encode(&self, buffer: &mut Vec<u8>) {
                $(self.$field.iter().for_each(|value| wire::$kind($number, value, buffer));)*
            }
        }
    };
}

message! {
    /// One element of a trace, which is nothing but a sequence of them.
    pub struct TracePacket {
        6 message, pub clock_snapshot: Option<ClockSnapshot>,
        /// ns.
        8 uint64, pub timestamp: Option<u64>,
        10 uint32, pub trusted_packet_sequence_id: Option<u32>,
        11 message, pub track_event: Option<TrackEvent>,
        12 message, pub interned_data: Option<InternedData>,
        13 uint32, pub sequence_flags: Option<u32>,
        60 message, pub track_descriptor: Option<TrackDescriptor>,
    }
}

/// [`TracePacket::sequence_flags`]: what was interned before counts no more.
pub const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// [`TracePacket::sequence_flags`]: the packet refers to what was interned.
pub const NEEDS_INCREMENTAL_STATE: u32 = 2;

message! {
    /// The values of several clocks at one time.
    pub struct ClockSnapshot {
        1 message, pub clocks: Vec<Clock>,
    }
}

message! {
    pub struct Clock {
        1 uint32, pub clock_id: Option<u32>,
        2 uint64, pub timestamp: Option<u64>,
    }
}

/// [`Clock::clock_id`]: the system's time, ns since 1970.
pub const REALTIME: u32 = 1;
/// [`Clock::clock_id`]: the clock of all packets that name no other.
pub const BOOTTIME: u32 = 6;

message! {
    /// A line of the timeline.
    pub struct TrackDescriptor {
        1 uint64, pub uuid: Option<u64>,
        2 string, pub name: Option<String>,
        3 message, pub process: Option<ProcessDescriptor>,
        5 uint64, pub parent_uuid: Option<u64>,
        8 message, pub counter: Option<CounterDescriptor>,
        11 int32, pub child_ordering: Option<i32>,
        12 int32, pub sibling_order_rank: Option<i32>,
    }
}

/// [`TrackDescriptor::child_ordering`]: by [`TrackDescriptor::sibling_order_rank`].
pub const EXPLICIT: i32 = 3;

message! {
    pub struct ProcessDescriptor {
        1 int32, pub pid: Option<i32>,
        6 string, pub process_name: Option<String>,
    }
}

message! {
    pub struct CounterDescriptor {
        6 string, pub unit_name: Option<String>,
    }
}

message! {
    pub struct TrackEvent {
        3 uint64, pub category_iids: Vec<u64>,
        4 message, pub debug_annotations: Vec<DebugAnnotation>,
        9 int32, pub r#type: Option<i32>,
        10 uint64, pub name_iid: Option<u64>,
        11 uint64, pub track_uuid: Option<u64>,
        30 int64, pub counter_value: Option<i64>,
        47 fixed64, pub flow_ids: Vec<u64>,
    }
}

pub const SLICE_BEGIN: i32 = 1;
pub const SLICE_END: i32 = 2;
pub const INSTANT: i32 = 3;
pub const COUNTER: i32 = 4;

message! {
    /// A name and a value beside an event.
    pub struct DebugAnnotation {
        1 uint64, pub name_iid: Option<u64>,
        2 bool, pub bool_value: Option<bool>,
        3 uint64, pub uint_value: Option<u64>,
        5 double, pub double_value: Option<f64>,
        6 string, pub string_value: Option<String>,
        17 uint64, pub string_value_iid: Option<u64>,
    }
}

message! {
    /// Texts that are referred to by number.
    pub struct InternedData {
        1 message, pub event_categories: Vec<Interned>,
        2 message, pub event_names: Vec<Interned>,
        3 message, pub debug_annotation_names: Vec<Interned>,
        29 message, pub debug_annotation_string_values: Vec<Interned>,
    }
}

message! {
    /// EventCategory, EventName, DebugAnnotationName and InternedString: on the wire all the same.
    pub struct Interned {
        1 uint64, pub iid: Option<u64>,
        2 string, pub text: Option<String>,
    }
}
