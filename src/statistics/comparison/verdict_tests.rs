//! Comparisons of run times whose truth is known.

use mpitrace_testing::Random;

use super::*;

/// A repetition's run time by the quantile function through these points, (share, µs): `random` decides which share.
fn draw(points: &[(f64, f64)], random: &mut Random) -> f64 {
    let share = random.uniform();
    let above = points.iter().position(|(limit, _)| *limit >= share).unwrap().max(1);
    let ((low, from), (high, to)) = (points[above - 1], points[above]);
    1000.0 * (from + (share - low) / (high - low) * (to - from))
}

fn sample(points: &[(f64, f64)], repetitions: usize, random: &mut Random) -> Vec<f64> {
    (0..repetitions).map(|_| draw(points, random)).collect()
}

/// A run of which all is settled, and good below two medians.
fn run(run_times: &[f64]) -> Run {
    let median = crate::median(&mut run_times.to_vec()).unwrap();
    let good: Vec<f64> = run_times.iter().copied().filter(|&x| x < 2.0 * median).collect();
    Run::new(0, &good, run_times).unwrap()
}

/// As runs of one side, in this order.
fn numbered(runs: &[Run]) -> Vec<Run> {
    runs.iter().enumerate().map(|(number, run)| Run { number, ..*run }).collect()
}

fn compared(a: &[Run], b: &[Run], settings: Settings) -> Comparison {
    compare(&numbered(a), &numbered(b), settings).unwrap()
}

const TESTS: [Test; 3] = [Test::Permutation, Test::Wilcoxon, Test::Welch];

/// Seed thesis 003, figures 4.16 to 4.18: 10 000 repetitions each; medians of 26.94 and 27.18 µs with recursive
/// doubling and 30.28 with Rabenseifner's algorithm, 95th percentiles of 69.38, 69.62 and 68.19. The steep rise of the
/// latter comes later and goes further up.
const DOUBLING: [(f64, f64); 6] = [(0.0, 23.0), (0.5, 26.94), (0.7, 30.0), (0.75, 62.0), (0.95, 69.38), (1.0, 80.0)];
const DOUBLING_AGAIN: [(f64, f64); 6] =
    [(0.0, 23.1), (0.5, 27.18), (0.7, 30.2), (0.75, 62.1), (0.95, 69.62), (1.0, 80.0)];
const RABENSEIFNER: [(f64, f64); 6] =
    [(0.0, 26.0), (0.5, 30.28), (0.8, 34.0), (0.85, 60.0), (0.95, 68.19), (1.0, 72.0)];

#[test]
fn the_thesis_own_example_is_a_crossing_and_no_winner() {
    let mut random = Random::new(416);
    let [one, two, three] =
        [DOUBLING, DOUBLING_AGAIN, RABENSEIFNER].map(|points| run(&sample(&points, 10_000, &mut random)));
    let again = run(&sample(&RABENSEIFNER, 10_000, &mut random));
    let found = compared(&[one, two], &[three, again], Settings::default());
    assert_eq!(found.verdict(), Verdict::Crossing);
    assert!(found.effect.shift_ns > 0.0, "doubling is faster in the median: {found:?}");
    assert_eq!(compared(&[three, again], &[one, two], Settings::default()).verdict(), Verdict::Crossing);
    // Of one run it is seen, and not claimed.
    for doubling in [&[one][..], &[two], &[one, two]] {
        let found = compared(doubling, &[three], Settings::default());
        assert_eq!((found.crossing.seems_to_cross(), found.crossing.crosses()), (Some(true), None));
        assert_eq!((found.p, found.verdict()), (None, Verdict::Undecided));
    }
    // The two runs of recursive doubling are virtually identical.
    assert_eq!(compared(&[one], &[two], Settings::default()).verdict(), Verdict::Undecided);
}

#[test]
fn many_runs_that_cross_are_a_crossing_though_the_test_is_sure() {
    let mut random = Random::new(417);
    let mut runs = |points: &[(f64, f64)]| (0..8).map(|_| run(&sample(points, 2000, &mut random))).collect::<Vec<_>>();
    let found = compared(&runs(&DOUBLING), &runs(&RABENSEIFNER), Settings::default());
    assert!(found.p.unwrap() < 0.01);
    assert_eq!(found.verdict(), Verdict::Crossing);
}

