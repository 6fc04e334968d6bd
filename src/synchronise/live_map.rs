//! The map that holds while the program runs.

use mpitrace_format::ticks::AffineMap;

use crate::tree::{receive_map, send_map};
use crate::{Peers, Synchronised};

/// A map for the time until the run is over, also where the method finds its own only then: the middle of the bounds of
/// the edge to a lower rank, whose map comes from there, and the rate since the synchronisation before. All ranks call
/// it.
pub fn live_map(peers: &mut impl Peers, found: &Synchronised, before: Option<&AffineMap>) -> AffineMap {
    if let Some(map) = found.map {
        return map;
    }
    let (rank, size) = (peers.rank(), peers.size());
    // Without the highest bit: that edge is the rank's own.
    let parent = if rank == 0 { 0 } else { rank ^ 1 << rank.ilog2() };
    let direct = found.probes.iter().any(|probe| probe.peer as usize != 0) || parent == 0;
    let mut own = AffineMap::IDENTITY;
    let edge = found.probes.iter().find(|probe| probe.peer as usize == if direct { parent } else { 0 });
    if let Some(probe) = edge.filter(|_| rank > 0) {
        let at = probe.lower_at.wrapping_add((probe.upper_at.wrapping_sub(probe.lower_at) as i64 / 2) as u64);
        let ahead = probe.lower.wrapping_add(probe.upper.wrapping_sub(probe.lower) / 2);
        own = AffineMap::with_offset(at, ahead.wrapping_neg());
    }
    let mut bit = 1;
    while bit < size {
        if rank < bit && rank + bit < size {
            send_map(peers, rank + bit, &own);
        } else if rank >= bit && rank < 2 * bit {
            let from_parent = receive_map(peers, rank - bit);
            if direct {
                own = from_parent.after(&own);
            }
        }
        bit <<= 1;
    }
    if let Some(before) = before {
        let passed = own.local0.wrapping_sub(before.local0) as i64 as f64;
        let reference = own.reference0.wrapping_sub(before.reference0) as i64 as f64;
        if passed > 0.0 {
            own.skew = reference / passed - 1.0;
        }
    }
    own
}
