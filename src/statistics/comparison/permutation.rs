//! The permutation test: the runs change sides in all ways, or in 2000 of them, and a difference is held against those
//! that then come out. It keeps its level whatever the distribution of the runs, for all operations together.
//!
//! The statistic is the larger one of two Student's t of the logarithms: of all runs, and of the runs without the
//! slowest quarter of each side, so that neither a single disturbed run hides a difference nor is efficiency lost where
//! none is disturbed. A run changes sides with all its operations, and each operation is held against the largest
//! statistic of any (Westfall and Young 1993, 2.6): operations that depend on each other cost nothing, and few runs
//! suffice for many operations.

use super::effect::both_logarithms;
use super::{Alternative, SIGNIFICANCE};
use crate::parallel;

/// So many ways to change sides at most: p is known to 0.5 % at 0.05.
const WAYS: usize = 2000;
/// The share of the slowest runs of a side without which the second statistic is made.
const SLOWEST: f64 = 0.25;
/// The standard error is no less than this share of the mean deviation of all runs from their median: ticks of a clock
/// would else make it 0, and the statistic infinite.
const LEAST_ERROR: f64 = 0.1;
/// Statistics that differ by less are equal.
const EQUAL: f32 = 1e-5;
/// How often an end of an interval is halved.
const HALVINGS: usize = 14;

/// An operation: the number of each run, and its value, a logarithm where all have one.
pub(super) struct Sample {
    /// The runs of A and of B.
    pub sides: [Vec<(usize, f64)>; 2],
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tested {
    pub p_raw: f64,
    /// For all operations.
    pub p: f64,
    /// The differences of B less A that the test does not reject.
    pub interval: Option<[f64; 2]>,
}

/// The smallest p of so many runs of A and B: as many ways are at least as extreme as one, and with as many runs on
/// either side its mirror image.
pub(super) fn smallest_p(a: usize, b: usize, alternative: Alternative) -> f64 {
    let extreme = if a == b && alternative == Alternative::TwoSided { 2.0 } else { 1.0 };
    (extreme / all_ways(a, b)).max(1.0 / WAYS as f64).min(1.0)
}

fn all_ways(a: usize, b: usize) -> f64 {
    (1..=a.min(b)).fold(1.0, |ways, k| ways * (a + b + 1 - k) as f64 / k as f64)
}

impl Sample {
    pub(super) fn new(a: &[f64], b: &[f64], numbers: &[Vec<usize>; 2]) -> Sample {
        let sides = both_logarithms(a, b).unwrap_or_else(|| [a.to_vec(), b.to_vec()]);
        let numbered = |side: usize| numbers[side].iter().copied().zip(sides[side].iter().copied()).collect();
        Sample { sides: [numbered(0), numbered(1)] }
    }

    /// All values in ascending order, B's less `shift`, with the places of their runs among all.
    fn pooled(&self, runs_of_a: usize, shift: f64) -> Vec<(f64, usize)> {
        let [a, b] = &self.sides;
        let b = b.iter().map(|&(run, value)| (value - shift, runs_of_a + run));
        let mut pooled: Vec<(f64, usize)> = a.iter().map(|&(run, value)| (value, run)).chain(b).collect();
        pooled.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        pooled
    }
}

/// The ways in which the runs may have been on the sides, the observed one first: of each run, whether it is of A.
struct Ways {
    of_a: Vec<Vec<bool>>,
    runs_of_a: usize,
}

impl Ways {
    fn new(a: usize, b: usize) -> Ways {
        let runs = a + b;
        let first: Vec<bool> = (0..runs).map(|run| run < a).collect();
        let mut of_a = vec![first.clone()];
        if all_ways(a, b) <= WAYS as f64 {
            while let Some(next) = next_way(&of_a[of_a.len() - 1]) {
                of_a.push(next);
            }
        } else {
            // From a fixed seed: the same files give the same p.
            let mut random = fastrand::Rng::with_seed(1);
            while of_a.len() < WAYS {
                let mut way = first.clone();
                random.shuffle(&mut way);
                of_a.push(way);
                if a == b {
                    of_a.push(seen_from_b(&of_a[of_a.len() - 1], a));
                }
            }
        }
        Ways { of_a, runs_of_a: a }
    }

    /// The ways of two sides that give one p-value, also where A and B change places.
    fn either_way(a: usize, b: usize) -> Ways {
        if a <= b {
            return Ways::new(a, b);
        }
        let ways = Ways::new(b, a).of_a;
        Ways { of_a: ways.iter().map(|way| seen_from_b(way, b)).collect(), runs_of_a: a }
    }

