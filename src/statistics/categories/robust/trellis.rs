//! Where the level may change: the best path through a trellis of levels.

/// A repetition costs at most this, in squared standard deviations: outliers and short bursts are no levels.
const LARGEST: f64 = 16.0;
/// A change of level costs this: more of them are found than there are, and tested later.
const CHANGE: f64 = 12.0;
/// Levels are so many standard deviations apart, and more far away from the middle.
const APART: f64 = 0.7;
/// By this share of the distance from the middle.
const FAR: f64 = 0.05;

/// The standard deviation of the values around their level, of few changes: from the upper quartile of the differences
/// at lags up to 64.
pub(super) fn deviation(values: &[f64], least: f64) -> f64 {
    deviation_up_to(values, least, 64)
}

/// The standard deviation of the values around their level, from differences at lags up to `longest`.
pub(super) fn deviation_up_to(values: &[f64], least: f64, longest: usize) -> f64 {
    let longest = (values.len() / 16).clamp(1, longest);
    let lags = (0..7).map(|power| 1_usize << power).take_while(|&lag| lag <= longest);
    let differences = |lag: usize| values.iter().zip(values.get(lag..).unwrap_or(&[])).map(|(a, b)| (b - a).abs());
    let at = |lag: usize| of_differences(differences(lag).collect());
    lags.map(at).fold(least, f64::max)
}

/// The standard deviation of normal values whose distances from each other are these, by their upper quartile.
pub(super) fn of_differences(mut differences: Vec<f64>) -> f64 {
    let index = differences.len() * 3 / 4;
    if differences.is_empty() {
        return 0.0;
    }
    *differences.select_nth_unstable_by(index, f64::total_cmp).1 / 1.1503 / std::f64::consts::SQRT_2
}

/// The places at which the level changes in the division of least cost, where a value costs its squared distance from
/// its level, in variances, but at most [`LARGEST`], and a change [`CHANGE`]: the biweight loss of Fearnhead and
/// Rigaill (Changepoint detection in the presence of outliers, 2019), with levels from a grid instead of all.
pub(super) fn changes(values: &[f64], deviation: f64) -> Vec<usize> {
    if values.len() < 2 {
        return Vec::new();
    }
    let grid = grid(values, deviation);
    let mut costs = vec![0.0_f64; grid.len()];
    let mut came = vec![0_u16; values.len()];
    // Of each value and level: whether the level begins there.
    let mut begins = vec![false; values.len() * grid.len()];
    for (i, &value) in values.iter().enumerate() {
        let (mut best, mut least) = (0, f64::INFINITY);
        for (level, &cost) in costs.iter().enumerate() {
            if cost < least {
                (best, least) = (level, cost);
            }
        }
        came[i] = best as u16;
        let fresh = least + CHANGE;
        let row = &mut begins[i * grid.len()..(i + 1) * grid.len()];
        for ((cost, &level), begins) in costs.iter_mut().zip(&grid).zip(row) {
            *begins = fresh < *cost;
            let distance = (value - level) / deviation;
            *cost = cost.min(fresh) - least + (distance * distance).min(LARGEST);
        }
    }
    let mut level = (0..grid.len()).min_by(|&a, &b| costs[a].total_cmp(&costs[b])).unwrap_or(0);
    let mut found = Vec::new();
    for i in (1..values.len()).rev() {
        if begins[i * grid.len() + level] {
            found.push(i);
            level = usize::from(came[i]);
        }
    }
    found.reverse();
    found
}

/// Levels near every value that is not alone.
fn grid(values: &[f64], deviation: f64) -> Vec<f64> {
    let last = values.len() - 1;
    let middle_of = |i: usize| {
        let [a, b, c] = [values[i.saturating_sub(1)], values[i], values[(i + 1).min(last)]];
        a.min(b).max(a.max(b).min(c))
    };
    let mut sorted: Vec<f64> = (0..values.len()).map(middle_of).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted[sorted.len() / 2];
    let mut grid: Vec<f64> = Vec::new();
    for value in sorted {
        let apart = (APART * deviation).max(FAR * ((value - middle).abs() - 10.0 * deviation));
        if grid.last().is_none_or(|level| value - level >= apart) {
            grid.push(value);
        }
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_near_the_middle_are_as_far_apart_as_the_deviation_asks() {
        let values: Vec<f64> = (0..41).map(|place| f64::from(place) * (APART + 0.01)).collect();
        assert_eq!(grid(&values, 1.0), values, "14 deviations from the middle");
        let far: Vec<f64> = (0..201).map(f64::from).collect();
        let levels = grid(&far, 1.0);
        // At 100 deviations from the middle a twentieth of the 90 behind the first ten.
        assert_eq!(levels[1] - levels[0], 5.0, "{levels:?}");
    }
}
