//! Benchmarks whose synchronisation is known.

use super::*;
use mpitrace_testing::Random;
use mpitrace_testing::synthetic::{self, SyntheticRank};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

const RANKS: u32 = 4;

/// The ranks' actions before a repetition that they may enter at `free[rank]`: the barriers' entries and exits, and
/// when they enter.
type Step<'s> = dyn FnMut(u64, &[u64]) -> (Vec<Vec<(u64, u64)>>, Vec<u64>) + 's;

fn benchmark(name: &str, step: &mut Step<'_>) -> SynchronisationCheck {
    let mut random = Random::new(5);
    let mut ranks: Vec<SyntheticRank> = (0..RANKS).map(|rank| SyntheticRank::new(rank, RANKS)).collect();
    let operations: Vec<[u32; 2]> = ranks
        .iter_mut()
        .map(|rank| [rank.operation("MPI_Allreduce", 0, 8), rank.operation("MPI_Barrier", 0, 0)])
        .collect();
    let mut free = vec![1_000_000; RANKS as usize];
    for k in 0..300 {
        let (barriers, entered) = step(k, &free);
        let slow = if k % 50 == 20 { 150_000 } else { 0 };
        let latest = entered.iter().max().unwrap();
        for (index, rank) in ranks.iter_mut().enumerate() {
            barriers.iter().for_each(|barrier| rank.call(operations[index][1], barrier[index].0, barrier[index].1));
            let exit = latest + 20_000 + slow + (2000.0 * random.uniform()) as u64;
            rank.call(operations[index][0], entered[index], exit);
            free[index] = exit + 100;
        }
    }
    let path = std::env::temp_dir().join(format!("mpitrace-synchronisation-{}-{name}", std::process::id()));
    synthetic::write(&path, &ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    std::fs::remove_file(&path).unwrap();
    let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
    check(&Observed::new(&trace, &operations, &clock, 0)).unwrap()
}

/// A barrier that the ranks leave up to 3 us apart.
fn barrier(random: &mut Random, free: &[u64]) -> Vec<(u64, u64)> {
    let latest = *free.iter().max().unwrap();
    free.iter().map(|&enter| (enter, latest + 1000 + (3000.0 * random.uniform()) as u64)).collect()
}

fn after(barrier: &[(u64, u64)]) -> Vec<u64> {
    barrier.iter().map(|(_, exit)| exit + 60).collect()
}

#[test]
fn barriers_are_counted_and_their_exit_skew_is_told() {
    let mut random = Random::new(1);
    let found = benchmark("barrier", &mut |_, free| {
        let one = barrier(&mut random, free);
        let entered = after(&one);
        (vec![one], entered)
    });
    assert_eq!((found.synchronisation, found.share), (Synchronisation::Barrier, 1.0));
    let (start, left) = (found.start.unwrap(), found.barrier_exit.unwrap());
    assert_eq!(start, left, "the ranks enter as they leave the barrier");
    assert!((1500.0..2500.0).contains(&left.median_ns) && left.max_ns <= 3000.0, "{left:?}");
    assert_eq!(found.wait_ns, Some(60.0));
    assert_eq!((&found.window, found.apart.len()), (&None, 0));

    let found = benchmark("double", &mut |_, free| {
        let one = barrier(&mut random, free);
        let two = barrier(&mut random, &after(&one));
        let entered = after(&two);
        (vec![one, two], entered)
    });
    assert_eq!(found.synchronisation, Synchronisation::DoubleBarrier);
    // The first barrier's are the set-up's affair; every tenth repetition without one is told.
    let found = benchmark("most", &mut |k, free| match k % 10 {
        9 => (Vec::new(), free.to_vec()),
        _ => {
            let one = barrier(&mut random, free);
            let entered = after(&one);
            (vec![one], entered)
        }
    });
    assert_eq!(found.synchronisation, Synchronisation::Barrier);
    assert!((found.share - 0.9).abs() < 0.01, "{}", found.share);
}

#[test]
fn without_anything_between_them_repetitions_are_not_synchronised() {
    let found = benchmark("none", &mut |_, free| (Vec::new(), free.to_vec()));
    assert_eq!((found.synchronisation, found.share), (Synchronisation::None, 1.0));
    assert!(found.barrier_exit.is_none() && found.wait_ns.is_none() && found.window.is_none());
    let (start, exit) = (found.start.unwrap(), found.exit.unwrap());
    assert!((start.median_ns - exit.median_ns).abs() < 50.0, "{start:?} {exit:?}");
}

#[test]
fn windows_tell_what_the_benchmark_throws_away_and_what_it_does_not_see() {
    let mut random = Random::new(2);
    let width = 100_000;
    let found = benchmark("window", &mut |k, free| {
        let begin = 2_000_000 + width * k;
        let mut enter = |free: u64| (begin + 20 + (60.0 * random.uniform()) as u64).max(free);
        let mut entered: Vec<u64> = free.iter().map(|&free| enter(free)).collect();
        if k % 100 == 77 {
            // It lost its processor while it waited.
            entered[3] += 30_000;
        }
        (Vec::new(), entered)
    });
    assert_eq!(found.synchronisation, Synchronisation::Window);
    let window = found.window.unwrap();
    assert!((window.width_ns / width as f64 - 1.0).abs() < 1e-3, "{window:?}");
    let slow: Vec<u64> = (0..300).filter(|k| k % 50 == 20).collect();
    assert_eq!(window.expired, slow);
    assert_eq!(window.passed, slow.iter().map(|k| k + 1).collect::<Vec<u64>>());
    assert_eq!(window.unseen, [77, 177, 277]);
    assert!(found.start.unwrap().median_ns < 100.0);
}

#[test]
fn a_time_agreed_on_after_the_barrier_is_told_from_the_barrier() {
    let mut random = Random::new(3);
    let found = benchmark("round", &mut |k, free| {
        let one = barrier(&mut random, free);
        let start = one.iter().map(|(_, exit)| *exit).max().unwrap() + 10_000;
        let mut entered: Vec<u64> = one.iter().map(|_| start + (80.0 * random.uniform()) as u64).collect();
        if k % 60 == 40 {
            // The agreed time reached this rank too late.
            entered[2] += 7000;
        }
        (vec![one], entered)
    });
    assert_eq!(found.synchronisation, Synchronisation::RoundTime);
    assert_eq!(found.apart, [40, 100, 160, 220, 280]);
    let (start, left) = (found.start.unwrap(), found.barrier_exit.unwrap());
    assert!(start.median_ns < 100.0 && left.median_ns > 1500.0, "{start:?} {left:?}");
}

/// 20 to 60 us of work on each rank, however far apart the barrier lets the ranks go.
#[test]
fn work_after_a_barrier_is_no_agreed_time() {
    for (seed, skew) in (0..20).flat_map(|seed| [50.0, 300.0, 3000.0, 30_000.0].map(|skew| (seed, skew))) {
        let mut random = Random::new(100 + seed);
        let found = benchmark(&format!("work-{seed}-{skew}"), &mut |_, free| {
            let latest = *free.iter().max().unwrap();
            let leave = |random: &mut Random| latest + 1000 + (skew * random.uniform()) as u64;
            let one: Vec<(u64, u64)> = free.iter().map(|&enter| (enter, leave(&mut random))).collect();
            let work = |random: &mut Random| 20_000 + (40_000.0 * random.uniform()) as u64;
            let entered = one.iter().map(|(_, exit)| exit + work(&mut random)).collect();
            (vec![one], entered)
        });
        assert_eq!(found.synchronisation, Synchronisation::Barrier, "seed {seed}, skew {skew}");
    }
}

#[test]
fn messages_tell_a_dissemination_barrier_where_they_were_counted() {
    let rows = 40;
    let mut observed = Observed {
        repetition: (0..rows).collect(),
        enter_ns: vec![(0..rows).map(|k| 1e5 * k as f64 + 1e3 * (k % 7) as f64).collect(); 5],
        exit_ns: vec![(0..rows).map(|k| 1e5 * k as f64 + 9e4).collect(); 5],
        barriers: vec![[0, 0]; rows as usize],
        barrier_exit_ns: vec![vec![f64::NAN; rows as usize]; 5],
        // Five ranks need three rounds.
        messages: Some([vec![vec![3; rows as usize]; 5], vec![vec![3; rows as usize]; 5]]),
        error_ns: None,
        asked_for: None,
    };
    assert_eq!(check(&observed).unwrap().synchronisation, Synchronisation::Dissemination);
    observed.messages = Some([vec![vec![2; rows as usize]; 5], vec![vec![2; rows as usize]; 5]]);
    assert_eq!(check(&observed).unwrap().synchronisation, Synchronisation::None);
    assert_eq!(check(&Observed::default()), None);
}

/// Repetitions of ReproMPI on eight ranks: what the ranks do before one they may enter at `free`, as the times at which
/// they leave the barrier (none: not a number) and enter, with the messages that each sent and received.
struct Scheme {
    name: &'static str,
    synchronisation: Synchronisation,
    /// ns between the windows; 0 for none.
    window: f64,
    barrier: bool,
    messages: u64,
    /// ns from the barrier to the agreed time; 0 for none.
    agreed: f64,
}

const SCHEMES: [Scheme; 5] = [
    Scheme {
        name: "MPI_Barrier",
        synchronisation: Synchronisation::Barrier,
        window: 0.0,
        barrier: true,
        messages: 0,
        agreed: 0.0,
    },
    Scheme {
        name: "dissem_barrier",
        synchronisation: Synchronisation::Dissemination,
        window: 0.0,
        barrier: false,
        messages: 3,
        agreed: 0.0,
    },
    Scheme {
        name: "window",
        synchronisation: Synchronisation::Window,
        window: 120_000.0,
        barrier: false,
        messages: 0,
        agreed: 0.0,
    },
    Scheme {
        name: "roundtime",
        synchronisation: Synchronisation::RoundTime,
        window: 0.0,
        barrier: true,
        messages: 1,
        agreed: 8_000.0,
    },
    Scheme {
        name: "none",
        synchronisation: Synchronisation::None,
        window: 0.0,
        barrier: false,
        messages: 0,
        agreed: 0.0,
    },
];

/// `disturbed`: the share of repetitions in which a rank loses its processor for up to 300 us; `skew`: by how much the
/// ranks leave a barrier apart; `offsets`: the errors of their clocks. All in ns.
fn observed(scheme: &Scheme, seed: u64, disturbed: f64, skew: f64, offsets: f64) -> Observed {
    const RANKS: usize = 8;
    const ROWS: usize = 200;
    let mut random = Random::new(seed);
    let offset: Vec<f64> = (0..RANKS).map(|_| offsets * random.normal()).collect();
    let empty = || vec![Vec::new(); RANKS];
    let mut found = Observed {
        repetition: (0..ROWS as u64).collect(),
        barriers: vec![[u32::from(scheme.barrier); 2]; ROWS],
        enter_ns: empty(),
        exit_ns: empty(),
        barrier_exit_ns: empty(),
        messages: Some([vec![vec![scheme.messages; ROWS]; RANKS], vec![vec![scheme.messages; ROWS]; RANKS]]),
        ..Observed::default()
    };
    let mut free = [1e6; RANKS];
    for row in 0..ROWS {
        let latest = free.iter().copied().fold(0.0, f64::max);
        let left: Vec<f64> = (0..RANKS).map(|_| latest + 1500.0 + skew * random.uniform()).collect();
        let begin = match () {
            () if scheme.window > 0.0 => 2e6 + scheme.window * row as f64,
            () if scheme.agreed > 0.0 => latest + 1500.0 + skew + scheme.agreed,
            () => 0.0,
        };
        let mut entered: Vec<f64> = (0..RANKS)
            .map(|rank| {
                let from = match scheme.synchronisation {
                    Synchronisation::None | Synchronisation::Window => free[rank],
                    _ => left[rank],
                };
                from.max(begin) + 40.0 + 30.0 * random.uniform()
            })
            .collect();
        if random.uniform() < disturbed {
            entered[(random.bits() % RANKS as u64) as usize] += 300_000.0 * random.uniform();
        }
        let last = entered.iter().copied().fold(0.0, f64::max);
        for rank in 0..RANKS {
            let exit = last + 15_000.0 * (1.0 + 0.1 * random.normal().abs()) + 500.0 * random.uniform();
            found.enter_ns[rank].push(entered[rank] + offset[rank]);
            found.exit_ns[rank].push(exit + offset[rank]);
            found.barrier_exit_ns[rank].push(if scheme.barrier { left[rank] + offset[rank] } else { f64::NAN });
            free[rank] = exit + 200.0;
        }
    }
    found
}

#[test]
fn every_scheme_of_reprompi_is_named_rightly_or_not_at_all() {
    for scheme in &SCHEMES {
        for seed in 0..20 {
            for disturbed in [0.0, 0.02, 0.1, 0.3] {
                for (skew, offsets) in [(200.0, 0.0), (3000.0, 0.0), (3000.0, 5000.0), (20_000.0, 300.0)] {
                    let whole = observed(scheme, seed, disturbed, skew, offsets);
                    for messages in [true, false] {
                        for asked in [true, false] {
                            let mut one = whole.clone();
                            one.messages = one.messages.filter(|_| messages);
                            one.asked_for = asked.then_some(scheme.synchronisation);
                            let found = check(&one).unwrap().synchronisation;
                            let what = format!(
                                "{} seed {seed} disturbed {disturbed} skew {skew} offsets {offsets} {messages} {asked}",
                                scheme.name
                            );
                            let right = [scheme.synchronisation, Synchronisation::None];
                            assert!(right.contains(&found), "{what}: {found:?}");
                            let quiet = disturbed == 0.0 && (messages || !scheme.name.starts_with("dissem"));
                            assert!(!quiet || found == scheme.synchronisation, "{what}: {found:?}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn windows_that_are_too_short_are_not_called_no_synchronisation() {
    let short = Scheme { window: 10_000.0, ..SCHEMES[2] };
    let mut observed = observed(&short, 1, 0.0, 1000.0, 0.0);
    observed.asked_for = Some(Synchronisation::Window);
    let found = check(&observed).unwrap();
    assert_eq!((found.synchronisation, found.asked_for), (Synchronisation::None, Some(Synchronisation::Window)));
}
