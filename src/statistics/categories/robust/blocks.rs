//! A series of any length as a few thousand blocks: single repetitions at the start, where warm-ups are, and wider ones
//! over more of it.

use crate::estimators::median;
use crate::parallel;

/// So many blocks are looked at at once.
pub(super) const BLOCKS: usize = 1 << 11;
/// Each next view has blocks so many times as wide.
const WIDER: usize = 32;
/// From here on blocks are shared out among the processors.
const LONG: usize = 1 << 16;

/// The widths of the blocks, such that the last ones hold all repetitions.
pub(super) fn widths(length: usize) -> Vec<usize> {
    let all = length.div_ceil(BLOCKS).max(1);
    let mut widths = Vec::new();
    let mut width = 1;
    while width < all {
        widths.push(width);
        width *= WIDER;
    }
    widths.push(all);
    widths
}

/// The medians of the first blocks of this width.
pub(super) fn blocks(values: &[f64], width: usize) -> Vec<f64> {
    let covered = &values[..values.len().min(width * BLOCKS)];
    if width == 1 {
        return covered.to_vec();
    }
    let of_blocks = |values: &[f64]| {
        let mut scratch = Vec::with_capacity(width);
        let middle = |block: &[f64]| {
            scratch.clear();
            scratch.extend_from_slice(block);
            median(&mut scratch).unwrap_or(0.0)
        };
        values.chunks_exact(width).map(middle).collect::<Vec<f64>>()
    };
    if covered.len() < LONG {
        return of_blocks(covered);
    }
    // Of more than 134 million values a single block is longer.
    parallel::map(covered.chunks((LONG / width).max(1) * width).collect(), of_blocks).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_blocks_hold_all_and_the_narrowest_are_single() {
        for length in [0, 1, 100, BLOCKS, BLOCKS + 1, 100_000, 10_000_000] {
            let widths = widths(length);
            assert_eq!(widths[0], 1);
            assert!(widths[widths.len() - 1] * BLOCKS >= length);
            assert!(widths.is_sorted());
        }
    }

    #[test]
    fn a_block_is_its_median() {
        let values: Vec<f64> = (0..300_000).map(|i| f64::from(i) + if i % 7 == 0 { 1e6 } else { 0.0 }).collect();
        let wide = blocks(&values, 1000);
        assert_eq!(wide.len(), 300);
        assert!(wide.iter().zip(0..).all(|(value, i)| (value - (f64::from(i) * 1000.0 + 500.0)).abs() < 100.0));
        assert_eq!(blocks(&values, 1), values[..BLOCKS]);
        assert_eq!(blocks(&values, 100_000).len(), 3);
    }
}
