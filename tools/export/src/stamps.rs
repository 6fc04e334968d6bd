//! Global times as whole, unsigned ns: what the formats for timelines count in.

use super::messages::MessageRows;
use super::rows::Calls;

/// From the global times of a trace to time stamps.
pub struct Stamps {
    /// ns added to each, so that none is negative.
    shift: f64,
    /// The last exit, ns.
    last: f64,
    /// The system's time of stamp 0, ns since 1970; `None` where the trace does not tell.
    pub realtime_ns: Option<u64>,
}

impl Stamps {
    /// Looks for the earliest entry and the last exit.
    pub fn new(calls: &Calls, messages: &MessageRows) -> Stamps {
        let (mut earliest, mut last) = (0.0f64, 0.0f64);
        for (index, part) in calls.trace.parts.iter().enumerate() {
            let clock = calls.clock.of_part(index);
            for (enter, exit) in part.all_times() {
                let entered = clock.nanoseconds(enter);
                earliest = earliest.min(entered);
                last = last.max(if exit == 0 { entered } else { entered.max(clock.nanoseconds(exit)) });
            }
        }
        for call in messages.messages.calls.iter().flatten() {
            (earliest, last) = (earliest.min(call.enter_ns), last.max(call.exit_ns));
        }
        let shift = (-earliest).ceil();
        let realtime = |part: &mpitrace_trace::reader::Part| {
            let anchor = part.info().first_anchor;
            let passed = calls.clock.of_part(0).nanoseconds(anchor.tick) + shift;
            (anchor.realtime_ns > 0).then(|| anchor.realtime_ns.saturating_add_signed(-passed.round() as i64))
        };
        Stamps { shift, last: last + shift, realtime_ns: calls.trace.parts.first().and_then(realtime) }
    }

    /// The stamp of a global time.
    pub fn stamp(&self, global_ns: f64) -> u64 {
        (global_ns + self.shift).round().max(0.0) as u64
    }

    /// No stamp is larger.
    pub fn end(&self) -> u64 {
        self.last.ceil() as u64
    }
}
