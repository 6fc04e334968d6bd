//! Simulated programs, whose delays are known to cost what they cost.

use mpitrace_format::layout::{MessageEntry, interruptions_by, message, partner};
use mpitrace_statistics::categories::Rule;
use mpitrace_testing::Random;
use mpitrace_testing::programs::{self, Delayed};
use mpitrace_testing::synthetic::{self, SyntheticRank};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

use super::{Gain, bounded, gains};
use crate::account::{Account, Because, Loss, LossKind, RankAccount, RankPart, RankParts};

/// The gains without the losses of a trace that are picked.
fn predicted(ranks: &[SyntheticRank], picked: impl Fn(&Loss) -> bool) -> Vec<Gain> {
    predicted_of(ranks, |account| account.losses(false).into_iter().filter(|loss| picked(loss)).collect()).1
}

/// The losses that are picked, and the gains without them.
fn predicted_of(ranks: &[SyntheticRank], picked: impl Fn(&Account) -> Vec<Loss>) -> (Vec<Loss>, Vec<Gain>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mpitrace");
    synthetic::write(&path, ranks).unwrap();
    let trace = Trace::open(&[path]).unwrap();
    let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
    let account = Account::new(&trace, &clock, &operations, Rule::default());
    let losses = picked(&account);
    let gains = gains(&trace, &clock, &operations, &account, &losses);
    (losses, gains)
}

/// The sum of the gains without what makes the rank late.
fn of_delay(delayed: &Delayed) -> Option<f64> {
    let is_of_rank = |loss: &Loss| {
        let is_off = loss.because.is_some_and(Because::is_off);
        loss.kind == LossKind::LateRank && loss.rank == Some(delayed.rank as u32) && is_off == delayed.asleep
    };
    predicted(&delayed.program.run(true).ranks, is_of_rank).iter().map(|gain| gain.seconds).sum()
}

/// `cargo bench --bench gain` has the rates; these are the delays that no noise hides.
#[test]
fn a_delay_costs_what_the_job_takes_longer() {
    let mut random = Random::new(7);
    let (mut clear, mut right) = (0, 0);
    for seed in 0..40 {
        let delayed = programs::bulk_synchronous(&mut random, &mut Random::new(seed));
        let without = delayed.program.run(false).end;
        let truth = (delayed.program.run(true).end - without) / 1e9;
        if truth < 0.2 * without / 1e9 {
            continue;
        }
        clear += 1;
        let found = of_delay(&delayed).unwrap();
        right += u32::from((found - truth).abs() < 0.05 * truth);
        assert!((found - truth).abs() < 0.1 * truth, "{seed}: {found} for {truth}");
    }
    assert!(clear > 10 && 10 * right >= 9 * clear, "{right} of {clear}");
}

/// Delays that grow, shrink, are exponential, uniform, bimodal, of a random rank, or in one step of ten: the gain is
/// right within 5 % or what differs from run to run, or its interval holds it and is at most a fifth of the gain wide.
#[test]
fn a_delay_that_varies_costs_what_the_job_takes_longer() {
    const PROGRAMS: u64 = 40;
    for (number, how) in (0..).zip(programs::Varying::ALL) {
        let mut random = Random::new(100 + number);
        let (mut right, mut wrong) = (0, Vec::new());
        for seed in 0..PROGRAMS {
            let again = random.clone();
            let delayed = programs::varying(how, &mut random, &mut Random::new(seed));
            let end_of = |noise: u64| {
                programs::varying(how, &mut again.clone(), &mut Random::new(noise)).program.run(false).end / 1e9
            };
            let truth = delayed.program.run(true).end / 1e9 - end_of(seed);
            let ends: Vec<f64> = (1..=8).map(|run| end_of(seed + (run << 32))).collect();
            let mean = ends.iter().sum::<f64>() / 8.0;
            let noise = (ends.iter().map(|end| (end - mean).powi(2)).sum::<f64>() / 7.0).sqrt();
            let is_late = |loss: &Loss| {
                let is_of_rank = how == programs::Varying::RandomRank || loss.rank == Some(delayed.rank as u32);
                loss.kind == LossKind::LateRank && is_of_rank
            };
            let gains = predicted(&delayed.program.run(true).ranks, is_late);
            let sum = |of: fn(&Gain) -> Option<f64>| gains.iter().map(of).sum::<Option<f64>>();
            let [found, least, most] = [sum(|gain| gain.seconds), sum(|gain| gain.least), sum(|gain| gain.most)];
            let is_near = found.is_some_and(|found| (found - truth).abs() <= noise.max(0.05 * truth));
            let is_held = least.zip(most).is_some_and(|(least, most)| {
                (least..=most).contains(&truth) && most - least <= 0.2 * found.unwrap_or(most)
            });
            right += u64::from(is_near || is_held);
            if !is_near && !is_held {
                wrong.push((seed, found, truth, noise));
            }
        }
        println!("{how:?}: {right} of {PROGRAMS}");
        assert!(100 * right >= 95 * PROGRAMS, "{how:?}: {right} of {PROGRAMS}: {wrong:?}");
    }
}

