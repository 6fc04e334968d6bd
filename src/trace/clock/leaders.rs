//! The curves of the domains' clocks, out of what their leaders know. A node that died has taken its leader along: the
//! others are then related to each other by what is left.

use std::borrow::Cow;

use mpitrace_format::layout::ProbeEntry;
use mpitrace_synchronise::Method;

use super::{Curve, Leader, joint, linear, nominal_hz};
use crate::reader::Part;

/// The curve of each leader's clock against the first one's. `None`: what is left does not relate all of them.
pub(super) fn curves(method: Method, leaders: &[&Part]) -> Option<Vec<Curve>> {
    let info = leaders.first()?.info();
    let numbers: Vec<u32> = leaders.iter().map(|part| part.info().domain).collect();
    if !numbers.is_sorted_by(|before, after| before < after) {
        return None;
    }
    let probes: Vec<Cow<'_, [ProbeEntry]>> = leaders.iter().map(|part| renumbered(part.probes(), &numbers)).collect();
    let known: Vec<Leader<'_>> = leaders
        .iter()
        .zip(&probes)
        .map(|(part, probes)| Leader { hz: nominal_hz(part.info()), syncs: part.syncs(), probes })
        .collect();
    let lacks_some = numbers.iter().zip(0..).any(|(&number, index)| number != index);
    let by_probes = matches!(method, Method::Joint | Method::Linear)
        || method == Method::Skampi && info.clock_method != method.number();
    if by_probes && lacks_some && !are_related(&known) || !by_probes && numbers[0] != 0 {
        return None;
    }
    Some(match method {
        Method::Joint => joint::curves(&known, info.max_ppm.into(), info.wander_ppb.into()),
        Method::Linear => linear::curves(&known, linear::Line::FirstAndLast),
        // Its own run has left maps; another's probes say the same.
        Method::Skampi if by_probes => linear::curves(&known, linear::Line::First),
        _ => known
            .iter()
            .map(|leader| leader.syncs.first().map_or(Curve::identity(), |sync| Curve::line(sync.map)))
            .collect(),
    })
}

/// Leaders refer to each other by number, and those that are left have other numbers: their places in `numbers`.
fn renumbered<'p>(probes: &'p [ProbeEntry], numbers: &[u32]) -> Cow<'p, [ProbeEntry]> {
    let place = |number: u32| numbers.binary_search(&number).ok().map(|place| place as u32);
    if probes.iter().all(|probe| place(probe.peer) == Some(probe.peer)) {
        return probes.into();
    }
    probes.iter().filter_map(|probe| Some(ProbeEntry { peer: place(probe.peer)?, ..*probe })).collect()
}

/// True if there is a way by probes of the first synchronisation from each leader to the first one.
fn are_related(leaders: &[Leader<'_>]) -> bool {
    let mut reached = vec![false; leaders.len()];
    reached[0] = true;
    loop {
        let before = reached.iter().filter(|reached| **reached).count();
        for (node, leader) in leaders.iter().enumerate() {
            for probe in leader.probes.iter().filter(|probe| probe.sync == 0) {
                let either = reached[node] || reached[probe.peer as usize];
                (reached[node], reached[probe.peer as usize]) = (either, either);
            }
        }
        let after = reached.iter().filter(|reached| **reached).count();
        if after == leaders.len() || after == before {
            return after == leaders.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(peer: u32) -> ProbeEntry {
        ProbeEntry { peer, lower: 7, ..ProbeEntry::default() }
    }

    #[test]
    fn probes_of_a_lost_leader_go_and_the_others_get_its_number() {
        let probes = [probe(0), probe(1), probe(3)];
        let left = renumbered(&probes, &[0, 2, 3]);
        assert_eq!(left.iter().map(|probe| (probe.peer, probe.lower)).collect::<Vec<_>>(), [(0, 7), (2, 7)]);
        assert!(matches!(renumbered(&probes, &[0, 1, 2, 3]), Cow::Borrowed(_)));
    }

    #[test]
    fn leaders_are_related_by_any_way() {
        let related = |probes: &[&[ProbeEntry]]| {
            are_related(&probes.iter().map(|probes| Leader { hz: 1e9, syncs: &[], probes }).collect::<Vec<_>>())
        };
        assert!(related(&[&[], &[probe(2)], &[probe(0)]]));
        assert!(!related(&[&[probe(1)], &[], &[]]));
        assert!(!related(&[&[], &[probe(0)], &[probe(3)], &[]]));
    }
}
