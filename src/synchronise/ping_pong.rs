//! Exchanges between a client and a server, as both sides make them.

use mpitrace_format::ticks::AffineMap;

use crate::Peers;
use crate::exchange::Exchange;

/// Exchanges before the first that counts: they wake up caches and connections.
const WARM_UP: u32 = 5;

/// As a client: so many exchanges with a server.
pub(crate) fn ping(peers: &mut impl Peers, server: usize, count: u32) -> Vec<Exchange> {
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

/// As [`ping`], with a server that tells its readings only at the end: nothing but the reading lies between the message
/// and its answer.
pub(crate) fn ping_then_ask(peers: &mut impl Peers, server: usize, count: u32) -> Vec<Exchange> {
    let mut exchanges = ping(peers, server, count);
    let mut remote = vec![0; exchanges.len()];
    peers.receive(server, &mut remote);
    for (exchange, remote) in exchanges.iter_mut().zip(remote) {
        exchange.remote = remote;
    }
    exchanges
}

pub(crate) fn pong_then_tell(peers: &mut impl Peers, client: usize, count: u32) {
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
pub(crate) fn pong(peers: &mut impl Peers, client: usize, count: u32, map: &AffineMap) {
    for _ in 0..count + WARM_UP {
        let mut ignored = [0];
        peers.receive(client, &mut ignored);
        let now = map.apply(peers.shown(peers.now()));
        peers.send(client, &[now]);
    }
}