/// Two ranks that reduce 50 times; rank 1 computes for 500 us longer.
fn late(change: impl Fn(&mut SyntheticRank)) -> Vec<Gain> {
    let ranks = [0u64, 1].map(|number| {
        let mut rank = SyntheticRank::new(number as u32, 2).stamped();
        let operation = rank.operation("MPI_Allreduce", 0, 8);
        change(&mut rank);
        (1..=50u64).for_each(|k| rank.call(operation, 1_000_000 * k - 510_000 * (1 - number), 1_000_000 * k + 10_000));
        rank
    });
    predicted(&ranks, |loss| loss.kind == LossKind::LateRank)
}

#[test]
fn a_gain_is_stated_only_where_all_calls_are_kept() {
    let [gain] = &late(|_| {})[..] else { panic!("one rank is late") };
    assert!((gain.seconds.unwrap() - 50.0 * 510e-6).abs() < 1e-6, "{gain:?}");
    assert_eq!((gain.least, gain.most, gain.unknown), (gain.seconds, gain.seconds, None));
    let [gain] = &late(|rank| rank.paused_call(0))[..] else { panic!("one rank is late") };
    assert_eq!((gain.seconds, gain.unknown), (None, Some("not all calls are kept")));
    let [gain] = &late(|rank| rank.times.rank.flags = 0)[..] else { panic!("one rank is late") };
    assert_eq!((gain.seconds, gain.unknown), (None, Some("point-to-point calls were not timed")));
}

/// Rank 1 has a loss of its own.
#[test]
fn a_gain_that_is_not_known_is_what_one_rank_of_the_loss_has_lost_at_most() {
    let rank = |(rank, ns): (u32, f64)| {
        let mut parts = RankParts::default();
        parts[RankPart::Preempted] = ns;
        RankAccount { rank, wall_ns: 1e9, parts, ..RankAccount::default() }
    };
    let account = Account { ranks: (0..).zip([3e8, 6e8, 2e8]).map(rank).collect(), ..Account::default() };
    let (kind, because) = (LossKind::Interrupted, Some(Because::Preempted));
    let loss = Loss { kind, because, except: [1].into(), ns: 5e8, ..Loss::default() };
    let gain = bounded(Gain::default(), &loss, &account);
    assert_eq!((gain.least, gain.most), (Some(0.0), Some(0.3)));
}

/// Rank 0 leaves its barrier long before rank 1 enters it, so that one of the clocks is wrong.
#[test]
fn times_that_contradict_each_other_give_no_gain() {
    let ranks = [0u64, 1].map(|number| {
        let mut rank = SyntheticRank::new(number as u32, 2).stamped();
        let [first, second] = ["MPI_Barrier", "MPI_Allreduce"].map(|function| rank.operation(function, 0, 0));
        for k in 1..=50u64 {
            rank.call(first, 1_000_000 * k + 300_000 * number, 1_000_000 * k + 300_000 * number + 1000);
            rank.call(second, 1_000_000 * k + 400_000 + 10_000 * number, 1_000_000 * k + 420_000);
        }
        rank
    });
    let gains = predicted(&ranks, |_| true);
    assert!(!gains.is_empty());
    assert!(gains.iter().all(|gain| gain.unknown == Some("the recorded times contradict each other")), "{gains:?}");
}