    /// The statistic in each way, of a sample whose B is shifted back.
    fn statistics(&self, sample: &Sample, shift: f64, alternative: Alternative) -> impl Iterator<Item = f32> {
        let pooled = sample.pooled(self.runs_of_a, shift);
        let middle = pooled[pooled.len() / 2].0;
        let spread = pooled.iter().map(|(value, _)| (value - middle).abs()).sum::<f64>() / pooled.len() as f64;
        let least = (LEAST_ERROR * spread).powi(2);
        let mut sides = [Vec::with_capacity(pooled.len()), Vec::with_capacity(pooled.len())];
        let of_way = move |way: &Vec<bool>| {
            sides.iter_mut().for_each(Vec::clear);
            pooled.iter().for_each(|&(value, run)| sides[usize::from(!way[run])].push(value));
            statistic(&sides, least, alternative)
        };
        self.of_a.iter().map(of_way)
    }
}

/// A way as seen from B: the runs of B, behind `a` of A, come first and are called A.
fn seen_from_b(way: &[bool], a: usize) -> Vec<bool> {
    way[a..].iter().chain(&way[..a]).map(|of_a| !of_a).collect()
}

/// The next one in the order of the numbers that they are in binary: the first one is the smallest.
fn next_way(way: &[bool]) -> Option<Vec<bool>> {
    let at = way.windows(2).position(|pair| pair[0] && !pair[1])?;
    let mut next = way.to_vec();
    next.swap(at, at + 1);
    let before = next[..at].iter().filter(|&&of_a| of_a).count();
    next[..at].iter_mut().enumerate().for_each(|(place, of_a)| *of_a = place < before);
    Some(next)
}

/// The larger one of the two. 0 where a side has no run.
fn statistic([a, b]: &[Vec<f64>; 2], least: f64, alternative: Alternative) -> f32 {
    let t = |share: f64| {
        let ((mean_a, error_a), (mean_b, error_b)) = (centre(a, share), centre(b, share));
        let t = (mean_b - mean_a) / (error_a + error_b + least).sqrt();
        let t = if t.is_nan() { 0.0 } else { t };
        match alternative {
            Alternative::TwoSided => t.abs(),
            Alternative::Less => t,
            Alternative::Greater => -t,
        }
    };
    t(0.0).max(t(SLOWEST)) as f32
}

/// The mean of ascending values without this share of the largest ones, of which one may count in part, and its squared
/// standard error from the values with these replaced by the largest that is left (Yuen 1974). No number for none.
fn centre(ascending: &[f64], share: f64) -> (f64, f64) {
    let count = ascending.len();
    let cut = count as f64 * share;
    let Some(last) = count.checked_sub(cut as usize + 1) else { return (f64::NAN, 0.0) };
    let (kept, limit) = (count as f64 - cut, ascending[last]);
    let below: f64 = ascending[..last].iter().sum();
    let mean = (below + (1.0 - cut.fract()) * limit) / kept;
    if count < 2 {
        return (mean, 0.0);
    }
    let cut_off = (below + (count - last) as f64 * limit) / count as f64;
    let squares: f64 = ascending[..last].iter().map(|value| (value - cut_off).powi(2)).sum::<f64>()
        + (count - last) as f64 * (limit - cut_off).powi(2);
    (mean, squares / (kept * (kept - 1.0)))
}

/// The standard errors of the sides without their slowest runs, and how many runs stay on each.
pub(super) fn errors(sides: [&[f64]; 2]) -> [(f64, f64); 2] {
    sides.map(|side| (centre(&super::sorted(side), SLOWEST).1, side.len() as f64 * (1.0 - SLOWEST)))
}

/// Tests all samples together; `pairs`: so many comparisons of two sides are made, each of which has its part of the
/// level.
pub(super) fn test(samples: &[Sample], alternative: Alternative, pairs: usize) -> Vec<Tested> {
    let runs = |side: usize| {
        let numbers = samples.iter().flat_map(|sample| &sample.sides[side]);
        numbers.map(|(number, _)| number + 1).max().unwrap_or(0)
    };
    let ways = Ways::either_way(runs(0), runs(1));
    let pairs = pairs.max(1) as f64;
    let (p, _) = step_down(samples, &ways, alternative, pairs);
    let (two_sided, others) = step_down(samples, &ways, Alternative::TwoSided, pairs);
    let each = samples.iter().zip(p).zip(two_sided).zip(&others).collect();
    parallel::map(each, |(((sample, [p_raw, p]), [_, two_sided]), others)| {
        let interval = interval(sample, &ways, others, SIGNIFICANCE / pairs, two_sided <= SIGNIFICANCE);
        Tested { p_raw, p, interval }
    })
}

pub(super) fn p_value(sample: &Sample, alternative: Alternative) -> f64 {
    let [a, b] = [0, 1].map(|side: usize| sample.sides[side].len());
    step_down(std::slice::from_ref(sample), &Ways::either_way(a, b), alternative, 1.0).0[0][0]
}

/// For each operation the p-value by itself and that for all, and in each way the largest statistic of the operations
/// that are not found before it.
fn step_down(samples: &[Sample], ways: &Ways, alternative: Alternative, pairs: f64) -> (Vec<[f64; 2]>, Vec<Vec<f32>>) {
    let rows = parallel::map(samples.iter().collect(), |sample| {
        ways.statistics(sample, 0.0, alternative).collect::<Vec<f32>>()
    });
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&one, &other| rows[one][0].total_cmp(&rows[other][0]));
    let none = vec![f32::NEG_INFINITY; ways.of_a.len()];
    let mut largest = none.clone();
    let mut p = vec![[0.0; 2]; rows.len()];
    let mut others = vec![Vec::new(); rows.len()];
    for &index in &order {
        let row = &rows[index];
        others[index].clone_from(&largest);
        raise(&mut largest, row);
        p[index] = [share(row, row[0]), (pairs * share(&largest, row[0])).min(1.0)];
    }
    // None is below one that was found before it.
    let mut so_far: f64 = 0.0;
    let mut found = order.len();
    for (place, &index) in order.iter().enumerate().rev() {
        so_far = so_far.max(p[index][1]);
        p[index][1] = so_far;
        found = if so_far <= SIGNIFICANCE { place } else { found };
    }
    // Those that are not found stand against each other.
    let open = &order[..found];
    let mut above = none;
    for &index in open.iter().rev() {
        raise(&mut others[index], &above);
        raise(&mut above, &rows[index]);
    }
    (p, others)
}

