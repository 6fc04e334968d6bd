//! A pattern: every so many repetitions one is slow, as where a program or a library does something else each time.

use std::fmt;

use crate::estimators::distributions::beta_regularised;
use serde::Serialize;

use super::{Category, Levels};
use crate::{median, order_statistics};

/// Every so many repetitions one is slow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SlowEvery {
    /// So many.
    pub every: u64,
    /// The number of the first of these repetitions.
    pub first: u64,
    /// How many of them are slow, ...
    pub slow: usize,
    /// ... of how many, ...
    pub of: usize,
    /// ... and how many others are.
    pub others_slow: usize,
    /// Their median over that of the others, each in multiples of its level.
    pub ratio: f64,
    /// The chance that as many of the slow repetitions come at one place of any of the periods tried.
    pub p: f64,
}

impl fmt::Display for SlowEvery {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let SlowEvery { every, first, slow, of, others_slow, ratio, .. } = self;
        let th = match (every % 10, every % 100) {
            (1, tens) if tens != 11 => "st",
            (2, tens) if tens != 12 => "nd",
            (3, tens) if tens != 13 => "rd",
            _ => "th",
        };
        let digits = if *ratio < 10.0 { 2 } else { 0 };
        write!(
            f,
            "every {every}{th} repetition is slow: {slow} of {of} from repetition {first} on take {ratio:.digits$} times \
             as long, by the medians; {others_slow} of the others do"
        )
    }
}

/// Fewer are no pattern.
const FEWEST: usize = 8;
/// No longer period is tried, nor one that comes less than [`FEWEST`] times.
const LONGEST: u64 = 1024;
/// More than 15 % of slow repetitions, others among them, are no outliers. So the slowest share 1 / k is looked at for
/// each k up to this,
const DENSEST: u64 = 12;
/// among the first so many repetitions.
const LOOKED_AT: usize = 4096;
/// A larger chance is chance, with Bonferroni's correction for all places of all periods.
const SIGNIFICANCE: f64 = 0.001;
/// So many of the repetitions at the place are slow,
const OF_PLACE: f64 = 0.75;
/// no more of the others are,
const OF_OTHERS: f64 = 0.1;
/// and they take so many times as long: levels that differ by less are one.
const RATIO: f64 = 1.02;

/// A repetition behind the warm-up.
#[derive(Clone, Copy)]
struct Steady {
    number: u64,
    is_outlier: bool,
    /// In multiples of its level.
    above: f64,
}

/// Looks at the steady ones of these repetitions, which have these numbers, ascending, run times in ns and categories.
/// `None` where no period is more than chance, or a level is not above 0.
pub(super) fn slow_every(
    repetition: &[u64],
    run_time_ns: &[f64],
    category: &[Category],
    levels: Option<&Levels>,
) -> Option<SlowEvery> {
    if levels.is_some_and(|levels| levels.level_ns.iter().any(|&level| level <= 0.0)) {
        return None;
    }
    let rows = repetition.iter().zip(run_time_ns).zip(category).filter(|(_, category)| category.is_steady());
    let steady = rows.map(|((&number, &x), &category)| Steady {
        number,
        is_outlier: category == Category::Outlier,
        above: x / Levels::of_repetition(levels, number),
    });
    let outliers: Vec<u64> = steady.clone().filter(|one| one.is_outlier).map(|one| one.number).collect();
    let count = category.iter().filter(|category| category.is_steady()).count();
    let longest = (count / FEWEST).min(LONGEST as usize) as u64;
    let places = (longest * (longest + 1)) as f64 / 2.0;
    let of_outliers = common_gap(&outliers, longest).map(|every| (every, outliers));
    let begin: Vec<Steady> = steady.clone().take(LOOKED_AT).collect();
    let of_slowest = (2..=DENSEST.min(longest)).map(|every| (every, slowest(&begin, every)));
    of_outliers.into_iter().chain(of_slowest).find_map(|(every, slow)| {
        let (place, p) = place(&slow, every)?;
        let p = p * places;
        if p > SIGNIFICANCE {
            return None;
        }
        described(steady.clone(), every, place).map(|found| SlowEvery { p, ..found })
    })
}

/// The most common distance of neighbours, up to `longest`; `None` for few numbers, and where they follow each other.
fn common_gap(numbers: &[u64], longest: u64) -> Option<u64> {
    let mut counts = vec![0_u32; longest as usize + 1];
    for gap in numbers.windows(2).map(|pair| pair[1] - pair[0]).filter(|&gap| gap <= longest) {
        counts[gap as usize] += 1;
    }
    // The shortest of those that are as common.
    let most = (0..counts.len()).rev().max_by_key(|&gap| counts[gap]).filter(|&gap| gap > 1);
    most.filter(|_| numbers.len() >= FEWEST).map(|gap| gap as u64)
}

/// The numbers of the slowest share 1 / every.
fn slowest(steady: &[Steady], every: u64) -> Vec<u64> {
    let above: Vec<f64> = steady.iter().map(|one| one.above).collect();
    let quick = above.len() - above.len() / every as usize;
    if quick == above.len() {
        return Vec::new();
    }
    let [lower, upper] = order_statistics(&above, [quick - 1, quick]);
    let slow = steady.iter().filter(|one| one.above >= upper && one.above > lower);
    slow.map(|one| one.number).collect()
}

/// The place at which most of these numbers are, modulo `every`, and the chance that so many or more are at it, of
/// numbers of which each is at any place alike.
fn place(numbers: &[u64], every: u64) -> Option<(u64, f64)> {
    let mut counts = vec![0_usize; every as usize];
    numbers.iter().for_each(|number| counts[(number % every) as usize] += 1);
    let place = (0..counts.len()).max_by_key(|&place| counts[place])?;
    let (here, all) = (counts[place] as f64, numbers.len() as f64);
    (counts[place] >= FEWEST).then(|| (place as u64, beta_regularised(here, all - here + 1.0, 1.0 / every as f64)))
}

