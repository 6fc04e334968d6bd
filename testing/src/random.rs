//! Random numbers that are the same on every machine and with every version of this program.

/// SplitMix64 (Steele, Lea and Flood 2014): 64 bits of state, passes BigCrush, and is fixed for good, which the
/// generators of crates are not: a figure that was published must come out again.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in (0, 1): neither end, so that its logarithm exists.
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Standard normal, by Box and Muller (1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Gamma of a shape of 1 or more and scale 1, by Marsaglia and Tsang (2000): constant time for any shape.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.uniform().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_sequence() {
        // The first outputs for seed 0, as of the reference implementation (prng.di.unimi.it/splitmix64.c).
        let mut random = Random::new(0);
        assert_eq!([random.bits(), random.bits()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn normal_and_gamma_have_their_means_and_variances() {
        let mut random = Random::new(1);
        let mut check = |draw: &mut dyn FnMut(&mut Random) -> f64, mean: f64, variance: f64| {
            let n = 100_000;
            let values: Vec<f64> = (0..n).map(|_| draw(&mut random)).collect();
            let found = values.iter().sum::<f64>() / n as f64;
            let spread = values.iter().map(|x| (x - found).powi(2)).sum::<f64>() / n as f64;
            // Five standard errors of the mean; the variance of a variance is larger.
            assert!((found - mean).abs() < 5.0 * (variance / n as f64).sqrt(), "{found} is not {mean}");
            assert!((spread / variance - 1.0).abs() < 0.05, "{spread} is not {variance}");
        };
        check(&mut Random::normal, 0.0, 1.0);
        check(&mut |random| random.gamma(1.0), 1.0, 1.0);
        check(&mut |random| random.gamma(1000.0), 1000.0, 1000.0);
    }
}
