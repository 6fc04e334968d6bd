//! The period of events: outliers that a timer or a daemon makes.

use super::median;

/// The period that events follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// In the unit of the times.
    pub length: f64,
    /// How well the events keep to it: 1 for all at the same phase, 0 for any.
    pub strength: f64,
    /// The probability that events at random would keep to any of the periods tried so well or better.
    pub p: f64,
    /// How many events were looked at.
    pub events: usize,
}

/// Events looked at: the cost grows with their square.
const MOST_EVENTS: usize = 256;
/// Fewer tell nothing.
pub(super) const FEWEST_EVENTS: usize = 8;
/// Worse ones are no period.
const LEAST_STRENGTH: f64 = 0.5;
/// A larger probability is chance.
const SIGNIFICANCE: f64 = 0.001;

/// The period of events at these times, ascending. `None` where they follow none, or are fewer than 8.
///
/// Candidates are the median distance of neighbouring events and the distance that most others are near to, as they are
/// and 2, 3 and 4 times divided. Around each the Rayleigh statistic K R^2, R being the length of the mean of exp(2 pi i
/// t / length), is maximised; for events at random it is exponential with mean 1 (Mardia 1972), here at 0.001 with
/// Bonferroni's correction for all periods tried. Of periods that fit equally well the longest is taken: events at
/// every 10 ms also keep to 5 ms. The first 256 events are looked at.
///
/// No length below `shortest` is tried: events that can be only on a grid, as repetitions at equal distances are, all
/// keep to its step, whenever they come. Twice the step is the shortest that tells anything.
///
/// ```
/// use mpitrace_statistics::period;
///
/// // Every 10 ms, in ns, a little early or late.
/// let times: Vec<f64> = (0..100).map(|i| 1e7 * f64::from(i) + 1e4 * f64::from(i * 7 % 11)).collect();
/// let found = period(&times, 1e5).expect("a period");
/// assert!((found.length - 1e7).abs() < 1e4 && found.strength > 0.99);
/// assert!(period(&times[..7], 1e5).is_none());
/// ```
pub fn period(times: &[f64], shortest: f64) -> Option<Period> {
    let times = &times[..times.len().min(MOST_EVENTS)];
    if times.len() < FEWEST_EVENTS {
        return None;
    }
    let span = times[times.len() - 1] - times[0];
    let mut gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0).collect();
    gaps.sort_by(f64::total_cmp);
    let middle = median(&mut gaps.clone())?;
    let common = densest(&gaps)?;
    let mut tried = 0;
    let mut best: Option<(f64, f64)> = None;
    for gap in [middle, common] {
        for divisor in 1..=4 {
            let length = gap / f64::from(divisor);
            // Far below the usual distance nothing but noise makes gaps, and there are more periods to try than it is
            // worth.
            if length < shortest.max(middle / 8.0) {
                continue;
            }
            let (length, strength) = refine(times, span, length, &mut tried);
            // Longer ones come first and stay, unless another one fits clearly better.
            if best.is_none_or(|(_, known)| strength > known + 0.05) {
                best = Some((length, strength));
            }
        }
    }
    let (length, strength) = best?;
    let statistic = times.len() as f64 * strength * strength;
    let p = -(f64::from(tried) * (-(-statistic).exp()).ln_1p()).exp_m1();
    // A length at which everything is in phase by its size alone is no period.
    let several = span / length >= FEWEST_EVENTS as f64 / 2.0;
    (strength >= LEAST_STRENGTH && p <= SIGNIFICANCE && several).then_some(Period {
        length,
        strength,
        p,
        events: times.len(),
    })
}

/// The middle of the shortest stretch that holds a third of the gaps.
fn densest(gaps: &[f64]) -> Option<f64> {
    let third = gaps.len().div_ceil(3).max(1);
    let shortest = gaps.windows(third).min_by(|a, b| (a[third - 1] - a[0]).total_cmp(&(b[third - 1] - b[0])))?;
    Some(f64::midpoint(shortest[0], shortest[third - 1]))
}

/// The best length within a tenth of `length`, and its strength.
fn refine(times: &[f64], span: f64, length: f64, tried: &mut u32) -> (f64, f64) {
    // A quarter of a turn over the whole span from one frequency to the next, so that no maximum is missed.
    let step = 0.25 / span;
    let (from, to) = (1.0 / (1.1 * length), 1.0 / (0.9 * length));
    let count = (((to - from) / step) as u32).clamp(1, 20_000);
    let apart = (to - from) / f64::from(count);
    let mut turns = Turns::new(times, from, apart);
    let (mut highest, mut place) = (-1.0, 0);
    for index in 0..=count {
        let strength = turns.strength();
        if strength > highest {
            (highest, place) = (strength, index);
        }
        turns.turn();
    }
    *tried += count + 1;
    let frequency = from + (to - from) * f64::from(place) / f64::from(count);
    let mut best = (frequency, strength(times, frequency));
    // Between the grid's points: halving steps, uphill.
    let mut around = apart;
    for _ in 0..12 {
        around /= 2.0;
        for frequency in [best.0 - around, best.0 + around] {
            let strength = strength(times, frequency);
            if strength > best.1 {
                best = (frequency, strength);
            }
        }
    }
    (1.0 / best.0, best.1)
}

