//! Times and overheads of recorded messages, and the parameters of LogGP that they tell.
//!
//! What comes in are the messages of a trace. What goes out are, for ranks on one node and for ranks on different ones,
//! the times of the messages by size, the line of Hockney through them, and L, o_s, o_r, g and G, each with an interval
//! or with the reason why these messages do not tell it.

mod events;
mod overheads;
mod parameters;
#[cfg(test)]
mod tests;
mod times;

use std::collections::BTreeMap;

use mpitrace_analysis::messages::Messages;
use mpitrace_format::metadata;
use mpitrace_statistics::models::{OneSize, Piece, centre, pieces};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::reader::Trace;

use events::Events;
use overheads::Overheads;
use times::Times;

pub use parameters::{Name, Parameter};
pub use times::RoundTrip;

/// Times by size (bytes), ns, each in the order in which they were measured.
pub type BySize = BTreeMap<u64, Vec<f64>>;

/// Where the ranks of a pair are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Both on one node.
    OneNode,
    /// On two nodes.
    TwoNodes,
    /// The trace does not tell.
    Unknown,
}

impl Way {
    /// All, in order.
    const ALL: [Way; 3] = [Way::OneNode, Way::TwoNodes, Way::Unknown];

    fn between(hosts: &[Option<String>], [one, other]: [usize; 2]) -> Way {
        match (&hosts[one], &hosts[other]) {
            (Some(one), Some(other)) if one == other => Way::OneNode,
            (Some(_), Some(_)) => Way::TwoNodes,
            _ => Way::Unknown,
        }
    }
}

/// The models of the messages of one way.
#[derive(Clone, Debug)]
pub struct MessageModels {
    /// Where the ranks are.
    pub way: Way,
    /// True: the times are halves of round trips, so no clock was compared with another one.
    pub is_of_round_trips: bool,
    /// Pairs of ranks.
    pub pairs: usize,
    /// The sizes, ascending.
    pub sizes: Vec<OneSize>,
    /// The lines through them, one or several, by size; none: there are too few.
    pub pieces: Vec<Piece>,
    /// L, o_s, o_r, g and G.
    pub parameters: Vec<Parameter>,
}

/// A size with fewer times does not count.
pub const FEWEST_TIMES: usize = 5;

/// The models of the messages of a trace whose clocks are synchronised, for each way that messages took. `off`: a line
/// that is further off than this share may be several ([`pieces`]).
pub fn of_messages(trace: &Trace, clock: &Clock, messages: &Messages, off: f64) -> Vec<MessageModels> {
    if !clock.is_synchronised() {
        return Vec::new();
    }
    let events = Events::new(messages);
    let hosts: Vec<Option<String>> = trace.parts.iter().map(|part| host(&part.metadata())).collect();
    let trips = times::round_trips(&events);
    let of_way = |way: Way| {
        let wanted = |parts: [usize; 2]| Way::between(&hosts, parts) == way;
        let of_trips = Times::of_round_trips(trips.iter().filter(|trip| wanted(trip.parts)));
        let of_messages = || Times::of_messages(&events, wanted);
        let is_of_round_trips = sizes(&of_trips.by_size).len() >= mpitrace_statistics::models::FEWEST_SIZES;
        let times = if is_of_round_trips { of_trips } else { of_messages() };
        let sizes = sizes(&times.by_size);
        if sizes.is_empty() {
            return None;
        }
        let pieces = pieces(&sizes, off);
        let overheads = Overheads::new(trace, &events, &times.by_size, wanted);
        let parameters = parameters::all(&sizes, pieces.last(), &overheads);
        Some(MessageModels { way, is_of_round_trips, pairs: times.pairs.len(), sizes, pieces, parameters })
    };
    Way::ALL.into_iter().filter_map(of_way).collect()
}

/// The round trips of a trace, in the order of time.
pub fn round_trips(messages: &Messages) -> Vec<RoundTrip> {
    times::round_trips(&Events::new(messages))
}

fn host(known: &metadata::Metadata) -> Option<String> {
    metadata::get(known, "host").filter(|host| !host.is_empty() && *host != metadata::UNKNOWN).map(str::to_owned)
}

/// The sizes with enough times, ascending.
fn sizes(by_size: &BySize) -> Vec<OneSize> {
    let enough = by_size.iter().filter(|(_, times)| times.len() >= FEWEST_TIMES);
    let one = |(&bytes, ns): (&u64, &Vec<f64>)| Some(OneSize { bytes, times: ns.len(), median_ns: centre(ns)? });
    enough.filter_map(one).collect()
}
