//! The synchronisation of clocks, as one rank runs it together with the others.
//!
//! What comes in are readings of the local clock and messages of the others, by [`Peers`] alone: MPI in the traced
//! program, threads in the tests. What goes out is a map from the local clock to the reference clock, or probes of
//! pairs of clocks for the analysis. [`Method`] has the methods' names, [`Exchange`] what a single ping-pong tells,
//! [`synchronise()`] runs one.

mod drifts;
mod exchange;
mod method;
mod offsets;
mod ping_pong;
mod probes;
#[cfg(test)]
mod simulated_tests;
mod tree;

pub use exchange::Exchange;
pub use method::{Method, Synchronisation};
pub use probes::{Repetitions, Widths, probe};

use drifts::{drifts_in_turn, drifts_over_tree, top_down, with_direct_offsets};
use mpitrace_format::layout::{ProbeEntry, SyncEntry};
use mpitrace_format::ticks::AffineMap;
use offsets::{offsets_in_turn, offsets_over_tree};
use probes::{probes_in_turn, probes_over_hypercube};

/// The services that a method needs of the other leaders. Messages between two of them keep their order.
pub trait Peers {
    /// Who this is; 0 has the reference clock.
    fn rank(&self) -> usize;
    /// How many take part.
    fn size(&self) -> usize;
    /// A reading of the local clock. What it shows, [`Peers::shown`] tells when there is time.
    fn now(&self) -> u64;
    /// The value of the local clock at a reading, ticks.
    fn shown(&self, reading: u64) -> u64 {
        reading
    }
    /// Sends words to another.
    fn send(&mut self, to: usize, words: &[u64]);
    /// Receives as many words from another.
    fn receive(&mut self, from: usize, words: &mut [u64]);
    /// True if more than this share (0 to 1) of the time for the synchronisation is over. Asked by the side that begins
    /// an exchange: it says in the message of an exchange that no other follows. So a method that is late ends on all
    /// ranks, each with at least one exchange with each rank that it measures.
    fn is_late(&mut self, _share: f64) -> bool {
        false
    }
}

/// The result of a synchronisation on one rank.
#[derive(Debug, Default)]
pub struct Synchronised {
    /// Its entry in the trace, but for index and kind; without a map where the method finds it only after the run.
    pub entry: SyncEntry,
    /// Raw probes of the edges that this rank keeps.
    pub probes: Vec<ProbeEntry>,
}

