//! The ticks at which a rank, or one of its threads, was in its collective calls.

use mpitrace_format::layout::{OPERATION_MASK, OperationEntry};
use mpitrace_trace::reader::Part;

/// Ticks at which this thread, or at least one thread, was in a kept collective call, or in a call that started, tested
/// or waited for one.
pub(super) fn in_collectives(part: &Part, thread: Option<u32>) -> u64 {
    let mut union = Union::default();
    if for_each_span(part, thread, |begin, end| union.add(begin, end)) {
        return union.sum;
    }
    spans(part, thread).iter().map(Span::ticks).sum()
}

/// The ticks from which to which a rank, or one of its threads, was in its calls, until one is refused: then false.
pub(super) fn for_each_span(part: &Part, thread: Option<u32>, mut add: impl FnMut(u64, u64) -> bool) -> bool {
    let has_regions = part.operations().iter().any(OperationEntry::is_region);
    let is_region = |operation: u32| part.operations()[(operation & OPERATION_MASK) as usize].is_region();
    let requests = part.request_columns().map(|[init, test, wait, _]| [init, test, wait]);
    let mut runs = part.runs().iter();
    let mut run = (0, 0);
    for block in part.blocks() {
        while run.0 <= block.range.start as u64 {
            let Some(next) = runs.next() else { break };
            run = (run.0 + next.count, next.thread);
        }
        if thread.is_some_and(|thread| thread != run.1) {
            continue;
        }
        let [enter, exit] = block.times();
        let operations = if has_regions { block.operation() } else { Vec::new() };
        for (place, (enter, exit)) in enter.into_iter().zip(exit).enumerate() {
            if operations.get(place).is_some_and(|&operation| is_region(operation)) {
                continue;
            }
            let record = block.range.start + place;
            let request =
                requests.map(|columns| columns.map(|column| column.get(record))).filter(|[init, ..]| *init > 0);
            let spans = match request {
                // A row of tests lies before the wait, or is one.
                Some([init, test, wait]) => {
                    let behind = exit.saturating_sub(test.saturating_add(wait)).max(enter + init).min(exit);
                    [(enter, enter + init), (behind, exit)]
                }
                None => [(enter, exit), (exit, exit)],
            };
            if !spans.into_iter().all(|(begin, end)| begin >= end || add(begin, end)) {
                return false;
            }
        }
    }
    true
}

/// The length of the union of spans.
#[derive(Default)]
struct Union {
    sum: u64,
    last: u64,
    until: u64,
}

impl Union {
    /// False: it begins before the one before it, and was not added.
    fn add(&mut self, begin: u64, end: u64) -> bool {
        if begin < self.last {
            return false;
        }
        self.last = begin;
        self.sum += end.saturating_sub(begin.max(self.until));
        self.until = self.until.max(end);
        true
    }
}

/// From a tick to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub begin: u64,
    pub end: u64,
}

impl Span {
    pub fn ticks(&self) -> u64 {
        self.end - self.begin
    }

    /// Spans without overlaps that cover what these cover, in order.
    pub fn union(mut spans: Vec<Span>) -> Vec<Span> {
        spans.sort_unstable();
        let mut union: Vec<Span> = Vec::new();
        for span in spans {
            match union.last_mut().filter(|last| span.begin <= last.end) {
                Some(last) => last.end = last.end.max(span.end),
                None => union.push(span),
            }
        }
        union
    }

    /// The ticks that it has in common with spans that do not overlap and are in order.
    pub fn common(&self, spans: &[Span]) -> u64 {
        let first = spans.partition_point(|span| span.end <= self.begin);
        let inside = spans[first..].iter().take_while(|span| span.begin < self.end);
        inside.map(|span| span.end.min(self.end) - span.begin.max(self.begin)).sum()
    }
}

/// The times in which a rank, or one of its threads, was in its calls, in order and without overlaps.
pub(super) fn spans(part: &Part, thread: Option<u32>) -> Vec<Span> {
    let mut spans = Vec::new();
    for_each_span(part, thread, |begin, end| {
        spans.push(Span { begin, end });
        true
    });
    Span::union(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_ticks_are_counted() {
        let span = |(begin, end): (u64, u64)| Span { begin, end };
        let spans = Span::union([(20, 30), (0, 10), (8, 12), (30, 31)].map(span).to_vec());
        assert_eq!(spans, [(0, 12), (20, 31)].map(span));
        assert_eq!([(0, 40), (11, 21), (12, 20), (31, 99)].map(|of| span(of).common(&spans)), [23, 2, 0, 0]);
    }

    fn union(spans: &[(u64, u64)]) -> Option<u64> {
        let mut union = Union::default();
        spans.iter().all(|&(begin, end)| union.add(begin, end)).then_some(union.sum)
    }

    #[test]
    fn what_overlaps_counts_once() {
        assert_eq!(union(&[(0, 10), (5, 12), (6, 7), (20, 21)]), Some(13));
        assert_eq!(union(&[(5, 10), (0, 3)]), None);
        assert_eq!(union(&[]), Some(0));
    }
}
