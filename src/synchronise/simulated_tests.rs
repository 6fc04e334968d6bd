//! Each method among ranks whose clocks are known.

use std::cell::Cell;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::{Method, Peers, Synchronisation, Synchronised, synchronise};

/// A message, and when it arrives.
type Message = (u64, Vec<u64>);

/// A rank in simulated time: a message takes 1000 ns, a reading of the clock 20.
struct Rank {
    rank: usize,
    /// The true time, ns.
    now: Cell<u64>,
    to: Vec<Sender<Message>>,
    from: Vec<Receiver<Message>>,
    /// The shares of the time for which it has asked.
    shares: Vec<f64>,
}

/// The clocks are hours apart, and each gains 100 us in a second on the one before.
fn local(rank: usize, now: u64) -> u64 {
    let rank = rank as u64;
    now + now * rank / 10_000 + (rank << 44)
}

impl Peers for Rank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn now(&self) -> u64 {
        self.now.set(self.now.get() + 20);
        local(self.rank, self.now.get())
    }

    fn send(&mut self, to: usize, words: &[u64]) {
        self.to[to].send((self.now.get() + 1000, words.to_vec())).unwrap();
    }

    fn receive(&mut self, from: usize, words: &mut [u64]) {
        let (arrives, sent) = self.from[from].recv().unwrap();
        self.now.set(arrives.max(self.now.get()));
        words.copy_from_slice(&sent);
    }

    fn is_late(&mut self, share: f64) -> bool {
        self.shares.push(share);
        false
    }
}

/// The ranks at the end, and what each has found.
fn run(method: Method, size: usize) -> Vec<(Rank, Synchronised)> {
    let new = |rank| Rank { rank, now: Cell::new(0), to: Vec::new(), from: Vec::new(), shares: Vec::new() };
    let mut ranks: Vec<Rank> = (0..size).map(new).collect();
    for from in 0..size {
        for to in 0..size {
            let (sender, receiver) = channel();
            ranks[from].to.push(sender);
            ranks[to].from.push(receiver);
        }
    }
    let how = Synchronisation { fit_points: 20, exchanges: 20, ..Synchronisation::new(method) };
    std::thread::scope(|scope| {
        let of_rank = |mut rank: Rank| {
            scope.spawn(move || {
                let found = synchronise(&mut rank, &how, None);
                (rank, found)
            })
        };
        let threads: Vec<_> = ranks.into_iter().map(of_rank).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

const SIZES: [usize; 4] = [2, 3, 6, 8];

#[test]
fn each_method_finds_how_far_the_clocks_are_apart_and_drift() {
    let finds_map = |method: &Method| !matches!(method, Method::None | Method::Linear | Method::Joint);
    for method in Method::all().filter(finds_map) {
        let finds_drift = !matches!(method, Method::Skampi | Method::Netgauge);
        for size in SIZES {
            for (Rank { rank, now, .. }, found) in run(method, size) {
                let (map, end, drift) = (found.entry.map, now.get(), rank as f64 * 1e-4);
                // An offset alone is as old as the synchronisation.
                let within = 300.0 + if finds_drift { 0.0 } else { drift * end as f64 };
                let off = map.apply(local(rank, end)).abs_diff(end);
                assert!(off as f64 <= within, "{} of {size}: rank {rank} by {off} at {end}", method.name());
                let skew = if finds_drift { 1.0 / (1.0 + drift) - 1.0 } else { 0.0 };
                assert!((map.skew - skew).abs() < 5e-6, "{} of {size}: rank {rank}: {}", method.name(), map.skew);
            }
        }
    }
}

#[test]
fn each_rank_has_more_and_more_of_the_time() {
    for method in Method::all().filter(|method| *method != Method::None) {
        for size in SIZES {
            let shares: Vec<Vec<f64>> = run(method, size).into_iter().map(|(rank, _)| rank.shares).collect();
            let all = || shares.iter().flatten().copied();
            let name = method.name();
            assert!(all().all(|share| share > 0.0 && share <= 1.0 + 1e-9), "{name} of {size}: {shares:?}");
            assert!(shares.iter().all(|shares| shares.is_sorted()), "{name} of {size}: {shares:?}");
            // The other methods have a round for ranks beyond a power of two, of which there are none in 2 and 8.
            if method.goes_in_turn() || method == Method::Joint {
                let most = all().fold(0.0, f64::max);
                assert!((most - 1.0).abs() < 1e-9, "{name} of {size}: {shares:?}");
            }
        }
    }
}

#[test]
fn the_probes_of_a_hypercube_are_of_the_lower_neighbours() {
    let peers =
        |rank: usize| -> Vec<u32> { run(Method::Joint, 6)[rank].1.probes.iter().map(|probe| probe.peer).collect() };
    assert_eq!([0, 1, 3, 5].map(peers), [vec![], vec![0], vec![2, 1], vec![4, 1]]);
}