/// Runs the method. All ranks call it with the same parameters. With `repetitions`, which
/// all give or none, the joint method's probes are repeated until they are about as tight as earlier ones.
pub fn synchronise(peers: &mut impl Peers, how: &Synchronisation, repetitions: Option<&Repetitions>) -> Synchronised {
    let Synchronisation { method, fit_points, exchanges, .. } = *how;
    let begin = peers.shown(peers.now());
    let mut probes = Vec::new();
    let map = match method {
        Method::None => None,
        Method::Skampi => Some(offsets_in_turn(peers, exchanges, 0.0..1.0)),
        Method::Netgauge => Some(offsets_over_tree(peers, exchanges)),
        Method::Jk => Some(drifts_in_turn(peers, fit_points, exchanges)),
        Method::Hca => {
            let drift = drifts_over_tree(peers, fit_points, exchanges, false);
            Some(with_direct_offsets(peers, drift, exchanges))
        }
        Method::Hca2 => Some(drifts_over_tree(peers, fit_points, exchanges, true)),
        Method::Hca3 | Method::H2hca => Some(top_down(peers, fit_points, exchanges)),
        Method::Linear => {
            probes = probes_in_turn(peers, exchanges);
            None
        }
        Method::Joint => {
            probes = probes_over_hypercube(peers, exchanges, repetitions);
            None
        }
    };
    let (has_map, map) = (map.is_some().into(), map.unwrap_or(AffineMap::IDENTITY));
    let end = peers.shown(peers.now());
    Synchronised { entry: SyncEntry { begin, end, map, has_map, ..SyncEntry::default() }, probes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A rank, whose time is over when it has asked so many times. One clock for all counts the readings.
    struct Rank {
        rank: usize,
        size: usize,
        asks_left: u32,
        sent: usize,
        to: HashMap<usize, Sender<Vec<u64>>>,
        from: HashMap<usize, Receiver<Vec<u64>>>,
    }

    impl Peers for Rank {
        fn rank(&self) -> usize {
            self.rank
        }

        fn size(&self) -> usize {
            self.size
        }

        fn now(&self) -> u64 {
            static CLOCK: AtomicU64 = AtomicU64::new(0);
            CLOCK.fetch_add(1, Ordering::SeqCst)
        }

        fn send(&mut self, to: usize, words: &[u64]) {
            self.sent += 1;
            self.to[&to].send(words.to_vec()).unwrap();
        }

        fn receive(&mut self, from: usize, words: &mut [u64]) {
            let sent = self.from[&from].recv().expect("the other sends as many messages as are received");
            words.copy_from_slice(&sent);
        }

        fn is_late(&mut self, _: f64) -> bool {
            self.asks_left = self.asks_left.saturating_sub(1);
            self.asks_left == 0
        }
    }

    /// Runs a method on threads, the time of rank r being over when it has asked `asks(r)` times: the most messages
    /// that any rank has sent, and what each has found.
    fn run(method: Method, size: usize, asks: impl Fn(usize) -> u32) -> (usize, Vec<Synchronised>) {
        let mut ranks: Vec<Rank> = (0..size)
            .map(|rank| {
                let (to, from) = (HashMap::new(), HashMap::new());
                Rank { rank, size, asks_left: asks(rank), sent: 0, to, from }
            })
            .collect();
        for from in 0..size {
            for to in 0..size {
                let (sender, receiver) = channel();
                ranks[from].to.insert(to, sender);
                ranks[to].from.insert(from, receiver);
            }
        }
        let how = Synchronisation { fit_points: 7, ..Synchronisation::new(method) };
        let done: Vec<(Rank, Synchronised)> = std::thread::scope(|scope| {
            let threads: Vec<_> = ranks
                .into_iter()
                .map(|mut rank| {
                    scope.spawn(move || {
                        let found = synchronise(&mut rank, &how, None);
                        (rank, found)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let unreceived = done.iter().flat_map(|(rank, _)| rank.from.values()).filter_map(|from| from.try_recv().ok());
        assert_eq!(unreceived.count(), 0, "{} of {size}", method.name());
        (done.iter().map(|(rank, _)| rank.sent).max().unwrap(), done.into_iter().map(|(_, found)| found).collect())
    }

    /// Ranks that are late at different times: the others follow, and every message that was sent is received.
    #[test]
    fn every_method_ends_when_its_time_is_over() {
        for method in Method::all() {
            for size in [1, 2, 3, 5, 8] {
                for late in [1, 2, 9, 60, 150, u32::MAX] {
                    let (_, found) = run(method, size, |rank| late.saturating_add(3 * rank as u32));
                    let probes = found.iter().flat_map(|found| &found.probes);
                    assert!(probes.clone().all(|probe| probe.exchanges > 0 && probe.lower <= probe.upper));
                }
                // All are late from the start.
                let (sent, _) = run(method, size, |_| 1);
                let rounds = size.next_power_of_two().ilog2() as usize;
                let others = if method.goes_in_turn() { size } else { rounds };
                assert!(sent <= 10 * others, "{} of {size}: {sent}", method.name());
            }
        }
    }

    /// Measurements that were made until the time was over are kept.
    #[test]
    fn probes_of_few_exchanges_are_probes() {
        let (_, found) = run(Method::Joint, 2, |_| 12);
        let [probe] = found[1].probes[..] else { panic!("{found:?}") };
        assert_eq!(probe.exchanges, 2 * (12 - 5));
        let (_, found) = run(Method::Joint, 2, |_| 1);
        assert_eq!(found[1].probes[0].exchanges, 2);
    }
}
