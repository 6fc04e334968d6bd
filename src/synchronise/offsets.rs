//! The methods that find offsets only: SKaMPI and Netgauge.

use std::ops::Range;

use mpitrace_format::ticks::AffineMap;

use crate::Peers;
use crate::exchange::{self, Exchange};
use crate::ping_pong::{ping, pong};
use crate::tree::{compose_down, partner, rounds};

/// SKaMPI: the root with each in turn. `time`: the shares of the time between which all of it lies.
pub(crate) fn offsets_in_turn(peers: &mut impl Peers, count: u32, time: Range<f64>) -> AffineMap {
    if peers.rank() == 0 {
        for client in 1..peers.size() {
            pong(peers, client, count, &AffineMap::IDENTITY);
        }
        return AffineMap::IDENTITY;
    }
    let share = time.start + (time.end - time.start) * turn(peers);
    let found = ping(peers, 0, count, share).exchanges;
    // remote - local; the local clock is ahead by the opposite.
    exchange::skampi(&found).map_or(AffineMap::IDENTITY, |offset| AffineMap::with_offset(offset.at, -offset.difference))
}

/// Where ranks have their turns with the root one after the other: the share of the time at the end of this rank's
/// turn.
pub(crate) fn turn(peers: &impl Peers) -> f64 {
    peers.rank() as f64 / (peers.size() - 1).max(1) as f64
}

/// Netgauge: offsets bottom-up over a tree, summed on the way back down. A pair stops when `patience` exchanges in a
/// row have brought no shorter round trip.
pub(crate) fn offsets_over_tree(peers: &mut impl Peers, patience: u32) -> AffineMap {
    let (rank, size) = (peers.rank(), peers.size());
    let mut map = AffineMap::IDENTITY;
    for (round, distance) in (1..).zip(rounds(size)) {
        let share = f64::from(round) / rounds(size).count() as f64;
        match partner(rank, size, distance) {
            Some((server, true)) => {
                let found = ping_until_steady(peers, server, patience, share);
                if let Some(offset) = exchange::least_round_trip(&found) {
                    map = AffineMap::with_offset(offset.at, -offset.difference);
                }
            }
            Some((client, false)) => pong_until_told(peers, client),
            None => {}
        }
    }
    compose_down(peers, map)
}

fn ping_until_steady(peers: &mut impl Peers, server: usize, patience: u32, share: f64) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    let (mut best, mut since_best) = (u64::MAX, 0);
    while since_best < patience {
        let sent = peers.now();
        peers.send(server, &[sent, 1]);
        let mut remote = [0];
        peers.receive(server, &mut remote);
        let received = peers.now();
        let found = Exchange { sent: peers.shown(sent), remote: remote[0], received: peers.shown(received) };
        exchanges.push(found);
        let trip = found.round_trip();
        since_best = if trip < best { 0 } else { since_best + 1 };
        best = best.min(trip);
        if peers.is_late(share) {
            break;
        }
    }
    peers.send(server, &[0, 0]);
    exchanges
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
