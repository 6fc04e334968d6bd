//! The methods that find drifts too: those of Jones and Koenig, and the HCA family.

use mpitrace_format::ticks::AffineMap;

use crate::Peers;
use crate::exchange::{self, Offset};
use crate::offsets::offsets_in_turn;
use crate::ping_pong::{ping, pong};
use crate::tree::{compose_down, largest_power, partner, rounds};

/// The share of the time in which drifts are measured; offsets have the rest.
const OF_DRIFTS: f64 = 0.9;

/// Jones and Koenig: the root with each in turn, fit point by fit point, so that all of a rank's points lie far apart.
pub(crate) fn drifts_in_turn(peers: &mut impl Peers, fit_points: u32, exchanges: u32) -> AffineMap {
    let (rank, size) = (peers.rank(), peers.size());
    if rank == 0 {
        let mut clients: Vec<usize> = (1..size).collect();
        for _ in 0..fit_points + 1 {
            clients.retain(|&client| !pong(peers, client, exchanges, &AffineMap::IDENTITY));
        }
        return AffineMap::IDENTITY;
    }
    learn(peers, 0, fit_points, exchanges, 1.0)
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

/// The drift between a pair, as HCA learns it (Hunold & Carpen-Amarie 2016, algorithm 4); the server's clock is seen
/// through `map`. Fewer fit points where more than `share` of the time is over.
fn learn(peers: &mut impl Peers, server: usize, fit_points: u32, exchanges: u32, share: f64) -> AffineMap {
    let mut series = ping(peers, server, exchanges, share);
    let round_trip = exchange::mean_round_trip(&series.exchanges);
    let mut found: Vec<Offset> = Vec::new();
    for _ in 0..fit_points {
        if series.is_last {
            break;
        }
        series = ping(peers, server, exchanges, share);
        found.extend(exchange::median_at_half(&series.exchanges, round_trip));
    }
    map_of_line(&found)
}

fn teach(peers: &mut impl Peers, client: usize, fit_points: u32, exchanges: u32, map: &AffineMap) {
    for _ in 0..fit_points + 1 {
        if pong(peers, client, exchanges, map) {
            break;
        }
    }
}

/// A drift through an offset that SKaMPI's ping-pong has found just now.
fn through_offset(peers: &mut impl Peers, server: usize, drift: AffineMap, exchanges: u32, share: f64) -> AffineMap {
    let found = ping(peers, server, exchanges, share).exchanges;
    match exchange::skampi(&found) {
        Some(offset) => AffineMap { skew: drift.skew, ..AffineMap::with_offset(offset.at, -offset.difference) },
        None => drift,
    }
}

/// HCA and HCA2: drifts over a tree; HCA2 also measures each pair's offset there.
pub(crate) fn drifts_over_tree(
    peers: &mut impl Peers,
    fit_points: u32,
    exchanges: u32,
    with_offsets: bool,
) -> AffineMap {
    let (rank, size) = (peers.rank(), peers.size());
    let mut map = AffineMap::IDENTITY;
    for (round, distance) in (0..).zip(rounds(size)) {
        // What follows takes little of the time.
        let share = |part: f64| OF_DRIFTS * (f64::from(round) + part) / rounds(size).count() as f64;
        match partner(rank, size, distance) {
            Some((server, true)) => {
                map = learn(peers, server, fit_points, exchanges, share(OF_DRIFTS));
                if with_offsets {
                    map = through_offset(peers, server, map, exchanges, share(1.0));
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
    compose_down(peers, map)
}

/// HCA's last pass: each offset directly with the root.
pub(crate) fn with_direct_offsets(peers: &mut impl Peers, drift: AffineMap, exchanges: u32) -> AffineMap {
    let offset = offsets_in_turn(peers, exchanges, OF_DRIFTS..1.0);
    if peers.rank() == 0 { drift } else { AffineMap { skew: drift.skew, ..offset } }
}

/// HCA3: from the root down; a parent answers with its own global clock, so nothing has to be merged.
pub(crate) fn top_down(peers: &mut impl Peers, fit_points: u32, exchanges: u32) -> AffineMap {
    let (rank, size) = (peers.rank(), peers.size());
    let mut map = AffineMap::IDENTITY;
    let order = rounds(size).rev().skip(1).chain([largest_power(size)]);
    for (round, distance) in (0..).zip(order) {
        let share = |part: f64| (f64::from(round) + part) / rounds(size).count() as f64;
        match partner(rank, size, distance) {
            Some((parent, true)) => {
                let drift = learn(peers, parent, fit_points, exchanges, share(OF_DRIFTS));
                map = through_offset(peers, parent, drift, exchanges, share(1.0));
            }
            Some((child, false)) => {
                teach(peers, child, fit_points, exchanges, &map);
                pong(peers, child, exchanges, &map);
            }
            None => {}
        }
    }
    map
}
