//! The arithmetic by which ranks find out afterwards whether the amounts fit that they passed to the v- and w-variants
//! of collectives, and in which call they do not.
//!
//! A rank adds to two sums of a communicator what it sends in each call, with weights, and takes away what it receives.
//! Amounts that fit cancel out in the sums over all ranks. The sums differ by factors for each call: where one call
//! does not fit, only its factors have the ratio of the two sums.
//!
//! ```
//! use mpitrace_format::amounts::{among, can_be, factors, receiver, sender};
//!
//! // In the call at position 7 rank 0 sends 8 bytes to rank 1, which receives 12.
//! let sent = sender(0).wrapping_mul(receiver(1)).wrapping_mul(8);
//! let received = receiver(1).wrapping_mul(sender(0)).wrapping_mul(12);
//! let sums = factors(7).map(|factor| factor.wrapping_mul(sent.wrapping_sub(received)));
//! assert_ne!(sums, [0, 0]);
//! assert!(can_be(7, sums) && !can_be(8, sums));
//! // A value that all three ranks pass cancels out.
//! assert_eq!((0..3).fold(0, |sum: u32, rank| sum.wrapping_add(among(rank, 3).wrapping_mul(99))), 0);
//! ```

/// The weight of a rank as a sender.
#[inline(always)]
pub fn sender(rank: u32) -> u32 {
    mixed(rank.wrapping_mul(2))
}

/// The weight of a rank as a receiver.
#[inline(always)]
pub fn receiver(rank: u32) -> u32 {
    mixed(rank.wrapping_mul(2).wrapping_add(1))
}

/// The weights of a rank among so many by which values cancel out that are the same on all ranks.
#[inline(always)]
pub fn among(rank: u32, size: u32) -> u32 {
    let next = if rank + 1 < size { rank + 1 } else { 0 };
    sender(rank).wrapping_sub(sender(next))
}

/// The factors of the call with this position, odd, so that none makes 0 of what does not fit.
#[inline(always)]
pub fn factors(position: u64) -> [u32; 2] {
    let position = (position as u32) ^ (position >> 32) as u32;
    [mixed(position ^ 0x5bd1_e995) | 1, mixed(position ^ 0x1b87_3593) | 1]
}

/// True if the call with this position can be the only one that has made these sums over all ranks.
pub fn can_be(position: u64, sums: [u32; 2]) -> bool {
    let [one, other] = factors(position);
    sums[0].wrapping_mul(other) == sums[1].wrapping_mul(one)
}

/// The end of MurmurHash3, and an odd word first: 0 is no fixed point.
#[inline(always)]
fn mixed(word: u32) -> u32 {
    let word = word ^ 0x9e37_79b9;
    let word = (word ^ word >> 16).wrapping_mul(0x85eb_ca6b);
    let word = (word ^ word >> 13).wrapping_mul(0xc2b2_ae35);
    word ^ word >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[from][to]`: the bytes that a rank sends to each.
    type Amounts = [[u32; 3]; 3];

    /// The sums over all ranks of calls with these positions, in which ranks send and receive these amounts.
    fn sums(calls: &[(u64, Amounts, Amounts)]) -> [u32; 2] {
        let mut sums = [0u32; 2];
        for (position, sent, received) in calls {
            for rank in 0..3 {
                let out =
                    (0..3).fold(0u32, |sum, to| sum.wrapping_add(receiver(to).wrapping_mul(sent[rank][to as usize])));
                let into = |from: u32| sender(from).wrapping_mul(received[from as usize][rank]);
                let into = (0..3).fold(0u32, |sum, from| sum.wrapping_add(into(from)));
                let rank = rank as u32;
                let more = sender(rank).wrapping_mul(out).wrapping_sub(receiver(rank).wrapping_mul(into));
                for (sum, factor) in sums.iter_mut().zip(factors(*position)) {
                    *sum = sum.wrapping_add(factor.wrapping_mul(more));
                }
            }
        }
        sums
    }

    #[test]
    fn each_rank_has_a_weight_of_its_own_as_sender_and_as_receiver() {
        let weights: std::collections::HashSet<u32> =
            (0..1000).flat_map(|rank| [sender(rank), receiver(rank)]).collect();
        assert_eq!(weights.len(), 2000);
    }

    const FIT: Amounts = [[8, 16, 24], [0, 4, 400], [1 << 30, u32::MAX, 12]];

    #[test]
    fn amounts_that_fit_cancel_out_and_others_do_not() {
        assert_eq!(sums(&[(0, FIT, FIT), (7, FIT, FIT), (1 << 40, FIT, FIT)]), [0, 0]);
        for (from, to) in (0..3).flat_map(|from| (0..3).map(move |to| (from, to))) {
            for more in [1, 4, 8, 1 << 20] {
                let mut other = FIT;
                other[from][to] = other[from][to].wrapping_add(more);
                let found = sums(&[(3, FIT, FIT), (1000, FIT, other), (5, FIT, FIT)]);
                assert_ne!(found, [0, 0]);
                let of_one: Vec<u64> = (0..100_000).filter(|&position| can_be(position, found)).collect();
                assert!(of_one.contains(&1000) && (more > 8 || of_one.len() == 1), "{more}: {of_one:?}");
                let several = sums(&[(3, FIT, other), (1000, FIT, other)]);
                assert!((0..5000).all(|position| more > 8 || !can_be(position, several)));
            }
        }
    }

    #[test]
    fn what_is_the_same_on_all_ranks_cancels_out() {
        for size in 1..9u32 {
            let sum = |of: &dyn Fn(u32) -> u32| {
                (0..size).fold(0u32, |sum, rank| sum.wrapping_add(among(rank, size).wrapping_mul(of(rank))))
            };
            assert_eq!(sum(&|_| 77), 0);
            assert!(size == 1 || sum(&|rank| 77 + rank / (size - 1)) != 0, "{size}");
        }
    }
}
