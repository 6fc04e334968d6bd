//! With whom ranks wait in calls that are not recorded, in programs where it is known.

use crate::support::{Case, On, Outcome, Test};
use mpitrace_analysis::messages::{MessageCall, Messages};
use mpitrace_format::layout::{PartnerEntry, message, partner, wait_class};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::partners::Partners;
use mpitrace_trace::reader;
use std::collections::BTreeMap;

pub const TESTS: &[Test] = &[
    Test::new("are_known_in_each_way_of_waiting", every_way),
    Test::new("are_known_of_each_thread", threads),
    Test::new("are_known_with_mpif_h", |case| fortran(case, "partners_mpif.f90")).on(WITH_FORTRAN).second_tier(),
    Test::new("are_known_with_use_mpi_f08", |case| fortran(case, "partners_f08.f90")).on(On::Fortran08).second_tier(),
    Test::new("are_not_known_where_it_is_switched_off", off),
    Test::new("are_known_of_each_recorded_message", recorded),
    Test::new("are_known_of_recorded_messages_of_each_thread", recorded_of_threads),
    Test::new("are_not_those_of_receives_that_were_cancelled", cancelled),
];

/// Libraries with an mpif.h of their own: that of another library has another MPI_ANY_SOURCE.
const WITH_FORTRAN: On = On::Only(&["ompi4", "mpich4"]);

fn traced(case: &Case, ranks: u32, program: &str) -> Outcome {
    let plain = case.launch(ranks, program).run();
    let traced = case.launch(ranks, program).trace().run();
    traced.same_as(&plain);
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    traced
}

/// The partners stated at the barriers of a rank, in the order of the calls.
fn at_barriers(traced: &Outcome, rank: u64) -> Vec<(u64, Option<u64>)> {
    let mut rows = traced.trace.dump_of_all(&[]);
    rows.retain(|row| row.rank == rank && row.function == "MPI_Barrier");
    rows.sort_by(|a, b| a.enter_ns.total_cmp(&b.enter_ns));
    rows.into_iter().map(|row| (row.thread, row.p2p_partner)).collect()
}

fn opened(traced: &Outcome) -> (reader::Trace, Partners) {
    let trace = reader::Trace::open(&[&traced.trace.path]).expect("a trace");
    let partners = Partners::new(&trace, &Operations::new(&trace));
    (trace, partners)
}

/// The sums of a rank's table by partner: those of a rank by its world rank, others by what they are.
fn sums(trace: &reader::Trace, partners: &Partners, rank: usize) -> BTreeMap<Result<u32, u64>, PartnerEntry> {
    let mut sums: BTreeMap<Result<u32, u64>, PartnerEntry> = BTreeMap::new();
    for entry in trace.parts[rank].partners() {
        let key = partners.world_rank(rank, entry.partner).ok_or(entry.partner);
        assert!(partner::place(entry.partner).is_none() || key.is_ok(), "no rank of the world: {entry:?}");
        let sum = sums.entry(key).or_default();
        sum.ticks += entry.ticks;
        sum.calls += entry.calls;
        sum.messages += entry.messages;
        sum.bytes += entry.bytes;
    }
    sums
}

/// All time in calls that can wait is with some partner.
fn check_ticks(trace: &reader::Trace) {
    for part in &trace.parts {
        let by_partner: u64 = part.partners().iter().map(|entry| entry.ticks).sum();
        let classes = part.thread_times().iter().map(|times| times.ticks[wait_class::POINT_TO_POINT]);
        assert_eq!(by_partner, classes.sum::<u64>(), "rank {}", part.rank());
    }
}

fn every_way(case: &Case) {
    let traced = traced(case, 4, "partners.c");
    let lines = |prefix: &str| -> Vec<Vec<i64>> {
        let lines = traced.stdout.lines().filter_map(|line| line.split_once(prefix));
        lines.map(|(_, numbers)| numbers.split_whitespace().map(|word| word.parse().unwrap()).collect()).collect()
    };
    let expected: Vec<Option<u64>> = lines("expected ").iter().map(|line| u64::try_from(line[0]).ok()).collect();
    assert!(expected.len() > 25);
    let found: Vec<Option<u64>> = at_barriers(&traced, 1).into_iter().map(|(_, partner)| partner).collect();
    assert_eq!(found, expected, "for whom rank 1 waits");
    for rank in [0, 2, 3] {
        let wrong = |(_, partner): &(u64, Option<u64>)| partner.is_some_and(|partner| partner != 1);
        assert_eq!(at_barriers(&traced, rank).iter().filter(|row| wrong(row)).count(), 0, "rank {rank}");
    }
    let (trace, partners) = opened(&traced);
    check_ticks(&trace);
    let told: Vec<Vec<i64>> = lines("sent ");
    assert_eq!(told.len(), 4);
    for (rank, told) in told.iter().enumerate() {
        let sums = sums(&trace, &partners, rank);
        for (to, told) in (0..).zip(told.chunks(2)) {
            let sum = sums.get(&Ok(to)).copied().unwrap_or_default();
            assert_eq!([sum.messages as i64, sum.bytes as i64], told, "from rank {rank} to rank {to}");
        }
        let unknown = sums.get(&Err(partner::UNKNOWN)).map_or(0, |sum| sum.calls);
        assert_eq!(unknown, 0, "rank {rank}");
    }
}

