//! The rule as a whole, on series whose levels are known.

use fastrand::Rng;
use proptest::prelude::*;

use crate::categories::{Category, Class, NotFinite, Robust, RobustCategories};

/// Run times around these levels, in ns, with normal noise of 3 % (sums of 12 uniform numbers).
fn series(levels: impl Iterator<Item = f64>, seed: u64) -> Vec<f64> {
    let mut random = Rng::with_seed(seed);
    let mut normal = move || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
    levels.map(|level| level * (0.03 * normal()).exp()).collect()
}

fn steps(parts: &[(usize, f64)]) -> Vec<f64> {
    series(parts.iter().flat_map(|&(count, level)| std::iter::repeat_n(level, count)), 1)
}

fn robust(x: &[f64]) -> RobustCategories {
    let numbers: Vec<u64> = (0..x.len() as u64).collect();
    Robust.categorize(&numbers, x).unwrap()
}

fn counts(found: &RobustCategories) -> [usize; 4] {
    Category::ALL.map(|category| found.categories.count(category))
}

#[test]
fn one_level_is_flat() {
    let found = robust(&steps(&[(1000, 2000.0)]));
    assert_eq!((found.class, found.categories.warmup_end), (Class::Flat, None));
    assert!(found.change_points.is_empty());
    assert_eq!(counts(&found), [1, 0, 0, 999]);
    assert_eq!(found.level_ns, [found.categories.median_ns.unwrap()]);
}

/// Repetitions of a warm-up that are outliers too: one that is beside all levels, and none of those behind.
#[test]
fn outliers_of_the_warm_up_are_counted_as_overlaps() {
    let mut x = steps(&[(20, 3000.0), (980, 2000.0)]);
    x[500] = 9000.0;
    assert_eq!(robust(&x).categories.category[500], Category::Outlier);
    let slow_early = |x: &[f64]| {
        let found = robust(x).categories;
        assert_eq!(found.warmup_end, Some(20));
        found.overlaps
    };
    let early = slow_early(&x);
    assert!((1..=20).contains(&early), "{early}");
    // Without a warm-up there is nothing to overlap.
    let mut flat = steps(&[(1000, 2000.0)]);
    flat[500] = 9000.0;
    let found = robust(&flat).categories;
    assert_eq!((found.category[500], found.overlaps), (Category::Outlier, 0));
}

#[test]
fn warm_ups_of_any_length_from_two_on_are_found_in_their_place() {
    for length in [2, 3, 5, 9, 20, 60, 200] {
        let found = robust(&steps(&[(length, 3000.0), (1000 - length, 2000.0)]));
        assert_eq!(found.categories.warmup_end, Some(length as u64));
        assert_eq!(found.class, Class::Warmup);
        assert_eq!(found.change_points, [length as u64]);
        assert_eq!(counts(&found), [1, length - 1, 0, 1000 - length]);
    }
}

/// The first one behind the cliff is slow by 3.4 times the noise of 3 %, as the end of a gradual fall would be.
#[test]
fn one_slow_repetition_behind_a_cliff_makes_no_gradual_fall_of_it() {
    let is_right = |&seed: &u64| {
        let mut x = series((0..1000).map(|i| if i < 2 { 3000.0 } else { 2000.0 }), seed);
        x[2] = 2000.0 * (3.4 * 0.03_f64).exp();
        robust(&x).categories.warmup_end == Some(2)
    };
    let right = (0..40).filter(is_right).count();
    // The ones behind it are slow by chance as well.
    assert!(right >= 36, "{right} of 40");
}

#[test]
fn a_high_cliff_ends_in_its_place_also_late() {
    for seed in 0..60 {
        let found = robust(&series((0..1000).map(|i| if i < 700 { 10_000.0 } else { 2000.0 }), seed));
        assert_eq!((found.class, found.categories.warmup_end), (Class::Warmup, Some(700)), "seed {seed}");
    }
}

