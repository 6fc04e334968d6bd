//! L, o_s, o_r, g and G, or the reason why they are not known.

use mpitrace_statistics::models::{Estimate, Latency, OneSize, Piece, centre, latency};

use super::overheads::Overheads;
use super::{BySize, FEWEST_TIMES};

/// A parameter of LogGP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// L, ns.
    Latency,
    /// o_s, ns.
    SendOverhead,
    /// o_r, ns.
    ReceiveOverhead,
    /// g, ns.
    Gap,
    /// G, ns a byte.
    GapPerByte,
}

/// Its value, or why it has none.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Which it is.
    pub name: Name,
    /// Its value and interval, in ns, or ns a byte.
    pub value: Result<Estimate, &'static str>,
    /// Bytes of the messages that it is from; `None`: of several sizes.
    pub bytes: Option<u64>,
    /// How many calls, bursts or messages tell it.
    pub times: usize,
}

/// The overheads and the gap are those of small messages (bytes): of larger ones they are also the time of their bytes.
const SMALL: u64 = 1024;
/// A median of fewer bursts is none.
const FEWEST_BURSTS: usize = 3;

const NO_SMALL: &str = "no message of 1 KiB or less was timed";
const NO_SEND: &str = "no small message whose send did not wait for the receiver: needs MPI_Isend, or MPI_Send that \
                       returned before the message was received";
const NO_RECEIVE: &str = "no small message that had arrived when its receive was called: needs receives that come \
                          later than twice the time of a message";
const NO_BURST: &str = "no burst: needs 8 or more small messages of one size in a row to a rank that waits for them, \
                        three times";
const NO_LINE: &str = "fewer than three sizes";
const NO_OVERHEAD: &str = "needs o_s, o_r and G";
const COVERED: &str = "the overheads take as long as the message: they overlap";

/// `last`: the line of the largest sizes, whose slope is G.
pub(super) fn all(sizes: &[OneSize], last: Option<&Piece>, overheads: &Overheads) -> Vec<Parameter> {
    let send = of_least(Name::SendOverhead, &overheads.send, FEWEST_TIMES, NO_SEND);
    let receive = of_least(Name::ReceiveOverhead, &overheads.receive, FEWEST_TIMES, NO_RECEIVE);
    let gap = of_least(Name::Gap, &overheads.gap, FEWEST_BURSTS, NO_BURST);
    let per_byte = Parameter {
        name: Name::GapPerByte,
        value: last.map(|piece| piece.line.beta_ns_per_byte).ok_or(NO_LINE),
        bytes: None,
        times: last.map_or(0, |piece| sizes[piece.sizes.clone()].iter().map(|size| size.times).sum()),
    };
    let latency = of_rest(sizes, &send, &receive, &per_byte);
    vec![latency, send, receive, gap, per_byte]
}

/// The median of the least size that has enough times.
fn of_least(name: Name, by_size: &BySize, fewest: usize, reason: &'static str) -> Parameter {
    let least = by_size.iter().find(|(bytes, times)| **bytes <= SMALL && times.len() >= fewest);
    let known = least.and_then(|(&bytes, ns)| Some((bytes, ns.len(), centre(ns)?)));
    match known {
        Some((bytes, times, value)) => Parameter { name, value: Ok(value), bytes: Some(bytes), times },
        None => Parameter { name, value: Err(reason), bytes: None, times: 0 },
    }
}

fn of_rest(sizes: &[OneSize], send: &Parameter, receive: &Parameter, per_byte: &Parameter) -> Parameter {
    let none = |reason| Parameter { name: Name::Latency, value: Err(reason), bytes: None, times: 0 };
    let Some(size) = sizes.first().filter(|size| size.bytes <= SMALL) else { return none(NO_SMALL) };
    let (Ok(send), Ok(receive), Ok(per_byte)) = (&send.value, &receive.value, &per_byte.value) else {
        return none(NO_OVERHEAD);
    };
    match latency(size.bytes, size.median_ns, [*send, *receive], *per_byte) {
        Latency::Covered => none(COVERED),
        Latency::Known(value) => {
            Parameter { name: Name::Latency, value: Ok(value), bytes: Some(size.bytes), times: size.times }
        }
    }
}
