//! The end of a warm-up: of a beginning that is slower, and falls, at once or gradually, to the level of what follows.

use super::blocks::{BLOCKS, blocks, widths};
use super::falling::{Level, SETTLED, falling, steps};
use super::unique::{comes_and_goes, mean, middle, scores};
use super::{place, trellis};
use crate::estimators::ranks;

/// A view says nothing of an end in its last part.
const SEEN: f64 = 0.75;
/// Scores are those beside the level behind the end that they lead to: so often they are computed again.
const TURNS: usize = 4;

/// Where the warm-up of these values ends. `tick`: of the clock, on their scale. `least`: the smallest standard
/// deviation that can be known. The longest warm-up that a view of the values in blocks shows is taken.
pub(super) fn end(values: &[f64], tick: f64, least: f64) -> Option<usize> {
    let mut wider: Vec<(usize, Vec<f64>)> = Vec::new();
    for width in widths(values.len()).into_iter().rev() {
        let mut seen = blocks(values, width);
        if width == 1 {
            // It has a category of its own.
            seen.remove(0);
        }
        let whole = width * BLOCKS >= values.len();
        let latest = if whole { seen.len() } else { (SEEN * seen.len() as f64) as usize };
        if let Some((at, fall, start)) = end_of(&seen, width, tick, least).filter(|(at, ..)| *at < latest) {
            let settles = |(width_of, seen): &(usize, Vec<f64>)| {
                let [at, start] = [at, start].map(|place| place * width / width_of);
                !comes_and_goes(&seen[start..], *width_of, at.max(1) - start, fall, least, true)
            };
            if wider.iter().all(settles) {
                return Some(if width == 1 { at + 1 } else { place::near(values, at * width, width, least) });
            }
        }
        wider.push((width, seen));
    }
    None
}

/// Where the warm-up of these blocks of this width ends, by how much they are quicker from there on, and from where on
/// they may not be slower again.
fn end_of(values: &[f64], width: usize, tick: f64, least: f64) -> Option<(usize, f64, usize)> {
    if values.len() < SETTLED + 2 {
        return None;
    }
    let last = |levels: &[Level]| levels.last().map_or(0, |level| level.from).min(values.len() - SETTLED);
    let mut end = last(&falling(&ranks(values).0));
    let mut found = None;
    for _ in 0..TURNS {
        let scores = scores(values, end, tick, least);
        let levels = steps(&scores.usual());
        let next = match levels.as_slice() {
            // A burst behind the beginning is no level of it.
            [.., burst, _] if levels.len() > 2 && scores.is_burst(burst) => burst.from,
            _ => last(&levels),
        };
        let single = (levels.len() == 2, scores.alternates(0, next));
        found = (next > 0 && scores.is_unique(next)).then_some((next, single));
        if next == end {
            break;
        }
        end = next;
    }
    let (end, (single, alternates)) = found?;
    let end = if single && !alternates { at_once(values, end, least) } else { end };
    let start = if alternates { end } else { 0 };
    let slow = if alternates { mean(&values[..end]) } else { middle(&values[..end]) };
    let fall = slow - middle(&values[end..]);
    (!comes_and_goes(&values[start..], width, end - start, fall, least, single)).then_some((end, fall, start))
}

/// Where a level ends that falls at once: sooner than at `end` if what is between the two is mostly as quick as what
/// follows, but for a burst.
fn at_once(values: &[f64], end: usize, least: f64) -> usize {
    let sigma = trellis::deviation(values, least);
    let [before, after] = [middle(&values[..end]), middle(&values[end..])];
    // Where only some are slow it ends behind the last of them.
    if before - after <= 2.0 * sigma {
        return end;
    }
    let at = place::best(values, end / 2 + 1..end + 1, before, after, sigma);
    if is_over(values, at, end, least) { at } else { end }
}

/// True if the values from one place to another are mostly as quick as what follows, but for a burst.
pub(super) fn is_over(values: &[f64], at: usize, end: usize, least: f64) -> bool {
    let mut between = values[at.min(end)..end].to_vec();
    between.sort_unstable_by(f64::total_cmp);
    let farthest = (0.5 + 3.0 / between.len() as f64) * trellis::deviation(values, least);
    between.get(between.len() / 4).is_none_or(|value| value - middle(&values[end..]) <= farthest)
}

#[cfg(test)]
mod tests {
    use super::super::LEAST_DEVIATION;
    use super::*;

    #[test]
    fn the_view_that_holds_all_repetitions_shows_an_end_in_its_last_quarter_too() {
        for (length, slow) in [(100, 80), (400, 360), (BLOCKS, 1800)] {
            for seed in 0..20 {
                let mut random = fastrand::Rng::with_seed(seed);
                let values: Vec<f64> =
                    (0..length).map(|row| if row < slow { 1.0 } else { 0.0 } + 0.1 * random.f64()).collect();
                assert_eq!(end(&values, 0.0, LEAST_DEVIATION), Some(slow), "of {length}, seed {seed}");
            }
        }
    }
}
