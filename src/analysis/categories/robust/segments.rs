//! The stretches in which the level stays the same.

use std::ops::Range;

use super::cells::Cells;

/// Candidates are thinned out each time this many cells have been added: more often takes longer than it saves.
const PRUNING: usize = 16;

/// The cells at which a segment begins, without the first: those that make the sum of all segments' costs, and of a
/// penalty for each, the least there is. PELT (Killick, Fearnhead, Eckley, Optimal detection of changepoints with a
/// linear computational cost, 2012): exact, and candidates that no later end can make good again are left out.
pub fn optimal(cells: &Cells, penalty: f64) -> Vec<usize> {
    let count = cells.len();
    // Where the last segment of the best division up to each cell begins.
    let mut last = vec![0];
    // Of each candidate: the cell, the repetitions and sums before it, and the least cost up to it. One array each, so
    // that the loop over them, which is where all the time goes, takes several at once.
    let (mut starts, mut weights, mut sums, mut bases) = (vec![0], vec![0.0], vec![0.0], vec![-penalty]);
    let mut costs = Vec::new();
    for end in 1..=count {
        let (weight, sum, squares) = cells.before(end);
        costs.clear();
        costs.extend(bases.iter().zip(&sums).zip(&weights).map(|((base, before), earlier)| {
            let difference = sum - before;
            base + squares - difference * difference / (weight - earlier)
        }));
        let least = least(&costs);
        let best = costs.iter().position(|&cost| cost == least).unwrap_or(0);
        last.push(starts[best]);
        let least = least + penalty;
        // A candidate that is worse than a fresh start here will be so for good.
        if end.is_multiple_of(PRUNING) {
            let mut kept = 0;
            for index in 0..costs.len() {
                if costs[index] <= least {
                    (starts[kept], weights[kept]) = (starts[index], weights[index]);
                    (sums[kept], bases[kept]) = (sums[index], bases[index]);
                    kept += 1;
                }
            }
            starts.truncate(kept);
            weights.truncate(kept);
            sums.truncate(kept);
            bases.truncate(kept);
        }
        starts.push(end);
        weights.push(weight);
        sums.push(sum);
        bases.push(least - squares);
    }
    let mut found = Vec::new();
    let mut end = count;
    while end > 0 && last[end] > 0 {
        end = last[end];
        found.push(end);
    }
    found.reverse();
    found
}

/// The smallest value, in lanes that the processor takes at once.
fn least(values: &[f64]) -> f64 {
    let mut lanes = [f64::INFINITY; 8];
    let chunks = values.chunks_exact(lanes.len());
    let rest = chunks.remainder();
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, &value)| *lane = if value < *lane { value } else { *lane });
    }
    rest.iter().chain(&lanes).copied().fold(f64::INFINITY, f64::min)
}

/// Drops, weakest first, the changes that noise can explain or that are too small to matter.
///
/// `variance`: of the mean of many repetitions, times their number. `penalty`: in such variances. `smallest`: on the
/// series' scale.
pub fn significant(cells: &Cells, mut starts: Vec<usize>, variance: f64, penalty: f64, smallest: f64) -> Vec<usize> {
    loop {
        let strengths = (0..starts.len()).map(|index| {
            let (before, after) = beside(&starts, index, cells.len());
            let difference = (cells.mean(after.clone()) - cells.mean(before.clone())).abs();
            let spread = variance * (1.0 / cells.weight(before) + 1.0 / cells.weight(after));
            (difference * difference / (spread * penalty)).min(difference / smallest)
        });
        match strengths.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((weakest, strength)) if strength < 1.0 => starts.remove(weakest),
            _ => return starts,
        };
    }
}

/// The mean squared distance of a cell from its segment, over that of independent noise: above 1 where noise is
/// correlated or has tails.
pub fn residual(cells: &Cells, starts: &[usize], sigma: f64) -> f64 {
    let mut from = 0;
    let mut sum = 0.0;
    for &to in starts.iter().chain([&cells.len()]) {
        sum += cells.cost(from..to);
        from = to;
    }
    sum / (sigma * sigma * (cells.len() as f64 - starts.len() as f64 - 1.0).max(1.0))
}

fn beside(starts: &[usize], index: usize, end: usize) -> (Range<usize>, Range<usize>) {
    let from = index.checked_sub(1).map_or(0, |before| starts[before]);
    let to = starts.get(index + 1).copied().unwrap_or(end);
    (from..starts[index], starts[index]..to)
}

#[cfg(test)]
mod tests {
    use super::super::noise::Noise;
    use super::*;

    fn cells(y: &[f64]) -> Cells {
        Cells::of(y, Noise { sigma: 1e3, inflation: 1.0 })
    }

    fn total(cells: &Cells, starts: &[usize], penalty: f64) -> f64 {
        let ends = starts.iter().copied().chain([cells.len()]);
        let begins = [0].into_iter().chain(starts.iter().copied());
        begins.zip(ends).map(|(from, to)| cells.cost(from..to)).sum::<f64>() + penalty * starts.len() as f64
    }

    #[test]
    fn no_other_division_costs_less() {
        let mut random = fastrand::Rng::with_seed(9);
        for length in 1..=12_usize {
            let y: Vec<f64> = (0..length).map(|i| random.f64() + if i < length / 2 { 2.0 } else { 0.0 }).collect();
            let cells = cells(&y);
            for penalty in [0.05, 0.5, 5.0] {
                let found = total(&cells, &optimal(&cells, penalty), penalty);
                // Each set of starts, as the bits of a number.
                let least = (0..1_usize << (length - 1))
                    .map(|set| (1..length).filter(|start| set >> (start - 1) & 1 == 1).collect::<Vec<_>>())
                    .map(|starts| total(&cells, &starts, penalty))
                    .fold(f64::INFINITY, f64::min);
                assert!((found - least).abs() < 1e-9, "{length} {penalty}: {found} {least}");
            }
        }
    }

    #[test]
    fn thinning_out_candidates_loses_none_that_is_needed() {
        let mut random = fastrand::Rng::with_seed(10);
        let y: Vec<f64> = (0..200).map(|i| random.f64() + f64::from(i / 25 % 2) * 3.0).collect();
        assert_eq!(optimal(&cells(&y), 5.0), [25, 50, 75, 100, 125, 150, 175]);
    }

    #[test]
    fn what_noise_explains_or_is_too_small_to_matter_is_dropped() {
        let y = [vec![0.0; 50], vec![1.0; 50], vec![1.01; 50]].concat();
        let cells = cells(&y);
        assert_eq!(significant(&cells, vec![50, 100], 0.01, 10.0, 0.02), [50]);
        assert_eq!(significant(&cells, vec![50, 100], 1e-9, 10.0, 0.001), [50, 100]);
        assert!(significant(&cells, vec![50, 100], 100.0, 10.0, 0.02).is_empty());
    }

    #[test]
    fn nothing_has_no_segments() {
        assert!(optimal(&cells(&[]), 1.0).is_empty());
    }
}
