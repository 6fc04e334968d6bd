//! The methods that leave probes, out of which the clocks are found after the run: `linear` and `joint`.

use std::collections::BTreeMap;
use std::time::Duration;

use mpitrace_format::layout::ProbeEntry;
use mpitrace_format::ticks::AffineMap;
use mpitrace_platform::time::{self, Instant};

use crate::Peers;
use crate::exchange::Exchange;
use crate::offsets::turn;
use crate::ping_pong::{ping, ping_then_ask, pong, pong_then_tell};

/// Score-P's probes: the root with each in turn, the least round trip. Kept by each rank but the root.
pub(crate) fn probes_in_turn(peers: &mut impl Peers, exchanges: u32) -> Vec<ProbeEntry> {
    if peers.rank() == 0 {
        for client in 1..peers.size() {
            pong(peers, client, exchanges, &AffineMap::IDENTITY);
        }
        return Vec::new();
    }
    let share = turn(peers);
    let found = ping(peers, 0, exchanges, share).exchanges;
    let best = found.iter().min_by_key(|exchange| exchange.round_trip());
    best.map(|best| probe(0, std::slice::from_ref(best), &[])).into_iter().collect()
}

/// For each peer, by its number: how far apart the bounds lay on the offset to it, ticks, where they were closest so
/// far.
#[derive(Clone, Debug, Default)]
pub struct Widths(BTreeMap<u32, u64>);

/// When probes are repeated. Before the first repetition there is a sleep of 1 ms, which doubles: so ranks that shared
/// a processor get one each where there is another.
#[derive(Clone, Debug)]
pub struct Repetitions {
    widths: Widths,
    /// Probes whose bounds are wider by more than this factor than the closest ones so far are repeated.
    factor: u64,
    /// So many times.
    most: u32,
    /// A probe that takes longer is not repeated.
    longest: Duration,
}

/// Where a probe takes longer there are more processes than processors: a sleep would not help, and the program waits.
const LONG: Duration = Duration::from_millis(50);

impl Repetitions {
    /// The repetitions of the last synchronisation: sleeps of 63 ms in all.
    pub fn at_the_end(widths: Widths) -> Repetitions {
        Repetitions { widths, factor: 2, most: 6, longest: Duration::MAX }
    }

    /// The repetitions of a synchronisation while the program runs, which waits for it: sleeps of 3 ms in all. A
    /// message between ranks that share a processor takes some 20 times as long as between others; the spread of quick
    /// ones is not worth a sleep.
    pub fn while_it_runs(widths: Widths) -> Repetitions {
        Repetitions { widths, factor: 8, most: 2, longest: LONG }
    }

    fn is_wide(&self, probe: &ProbeEntry) -> bool {
        self.widths.0.get(&probe.peer).is_some_and(|known| width(probe) > known.saturating_mul(self.factor))
    }
}

impl Widths {
    /// Takes what a synchronisation has found.
    pub fn note(&mut self, probes: &[ProbeEntry]) {
        for probe in probes {
            let known = self.0.entry(probe.peer).or_insert(u64::MAX);
            *known = width(probe).min(*known);
        }
    }
}

fn width(probe: &ProbeEntry) -> u64 {
    probe.upper.saturating_sub(probe.lower).max(0) as u64
}

/// The joint method's probes: in round k with the rank whose number differs in bit k, in both directions. The higher of
/// the two keeps the probe. It is repeated where it is wider than earlier ones: see [`Repetitions`].
pub(crate) fn probes_over_hypercube(
    peers: &mut impl Peers,
    exchanges: u32,
    repetitions: Option<&Repetitions>,
) -> Vec<ProbeEntry> {
    let (rank, size) = (peers.rank(), peers.size());
    let mut probes = Vec::new();
    // The last word, after all repetitions, is that there is no other.
    let words = || (0..).take(repetitions.map_or(0, |repetitions| repetitions.most as usize + 1));
    let rounds = f64::from(size.next_power_of_two().ilog2());
    let mut bit = 1usize;
    while bit < size {
        let other = rank ^ bit;
        // The higher rank's direction comes first.
        let share = |part: f64| (f64::from(bit.ilog2()) + part) / rounds;
        if other < size {
            if rank < other {
                be_probed(peers, other, exchanges, share(1.0));
                for _ in words() {
                    if !repeats(peers, other) {
                        break;
                    }
                    be_probed(peers, other, exchanges, share(1.0));
                }
            } else {
                let began = Instant::now();
                let mut closest = probe_one(peers, other, exchanges, share(0.5));
                let took = began.elapsed();
                let mut pause = Duration::from_millis(1);
                for repetition in words() {
                    let is_wanted =
                        |how: &Repetitions| took < how.longest && repetition < how.most && how.is_wide(&closest);
                    let again = repetitions.is_some_and(is_wanted) && !peers.is_late(share(1.0));
                    peers.send(other, &[again.into()]);
                    if !again {
                        break;
                    }
                    time::sleep(pause);
                    pause *= 2;
                    let found = probe_one(peers, other, exchanges, share(1.0));
                    if width(&found) < width(&closest) {
                        closest = found;
                    }
                }
                probes.push(closest);
            }
        }
        bit <<= 1;
    }
    probes
}

