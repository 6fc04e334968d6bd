//! Whether a slow beginning is a warm-up: something that only the beginning does.

use crate::parallel;
use crate::statistics::median;

/// From here on a series is shared out among the processors.
const LONG: usize = 1 << 16;
/// Beginnings up to this length are looked for one by one: outliers are brought in before segments are sought, and with
/// them what is no longer than they may be.
pub const SHORT: usize = 8;
/// No single repetition counts more than this many sigma in them.
const CLIP: f64 = 5.0;
/// The sum of a short beginning's repetitions, in standard deviations of such sums.
const SUM: f64 = 4.0;
/// The same without the first repetition, which is slow for reasons of its own as well,
const SUM_WITHOUT_FIRST: f64 = 2.6;
/// unless it is by so many sigma slower than the others: then they must be [`SUM`] by themselves.
const FIRST_APART: f64 = 4.0;

/// What comes before a warm-up's end is slower by so many standard deviations of the difference.
const SLOWER: f64 = 3.5;

/// Fewer slow repetitions in a row are outliers that happen to be neighbours.
const BURST: u64 = 5;
/// What is slow more often than that is in a row for so long by chance.
const OFTEN: f64 = 0.2;
/// Bursts last as long as that by chance: the longest of a few is rarely a sixth of another one.
const LIKE: u64 = 6;

/// The end of a slow beginning of 2 to 8 repetitions above `level`.
pub fn short(y: &[f64], level: f64, sigma: f64, inflation: f64, latest: usize) -> Option<usize> {
    let z = |i: usize| ((y[i] - level) / sigma).clamp(-CLIP, CLIP);
    // However strongly neighbours are correlated, the sum of a few is no wider than if they were equal.
    let deviation = |count: usize| (count as f64 * inflation.min(count as f64)).sqrt();
    let mut found: Option<(usize, f64)> = None;
    let mut sum = 0.0;
    for end in 1..=SHORT.min(latest).min(y.len().saturating_sub(1)) {
        sum += z(end - 1);
        if end < 2 {
            continue;
        }
        let strength = sum / deviation(end);
        let own = (sum - z(0)) / deviation(end - 1);
        let others = (sum - z(0)) / (end - 1) as f64;
        let apart = (y[0] - level) / sigma - others > FIRST_APART;
        let strong = strength > SUM && own > if apart { SUM } else { SUM_WITHOUT_FIRST };
        if strong && found.is_none_or(|(_, strongest)| strength > strongest) {
            found = Some((end, strength));
        }
    }
    found.map(|(end, _)| end)
}

/// Which of the changes ends the warm-up: the last one up to `latest` before which every level was slower than after
/// it, by more than `smallest` and than noise of this `variance` (of the mean of many repetitions, times their number)
/// can explain.
pub fn end(
    changes: &[usize],
    levels: &[f64],
    length: usize,
    latest: usize,
    smallest: f64,
    variance: f64,
) -> Option<usize> {
    let start = |index: usize| index.checked_sub(1).map_or(0, |before| changes[before]);
    let repetitions = |index: usize| (changes.get(index).unwrap_or(&length) - start(index)) as f64;
    let slower = |index: usize, settled: usize| {
        let difference = levels[index] - levels[settled];
        let spread = variance * (1.0 / repetitions(index) + 1.0 / repetitions(settled));
        difference > smallest && difference * difference > SLOWER * SLOWER * spread
    };
    // What begins hardly slower than it settles, and has a burst in between, is a burst's end.
    let begins_slowly = |index: usize| {
        let highest = levels[..=index].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        levels[0] - levels[index + 1] >= (highest - levels[index + 1]) / 4.0
    };
    let ends = |&index: &usize| {
        changes[index] <= latest && begins_slowly(index) && (0..=index).all(|before| slower(before, index + 1))
    };
    (0..changes.len()).rev().find(ends)
}