/// The repetitions at this place beside the others. `None` where that is no description of the slow ones.
fn described(steady: impl Iterator<Item = Steady> + Clone, every: u64, place: u64) -> Option<SlowEvery> {
    let of = |is_here: bool| steady.clone().filter(move |one| (one.number % every == place) == is_here);
    let [here, others] =
        [true, false].map(|is_here| median(&mut of(is_here).map(|one| one.above).collect::<Vec<f64>>()));
    let (here, others) = (here?, others?);
    let slow = |is_here: bool| of(is_here).filter(|one| one.above > f64::midpoint(here, others)).count();
    let found = SlowEvery {
        every,
        first: of(true).next()?.number,
        slow: slow(true),
        of: of(true).count(),
        others_slow: slow(false),
        ratio: here / others,
        p: 0.0,
    };
    let SlowEvery { slow, of: count, others_slow, ratio, .. } = found;
    let are_quick = others_slow as f64 <= OF_OTHERS * of(false).count() as f64;
    (others > 0.0 && ratio >= RATIO && slow as f64 >= OF_PLACE * count as f64 && are_quick).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::super::Rule;
    use super::*;
    use mpitrace_testing::Random;

    type NoiseOf = dyn FnMut(&mut Random, usize) -> f64;

    fn found(run_time_ns: &[f64]) -> Option<SlowEvery> {
        let numbers: Vec<u64> = (0..run_time_ns.len() as u64).collect();
        Rule::default().apply(&numbers, run_time_ns).unwrap().remarks(&numbers, run_time_ns).slow_every
    }

    /// Noise, some outliers at random, and every so many repetitions one at `factor`.
    fn pattern(count: usize, every: usize, factor: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let mut one = |index: usize| {
            let noise = 1000.0 * (0.02 * random.normal()).exp();
            let outlier = if random.uniform() < (0.3 / every as f64).min(0.03) { 3.0 } else { 1.0 };
            noise * outlier * if index % every == 5 % every { factor } else { 1.0 }
        };
        (0..count).map(&mut one).collect()
    }

    #[test]
    fn every_so_many_repetitions_are_found_as_outliers_and_as_modes() {
        for (count, every) in [(1000, 8), (200, 8), (1000, 2), (1000, 5), (300, 7), (4000, 50), (40_000, 500)] {
            for seed in 0..10 {
                let found =
                    found(&pattern(count, every, 1.3, seed)).unwrap_or_else(|| panic!("{count} {every} {seed}"));
                assert_eq!((found.every, found.first % found.every), (every as u64, 5 % every as u64), "{found:?}");
                assert!((found.ratio - 1.3).abs() < 0.05 && found.p < 1e-4, "{found:?}");
            }
        }
    }

    #[test]
    fn the_sentence_has_the_ordinal_number() {
        let of =
            |every| SlowEvery { every, first: 5, slow: 9, of: 10, others_slow: 1, ratio: 12.4, p: 1e-9 }.to_string();
        let sentence = "every 8th repetition is slow: 9 of 10 from repetition 5 on take 12 times as long, by the medians; \
                        1 of the others do";
        assert_eq!(of(8), sentence);
        for (every, ordinal) in [(2, "2nd"), (3, "3rd"), (11, "11th"), (21, "21st"), (112, "112th")] {
            assert!(of(every).starts_with(&format!("every {ordinal} repetition is slow: ")), "{every}");
        }
    }

    #[test]
    fn slow_repetitions_without_order_have_no_period() {
        let mut kinds: Vec<Box<NoiseOf>> = vec![
            Box::new(|random, _| (0.02 * random.normal()).exp()),
            Box::new(|random, _| 1.0 + random.gamma(1.0)),
            Box::new(|random, _| if random.uniform() < 0.12 { 1.3 } else { 1.0 } + 0.02 * random.normal()),
            Box::new(|random, _| if random.uniform() < 0.5 { 1.3 } else { 1.0 } + 0.02 * random.normal()),
            Box::new(|random, _| (10.0 + 2.0 * random.normal()).round()),
            // In bursts of 5, a level that lasts, a daemon that does not keep to the repetitions.
            Box::new(|_, index| if (index / 5 * 7919) % 10 == 0 { 1.5 } else { 1.0 } + 1e-3 * (index % 7) as f64),
            Box::new(|random, index| if index % 300 < 100 { 1.3 } else { 1.0 } + 0.02 * random.normal()),
            Box::new(|random, index| if (index as f64) % 20.37 < 1.0 { 2.0 } else { 1.0 } + 0.02 * random.normal()),
        ];
        for (kind, make) in kinds.iter_mut().enumerate() {
            for (seed, count) in (0..60).zip([30, 100, 1000].into_iter().cycle()) {
                let mut random = Random::new(1000 * kind as u64 + seed);
                let values: Vec<f64> = (0..count).map(|index| 1000.0 * make(&mut random, index)).collect();
                assert_eq!(found(&values), None, "kind {kind}, seed {seed}, {count}");
            }
        }
    }

    #[test]
    fn few_repetitions_and_levels_of_0_have_none() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[5.0; 100]), None);
        assert_eq!(found(&pattern(40, 8, 1.3, 1)), None, "five times is no pattern");
        let negative: Vec<f64> = pattern(1000, 8, 1.3, 1).iter().map(|x| x - 2000.0).collect();
        assert_eq!(found(&negative), None);
    }
}
