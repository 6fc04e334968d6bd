//! Which ranks of the world are in a group.
//!
//! MPI's only way to ask is `MPI_Group_translate_ranks`, which in Open MPI compares each rank that is asked about with
//! one rank of the other group after the other: all P ranks of a group in a world of P take P^2/2 comparisons, 10 s at
//! 10^5 ranks. Most groups hold their ranks in the order of the world. So the next ranks of a group are looked for in
//! one part of the world after the other: about 50 P comparisons. Any rank that is not found in this way is looked for
//! in the whole world, so the answer is exact for every order.

use std::ffi::c_int;
use std::ops::Range;

use crate::base::hash::mix;
use crate::mpi::{self, world};
use crate::operation::registry;

/// Ranks of a part of the world, and ranks that are looked for there: all that can be in it.
const PART: u32 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    /// World rank of the first one; u64::MAX: of another world.
    pub leader: u64,
    /// How many are of this world.
    pub here: u32,
    /// A hash of their world ranks, in their order; all ranks of other worlds count as the same.
    pub hash: u64,
}

impl Members {
    /// Asks MPI about each of a group's ranks.
    pub fn find(group: &mpi::Group, size: u32) -> Option<Members> {
        let world_size = registry::world()?.size;
        let ranks = world::with_group(|world| {
            world_ranks(size, world, world_size, |part| world.range(part), |ranks, other| group.translate(ranks, other))
        })?;
        let words: Vec<u64> = ranks.into_iter().map(world_rank).collect();
        let here = words.iter().filter(|&&word| word != u64::MAX).count() as u32;
        Some(Members { leader: words.first().copied().unwrap_or(u64::MAX), here, hash: mix(&words)[0] })
    }
}

/// World rank of a group's first rank; u64::MAX: of another world.
pub fn leader(group: &mpi::Group) -> Option<u64> {
    let found = world::with_group(|world| group.translate(0..1, world))?;
    found.first().copied().map(world_rank)
}

fn world_rank(translated: c_int) -> u64 {
    u64::try_from(translated).unwrap_or(u64::MAX)
}

/// The world ranks of all `size` ranks of a group, negative for those of other worlds. `part` gives a part of the
/// world, `translate` the ranks in it of some of the group's ranks.
fn world_ranks<G>(
    size: u32,
    world: &G,
    world_size: u32,
    part: impl Fn(Range<u32>) -> Option<G>,
    translate: impl Fn(Range<u32>, &G) -> Option<Vec<c_int>>,
) -> Option<Vec<c_int>> {
    let mut found = vec![-1; size as usize];
    // The rank behind the last one that was found, and ranks before it that were not where they should be.
    let (mut next, mut elsewhere) = (0, Vec::new());
    for start in (0..world_size).step_by(PART as usize) {
        let asked = next..size.min(next + PART);
        if asked.is_empty() {
            break;
        }
        let of_world = part(start..world_size.min(start + PART))?;
        let translated = translate(asked, &of_world)?;
        let behind = translated.iter().rposition(|&at| at >= 0).map_or(0, |last| last + 1);
        for (rank, &at) in (next..).zip(&translated[..behind]) {
            match at {
                0.. => found[rank as usize] = start as c_int + at,
                _ => elsewhere.push(rank),
            }
        }
        next += behind as u32;
    }
    let single = elsewhere.into_iter().map(|rank| rank..rank + 1);
    for ranks in single.chain(std::iter::once(next..size)).filter(|ranks| !ranks.is_empty()) {
        let translated = translate(ranks.clone(), world)?;
        found[ranks.start as usize..ranks.end as usize].copy_from_slice(&translated);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static COMPARED: Cell<u64> = const { Cell::new(0) };
    }

    /// A group of processes that are numbers, with Open MPI's way to translate.
    struct Numbers(Vec<u64>);

    impl Numbers {
        fn translate(&self, ranks: Range<u32>, other: &Numbers) -> Option<Vec<c_int>> {
            let position = |rank: u32| other.0.iter().position(|&process| process == self.0[rank as usize]);
            let compared = |place: Option<usize>| place.map_or(other.0.len(), |place| place + 1) as u64;
            let places = ranks.map(|rank| {
                let place = position(rank);
                COMPARED.set(COMPARED.get() + compared(place));
                place.map_or(-32766, |place| place as c_int)
            });
            Some(places.collect())
        }
        fn range(&self, ranks: Range<u32>) -> Option<Numbers> {
            assert!(!ranks.is_empty());
            COMPARED.set(COMPARED.get() + ranks.len() as u64);
            Some(Numbers(self.0[ranks.start as usize..ranks.end as usize].to_vec()))
        }
    }

    /// Comparisons and ranks handed over for a group of a world of so many ranks; the answer is checked.
    fn cost(processes: Vec<u64>, world_size: u32) -> u64 {
        COMPARED.set(0);
        let world = Numbers((0..u64::from(world_size)).collect());
        let expected: Vec<_> = processes
            .iter()
            .map(|&process| if process < u64::from(world_size) { process as c_int } else { -1 })
            .collect();
        let size = processes.len() as u32;
        let group = Numbers(processes);
        let translate = |ranks: Range<u32>, other: &Numbers| group.translate(ranks, other);
        let found = world_ranks(size, &world, world_size, |part| world.range(part), translate).unwrap();
        let found: Vec<_> = found.into_iter().map(|rank| rank.max(-1)).collect();
        assert_eq!(found, expected);
        COMPARED.get()
    }

    #[test]
    fn every_rank_is_found_whatever_the_order() {
        let mut random = 7u64;
        let mut next = |bound: usize| {
            random = mix(&[random])[0];
            (random % bound.max(1) as u64) as usize
        };
        for world_size in [1, 2, 3, 64, 65, 1000] {
            for round in 0..40 {
                // Some are of another world.
                let mut processes: Vec<u64> = (0..world_size + round / 10 * 5).map(u64::from).collect();
                match round % 10 {
                    0 => {}
                    1 => processes.reverse(),
                    2 => processes.rotate_left(next(world_size as usize)),
                    kind => {
                        for _ in 0..if kind < 6 { 3 } else { processes.len() } {
                            let (a, b) = (next(processes.len()), next(processes.len()));
                            processes.swap(a, b);
                        }
                        processes.truncate(1 + next(world_size as usize));
                    }
                }
                cost(processes, world_size);
            }
        }
    }

    #[test]
    fn a_group_in_the_order_of_the_world_costs_little_more_than_its_size() {
        for world_size in [1u32 << 10, 1 << 14, 1 << 17] {
            let per_rank = u64::from(world_size) * u64::from(world_size.ilog2());
            let all: Vec<u64> = (0..u64::from(world_size)).collect();
            let even: Vec<u64> = all.iter().copied().step_by(2).collect();
            let upper_half = all[all.len() / 2..].to_vec();
            for processes in [all, even, upper_half] {
                let cost = cost(processes, world_size);
                assert!(cost < 6 * per_rank, "{cost} comparisons in a world of {world_size}");
            }
        }
    }
}
