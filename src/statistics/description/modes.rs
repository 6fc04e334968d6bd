//! The clusters of the run times: how many there are, how much each holds, and when each occurs.

use serde::Serialize;

use super::Sample;
use super::mode_places::{Places, places};

/// A cluster of values around a maximum of their density.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mode {
    /// Where the density is highest.
    #[serde(rename = "peak_ns")]
    pub peak: f64,
    /// From the antimode below it to the one above, or to the ends of the series.
    #[serde(rename = "range_ns")]
    pub range: [f64; 2],
    /// The share of all values that lie in the range.
    pub share: f64,
    /// How many they are.
    pub count: usize,
    /// The places in the series (from 0) of the first and the last of them, and the quartiles of all their places:
    /// equal spacing over the whole series is a mode that comes and goes, a narrow range is a phase.
    pub first: usize,
    /// See `first`.
    pub last: usize,
    /// See `first`.
    pub quartiles: [usize; 3],
    /// How many times in a row, on average, a value of this mode follows another one of it: 1 / (1 - share) for a mode
    /// that comes at random.
    pub run_length: f64,
}

impl Mode {
    /// With the numbers of the repetitions in place of the places in the series.
    pub(super) fn numbered(self, repetition: &[u64]) -> Mode {
        let number = |place: usize| repetition[place] as usize;
        Mode { first: number(self.first), last: number(self.last), quartiles: self.quartiles.map(number), ..self }
    }
}

/// Cells of the grid for each bandwidth.
const CELLS_PER_BANDWIDTH: f64 = 4.0;
/// The grid has no more cells; what lies outside belongs to the outermost modes.
const MOST_CELLS: usize = 1 << 16;
/// Bandwidths after which the kernel is 0 (3e-4 of its middle).
const KERNEL_REACH: f64 = 4.0;
/// A valley must be this deep against the lower of its two peaks...
const VALLEY: f64 = 0.75;
/// ... and by sqrt(2 ln n) standard errors of the counts, which the largest of n normal variables comes to; where next
/// to nothing lies in it, by so many values.
const BETWEEN: f64 = 6.0;
/// A mode holds this share of the values at least, ...
const LEAST_SHARE: f64 = 0.018;
/// ... and this many.
const LEAST_COUNT: usize = 5;
/// A mode lies within so many standard deviations of the narrowest half of all values around its peak, ...
const COMPACT: f64 = 3.0;
/// ... for this share of it: outliers that are strewn are none.
const COMPACT_SHARE: f64 = 0.7;
/// A mode that holds this share of the values, ...
const WIDE_SHARE: f64 = 0.125;
/// ... may be so many times as wide.
const WIDER: f64 = 3.0;
/// Clusters with nothing between a value and this many times that value are looked at one by one, ...
const APART: f64 = 1.25;
/// ... where the gap is as wide as so many standard deviations of either cluster, which outliers that are strewn do not
/// come to (2.6, of 2.5 to 10 times the usual value), ...
const GAP: f64 = 4.0;
/// ... if each holds this share of the values.
const APART_SHARE: f64 = 0.1;
/// Among fewer values the shortest half is too short by chance.
const OWN_COUNT: f64 = 20.0;

/// The modes of a series, by their values; one where the density has a single maximum. `sample` is the same series,
/// sorted.
///
/// The density is that of a Gaussian kernel (on the logarithms, where all values are positive: the noise of run times
/// grows with them) with Silverman's (1986, equation 3.31) bandwidth 0.9 sigma n^(-1/5). Its sigma and its n are those
/// of the largest mode: the length of its shortest half over 1.349, so that modes far apart do not widen it; at first
/// that of the shortest fifth of all values. Two maxima are two modes if the valley between them is below 3/4 of the
/// lower one, by more than sqrt(2 ln n) standard errors. Each holds 1.8 % of the values and 5 of them, most of them as
/// close together as the values of the narrowest half are (three times as far apart in a mode of 12.5 %): what is
/// strewn further are outliers, and counts to the mode that is nearest. Clusters of at least 10 % of the values and 20
/// of them are looked at one by one, if nothing lies between them over a factor of 1.25 and 4 standard deviations of
/// either (by their shortest halves, on the logarithms).
///
/// ```
/// use mpitrace_statistics::{Sample, modes};
///
/// // Two clusters, around 1 us and around 2 us.
/// let values: Vec<f64> = (0..1000).map(|i| f64::from(1000 * (1 + i % 2) + i % 37)).collect();
/// let found = modes(&values, &Sample::new(&values));
/// assert_eq!(found.iter().map(|mode| mode.count).collect::<Vec<_>>(), [500, 500]);
/// ```
pub fn modes(values: &[f64], sample: &Sample) -> Vec<Mode> {
    let Some(ranges) = ranges(sample) else { return Vec::new() };
    let ends: Vec<f64> = ranges[..ranges.len() - 1].iter().map(|range| range.end).collect();
    let modes = places(values, &ends);
    let n = sample.len();
    let sorted = sample.sorted();
    let mut found = Vec::with_capacity(ranges.len());
    for (range, place) in ranges.iter().zip(&modes) {
        let &Places { count, first, last, quartiles, runs } = place;
        if count == 0 {
            continue;
        }
        let lowest = sorted.partition_point(|&value| value < range.start);
        found.push(Mode {
            peak: range.peak,
            range: [sorted[lowest], sorted[lowest + count - 1]],
            share: count as f64 / n as f64,
            count,
            first,
            last,
            quartiles,
            run_length: count as f64 / runs as f64,
        });
    }
    found
}