/// How likely a series that goes on like the repetitions from `end` begins as slowly as this one, by chance alone.
///
/// A repetition is slow beyond the middle between the level before `end` and the one after it, or, the other way to see
/// it, if it is as slow as all before `end` are. How often later ones are, and how often a slow one is followed by
/// another, makes a Markov chain of two states: bursts, outliers and modes that come and go. What counts is the chance
/// that such a chain begins with as many slow repetitions as this series does.
pub fn chance(y: &[f64], end: usize, changes: &[usize], levels: &[f64]) -> f64 {
    let settled = levels[changes.partition_point(|&change| change < end) + 1];
    let start = median(&mut y[..end].to_vec()).unwrap_or(settled);
    let half = (start - settled) / 2.0;
    let least = y[..end].iter().copied().fold(f64::INFINITY, f64::min) - settled;
    let beyond = |excess: f64| {
        let later = Later::of(y, end, changes, levels, excess);
        let slow = y[..end].iter().filter(|&&value| value - settled >= excess).count();
        later.begins_with(slow, end)
    };
    match least > 0.0 {
        // The better of two ways, so twice the chance.
        true => {
            let ways = vec![half, least];
            let chances =
                if y.len() < LONG { ways.into_iter().map(beyond).collect() } else { parallel::map(ways, beyond) };
            2.0 * chances.into_iter().fold(f64::INFINITY, f64::min)
        }
        false => beyond(half),
    }
}

/// How the repetitions after a slow beginning change between quick and slow.
#[derive(Debug, Default)]
struct Later {
    all: u64,
    slow: u64,
    /// That follow a slow one.
    after_slow: u64,
    /// Of these, the slow ones.
    stayed: u64,
    /// The longest stretch of slow ones; a quick one within it takes two away.
    longest: u64,
}

impl Later {
    /// Counts what is slow by `excess`.
    fn of(y: &[f64], end: usize, changes: &[usize], levels: &[f64], excess: f64) -> Later {
        let before = changes.partition_point(|&change| change < end);
        let settled = levels[before + 1];
        let mut later = Later::default();
        let (mut from, mut stretch, mut last_was_slow) = (end, 0_u64, false);
        for (index, &to) in changes.iter().chain([&y.len()]).enumerate().skip(before + 1) {
            // A stretch that is long beside the beginning is a level of its own, not a burst; it has its own bursts.
            let long = to - from >= (4 * end).max(y.len() / 8);
            let usual = if long { levels[index] } else { settled };
            for &value in &y[from..to] {
                let is_slow = value - usual >= excess;
                later.after_slow += u64::from(last_was_slow);
                later.stayed += u64::from(last_was_slow && is_slow);
                later.slow += u64::from(is_slow);
                stretch = if is_slow { stretch + 1 } else { stretch.saturating_sub(2) };
                later.longest = later.longest.max(stretch);
                last_was_slow = is_slow;
            }
            later.all += (to - from) as u64;
            from = to;
        }
        later
    }

    /// The chance that `slow` of the first `steps` are slow, or more.
    fn begins_with(&self, slow: usize, steps: usize) -> f64 {
        // Where a burst follows that is not much shorter, a few of them cannot tell how long bursts may be.
        let distinct = slow as f64 >= 0.85 * steps as f64;
        if distinct && self.longest >= BURST && LIKE * self.longest >= slow as u64 {
            return 1.0;
        }
        // What is known before any is seen: 1 % of all run times are outliers, one in ten of them beside another.
        let being = (self.slow as f64 + 0.2) / (self.all as f64 + 20.0);
        let left = (self.after_slow - self.stayed) as f64;
        // Of few bursts, the lengths are known badly: they may well be longer than these.
        let mut leaving = (left + 1.8) / (self.after_slow as f64 + 2.0) * (left + 2.0) / (left + 3.0);
        if self.longest >= BURST && being < OFTEN {
            // Outliers between the bursts, which last for one, say nothing of how long bursts last.
            leaving = leaving.min(2.0 / self.longest as f64);
        }
        at_least(slow, steps, being, (1.0 - leaving).max(being))
    }
}

