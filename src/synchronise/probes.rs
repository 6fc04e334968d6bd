//! The methods that leave probes, out of which the clocks are found after the run: `linear` and `joint`.

use mpitrace_format::layout::ProbeEntry;
use mpitrace_format::ticks::AffineMap;

use crate::Peers;
use crate::exchange::Exchange;
use crate::ping_pong::{ping, ping_then_ask, pong, pong_then_tell};

/// Score-P's probes: the root with each in turn, the least round trip. Kept by each rank but the root.
pub(crate) fn probes_in_turn(peers: &mut impl Peers, exchanges: u32) -> Vec<ProbeEntry> {
    if peers.rank() == 0 {
        for client in 1..peers.size() {
            pong(peers, client, exchanges, &AffineMap::IDENTITY);
        }
        return Vec::new();
    }
    let found = ping(peers, 0, exchanges);
    let best = found.iter().min_by_key(|exchange| exchange.round_trip());
    best.map(|best| probe(0, std::slice::from_ref(best), &[])).into_iter().collect()
}

/// The joint method's probes: in round k with the rank whose number differs in bit k, in both directions. The higher of
/// the two keeps the probe.
pub(crate) fn probes_over_hypercube(peers: &mut impl Peers, exchanges: u32) -> Vec<ProbeEntry> {
    let (rank, size) = (peers.rank(), peers.size());
    let mut probes = Vec::new();
    let mut bit = 1;
    while bit < size {
        let other = rank ^ bit;
        if other < size {
            if rank < other {
                pong_then_tell(peers, other, exchanges);
                let found = ping_then_ask(peers, other, exchanges);
                let words: Vec<u64> =
                    found.iter().flat_map(|exchange| [exchange.sent, exchange.remote, exchange.received]).collect();
                peers.send(other, &words);
            } else {
                let forth = ping_then_ask(peers, other, exchanges);
                pong_then_tell(peers, other, exchanges);
                let mut words = vec![0; 3 * exchanges as usize];
                peers.receive(other, &mut words);
                let back: Vec<Exchange> = words
                    .chunks_exact(3)
                    .map(|words| Exchange { sent: words[0], remote: words[1], received: words[2] })
                    .collect();
                probes.push(probe(other as u32, &forth, &back));
            }
        }
        bit <<= 1;
    }
    probes
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
