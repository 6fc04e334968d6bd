//! Messages of known times.

use mpitrace_format::layout::{MessageEntry, message, partner};
use mpitrace_testing::synthetic::{self, SyntheticRank};
use mpitrace_trace::operations::Operations;

use super::*;

const SEND: u32 = message::SEND;
const RECEIVE: u32 = message::RECEIVE;

/// The overhead of a send and of a receive, and the gap of a burst, ns.
const SEND_NS: u64 = 100;
const RECEIVE_NS: u64 = 60;
const GAP_NS: u64 = 150;

/// What a message takes.
fn took(bytes: u64) -> u64 {
    1000 + bytes / 4
}

/// Calls on MPI_COMM_WORLD.
fn entry(flags: u32, rank: u32, tag: i32) -> MessageEntry {
    MessageEntry { flags, partner: partner::known(0, rank), tag, ..MessageEntry::default() }
}

/// The ranks, in a trace.
fn opened(ranks: &[SyntheticRank]) -> (Trace, Clock, Operations) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("models.mpitrace");
    synthetic::write(&path, ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    let (clock, operations) = (Clock::new(&trace), Operations::new(&trace));
    (trace, clock, operations)
}

struct World {
    ranks: Vec<SyntheticRank>,
    now: u64,
}

impl World {
    /// Ranks on these hosts.
    fn new(hosts: &[&str]) -> World {
        let rank = |(rank, host): (u32, &&str)| {
            let mut new = SyntheticRank::new(rank, hosts.len() as u32);
            new.metadata.push(("host".to_owned(), (*host).to_owned()));
            new
        };
        World { ranks: (0..).zip(hosts).map(rank).collect(), now: 1_000_000 }
    }

    /// A message whose receiver waits for it; it takes so much further than usual.
    fn message(&mut self, [from, to]: [u32; 2], bytes: u64, further: u64) {
        let [enter, there] = [self.now, self.now + took(bytes) + further];
        self.ranks[from as usize].message("MPI_Send", entry(SEND, to, 0), None, bytes as u32, [enter, enter + SEND_NS]);
        self.ranks[to as usize].message("MPI_Recv", entry(RECEIVE, from, 0), None, 0, [enter - 200, there]);
        self.now = there + 50;
    }

    /// So many messages there and back; either rank is in its receive 200 ns before the other one sends.
    fn ping_pong(&mut self, [one, other]: [u32; 2], bytes: u64, times: u64, further: u64) {
        for i in 0..times {
            self.message([one, other], bytes, further + i % 5);
            self.now += 200;
            self.message([other, one], bytes, further + i % 5);
            self.now += 1000;
        }
    }

    /// A message that the receiver fetches long after it has come.
    fn late_receive(&mut self, bytes: u64) {
        let enter = self.now;
        self.ranks[0].message("MPI_Send", entry(SEND, 1, 0), None, bytes as u32, [enter, enter + SEND_NS]);
        let receive = [enter + 10_000, enter + 10_000 + RECEIVE_NS];
        self.ranks[1].message("MPI_Recv", entry(RECEIVE, 0, 0), None, 0, receive);
        self.now += 20_000;
    }

    /// Messages one after the other.
    fn burst(&mut self, bytes: u64, count: u64) {
        for i in 0..count {
            let enter = self.now + i * SEND_NS;
            let came = self.now + took(bytes) + i * GAP_NS;
            self.ranks[0].message("MPI_Send", entry(SEND, 1, 0), None, bytes as u32, [enter, enter + SEND_NS]);
            self.ranks[1].message(
                "MPI_Recv",
                entry(RECEIVE, 0, 0),
                None,
                0,
                [if i == 0 { self.now - 200 } else { came - GAP_NS + 5 }, came],
            );
        }
        self.now += 100_000;
        // An answer: the next send is not of the burst.
        self.message([1, 0], bytes, 0);
        self.now += 10_000;
    }

    fn models(&self) -> Vec<MessageModels> {
        let (trace, clock, operations) = opened(&self.ranks);
        of_messages(&trace, &clock, &Messages::new(&trace, &clock, &operations), 0.1)
    }
}

fn value(models: &MessageModels, name: Name) -> Result<f64, &'static str> {
    let found = models.parameters.iter().find(|parameter| parameter.name == name).unwrap();
    found.value.as_ref().map(|estimate| estimate.value).map_err(|reason| *reason)
}