struct Range {
    start: f64,
    end: f64,
    peak: f64,
}

/// A maximum of the density and the minimum above it, as cells of the grid.
#[derive(Clone, Copy)]
struct Peak {
    at: usize,
    valley: usize,
}

fn ranges(sample: &Sample) -> Option<Vec<Range>> {
    let sorted = sample.sorted();
    let starts = clusters(sorted);
    if starts.len() < 2 {
        return ranges_of_cluster(sample);
    }
    let ends = starts.iter().copied().skip(1).chain([sorted.len()]);
    let mut all = Vec::new();
    for (&start, end) in starts.iter().zip(ends) {
        let mut found = ranges_of_cluster(&Sample::new(&sorted[start..end]))?;
        if let Some((last, &next)) = found.last_mut().zip(sorted.get(end)) {
            last.end = next;
        }
        all.extend(found);
    }
    Some(all)
}

/// Where clusters begin that are so far apart that one says nothing of how wide the other is: a rank that is late in
/// most repetitions makes these a hundred times as slow, with the noise of the fast ones.
fn clusters(sorted: &[f64]) -> Vec<usize> {
    let least = (sorted.len() as f64 * APART_SHARE).max(OWN_COUNT) as usize;
    let mut starts = vec![0];
    let axis = Axis { logarithmic: true };
    let is_gap = |pair: &[f64]| pair[0] > 0.0 && pair[1] > APART * pair[0];
    for (place, pair) in sorted.windows(2).enumerate().filter(|(_, pair)| is_gap(pair)) {
        let (start, next) = (starts[starts.len() - 1], place + 1);
        if next - start < least || sorted.len() - next < least {
            continue;
        }
        let widest = || {
            let [below, above] = [&sorted[start..next], &sorted[next..]].map(|values| axis.spread(values, 2, HALF));
            below.max(above)
        };
        if (pair[1] / pair[0]).ln() >= GAP * widest() {
            starts.push(next);
        }
    }
    starts
}

fn ranges_of_cluster(sample: &Sample) -> Option<Vec<Range>> {
    let minimum = sample.minimum()?;
    let whole = |peak| Some(vec![Range { start: minimum, end: f64::INFINITY, peak }]);
    let axis = Axis { logarithmic: minimum > 0.0 };
    let sorted = sample.sorted();
    // The shortest fifth lies within one mode, also where each holds little of all values.
    let mut spread = axis.spread(sorted, 5, FIFTH).min(axis.spread(sorted, 2, HALF));
    if spread <= 0.0 {
        spread = axis.deviation(sorted);
    }
    let mut members = sorted.len();
    let mut found = None;
    for _ in 0..ROUNDS {
        let bandwidth = axis.bandwidth(sample, spread, members);
        if bandwidth <= 0.0 || sorted.len() < 2 * LEAST_COUNT {
            return whole(sample.median()?);
        }
        let ranges = ranges_at(sample, axis, bandwidth, spread.max(bandwidth))?;
        let of = |range: &Range| {
            let [from, to] = [range.start, range.end].map(|edge| sorted.partition_point(|&value| value < edge));
            &sorted[from..to]
        };
        // The mode with the most values says how wide one is.
        let Some(main) = ranges.iter().map(of).max_by_key(|values| values.len()) else {
            return whole(sample.median()?);
        };
        let (of_main, count) = (axis.spread(main, 2, HALF), main.len());
        let settled = of_main <= 0.0 || (of_main / spread - 1.0).abs() < 0.1;
        (spread, members) = (if of_main > 0.0 { of_main } else { spread }, count);
        found = Some(ranges);
        if settled {
            break;
        }
    }
    found
}

