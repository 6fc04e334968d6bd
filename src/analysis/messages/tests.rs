//! Messages in traces where it is known which are which.

use mpitrace_format::layout::{MessageEntry, communicator_flags, message, partner};
use mpitrace_testing::synthetic::{self, SyntheticRank};

use super::*;

pub(crate) const SEND: u32 = message::SEND;
pub(crate) const RECEIVE: u32 = message::RECEIVE;

/// Calls on MPI_COMM_WORLD.
pub(crate) fn entry(flags: u32, rank: u32, tag: i32) -> MessageEntry {
    MessageEntry { flags, partner: partner::known(0, rank), tag, ..MessageEntry::default() }
}

/// The ranks, in a trace.
pub(crate) fn opened(ranks: &[SyntheticRank]) -> (Trace, Clock, Operations) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.mpitrace");
    synthetic::write(&path, ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    let (clock, operations) = (Clock::new(&trace), Operations::new(&trace));
    (trace, clock, operations)
}

fn found(ranks: &[SyntheticRank]) -> Messages {
    let (trace, clock, operations) = opened(ranks);
    Messages::new(&trace, &clock, &operations)
}

fn world(size: u32) -> Vec<SyntheticRank> {
    (0..size).map(|rank| SyntheticRank::new(rank, size)).collect()
}

/// Bytes of the messages of the calls of a part.
fn bytes(messages: &Messages, part: usize) -> Vec<Option<u64>> {
    messages.calls[part].iter().map(|call| messages.bytes(call)).collect()
}

#[test]
fn receives_get_messages_in_the_order_in_which_they_were_posted() {
    let mut ranks = world(3);
    // Rank 0 sends 10 and 11 bytes with tag 5, 12 with tag 6; rank 2 sends 20 with tag 5.
    for (call, (tag, bytes)) in (0..).zip([(5, 10), (5, 11), (6, 12)]) {
        ranks[0].message("MPI_Send", entry(SEND, 1, tag), None, bytes, [100 * call, 100 * call + 50]);
    }
    ranks[2].message("MPI_Send", entry(SEND, 1, 5), None, 20, [1000, 1050]);
    // Rank 1 posts one from any rank with any tag, and one from rank 0 with tag 5; the second one is complete first.
    let any = MessageEntry { partner: partner::any(0), tag: -1, ..entry(RECEIVE | message::STARTS, 0, 0) };
    let wild = ranks[1].message("MPI_Irecv", any, None, 0, [10, 20]);
    let known = ranks[1].message("MPI_Irecv", entry(RECEIVE | message::STARTS, 0, 5), None, 0, [30, 40]);
    let done = |rank, tag| entry(RECEIVE | message::COMPLETES, rank, tag);
    ranks[1].message("MPI_Wait", done(0, 5), Some(known), 0, [50, 160]);
    ranks[1].message("MPI_Wait", done(0, 5), Some(wild), 0, [170, 180]);
    // Tag 6 is looked for, then received; then a message that no rank has sent.
    ranks[1].message("MPI_Probe", entry(RECEIVE | message::FINDS, 0, 6), None, 0, [190, 260]);
    ranks[1].message("MPI_Recv", entry(RECEIVE, 0, 6), None, 0, [270, 280]);
    ranks[1].message("MPI_Irecv", entry(RECEIVE | message::STARTS, 2, 9), None, 0, [290, 300]);
    let messages = found(&ranks);
    let expected = [10, 11, 11, 10, 12, 12].map(Some).into_iter().chain([None]);
    assert_eq!(bytes(&messages, 1), expected.collect::<Vec<_>>());
    assert_eq!(messages.messages.len(), 3);
    assert_eq!(messages.calls[1][0].partner, Some(0), "as it came");
    let unmatched: Vec<_> =
        messages.unmatched.iter().map(|one| (one.rank, one.direction, one.partner, one.messages)).collect();
    assert_eq!(unmatched.len(), 2);
    assert!(unmatched.contains(&(1, "receive", Some(2), 1)) && unmatched.contains(&(2, "send", Some(1), 1)));
    let receive = messages.unmatched.iter().find(|one| one.rank == 1).unwrap();
    assert_eq!((receive.functions.len(), receive.functions.first().unwrap().as_str()), (1, "MPI_Irecv"));
}

#[test]
fn cancelled_receives_get_no_message() {
    let mut ranks = world(2);
    ranks[0].message("MPI_Send", entry(SEND, 1, 5), None, 8, [100, 110]);
    let start = ranks[1].message("MPI_Irecv", entry(RECEIVE | message::STARTS, 0, 5), None, 0, [10, 20]);
    let done = entry(RECEIVE | message::COMPLETES | message::CANCELLED, 0, 5);
    ranks[1].message("MPI_Wait", done, Some(start), 0, [30, 40]);
    ranks[1].message("MPI_Recv", entry(RECEIVE, 0, 5), None, 0, [50, 120]);
    let messages = found(&ranks);
    assert_eq!(bytes(&messages, 1), [None, None, Some(8)]);
    assert!(messages.unmatched.is_empty());
}

