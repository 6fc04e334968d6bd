//! The account of traces whose waits and losses are known.

use mpitrace_format::layout::{
    InterruptionEntry, PartnerEntry, interruption_flags, interruptions_by, off_place, off_reason, partner,
};
use mpitrace_statistics::categories::{Category, Rule};
use mpitrace_testing::synthetic::{self, SyntheticRank, SyntheticRequest};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

use super::member::Member;
use super::operation::categories;
use super::parts::OffProcessor;
use super::{Account, Because, CallAccount, CallAccounts, Loss, LossKind, RankPart};

fn world(size: u32) -> Vec<SyntheticRank> {
    let rank = |rank| {
        let mut rank = SyntheticRank::new(rank, size);
        // One clock, known exactly: the ranks have one leader.
        rank.header.leader = 0;
        rank.last_thread().unwrap().interruptions_by = interruptions_by::EVENT_PAGE;
        rank
    };
    (0..size).map(rank).collect()
}

fn account(name: &str, ranks: &[SyntheticRank]) -> Account {
    // Tests run at once, and several of them have calls of one function.
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("").replace("::", "-");
    let path = std::env::temp_dir().join(format!("mpitrace-account-{}-{test}-{name}", std::process::id()));
    synthetic::write(&path, ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    std::fs::remove_file(&path).unwrap();
    let operations = Operations::new(&trace);
    Account::new(&trace, &Clock::new(&trace), &operations, Rule::default())
}

/// Ten calls of a function with the root 1, which the ranks enter and leave at these times after each thousandth ns.
fn of_function(function: &str, times: &[(u64, u64)]) -> Account {
    let mut ranks = world(times.len() as u32);
    for (rank, &(enter, exit)) in ranks.iter_mut().zip(times) {
        // The root of a Scatterv, rank 1, sends what all of them get.
        let sends_all = function == "MPI_Scatterv" && rank.header.rank == 1;
        let operation = rank.operation(function, 0, if sends_all { 8 * times.len() as u64 } else { 8 });
        rank.describe(operation, Some(1).filter(|_| !function.ends_with("can")), "MPI_INT", None);
        (1..=10).for_each(|number| rank.call(operation, 1000 * number + enter, 1000 * number + exit));
    }
    account(function, &ranks)
}

fn waits(account: &Account) -> Vec<(f64, f64)> {
    let ranks = account.operations[0].ranks.iter();
    ranks.map(|(_, parts)| (parts.waiting / 10.0, parts.communication / 10.0)).collect()
}

#[test]
fn ranks_wait_as_the_pattern_of_the_function_says() {
    let times = [(10, 200), (50, 190), (30, 40), (120, 210)];
    let waits = |function| waits(&of_function(function, &times));
    // Late Broadcast: for the root, rank 1, at 50; rank 2 left before it could have got anything of it.
    assert_eq!(waits("MPI_Bcast"), [(40.0, 150.0), (0.0, 140.0), (10.0, 0.0), (0.0, 90.0)]);
    // Early Reduce: the root for the last of the others, at 120.
    assert_eq!(waits("MPI_Reduce"), [(0.0, 190.0), (70.0, 70.0), (0.0, 10.0), (0.0, 90.0)]);
    // Early Scan: each for the last of the lower ranks.
    assert_eq!(waits("MPI_Scan"), [(0.0, 190.0), (0.0, 140.0), (10.0, 0.0), (0.0, 90.0)]);
    // Wait at NxN: all for the last. No wait is longer than the call.
    let all = [(10, 200), (50, 190), (30, 140), (120, 210)];
    assert_eq!(
        self::waits(&of_function("MPI_Allreduce", &all)),
        [(110.0, 80.0), (70.0, 70.0), (90.0, 20.0), (0.0, 90.0)]
    );
}

/// Scalasca's patterns: Wait at Barrier, Wait at NxN, Late Broadcast, Early Reduce and Early Scan.
#[test]
fn each_function_of_a_pattern_waits_alike() {
    let times = [(10, 200), (50, 190), (30, 195), (120, 210)];
    let patterns: [(&[&str], [f64; 4]); 5] = [
        (&["MPI_Barrier"], [110.0, 70.0, 90.0, 0.0]),
        (&["MPI_Allgather", "MPI_Alltoall", "MPI_Alltoallv", "MPI_Reduce_scatter_block"], [110.0, 70.0, 90.0, 0.0]),
        (&["MPI_Bcast", "MPI_Scatter", "MPI_Scatterv"], [40.0, 0.0, 20.0, 0.0]),
        (&["MPI_Reduce", "MPI_Gather", "MPI_Gatherv"], [0.0, 70.0, 0.0, 0.0]),
        (&["MPI_Scan", "MPI_Exscan"], [0.0, 0.0, 20.0, 0.0]),
    ];
    for (functions, expected) in patterns {
        for function in functions {
            let account = of_function(function, &times);
            let waited = waits(&account).into_iter().map(|(waiting, _)| waiting).collect::<Vec<f64>>();
            assert_eq!(waited, expected, "{function}");
            // All of it is due to ranks that came late.
            let late: f64 = account.operations[0].late.iter().map(|late| late.waiting_ns).sum();
            assert_eq!(late, 10.0 * expected.iter().sum::<f64>(), "{function}");
            // The one for which others waited, in each repetition; the others were not late in any.
            let counts = account.operations[0].late.iter().map(|late| late.repetitions);
            assert_eq!(counts.filter(|&count| count > 0).collect::<Vec<_>>(), [10], "{function}");
        }
    }
}

#[test]
fn what_the_others_waited_is_lost_to_the_last_rank_and_why_it_was_late_is_said() {
    let mut ranks = world(3);
    for (number, rank) in (0u32..).zip(&mut ranks) {
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        for k in 1..=100u64 {
            let enter = 10_000 * k + if number == 2 { 500 } else { 0 };
            rank.call(barrier, enter, 10_000 * k + 600);
            if number == 2 && k > 60 {
                let flags = interruption_flags::BETWEEN | interruption_flags::TIMED | interruption_flags::REASON;
                rank.interrupt(InterruptionEntry { off_ns: 300, switches: 1, flags, ..Default::default() });
            }
        }
    }
    let account = account("late", &ranks);
    let found: Vec<Loss> = account.losses(false);
    let late = |because, ns, repetitions| Loss {
        kind: LossKind::LateRank,
        rank: Some(2),
        because: Some(because),
        operation: Some(0),
        ns,
        repetitions,
        ..Loss::default()
    };
    // 2 ranks wait 500 ns, 100 times; 40 times 300 ns of it were lost off the processor, and of the rank itself.
    let own = Loss { kind: LossKind::Interrupted, operation: None, ..late(Because::Preempted, 12_000.0, 0) };
    let expected = [late(Because::OnProcessor, 76_000.0, 100), late(Because::Preempted, 24_000.0, 100), own];
    assert_eq!(found, expected);
    // For people, it is the reason of the waiting.
    assert_eq!(account.losses(true), expected[..2]);
    let parts = account.rank_parts();
    assert_eq!((parts[RankPart::Preempted], parts[RankPart::Waiting]), (12_000.0, 100_000.0));
    assert_eq!((parts.sum(), parts.sum_of(&RankPart::COLLECTIVES)), (account.rank_ns(), 130_000.0));
    let sum = account.sum();
    assert_eq!((sum.run_time, sum.waiting, sum.communication), (130_000.0, 100_000.0, 30_000.0));
    assert_eq!(account.ranks[0].collectives_ns, 60_000.0);
}

#[test]
fn interruptions_the_tracer_and_slow_repetitions_are_taken_apart() {
    let mut ranks = world(2);
    for (number, rank) in (0u32..).zip(&mut ranks) {
        let allreduce = rank.operation("MPI_Allreduce", 0, 8);
        for k in 0..400u64 {
            let longer = match k {
                0 => 5000,
                100 | 300 => 4000,
                200 | 350 => 1500,
                _ => 0,
            };
            // A little noise, so that there is something to be beyond.
            let enter = 100_000 * (k + 1);
            rank.call(allreduce, enter, enter + 1000 + longer + (k * 7 + u64::from(number)) % 20);
            match (number, k) {
                (0, 100 | 300) => rank.interrupt(InterruptionEntry {
                    off_ns: 4000,
                    error_ns: 100,
                    flags: interruption_flags::TIMED,
                    ..Default::default()
                }),
                (1, 200) => rank.disturb(),
                _ => {}
            }
        }
    }
    let account = account("apart", &ranks);
    let found = account.losses(false);
    let of = |kind| -> (f64, Option<u32>) {
        let losses = found.iter().filter(|loss| loss.kind == kind);
        (losses.clone().map(|loss| loss.ns).sum(), losses.clone().next().and_then(|loss| loss.rank))
    };
    // What is lost beyond the median, which the noise moves by less than 20 ns a call.
    let close = |(ns, rank): (f64, Option<u32>), expected: f64, whose| {
        assert!((ns - expected).abs() < 200.0 && rank == whose, "{found:?}: {ns} for {expected}");
    };
    close(of(LossKind::Interrupted), 7800.0, Some(0));
    close(of(LossKind::Tracer), 1500.0, None);
    close(of(LossKind::Warmup), 10_000.0, None);
    // Rank 1 in 100 and 300, whole; rank 0 beyond what it was off its processor; the undisturbed rank in 200, both in
    // 350.
    close(of(LossKind::Outliers), 8000.0 + 200.0 + 1500.0 + 3000.0, None);
}

/// Rank 1 calls from a second thread.
#[test]
fn what_the_tracer_delays_beside_the_main_thread_is_counted_there_too() {
    let mut ranks = world(2);
    for (number, rank) in (0u32..).zip(&mut ranks) {
        let allreduce = rank.operation("MPI_Allreduce", 0, 8);
        if number == 1 {
            rank.call(allreduce, 1000, 2000);
            rank.thread();
        }
        for k in 1..=100u64 {
            if number == 1 && k == 1 {
                continue;
            }
            rank.call(allreduce, 100_000 * k, 100_000 * k + if k == 50 { 3000 } else { 1000 });
            if k == 50 {
                rank.disturb();
            }
        }
    }
    let account = account("beside", &ranks);
    let operation = &account.operations[0];
    let perturbed: Vec<f64> = operation.beside.iter().map(|parts| parts.perturbed).collect();
    assert_eq!(perturbed, [0.0, 2000.0]);
    assert_eq!(operation.sum().perturbed, 4000.0);
}

#[test]
fn a_request_waits_in_the_calls_that_wait_for_it_or_poll_it() {
    let mut ranks = world(2);
    for (number, rank) in (0u64..).zip(&mut ranks) {
        let operation = rank.operation("MPI_Iallreduce", 0, 8);
        for k in 1..=10u64 {
            let request = SyntheticRequest { init: 50, test: 20, wait: 300, tests: 2 };
            // Started at 0 and 800, complete at 1000: the first rank has computed until 680, then polled, then waited.
            rank.call_with_request(operation, 10_000 * k + 800 * number, 10_000 * k + 1000, request);
        }
    }
    let account = account("request", &ranks);
    let ranks: Vec<(f64, f64)> =
        account.operations[0].ranks.iter().map(|(_, parts)| (parts.run_time, parts.waiting)).collect();
    // Rank 1 spends no more than the 200 ns between entry and completion.
    assert_eq!(ranks, [(3700.0, 1200.0), (2000.0, 0.0)]);
}

#[test]
fn what_is_not_known_is_bounded() {
    let mut ranks = world(2);
    for rank in &mut ranks {
        rank.last_thread().unwrap().interruptions_by = interruptions_by::NONE;
        let operation = rank.operation("MPI_Neighbor_alltoall", 0, 8);
        (1..=10).for_each(|k| rank.call(operation, 1000 * k, 1000 * k + 100));
    }
    let sum = account("unknown", &ranks).sum();
    assert_eq!((sum.interrupted, sum.interrupted_most, sum.untimed), (0.0, 2000.0, 2000.0));
    assert_eq!((sum.waiting, sum.unsplit), (0.0, 2000.0));
}

/// No rank has to wait in these functions; most libraries make it.
#[test]
fn a_rank_that_left_before_the_last_one_entered_has_not_waited() {
    let of = |function: &str| {
        let mut ranks = world(3);
        for (rank, (enter, exit)) in ranks.iter_mut().zip([(10, 200), (50, 60), (120, 210)]) {
            let operation = rank.operation(function, 0, 0);
            (1..=10).for_each(|number| rank.call(operation, 1000 * number + enter, 1000 * number + exit));
        }
        waits(&account(function, &ranks))
    };
    assert_eq!(of("MPI_File_open"), [(110.0, 80.0), (0.0, 10.0), (0.0, 90.0)]);
    assert_eq!(of("MPI_Comm_free"), [(0.0, 190.0), (0.0, 10.0), (0.0, 90.0)], "nothing is claimed");
}

#[test]
fn each_call_has_its_account() {
    let mut ranks = world(3);
    for (number, rank) in (0u64..).zip(&mut ranks) {
        rank.last_thread().unwrap().first_processor = 1 + 4;
        let reduce = rank.operation("MPI_Allreduce", 0, 8);
        let gather = rank.operation("MPI_Reduce", 0, 8);
        rank.describe(gather, Some(1), "MPI_INT", None);
        rank.call(reduce, 1000 + 100 * number, 1900);
        if number == 1 {
            // It moves to processor 7 in the call.
            rank.interrupt(InterruptionEntry {
                off_ns: 250,
                switches: 2,
                flags: interruption_flags::TIMED,
                processor_before: 4,
                processor_after: 7,
                ..Default::default()
            });
        }
        rank.call(gather, 2000 + 100 * number, 2900);
        if number < 2 {
            rank.call(reduce, 4000, 4100);
        }
    }
    ranks[2].last_thread().unwrap().unlisted = 1;
    let path = std::env::temp_dir().join(format!("mpitrace-account-{}-calls", std::process::id()));
    synthetic::write(&path, &ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    std::fs::remove_file(&path).unwrap();
    let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
    let accounts = CallAccounts::new(&trace, &clock, &operations);
    let reduce = |part, record, row| accounts.of_call(0, row, part, record);
    let account = |waiting: f64, interrupted: f64, interruptions, cpu| CallAccount {
        waiting_ns: Some(waiting),
        interrupted_ns: Some(interrupted),
        interruptions: Some(interruptions),
        cpu,
    };
    assert_eq!(reduce(0, 0, 0), account(200.0, 0.0, 0, Some(4)));
    // Of the 250 ns 100 may have been yielded while it waited.
    assert_eq!(reduce(1, 0, 0), account(100.0, 150.0, 2, Some(7)));
    assert_eq!(reduce(2, 0, 0), account(0.0, 0.0, 0, None), "a migration may have found no room");
    let gather = |part| accounts.of_call(1, 0, part, 1).waiting_ns;
    assert_eq!([0, 1, 2].map(gather), [Some(0.0), Some(100.0), Some(0.0)], "the root waits");
    assert_eq!(accounts.of_call(1, 0, 1, 1).cpu, Some(7));
    let incomplete = reduce(1, 2, 1);
    assert_eq!((incomplete.waiting_ns, incomplete.interruptions), (None, Some(0)), "rank 2 never came");
}

#[test]
fn the_categories_of_very_many_repetitions_are_found_stretch_by_stretch() {
    let mut ranks = world(2);
    for rank in &mut ranks {
        let operation = rank.operation("MPI_Allreduce", 0, 8);
        for number in 0..1000 {
            let took = if number == 0 || number % 300 == 299 { 5000 } else { 100 + number * 7 % 10 };
            rank.call(operation, 10_000 * number + 1, 10_000 * number + 1 + took);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    synthetic::write(&path, &ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
    let operation = &operations.operations[0];
    let of = |at_once| categories(&trace, &clock, operation, &operation.complete(), Rule::default(), at_once).unwrap();
    let expected: Vec<Category> = (0..1000)
        .map(|number| match number {
            0 => Category::First,
            _ if number % 300 == 299 => Category::Outlier,
            _ => Category::Good,
        })
        .collect();
    for at_once in [1000, 999, 300, 250] {
        assert!(of(at_once) == expected, "{at_once}");
    }
}

/// A region is a label over time. In each step rank 1 computes for longer in one, and all then reduce within another
/// one.
#[test]
fn a_region_of_the_program_is_charged_nowhere() {
    let ranks = |with_regions: bool| {
        let mut ranks = world(2);
        for (number, rank) in (0u64..).zip(&mut ranks) {
            let [solve, step] = ["MPI_Barrier", "step"].map(|name| rank.region(name));
            let allreduce = rank.operation("MPI_Allreduce", 0, 8);
            for k in 1..=50u64 {
                let (begin, late) = (10_000 * k, 500 * number);
                if with_regions {
                    rank.call(step, begin - 50, begin + 9800);
                    rank.call(solve, begin, begin + 8000 + late);
                }
                rank.call(allreduce, begin + 8010 + late, begin + 8600);
            }
            if !with_regions {
                // Its time is up to the same end.
                let last = &mut rank.header.last_anchor;
                (last.tick, last.raw_ns) = (509_800, 509_800);
            }
        }
        ranks
    };
    let [with, without] = [true, false].map(|regions| account(&format!("regions-{regions}"), &ranks(regions)));
    assert_eq!(with.losses(false), with.losses(true));
    let expected = |operation| Loss {
        kind: LossKind::LateRank,
        rank: Some(1),
        because: Some(Because::OnProcessor),
        operation: Some(operation),
        ns: 25_000.0,
        repetitions: 50,
        ..Loss::default()
    };
    let reduction = with.operations.iter().position(|operation| !operation.ranks.is_empty()).unwrap();
    assert_eq!((with.losses(false), without.losses(false)), (vec![expected(reduction)], vec![expected(0)]));
    assert_eq!((with.sum(), &with.ranks), (without.sum(), &without.ranks));
    assert_eq!(with.ranks.iter().map(|rank| rank.collectives_ns).collect::<Vec<_>>(), [29_500.0, 4_500.0]);
    let repetitions: Vec<usize> = with.operations.iter().map(|operation| operation.repetitions).collect();
    assert_eq!(repetitions, [50, 50, 50], "they stay operations");
}

#[test]
fn the_time_of_calls_that_were_not_kept_is_time_in_collective_calls() {
    let mut ranks = world(1);
    let [barrier, region] = [ranks[0].operation("MPI_Barrier", 0, 0), ranks[0].region("solve")];
    (1..=10u64).for_each(|k| ranks[0].call(barrier, 1000 * k, 1000 * k + 100));
    (0..90).for_each(|_| ranks[0].timed_call(barrier, 200));
    (0..90).for_each(|_| ranks[0].timed_call(region, 1000));
    let last = &mut ranks[0].header.last_anchor;
    (last.tick, last.raw_ns) = (100_000, 100_000);
    assert_eq!(account("not-kept", &ranks).ranks[0].collectives_ns, 1000.0 + 90.0 * 200.0);
}

/// Rank 1 comes 20 to 60 us late to half of 4000 calls, by a rule that no power of two divides; 1 in 16 is kept.
#[test]
fn a_sample_stands_for_all_calls_of_a_run() {
    let account = |level: Option<u32>| {
        let mut ranks = world(3);
        for (number, rank) in (0u64..).zip(&mut ranks) {
            let operation = rank.operation("MPI_Allreduce", 0, 8);
            for k in 1..=4000u64 {
                let late = if k % 7 < 4 { 20_000 + k * k % 40_000 } else { 0 };
                let (begin, exit) = (1_000_000 * k, 1_000_000 * k + late + 900 + k % 100);
                let enter = begin + if number == 1 { late } else { k * (number + 3) % 200 };
                match level {
                    Some(level) => rank.sampled_call(operation, enter, exit, level),
                    None => rank.call(operation, enter, exit),
                }
            }
        }
        account(if level.is_some() { "sample" } else { "all" }, &ranks)
    };
    let (all, sample) = (account(None), account(Some(4)));
    assert_eq!(all.estimate(), None);
    let estimate = sample.estimate().unwrap();
    assert!(estimate.of == 4000 && (180..320).contains(&estimate.kept), "{estimate:?}");
    // The time in calls is exact, of each rank.
    for (of_all, of_sample) in all.ranks.iter().zip(&sample.ranks) {
        let [all, sample] = [of_all, of_sample].map(|rank| rank.parts.sum_of(&RankPart::COLLECTIVES));
        assert!((all - sample).abs() < 1e-6 * all, "{all} {sample}");
    }
    let [least, most] = estimate.interval(sample.sum().waiting);
    let truth = all.sum().waiting;
    assert!(least < truth && truth < most && most - least < 0.1 * truth, "{least} {truth} {most}");
    let [of_all, of_sample] = [&all, &sample].map(|account| account.losses(false).into_iter().next().unwrap());
    let loss = |loss: &Loss| (loss.kind, loss.rank, loss.because, loss.operation);
    assert_eq!(loss(&of_sample), loss(&of_all));
    assert!((of_sample.ns / of_all.ns - 1.0).abs() < 0.1, "{of_sample:?} {of_all:?}");
}

/// 300 us in turns, as of two ranks with the same work, and one that has it twice as often.
#[test]
fn ranks_that_are_late_in_turns_have_one_loss() {
    let losses = |late: fn(u64) -> u64| {
        let mut ranks = world(2);
        for (number, rank) in (0u64..).zip(&mut ranks) {
            let operation = rank.operation("MPI_Allreduce", 0, 8);
            for k in 1..=60u64 {
                let enter = 1_000_000 * k + if late(k) == number { 300_000 } else { 0 };
                rank.call(operation, enter, 1_000_000 * k + 301_000);
            }
        }
        let account = account("turns", &ranks);
        (account.losses(false), account.losses(true))
    };
    let late = |rank, ns, repetitions| Loss {
        kind: LossKind::LateRank,
        rank,
        because: Some(Because::OnProcessor),
        operation: Some(0),
        ns,
        repetitions,
        ..Loss::default()
    };
    let (each, together) = losses(|k| k % 2);
    assert_eq!(each, [late(Some(0), 9e6, 30), late(Some(1), 9e6, 30)]);
    assert_eq!(together, [late(None, 18e6, 60)]);
    let (each, together) = losses(|k| u64::from(k % 3 != 0));
    assert_eq!(each, [late(Some(1), 12e6, 40), late(Some(0), 6e6, 20)]);
    assert_eq!(together, each, "two thirds of it");
}

/// A region within another one counts in both, one within itself once; calls outside of both in neither.
#[test]
fn a_region_has_its_time_and_the_calls_in_it() {
    let mut ranks = world(2);
    for (number, rank) in (0u64..).zip(&mut ranks) {
        let [step, solve] = ["step", "solve"].map(|name| rank.region(name));
        let allreduce = rank.operation("MPI_Allreduce", 0, 8);
        for k in 1..=10u64 {
            let begin = 10_000 * k;
            rank.call(step, begin, begin + 5000);
            rank.call(solve, begin + 100, begin + 2000);
            rank.call(solve, begin + 200, begin + 1000);
            // Rank 1 comes 300 ns later.
            rank.call(allreduce, begin + 300 + 300 * number, begin + 700);
            rank.call(allreduce, begin + 3000, begin + 3100);
            rank.call(allreduce, begin + 6000, begin + 6500);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    synthetic::write(&path, &ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
    let found = super::regions(&trace, &clock, &operations);
    let numbers = |of: &super::RegionAccount| (of.repetitions, of.ns, of.calls.run_time, of.calls.waiting);
    let found: Vec<_> = found.iter().map(|region| (region.name.as_str(), numbers(region))).collect();
    let expected = [
        ("solve", (40, 38_000.0, 10.0 * (400.0 + 100.0), 3000.0)),
        ("step", (20, 100_000.0, 10.0 * (500.0 + 200.0), 3000.0)),
    ];
    assert_eq!(found, expected);
}

/// Before the first call in a region and before the one behind it, any part of the time off the processor may lie in
/// it.
#[test]
fn a_region_is_off_the_processor_in_its_calls_between_them_and_for_a_part_at_its_edges() {
    let mut ranks = world(1);
    let rank = &mut ranks[0];
    let [solve, allreduce] = [rank.region("solve"), rank.operation("MPI_Allreduce", 0, 8)];
    let off = |rank: &mut SyntheticRank, off_ns, more| {
        let flags = interruption_flags::TIMED | interruption_flags::REASON | more;
        rank.interrupt(InterruptionEntry { off_ns, switches: 1, voluntary: 1, flags, ..Default::default() });
    };
    let between = interruption_flags::BETWEEN;
    rank.call(solve, 10_000, 50_000);
    rank.call(allreduce, 20_000, 22_000);
    off(rank, 400, between);
    off(rank, 50, 0);
    rank.call(allreduce, 30_000, 32_000);
    off(rank, 3000, between);
    rank.call(allreduce, 60_000, 62_000);
    off(rank, 200, between);
    off(rank, 70, 0);
    rank.call(allreduce, 70_000, 72_000);
    off(rank, 7000, between);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    synthetic::write(&path, &ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
    let members = Member::all(&trace, &clock, &operations.operations[0]);
    let OffProcessor::Known(off, error) = members[0].off_processor(0) else { panic!("the thread is watched") };
    assert_eq!((off.asleep, off.sum(), error), (50.0 + 3000.0 + 300.0, 3350.0, 300.0));
}

/// On a communicator of the same ranks in reverse order, and on the world.
#[test]
fn the_partner_of_a_rank_is_a_rank_of_the_world() {
    let mut ranks = world(3);
    let reversed: Vec<u32> = (0..).zip(&mut ranks).map(|(at, rank)| rank.communicator(7, 3, 2 - at, None)).collect();
    let entry = |communicator, rank, ticks| PartnerEntry {
        partner: partner::known(communicator, rank),
        ticks,
        calls: 1,
        ..Default::default()
    };
    // Rank 0 waits for rank 2 on both, and for rank 1 for less than half; rank 1 for each of two.
    ranks[0].partners = vec![entry(reversed[0], 0, 30), entry(0, 2, 30), entry(0, 1, 50)];
    ranks[1].partners = vec![entry(reversed[1], 0, 30), entry(0, 0, 30)];
    ranks[2].partners = vec![entry(reversed[2], 1, 70), PartnerEntry { partner: partner::UNKNOWN, ..entry(0, 0, 60) }];
    let barrier: Vec<u32> = ranks.iter_mut().map(|rank| rank.operation("MPI_Barrier", 0, 0)).collect();
    ranks.iter_mut().zip(barrier).for_each(|(rank, barrier)| rank.call(barrier, 10, 20));
    let account = account("partners", &ranks);
    assert_eq!([0, 1, 2].map(|rank| account.partner(rank)), [Some(2), None, Some(1)]);
    let times: Vec<(u32, Option<u32>, f64, u64)> =
        account.partners.iter().map(|of| (of.rank, of.partner, of.ns, of.calls)).collect();
    let expected = [
        (0, Some(1), 50.0, 1),
        (0, Some(2), 60.0, 2),
        (1, Some(0), 30.0, 1),
        (1, Some(2), 30.0, 1),
        (2, None, 60.0, 1),
        (2, Some(1), 70.0, 1),
    ];
    assert_eq!(times, expected);
}

/// Rank 0 waits for rank 1 in point-to-point calls before each reduction of both: rank 1 computes for longer, and
/// sleeps in every fourth one, before a call of its own. Then rank 1 waits before MPI_Finalize.
#[test]
fn who_is_late_for_point_to_point_calls_is_known_between_collective_ones() {
    let mut ranks: Vec<SyntheticRank> = world(2).into_iter().map(SyntheticRank::stamped).collect();
    for (number, rank) in (0u32..).zip(&mut ranks) {
        let own = rank.communicator(77 + u64::from(number), 1, 0, None);
        let [alone, together] = [own, 0].map(|communicator| rank.operation("MPI_Allreduce", communicator, 8));
        if number == 1 {
            // In the end, after its last call.
            rank.exchanged(0, 5_000_000, 1);
        }
        for k in 1..=40u64 {
            let begin = 1_000_000 * k + 900_000;
            rank.call(alone, begin, begin + 1000);
            let sleeps = number == 1 && k % 4 == 0;
            if sleeps {
                let flags = interruption_flags::BETWEEN | interruption_flags::TIMED | interruption_flags::REASON;
                let off_ns = 300_000;
                rank.interrupt(InterruptionEntry { off_ns, switches: 1, voluntary: 1, flags, ..Default::default() });
            }
            if number == 0 {
                rank.exchanged(1, if k % 4 == 0 { 500_000 } else { 200_000 }, 1);
            }
            rank.call(together, begin + 2000, begin + 10_000);
        }
        rank.times.rank.finalize_enter = 60_000_000;
        rank.header.last_anchor.tick = 60_000_000;
        rank.times.rank.thread = 1;
        rank.times.threads[0].off_ns[off_place::BETWEEN][off_reason::ASLEEP] = 3_000_000 * u64::from(number);
    }
    let account = account("partners", &ranks);
    let late: Vec<_> = account.late_partners.iter().map(|one| (one.late, one.rank, one.ns, one.off.asleep)).collect();
    assert_eq!(late, [(1, Some(0), 11_000_000.0, 3_000_000.0), (0, Some(1), 5_000_000.0, 0.0)]);
    let losses = account.losses(false);
    let of = |because| losses.iter().find(|loss| loss.late() == Some(1) && loss.because == Some(because)).unwrap().ns;
    assert_eq!((of(Because::Asleep), of(Because::Computing)), (3_000_000.0, 8_000_000.0));
    // The time that a loss with a reason has is in no other one.
    let in_calls: f64 = losses.iter().filter(|loss| loss.kind == LossKind::PointToPoint).map(|loss| loss.ns).sum();
    assert_eq!(in_calls, account.rank_parts()[RankPart::PointToPoint]);
}

/// Rank 0 sleeps before it sends to rank 1, which sends to rank 2 then. Ranks 1 and 2 meet before all do.
#[test]
fn exchanges_are_held_against_each_other_where_all_meet_that_exchange() {
    let mut ranks: Vec<SyntheticRank> = world(3).into_iter().map(SyntheticRank::stamped).collect();
    for (number, rank) in (0u32..).zip(&mut ranks) {
        let some =
            if number == 0 { rank.communicator(7, 1, 0, None) } else { rank.communicator(8, 2, number - 1, None) };
        let [of_some, of_all] = [some, 0].map(|communicator| rank.operation("MPI_Allreduce", communicator, 8));
        for k in 1..=40u64 {
            let begin = 1_000_000 * k;
            rank.call(of_some, begin + 400_000, begin + 410_000);
            if number == 0 {
                let flags = interruption_flags::BETWEEN | interruption_flags::TIMED | interruption_flags::REASON;
                let off_ns = 380_000;
                rank.interrupt(InterruptionEntry { off_ns, switches: 1, voluntary: 1, flags, ..Default::default() });
            } else {
                rank.exchanged(number - 1, 390_000, 1);
            }
            rank.call(of_all, begin + 420_000, begin + 430_000);
        }
    }
    let account = account("some", &ranks);
    let late: Vec<_> = account.late_partners.iter().map(|one| (one.late, one.rank, one.ns, one.off.asleep)).collect();
    assert_eq!(late, [(0, None, 80.0 * 390_000.0, 80.0 * 380_000.0)]);
}

/// Rank 1 sleeps and computes for longer before it comes to a call in which rank 0 does not wait for it, and to one of
/// each rank alone: what rank 0 waits in the next one is due to that, not to these calls.
#[test]
fn lateness_is_charged_where_it_began_not_to_calls_that_carry_it_on() {
    for hops in 1..3 {
        let mut ranks = world(2);
        for (number, rank) in (0u32..).zip(&mut ranks) {
            let own = rank.communicator(77 + u64::from(number), 1, 0, None);
            let reduce = rank.operation("MPI_Reduce", 0, 8);
            rank.describe(reduce, Some(1), "MPI_INT", None);
            let [alone, together] = [own, 0].map(|communicator| rank.operation("MPI_Allreduce", communicator, 8));
            for k in 1..=50u64 {
                let (begin, late) = (1_000_000 * k, 500_000 * u64::from(number));
                rank.call(reduce, begin + late, begin + late + 1000);
                if number == 1 {
                    let flags = interruption_flags::BETWEEN | interruption_flags::TIMED | interruption_flags::REASON;
                    let off_ns = 400_000;
                    let sleep = InterruptionEntry { off_ns, switches: 1, voluntary: 1, flags, ..Default::default() };
                    rank.interrupt(sleep);
                }
                if hops == 2 {
                    rank.call(alone, begin + late + 2000, begin + late + 3000);
                }
                rank.call(together, begin + late + 4000, begin + 510_000);
            }
        }
        let account = account(&format!("carried{hops}"), &ranks);
        let late = account.operations.iter().flat_map(|of| &of.late).find(|late| late.waiting_ns > 0.0).unwrap();
        let ns = |each: f64| 50.0 * each;
        assert_eq!((late.waiting_ns, late.earlier_call_ns, late.repetitions), (ns(500_000.0), 0.0, 50), "{late:?}");
        assert_eq!((late.interrupted_by.asleep, late.on_processor_ns), (ns(400_000.0), ns(100_000.0)));
    }
}
