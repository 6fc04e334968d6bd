//! The line of `info` on interruptions: how many calls were interrupted, and for how long.

use std::collections::BTreeMap;

use mpitrace_format::layout::{INTERRUPTED, INTERRUPTED_BEFORE, interruption_flags, interruptions_by};
use mpitrace_show::text;
use mpitrace_trace::reader::Trace;
use serde::Serialize;

/// The interruptions of the threads of a trace, counted.
#[derive(Debug, Default, Serialize)]
pub struct Interruptions {
    /// How they are known, and on how many threads so: `page`, `rseq`, `off`, `none`, `unknown`.
    pub by: BTreeMap<&'static str, u64>,
    /// Calls in which the thread was interrupted.
    pub calls: u64,
    /// Calls before which it was interrupted, since its call before.
    pub between: u64,
    /// Time off the processor in calls, ns, as far as it was measured for each.
    pub off_in_calls_ns: u64,
    /// Time off the processor between calls, ns, as far as it was measured for each.
    pub off_between_ns: u64,
    /// Interruptions of which neither time nor place is known one by one, since there were too many.
    pub unlisted: u64,
    /// Time off the processor in those, ns.
    pub unlisted_off_ns: u64,
}

impl Interruptions {
    /// Counts those of all ranks.
    pub fn new(trace: &Trace) -> Interruptions {
        let mut found = Interruptions::default();
        for part in &trace.parts {
            for thread in part.threads() {
                *found.by.entry(name(thread.interruptions_by)).or_default() += 1;
                found.unlisted += thread.unlisted;
                found.unlisted_off_ns += thread.unlisted_off_ns;
            }
            let [calls, between] = part.flagged([INTERRUPTED, INTERRUPTED_BEFORE]);
            found.calls += calls;
            found.between += between;
            for entry in part.interruptions() {
                match entry.flags & interruption_flags::BETWEEN {
                    0 => found.off_in_calls_ns += entry.off_ns,
                    _ => found.off_between_ns += entry.off_ns,
                }
            }
        }
        found
    }

    /// In one line; `None`: the trace has no interruptions.
    pub fn line(&self) -> Option<String> {
        let threads = |name: &str| self.by.get(name).copied().unwrap_or(0);
        if threads("page") + threads("rseq") == 0 {
            let why = match (threads("off"), threads("none")) {
                (0, 0) => return None,
                (0, _) => "not known: neither perf_event_open nor restartable sequences worked",
                _ => "not known: switched off (MPITRACE_INTERRUPTIONS)",
            };
            return Some(why.to_owned());
        }
        let off = |ns: u64| text::time(ns as f64);
        let mut line = format!(
            "{} ({} off the processor), {} before calls ({})",
            text::count(self.calls, "call"),
            off(self.off_in_calls_ns),
            text::count(self.between, "time"),
            off(self.off_between_ns)
        );
        if self.unlisted > 0 {
            line.push_str(&format!("; {} more without an entry ({})", self.unlisted, off(self.unlisted_off_ns)));
        }
        let blind = threads("none") + threads("off") + threads("unknown");
        if blind > 0 {
            line.push_str(&format!("; not known of {}", text::count(blind, "thread")));
        }
        Some(line)
    }
}

fn name(by: u16) -> &'static str {
    match by {
        interruptions_by::EVENT_PAGE => "page",
        interruptions_by::RSEQ => "rseq",
        interruptions_by::OFF => "off",
        interruptions_by::NONE => "none",
        _ => "unknown",
    }
}
