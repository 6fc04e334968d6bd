//! Which repetitions of an operation are complete, and so count in statistics.

use std::ops::Range;

/// Which repetitions every rank finished and kept.
#[derive(Debug, Default)]
pub(super) struct Completeness {
    /// None of them, whatever else is said here.
    pub none: bool,
    /// The rows that are not complete, ascending.
    pub except: Vec<usize>,
}

impl Completeness {
    pub(super) fn is_complete(&self, row: usize) -> bool {
        !self.none && self.except.binary_search(&row).is_err()
    }

    /// How many of these rows are complete.
    pub(super) fn count(&self, rows: &Range<usize>) -> usize {
        if self.none { 0 } else { rows.len() - self.except_within(rows).len() }
    }

    /// The rows of a range that are complete.
    pub(super) fn rows(&self, rows: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        let mut except = self.except_within(&rows).iter().peekable();
        let rows = if self.none { 0..0 } else { rows };
        rows.filter(move |row| except.next_if_eq(&row).is_none())
    }

    fn except_within(&self, rows: &Range<usize>) -> &[usize] {
        let place = |row: usize| self.except.partition_point(|&other| other < row);
        &self.except[place(rows.start)..place(rows.end).max(place(rows.start))]
    }
}

/// The rows of the complete repetitions. Where they follow each other, they take no memory.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_trace::{operations::Operations, reader::Trace};
///
/// let trace = Trace::open(&[path])?;
/// let complete = Operations::new(&trace).operations[0].complete();
/// assert_eq!((complete.len(), complete.is_empty(), complete.get(3)), (10, false, 3));
/// assert_eq!(complete.truncated(4).len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CompleteRows {
    /// The first of all rows; each one behind it is complete if none are listed.
    first: usize,
    listed: Option<Vec<u32>>,
    count: usize,
}

pub(super) enum SomeRows<'r> {
    Consecutive(Range<usize>),
    Listed(&'r [u32]),
}

impl CompleteRows {
    pub(super) fn new(complete: &Completeness, rows: Range<usize>) -> CompleteRows {
        let (first, count) = (rows.start, complete.count(&rows));
        // Records are numbered by 32 bits, and no repetition is without one.
        let listed = (count < rows.len()).then(|| complete.rows(rows).map(|row| row as u32).collect());
        CompleteRows { first, listed, count }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first of them, so many at most.
    pub fn truncated(mut self, count: usize) -> CompleteRows {
        self.count = self.count.min(count);
        if let Some(listed) = &mut self.listed {
            listed.truncate(self.count);
        }
        self
    }

    /// The row of the `index`-th one, of which there is one.
    pub fn get(&self, index: usize) -> usize {
        self.listed.as_ref().map_or(self.first + index, |listed| listed[index] as usize)
    }

    pub(super) fn some(&self, indices: Range<usize>) -> SomeRows<'_> {
        match &self.listed {
            None => SomeRows::Consecutive(self.first + indices.start..self.first + indices.end),
            Some(listed) => SomeRows::Listed(&listed[indices]),
        }
    }
}
