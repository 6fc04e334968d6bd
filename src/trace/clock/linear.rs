//! One straight line per clock out of probes, without a statement of its error: Score-P's way between Init and
//! Finalize, and SKaMPI's, which knows the offset at Init alone.

use mpitrace_format::layout::ProbeEntry;
use mpitrace_format::ticks::AffineMap;

use super::Leader;
use super::curve::Curve;

/// The points of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The offset at the first synchronisation, with the rate of the reference.
    First,
    /// The offsets at the first and at the last.
    FirstAndLast,
}

/// The curve of each leader's clock against the first one's: by its probes with that one, and where there are none, by
/// those with the leader whose number lacks the highest bit, whose line is known already.
pub(super) fn curves(leaders: &[Leader<'_>], line: Line) -> Vec<Curve> {
    let mut maps: Vec<AffineMap> = Vec::with_capacity(leaders.len());
    for (node, leader) in leaders.iter().enumerate() {
        let direct = |peer: usize| leader.probes.iter().filter(move |probe| probe.peer as usize == peer);
        let map = match node {
            0 => AffineMap::IDENTITY,
            _ if direct(0).next().is_some() => edge(direct(0), line),
            _ => {
                let parent = node ^ 1 << node.ilog2();
                maps[parent].after(&edge(direct(parent), line))
            }
        };
        maps.push(map);
    }
    maps.into_iter()
        .enumerate()
        .map(|(node, map)| if node == 0 { Curve::identity() } else { Curve::line(map) })
        .collect()
}

/// From the clock that keeps these probes to the one that they are with.
fn edge<'p>(probes: impl Iterator<Item = &'p ProbeEntry>, line: Line) -> AffineMap {
    // peer - own, in the middle of its bounds.
    let points: Vec<(u64, i64)> = probes
        .map(|probe| (probe.lower_at, probe.lower.wrapping_add(probe.upper.wrapping_sub(probe.lower) / 2)))
        .collect();
    let (Some(&first), Some(&last)) = (points.first(), points.last()) else { return AffineMap::IDENTITY };
    let length = last.0.wrapping_sub(first.0) as i64 as f64;
    let skew = match line {
        Line::FirstAndLast if length > 0.0 => last.1.wrapping_sub(first.1) as f64 / length,
        _ => 0.0,
    };
    AffineMap { skew, ..AffineMap::with_offset(first.0, first.1.wrapping_neg()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that is `ahead` behind its peer at tick 1000 and loses 1 tick in 1000, probed there and at 2 000 000.
    fn probes(peer: u32, ahead: i64) -> [ProbeEntry; 2] {
        [(1_000, ahead), (2_001_000, ahead + 2_000)].map(|(at, ahead)| ProbeEntry {
            peer,
            lower: ahead - 50,
            upper: ahead + 50,
            lower_at: at,
            upper_at: at,
            ..ProbeEntry::default()
        })
    }

    #[test]
    fn a_clock_that_was_not_probed_with_the_first_is_found_through_another() {
        let probes = [&[][..], &probes(0, 500), &probes(0, -300), &probes(1, 70)];
        let leaders = probes.map(|probes| Leader { hz: 1e9, syncs: &[], probes });
        let at = |line: Line, node: usize, local: u64| curves(&leaders, line)[node].since(0, local);
        assert_eq!(at(Line::First, 1, 2_001_000), 2_001_500.0);
        assert_eq!(at(Line::FirstAndLast, 1, 2_001_000), 2_003_500.0);
        assert_eq!(at(Line::First, 3, 1_000), 1_000.0 + 70.0 + 500.0);
        // Its own 2000, and as many of the clock in between, which runs from 1070 to 2 003 070.
        assert!((at(Line::FirstAndLast, 3, 2_001_000) - 2_005_572.0).abs() < 1.5);
    }

    #[test]
    fn no_probes_leave_a_clock_as_it_is() {
        let leaders = [Leader { hz: 1e9, syncs: &[], probes: &[] }; 2];
        assert_eq!(curves(&leaders, Line::FirstAndLast)[1].since(0, 77), 77.0);
    }
}
