//! The decision: which algorithm is proven to be faster than the library's own choice.

use mpitrace_statistics::comparison::{Alternative, Comparison, Run, Settings, Test, measure, test};
use mpitrace_statistics::median;

/// The chance that any of the operations of a program gets an algorithm by mistake is at most a thousandth: the level
/// of `compare`, 0.05, divided by this. A rule stays in a file for years, and each wrong one costs trust.
pub(super) const PARTS_OF_LEVEL: usize = 50;

/// A difference below this share is not worth a rule, and an algorithm that is slower than the fastest one by less is
/// as good as that.
pub const LEAST_DIFFERENCE: f64 = 0.05;

/// The fewest launches, and the fewest runs of the program, with which the test can find anything.
pub const FEWEST: u32 = 7;

/// An algorithm, as it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Its number in the tuned component; 0: the library's own choice.
    pub algorithm: u32,
    /// The median of each launch, ns.
    pub medians_ns: Vec<f64>,
}

/// The algorithm that is proven to be faster.
#[derive(Clone, Debug, PartialEq)]
pub struct Better {
    /// Its place among those that were measured.
    pub place: usize,
    /// The time that it takes less the library's own choice, as a share of that: below 0.
    pub share: f64,
    /// The interval of that share.
    pub interval: [f64; 2],
    /// The p-value, corrected for all operations and algorithms.
    pub p: f64,
}

/// For each operation the fastest algorithm of those that are proven to be faster than the library's own choice, which
/// is the first one; `None`: none is.
///
/// In a launch all algorithms take turns, so that what slows the launch slows all of them: each median is held against
/// the geometric mean of its launch. Then the test of `compare` decides, by permutation of the launches, for all
/// operations and algorithms together.
pub fn decide(operations: &[Vec<Measured>]) -> Vec<Option<Better>> {
    let settings = Settings { test: Test::Permutation, alternative: Alternative::Greater, pairs: PARTS_OF_LEVEL };
    let mut comparisons: Vec<(usize, usize, Comparison)> = Vec::new();
    for (number, operation) in operations.iter().enumerate() {
        let sides = without_launches(operation);
        let Some((default, others)) = sides.split_first() else { continue };
        let compared = others.iter().enumerate();
        comparisons
            .extend(compared.filter_map(|(other, runs)| Some((number, other + 1, measure(default, runs, settings)?))));
    }
    test(comparisons.iter_mut().map(|(_, _, comparison)| comparison));
    let mut decided: Vec<Option<Better>> = vec![None; operations.len()];
    for (number, place, comparison) in &comparisons {
        let Some(better) = better(*place, comparison) else { continue };
        let known = &mut decided[*number];
        if known.as_ref().is_none_or(|known| better.share < known.share) {
            *known = Some(better);
        }
    }
    decided
}

fn better(place: usize, comparison: &Comparison) -> Option<Better> {
    let (relative, p) = (comparison.relative?, comparison.p?);
    let interval = relative.interval?;
    let is_proven = p <= mpitrace_statistics::comparison::SIGNIFICANCE && interval[1] < 0.0;
    (is_proven && relative.share <= -LEAST_DIFFERENCE).then_some(Better { place, share: relative.share, interval, p })
}

