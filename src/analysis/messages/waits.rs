//! For whom a rank waits in message calls: late senders and late receivers [Boehme2016].
//!
//! A call that receives waits until the message is being sent, one that sends until its receive is posted, if it has
//! not returned before. A call for several messages waits for the last of them.

use std::ops::Range;

use mpitrace_format::layout::message;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::reader::Trace;

use super::{MessageCall, Messages};

/// That a rank waits for another one in a message call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageWait {
    /// The index of the part that waits, ...
    pub part: usize,
    /// ... and of the one that is late.
    pub late: usize,
    /// Index of the call that waits, ...
    pub call: u32,
    /// ... and of the one that it waits for.
    pub late_call: u32,
    /// From when ...
    pub from_ns: f64,
    /// ... until when, global time.
    pub until_ns: f64,
    /// When it left the call. A rank that yields its processor while it waits may get it back late.
    pub left_ns: f64,
}

impl MessageWait {
    /// How long.
    pub fn ns(&self) -> f64 {
        self.until_ns - self.from_ns
    }
}

impl Messages {
    /// The waits of each part, in order; none where the clocks are not synchronised.
    pub fn waits(&self, trace: &Trace, clock: &Clock) -> Vec<Vec<MessageWait>> {
        if !clock.is_synchronised() {
            return vec![Vec::new(); self.calls.len()];
        }
        let errors = clock.errors_ns(trace);
        let of_part = |(part, calls): (usize, &Vec<MessageCall>)| {
            each_call(calls)
                .filter_map(|range| self.wait_of(part, range))
                .filter(|wait| wait.ns() > errors[wait.part] + errors[wait.late])
                .collect()
        };
        self.calls.iter().enumerate().map(of_part).collect()
    }

    /// The wait in a call for these messages.
    fn wait_of(&self, part: usize, range: Range<usize>) -> Option<MessageWait> {
        let came = |(part, other): (usize, u32)| ((part, other), self.calls[part][other as usize].enter_ns);
        let late = range.clone().filter_map(|place| self.awaited(&self.calls[part][place]).map(came));
        let ((late, late_call), until_ns) = late.max_by(|one, other| one.1.total_cmp(&other.1))?;
        let call = &self.calls[part][range.start];
        let wait = MessageWait {
            part,
            late,
            call: range.start as u32,
            late_call,
            from_ns: call.enter_ns,
            until_ns: until_ns.min(call.exit_ns),
            left_ns: call.exit_ns,
        };
        (late != part && wait.ns() > 0.0).then_some(wait)
    }

    /// The other end of the message of a call that can wait for it: part and call.
    pub(crate) fn awaited(&self, call: &MessageCall) -> Option<(usize, u32)> {
        if call.flags & (message::STARTS | message::FINDS) == message::STARTS {
            return None;
        }
        let message = &self.messages[call.message? as usize];
        let (part, other) = if call.is_send() { message.receive } else { message.send };
        let came = self.calls[part][other as usize].enter_ns;
        // A send that returned before the receive was posted has not waited for it.
        (!call.is_send() || came < call.exit_ns).then_some((part, other))
    }
}

/// The places of the messages of each call: they have one entry.
pub fn each_call(calls: &[MessageCall]) -> impl Iterator<Item = Range<usize>> {
    let key = |call: &MessageCall| (call.record.enter, call.record.thread);
    let mut behind = 0;
    calls.chunk_by(move |one, other| key(one) == key(other)).map(move |group| {
        behind += group.len();
        behind - group.len()..behind
    })
}

/// The time of these waits, in order, and of the late wake-ups behind them within a span, by the part that is late.
pub(crate) fn within(waits: &[MessageWait], from_ns: f64, until_ns: f64) -> impl Iterator<Item = (usize, f64)> {
    let first = waits.partition_point(|wait| wait.left_ns <= from_ns);
    let among = waits[first..].iter().take_while(move |wait| wait.from_ns < until_ns);
    among.map(move |wait| (wait.late, wait.left_ns.min(until_ns) - wait.from_ns.max(from_ns)))
}

/// A chain of ranks that wait for each other is followed over so many of them.
const HOPS: usize = 8;

/// The ranks that made a part late between two times: for whom it waited for most of it, and so on.
pub(crate) fn chain(waits: &[Vec<MessageWait>], mut late: usize, from_ns: f64, until_ns: f64) -> Vec<usize> {
    let mut chain = Vec::new();
    while chain.len() < HOPS {
        let mut by_part: Vec<(usize, f64)> = Vec::new();
        for (part, ns) in within(&waits[late], from_ns, until_ns) {
            match by_part.iter_mut().find(|(known, _)| *known == part) {
                Some((_, sum)) => *sum += ns,
                None => by_part.push((part, ns)),
            }
        }
        let most = by_part.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
        let Some((part, _)) = most.filter(|(_, ns)| 2.0 * ns > until_ns - from_ns) else { break };
        if chain.contains(&part) {
            break;
        }
        chain.push(part);
        late = part;
    }
    chain
}