fn threads(case: &Case) {
    let traced = traced(case, 3, "partner_threads.c");
    let mut rows = traced.trace.dump_of_all(&["--rank", "1"]);
    rows.retain(|row| row.function == "MPI_Barrier");
    assert_eq!(rows.len(), 20);
    for row in rows {
        let expected = if row.communicator == "first" { 0 } else { 2 };
        assert_eq!(row.p2p_partner, Some(expected), "{row:?}");
    }
    let (trace, partners) = opened(&traced);
    check_ticks(&trace);
    let sums = sums(&trace, &partners, 1);
    // With the line that is reported.
    assert_eq!([0, 2].map(|rank| (sums[&Ok(rank)].messages, sums[&Ok(rank)].bytes)), [(101, 912), (100, 400)]);
    assert_eq!([0, 2].map(|rank| sums[&Ok(rank)].calls), [101, 100]);
}

fn fortran(case: &Case, program: &str) {
    let traced = traced(case, 3, program);
    let partners: Vec<Option<u64>> = at_barriers(&traced, 1).into_iter().map(|(_, partner)| partner).collect();
    let [zero, two] = [Some(0), Some(2)];
    assert_eq!(partners, [None, zero, two, zero, two, zero, two, zero, two]);
}

/// With message calls as records: the collectives, and the messages.
fn with_records(case: &Case, ranks: u32, program: &str) -> (Outcome, reader::Trace, Messages) {
    let plain = case.launch(ranks, program).run();
    let traced = case.launch(ranks, program).trace().set("MPITRACE_P2P", "records").run();
    traced.same_as(&plain);
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    let trace = reader::Trace::open(&[&traced.trace.path]).expect("a trace");
    let messages = Messages::new(&trace, &Clock::new(&trace), &Operations::new(&trace));
    assert!(messages.unmatched.is_empty(), "{:?}", messages.unmatched);
    let mut waits = messages.calls.iter().flatten().filter(|call| call.flags & message::COMPLETES != 0);
    assert!(waits.all(|call| call.start.is_some()), "each completion has a start");
    let kept: usize = messages.calls.iter().map(Vec::len).sum();
    assert_eq!(kept as u64, trace.parts.iter().map(reader::Part::message_calls).sum::<u64>());
    (traced, trace, messages)
}

fn recorded(case: &Case) {
    let (traced, trace, messages) = with_records(case, 4, "partners.c");
    let lines = traced.stdout.lines().filter_map(|line| line.split_once("sent "));
    let told: Vec<Vec<u64>> =
        lines.map(|(_, numbers)| numbers.split_whitespace().map(|word| word.parse().unwrap()).collect()).collect();
    for (rank, told) in (0..).zip(&told) {
        for (to, told) in (0..).zip(told.chunks(2)) {
            let sums = messages.messages.iter().fold([0; 2], |[count, bytes], message| {
                let (part, call) = message.send;
                let sent = &messages.calls[part][call as usize];
                let is_wanted = trace.parts[part].rank() == rank && sent.partner == Some(to);
                let received = &messages.calls[message.receive.0][message.receive.1 as usize];
                assert_eq!(received.partner, Some(trace.parts[part].rank()));
                if is_wanted { [count + 1, bytes + sent.record.bytes] } else { [count, bytes] }
            });
            assert_eq!(sums, told, "from rank {rank} to rank {to}");
        }
    }
    // Collectives are as without records.
    let of_collectives = |traced: &Outcome| {
        let mut rows = traced.trace.dump_of_all(&[]);
        rows.sort_by(|a, b| (a.rank, a.enter_ns).partial_cmp(&(b.rank, b.enter_ns)).expect("times"));
        rows.into_iter().map(|row| (row.rank, row.function, row.repetition)).collect::<Vec<_>>()
    };
    let without = case.launch(4, "partners.c").trace().run();
    assert_eq!(of_collectives(&traced), of_collectives(&without));
}

fn recorded_of_threads(case: &Case) {
    let (_, _, messages) = with_records(case, 3, "partner_threads.c");
    // With the line that is reported.
    let of_rank_1 = messages.messages.iter().filter(|message| message.send.0 == 1);
    assert_eq!(of_rank_1.count(), 201);
}

fn cancelled(case: &Case) {
    let (_, _, messages) = with_records(case, 2, "cancelled.c");
    let is_cancelled = |call: &&MessageCall| call.start.is_none() && call.flags & message::CANCELLED != 0;
    assert_eq!(messages.calls[0].iter().filter(is_cancelled).count(), 2);
    let receives: Vec<_> =
        messages.calls[0].iter().filter(|call| call.message.is_some() && call.start.is_none()).collect();
    // With the probe, and what it finds.
    assert_eq!((messages.messages.len(), receives.len()), (21, 22));
}

fn off(case: &Case) {
    let traced = case.launch(4, "partners.c").trace().set("MPITRACE_P2P", "0").run();
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    assert!(at_barriers(&traced, 1).iter().all(|(_, partner)| partner.is_none()));
    let (trace, _) = opened(&traced);
    assert!(trace.parts.iter().all(|part| part.partners().is_empty() && part.awaited(0).is_empty()));
}