#[test]
fn too_few_repetitions_for_a_tail_cannot_cross() {
    let of = |x: f64| run(&vec![x; 71]);
    let found = compared(&[of(10.0)], &[of(20.0)], Settings::default());
    assert_eq!((found.crossing.crosses(), found.verdict()), (None, Verdict::Undecided));
    assert_eq!(crossing(&[run(&[1.0; 72])], &[run(&[1.0; 72])]).unwrap().seems_to_cross(), Some(false));
}

/// Runs whose medians scatter by 2 % between the runs.
fn scattering(runs: usize, middle: f64, random: &mut Random) -> Vec<Run> {
    (0..runs)
        .map(|_| {
            let level = middle * (1.0 + 0.02 * (random.uniform() + random.uniform() + random.uniform() - 1.5));
            run(&(0..120).map(|_| level * (1.0 + 0.1 * random.uniform())).collect::<Vec<_>>())
        })
        .collect()
}

#[test]
fn of_equal_sides_no_more_than_5_in_100_are_told_apart_and_intervals_hold_0_in_95() {
    let mut random = Random::new(6);
    for test in TESTS {
        let settings = Settings { test, ..Settings::default() };
        let (mut apart, mut crossed, mut covered) = (0, 0, 0);
        // Each interval of a test of permutation takes 10 ms.
        let count = if test == Test::Permutation { 300 } else { 1000 };
        for _ in 0..count {
            let [a, b] = [0, 1].map(|_| scattering(8, 100.0, &mut random));
            let found = compared(&a, &b, settings);
            match found.verdict() {
                Verdict::A | Verdict::B => apart += 1,
                Verdict::Crossing => crossed += 1,
                Verdict::None | Verdict::Undecided => {}
            }
            let [low, high] = found.effect.interval_ns.unwrap();
            covered += i32::from(low <= 0.0 && 0.0 <= high);
        }
        eprintln!(
            "{test:?}: of {count} comparisons {apart} told apart, {crossed} crossings, {covered} intervals with 0"
        );
        // Three standard deviations of a share of 5 %.
        let most = 0.05 * f64::from(count) + 3.0 * (0.0475 * f64::from(count)).sqrt();
        assert!(
            f64::from(apart) <= most && f64::from(count - covered) <= most,
            "{test:?}: {apart} apart, {covered} covered"
        );
        assert_eq!(crossed, 0, "{test:?}");
    }
}

#[test]
fn a_difference_of_a_tenth_is_found_in_either_direction() {
    let mut random = Random::new(7);
    let [slow, fast] = [110.0, 100.0].map(|middle| scattering(8, middle, &mut random));
    for test in TESTS {
        let of = |a: &[Run], b: &[Run], alternative| compared(a, b, Settings { test, alternative, pairs: 1 }).verdict();
        use Alternative::{Greater, Less, TwoSided};
        assert_eq!(
            [TwoSided, Less, Greater].map(|way| of(&fast, &slow, way)),
            [Verdict::A, Verdict::A, Verdict::Undecided]
        );
        assert_eq!(
            [TwoSided, Less, Greater].map(|way| of(&slow, &fast, way)),
            [Verdict::B, Verdict::Undecided, Verdict::B]
        );
    }
    let found = compared(&fast, &slow, Settings::default());
    let share = found.relative.unwrap().share;
    assert!((share - 0.1).abs() < 0.02, "{share}");
    assert_eq!(found.superiority, 1.0);
}

#[test]
fn one_run_on_each_side_has_no_p_and_no_interval() {
    let [a, b] = [100.0, 200.0].map(|x| run(&[x; 100]));
    for test in TESTS {
        let found = compared(&[a], &[b], Settings { test, ..Settings::default() });
        assert_eq!((found.p, found.effect.interval_ns, found.verdict()), (None, None, Verdict::Undecided));
        assert!((found.relative.unwrap().share - 1.0).abs() < 1e-12);
        assert_eq!(found.relative.unwrap().interval, None);
    }
    // One among three has 3 ranks to be on; Welch's test has no variance of one.
    let wilcoxon = Settings { test: Test::Wilcoxon, ..Settings::default() };
    assert_eq!(compared(&[a], &[b, b], wilcoxon).p, Some(2.0 / 3.0));
    assert_eq!(compared(&[a], &[b, b], Settings::default()).p, None);
    assert!(compare(&[a], &[], Settings::default()).is_none());
}

