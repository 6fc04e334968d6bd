//! How much runs on one number of ranks differ from each other: residuals of all parts together, so that what one part
//! gains and another one loses stays so.

use fastrand::Rng;

/// The residuals of runs: for each a value for each part, as shares of the mean time of the runs on as many ranks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noise {
    pub residuals: Vec<Vec<f64>>,
    /// The degrees of freedom that these have.
    pub freedom: f64,
}

/// No time is known better than this share of it.
const LEAST: f64 = 1e-3;

impl Noise {
    /// The standard deviation of a part, as a share of the time of a run; `own`: the largest share that it is of one.
    pub fn deviation(&self, part: usize, own: f64) -> f64 {
        let squares: f64 = self.residuals.iter().map(|run| run[part] * run[part]).sum();
        (squares / self.freedom).sqrt().max(LEAST * own).max(LEAST * LEAST)
    }

    /// The standard deviation of the time of a run, as a share.
    pub fn of_all(&self) -> f64 {
        let squares: f64 = self.residuals.iter().map(|run| run.iter().sum::<f64>().powi(2)).sum();
        (squares / self.freedom).sqrt().max(LEAST)
    }

    /// A draw of the noise of all parts of a run, with the covariances of the residuals.
    pub fn draw(&self, random: &mut Rng, draw: &mut [f64]) {
        draw.fill(0.0);
        for run in &self.residuals {
            let z = normal(random) / self.freedom.sqrt();
            draw.iter_mut().zip(run).for_each(|(sum, residual)| *sum += z * residual);
        }
    }

    /// A draw of the factor by which the true deviation differs from the one that is found.
    pub fn scale(&self, random: &mut Rng) -> f64 {
        // Many degrees of freedom leave nothing to draw.
        let count = self.freedom.round().clamp(1.0, 200.0) as usize;
        let squares: f64 = (0..count).map(|_| normal(random).powi(2)).sum();
        (count as f64 / squares).sqrt()
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
        let noise = Noise { residuals, freedom: 3.0 };
        let mut random = Rng::with_seed(3);
        let mut draw = [0.0; 2];
        let (mut squares, draws) = (0.0, 4000);
        for _ in 0..draws {
            noise.draw(&mut random, &mut draw);
            assert!((draw[0] + draw[1]).abs() < 1e-12);
            squares += draw[0] * draw[0];
        }
        let found = (squares / f64::from(draws)).sqrt();
        assert!((found / noise.deviation(0, 0.0) - 1.0).abs() < 0.05, "{found}");
        assert_eq!(noise.of_all(), LEAST);
    }
}
