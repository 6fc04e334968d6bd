//! What the tracer itself cost, as far as the trace shows it.

use mpitrace::clock::Clock;
use mpitrace::reader::Trace;

use crate::text;

/// Records that the shortest time between two calls is looked for in, on each rank.
const LOOKED_AT: usize = 1_000_000;

/// Title and text, for people.
pub fn facts(trace: &Trace, clock: &Clock) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut add = |title: &str, text: String| facts.push((title.to_owned(), text));
    let delayed: u64 = trace.parts.iter().map(|part| part.delayed()).sum();
    add("delayed calls", format!("{delayed} of {} recorded ones may have been delayed by the tracer", trace.records()));
    if let Some((gap, rank)) = shortest_gap(trace, clock) {
        let what = "the shortest time from the exit of a call to the entry of the next one on the same thread";
        add("tracer overhead per call", format!("at most {}: {what}, on rank {rank}", text::time(gap)));
    }
    if clock.sync_ns > 0.0 {
        add("synchronising clocks", format!("{} in all", text::time(clock.sync_ns)));
    }
    facts
}

/// Two calls of one thread that follow each other closely leave the tracer little time: ns, and the rank.
fn shortest_gap(trace: &Trace, clock: &Clock) -> Option<(f64, u32)> {
    let of_part = |(index, part): (usize, &mpitrace::reader::Part)| {
        // A request's call exits when it is found complete, after other calls have begun.
        if part.request_columns().is_some() {
            return None;
        }
        let times: Vec<(u64, u64)> = part.all_times().take(LOOKED_AT + 1).collect();
        let mut least = u64::MAX;
        let mut start = 0;
        for run in part.runs() {
            let end = (start + run.count as usize).min(part.records());
            for record in start..end.min(LOOKED_AT).saturating_sub(1).max(start) {
                let ((_, exit), (enter, _)) = (times[record], times[record + 1]);
                let gap = enter.wrapping_sub(exit);
                if exit != 0 && gap < 1 << 62 {
                    least = least.min(gap);
                }
            }
            start = end;
        }
        (least != u64::MAX).then(|| (clock.of_part(index).ticks_ns(least), part.rank()))
    };
    trace.parts.iter().enumerate().filter_map(of_part).min_by(|a, b| a.0.total_cmp(&b.0))
}