/// Ranks 0 and 1 wait for each other in turns, so that each repetition takes as long as the slower one.
#[test]
fn work_that_is_shared_evenly_gains_half_of_what_is_lost_in_turns() {
    let ranks = [0u64, 1].map(|number| {
        let mut rank = SyntheticRank::new(number as u32, 2).stamped();
        let operation = rank.operation("MPI_Allreduce", 0, 8);
        (1..=50u64).for_each(|k| {
            let late = if k % 2 == number { 400_000 } else { 0 };
            rank.call(operation, 1_000_000 * k + late, 1_000_000 * k + 410_000);
        });
        rank
    });
    let (account, gains) = predicted_of(&ranks, |account| account.losses(true));
    assert_eq!((account.len(), account[0].rank), (1, None));
    assert!((gains[0].seconds.unwrap() - 50.0 * 200e-6).abs() < 1e-6, "{gains:?}");
}

/// Rank 1 waits for rank 2, which computes for longer, and then rank 0 waits for rank 1.
#[test]
fn a_loss_begins_where_the_chain_of_waits_does() {
    let ranks = [0u64, 1, 2].map(|number| {
        let mut rank = SyntheticRank::new(number as u32, 3).stamped();
        rank.last_thread().unwrap().interruptions_by = interruptions_by::EVENT_PAGE;
        let before = match number {
            0 => 0,
            _ => {
                let pair = rank.communicator(7, 2, number as u32 - 1, None);
                rank.operation("MPI_Barrier", pair, 0)
            }
        };
        let reduce = rank.operation("MPI_Allreduce", 0, 8);
        for k in 1..=50u64 {
            let begin = 1_000_000 * k;
            match number {
                0 => {}
                // It waits for rank 2, and then they leave together.
                1 => rank.call(before, begin, begin + 501_000),
                _ => rank.call(before, begin + 500_000, begin + 500_500),
            }
            let enter = [100_000, 503_000, 500_600][number as usize];
            rank.call(reduce, begin + enter, begin + 505_000);
        }
        rank
    });
    let (losses, gains) = predicted_of(&ranks, |account| account.losses(false));
    let of_earlier = |loss: &&Loss| loss.kind == LossKind::LateRank && loss.because == Some(Because::EarlierCall);
    let place = losses.iter().position(|loss| of_earlier(&loss)).unwrap();
    assert_eq!(losses[place].rank, Some(1), "{losses:?}");
    let chain: Vec<_> = gains[place].origin.iter().map(|origin| (origin.rank, origin.because)).collect();
    assert_eq!(chain, [(Some(1), Some(Because::EarlierCall)), (Some(2), Some(Because::Computing))]);
}

/// The truth of programs whose ranks exchange messages between their calls, and the gain without what waits for the
/// delayed rank.
fn of_exchange(delayed: &Delayed) -> Option<(f64, Gain)> {
    let truth = (delayed.program.run(true).end - delayed.program.run(false).end) / 1e9;
    let awaits = |loss: &Loss| loss.kind == LossKind::PointToPoint && loss.partner == Some(delayed.rank as u32);
    let gain = predicted(&delayed.program.run(true).ranks, awaits).into_iter().next();
    gain.map(|gain| (truth, gain))
}

#[test]
fn waiting_for_a_message_costs_what_its_sender_is_late() {
    let mut random = Random::new(11);
    let found: Vec<_> =
        (0..30).filter_map(|seed| of_exchange(&programs::halo(&mut random, &mut Random::new(seed)))).collect();
    let close = |(truth, gain): &&(f64, Gain)| (gain.seconds.unwrap() - truth).abs() < 0.1 * truth;
    assert!(found.len() > 20, "{}", found.len());
    assert!(10 * found.iter().filter(close).count() >= 9 * found.len(), "{found:?}");
    let held = |(truth, gain): &(f64, Gain)| (0.9 * gain.least.unwrap()..=1.1 * gain.most.unwrap()).contains(truth);
    assert!(found.iter().all(held), "{found:?}");
}

/// Only how long a rank waited in all is known there.
#[test]
fn of_several_exchanges_between_two_calls_the_limits_are_known() {
    let delayed = programs::several_halos(&mut Random::new(3), &mut Random::new(4));
    let (truth, gain) = of_exchange(&delayed).unwrap();
    assert_eq!(
        (gain.seconds, gain.unknown),
        (None, Some("several exchanges of messages lie between two collective calls"))
    );
    assert!((gain.least.unwrap()..=1.05 * gain.most.unwrap()).contains(&truth), "{gain:?} for {truth}");
}