/// The launches of each algorithm, without what a launch has in common for all of them.
fn without_launches(operation: &[Measured]) -> Vec<Vec<Run>> {
    let launches = operation.iter().map(|one| one.medians_ns.len()).min().unwrap_or(0);
    let mean =
        |launch: usize| operation.iter().map(|one| one.medians_ns[launch].ln()).sum::<f64>() / operation.len() as f64;
    let means: Vec<f64> = (0..launches).map(mean).collect();
    let usual = median(&mut means.clone()).unwrap_or(0.0);
    let run = |(launch, median_ns): (usize, &f64)| {
        let value = [median_ns * (usual - means[launch]).exp()];
        Run::new(launch, &value, &value)
    };
    operation.iter().map(|one| one.medians_ns[..launches].iter().enumerate().filter_map(run).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    /// An MPI library of which it is known what each call costs.
    struct Mock {
        /// For each algorithm: the cost of a message and of a byte, and the part of the ranks' lateness that it hides,
        /// ns.
        algorithms: Vec<[f64; 3]>,
        /// Its own choice, by nothing but the size: whatever the pattern is.
        default_choice: usize,
    }

    /// A message size and how late the last rank is, ns.
    type Pattern = (f64, f64);

    impl Mock {
        fn new(random: &mut Random) -> Mock {
            let between = |random: &mut Random, low: f64, high: f64| low * (high / low).powf(random.uniform());
            let algorithms = (0..3 + random.bits() % 7)
                .map(|_| [between(random, 2e3, 3e4), between(random, 0.05, 2.0), random.uniform()]);
            let algorithms: Vec<_> = algorithms.collect();
            let default_choice = random.bits() as usize % algorithms.len();
            Mock { algorithms, default_choice }
        }

        /// From the last entry to the last exit, ns.
        fn cost(&self, algorithm: usize, (bytes, late): Pattern) -> f64 {
            let [message, byte, hidden] = self.algorithms[algorithm];
            let whole = message + byte * bytes;
            whole - hidden * late.min(0.8 * whole)
        }

        /// The times of a replay: launches differ, and the repetitions scatter.
        fn replay(&self, random: &mut Random, pattern: Pattern, launches: u32) -> Vec<Measured> {
            let speeds: Vec<f64> = (0..launches).map(|_| (0.1 * random.normal()).exp()).collect();
            let mut of = |number: u32, algorithm: usize| {
                let cost = self.cost(algorithm, pattern);
                let mut launch = |speed: &f64| {
                    let of_launch = speed * (0.02 * random.normal()).exp();
                    let mut times: Vec<f64> =
                        (0..41).map(|_| cost * of_launch * (1.0 + 0.05 * random.gamma(2.0))).collect();
                    median(&mut times).unwrap()
                };
                Measured { algorithm: number, medians_ns: speeds.iter().map(&mut launch).collect() }
            };
            let default = of(0, self.default_choice);
            let all = (0..self.algorithms.len()).map(|algorithm| of(algorithm as u32 + 1, algorithm));
            std::iter::once(default).chain(all.collect::<Vec<_>>()).collect()
        }

        /// How much longer than the fastest one the decided algorithm takes.
        fn regret(&self, decided: &Option<Better>, pattern: Pattern) -> f64 {
            let taken = decided.as_ref().map_or(self.default_choice, |better| better.place - 1);
            let costs = (0..self.algorithms.len()).map(|algorithm| self.cost(algorithm, pattern));
            self.cost(taken, pattern) / costs.fold(f64::INFINITY, f64::min) - 1.0
        }
    }

    fn pattern(random: &mut Random) -> Pattern {
        (8.0 * 2f64.powf(17.0 * random.uniform()), 1e5 * random.uniform().powi(3))
    }

    /// An algorithm is right if the optimum is faster by less than the least difference: two may cost the same.
    #[test]
    fn of_500_libraries_of_known_costs_the_optimum_is_found_in_95_percent() {
        let (mut right, mut exactly) = (0, 0);
        for seed in 0..500 {
            let mut random = Random::new(seed);
            let mock = Mock::new(&mut random);
            let patterns = [(); 2].map(|()| pattern(&mut random));
            let measured = patterns.map(|pattern| mock.replay(&mut random, pattern, 8));
            let decided = decide(&measured);
            let regrets: Vec<f64> =
                decided.iter().zip(patterns).map(|(decided, pattern)| mock.regret(decided, pattern)).collect();
            right += usize::from(regrets.iter().all(|&regret| regret <= LEAST_DIFFERENCE));
            exactly += usize::from(regrets.iter().all(|&regret| regret == 0.0));
        }
        println!("within {LEAST_DIFFERENCE} of the optimum: {right} of 500; the optimum itself: {exactly}");
        assert!(right >= 475, "{right} of 500");
    }

    /// All algorithms are one and the same: whatever is called better is so by mistake.
    #[test]
    fn of_500_libraries_with_one_algorithm_under_many_numbers_none_gets_a_rule() {
        let mistakes = (1000..1500).filter(|&seed| {
            let mut random = Random::new(seed);
            let one = Mock::new(&mut random).algorithms[0];
            let mock = Mock { algorithms: vec![one; 5], default_choice: 0 };
            let pattern = pattern(&mut random);
            decide(&[mock.replay(&mut random, pattern, 8)]).iter().any(Option::is_some)
        });
        assert_eq!(mistakes.count(), 0);
    }

    #[test]
    fn fewer_launches_than_the_least_prove_nothing_and_so_many_do() {
        let of = |launches: u32| {
            let mock = Mock { algorithms: vec![[9e3, 1.0, 0.0], [3e3, 1.0, 0.0]], default_choice: 0 };
            decide(&[mock.replay(&mut Random::new(5), (8.0, 0.0), launches)])[0].clone()
        };
        assert_eq!(of(FEWEST - 1), None);
        let found = of(FEWEST).unwrap();
        assert!(found.place == 2 && (found.share + 2.0 / 3.0).abs() < 0.05 && found.p <= 0.05, "{found:?}");
    }

    /// Noise as of a busy machine: half of the launches take twice as long in one algorithm or another.
    #[test]
    fn a_disturbed_launch_makes_no_rule() {
        let mistakes = (0..60).filter(|&seed| {
            let mut random = Random::new(seed);
            let mut one = |algorithm: u32| Measured {
                algorithm,
                medians_ns: (0..8).map(|_| 1e5 * if random.uniform() < 0.5 { 2.0 } else { 1.0 }).collect(),
            };
            let measured: Vec<Measured> = (0..8).map(&mut one).collect();
            decide(&[measured])[0].is_some()
        });
        assert_eq!(mistakes.count(), 0);
    }
}