fn raise(largest: &mut [f32], row: &[f32]) {
    largest.iter_mut().zip(row).for_each(|(largest, &one)| *largest = largest.max(one));
}

/// The share of the ways in which the statistic is at least this one.
fn share(row: &[f32], observed: f32) -> f64 {
    let limit = observed - EQUAL * observed.abs();
    row.iter().filter(|&&one| one >= limit).count() as f64 / row.len() as f64
}

/// The shifts of B that are not rejected, from the middle of all differences outwards. `None`: no shift is.
fn interval(sample: &Sample, ways: &Ways, others: &[f32], level: f64, is_found: bool) -> Option<[f64; 2]> {
    let is_rejected = |shift: f64| {
        let mut row = ways.statistics(sample, shift, Alternative::TwoSided).zip(others);
        let Some((observed, other)) = row.next() else { return false };
        let limit = observed - EQUAL * observed;
        let before = usize::from(observed.max(*other) >= limit);
        let most = (level * ways.of_a.len() as f64) as usize;
        let at_least = row.filter(|(one, other)| one.max(**other) >= limit);
        before + at_least.take(most).count() <= most
    };
    let [a, b] = &sample.sides;
    let mut differences: Vec<f64> = a.iter().flat_map(|(_, a)| b.iter().map(move |(_, b)| b - a)).collect();
    let middle = crate::median(&mut differences)?;
    let widest = differences.iter().fold(0.0f64, |most, one| most.max((one - middle).abs()));
    let first = (widest / 16.0).max(1e-9 * middle.abs()).max(f64::MIN_POSITIVE);
    let end = |direction: f64| {
        // What the test has found lies beyond 0.
        let zero = -middle * direction;
        let (mut inside, mut outside) = match is_found && zero > 0.0 {
            true => (0.0, Some(zero)),
            false => (0.0, None),
        };
        let mut reach = first;
        for _ in 0..40 {
            if outside.is_some() {
                break;
            }
            match is_rejected(middle + direction * reach) {
                true => outside = Some(reach),
                false => (inside, reach) = (reach, 2.0 * reach),
            }
        }
        let mut outside = outside?;
        for _ in 0..HALVINGS {
            let between = f64::midpoint(inside, outside);
            match is_rejected(middle + direction * between) {
                true => outside = between,
                false => inside = between,
            }
        }
        Some(middle + direction * inside)
    };
    let [low, high] = [end(-1.0)?, end(1.0)?];
    Some(if is_found { [low, high] } else { [low.min(0.0), high.max(0.0)] })
}
