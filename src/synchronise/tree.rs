//! The tree that the hierarchical methods go over, and maps on their way through it.

use mpitrace_format::ticks::AffineMap;

use crate::Peers;

/// In the round of this distance of a binary tree: a rank's partner, and whether it is the client. Ranks
/// beyond the largest power of two have a round of their own (`distance` that power), as in Hunold & Carpen-Amarie
/// 2016, algorithm 3.
pub(crate) fn partner(rank: usize, size: usize, distance: usize) -> Option<(usize, bool)> {
    let power = largest_power(size);
    if distance == power {
        return if rank >= power {
            Some((rank - power, true))
        } else {
            Some((rank + power, false)).filter(|(client, _)| *client < size)
        };
    }
    if rank >= power {
        return None;
    }
    match rank % (2 * distance) {
        0 => Some((rank + distance, false)),
        place if place == distance => Some((rank - distance, true)),
        _ => None,
    }
}

pub(crate) fn largest_power(size: usize) -> usize {
    1 << size.ilog2()
}

/// The distances of the rounds from the leaves up, the remaining ranks last.
pub(crate) fn rounds(size: usize) -> impl DoubleEndedIterator<Item = usize> {
    (0..=size.ilog2()).map(|round| 1 << round)
}

/// From maps to the server of each round to maps to the root: what merging models bottom-up at the servers computes as
/// well.
pub(crate) fn compose_down(peers: &mut impl Peers, mut map: AffineMap) -> AffineMap {
    let (rank, size) = (peers.rank(), peers.size());
    // The remaining ranks have servers of the tree, which must know their own maps first.
    let order = rounds(size).rev().skip(1).chain([largest_power(size)]);
    for distance in order {
        match partner(rank, size, distance) {
            Some((client, false)) => peers.send(client, &[map.local0, map.reference0, map.skew.to_bits()]),
            Some((server, true)) => {
                let mut words = [0; 3];
                peers.receive(server, &mut words);
                let [local0, reference0, skew] = words;
                map = AffineMap { local0, reference0, skew: f64::from_bits(skew) }.after(&map);
            }
            None => {}
        }
    }
    map
}
