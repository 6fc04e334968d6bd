//! The methods of synchronisation themselves, as one rank runs them together with the others.
//!
//! They stand on [`Peers`] alone: MPI in the traced program, threads in the tests.

use super::exchange::{self, Exchange, Offset};
use super::method::{Method, Synchronisation};
use crate::ticks::AffineMap;
use crate::trace::layout::{ProbeEntry, SyncEntry};

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

/// Exchanges before the first that counts: they wake up caches and connections.
const WARM_UP: u32 = 5;

/// Runs the method. All ranks call it with the same parameters.
pub fn synchronise(peers: &mut impl Peers, how: &Synchronisation) -> Synchronised {
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
        Method::Joint => return Synchronised { map: None, probes: probes_over_hypercube(peers, exchanges) },
    };
    Synchronised { map, probes: Vec::new() }
}

/// As a client: so many exchanges with a server.
fn ping(peers: &mut impl Peers, server: usize, count: u32) -> Vec<Exchange> {
    let mut exchanges = Vec::with_capacity(count as usize);
    for index in 0..count + WARM_UP {
        let sent = peers.now();
        peers.send(server, &[sent]);
        let mut remote = [0];
        peers.receive(server, &mut remote);
        let received = peers.now();
        if index >= WARM_UP {
            exchanges.push(Exchange { sent, remote: remote[0], received });
        }
    }
    for exchange in &mut exchanges {
        (exchange.sent, exchange.received) = (peers.shown(exchange.sent), peers.shown(exchange.received));
    }
    exchanges
}

/// As [`ping`], with a server that tells its readings only at the end: nothing but the reading lies between the message and
/// its answer.
fn ping_then_ask(peers: &mut impl Peers, server: usize, count: u32) -> Vec<Exchange> {
    let mut exchanges = ping(peers, server, count);
    let mut remote = vec![0; exchanges.len()];
    peers.receive(server, &mut remote);
    for (exchange, remote) in exchanges.iter_mut().zip(remote) {
        exchange.remote = remote;
    }
    exchanges
}

fn pong_then_tell(peers: &mut impl Peers, client: usize, count: u32) {
    let mut readings = Vec::with_capacity((count + WARM_UP) as usize);
    for _ in 0..count + WARM_UP {
        let mut ignored = [0];
        peers.receive(client, &mut ignored);
        readings.push(peers.now());
        peers.send(client, &ignored);
    }
    let shown: Vec<u64> = readings[WARM_UP as usize..].iter().map(|&reading| peers.shown(reading)).collect();
    peers.send(client, &shown);
}

/// As a server: answers with its clock, seen through `map`.
fn pong(peers: &mut impl Peers, client: usize, count: u32, map: &AffineMap) {
    for _ in 0..count + WARM_UP {
        let mut ignored = [0];
        peers.receive(client, &mut ignored);
        let now = map.apply(peers.shown(peers.now()));
        peers.send(client, &[now]);
    }
}

/// SKaMPI: the root with each in turn.
fn offsets_in_turn(peers: &mut impl Peers, exchanges: u32) -> AffineMap {
    in_turn(peers, exchanges, exchange::skampi)
}

fn in_turn(peers: &mut impl Peers, count: u32, offset: impl Fn(&[Exchange]) -> Option<Offset>) -> AffineMap {
    if peers.rank() == 0 {
        for client in 1..peers.size() {
            pong(peers, client, count, &AffineMap::IDENTITY);
        }
        return AffineMap::IDENTITY;
    }
    let found = ping(peers, 0, count);
    // remote - local; the local clock is ahead by the opposite.
    offset(&found).map_or(AffineMap::IDENTITY, |offset| AffineMap::with_offset(offset.at, -offset.difference))
}

