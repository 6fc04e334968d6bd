//! Exchanges between a client and a server, as both sides make them.
//!
//! The client decides how many exchanges there are: each of its messages says whether another one follows. So both
//! sides agree also where the time is over ([`Peers::is_late`]) and there are fewer than planned.

use mpitrace_format::ticks::AffineMap;

use crate::Peers;
use crate::exchange::Exchange;

/// Exchanges before the first that counts: they wake up caches and connections.
const WARM_UP: u32 = 5;

/// Words of a client's message: another exchange follows, none follows of this series, or none of any series with this
/// server that is to find one drift.
const GOES_ON: u64 = 0;
const LAST: u64 = 1;
const LAST_OF_ALL: u64 = 2;

/// How many exchanges of so many that were made do not count: at least one does.
fn warm_up(made: usize) -> usize {
    (WARM_UP as usize).min(made.saturating_sub(1))
}

/// A series of exchanges, as the client keeps it.
pub(crate) struct Series {
    pub exchanges: Vec<Exchange>,
    /// The time is over: the server expects no further series.
    pub is_last: bool,
}

/// As a client: so many exchanges with a server, or fewer, but at least one, where more than `share` of the time is
/// over.
pub(crate) fn ping(peers: &mut impl Peers, server: usize, count: u32, share: f64) -> Series {
    let mut exchanges = Vec::with_capacity((count + WARM_UP) as usize);
    let mut says = GOES_ON;
    while says == GOES_ON {
        if peers.is_late(share) {
            says = LAST_OF_ALL;
        } else if exchanges.len() + 1 == (count + WARM_UP) as usize {
            says = LAST;
        }
        let sent = peers.now();
        peers.send(server, &[says]);
        let mut remote = [0];
        peers.receive(server, &mut remote);
        let received = peers.now();
        exchanges.push(Exchange { sent, remote: remote[0], received });
    }
    exchanges.drain(..warm_up(exchanges.len()));
    for exchange in &mut exchanges {
        (exchange.sent, exchange.received) = (peers.shown(exchange.sent), peers.shown(exchange.received));
    }
    Series { exchanges, is_last: says == LAST_OF_ALL }
}

/// As [`ping`], with a server that tells its readings only at the end: nothing but the reading lies between the message
/// and its answer.
pub(crate) fn ping_then_ask(peers: &mut impl Peers, server: usize, count: u32, share: f64) -> Vec<Exchange> {
    let mut exchanges = ping(peers, server, count, share).exchanges;
    let mut remote = vec![0; exchanges.len()];
    peers.receive(server, &mut remote);
    for (exchange, remote) in exchanges.iter_mut().zip(remote) {
        exchange.remote = remote;
    }
    exchanges
}

/// As its server. How many exchanges count.
pub(crate) fn pong_then_tell(peers: &mut impl Peers, client: usize, count: u32) -> usize {
    let mut readings = Vec::with_capacity((count + WARM_UP) as usize);
    answer(peers, client, count, |peers| {
        readings.push(peers.now());
        0
    });
    let shown: Vec<u64> = readings[warm_up(readings.len())..].iter().map(|&reading| peers.shown(reading)).collect();
    peers.send(client, &shown);
    shown.len()
}

/// As a server: answers with its clock, seen through `map`. Whether the client makes no further series.
pub(crate) fn pong(peers: &mut impl Peers, client: usize, count: u32, map: &AffineMap) -> bool {
    answer(peers, client, count, |peers| map.apply(peers.shown(peers.now())))
}

/// Answers until the client says that an exchange is the last one, at most as often as `count` says: whether it is the
/// last one of all.
fn answer<P: Peers>(peers: &mut P, client: usize, count: u32, mut word: impl FnMut(&mut P) -> u64) -> bool {
    let mut says = GOES_ON;
    for _ in 0..count + WARM_UP {
        // Where the message does not come no other is waited for.
        let mut words = [LAST_OF_ALL];
        peers.receive(client, &mut words);
        let answer = word(peers);
        peers.send(client, &[answer]);
        says = words[0];
        if says != GOES_ON {
            break;
        }
    }
    says == LAST_OF_ALL
}
