//! The calls that were not kept, as a part has them: out of the histograms of a live segment, and of records that
//! `ring` has in a chunk but not among the last ones.

use std::collections::BTreeMap;

use crate::layout::*;

/// The histograms of a rank, bucket by bucket.
pub(crate) struct Histograms {
    calls: BTreeMap<(u32, u32), u64>,
}

impl Histograms {
    /// Out of the rows of a live segment.
    pub fn from_rows(rows: &[Buckets]) -> Histograms {
        let of_row = |row: &Buckets| {
            let (histogram, first) = (row.histogram, row.row.min(ROWS as u32 - 1) * ROW as u32);
            let buckets = (first..).zip(row.calls).filter(move |&(_, calls)| histogram != 0 && calls != 0);
            buckets.map(move |(bucket, calls)| ((histogram, bucket), calls))
        };
        // One by one: to collect them the library would need a sort of its own.
        let mut calls = BTreeMap::new();
        calls.extend(rows.iter().flat_map(of_row));
        Histograms { calls }
    }

    /// Counts a call of an operation that took so many ticks.
    pub fn add(&mut self, operation: &mut OperationEntry, ticks: u64) {
        if operation.histogram == 0 {
            // A part may have more than a segment has memory for.
            let last = self.calls.last_key_value().map_or(SHARED_HISTOGRAM, |(&(number, _), _)| number);
            operation.histogram = last.max(SHARED_HISTOGRAM) + 1;
        }
        operation.timed += 1;
        operation.ticks = operation.ticks.wrapping_add(ticks);
        *self.calls.entry((operation.histogram, bucket_of(ticks) as u32)).or_default() += 1;
    }

    /// As a part has them.
    pub fn entries(&self) -> Vec<HistogramEntry> {
        let entry = |(&(histogram, bucket), &calls): (&(u32, u32), &u64)| HistogramEntry { histogram, bucket, calls };
        self.calls.iter().map(entry).collect()
    }
}