#[test]
fn equal_run_times_promise_no_more_than_their_number_can() {
    // All of A below all of B, all runs of a side equal: of 20 orders one is this one, and one its mirror image.
    let tested = rank_sum(&[1.0; 3], &[2.0; 3], Alternative::TwoSided).unwrap();
    assert_eq!((tested.p, tested.exact), (0.1, false));
    assert_eq!(rank_sum(&[1.0; 3], &[2.0; 3], Alternative::Less).unwrap().p, 0.05);
    assert_eq!(rank_sum(&[7.0; 3], &[7.0; 5], Alternative::TwoSided).unwrap().p, 1.0);
    assert_eq!(welch(&[1.0; 3], &[2.0; 3], Alternative::TwoSided, 0.95), None);
    let zero = Run::new(0, &[0.0; 5], &[0.0; 5]).unwrap();
    assert_eq!(compared(&[zero; 2], &[zero; 2], Settings::default()).relative, None);
}

#[test]
fn sides_that_change_places_change_the_verdict_and_nothing_else() {
    let mut random = Random::new(10);
    for _ in 0..200 {
        let runs = 2 + (random.bits() % 8) as usize;
        let a = scattering(runs, 100.0, &mut random);
        let b = scattering(9, 97.0 + 6.0 * random.uniform(), &mut random);
        for test in TESTS {
            let settings = Settings { test, ..Settings::default() };
            let (there, back) = (compared(&a, &b, settings), compared(&b, &a, settings));
            let turned = match there.verdict() {
                Verdict::A => Verdict::B,
                Verdict::B => Verdict::A,
                other => other,
            };
            assert_eq!(back.verdict(), turned);
            assert!((there.p.unwrap() - back.p.unwrap()).abs() < 1e-12);
            assert!((there.effect.shift_ns + back.effect.shift_ns).abs() < 1e-9);
            assert!((there.superiority + back.superiority - 1.0).abs() < 1e-12);
            // What the test is sure of the interval does not doubt.
            if let (Some([low, high]), Some(p)) = (there.effect.interval_ns, there.p) {
                assert_eq!(p <= SIGNIFICANCE, low > 0.0 || high < 0.0, "{there:?}");
            }
        }
    }
}

#[test]
fn runs_that_went_astray_do_not_make_an_effect_of_more_than_all() {
    let a = [700.0, 710.0, 720.0, 730.0, 740.0, 750.0, 12e6, 13e6];
    let b: Vec<f64> = a[..6].iter().chain(&[760.0, 770.0]).map(|run| run - 250.0).collect();
    let found = relative(&a, &b, 0.95).unwrap();
    let [low, high] = found.interval.unwrap();
    assert!((-1.0..-0.99).contains(&low) && high < -0.3 && found.share < -0.3, "{found:?}");
    // Twice as long is twice as long, whatever the scatter.
    let twice = relative(&a, &a.map(|run| 2.0 * run), 0.95).unwrap();
    assert!((twice.share - 1.0).abs() < 1e-12, "{twice:?}");
}

/// The rates of 1000 comparisons are measured by benches/statistics: 95.6 % found, at most 6.8 % of equal sides apart.
#[test]
fn six_runs_of_which_one_in_twenty_is_disturbed_decide_a_difference_of_a_fifth() {
    let mut random = Random::new(20);
    let mut side = |middle: f64| -> Vec<Run> {
        let level = |random: &mut Random| {
            let disturbed = if random.uniform() < 0.05 { 2.0 + 48.0 * random.uniform() } else { 1.0 };
            middle * disturbed * (0.02 * random.normal()).exp()
        };
        (0..6).map(|_| run(&[level(&mut random); 100])).collect()
    };
    let (mut found, mut apart) = (0, 0);
    for _ in 0..100 {
        let (a, again, b) = (side(100.0), side(100.0), side(120.0));
        found += i32::from(compared(&a, &b, Settings::default()).verdict() == Verdict::A);
        let equal = compared(&a, &again, Settings::default()).verdict();
        apart += i32::from(!matches!(equal, Verdict::None | Verdict::Undecided));
    }
    // Three standard deviations beyond 90 and 5.5 %.
    assert!(found >= 81 && apart <= 12, "of 100 pairs {found} found, {apart} of equal sides");
}