#[test]
fn a_short_cliff_is_found_among_few_repetitions_of_which_every_eighth_is_slow() {
    let slow = |i: u64| if i < 50 { 2.0 } else { 1.0 } * if i % 8 == 5 { 1.3 } else { 1.0 };
    for seed in 0..20 {
        let found = robust(&series((0..100).map(|i| 2000.0 * slow(i)), seed));
        assert_eq!(found.categories.warmup_end, Some(50), "seed {seed}");
    }
}

#[test]
fn a_beginning_of_which_some_are_slow_ends_behind_the_last_of_them() {
    let is_right = |&seed: &u64| {
        let mut random = Rng::with_seed(!seed);
        let slow: Vec<bool> = (0..1000).map(|i| i == 199 || i < 199 && random.bool()).collect();
        let found = robust(&series(slow.iter().map(|&slow| if slow { 4000.0 } else { 2000.0 }), seed));
        // The last ones may be quick by chance.
        found.categories.warmup_end.is_some_and(|end| (180..=205).contains(&end))
    };
    let right = (0..40).filter(is_right).count();
    assert!(right >= 36, "{right} of 40");
}

#[test]
fn noise_that_lasts_hides_no_cliff_which_it_does_not_reach_again() {
    let is_found = |&seed: &u64| {
        let mut random = Rng::with_seed(seed);
        let mut normal = move || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let mut z = normal();
        let mut next = |i: usize| {
            z = 0.95 * z + 0.3122 * normal();
            2000.0 * (if i < 60 { 0.42 } else { 0.0 } + 0.07 * z + 0.07 * normal()).exp()
        };
        let found = robust(&(0..1000).map(&mut next).collect::<Vec<f64>>());
        found.categories.warmup_end.is_some_and(|end| end.abs_diff(60) <= 2)
    };
    // The levels of blocks differ by half as much elsewhere.
    let found = (0..40).filter(is_found).count();
    assert!(found >= 16, "{found} of 40");
}

#[test]
fn a_slow_first_repetition_alone_is_no_warm_up() {
    let mut x = steps(&[(1000, 2000.0)]);
    x[0] = 20_000.0;
    let found = robust(&x);
    assert_eq!((found.class, found.categories.warmup_end), (Class::Flat, None));
    assert_eq!((counts(&found), found.categories.overlaps), ([1, 0, 0, 999], 1));
}

#[test]
fn a_change_near_the_end_ends_no_warm_up() {
    let x = steps(&[(900, 3000.0), (100, 2000.0)]);
    let found = robust(&x);
    assert_eq!((found.class, found.categories.warmup_end), (Class::LevelShift, None));
    assert_eq!(found.change_points, [900]);
}

#[test]
fn rising_levels_are_a_slowdown_also_after_a_warm_up() {
    let found = robust(&steps(&[(600, 2000.0), (400, 2500.0)]));
    assert_eq!((found.class, found.change_points.as_slice()), (Class::Slowdown, &[600][..]));
    let found = robust(&steps(&[(50, 3000.0), (550, 2000.0), (400, 2500.0)]));
    assert_eq!((found.class, found.categories.warmup_end), (Class::Slowdown, Some(50)));
    assert_eq!(found.change_points, [50, 600]);
    let gradual = series((0..1000).map(|i| 2000.0 + f64::from(i)), 3);
    assert_eq!(robust(&gradual).class, Class::Slowdown);
}

#[test]
fn a_level_that_comes_and_goes_is_a_memory_longer_than_the_series() {
    let parts = [2000.0, 2600.0, 2000.0, 2600.0, 2000.0].map(|level| (200, level));
    assert_eq!(robust(&steps(&parts)).class, Class::Undecided);
    // Between levels that all differ it comes to none.
    let found = robust(&steps(&[(200, 2000.0), (300, 3000.0), (300, 2300.0), (200, 4000.0)]));
    assert_eq!((found.class, found.change_points.as_slice()), (Class::NoSteadyState, &[200, 500, 800][..]));
}

