//! When a rank was off its processor between message calls.
//!
//! The tracer looks at the entry and at the exit of each call that can wait, and keeps how long the thread was off its
//! processor since it looked before, not when. So each of these times is that of the first look that is not too early
//! for it and before which there is room for it.

use mpitrace_format::layout::interruption_flags::{BETWEEN, WAITING};
use mpitrace_format::layout::message;
use mpitrace_trace::clock::RankClock;
use mpitrace_trace::reader::Part;

use super::{MessageCall, each_call};
use crate::reasons::{Gap, Off};

/// Time off the processor between two calls.
pub(crate) struct OffBetween {
    /// The exit of the one, global time, ns.
    pub from: f64,
    /// The entry of the other. A message may have been started in between.
    pub until: f64,
    /// The time, by reason.
    pub off: Off,
}

impl OffBetween {
    /// The time between the calls.
    pub fn gap(&self) -> Gap {
        let worked_ns = (self.until - self.from - self.off.sum()).max(0.0);
        Gap { off: self.off, worked_ns, is_timed: true }
    }
}

/// A look, global time, ns.
struct Look {
    at: f64,
    /// Since the entry of the call, or its exit before.
    ns: f64,
    /// At the exit of a call.
    is_exit: bool,
}

/// So many looks are tried for one time.
const TRIED: usize = 1 << 10;
/// The clocks of the tracer's two readings run apart by no more, ns.
const APART: f64 = 2_000.0;

/// Where more than this share of the time fits no call, none is believed.
const FITS_NOT: f64 = 0.1;

/// The times off the processor of the thread that called MPI_Init outside of calls. `None`: the calls do not fit them.
pub(crate) fn outside_of_calls(part: &Part, clock: &RankClock, calls: &[MessageCall]) -> Option<Vec<OffBetween>> {
    let thread = part.init_thread().map_or(0, |(thread, _)| thread);
    // True: it is no recorded collective, in whose records what is off in it is kept.
    let mut spans: Vec<(f64, f64, bool)> = Vec::new();
    for range in each_call(calls) {
        let call = &calls[range.start];
        if call.record.thread == thread && call.flags & (message::STARTS | message::FINDS) != message::STARTS {
            spans.push((call.enter_ns, call.exit_ns, true));
        }
    }
    let records = part.all_times().filter(|&(_, exit)| exit > 0);
    spans.extend(records.map(|(enter, exit)| (clock.nanoseconds(enter), clock.nanoseconds(exit), false)));
    spans.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut looks = Vec::with_capacity(2 * spans.len());
    let mut last = clock.nanoseconds(part.info().first_anchor.tick);
    let mut left = last;
    for (enter, exit, is_message) in spans {
        looks.push(Look { at: enter, ns: enter - left, is_exit: false });
        if is_message {
            looks.push(Look { at: exit, ns: exit - enter, is_exit: true });
        }
        left = exit;
    }
    let (mut found, mut next) = (Vec::new(), 0);
    let (mut outside_ns, mut fits_not_ns) = (0.0, 0.0);
    for entry in part.interruptions().iter().filter(|entry| entry.thread == thread) {
        let error = entry.error_ns as f64 + APART;
        let [record_enter, record_exit] = match part.records() > entry.record as usize {
            true => <[u64; 2]>::from(part.times_of(entry.record as usize)).map(|tick| clock.nanoseconds(tick)),
            false => [f64::INFINITY; 2],
        };
        if entry.flags & BETWEEN == 0 {
            last = record_exit;
            next += looks[next..].partition_point(|look| look.at < record_exit);
            continue;
        }
        let off_ns = if entry.flags & WAITING == 0 { entry.off_ns as f64 } else { 0.0 };
        outside_ns += off_ns;
        let fits = |look: &Look| {
            look.is_exit == (entry.flags & WAITING != 0)
                && look.at + error >= last + entry.elapsed_ns as f64
                && look.ns + error >= entry.off_ns as f64
        };
        let among = looks[next..].iter().take(TRIED).take_while(|look| look.at <= record_enter + error);
        let Some(place) = among.into_iter().position(fits) else {
            fits_not_ns += off_ns;
            continue;
        };
        next += place;
        last = looks[next].at;
        if entry.flags & WAITING == 0 {
            found.push(OffBetween { from: last - looks[next].ns, until: last, off: Off::of_entry(entry) });
        }
        next += 1;
    }
    (fits_not_ns <= FITS_NOT * outside_ns).then_some(found)
}
