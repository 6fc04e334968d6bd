//! Score-P's way: offsets at Init and at Finalize, and a straight line between them. States no error.

use super::Leader;
use super::curve::{Curve, Knot, Limits};
use crate::ticks::AffineMap;

/// The curve of each leader's clock against the first one's.
pub fn curves(leaders: &[Leader<'_>]) -> Vec<Curve> {
    leaders.iter().enumerate().map(|(node, leader)| if node == 0 { Curve::identity() } else { curve(leader) }).collect()
}

fn curve(leader: &Leader<'_>) -> Curve {
    let direct = leader.probes.iter().filter(|probe| probe.peer == 0);
    // other - own, with the other being the reference.
    let points: Vec<(u64, i64)> = direct
        .map(|probe| (probe.lower_at, probe.lower.wrapping_add(probe.upper.wrapping_sub(probe.lower) / 2)))
        .collect();
    let (Some(&first), Some(&last)) = (points.first(), points.last()) else { return Curve::identity() };
    let length = last.0.wrapping_sub(first.0) as i64 as f64;
    let rate = if points.len() > 1 && length > 0.0 { last.1.wrapping_sub(first.1) as f64 / length } else { 0.0 };
    let knot = |(local, ahead): (u64, i64)| Knot {
        local,
        offset: ahead.wrapping_sub(first.1) as f64,
        rate,
        ..Knot::default()
    };
    Curve::new(AffineMap::IDENTITY, first.1, vec![knot(first)], Limits::default(), false)
}