/// Times that the width of a mode is estimated.
const ROUNDS: usize = 3;
/// So many standard deviations is the shortest half of a normal distribution, ...
const HALF: f64 = 1.348_98;
/// ... and so many its shortest fifth.
const FIFTH: f64 = 0.506_69;

/// The scale of the density: of logarithms, where all values are positive.
#[derive(Clone, Copy)]
struct Axis {
    logarithmic: bool,
}

impl Axis {
    fn scale(self, value: f64) -> f64 {
        if self.logarithmic { value.ln() } else { value }
    }

    fn unscale(self, value: f64) -> f64 {
        if self.logarithmic { value.exp() } else { value }
    }

    /// The standard deviation of a normal distribution whose shortest part, one in `parts`, is as short as that of the
    /// values, being `deviations` standard deviations.
    fn spread(self, sorted: &[f64], parts: usize, deviations: f64) -> f64 {
        let n = sorted.len();
        let held = n.div_ceil(parts).max(2);
        if n < held {
            return 0.0;
        }
        let shortest = (0..=n - held).map(|from| self.scale(sorted[from + held - 1]) - self.scale(sorted[from]));
        // On few of the positions: the shortest part is smooth in its place.
        shortest.step_by((n / 4096).max(1)).fold(f64::INFINITY, f64::min) / deviations
    }

    /// The standard deviation within the middle 98 %.
    fn deviation(self, sorted: &[f64]) -> f64 {
        let cut = sorted.len() / 100;
        let scaled: Vec<f64> = sorted[cut..sorted.len() - cut].iter().map(|&value| self.scale(value)).collect();
        super::moments(&scaled).and_then(|moments| moments.standard_deviation).unwrap_or(0.0)
    }

    /// Silverman's bandwidth for a mode of so many values, and not below the clock's step where values come in steps.
    fn bandwidth(self, sample: &Sample, spread: f64, members: usize) -> f64 {
        let silverman = 0.9 * spread * (members as f64).powf(-0.2);
        let step = sample.step().map_or(0.0, |step| {
            let median = sample.sorted()[sample.len() / 2];
            (self.scale(median + step) - self.scale(median)).abs()
        });
        silverman.max(step)
    }
}

/// The modes by a kernel of this bandwidth, if one has about this standard deviation. None: no values lie together.
fn ranges_at(sample: &Sample, axis: Axis, bandwidth: f64, spread: f64) -> Option<Vec<Range>> {
    let (minimum, maximum) = (sample.minimum()?, sample.maximum()?);
    let cell = bandwidth / CELLS_PER_BANDWIDTH;
    // Centred on the median where the range is too wide: beyond lie outliers that are no cluster.
    let span = MOST_CELLS as f64 * cell;
    let middle = axis.scale(sample.median()?);
    let start = axis.scale(minimum).max(middle - span / 2.0) - KERNEL_REACH * bandwidth;
    let end = axis.scale(maximum).min(middle + span / 2.0) + KERNEL_REACH * bandwidth;
    let cells = ((end - start) / cell).ceil() as usize + 1;
    // The values are sorted: a bisection finds where each cell ends, without the logarithm of any value.
    let sorted = sample.sorted();
    let mut before = sorted.partition_point(|&value| value < axis.unscale(start - cell / 2.0));
    let mut counts = Vec::with_capacity(cells);
    for index in 0..cells {
        let edge = axis.unscale(start + (index as f64 + 0.5) * cell);
        let until = before + sorted[before..].partition_point(|&value| value < edge);
        counts.push((until - before) as f64);
        before = until;
    }
    let density = smooth(&counts);
    let peaks = significant(peaks(&density), &density, sorted.len());
    let mut found = Vec::with_capacity(peaks.len());
    let mut from = f64::NEG_INFINITY;
    for (index, peak) in peaks.iter().enumerate() {
        let last = index + 1 == peaks.len();
        let end = if last { f64::INFINITY } else { axis.unscale(start + peak.valley as f64 * cell) };
        found.push(Range { start: from.max(minimum), end, peak: axis.unscale(start + peak.at as f64 * cell) });
        from = end;
    }
    let is_mode = |range: &Range| {
        let count = |from: f64, to: f64| {
            sorted.partition_point(|&value| value < to).saturating_sub(sorted.partition_point(|&value| value < from))
        };
        let all = count(range.start, range.end);
        let from = sorted.partition_point(|&value| value < range.start);
        let spread_within = || axis.spread(&sorted[from..from + all], 2, HALF).clamp(spread, WIDER * spread);
        let spread =
            if all as f64 >= (WIDE_SHARE * sorted.len() as f64).max(OWN_COUNT) { spread_within() } else { spread };
        let [from, to] = [-COMPACT, COMPACT].map(|reach| axis.unscale(axis.scale(range.peak) + reach * spread));
        let near = count(from.max(range.start), to.min(range.end));
        let least = ((sorted.len() as f64 * LEAST_SHARE) as usize).max(LEAST_COUNT);
        near >= least && near as f64 >= COMPACT_SHARE * all as f64
    };
    merge(&mut found, is_mode);
    Some(found)
}