/// Six runs a side of a call of 0.5 and of 1.3 µs, of which the machine disturbed two as a whole.
#[test]
fn disturbed_runs_make_no_interval_of_welch_s_test_reach_below_no_time_at_all() {
    let a = [495.0, 496.0, 494.0, 497.0, 493.0, 495.7].map(|x| run(&[x; 100]));
    let b = [860.0, 1_250.0, 1_327.0, 1_400.0, 6.5e6, 19.4e6].map(|x| run(&[x; 100]));
    let found = compared(&a, &b, Settings { test: Test::Welch, ..Settings::default() });
    let of = found.relative.unwrap();
    let [low, high] = of.interval.unwrap();
    assert!(-1.0 < low && low < of.share && of.share < high, "{found:?}");
    let [low_ns, high_ns] = found.effect.interval_ns.unwrap();
    assert!(-500.0 < low_ns && found.effect.shift_ns < high_ns, "{found:?}");
    // The geometric means: 495.1 ns and 25.1 µs.
    assert!((of.share + 1.0 - 50.8).abs() < 0.2, "{found:?}");
    let [of_a, of_b] = &found.averages_ns;
    let seen = detectable(of_a, of_b, Test::Welch, Alternative::TwoSided, 1).unwrap();
    assert!((100.0..10_000.0).contains(&seen), "{seen}");
}

#[test]
fn run_times_of_zero_and_less_are_compared_without_a_ratio() {
    let run = |x: f64| Run::new(0, &[x; 100], &[x; 100]).unwrap();
    let [a, b] = [[-1.0, 2.0, 4.0], [20.0, 21.0, 22.0]].map(|side| side.map(run));
    let found = compared(&a, &b, Settings::default());
    assert_eq!((found.relative, found.verdict()), (None, Verdict::A));
    assert!((found.effect.shift_ns - (21.0 - 5.0 / 3.0)).abs() < 1e-9, "{found:?}");
}

#[test]
fn the_runs_that_are_needed_are_the_fewest_that_can_reach_005() {
    use Alternative::{Less, TwoSided};
    let cases = [(TwoSided, 1, 4), (Less, 1, 3), (TwoSided, 10, 6), (TwoSided, 100, 8), (TwoSided, 0, 4)];
    for (alternative, operations, runs) in cases {
        assert_eq!(runs_needed(Test::Wilcoxon, alternative, operations, 1), runs, "{alternative:?} {operations}");
    }
    assert_eq!(runs_needed(Test::Welch, TwoSided, 50, 1), 2);
}

#[test]
fn stars_and_holm_go_together() {
    assert_eq!([Some(0.001), Some(0.01), Some(0.05), Some(0.051), None].map(stars), ["***", "**", "*", "", ""]);
    let mut random = Random::new(8);
    let [slow, fast] = [110.0, 100.0].map(|middle| scattering(4, middle, &mut random));
    let settings = Settings { test: Test::Wilcoxon, ..Settings::default() };
    let mut two: Vec<Comparison> =
        [(&fast, &slow), (&fast, &fast)].iter().map(|(a, b)| measure(a, b, settings).unwrap()).collect();
    test(two.iter_mut());
    // 2 in C(8, 4) = 70, twice.
    assert_eq!((two[0].p_raw, two[0].p), (Some(2.0 / 70.0), Some(4.0 / 70.0)));
    assert_eq!(two[0].verdict(), Verdict::Undecided);
}

/// That there is no difference is said of equal sides that scatter little, and hardly ever of sides that differ by 5 %.
#[test]
fn no_difference_is_said_where_one_of_5_percent_would_contradict_the_runs() {
    let mut random = Random::new(12);
    let mut none_of = |middle: f64| {
        let verdict = |_| {
            let (a, b) = (scattering(12, 100.0, &mut random), scattering(12, middle, &mut random));
            compared(&a, &b, Settings::default()).verdict()
        };
        (0..100).map(verdict).filter(|verdict| *verdict == Verdict::None).count()
    };
    let (equal, differ) = (none_of(100.0), none_of(105.0));
    assert!(equal >= 80 && differ <= 5, "of 100 equal pairs {equal}, of 100 that differ {differ}");
}
