//! Performance guidelines: an operation is to take no longer than others that do the same.

use super::holm::levels;
use super::{Alternative, SIGNIFICANCE, holm, rank_sum, relative};
use crate::names::names;
use crate::{dependence, dependence_of_quantile, median};

/// The verdict on a guideline.
///
/// ```
/// use mpitrace_statistics::comparison::Kept;
///
/// assert_eq!(Kept::Violated.name(), "violated");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The left side takes no longer, or longer by no more than the margin.
    Holds,
    /// It takes longer.
    Violated,
    /// These repetitions do not tell.
    Unknown,
}

names!(Kept {
    Holds => "holds",
    Violated => "violated",
    Unknown => "unknown",
});

/// A guideline that was tested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guideline {
    /// The medians of the left side and of the right one, ns.
    pub median_ns: [f64; 2],
    /// How many values that count as independent each side has.
    pub independent: [usize; 2],
    /// How many times as long the left side takes: the median of all ratios (Hodges and Lehmann 1963). `None`: a side
    /// has no time above 0.
    pub factor: Option<f64>,
    /// Its interval, of 95 % for all guidelines together.
    pub interval: Option<[f64; 2]>,
    /// The probability of left sides as long where the guideline holds, one-sided (Wilcoxon 1945), by itself ...
    pub p_raw: f64,
    /// ... and corrected for the number of guidelines (Holm 1979).
    pub p: f64,
    /// What comes of it.
    pub kept: Kept,
}

/// A side with fewer independent values tells nothing.
const FEWEST: usize = 5;
/// Parts of a series for each of its independent values, where it has fewer of them than values.
const PARTS: f64 = 0.5;
/// Values of a side that are compared, at most: pairs grow with its square.
const MOST: usize = 200;

/// Tests guidelines (Träff et al. 2010; Hunold et al. 2016): of each the times of the left side and of the right one,
/// ns, each in the order in which they were measured. `margin`: a left side that takes longer by no more than this
/// share keeps the guideline.
///
/// Repetitions depend on each other, and the test takes values for independent. So each side is cut into parts, 200 at
/// most, whose medians are tested: as many as it has repetitions where these are independent, else half as many as the
/// effective sample size, since the medians of neighbouring parts depend on each other too if parts are short. A
/// guideline holds where the interval of the factor ends at 1 + `margin` or below; else it is violated where p is at
/// most 0.05.
///
/// ```
/// use mpitrace_statistics::comparison::{Kept, guidelines};
///
/// let times = |ns: f64| (0..60).map(|i| ns + f64::from(i * 17 % 61)).collect::<Vec<f64>>();
/// let found = guidelines(&[[times(1000.0), times(2000.0)], [times(3000.0), times(2000.0)]], 0.05);
/// assert_eq!((found[0].kept, found[1].kept), (Kept::Holds, Kept::Violated));
/// assert!(found[1].factor.is_some_and(|factor| (factor - 1.49).abs() < 0.02));
/// ```
pub fn guidelines(sides: &[[Vec<f64>; 2]], margin: f64) -> Vec<Guideline> {
    let independent: Vec<[Vec<f64>; 2]> = sides.iter().map(|[left, right]| [parts(left), parts(right)]).collect();
    let p_raw: Vec<f64> = independent.iter().map(p_value).collect();
    let (p, levels) = (holm(&p_raw), levels(&p_raw, SIGNIFICANCE));
    let one = |index: usize| {
        let ([left, right], of) = (&independent[index], &sides[index]);
        let is_enough = left.len().min(right.len()) >= FEWEST;
        let found = relative(right, left, 1.0 - levels[index]);
        let interval =
            found.and_then(|found| found.interval).filter(|_| is_enough).map(|ends| ends.map(|end| 1.0 + end));
        let kept = match interval {
            Some([_, upper]) if upper <= 1.0 + margin => Kept::Holds,
            _ if is_enough && p[index] <= SIGNIFICANCE => Kept::Violated,
            _ => Kept::Unknown,
        };
        Guideline {
            median_ns: [0, 1].map(|side: usize| median(&mut of[side].clone()).unwrap_or(f64::NAN)),
            independent: [left.len(), right.len()],
            factor: found.map(|found| 1.0 + found.share),
            interval,
            p_raw: p_raw[index],
            p: p[index],
            kept,
        }
    };
    (0..sides.len()).map(one).collect()
}