/// The counts under a Gaussian kernel whose sum is 1: how many values there are in a cell.
fn smooth(counts: &[f64]) -> Vec<f64> {
    let reach = (KERNEL_REACH * CELLS_PER_BANDWIDTH) as usize;
    let kernel: Vec<f64> = (0..=reach).map(|i| (-0.5 * (i as f64 / CELLS_PER_BANDWIDTH).powi(2)).exp()).collect();
    let sum = kernel[0] + 2.0 * kernel[1..].iter().sum::<f64>();
    let mut density = vec![0.0; counts.len()];
    for (place, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
        for (distance, weight) in kernel.iter().enumerate() {
            let share = count * weight / sum;
            if let Some(below) = place.checked_sub(distance).filter(|_| distance > 0) {
                density[below] += share;
            }
            if let Some(above) = density.get_mut(place + distance) {
                *above += share;
            }
        }
    }
    density
}

/// The maxima and the minima between them.
fn peaks(density: &[f64]) -> Vec<Peak> {
    let mut peaks: Vec<Peak> = Vec::new();
    let (mut rising, mut highest, mut lowest) = (true, 0, 0);
    for place in 1..density.len() {
        if rising {
            if density[place] > density[highest] {
                highest = place;
            } else if density[place] < density[highest] {
                peaks.push(Peak { at: highest, valley: place });
                (rising, lowest) = (false, place);
            }
        } else if density[place] < density[lowest] {
            lowest = place;
        } else if density[place] > density[lowest] {
            if let Some(peak) = peaks.last_mut() {
                // In the middle of a stretch without values.
                peak.valley = usize::midpoint(lowest, place - 1);
            }
            (rising, highest) = (true, place);
        }
    }
    peaks
}

/// Takes away the valleys that are noise, the shallowest first.
fn significant(mut peaks: Vec<Peak>, density: &[f64], count: usize) -> Vec<Peak> {
    let limit = (2.0 * (count as f64).ln()).sqrt();
    // What a kernel of this width averages over: 2 sqrt(pi) bandwidths of a Gaussian.
    let window = 2.0 * std::f64::consts::PI.sqrt() * CELLS_PER_BANDWIDTH;
    loop {
        let depth = |index: usize| {
            let (valley, lower) = (
                density[peaks[index].valley] * window,
                density[peaks[index].at].min(density[peaks[index + 1].at]) * window,
            );
            let errors = (lower - valley) / (lower + valley).max(1.0).sqrt();
            // Both demands as one number: 1 or more fulfils them.
            let ratio = (1.0 - valley / lower) / (1.0 - VALLEY);
            // A few values far apart from all others have next to none between: then their number decides.
            let errors = if valley <= 0.02 * lower && lower >= BETWEEN { f64::INFINITY } else { errors };
            ratio.min(errors / limit)
        };
        let shallowest = (0..peaks.len().saturating_sub(1)).min_by(|&a, &b| depth(a).total_cmp(&depth(b)));
        match shallowest {
            Some(index) if depth(index) < 1.0 => {
                let (left, right) = (peaks[index], peaks[index + 1]);
                let at = if density[left.at] >= density[right.at] { left.at } else { right.at };
                peaks[index] = Peak { at, valley: right.valley };
                peaks.remove(index + 1);
            }
            _ => return peaks,
        }
    }
}

