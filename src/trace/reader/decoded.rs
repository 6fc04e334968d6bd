//! The decoded blocks of a part that are kept: all of them up to a bound for the trace.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Decoded values of a trace are kept up to so many bytes.
const MOST_KEPT: u64 = 2 << 30;
/// So many blocks of a part are held beyond that.
pub(super) const HELD: usize = 64;

/// Bytes of decoded values that may still be kept of a trace.
#[derive(Clone, Debug)]
pub(super) struct Budget(pub(super) Arc<AtomicU64>);

impl Default for Budget {
    fn default() -> Budget {
        Budget(Arc::new(AtomicU64::new(MOST_KEPT)))
    }
}

impl Budget {
    pub(super) fn take(&self, bytes: u64) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }
}

pub(super) type Values = Vec<u64>;

/// The blocks of one column, each decoded when it is first asked for.
pub(super) type ColumnBlocks = Box<[OnceLock<Arc<Values>>]>;

/// A decoded block with the number of its column and its own.
pub(super) type HeldBlock = (u32, usize, Arc<Values>);

/// The decoded blocks of a part. Of the times entries are followed by exits.
#[derive(Debug)]
pub(super) struct Decoded {
    /// By the place of a column among the part's, then by block.
    pub(super) kept: Box<[OnceLock<ColumnBlocks>]>,
    pub(super) budget: Budget,
    /// The blocks that found no room: the column and the number of each.
    pub(super) held: OnceLock<Box<[Mutex<HeldBlock>]>>,
}

impl Decoded {
    /// The decoded blocks of a part with so many columns.
    pub(super) fn new(columns: usize, budget: &Budget) -> Decoded {
        let kept = (0..columns).map(|_| OnceLock::new()).collect();
        Decoded { kept, budget: budget.clone(), held: OnceLock::new() }
    }
}