/// In the round of this distance of a binary tree: who a rank has to do with, and whether it is the client. Ranks beyond the
/// largest power of two have a round of their own (`distance` that power), as in seed 000, algorithm 3.
fn partner(rank: usize, size: usize, distance: usize) -> Option<(usize, bool)> {
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

fn largest_power(size: usize) -> usize {
    1 << size.ilog2()
}

/// The distances of the rounds from the leaves up, the remaining ranks last.
fn rounds(size: usize) -> impl DoubleEndedIterator<Item = usize> {
    (0..=size.ilog2()).map(|round| 1 << round)
}

/// Netgauge: offsets bottom-up over a tree, summed on the way back down. A pair stops when `patience` exchanges in a row have
/// brought no shorter round trip.
fn offsets_over_tree(peers: &mut impl Peers, patience: u32) -> AffineMap {
    let (rank, size) = (peers.rank(), peers.size());
    let mut own = AffineMap::IDENTITY;
    for distance in rounds(size) {
        match partner(rank, size, distance) {
            Some((server, true)) => {
                let found = ping_until_steady(peers, server, patience);
                if let Some(offset) = exchange::least_round_trip(&found) {
                    own = AffineMap::with_offset(offset.at, -offset.difference);
                }
            }
            Some((client, false)) => pong_until_told(peers, client),
            None => {}
        }
    }
    compose_down(peers, own)
}

fn ping_until_steady(peers: &mut impl Peers, server: usize, patience: u32) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    let (mut best, mut since_best) = (u64::MAX, 0);
    while since_best < patience {
        exchanges.extend(one(peers, server, 1));
        let trip = exchanges.last().map_or(0, Exchange::round_trip);
        since_best = if trip < best { 0 } else { since_best + 1 };
        best = best.min(trip);
    }
    peers.send(server, &[0, 0]);
    exchanges
}

fn one(peers: &mut impl Peers, server: usize, go_on: u64) -> Option<Exchange> {
    let sent = peers.now();
    peers.send(server, &[sent, go_on]);
    let mut remote = [0];
    peers.receive(server, &mut remote);
    let received = peers.now();
    Some(Exchange { sent: peers.shown(sent), remote: remote[0], received: peers.shown(received) })
}

fn pong_until_told(peers: &mut impl Peers, client: usize) {
    loop {
        let mut words = [0, 0];
        peers.receive(client, &mut words);
        if words[1] == 0 {
            return;
        }
        let now = peers.shown(peers.now());
        peers.send(client, &[now]);
    }
}

/// From maps to the server of each round to maps to the root: what merging models bottom-up at the servers computes as well.
fn compose_down(peers: &mut impl Peers, own: AffineMap) -> AffineMap {
    let (rank, size) = (peers.rank(), peers.size());
    let mut own = own;
    // The remaining ranks have servers of the tree, which must know their own maps first.
    let order = rounds(size).rev().skip(1).chain([largest_power(size)]);
    for distance in order {
        match partner(rank, size, distance) {
            Some((client, false)) => send_map(peers, client, &own),
            Some((server, true)) => own = receive_map(peers, server).after(&own),
            None => {}
        }
    }
    own
}

fn send_map(peers: &mut impl Peers, to: usize, map: &AffineMap) {
    peers.send(to, &[map.local0, map.reference0, map.skew.to_bits()]);
}

fn receive_map(peers: &mut impl Peers, from: usize) -> AffineMap {
    let mut words = [0; 3];
    peers.receive(from, &mut words);
    AffineMap { local0: words[0], reference0: words[1], skew: f64::from_bits(words[2]) }
}

/// Jones and Koenig: the root with each in turn, fit point by fit point, so that all of a rank's points lie far apart.
fn drifts_in_turn(peers: &mut impl Peers, fit_points: u32, exchanges: u32) -> AffineMap {
    let (rank, size) = (peers.rank(), peers.size());
    if rank == 0 {
        for client in 1..size {
            pong(peers, client, exchanges, &AffineMap::IDENTITY);
        }
        for _ in 0..fit_points {
            for client in 1..size {
                pong(peers, client, exchanges, &AffineMap::IDENTITY);
            }
        }
        return AffineMap::IDENTITY;
    }
    let round_trip = exchange::mean_round_trip(&ping(peers, 0, exchanges));
    let found: Vec<Offset> = (0..fit_points)
        .filter_map(|_| {
            let found = ping(peers, 0, exchanges);
            exchange::median_at_half(&found, round_trip)
        })
        .collect();
    map_of_line(&found)
}

/// The map that the line through fit points gives.
fn map_of_line(found: &[Offset]) -> AffineMap {
    let Some(last) = found.last() else { return AffineMap::IDENTITY };
    match exchange::line(found, last.at) {
        Some((difference, rate)) => AffineMap {
            local0: last.at,
            reference0: last.at.wrapping_add_signed(difference.round() as i64),
            skew: rate,
        },
        None => AffineMap::IDENTITY,
    }
}