/// An upper bound of the chance that a Markov chain of two states is slow in at least `slow` of its first `steps` steps
/// (Chernoff's: the least of E[exp(t (N - slow))] over t); exact where all of them are slow.
fn at_least(slow: usize, steps: usize, being: f64, staying: f64) -> f64 {
    let entering = (being * (1.0 - staying) / (1.0 - being)).min(1.0);
    let mut least = 1.0_f64;
    for exponent in -40..=40 {
        let weight = (0.15 * f64::from(exponent)).exp();
        let factor = weight.exp();
        // E[exp(t N)] of the chains that end in either state, scaled down by exp(t) a slow step not to overflow.
        let (mut quick_end, mut slow_end, mut logarithm) = (1.0 - being, being * factor, 0.0);
        for step in 1..steps {
            let next_quick = quick_end * (1.0 - entering) + slow_end * (1.0 - staying);
            let next_slow = (quick_end * entering + slow_end * staying) * factor;
            let scale = next_quick + next_slow;
            // Far from the start all that changes is the scale.
            let settled = (next_slow / scale - slow_end / (quick_end + slow_end)).abs() < 1e-14;
            if settled {
                logarithm += (steps - step) as f64 * (scale / (quick_end + slow_end)).ln();
                break;
            }
            logarithm += scale.ln();
            (quick_end, slow_end) = (next_quick / scale, next_slow / scale);
        }
        let bound = logarithm + (quick_end + slow_end).ln() - weight * slow as f64;
        least = least.min(bound.exp());
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_beginning_must_be_slow_without_the_first_repetition_too() {
        let mut y = vec![0.0; 100];
        y[0] = 50.0;
        assert_eq!(short(&y, 0.0, 1.0, 1.0, 25), None);
        y[1] = 3.0;
        assert_eq!(short(&y, 0.0, 1.0, 1.0, 25), None);
        // Alike, they count together.
        y[0] = 5.0;
        assert_eq!(short(&y, 0.0, 1.0, 1.0, 25), Some(2));
        y[1..5].fill(4.0);
        assert_eq!(short(&y, 0.0, 1.0, 1.0, 25), Some(5));
        assert_eq!(short(&y[..1], 0.0, 1.0, 1.0, 0), None);
    }

    #[test]
    fn a_warm_up_ends_early_and_everything_before_it_is_slower() {
        let of = |changes: &[usize], levels: &[f64]| end(changes, levels, 1000, 250, 0.02, 0.01);
        assert_eq!(of(&[60], &[2.0, 1.0]), Some(0));
        assert_eq!(of(&[260], &[2.0, 1.0]), None);
        assert_eq!(of(&[20, 60], &[3.0, 2.0, 1.0]), Some(1));
        // A burst, not the beginning; also where the beginning happens to be a little slower.
        assert_eq!(of(&[20, 60], &[1.0, 2.0, 1.0]), None);
        assert_eq!(of(&[20, 60], &[1.05, 2.0, 1.0]), None);
        // It settles, and slows down later.
        assert_eq!(of(&[20, 60], &[3.0, 1.0, 2.0]), Some(0));
    }

    #[test]
    fn the_chance_of_many_slow_steps_is_bounded_tightly() {
        // All slow: exact.
        let exact = 0.1 * 0.8_f64.powi(19);
        assert!((at_least(20, 20, 0.1, 0.8) / exact - 1.0).abs() < 1e-3);
        // Independent: the binomial tail P(N >= 15 of 20 at 0.5) is 0.0207.
        let bound = at_least(15, 20, 0.5, 0.5);
        assert!((0.0207..0.1).contains(&bound), "{bound}");
        assert!(at_least(10, 20, 0.5, 0.5) > 0.99);
        // 10^6 steps neither overflow nor last.
        assert!(at_least(900_000, 1_000_000, 0.1, 0.5) < 1e-100);
    }

    #[test]
    fn a_beginning_like_later_bursts_is_no_news() {
        let mut y = vec![0.0; 1000];
        y[..20].fill(1.0);
        assert!(chance(&y, 20, &[20], &[1.0, 0.0]) < 1e-10);
        for burst in [100, 300, 700] {
            y[burst..burst + 25].fill(1.0);
        }
        assert!(chance(&y, 20, &[20], &[1.0, 0.0]) > 0.01);
        // Outliers that come alone do not explain five slow ones in a row.
        let mut y = vec![0.0; 1000];
        (0..1000).step_by(100).for_each(|i| y[i] = 1.0);
        y[..5].fill(1.0);
        assert!(chance(&y, 5, &[5], &[1.0, 0.0]) < 1e-5);
    }
}