/// Rank 0 waits for rank 1 before a call of its own, and then both meet, so many times.
fn waiting_before_a_call_of_one_rank(times: u64) -> Gain {
    let ranks = [0u64, 1].map(|number| {
        let mut rank = SyntheticRank::new(number as u32, 2).stamped();
        let own = rank.communicator(77 + number, 1, 0, None);
        let [alone, together] = [rank.operation("MPI_Allreduce", own, 8), rank.operation("MPI_Allreduce", 0, 8)];
        for k in 1..=times {
            let begin = 1_000_000 * k + 900_000;
            rank.call(alone, begin, begin + 1000);
            if number == 0 {
                rank.exchanged(1, 500_000, 1);
            }
            rank.call(together, begin + 2000, begin + 10_000);
        }
        rank
    });
    let awaits = |loss: &Loss| loss.kind == LossKind::PointToPoint && loss.partner == Some(1);
    predicted(&ranks, awaits).pop().expect("rank 0 waits")
}

#[test]
fn waiting_before_a_call_of_one_rank_counts_before_its_next_one() {
    let gain = waiting_before_a_call_of_one_rank(50);
    assert!((gain.seconds.unwrap() - 50.0 * 500e-6).abs() < 1e-3, "{gain:?}");
}

#[test]
fn beside_point_to_point_calls_twenty_calls_of_all_ranks_are_enough() {
    let gain = waiting_before_a_call_of_one_rank(20);
    assert!((gain.seconds.unwrap() - 20.0 * 500e-6).abs() < 1e-3, "{gain:?}");
    let gain = waiting_before_a_call_of_one_rank(19);
    let why = "too few collective calls lie between the point-to-point ones";
    assert_eq!((gain.seconds, gain.unknown), (None, Some(why)));
}

/// A simulated machine with three ranks.
struct Machine {
    now: [u64; 3],
    ranks: Vec<SyntheticRank>,
    wake_up: WakeUp,
    random: Random,
}

/// A rank that had to wait wakes up late, by up to so many ns; true: and by no more than it waited.
#[derive(Clone, Copy)]
struct WakeUp(f64, bool);

const PROMPT: WakeUp = WakeUp(0.0, false);

impl Machine {
    fn new(wake_up: WakeUp, seed: u64) -> Machine {
        let ranks = (0..3).map(|rank| SyntheticRank::new(rank, 3).stamped()).collect();
        Machine { now: [1_000_000; 3], ranks, wake_up, random: Random::new(seed) }
    }

    fn message(&mut self, function: &str, flags: u32, [rank, partner]: [usize; 2], exit: u64) {
        let entry = MessageEntry { flags, partner: partner::known(0, partner as u32), tag: 1, ..Default::default() };
        self.ranks[rank].message(function, entry, None, 8, [self.now[rank], exit]);
        self.now[rank] = exit;
    }

    /// When it was sent.
    fn send(&mut self, rank: usize, to: usize) -> u64 {
        let sent = self.now[rank];
        self.message("MPI_Send", message::SEND, [rank, to], sent + 1_000);
        sent
    }

    fn receive(&mut self, rank: usize, from: usize, sent: u64) {
        let WakeUp(most, is_bounded) = self.wake_up;
        let waits = sent.saturating_sub(self.now[rank]);
        let late = (most * self.random.uniform()) as u64;
        let late = if is_bounded || waits == 0 { late.min(waits) } else { late };
        self.message("MPI_Recv", message::RECEIVE, [rank, from], self.now[rank].max(sent) + 2_000 + late);
    }

    fn compute(&mut self, rank: usize, ns: u64) {
        self.now[rank] += ns + (2_000.0 * self.random.uniform()) as u64;
    }

    /// When all have ended, and the ranks.
    fn end(mut self) -> (u64, Vec<SyntheticRank>) {
        let end = *self.now.iter().max().unwrap();
        for (rank, now) in self.ranks.iter_mut().zip(self.now) {
            rank.times.rank.finalize_enter = now;
            rank.header.last_anchor.tick = end;
            let operation = rank.operation("MPI_Barrier", 0, 0);
            rank.call(operation, 10, 20);
        }
        (end, self.ranks)
    }
}

/// A program of so many items, in which rank 1 takes so much longer for each.
type Program = fn(u64, u64, WakeUp, u64) -> (u64, Vec<SyntheticRank>);