#[test]
fn messages_of_two_communicators_and_found_ones_are_kept_apart() {
    let mut ranks = world(2);
    let other = [0, 1].map(|rank| ranks[rank as usize].communicator(7, 2, 1 - rank, None));
    ranks.iter_mut().zip(other).for_each(|(rank, index)| rank.flag_communicator(index, communicator_flags::IDENTIFIED));
    let on = |index, flags, rank| MessageEntry { partner: partner::known(index, rank), ..entry(flags, 0, 1) };
    ranks[0].message("MPI_Isend", on(other[0], SEND | message::STARTS, 0), None, 77, [0, 5]);
    ranks[0].message("MPI_Isend", entry(SEND | message::STARTS, 1, 1), None, 66, [6, 9]);
    let found_first =
        ranks[1].message("MPI_Mprobe", entry(RECEIVE | message::FINDS | message::STARTS, 0, 1), None, 0, [10, 20]);
    ranks[1].message("MPI_Recv", on(other[1], RECEIVE, 1), None, 0, [30, 40]);
    ranks[1].message("MPI_Mrecv", entry(RECEIVE | message::COMPLETES, 0, 1), Some(found_first), 0, [50, 60]);
    let messages = found(&ranks);
    assert_eq!(bytes(&messages, 1), [66, 77, 66].map(Some));
    assert_eq!(messages.calls[1][2].start, Some(0));
    assert!(messages.unmatched.is_empty(), "{:?}", messages.unmatched);
}

#[test]
fn a_trace_without_records_of_messages_has_none() {
    let messages = found(&world(2));
    assert!(messages.calls.is_empty() && messages.unmatched.is_empty());
}

/// Rank 1 computes before it sends the even ones, and sleeps before the odd ones, which it sends to another place: why
/// it is late is known of each, though the whole run has as much of both.
#[test]
fn a_late_sender_has_the_reason_of_the_time_before_its_message() {
    use mpitrace_format::layout::{InterruptionEntry, interruption_flags as flags};
    let mut ranks: Vec<SyntheticRank> = world(2).into_iter().map(SyntheticRank::stamped).collect();
    let barrier = [0, 1].map(|rank: usize| ranks[rank].operation("MPI_Barrier", 0, 0));
    for k in 0..20u64 {
        let (at, tag) = (1_000_000 * (k + 1), (k % 2) as i32);
        let function = if tag == 0 { "MPI_Recv" } else { "MPI_Mrecv" };
        ranks[0].message(function, entry(RECEIVE, 1, tag), None, 0, [at, at + 502_000]);
        ranks[1].message("MPI_Send", entry(SEND, 0, tag), None, 8, [at + 500_000, at + 501_000]);
    }
    (0..2).for_each(|rank| ranks[rank].call(barrier[rank], 22_000_000, 22_001_000));
    for _ in 0..10 {
        let flags = flags::BETWEEN | flags::TIMED | flags::REASON;
        let (off_ns, elapsed_ns) = (400_000, 2_000_000);
        ranks[1].interrupt(InterruptionEntry {
            off_ns,
            elapsed_ns,
            switches: 1,
            voluntary: 1,
            flags,
            ..Default::default()
        });
    }
    let (trace, clock, operations) = opened(&ranks);
    let messages = Messages::new(&trace, &clock, &operations);
    let late = messages.late_ranks(&trace, &clock, &messages.waits(&trace, &clock), &[]);
    let of: Vec<_> = late.iter().map(|late| (&late.function[..], late.waiting_ns, late.off.asleep)).collect();
    assert_eq!(of.len(), 2, "{late:?}");
    assert!(of.contains(&("MPI_Recv", 5_000_000.0, 0.0)) && of.contains(&("MPI_Mrecv", 5_000_000.0, 4_000_000.0)));
}

/// A call that starts a send returns at once: the one that completes it may wait.
#[test]
fn a_call_that_only_starts_waits_for_no_message() {
    let mut ranks = world(2);
    let started = ranks[0].message("MPI_Isend", entry(SEND | message::STARTS, 1, 5), None, 8, [100, 1000]);
    ranks[0].message("MPI_Wait", entry(SEND | message::COMPLETES, 1, 5), Some(started), 0, [1100, 2000]);
    ranks[1].message("MPI_Recv", entry(RECEIVE, 0, 5), None, 0, [500, 1900]);
    let messages = found(&ranks);
    let waits: Vec<bool> = messages.calls[0].iter().map(|call| messages.awaited(call).is_some()).collect();
    assert_eq!(waits, [false, true]);
}
