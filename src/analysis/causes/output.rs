//! The keys of causes in outputs: times in seconds, and repetitions by the name of their group with, of a mode, its run
//! time.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Cause, GroupTime};
use crate::account::{Because, Late};
use crate::diagnosis::GroupKind;

const NS: f64 = 1e9;

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let because = match self.because() {
            // Whether it computed or was in other MPI calls is not known.
            Some(Because::OnProcessor) => Some("on_processor"),
            because => because.and_then(Because::name),
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("rank", &self.rank)?;
        map.serialize_entry("counter", &self.counter)?;
        group(self.repetitions, &mut map)?;
        map.serialize_entry("seconds", &(self.ns / NS))?;
        map.serialize_entry("seconds_most", &(self.most_ns / NS))?;
        map.serialize_entry("share", &self.share)?;
        map.serialize_entry("repetitions", &self.count)?;
        map.serialize_entry("p", &self.p)?;
        map.serialize_entry("because", &because)?;
        if let Some(late) = &self.late {
            map.serialize_entry("late", late)?;
        }
        map.end()
    }
}

impl Serialize for GroupTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        group(self.repetitions, &mut map)?;
        map.serialize_entry("repetitions", &self.count)?;
        map.serialize_entry("run_s", &(self.run_ns / NS))?;
        map.serialize_entry("extra_s", &(self.extra_ns / NS))?;
        map.serialize_entry("unexplained_s", &(self.unexplained_ns / NS))?;
        map.serialize_entry("maybe_interrupted_s", &(self.untimed_ns / NS))?;
        map.serialize_entry("maybe_waiting_s", &(self.unsplit_ns / NS))?;
        map.serialize_entry("typical", &self.typical)?;
        map.end()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
pub(super) fn seconds<S: Serializer>(ns: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(ns / NS)
}

/// The reasons but the time off the processor.
impl Serialize for Late {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(9))?;
        map.serialize_entry("point_to_point_s", &(self.in_calls.point_to_point / NS))?;
        map.serialize_entry("one_sided_s", &(self.in_calls.one_sided / NS))?;
        map.serialize_entry("io_s", &(self.in_calls.io / NS))?;
        map.serialize_entry("other_mpi_s", &(self.in_calls.other_mpi / NS))?;
        map.serialize_entry("tracer_s", &(self.in_calls.tracer / NS))?;
        map.serialize_entry("earlier_call_s", &(self.earlier_call_ns / NS))?;
        map.serialize_entry("computing_s", &(self.computing_ns / NS))?;
        map.serialize_entry("on_processor_s", &(self.on_processor_ns / NS))?;
        map.serialize_entry("unknown_s", &(self.unknown_ns / NS))?;
        map.end()
    }
}

fn group<M: SerializeMap>(repetitions: GroupKind, map: &mut M) -> Result<(), M::Error> {
    map.serialize_entry("group", repetitions.name())?;
    map.serialize_entry("peak_ns", &repetitions.peak_ns())
}
