//! The synchronisation of clocks, as one rank runs it together with the others.
//!
//! The methods stand on [`Peers`] alone: MPI in the traced program, threads in the tests. [`Method`] has their names,
//! [`Exchange`] what a single ping-pong tells, [`synchronise()`] runs one.

mod drifts;
mod exchange;
mod live_map;
mod method;
mod offsets;
mod ping_pong;
mod probes;
mod tree;

pub use exchange::Exchange;
pub use live_map::live_map;
pub use method::{Method, Synchronisation};
pub use probes::{Repetitions, Widths, probe};

use drifts::{drifts_in_turn, drifts_over_tree, top_down, with_direct_offsets};
use mpitrace_format::layout::{ProbeEntry, SyncEntry};
use mpitrace_format::ticks::AffineMap;
use offsets::{offsets_in_turn, offsets_over_tree};
use probes::{probes_in_turn, probes_over_hypercube};

/// What a method needs of the other leaders. Messages between two of them keep their order.
pub trait Peers {
    /// Who this is; 0 has the reference clock.
    fn rank(&self) -> usize;
    /// How many take part.
    fn size(&self) -> usize;
    /// A reading of the local clock. What it shows, [`Peers::shown`] tells when there is time.
    fn now(&self) -> u64;
    /// What the local clock showed at a reading, ticks.
    fn shown(&self, reading: u64) -> u64 {
        reading
    }
    /// Sends words to another.
    fn send(&mut self, to: usize, words: &[u64]);
    /// Receives as many words from another.
    fn receive(&mut self, from: usize, words: &mut [u64]);
}

/// What one rank has of a synchronisation.
#[derive(Debug, Default)]
pub struct Synchronised {
    /// The map from its clock to the reference; `None` where the method finds it only after the run.
    pub map: Option<AffineMap>,
    /// Raw probes of the edges that this rank keeps.
    pub probes: Vec<ProbeEntry>,
}

/// Runs the method. All ranks call it with the same parameters. With `repetitions`, which
/// all give or none, the joint method's probes are repeated until they are about as tight as earlier ones.
pub fn synchronise(peers: &mut impl Peers, how: &Synchronisation, repetitions: Option<&Repetitions>) -> Synchronised {
    let Synchronisation { method, fit_points, exchanges, .. } = *how;
    let map = match method {
        Method::None => None,
        Method::Skampi => Some(offsets_in_turn(peers, exchanges)),
        Method::Netgauge => Some(offsets_over_tree(peers, exchanges)),
        Method::Jk => Some(drifts_in_turn(peers, fit_points, exchanges)),
        Method::Hca => {
            let drift = drifts_over_tree(peers, fit_points, exchanges, false);
            Some(with_direct_offsets(peers, drift, exchanges))
        }
        Method::Hca2 => Some(drifts_over_tree(peers, fit_points, exchanges, true)),
        Method::Hca3 | Method::H2hca => Some(top_down(peers, fit_points, exchanges)),
        Method::Linear => return Synchronised { map: None, probes: probes_in_turn(peers, exchanges) },
        Method::Joint => {
            return Synchronised { map: None, probes: probes_over_hypercube(peers, exchanges, repetitions) };
        }
    };
    Synchronised { map, probes: Vec::new() }
}

/// An entry for what this synchronisation has found.
pub fn entry(index: u32, kind: u32, begin: u64, end: u64, found: &Synchronised) -> SyncEntry {
    let map = found.map.unwrap_or(AffineMap::IDENTITY);
    SyncEntry { index, kind, begin, end, map, has_map: found.map.is_some().into(), ..SyncEntry::default() }
}
