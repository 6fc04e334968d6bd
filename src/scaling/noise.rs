//! How much runs on one number of ranks differ from each other: the residuals of all parts together, so that what one
//! part gains and another one loses stays so. The noise of a part is taken for a share of it that is the same on all
//! numbers of ranks.

use fastrand::Rng;

/// The residuals of runs: for each a value for each part, as shares of the part's mean on as many ranks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noise {
    pub residuals: Vec<Vec<f64>>,
    /// The degrees of freedom that these have, for each part.
    pub freedom: Vec<f64>,
}

/// No time is known better than this share of it.
const LEAST: f64 = 1e-3;

impl Noise {
    /// The standard deviation of a part, as a share of it.
    pub fn deviation(&self, part: usize) -> f64 {
        let squares: f64 = self.residuals.iter().map(|run| run[part] * run[part]).sum();
        (squares / self.freedom[part]).sqrt().max(LEAST)
    }

    /// A draw of the noise of all parts of a run, with the covariances of the residuals. That the deviations are known
    /// from few runs makes it larger, as Student's t is: `scales` has the factors.
    pub fn draw(&self, scales: &[f64], random: &mut Rng, draw: &mut [f64]) {
        draw.fill(0.0);
        for run in &self.residuals {
            let z = normal(random);
            draw.iter_mut().zip(run).for_each(|(sum, residual)| *sum += z * residual);
        }
        draw.iter_mut()
            .zip(&self.freedom)
            .zip(scales)
            .for_each(|((sum, freedom), scale)| *sum *= scale / freedom.sqrt());
    }

    /// A draw of the factors by which the true deviation of each part differs from the one that is found.
    pub fn draw_scales(&self, random: &mut Rng, scales: &mut [f64]) {
        for (scale, freedom) in scales.iter_mut().zip(&self.freedom) {
            // Many degrees of freedom leave nothing to draw.
            let count = freedom.round().clamp(1.0, 200.0) as usize;
            let squares: f64 = (0..count).map(|_| normal(random).powi(2)).sum();
            *scale = (count as f64 / squares).sqrt();
        }
    }
}

/// A standard normal number, by Box and Muller (1958).
pub(crate) fn normal(random: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_covariances_of_the_residuals() {
        // What the first part gains, the second one loses.
        let residuals: Vec<Vec<f64>> = [0.01, -0.02, 0.03, -0.02].iter().map(|&by| vec![by, -by]).collect();
        let noise = Noise { residuals, freedom: vec![3.0; 2] };
        let mut random = Rng::with_seed(3);
        let mut draw = [0.0; 2];
        let (mut squares, draws) = (0.0, 4000);
        for _ in 0..draws {
            noise.draw(&[1.0; 2], &mut random, &mut draw);
            assert!((draw[0] + draw[1]).abs() < 1e-12);
            squares += draw[0] * draw[0];
        }
        let found = (squares / f64::from(draws)).sqrt();
        assert!((found / noise.deviation(0) - 1.0).abs() < 0.05, "{found}");
        let mut scales = [0.0; 2];
        let above = (0..draws).filter(|_| {
            noise.draw_scales(&mut random, &mut scales);
            scales[0] > 1.0
        });
        // The median of chi-squared with 3 degrees of freedom is 2.366.
        assert!((above.count() as f64 / f64::from(draws) - 0.61).abs() < 0.03);
    }
}
