//! Repetitions far slower than their own level.

use crate::statistics::median;

/// MAD to standard deviation, for a normal distribution.
const NORMAL: f64 = 1.4826;

/// Run times above both of these, in multiples of their level's, are out of what the rest does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fences {
    /// Upper quartile and so many distances of the quartiles (Tukey, Exploratory Data Analysis, 1977).
    pub tukey: f64,
    /// Median and so many standard deviations, told from the median absolute deviation.
    pub mad: f64,
}

impl Fences {
    /// The fences of run times that are given as excess over their level. `None` for none. Takes them out of order.
    pub fn of(excess: &mut [f64], tukey: f64, mad: f64) -> Option<Fences> {
        let last = excess.len().checked_sub(1)?;
        // A selection leaves what is below it on one side, so that the next one has fewer values to look at.
        let (quarter, upper) = (last / 4, last * 3 / 4);
        let lower = *excess.select_nth_unstable_by(quarter, f64::total_cmp).1;
        let upper = *excess[quarter..].select_nth_unstable_by(upper - quarter, f64::total_cmp).1;
        // As many left out on either side do not move the median.
        let middle = median(&mut excess[quarter..=last - quarter])?;
        excess.iter_mut().for_each(|value| *value = (*value - middle).abs());
        let deviation = NORMAL * median(excess)?;
        Some(Fences { tukey: upper + tukey * (upper - lower), mad: middle + mad * deviation })
    }

    /// Whether a run time of this excess is beyond both.
    pub fn exceeded_by(&self, excess: f64) -> bool {
        excess > self.tukey && excess > self.mad
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fences_of_nine_numbers() {
        let mut values = [9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0];
        let fences = Fences::of(&mut values, 1.5, 2.0).unwrap();
        assert_eq!(fences, Fences { tukey: 7.0 + 1.5 * 4.0, mad: 5.0 + 2.0 * 1.4826 * 2.0 });
        assert!(!fences.exceeded_by(12.0) && fences.exceeded_by(13.5));
        assert_eq!(Fences::of(&mut [], 1.5, 2.0), None);
    }
}