#[test]
fn a_beginning_slower_than_all_that_follows_is_a_warm_up_also_where_the_rest_comes_to_no_level() {
    let behind = [(250, 2100.0), (200, 2400.0), (250, 2050.0)];
    let found = robust(&steps(&[&[(100, 3000.0), (100, 4500.0), (100, 3300.0)], &behind[..]].concat()));
    let end = found.categories.warmup_end.unwrap();
    assert!(end.abs_diff(300) <= 2 && found.change_points.len() >= 3, "{end} {:?}", found.change_points);
    // Of two levels that alternate none is one.
    for parts in [4, 5, 6, 10] {
        let parts: Vec<(usize, f64)> = (0..parts).map(|i| (1000 / parts, [2600.0, 2000.0][i % 2])).collect();
        assert_eq!(robust(&steps(&parts)).categories.warmup_end, None, "{parts:?}");
    }
}

#[test]
fn a_gradual_warm_up_ends_where_what_is_left_of_it_is_within_the_noise() {
    let x = series((0..1000).map(|i| 2000.0 * (1.0 + (-f64::from(i) / 40.0).exp())), 4);
    let found = robust(&x);
    assert_eq!(found.class, Class::Warmup);
    let end = found.categories.warmup_end.unwrap();
    // At 90 there are 10 % left, at 200 less than 1 %.
    assert!((90..220).contains(&end), "{end}");
}

#[test]
fn outliers_are_beyond_what_the_noise_does() {
    let mut x = steps(&[(1000, 2000.0)]);
    (x[100], x[200], x[300]) = (4100.0, 2500.0, 2100.0);
    let found = robust(&x);
    let of = |row: usize| found.categories.category[row];
    assert_eq!([of(100), of(200), of(300)], [Category::Outlier, Category::Outlier, Category::Good]);
    assert_eq!(found.categories.count(Category::Outlier), 2);
    // Beside its own level, not beside another one.
    let mut shifted = steps(&[(500, 2000.0), (500, 6000.0)]);
    shifted[700] = 13_000.0;
    assert_eq!(robust(&shifted).categories.count(Category::Outlier), 1);
}

#[test]
fn clusters_of_outliers_are_no_levels() {
    let mut x = steps(&[(1000, 2000.0)]);
    for cluster in 0..10 {
        x[40 + 95 * cluster..44 + 95 * cluster].iter_mut().for_each(|x| *x *= 3.0);
    }
    x[500..520].iter_mut().for_each(|x| *x *= 2.0);
    let found = robust(&x);
    assert_eq!((found.class, found.change_points.as_slice()), (Class::Flat, &[][..]));
    assert_eq!(found.categories.count(Category::Outlier), 56);
}

#[test]
fn a_beginning_of_several_levels_ends_where_what_follows_is_steady_and_longer() {
    let beginnings: [&[(usize, f64)]; 5] = [
        &[(200, 3000.0), (200, 4000.0)],
        &[(100, 4000.0), (25, 6000.0), (175, 4000.0)],
        &[(50, 2500.0), (100, 3000.0), (150, 4000.0)],
        &[(60, 4000.0), (60, 3000.0), (40, 6000.0), (60, 3600.0)],
        &[(12, 3000.0), (9, 8000.0), (19, 3000.0)],
    ];
    for beginning in beginnings {
        let end: usize = beginning.iter().map(|(count, _)| count).sum();
        let found = robust(&steps(&[beginning, &[(1000 - end, 2000.0)]].concat()));
        assert_eq!((found.class, found.categories.warmup_end), (Class::Warmup, Some(end as u64)), "{beginning:?}");
        // Levels that go on to come and go are none.
        let later = [(200, 2000.0), (200, 3600.0), (600 - end, 2000.0)];
        let found = robust(&steps(&[beginning, &later].concat()));
        assert_ne!(found.categories.warmup_end, Some(end as u64), "{beginning:?}");
    }
    // What follows is no longer than the levels before.
    let found = robust(&steps(&[(300, 3000.0), (300, 4000.0), (400, 2000.0)]));
    assert_eq!(found.categories.warmup_end, None);
}

