//! The facts that a trace buffer keeps, beside its tables, of the calls that are not kept.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering};

use mpitrace_format::layout::{MOST_HISTOGRAMS, ROWS};

/// The rows of all histograms: where each of them lies in the table.
pub struct HistogramRows {
    pub(super) used: AtomicU64,
    /// For each row of each histogram 1 + its place in the table; 0: none yet.
    pub(super) places: [[AtomicU16; ROWS]; MOST_HISTOGRAMS as usize],
}

/// A mark in place of a row: the table is full.
pub(super) const NOWHERE: u16 = u16::MAX;

impl HistogramRows {
    pub(super) fn new() -> Box<HistogramRows> {
        let places = [const { [const { AtomicU16::new(0) }; ROWS] }; MOST_HISTOGRAMS as usize];
        Box::new(HistogramRows { used: AtomicU64::new(0), places })
    }
}

/// The state of a sample of the calls.
pub struct Sample {
    pub(super) is_on: AtomicBool,
    pub(super) level: AtomicU32,
    /// It begins when block files are larger; bytes.
    pub(super) beyond: AtomicU64,
    /// The draws before it.
    pub(super) from: AtomicU64,
}

impl Sample {
    pub(super) fn new(is_on: bool) -> Sample {
        Sample {
            is_on: AtomicBool::new(is_on),
            level: AtomicU32::new(0),
            beyond: AtomicU64::new(u64::MAX),
            from: AtomicU64::new(0),
        }
    }

    #[inline(always)]
    pub(super) fn level(&self) -> u32 {
        self.level.load(Ordering::Relaxed)
    }
}
