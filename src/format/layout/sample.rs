//! Which repetitions a rank keeps where it does not keep all: the same ones on all ranks, without a message.

/// The level of a call with this number (the lower half of its position, or of the repetition of a region) on a
/// communicator with this key. Of all calls 1 in 2^k has a level of k or more: those are kept where k is the rank's
/// level. A hash, so that no rhythm of the program is met.
///
/// ```
/// use mpitrace_format::layout::level;
///
/// // About one call in eight has a level of 3 or more.
/// let kept = (0..8000).filter(|&call| level([7, 9], call) >= 3).count();
/// assert!((850..1150).contains(&kept), "{kept}");
/// ```
#[inline(always)]
pub fn level(key: [u64; 2], number: u32) -> u32 {
    // The finalizer of splitmix64.
    let mut state = key[0] ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (state ^ (state >> 31)).trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_in_two_to_the_k_has_a_level_of_k_in_any_rhythm() {
        for (key, rhythm) in [([0, 0], 1), ([7, 9], 1), ([7, 9], 64), ([u64::MAX, 1], 3)] {
            for k in [1, 4, 8] {
                let calls = 1u32 << 16;
                let kept = (0..calls).filter(|call| level(key, call.wrapping_mul(rhythm)) >= k).count() as f64;
                let expected = f64::from(calls >> k);
                assert!((kept - expected).abs() < 5.0 * expected.sqrt(), "{kept} for {expected}");
            }
        }
    }
}
