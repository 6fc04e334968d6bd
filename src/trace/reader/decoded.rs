//! The decoded blocks of a part that are kept: all of them up to a bound for the trace.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Decoded values of a trace are kept up to so many bytes: the times of 80 million calls.
const MOST_KEPT: u64 = 5 << 27;
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

/// Decoded values, in as few bytes as they need.
#[derive(Clone, Debug)]
pub(super) enum Values {
    /// All alike, as the operation in a loop of one.
    Same(u64),
    /// So far behind the lowest, as times in a block.
    Near(u64, Box<[u32]>),
    Far(Box<[u64]>),
}

impl Default for Values {
    fn default() -> Values {
        Values::Same(0)
    }
}

impl Values {
    pub(super) fn new(values: Vec<u64>) -> Values {
        let lowest = values.iter().copied().min().unwrap_or(0);
        let highest = values.iter().copied().max().unwrap_or(0);
        match highest - lowest {
            0 => Values::Same(lowest),
            // The cast loses nothing.
            1..=0xffff_ffff => Values::Near(lowest, values.iter().map(|value| (value - lowest) as u32).collect()),
            _ => Values::Far(values.into()),
        }
    }

    /// The value at this place, of which there is one.
    #[inline]
    pub(super) fn get(&self, place: usize) -> u64 {
        match self {
            Values::Near(lowest, behind) => lowest + u64::from(behind[place]),
            Values::Same(value) => *value,
            Values::Far(values) => values[place],
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        match self {
            Values::Same(_) => 0,
            Values::Near(_, behind) => 4 * behind.len() as u64,
            Values::Far(values) => 8 * values.len() as u64,
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::Values;

    #[test]
    fn values_take_no_more_bytes_than_they_need() {
        let far = u64::from(u32::MAX);
        for (values, bytes) in [
            (vec![], 0),
            (vec![7; 3], 0),
            (vec![9, 9 + far, 10], 12),
            (vec![9, 10 + far, 0], 24),
            (vec![0, u64::MAX], 16),
        ] {
            let kept = Values::new(values.clone());
            assert_eq!(kept.bytes(), bytes, "{values:?}");
            assert!((0..values.len()).all(|place| kept.get(place) == values[place]), "{values:?}");
        }
    }
}