/// Ranks hand on items one by one.
fn pipeline(items: u64, delay: u64, wake_up: WakeUp, seed: u64) -> (u64, Vec<SyntheticRank>) {
    let mut machine = Machine::new(wake_up, seed);
    for _ in 0..items {
        let mut sent = 0;
        for rank in 0..3 {
            if rank > 0 {
                machine.receive(rank, rank - 1, sent);
            }
            machine.compute(rank, 100_000 + if rank == 1 { delay } else { 0 });
            if rank < 2 {
                sent = machine.send(rank, rank + 1);
            }
        }
    }
    machine.end()
}

/// Rank 0 gives an item to each of the others, and waits for both.
fn workers(items: u64, delay: u64, wake_up: WakeUp, seed: u64) -> (u64, Vec<SyntheticRank>) {
    let mut machine = Machine::new(wake_up, seed);
    for _ in 0..items {
        let given = [1, 2].map(|worker| machine.send(0, worker));
        let done = [1, 2].map(|worker| {
            machine.receive(worker, 0, given[worker - 1]);
            machine.compute(worker, 100_000 + if worker == 1 { delay } else { 0 });
            machine.send(worker, 0)
        });
        [1, 2].into_iter().for_each(|worker| machine.receive(0, worker, done[worker - 1]));
    }
    machine.end()
}

/// The truth, and the gain without what makes rank 1 late.
fn of_program(program: Program, delay: u64, wake_up: WakeUp, seed: u64) -> (f64, Gain) {
    let (with, ranks) = program(200, delay, wake_up, seed);
    let (without, _) = program(200, 0, wake_up, seed);
    let is_late = |loss: &Loss| loss.message.is_some() && loss.because == Some(Because::Computing);
    let gains = predicted(&ranks, |loss| is_late(loss) && loss.rank == Some(1));
    let gain = gains.into_iter().max_by(|one, other| one.seconds.partial_cmp(&other.seconds).unwrap());
    ((with - without) as f64 / 1e9, gain.unwrap())
}

/// The truth of these is of programs whose ranks wake up as late without the delay.
#[test]
fn the_limits_hold_the_truth_of_pipelines_and_of_workers_that_wake_up_late() {
    let mut random = Random::new(17);
    // Of workers that wake up late after the shortest wait the least gain is above the truth in two thirds.
    for (program, is_bounded) in [(pipeline as Program, true), (pipeline, false), (workers, true)] {
        let held = |seed: u64| {
            let delay = 200_000 + (800_000.0 * random.uniform()) as u64;
            let wake_up = WakeUp(600_000.0 * random.uniform(), is_bounded);
            let (truth, gain) = of_program(program, delay, wake_up, seed);
            let [least, most] = [gain.least, gain.most].map(Option::unwrap);
            (0.95 * least..=1.05 * most).contains(&truth)
        };
        let held = (0..40).map(held).filter(|held| *held).count();
        assert!(held >= 38, "{held} of 40 with {is_bounded}");
    }
}

#[test]
fn a_delay_in_a_pipeline_costs_what_the_job_takes_longer() {
    for (seed, delay) in (0..).zip([30_000, 60_000, 150_000]) {
        let (truth, gain) = of_program(pipeline, delay, PROMPT, seed);
        let [least, gain, most] = [gain.least, gain.seconds, gain.most].map(Option::unwrap);
        assert!((gain - truth).abs() < 0.05 * truth, "{delay}: {gain} for {truth}");
        assert!(least <= 1.02 * truth && most >= 0.98 * truth, "{delay}: {least} to {most} for {truth}");
    }
}

/// A rank that waits yields its processor, and gets it back late: what it waits in its next call is less by that, while
/// the job takes as long as rank 1 does.
#[test]
fn late_wake_ups_are_no_part_of_the_work() {
    let (with, ranks) = pipeline(200, 900_000, WakeUp(600_000.0, false), 5);
    let (without, _) = pipeline(200, 0, PROMPT, 5);
    let truth = (with - without) as f64 / 1e9;
    let is_late = |loss: &Loss| loss.message.is_some() && loss.because == Some(Because::Computing);
    let gains = predicted(&ranks, |loss| is_late(loss) && loss.rank == Some(1));
    let [least, gain, most] = [gains[0].least, gains[0].seconds, gains[0].most].map(Option::unwrap);
    assert!((gain - truth).abs() < 0.05 * truth, "{gain} for {truth}");
    assert!(least <= truth && most >= 0.98 * truth, "{least} to {most} for {truth}");
}