const SIZES: [u64; 5] = [8, 512, 4096, 65_536, 1 << 20];

#[test]
fn round_trips_late_receives_and_bursts_tell_all_parameters() {
    let mut world = World::new(&["n1", "n1"]);
    SIZES.iter().for_each(|&bytes| world.ping_pong([0, 1], bytes, 20, 0));
    (0..10).for_each(|_| world.late_receive(8));
    (0..5).for_each(|_| world.burst(8, 16));
    let found = world.models();
    assert_eq!(found.len(), 1);
    let found = &found[0];
    assert_eq!((found.way, found.is_of_round_trips, found.pairs), (Way::OneNode, true, 1));
    assert_eq!(found.sizes.iter().map(|size| size.bytes).collect::<Vec<_>>(), SIZES);
    let line = &found.pieces[0].line;
    // 1000 ns and, in the median, 2 ns further.
    assert!((line.alpha_ns.value - 1002.0).abs() < 1.0, "{line:?}");
    assert!((line.beta_ns_per_byte.value - 0.25).abs() < 1e-4, "{line:?}");
    assert!(line.off(&found.sizes, 0.01).is_empty());
    assert_eq!(value(found, Name::SendOverhead), Ok(SEND_NS as f64));
    assert_eq!(value(found, Name::ReceiveOverhead), Ok(RECEIVE_NS as f64));
    assert_eq!(value(found, Name::Gap), Ok(GAP_NS as f64));
    // 1002 + 2 of 8 bytes, less the overheads and 7 bytes.
    let latency = value(found, Name::Latency).unwrap();
    assert!((latency - (1004.0 - 160.0 - 7.0 * 0.25)).abs() < 0.1, "{latency}");
}

#[test]
fn what_messages_do_not_tell_has_a_reason() {
    let mut world = World::new(&["n1", "n1"]);
    SIZES.iter().for_each(|&bytes| world.ping_pong([0, 1], bytes, 20, 0));
    let found = &world.models()[0];
    assert_eq!(value(found, Name::SendOverhead), Ok(SEND_NS as f64));
    assert!(value(found, Name::ReceiveOverhead).unwrap_err().contains("had arrived"));
    assert!(value(found, Name::Gap).unwrap_err().contains("no burst"));
    assert!(value(found, Name::Latency).unwrap_err().contains("needs o_s, o_r and G"));
    let mut world = World::new(&["n1", "n1"]);
    SIZES[3..].iter().for_each(|&bytes| world.ping_pong([0, 1], bytes, 20, 0));
    let found = &world.models()[0];
    assert!(found.pieces.is_empty());
    assert!(value(found, Name::GapPerByte).unwrap_err().contains("three sizes"));
    assert!(value(found, Name::Latency).unwrap_err().contains("1 KiB"));
}

#[test]
fn pairs_on_one_node_and_on_two_are_apart() {
    let mut world = World::new(&["n1", "n1", "n2"]);
    for bytes in SIZES {
        world.ping_pong([0, 1], bytes, 10, 0);
        world.ping_pong([0, 2], bytes, 10, 5000);
        world.ping_pong([1, 2], bytes, 10, 5000);
    }
    let found = world.models();
    let ways: Vec<_> = found.iter().map(|models| (models.way, models.pairs)).collect();
    assert_eq!(ways, [(Way::OneNode, 1), (Way::TwoNodes, 2)]);
    let alpha = |index: usize| found[index].pieces[0].line.alpha_ns.value;
    assert!((alpha(0) - 1002.0).abs() < 1.0 && (alpha(1) - 6002.0).abs() < 1.0, "{} {}", alpha(0), alpha(1));
}

#[test]
fn another_protocol_from_a_size_on_is_another_line() {
    let mut world = World::new(&["n1", "n1"]);
    for bytes in [8, 64, 512, 4096, 8192, 16_384, 65_536] {
        world.ping_pong([0, 1], bytes, 20, if bytes >= 8192 { 6000 } else { 0 });
    }
    let found = &world.models()[0];
    let pieces: Vec<_> = found.pieces.iter().map(|piece| (piece.sizes.clone(), piece.line.alpha_ns.value)).collect();
    let [(small, low), (large, high)] = &pieces[..] else { panic!("{pieces:?}") };
    assert_eq!((small.clone(), large.clone()), (0..4, 4..7));
    assert!((low - 1002.0).abs() < 1.0 && (high - 7002.0).abs() < 1.0, "{low} {high}");
}

