//! Ranks that wait for each other and for no other rank, in a graph of which rank waits for which.

use std::collections::{BTreeMap, BTreeSet};

type Ways = BTreeMap<u32, Vec<u32>>;

/// Ranks on the ways from one, which go on from such others only.
pub fn reached_through(rank: u32, is_passed: impl Fn(u32) -> bool, ways: impl Fn(u32) -> Vec<u32>) -> BTreeSet<u32> {
    let mut reached = BTreeSet::new();
    let mut next = ways(rank);
    while let Some(other) = next.pop() {
        if reached.insert(other) && is_passed(other) {
            next.extend(ways(other));
        }
    }
    reached
}

/// The knot in which the first of these ranks are held that are held at all: from each of its ranks all others of it
/// can be reached, and no others. `ways`: for which of the ranks that are held a rank waits; none where it may go on.
/// `waits_for`: all for which it waits, those included.
pub fn knot(
    mut held: BTreeSet<u32>,
    waits_for: impl Fn(u32) -> Vec<u32>,
    ways: impl Fn(u32, &BTreeSet<u32>) -> Vec<u32>,
) -> Option<Vec<u32>> {
    let mut waiters = Ways::new();
    for &rank in &held {
        waits_for(rank).into_iter().for_each(|other| waiters.entry(other).or_default().push(rank));
    }
    let mut next: Vec<u32> = held.iter().copied().collect();
    while let Some(rank) = next.pop() {
        if held.contains(&rank) && ways(rank, &held).is_empty() {
            held.remove(&rank);
            next.extend(waiters.get(&rank).into_iter().flatten());
        }
    }
    let onward: Ways = held.iter().map(|&rank| (rank, ways(rank, &held))).collect();
    let mut back = Ways::new();
    for (&rank, others) in &onward {
        others.iter().for_each(|&other| back.entry(other).or_default().push(rank));
    }
    let through =
        |from: u32, ways: &Ways| reached_through(from, |_| true, |rank| ways.get(&rank).cloned().unwrap_or_default());
    let mut from = held.first().copied()?;
    loop {
        let (reached, reaching) = (through(from, &onward), through(from, &back));
        match reached.difference(&reaching).next() {
            // The ways from there lead to fewer ranks.
            Some(&next) => from = next,
            None => return Some(reached.into_iter().collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each rank waits for all of those that it lists.
    fn knot_of(waits: &[&[u32]]) -> Option<Vec<u32>> {
        let all = |rank: u32| waits[rank as usize].to_vec();
        knot((0..waits.len() as u32).collect(), all, |rank, held| {
            if all(rank).iter().all(|other| held.contains(other)) { all(rank) } else { Vec::new() }
        })
    }

    #[test]
    fn a_knot_is_what_no_way_leads_out_of() {
        assert_eq!(knot_of(&[&[1], &[0]]), Some(vec![0, 1]));
        assert_eq!(knot_of(&[&[0], &[0]]), Some(vec![0]));
        assert_eq!(knot_of(&[&[1], &[2], &[1], &[0]]), Some(vec![1, 2]), "the others wait for it");
        assert_eq!(knot_of(&[&[1, 2], &[0], &[0]]), Some(vec![0, 1, 2]));
        // Rank 2 goes on, and so may rank 0, and then rank 1.
        assert_eq!(knot_of(&[&[1, 2], &[0], &[]]), None);
        assert_eq!(knot_of(&[&[1], &[2], &[]]), None);
    }

    #[test]
    fn many_ranks_take_no_longer_than_their_ways() {
        let ranks = 20_000;
        let next = |rank: u32| vec![(rank + 1) % ranks];
        let found = knot((0..ranks).collect(), next, |rank, _| next(rank)).unwrap();
        assert_eq!(found.len(), ranks as usize);
        // A chain whose end moves.
        let held =
            |rank: u32, held: &BTreeSet<u32>| next(rank).into_iter().filter(|other| held.contains(other)).collect();
        assert_eq!(knot((0..ranks - 1).collect(), next, held), None);
    }
}
