//! Lines that follow each other: where a library changes its protocol or algorithm with the size.

use std::ops::Range;

use super::line::{FEWEST_SIZES, Hockney, OneSize, hockney};

/// More lines stand for fewer where their mean square is below this share.
const BETTER: f64 = 0.25;
/// Lines at most.
const MOST: usize = 3;
/// More sizes have one line: the time that three take rises with the third power of their number.
const MOST_SIZES: usize = 256;

/// Some sizes that follow each other, and the line through them.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// The places of the sizes.
    pub sizes: Range<usize>,
    /// The line.
    pub line: Hockney,
}

/// The lines through ascending sizes: one, or where that is off by more than `limit` (a share) several, one after the
/// other, each of 3 sizes at least. Empty for fewer than 3 sizes.
///
/// For each number of lines, 3 at most, the sizes are cut where the sum of the squared relative residuals is least
/// (Quandt 1958). Of k lines 3 k - 1 numbers are fitted, which leaves n - 3 k + 1 for the mean square. The fewest lines
/// are taken such that none more have a mean square below a quarter of theirs. More than 256 sizes have one line.
///
/// ```
/// use mpitrace_statistics::models::{Estimate, OneSize, pieces};
///
/// let at = |bytes: u64| {
///     let ns = if bytes < 4096 { 500.0 + 0.5 * bytes as f64 } else { 3000.0 + 0.1 * bytes as f64 };
///     OneSize { bytes, times: 50, median_ns: Estimate { value: ns, interval: Some([0.99 * ns, 1.01 * ns]) } }
/// };
/// let sizes: Vec<OneSize> = (0..20).map(|power| at(1 << power)).collect();
/// let found = pieces(&sizes, 0.1);
/// assert_eq!((found.len(), found[0].sizes.clone(), found[1].sizes.clone()), (2, 0..12, 12..20));
/// assert!((found[1].line.alpha_ns.value - 3000.0).abs() < 1e-6);
/// let line: Vec<OneSize> = (0..12).map(|power| at(1 << power)).collect();
/// assert_eq!(pieces(&line, 0.1).len(), 1);
/// ```
pub fn pieces(sizes: &[OneSize], limit: f64) -> Vec<Piece> {
    let Some(line) = hockney(sizes) else { return Vec::new() };
    let is_off = line.residuals.iter().any(|residual| residual.abs() > limit);
    let mut cuts: Vec<Vec<Piece>> = vec![vec![Piece { sizes: 0..sizes.len(), line }]];
    if is_off && sizes.len() <= MOST_SIZES {
        cuts.extend((2..=MOST).map_while(|lines| best(sizes, 0, lines)).take_while(|cut| freedom(sizes, cut) > 0));
    }
    let mean_square = |cut: &Vec<Piece>| sum(cut) / freedom(sizes, cut) as f64;
    let is_enough = |place: usize| {
        let limit = BETTER * mean_square(&cuts[place]);
        cuts[place + 1..].iter().all(|more| mean_square(more) >= limit)
    };
    let fewest = (0..cuts.len()).find(|&place| is_enough(place)).unwrap_or_default();
    cuts.swap_remove(fewest)
}

/// The numbers that are left when so many lines are fitted.
fn freedom(sizes: &[OneSize], cut: &[Piece]) -> usize {
    (sizes.len() + 1).saturating_sub(3 * cut.len())
}

/// The least squares of so many lines through the sizes from a place on.
fn best(sizes: &[OneSize], from: usize, lines: usize) -> Option<Vec<Piece>> {
    let piece = |to: usize| Some(Piece { sizes: from..to, line: hockney(&sizes[from..to])? });
    if lines == 1 {
        return Some(vec![piece(sizes.len())?]);
    }
    let last = sizes.len().checked_sub((lines - 1) * FEWEST_SIZES)?;
    let cut = |at: usize| {
        let mut cut = vec![piece(at)?];
        cut.extend(best(sizes, at, lines - 1)?);
        Some(cut)
    };
    (from + FEWEST_SIZES..=last).filter_map(cut).min_by(|one, other| sum(one).total_cmp(&sum(other)))
}

fn sum(cut: &[Piece]) -> f64 {
    cut.iter().map(|piece| squares(&piece.line)).sum()
}

/// The sum of what the fit makes least: the differences as shares of the medians, squared.
fn squares(line: &Hockney) -> f64 {
    line.residuals.iter().map(|residual| (residual / (1.0 + residual)).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use mpitrace_testing::Random;

    use super::*;
    use crate::models::Estimate;

    fn sizes(time: impl Fn(f64) -> f64, noise: f64, random: &mut Random) -> Vec<OneSize> {
        let mut at = |power: u32| {
            let bytes = 1 << power;
            let value = time(f64::from(bytes as u32)) * (noise * random.normal()).exp();
            let interval = Some([value * (1.0 - noise), value * (1.0 + noise)]);
            OneSize { bytes, times: 50, median_ns: Estimate { value, interval } }
        };
        (0..21).map(&mut at).collect()
    }

    #[test]
    fn three_protocols_are_three_lines() {
        let mut random = Random::new(3);
        let time = |m: f64| match m {
            small if small < 256.0 => 400.0 + small,
            middle if middle < 32_768.0 => 2000.0 + 0.2 * middle,
            large => 20_000.0 + 0.1 * large,
        };
        let found = pieces(&sizes(time, 0.01, &mut random), 0.1);
        let ranges: Vec<_> = found.iter().map(|piece| piece.sizes.clone()).collect();
        assert_eq!(ranges, [0..8, 8..15, 15..21]);
        assert!((found[2].line.beta_ns_per_byte.value / 0.1 - 1.0).abs() < 0.05);
    }

    /// Of 400 lines with noise of 5 % less than 2 % are taken for two.
    #[test]
    fn noise_is_no_other_protocol() {
        let mut random = Random::new(5);
        let cut = (0..400).filter(|_| pieces(&sizes(|m| 800.0 + 0.2 * m, 0.05, &mut random), 0.1).len() > 1).count();
        assert!(cut < 8, "{cut} of 400");
    }

    #[test]
    fn too_few_sizes_are_not_cut() {
        let mut random = Random::new(6);
        let all = sizes(|m| if m < 4.0 { 1.0 } else { 1000.0 }, 0.01, &mut random);
        assert_eq!(pieces(&all[..5], 0.1).len(), 1);
        assert!(pieces(&all[..2], 0.1).is_empty());
    }
}