/// Gives what is no mode to the mode that is nearer by its peak. Where none is one, the largest stays alone.
fn merge(ranges: &mut Vec<Range>, is_mode: impl Fn(&Range) -> bool) {
    let kept: Vec<bool> = ranges.iter().map(is_mode).collect();
    if !kept.contains(&true) {
        ranges.clear();
        return;
    }
    let mut merged: Vec<Range> = Vec::new();
    let mut pending: Vec<Range> = Vec::new();
    for (range, kept) in std::mem::take(ranges).into_iter().zip(kept) {
        if !kept {
            pending.push(range);
            continue;
        }
        let mut start = range.start;
        // Those between two modes: each goes to the nearer one, so the first of them that is nearer to this one
        // decides.
        let below = merged.last().map(|mode| mode.peak);
        let nearer = |one: &&Range| below.is_none_or(|below| range.peak - one.peak < one.peak - below);
        if let Some(first) = pending.iter().find(nearer) {
            start = first.start;
        }
        if let Some(mode) = merged.last_mut() {
            mode.end = start;
        }
        pending.clear();
        merged.push(Range { start, ..range });
    }
    if let (Some(last), false) = (merged.last_mut(), pending.is_empty()) {
        last.end = f64::INFINITY;
    }
    *ranges = merged;
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    fn found(values: &[f64]) -> Vec<Mode> {
        modes(values, &Sample::new(values))
    }

    /// Each value comes from the centre that `of` names, with 3 % of noise.
    fn mixed(n: usize, seed: u64, mut of: impl FnMut(usize, &mut Random) -> f64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..n).map(|i| of(i, &mut random) * (1.0 + 0.03 * random.normal())).collect()
    }

    #[test]
    fn one_centre_is_one_mode_whatever_its_tail() {
        for seed in 0..200 {
            let n = [30, 100, 1000, 10_000][seed as usize % 4];
            let plain = mixed(n, seed, |_, _| 26.0);
            assert_eq!(found(&plain).len(), 1, "seed {seed}");
            let tailed = mixed(n, seed, |_, random| 26.0 * (1.0 + 0.2 * random.gamma(1.0)));
            assert_eq!(found(&tailed).len(), 1, "seed {seed} with a tail");
        }
    }

    /// One rank is late in most repetitions: the noise is the same, and not in proportion to the run time.
    #[test]
    fn clusters_far_apart_are_modes_however_wide_each_is() {
        for seed in 0..50 {
            let mut random = Random::new(seed);
            let centre = |i: usize| if i % 5 < 3 { 500_000.0 } else { 3_000.0 };
            let values: Vec<f64> = (0..400).map(|i| centre(i) + 300.0 * random.normal()).collect();
            let found = found(&values);
            assert_eq!(found.iter().map(|mode| mode.count).collect::<Vec<_>>(), [160, 240], "seed {seed}");
            assert!((found[0].peak - 3_000.0).abs() < 300.0 && (found[1].peak - 500_000.0).abs() < 300.0, "{found:?}");
        }
    }

    #[test]
    fn two_centres_are_found_with_their_shares() {
        for seed in 0..50 {
            let found = found(&mixed(1000, seed, |_, random| if random.uniform() < 0.3 { 20.0 } else { 26.0 }));
            assert_eq!(found.len(), 2, "seed {seed}");
            assert!((found[0].share - 0.3).abs() < 0.06 && (found[0].peak - 20.0).abs() < 1.0, "{found:?}");
            assert!((found[1].peak - 26.0).abs() < 1.0, "{found:?}");
            // At random: runs as long as chance makes them.
            assert!(found[1].run_length < 4.5 && found[1].run_length > 2.5, "{found:?}");
        }
    }

    #[test]
    fn a_few_lucky_ones_are_a_mode() {
        let found = found(&mixed(2000, 1, |i, _| if i % 50 == 7 { 15.0 } else { 26.0 }));
        assert_eq!(found.iter().map(|mode| mode.count).collect::<Vec<_>>(), [40, 1960]);
    }

    #[test]
    fn a_phase_is_told_from_a_mode_that_comes_and_goes() {
        let found = found(&mixed(1000, 2, |i, _| if (400..600).contains(&i) { 40.0 } else { 26.0 }));
        let slow = &found[1];
        assert_eq!((slow.first, slow.last, slow.count, slow.run_length), (400, 599, 200, 200.0));
        assert_eq!(found[0].quartiles, [199, 399, 799]);
    }

    #[test]
    fn the_steps_of_a_coarse_clock_are_no_modes() {
        let coarse: Vec<f64> = mixed(5000, 3, |_, _| 26_000.0).iter().map(|x| (x / 500.0).round() * 500.0).collect();
        assert_eq!(found(&coarse).len(), 1);
    }

    #[test]
    fn odd_series_have_one_mode_or_none() {
        assert!(found(&[]).is_empty());
        assert!(found(&[f64::NAN, f64::INFINITY]).is_empty());
        for values in [vec![1.0], vec![5.0; 100], vec![0.0; 30], vec![-1.0, 2.0, 3.0]] {
            assert_eq!(found(&values).len(), 1, "{values:?}");
        }
        let mut mostly_equal = vec![5.0; 1000];
        mostly_equal.push(1e300);
        assert_eq!(found(&mostly_equal).iter().map(|mode| mode.count).sum::<usize>(), 1001);
    }
}
