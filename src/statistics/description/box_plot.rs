//! The box plot of a series.

use serde::Serialize;

use super::Sample;
use super::outliers::{fences, tukey_fences};

/// The numbers of a box plot (Tukey 1977), in the unit of the values.
///
/// ```
/// use mpitrace_statistics::Sample;
///
/// let plot = Sample::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 100.0]).box_plot().expect("values");
/// assert_eq!((plot.quartiles, plot.whiskers, plot.outside), ([2.25, 3.5, 4.75], [1.0, 5.0], [0, 1]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BoxPlot {
    /// First quartile, median and third quartile.
    #[serde(rename = "quartiles_ns")]
    pub quartiles: [f64; 3],
    /// Q1 - 1.5 IQR and Q3 + 1.5 IQR.
    #[serde(rename = "fences_ns")]
    pub fences: [f64; 2],
    /// The lowest and the highest value within the fences.
    #[serde(rename = "whiskers_ns")]
    pub whiskers: [f64; 2],
    /// How many values lie below the lower and above the upper fence.
    pub outside: [usize; 2],
}

impl Sample {
    /// The numbers of a box plot.
    pub fn box_plot(&self) -> Option<BoxPlot> {
        let quartiles = [self.quantile(0.25)?, self.quantile(0.5)?, self.quantile(0.75)?];
        let fences = fences([quartiles[0], quartiles[2]]);
        let [lower, upper] = tukey_fences(self)?;
        let below = self.sorted().partition_point(|&value| value < lower);
        let within = self.sorted().partition_point(|&value| value <= upper);
        // The quartiles lie within the fences, and so does some value.
        let whiskers = [*self.sorted().get(below)?, *self.sorted().get(within.checked_sub(1)?)?];
        Some(BoxPlot { quartiles, fences, whiskers, outside: [below, self.len() - within] })
    }
}