/// Where the events are in a period, as points on the unit circle, for one frequency after the other at equal
/// distances. From one to the next each event turns by the same angle: a multiplication in the place of a sine and a
/// cosine, which took 54 % of the time of `mpitrace report`. After 20 000 of them a strength is off by less than 10^-9.
struct Turns {
    cosine: Vec<f64>,
    sine: Vec<f64>,
    turn_cosine: Vec<f64>,
    turn_sine: Vec<f64>,
}

impl Turns {
    fn new(times: &[f64], frequency: f64, apart: f64) -> Turns {
        let at = |frequency: f64| times.iter().map(move |time| angle(time - times[0], frequency));
        Turns {
            cosine: at(frequency).map(f64::cos).collect(),
            sine: at(frequency).map(f64::sin).collect(),
            turn_cosine: at(apart).map(f64::cos).collect(),
            turn_sine: at(apart).map(f64::sin).collect(),
        }
    }

    fn strength(&self) -> f64 {
        f64::hypot(sum(&self.cosine), sum(&self.sine)) / self.cosine.len() as f64
    }

    fn turn(&mut self) {
        let points = self.cosine.iter_mut().zip(&mut self.sine);
        for ((cosine, sine), (c, s)) in points.zip(self.turn_cosine.iter().zip(&self.turn_sine)) {
            (*cosine, *sine) = (*cosine * c - *sine * s, *cosine * s + *sine * c);
        }
    }
}

/// In eight sums, of which the processor adds several at a time.
fn sum(values: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (eights, rest) = values.as_chunks::<8>();
    for eight in eights {
        sums.iter_mut().zip(eight).for_each(|(sum, value)| *sum += value);
    }
    sums.iter().chain(rest).sum()
}

fn angle(since: f64, frequency: f64) -> f64 {
    std::f64::consts::TAU * (since * frequency).fract()
}

fn strength(times: &[f64], frequency: f64) -> f64 {
    let (mut cosine, mut sine) = (0.0, 0.0);
    for time in times {
        let (s, c) = angle(time - times[0], frequency).sin_cos();
        cosine += c;
        sine += s;
    }
    f64::hypot(cosine, sine) / times.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    #[test]
    fn a_tick_that_is_sometimes_missed_has_its_period() {
        for (seed, noise) in [(1, 0.0), (2, 0.02), (3, 0.05)] {
            let mut random = Random::new(seed);
            let mut times: Vec<f64> = Vec::new();
            for tick in 0..200 {
                // One in four goes by between two repetitions.
                if random.uniform() > 0.25 {
                    times.push(4e6 * (f64::from(tick) + noise * random.normal()));
                }
            }
            times.sort_by(f64::total_cmp);
            let found = period(&times, 0.0).unwrap();
            assert!((found.length / 4e6 - 1.0).abs() < 0.002, "{found:?}");
            assert!(found.p < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn events_at_random_have_none() {
        for seed in 0..45 {
            let mut random = Random::new(seed);
            let mut time = 0.0;
            let times: Vec<f64> = (0..[10, 50, 400][seed as usize % 3])
                .map(|_| {
                    time += random.gamma(1.0);
                    time
                })
                .collect();
            assert_eq!(period(&times, 0.0), None, "seed {seed}");
        }
    }

    #[test]
    fn some_of_many_repetitions_at_equal_distances_have_none() {
        for seed in 0..20 {
            let mut random = Random::new(seed);
            let times: Vec<f64> = (0..2000).filter(|_| random.uniform() < 0.05).map(|i| 1e5 * f64::from(i)).collect();
            assert_eq!(period(&times, 2e5), None, "seed {seed}");
        }
        let every_tenth: Vec<f64> = (0..50).map(|i| 1e6 * f64::from(i)).collect();
        assert!((period(&every_tenth, 2e5).unwrap().length / 1e6 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn turning_gives_the_strength_of_each_frequency() {
        let mut random = Random::new(3);
        let mut times: Vec<f64> = (0..250).map(|_| 1e9 * random.uniform()).collect();
        times.sort_by(f64::total_cmp);
        let (from, apart) = (1e-6, 2.5e-10);
        let mut turns = Turns::new(&times, from, apart);
        for index in 0..20_000 {
            let expected = strength(&times, from + apart * f64::from(index));
            assert!((turns.strength() - expected).abs() < 1e-9, "{index}");
            turns.turn();
        }
    }

    #[test]
    fn few_and_simultaneous_events_have_none() {
        assert_eq!(period(&[], 0.0), None);
        assert_eq!(period(&[1.0, 2.0, 3.0], 0.0), None);
        assert_eq!(period(&[5.0; 100], 0.0), None);
    }
}
