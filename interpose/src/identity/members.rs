//! Which ranks of the world are in a group.
//!
//! MPI's only way to ask is `MPI_Group_translate_ranks`, which in Open MPI compares each rank that is asked about with
//! one rank of the other group after the other: all P ranks of a group in a world of P take P^2/2 comparisons, 10 s at
//! 10^5 ranks. Most groups hold their ranks in the order of the world. Then the middle rank of the group splits the
//! world in two parts, in which the ranks before it and those behind it are looked for: about P log P comparisons. Any
//! rank that is not found in its part is looked for in the whole world, so the answer is exact for every order.

use std::ffi::c_int;
use std::ops::Range;

use crate::identity::registry;
use crate::mpi::{self, world};
use crate::record::communicator::mix;

/// So many comparisons are left to the library at once: as long as it takes to make a group of a part of the world.
const AT_ONCE: u64 = 1 << 12;

/// All ranks of a group.
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
        let ranks = world::with_group(|world| world_ranks(group, size, world, world_size))?;
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

/// The functions of groups that the search needs.
trait Ranks: Sized {
    /// The ranks in `other` of some of this group's ranks, negative for those that are not in it.
    fn translate(&self, ranks: Range<u32>, other: &Self) -> Option<Vec<c_int>>;
    /// A part of this group.
    fn range(&self, ranks: Range<u32>) -> Option<Self>;
}

impl Ranks for mpi::Group {
    fn translate(&self, ranks: Range<u32>, other: &mpi::Group) -> Option<Vec<c_int>> {
        mpi::Group::translate(self, ranks, other)
    }
    fn range(&self, ranks: Range<u32>) -> Option<mpi::Group> {
        mpi::Group::range(self, ranks)
    }
}

/// The world ranks of all `size` ranks of a group, negative for those of other worlds.
fn world_ranks<G: Ranks>(group: &G, size: u32, world: &G, world_size: u32) -> Option<Vec<c_int>> {
    let mut search = Search { group, world, world_size, found: vec![-1; size as usize] };
    search.find_within(0..size, world, 0..world_size)?;
    Some(search.found)
}

struct Search<'g, G> {
    group: &'g G,
    world: &'g G,
    world_size: u32,
    /// World ranks; negative: of another world, or not found yet.
    found: Vec<c_int>,
}

impl<G: Ranks> Search<'_, G> {
    /// Looks for these ranks of the group in `part`, which holds the ranks `place` of the world, and for those that are
    /// not there in the whole world.
    fn find_within(&mut self, ranks: Range<u32>, part: &G, place: Range<u32>) -> Option<()> {
        let (count, width) = (ranks.end - ranks.start, place.end - place.start);
        if count == 0 {
            return Some(());
        }
        let at_once = u64::from(count) * u64::from(width) <= AT_ONCE;
        let middle = ranks.start + count / 2;
        let asked = if at_once { ranks.clone() } else { middle..middle + 1 };
        let translated = self.group.translate(asked.clone(), part)?;
        let mut all = true;
        for (rank, &at) in asked.zip(&translated) {
            if at >= 0 {
                self.found[rank as usize] = place.start as c_int + at;
            } else if at_once && width < self.world_size {
                self.find_anywhere(rank..rank + 1)?;
            } else {
                all = false;
            }
        }
        match translated.first() {
            _ if at_once => Some(()),
            Some(&at) if all => {
                let at = at as u32;
                self.find_beside(ranks.start..middle, part, 0..at, place.start)?;
                self.find_beside(middle + 1..ranks.end, part, at + 1..width, place.start)
            }
            // Not in the order of the world, or of another one.
            _ => self.find_anywhere(ranks),
        }
    }

    /// Looks for these ranks in a part of a part that begins at this rank of the world.
    fn find_beside(&mut self, ranks: Range<u32>, part: &G, of_part: Range<u32>, start: u32) -> Option<()> {
        if ranks.is_empty() {
            return Some(());
        }
        if ranks.len() > of_part.len() {
            return self.find_anywhere(ranks);
        }
        let narrower = part.range(of_part.clone())?;
        self.find_within(ranks, &narrower, start + of_part.start..start + of_part.end)
    }

    fn find_anywhere(&mut self, ranks: Range<u32>) -> Option<()> {
        let translated = self.group.translate(ranks.clone(), self.world)?;
        self.found[ranks.start as usize..ranks.end as usize].copy_from_slice(&translated);
        Some(())
    }
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

    impl Ranks for Numbers {
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
        let found = world_ranks(&Numbers(processes), size, &world, world_size).unwrap();
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
