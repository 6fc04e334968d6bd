//! A straight line from one clock's ticks to another's, kept around a point of its own.
//!
//! Slope and intercept, as they stand in the literature, lose nanoseconds: an intercept at tick 0, days ago, has an
//! error of the slope's times days. And models fitted against the client's time merge otherwise than those against the
//! reference's. Maps around a point have neither trouble: they are composed.

use bytemuck::{Pod, Zeroable};

/// `reference = reference0 + (local - local0) * (1 + skew)`, in ticks.
///
/// ```
/// use mpitrace_format::ticks::AffineMap;
///
/// // The reference is 1000 ticks ahead, and gains 10 in a million.
/// let map = AffineMap { local0: 0, reference0: 1000, skew: 10e-6 };
/// assert_eq!(map.apply(1_000_000), 1_001_010);
/// assert_eq!(AffineMap::with_offset(5000, 70).apply(5001), 4931);
/// assert_eq!(AffineMap::IDENTITY.after(&map), map);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct AffineMap {
    /// A tick of the local clock.
    pub local0: u64,
    /// The reading of the reference clock then.
    pub reference0: u64,
    /// How much faster than the local clock the reference runs, as a fraction.
    pub skew: f64,
}

impl AffineMap {
    /// The map of a clock onto itself.
    pub const IDENTITY: AffineMap = AffineMap { local0: 0, reference0: 0, skew: 0.0 };

    /// The map of a clock that showed `local` when the reference showed `local - difference`, and runs as fast.
    pub fn with_offset(local: u64, difference: i64) -> AffineMap {
        AffineMap { local0: local, reference0: local.wrapping_add_signed(difference.wrapping_neg()), skew: 0.0 }
    }

    /// The reference clock when the local one shows `local`, rounded to a tick.
    #[inline]
    pub fn apply(&self, local: u64) -> u64 {
        let since = local.wrapping_sub(self.local0) as i64;
        // The identity's part in integers: a float holds 53 bits, and a tick counter uses more.
        let same_pace = self.reference0.wrapping_add_signed(since);
        if self.skew == 0.0 {
            return same_pace;
        }
        same_pace.wrapping_add_signed((since as f64 * self.skew).round() as i64)
    }

    /// The map that takes a clock to this one's local clock and on to this one's reference.
    pub fn after(&self, first: &AffineMap) -> AffineMap {
        AffineMap {
            local0: first.local0,
            reference0: self.apply(first.reference0),
            skew: self.skew + first.skew + self.skew * first.skew,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_in_a_row_are_one_map() {
        let first = AffineMap { local0: 1 << 50, reference0: 1 << 51, skew: 37e-6 };
        let second = AffineMap { local0: (1 << 51) + 77, reference0: 1 << 40, skew: -12e-6 };
        let both = second.after(&first);
        for step in [0, 1, 1_000_000_007, 1 << 38] {
            let local = (1 << 50) + step;
            let difference = both.apply(local).wrapping_sub(second.apply(first.apply(local))) as i64;
            assert!(difference.abs() <= 1, "{difference} ticks at {step}");
        }
    }
}