/// Rank 1 computes for longer before it posts a receive, and sends right after that.
#[test]
fn a_delay_lies_before_the_calls_that_precede_the_late_one() {
    let mut ranks: Vec<SyntheticRank> = (0..2).map(|rank| SyntheticRank::new(rank, 2).stamped()).collect();
    let entry = |flags, rank| MessageEntry { flags, partner: partner::known(0, rank), tag: 1, ..Default::default() };
    for k in 0..50u64 {
        for (number, rank) in (0u64..).zip(&mut ranks) {
            let (other, at) = (1 - number as u32, 1_000_000 * (k + 1) + 600_000 * number);
            let mut start = |flags, function, enter| {
                rank.message(function, entry(flags | message::STARTS, other), None, 8, [enter, enter + 500])
            };
            let receive = start(message::RECEIVE, "MPI_Irecv", at);
            start(message::SEND, "MPI_Isend", at + 1_000);
            let exit = 1_000_000 * (k + 1) + 604_000;
            let complete = entry(message::RECEIVE | message::COMPLETES, other);
            rank.message("MPI_Wait", complete, Some(receive), 0, [at + 2_000, exit]);
        }
    }
    for rank in &mut ranks {
        rank.times.rank.finalize_enter = 51_700_000;
        let operation = rank.operation("MPI_Barrier", 0, 0);
        rank.call(operation, 10, 20);
    }
    let gains = predicted(&ranks, |loss| loss.message.is_some() && loss.rank == Some(1));
    let gain: f64 = gains.iter().map(|gain| gain.seconds.unwrap()).sum();
    // All but the first wait.
    assert!((gain - 50.0 * 598e-6).abs() < 1e-3, "{gains:?}");
}

/// Rank 2 waits for rank 1, which waits for rank 0: the lateness of rank 1 begins there.
#[test]
fn a_late_rank_that_waits_for_a_message_leads_to_the_rank_that_sends_it() {
    let mut ranks: Vec<SyntheticRank> = (0..3).map(|rank| SyntheticRank::new(rank, 3).stamped()).collect();
    let entry =
        |flags, rank| MessageEntry { flags, partner: partner::known(0, rank), tag: 1, ..MessageEntry::default() };
    for k in 0..20u64 {
        let at = 1_000_000 * (k + 1);
        ranks[0].message("MPI_Send", entry(message::SEND, 1), None, 8, [at + 500_000, at + 501_000]);
        ranks[1].message("MPI_Recv", entry(message::RECEIVE, 0), None, 0, [at, at + 502_000]);
        ranks[1].message("MPI_Send", entry(message::SEND, 2), None, 8, [at + 510_000, at + 511_000]);
        ranks[2].message("MPI_Recv", entry(message::RECEIVE, 1), None, 0, [at + 1_000, at + 512_000]);
    }
    for rank in &mut ranks {
        rank.times.rank.finalize_enter = 22_000_000;
        let operation = rank.operation("MPI_Barrier", 0, 0);
        rank.call(operation, 10, 20);
    }
    let (losses, gains) = predicted_of(&ranks, |account| {
        account.losses(false).into_iter().filter(|loss| loss.message.is_some()).collect()
    });
    let origin = |rank| {
        let place = losses.iter().position(|loss| loss.rank == Some(rank)).unwrap();
        gains[place].origin.iter().map(|origin| (origin.rank, origin.because)).collect::<Vec<_>>()
    };
    let computing = Some(Because::Computing);
    assert_eq!(origin(0), [(Some(0), computing)]);
    assert_eq!(origin(1), [(Some(1), Some(Because::PointToPoint)), (Some(0), computing)]);
    // 499 us of each 500 of rank 2's wait are rank 0's.
    let waited: f64 = losses.iter().filter(|loss| loss.rank == Some(1)).map(|loss| loss.ns).sum();
    assert!((waited - 20.0 * 509_000.0).abs() < 1.0, "{losses:?}");
}

#[test]
fn without_hanging_the_job_ends_with_the_rank_that_went_on_for_longest() {
    let rank = |wall_ns, hung_ns| {
        let mut rank = RankAccount { wall_ns, ..RankAccount::default() };
        rank.parts[RankPart::Hung] = hung_ns;
        rank
    };
    let ranks = vec![rank(5e9, 2e9), rank(4e9, 0.5e9)];
    let gain = super::without_hanging(&Account { ranks, ..Account::default() });
    assert_eq!(gain, Gain { seconds: Some(1.5), ..Gain::default() });
}