/// Of too few values none is evidence.
fn p_value([left, right]: &[Vec<f64>; 2]) -> f64 {
    let is_enough = left.len().min(right.len()) >= FEWEST;
    rank_sum(left, right, Alternative::Greater).filter(|_| is_enough).map_or(1.0, |found| found.p)
}

/// The medians of parts of a series that count as independent.
fn parts(series: &[f64]) -> Vec<f64> {
    let of_median = median(&mut series.to_vec()).and_then(|median| dependence_of_quantile(series, median));
    let known = [dependence(series), of_median];
    let effective = known.iter().flatten().map(|found| found.effective).fold(series.len() as f64, f64::min);
    let count = if effective < series.len() as f64 { effective * PARTS } else { effective };
    let count = (count as usize).clamp(1, MOST).min(series.len());
    let part = |index: usize| &series[index * series.len() / count..(index + 1) * series.len() / count];
    (0..count).filter_map(|index| median(&mut part(index).to_vec())).collect()
}

#[cfg(test)]
mod tests {
    use mpitrace_testing::Random;

    use super::*;

    fn times(random: &mut Random, ns: f64, memory: f64) -> Vec<f64> {
        let mut state = random.normal();
        let mut next = || {
            state = memory * state + (1.0 - memory * memory).sqrt() * random.normal();
            ns * (0.1 * state).exp()
        };
        (0..300).map(|_| next()).collect()
    }

    /// Ten guidelines whose sides are equal: in 200 sets one of them is violated 5 times of 100, and by chance 9 times.
    #[test]
    fn equal_sides_violate_seldom_also_where_repetitions_depend_on_each_other() {
        let mut random = Random::new(17);
        let violated = (0..200).filter(|_| {
            let sides: Vec<[Vec<f64>; 2]> =
                (0..10).map(|_| [(); 2].map(|()| times(&mut random, 1000.0, 0.7))).collect();
            guidelines(&sides, 0.0).iter().any(|found| found.kept == Kept::Violated)
        });
        let violated = violated.count();
        assert!(violated <= 18, "{violated} of 200");
    }

    #[test]
    fn the_interval_of_the_factor_holds_it_and_tells_the_verdict() {
        let mut random = Random::new(18);
        let mut kept = [0, 0, 0];
        let mut held = 0;
        for _ in 0..200 {
            let sides = [[times(&mut random, 1200.0, 0.3), times(&mut random, 1000.0, 0.3)]];
            let found = guidelines(&sides, 0.05)[0];
            held += usize::from(found.interval.is_some_and(|[lower, upper]| (lower..=upper).contains(&1.2)));
            kept[found.kept as usize] += 1;
        }
        assert!(held >= 186 && kept[Kept::Violated as usize] == 200, "{held} {kept:?}");
    }

    #[test]
    fn a_left_side_within_the_margin_holds_and_a_few_values_tell_nothing() {
        let mut random = Random::new(19);
        let sides = [[times(&mut random, 1020.0, 0.0), times(&mut random, 1000.0, 0.0)]];
        assert_eq!(guidelines(&sides, 0.1)[0].kept, Kept::Holds);
        let few = [[vec![9.0, 9.1, 9.2, 9.3], vec![1.0, 1.1, 1.2, 1.3]]];
        let found = guidelines(&few, 0.1)[0];
        assert_eq!((found.kept, found.p, found.interval), (Kept::Unknown, 1.0, None));
        let none = guidelines(&[[vec![], vec![1.0; 9]]], 0.1)[0];
        assert_eq!((none.kept, none.factor), (Kept::Unknown, None));
        assert!(guidelines(&[], 0.1).is_empty());
    }
}