/// True if the other, which keeps the probe, wants it once more.
fn repeats(peers: &mut impl Peers, other: usize) -> bool {
    let mut again = [0];
    peers.receive(other, &mut again);
    again[0] == 1
}

/// As the lower of a pair: exchanges in both directions, of which the other makes the probe.
fn be_probed(peers: &mut impl Peers, other: usize, exchanges: u32, share: f64) {
    pong_then_tell(peers, other, exchanges);
    let found = ping_then_ask(peers, other, exchanges, share);
    let words: Vec<u64> =
        found.iter().flat_map(|exchange| [exchange.sent, exchange.remote, exchange.received]).collect();
    peers.send(other, &words);
}

/// As the higher of a pair: the probe.
fn probe_one(peers: &mut impl Peers, other: usize, exchanges: u32, share: f64) -> ProbeEntry {
    let forth = ping_then_ask(peers, other, exchanges, share);
    let count = pong_then_tell(peers, other, exchanges);
    let mut words = vec![0; 3 * count];
    peers.receive(other, &mut words);
    let back: Vec<Exchange> =
        words.chunks_exact(3).map(|words| Exchange { sent: words[0], remote: words[1], received: words[2] }).collect();
    probe(other as u32, &forth, &back)
}

/// The tightest bounds on other - own that exchanges in both directions give: `forth` begun here, `back` by the other.
///
/// In one direction alone, the way to the answer and the way back pass through different code, and the middle is off by
/// half the difference. With both, the two tightest bounds come from ways of the same kind, and it cancels.
pub fn probe(peer: u32, forth: &[Exchange], back: &[Exchange]) -> ProbeEntry {
    let mut entry =
        ProbeEntry { peer, lower: i64::MIN, upper: i64::MAX, least_round_trip: u32::MAX, ..ProbeEntry::default() };
    let mut take = |lower: i64, lower_at: u64, upper: i64, upper_at: u64| {
        if lower > entry.lower {
            (entry.lower, entry.lower_at) = (lower, lower_at);
        }
        if upper < entry.upper {
            (entry.upper, entry.upper_at) = (upper, upper_at);
        }
    };
    for exchange in forth {
        take(exchange.lower(), exchange.received, exchange.upper(), exchange.sent);
    }
    for exchange in back {
        // Begun by the other: its clock at both ends, ours in the middle.
        take(-exchange.upper(), exchange.remote, -exchange.lower(), exchange.remote);
    }
    let trips = || forth.iter().chain(back).map(Exchange::round_trip);
    let least = trips().min().unwrap_or(0);
    let count = trips().count().max(1) as u64;
    entry.least_round_trip = least.min(u32::MAX.into()) as u32;
    // The mean excess, of the quicker half: the slow ones tell of the scheduler.
    let mut excess: Vec<u64> = trips().map(|trip| trip - least).collect();
    excess.sort_unstable();
    excess.truncate(excess.len().div_ceil(2));
    entry.spread = (excess.iter().sum::<u64>() / excess.len().max(1) as u64).min(u32::MAX.into()) as u32;
    entry.exchanges = count as u32;
    entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// One of two ranks in simulated time: what a message takes is a function of how many were sent before.
    struct Simulated {
        rank: usize,
        now: Cell<u64>,
        sent: usize,
        takes: fn(usize) -> u64,
        to: Sender<(u64, Vec<u64>)>,
        from: Receiver<(u64, Vec<u64>)>,
    }

    impl Peers for Simulated {
        fn rank(&self) -> usize {
            self.rank
        }

        fn size(&self) -> usize {
            2
        }

        fn now(&self) -> u64 {
            self.now.set(self.now.get() + 1);
            self.now.get()
        }

        fn send(&mut self, _: usize, words: &[u64]) {
            let arrives = self.now() + (self.takes)(self.sent);
            self.sent += 1;
            self.to.send((arrives, words.to_vec())).unwrap();
        }

        fn receive(&mut self, _: usize, words: &mut [u64]) {
            let (arrives, sent) = self.from.recv().unwrap();
            self.now.set(arrives.max(self.now.get()));
            words.copy_from_slice(&sent);
        }
    }

    const EXCHANGES: u32 = 4;

    /// The probe that two ranks find, the widths of the ones before being known, and how many messages rank 1 has sent.
    fn probed(takes: fn(usize) -> u64, repetitions: Option<&Repetitions>) -> (ProbeEntry, usize) {
        let (to_1, from_0) = channel();
        let (to_0, from_1) = channel();
        let rank = |rank, to, from| Simulated { rank, now: Cell::new(0), sent: 0, takes, to, from };
        let (mut lower, mut higher) = (rank(0, to_1, from_1), rank(1, to_0, from_0));
        std::thread::scope(|scope| {
            let none = scope.spawn(move || probes_over_hypercube(&mut lower, EXCHANGES, repetitions));
            let found = probes_over_hypercube(&mut higher, EXCHANGES, repetitions);
            assert!(none.join().unwrap().is_empty());
            (found[0], higher.sent)
        })
    }

    fn quick(_: usize) -> u64 {
        100
    }

    /// Three probes take about 60 messages.
    fn slow_at_first(sent: usize) -> u64 {
        if sent < 60 { 10_000 } else { 100 }
    }

    fn slow(_: usize) -> u64 {
        10_000
    }

    #[test]
    fn probes_that_are_wider_than_earlier_ones_are_repeated() {
        let (early, once) = probed(quick, None);
        let how = Repetitions::at_the_end(widths_of(&early));
        let (tight, sent) = probed(quick, Some(&how));
        assert_eq!((width(&tight), sent), (width(&early), once + 1), "none is repeated");
        let (wide, _) = probed(slow_at_first, None);
        assert!(how.is_wide(&wide));
        let (last, sent) = probed(slow_at_first, Some(&how));
        assert!(!how.is_wide(&last) && width(&last) == width(&early), "{last:?}");
        assert!(sent > 3 * once, "{sent}");
    }

    #[test]
    fn a_probe_is_wide_that_is_more_than_twice_as_wide_as_the_least_before() {
        let of = |upper| ProbeEntry { peer: 3, lower: 0, upper, ..ProbeEntry::default() };
        let mut widths = Widths::default();
        widths.note(&[of(90), of(50), of(70)]);
        let how = Repetitions::at_the_end(widths);
        assert_eq!([99, 100, 101].map(|upper| how.is_wide(&of(upper))), [false, false, true]);
        assert!(!how.is_wide(&ProbeEntry { peer: 4, ..of(1000) }), "none is known");
    }

    #[test]
    fn repetitions_end() {
        let (early, once) = probed(quick, None);
        let widths = widths_of(&early);
        for how in [Repetitions::at_the_end(widths.clone()), Repetitions::while_it_runs(widths)] {
            let (last, sent) = probed(slow, Some(&how));
            assert!(how.is_wide(&last));
            assert_eq!(sent, (how.most as usize + 1) * (once + 1));
        }
    }

    #[test]
    fn only_much_wider_probes_are_repeated_while_the_program_runs() {
        let (early, once) = probed(quick, None);
        let (_, sent) = probed(|_| 500, Some(&Repetitions::while_it_runs(widths_of(&early))));
        assert_eq!(sent, once + 1);
        let (_, sent) = probed(|_| 500, Some(&Repetitions::at_the_end(widths_of(&early))));
        assert!(sent > 2 * once, "{sent}");
    }

    fn widths_of(probe: &ProbeEntry) -> Widths {
        let mut widths = Widths::default();
        widths.note(&[*probe]);
        widths
    }

    /// Whatever the other says, a rank does not stay in MPI_Finalize.
    #[test]
    fn repetitions_end_also_where_the_other_asks_for_more() {
        let (to, _there) = channel();
        let (_here, from) = channel();
        // One answer, since the question says that no other follows, the reading, then questions with 5 of them to warm
        // up and what they have found.
        let once = 2 + (EXCHANGES as usize + 5) + 1;
        let mut lower = Asked { simulated: Simulated { rank: 0, now: Cell::new(0), sent: 0, takes: quick, to, from } };
        let how = Repetitions::at_the_end(Widths::default());
        assert!(probes_over_hypercube(&mut lower, EXCHANGES, Some(&how)).is_empty());
        assert_eq!(lower.simulated.sent, (how.most as usize + 2) * once);
    }

    /// One whose peer sends as many words as it wants, all of them 1.
    struct Asked {
        simulated: Simulated,
    }

    impl Peers for Asked {
        fn rank(&self) -> usize {
            0
        }

        fn size(&self) -> usize {
            2
        }

        fn now(&self) -> u64 {
            self.simulated.now()
        }

        fn send(&mut self, to: usize, words: &[u64]) {
            self.simulated.send(to, words);
        }

        fn receive(&mut self, _: usize, words: &mut [u64]) {
            words.fill(1);
        }
    }

    #[test]
    fn a_peer_that_was_not_probed_before_is_probed_once() {
        let (_, once) = probed(quick, None);
        let (_, sent) = probed(slow, Some(&Repetitions::at_the_end(Widths::default())));
        assert_eq!(sent, once + 1);
    }
}