#[test]
fn bursts_do_not_hide_a_cliff() {
    for (length, bursts) in [(10, 1), (20, 1), (5, 4), (20, 3)] {
        let mut x = steps(&[(60, 3000.0), (940, 2000.0)]);
        for burst in 0..bursts {
            x[70 + 200 * burst..70 + 200 * burst + length].iter_mut().for_each(|x| *x *= 2.5);
        }
        let found = robust(&x);
        assert_eq!((found.class, found.categories.warmup_end), (Class::Warmup, Some(60)), "{bursts} of {length}");
        assert_eq!(found.categories.count(Category::Outlier), bursts * length);
    }
    // From 25 repetitions on they are levels that come and go, of which the beginning may be one.
    let mut x = steps(&[(60, 3000.0), (940, 2000.0)]);
    (0..3).for_each(|burst| x[70 + 200 * burst..110 + 200 * burst].iter_mut().for_each(|x| *x *= 2.5));
    assert_eq!(robust(&x).categories.warmup_end, None);
    // Nor do a few quick repetitions before it.
    let mut x = steps(&[(60, 3000.0), (940, 2000.0)]);
    x[..3].fill(2000.0);
    assert_eq!(robust(&x).categories.warmup_end, Some(60));
}

#[test]
fn a_change_of_the_scatter_alone_is_no_change_of_the_level() {
    let is_flat = |&seed: &u64| {
        let mut random = Rng::with_seed(seed);
        let mut normal = move || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let x: Vec<f64> = (0..1000).map(|i| 2000.0 * ((if i < 60 { 0.05 } else { 0.01 }) * normal()).exp()).collect();
        let found = robust(&x);
        (found.class, found.categories.warmup_end) == (Class::Flat, None)
    };
    assert_eq!((0..40).filter(is_flat).count(), 40);
    let flat = (40..240).filter(is_flat).count();
    assert!(flat >= 192, "{flat} of 200");
}

#[test]
fn noise_that_wanders_for_longer_than_the_series_is_undecided() {
    let mut undecided = 0;
    for seed in 0..40 {
        let mut random = Rng::with_seed(seed);
        let mut z = 0.0;
        let mut next = move || {
            z = 0.99 * z + (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
            2000.0 * (0.02_f64 * z).exp()
        };
        let found = robust(&(0..700).map(|_| next()).skip(500).collect::<Vec<f64>>());
        undecided += u32::from(found.class == Class::Undecided);
    }
    assert!(undecided >= 30, "{undecided} of 40");
}

#[test]
fn fewer_than_twelve_repetitions_have_no_class_and_no_outlier() {
    let mut x = vec![2000.0; 11];
    x[5] = 9000.0;
    let found = robust(&x);
    assert_eq!((found.class, counts(&found)), (Class::TooFew, [1, 0, 0, 10]));
    x.push(2000.0);
    assert_eq!(robust(&x).class, Class::Flat);
}

#[test]
fn without_repetition_zero_there_is_neither_first_nor_warm_up() {
    let x = steps(&[(60, 3000.0), (940, 2000.0)]);
    let numbers: Vec<u64> = (5000..6000).collect();
    let found = Robust.categorize(&numbers, &x).unwrap();
    assert_eq!((found.class, found.categories.warmup_end), (Class::LevelShift, None));
    assert_eq!(found.change_points, [5060]);
    assert_eq!(counts(&found), [0, 0, 0, 1000]);
}

#[test]
fn places_are_the_numbers_of_repetitions_not_of_rows() {
    let x = steps(&[(60, 3000.0), (940, 2000.0)]);
    let numbers: Vec<u64> = (0..1000).map(|row| 2 * row).collect();
    let found = Robust.categorize(&numbers, &x).unwrap();
    assert_eq!((found.categories.warmup_end, found.change_points), (Some(120), vec![120]));
}

#[test]
fn series_with_next_to_nothing_in_them() {
    let none = robust(&[]);
    assert_eq!((none.class, none.categories.median_ns, none.level_ns), (Class::TooFew, None, vec![]));
    let one = robust(&[7.0]);
    assert_eq!((counts(&one), one.level_ns.as_slice()), ([1, 0, 0, 0], &[7.0][..]));
    for length in 2..30 {
        let equal = robust(&vec![40.0; length]);
        let class = if length < 12 { Class::TooFew } else { Class::Flat };
        assert_eq!((equal.class, counts(&equal)), (class, [1, 0, 0, length - 1]));
    }
    let zero = robust(&[0.0; 100]);
    assert_eq!((zero.class, counts(&zero)), (Class::Flat, [1, 0, 0, 99]));
}

#[test]
fn run_times_below_zero_are_levels_like_others() {
    // Of `last`, by the clocks' errors.
    let x: Vec<f64> = steps(&[(50, 3000.0), (950, 2000.0)]).iter().map(|x| x - 2500.0).collect();
    let found = robust(&x);
    assert_eq!(found.categories.warmup_end, Some(50));
    assert_eq!(counts(&found)[..2], [1, 49]);
}

#[test]
fn a_clock_that_ticks_coarsely_makes_no_changes() {
    let x: Vec<f64> = steps(&[(1000, 1000.0)]).iter().map(|x| (x / 100.0).round() * 100.0).collect();
    assert_eq!(robust(&x).class, Class::Flat);
}

#[test]
fn what_is_not_finite_is_named() {
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let found = Robust.categorize(&[4, 5, 6], &[1.0, odd, 1.0]);
        assert_eq!(found, Err(NotFinite { repetition: 5 }));
    }
}

