//! How often the intervals hold the truth, from fixed seeds.

use mpitrace_testing::Random;

use super::{Latency, OneSize, centre, hockney, latency};

const SETS: usize = 400;

/// Times about one that is true in the median: log-normal, each so far like the one before it, and one in 25 slow.
fn times(random: &mut Random, truth: f64, count: usize, memory: f64) -> Vec<f64> {
    let mut state = random.normal();
    (0..count)
        .map(|_| {
            state = memory * state + (1.0 - memory * memory).sqrt() * random.normal();
            // As many that are slower than they would be as that are faster: the median stays where it is.
            let sudden = if random.uniform() < 0.04 { 3.0 * random.normal().signum() * random.uniform() } else { 0.0 };
            truth * (0.05 * state + sudden.max(-0.3)).exp()
        })
        .collect()
}

/// How many of the sets hold alpha, and beta, and how many have an interval.
fn held(sizes: &[u64], count: usize, memory: f64, seed: u64) -> ([usize; 2], usize) {
    let mut random = Random::new(seed);
    let (alpha, beta) = (800.0, 0.2);
    let (mut held, mut stated) = ([0, 0], 0);
    for _ in 0..SETS {
        let at = |&bytes: &u64| {
            let ns = times(&mut random, alpha + beta * bytes as f64, count, memory);
            OneSize { bytes, times: count, median_ns: centre(&ns).unwrap() }
        };
        let sizes: Vec<OneSize> = sizes.iter().map(at).collect();
        let found = hockney(&sizes).unwrap();
        let holds = |interval: Option<[f64; 2]>, truth: f64| {
            interval.is_some_and(|[lower, upper]| (lower..=upper).contains(&truth))
        };
        stated += usize::from(found.alpha_ns.interval.is_some());
        held[0] += usize::from(holds(found.alpha_ns.interval, alpha));
        held[1] += usize::from(holds(found.beta_ns_per_byte.interval, beta));
    }
    (held, stated)
}

/// 95 of 100, and by chance 93 of 100 (two standard errors of 400 sets).
#[test]
fn the_intervals_of_a_line_hold_the_truth_in_93_of_100_sets_at_least() {
    let decades: Vec<u64> = (0..11).map(|k| 1 << (2 * k)).collect();
    let cases =
        [(&decades[..], 50, 0.0), (&decades[..4], 50, 0.0), (&decades[..], 200, 0.6), (&decades[3..6], 20, 0.0)];
    for (case, &(sizes, count, memory)) in cases.iter().enumerate() {
        let (held, stated) = held(sizes, count, memory, 100 + case as u64);
        let which = format!("{sizes:?}, {count} times: {held:?} of {stated} of {SETS}");
        assert!(held.iter().all(|&held| held * 100 >= 93 * stated) && stated * 100 >= 85 * SETS, "{which}");
    }
}

/// An interval that always holds it says nothing: it is no wider than twice the spread of the estimates asks for.
#[test]
fn the_intervals_of_a_line_are_not_wider_than_they_need_to_be() {
    let mut random = Random::new(7);
    let (mut values, mut widths) = (Vec::new(), Vec::new());
    for _ in 0..SETS {
        let at = |k: u32| {
            let bytes = 1 << (2 * k);
            let ns = times(&mut random, 800.0 + 0.2 * bytes as f64, 50, 0.0);
            OneSize { bytes, times: 50, median_ns: centre(&ns).unwrap() }
        };
        let sizes: Vec<OneSize> = (0..11).map(at).collect();
        let found = hockney(&sizes).unwrap().alpha_ns;
        values.push(found.value);
        widths.push(found.interval.map(|[lower, upper]| upper - lower).unwrap());
    }
    let spread = crate::moments(&values).unwrap().standard_deviation.unwrap();
    let width = crate::moments(&widths).unwrap().mean;
    assert!(width < 2.0 * 3.92 * spread, "{width} for a standard deviation of {spread}");
}

#[test]
fn the_interval_of_l_holds_the_truth_in_93_of_100_sets_at_least() {
    let mut random = Random::new(11);
    let mut held = 0;
    for _ in 0..SETS {
        let mut of = |truth: f64| centre(&times(&mut random, truth, 60, 0.0)).unwrap();
        let (time, send, receive, gap) = (of(1000.0), of(180.0), of(120.0), of(0.2));
        let Latency::Known(found) = latency(8, time, [send, receive], gap) else { panic!("a latency") };
        let truth = 1000.0 - 180.0 - 120.0 - 7.0 * 0.2;
        held += usize::from(found.interval.is_some_and(|[lower, upper]| (lower..=upper).contains(&truth)));
    }
    assert!(held * 100 >= 93 * SETS, "{held} of {SETS}");
}