/// Messages one way: the receiver is there before, and no other message is on its way.
#[test]
fn messages_without_answers_are_timed_by_the_clocks() {
    let mut world = World::new(&["n1", "n1"]);
    for bytes in SIZES {
        for i in 0..20 {
            world.message([0, 1], bytes, i % 5);
            world.now += 500;
        }
        // The receiver comes late: not a time of a message.
        (0..40).for_each(|_| world.late_receive(bytes));
    }
    let found = &world.models()[0];
    assert!(!found.is_of_round_trips && found.sizes.iter().all(|size| size.times == 20), "{:?}", found.sizes);
    let line = &found.pieces[0].line;
    assert!((line.alpha_ns.value - 1002.0).abs() < 1.0, "{line:?}");
}

/// A rank that answers late is not the time of a message, nor one that came to its receive late.
#[test]
fn the_own_time_of_the_other_rank_does_not_count() {
    let mut world = World::new(&["n1", "n1"]);
    for i in 0..10 {
        world.message([0, 1], 8, 0);
        world.now += 300 * i;
        world.message([1, 0], 8, 0);
        world.now += 1000;
    }
    let (trace, clock, operations) = opened(&world.ranks);
    let trips = round_trips(&Messages::new(&trace, &clock, &operations));
    assert_eq!(trips.iter().filter(|trip| trip.parts == [0, 1]).count(), 10);
    assert!(trips.iter().all(|trip| trip.both_waited && (trip.message_ns() - 1002.0).abs() < 1.0), "{trips:?}");
    // Requests: a receive that was posted before, and completed by a wait.
    let mut ranks: Vec<SyntheticRank> = (0..2).map(|rank| SyntheticRank::new(rank, 2)).collect();
    let posted = MessageEntry { flags: RECEIVE | message::STARTS, ..entry(0, 1, 0) };
    let start = ranks[0].message("MPI_Irecv", posted, None, 0, [900, 950]);
    ranks[0].message("MPI_Send", entry(SEND, 1, 0), None, 8, [1000, 1100]);
    let completes = MessageEntry { flags: RECEIVE | message::COMPLETES, ..entry(0, 1, 0) };
    ranks[0].message("MPI_Wait", completes, Some(start), 0, [1150, 3000]);
    ranks[1].message("MPI_Recv", entry(RECEIVE, 0, 0), None, 0, [800, 1900]);
    ranks[1].message("MPI_Send", entry(SEND, 0, 0), None, 8, [2000, 2100]);
    let (trace, clock, operations) = opened(&ranks);
    let trips = round_trips(&Messages::new(&trace, &clock, &operations));
    let [trip] = &trips[..] else { panic!("{trips:?}") };
    assert_eq!((trip.ns, trip.turnaround_ns, trip.message_ns(), trip.both_waited), (2000.0, 100.0, 950.0, true));
}

/// Sends that wait for their receivers: each returns when the answer is on its way. A rank that computes before its
/// receive does not wait.
#[test]
fn a_rank_that_comes_late_from_its_send_waits_and_one_that_computes_does_not() {
    for (own_ns, waited) in [(20, true), (900, false)] {
        let mut ranks: Vec<SyntheticRank> = (0..2).map(|rank| SyntheticRank::new(rank, 2)).collect();
        ranks[0].message("MPI_Send", entry(SEND, 1, 0), None, 8, [1000, 2200]);
        ranks[0].message("MPI_Recv", entry(RECEIVE, 1, 0), None, 0, [2200 + own_ns, 3300]);
        ranks[1].message("MPI_Recv", entry(RECEIVE, 0, 0), None, 0, [800, 2000]);
        ranks[1].message("MPI_Send", entry(SEND, 0, 0), None, 8, [2100, 3400]);
        let (trace, clock, operations) = opened(&ranks);
        let trips = round_trips(&Messages::new(&trace, &clock, &operations));
        assert_eq!(trips.iter().map(|trip| trip.both_waited).collect::<Vec<_>>(), [waited], "{own_ns} ns");
    }
}
