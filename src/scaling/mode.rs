//! Strong or weak scaling, told from the work of the ranks together.

use mpitrace_statistics::models::Estimate;
use mpitrace_statistics::names::names;
use mpitrace_statistics::student_quantile;
use serde::Serialize;

/// The work that runs on more ranks have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All together the same: the ideal time falls as 1 / p.
    Strong,
    /// Each rank the same: the ideal time is the same.
    Weak,
}

names!(Mode {
    Strong => "strong",
    Weak => "weak",
});

impl Mode {
    /// The ideal time on so many ranks over that on the reference's.
    ///
    /// ```
    /// use mpitrace_scaling::Mode;
    ///
    /// assert_eq!([Mode::Strong, Mode::Weak].map(|mode| mode.ideal(2.0, 8.0)), [0.25, 1.0]);
    /// ```
    pub fn ideal(self, reference: f64, p: f64) -> f64 {
        match self {
            Mode::Strong => reference / p,
            Mode::Weak => 1.0,
        }
    }
}

/// The mode, and what it was told from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ModeFound {
    /// The mode.
    pub mode: Mode,
    /// True: by an option.
    pub is_given: bool,
    /// The work of all ranks together grows as p to this power: instructions where they were counted, else time outside
    /// of MPI in which no other program had the processor.
    pub work_exponent: Estimate,
}

/// Work that grows by less is the same, ...
const SAME: f64 = 0.5;
/// ... and by more is that of each rank: what each rank does again is work of all.
const OF_EACH: f64 = 0.8;

/// The mode that this work (the number of ranks and the work of all, a run each) tells; `None`: it is in between.
pub(crate) fn mode(work: &[(f64, f64)], given: Option<Mode>) -> Result<ModeFound, Estimate> {
    let work_exponent = exponent(work);
    let told = match work_exponent.value {
        value if value < SAME => Some(Mode::Strong),
        value if value > OF_EACH => Some(Mode::Weak),
        _ => None,
    };
    let mode = given.or(told).ok_or(work_exponent)?;
    Ok(ModeFound { mode, is_given: given.is_some(), work_exponent })
}

/// The slope of a line through the logarithms by least squares, with its interval.
fn exponent(work: &[(f64, f64)]) -> Estimate {
    let points: Vec<(f64, f64)> = work.iter().filter(|(_, y)| *y > 0.0).map(|(p, y)| (p.ln(), y.ln())).collect();
    let count = points.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(&|point| point.0), mean(&|point| point.1));
    let squares = count * mean(&|point| (point.0 - x).powi(2));
    let value = count * mean(&|point| (point.0 - x) * (point.1 - y)) / squares;
    let rests = count * mean(&|point| (point.1 - y - value * (point.0 - x)).powi(2));
    let freedom = count - 2.0;
    let interval = student_quantile(freedom, 0.975).map(|t| {
        let half = t * (rests / freedom / squares).sqrt();
        [value - half, value + half]
    });
    Estimate { value, interval }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_tells_the_mode_unless_it_is_in_between() {
        let work = |power: f64| -> Vec<(f64, f64)> {
            [1.0, 2.0, 4.0, 8.0f64].iter().flat_map(|&p| [0.99, 1.01].map(|by| (p, by * p.powf(power)))).collect()
        };
        assert_eq!(mode(&work(0.1), None).unwrap().mode, Mode::Strong);
        assert_eq!(mode(&work(1.05), None).unwrap().mode, Mode::Weak);
        let between = mode(&work(0.65), None).unwrap_err();
        let [low, high] = between.interval.unwrap();
        assert!((between.value - 0.65).abs() < 1e-9 && low < 0.65 && high > 0.65, "{between:?}");
        let given = mode(&work(0.65), Some(Mode::Weak)).unwrap();
        assert_eq!((given.mode, given.is_given), (Mode::Weak, true));
    }
}
