//! The changes of the level of a whole series, from views of it in blocks of several widths.

use super::blocks::{BLOCKS, blocks, widths};
use super::place;
use super::selection::Series;
use super::trend;

/// A view says nothing of changes in its last part.
const SEEN: f64 = 0.75;
/// Two changes nearer to each other than this share of their place are one that two views show.
const ALIKE: f64 = 0.02;

/// The changes of a series.
#[derive(Clone, Debug, Default)]
pub(super) struct Levels {
    /// The rows at which the level changes.
    pub changes: Vec<usize>,
    /// The run times are correlated over so long that they show no level.
    pub undecided: bool,
    /// Where they do so and rise (1) or fall (-1) steadily all along.
    pub trend: i32,
}

/// The changes of the level of these values. `tick`: of the clock, on their scale. `least`: the smallest standard
/// deviation that can be known.
pub(super) fn find(values: &[f64], tick: f64, least: f64, from_the_start: bool) -> Levels {
    let mut changes: Vec<usize> = Vec::new();
    let mut undecided = false;
    let mut trend = 0;
    let widths = widths(values.len());
    let mut deviation = least;
    for &width in widths.iter().rev() {
        let seen = blocks(values, width);
        let selected = Series { values: &seen, tick, least, from_the_start }.select();
        let whole = width * BLOCKS >= values.len();
        if whole {
            undecided = selected.undecided();
            trend = if undecided && selected.changes.is_empty() { trend::direction(&seen) } else { 0 };
        }
        deviation = selected.deviation;
        let horizon = if whole { values.len() } else { (SEEN * (width * BLOCKS) as f64) as usize };
        let wide = |at: usize| 2 * width * 16 + (ALIKE * at as f64) as usize;
        for at in selected.changes.into_iter().map(|at| at * width).filter(|&at| at < horizon) {
            changes.retain(|&other| other.abs_diff(at) > wide(at));
            changes.push(at);
        }
        changes.sort_unstable();
        if width > 1 {
            place::refine(values, &mut changes, deviation, width);
        }
    }
    place::refine(values, &mut changes, deviation, 1);
    Levels { undecided: undecided && changes.is_empty(), trend, changes }
}