/// The drift between a pair, as HCA learns it (seed 000, algorithm 4); the server's clock is seen through `map`.
fn learn(peers: &mut impl Peers, server: usize, fit_points: u32, exchanges: u32) -> AffineMap {
    let round_trip = exchange::mean_round_trip(&ping(peers, server, exchanges));
    let found: Vec<Offset> = (0..fit_points)
        .filter_map(|_| {
            let found = ping(peers, server, exchanges);
            exchange::median_at_half(&found, round_trip)
        })
        .collect();
    map_of_line(&found)
}

fn teach(peers: &mut impl Peers, client: usize, fit_points: u32, exchanges: u32, map: &AffineMap) {
    for _ in 0..fit_points + 1 {
        pong(peers, client, exchanges, map);
    }
}

/// The same drift through an offset that SKaMPI's ping-pong has found just now.
fn through_offset(peers: &mut impl Peers, server: usize, drift: AffineMap, exchanges: u32) -> AffineMap {
    let found = ping(peers, server, exchanges);
    match exchange::skampi(&found) {
        Some(offset) => AffineMap { skew: drift.skew, ..AffineMap::with_offset(offset.at, -offset.difference) },
        None => drift,
    }
}

/// HCA and HCA2: drifts over a tree; HCA2 also measures each pair's offset there.
fn drifts_over_tree(peers: &mut impl Peers, fit_points: u32, exchanges: u32, with_offsets: bool) -> AffineMap {
    let (rank, size) = (peers.rank(), peers.size());
    let mut own = AffineMap::IDENTITY;
    for distance in rounds(size) {
        match partner(rank, size, distance) {
            Some((server, true)) => {
                own = learn(peers, server, fit_points, exchanges);
                if with_offsets {
                    own = through_offset(peers, server, own, exchanges);
                }
            }
            Some((client, false)) => {
                teach(peers, client, fit_points, exchanges, &AffineMap::IDENTITY);
                if with_offsets {
                    pong(peers, client, exchanges, &AffineMap::IDENTITY);
                }
            }
            None => {}
        }
    }
    compose_down(peers, own)
}

/// HCA's last pass: each offset directly with the root.
fn with_direct_offsets(peers: &mut impl Peers, drift: AffineMap, exchanges: u32) -> AffineMap {
    let offset = in_turn(peers, exchanges, exchange::skampi);
    if peers.rank() == 0 { drift } else { AffineMap { skew: drift.skew, ..offset } }
}

/// HCA3: from the root down; a parent answers with its own global clock, so nothing has to be merged.
fn top_down(peers: &mut impl Peers, fit_points: u32, exchanges: u32) -> AffineMap {
    let (rank, size) = (peers.rank(), peers.size());
    let mut own = AffineMap::IDENTITY;
    let order = rounds(size).rev().skip(1).chain([largest_power(size)]);
    for distance in order {
        match partner(rank, size, distance) {
            Some((parent, true)) => {
                let drift = learn(peers, parent, fit_points, exchanges);
                own = through_offset(peers, parent, drift, exchanges);
            }
            Some((child, false)) => {
                teach(peers, child, fit_points, exchanges, &own);
                pong(peers, child, exchanges, &own);
            }
            None => {}
        }
    }
    own
}

/// Score-P's probes: the root with each in turn, the least round trip. Kept by each rank but the root.
fn probes_in_turn(peers: &mut impl Peers, exchanges: u32) -> Vec<ProbeEntry> {
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

/// The joint method's probes: in round k with the rank whose number differs in bit k, in both directions. The higher of the
/// two keeps the probe.
fn probes_over_hypercube(peers: &mut impl Peers, exchanges: u32) -> Vec<ProbeEntry> {
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
/// In one direction alone, the way to the answer and the way back pass through different code, and the middle is off by half
/// the difference. With both, the two tightest bounds come from ways of the same kind, and it cancels.
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

/// A map for the time until the run is over, also where the method finds its own only then: the middle of the bounds of the edge to
/// a lower rank, whose map comes from there, and the rate since the synchronisation before. All ranks call it.
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

/// An entry for what this synchronisation has found.
pub fn entry(index: u32, kind: u32, begin: u64, end: u64, found: &Synchronised) -> SyncEntry {
    let map = found.map.unwrap_or(AffineMap::IDENTITY);
    SyncEntry { index, kind, begin, end, map, has_map: found.map.is_some().into(), ..SyncEntry::default() }
}