#[test]
fn a_million_repetitions_keep_the_place_of_a_short_warm_up_and_of_a_late_shift() {
    let found = robust(&steps(&[(60, 2600.0), (700_000, 2000.0), (300_000, 2300.0)]));
    assert_eq!((found.class, found.change_points), (Class::Slowdown, vec![60, 700_060]));
}

#[test]
fn a_warm_up_is_found_where_the_clock_ticks_coarsely() {
    for (slow, fast) in [(240, 760), (600, 400)] {
        let ticked: Vec<f64> =
            steps(&[(slow, 3000.0), (fast, 2000.0)]).iter().map(|x| (x / 134.0).round() * 134.0).collect();
        let end = robust(&ticked).categories.warmup_end;
        assert!(end.is_some_and(|end| end.abs_diff(slow as u64) <= 2), "{end:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn any_numbers_have_categories_and_no_unit_changes_them(
        levels in prop::collection::vec((1_usize..60, 1.0_f64..1e6), 1..8),
        seed: u64,
    ) {
        let parts = levels.iter().flat_map(|&(count, level)| std::iter::repeat_n(level, count));
        let x = series(parts, seed);
        let found = robust(&x);
        prop_assert_eq!(counts(&found).iter().sum::<usize>(), x.len());
        prop_assert_eq!(found.level_ns.len(), found.change_points.len() + 1);
        prop_assert!(found.change_points.is_sorted_by(|a, b| a < b));
        if let Some(end) = found.categories.warmup_end {
            prop_assert!(end >= 2 && (end as usize) < x.len() && found.change_points.contains(&end));
            prop_assert_eq!(counts(&found)[1], end as usize - 1);
        }
        // A power of 2 leaves all digits as they are.
        let scaled: Vec<f64> = x.iter().map(|x| x * 1024.0).collect();
        let again = robust(&scaled);
        prop_assert_eq!(again.class, found.class);
        prop_assert_eq!(again.categories.category, found.categories.category);
    }

    #[test]
    fn numbers_of_any_size_are_no_reason_to_panic(
        x in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::SUBNORMAL, 0..200),
    ) {
        prop_assert_eq!(counts(&robust(&x)).iter().sum::<usize>(), x.len());
    }
}
