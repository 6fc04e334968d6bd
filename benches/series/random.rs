//! Random numbers of the distributions and processes that the series are made of. All have their sources in
//! docs/developers/references.md or are textbook definitions.

use fastrand::Rng;

/// A number from the standard normal distribution (Box and Muller, 1958).
pub fn normal(random: &mut Rng) -> f64 {
    let radius = (-2.0 * uniform(random).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

/// Above 0, at most 1.
pub fn uniform(random: &mut Rng) -> f64 {
    1.0 - random.f64()
}

/// A number from the exponential distribution of mean 1.
pub fn exponential(random: &mut Rng) -> f64 {
    -uniform(random).ln()
}

/// A number from the Laplace distribution of variance 1.
pub fn laplace(random: &mut Rng) -> f64 {
    (exponential(random) - exponential(random)) / 2.0_f64.sqrt()
}

/// A number from the gamma distribution of scale 1 (Marsaglia and Tsang, 2000); `shape` is at least 1.
pub fn gamma(shape: f64, random: &mut Rng) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(random);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && uniform(random).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

/// `count` numbers of a first-order autoregressive process of variance 1, in its stationary state; `innovation` has
/// variance 1.
pub fn autoregressive(count: usize, phi: f64, random: &mut Rng, innovation: fn(&mut Rng) -> f64) -> Vec<f64> {
    let scale = (1.0 - phi * phi).sqrt();
    let mut z = normal(random);
    // So long a beginning leaves nothing of the normal start.
    let warm = (5.0 / (1.0 - phi)) as usize;
    let mut next = || {
        let last = z;
        z = phi * z + scale * innovation(random);
        last
    };
    (0..warm + count).map(|_| next()).skip(warm).collect()
}

/// `count` numbers of fractionally integrated noise, ARFIMA(0, d, 0), of variance 1 (Hosking, Fractional differencing,
/// 1981): the moving average of normal numbers, cut off after 3000.
pub fn fractional(count: usize, d: f64, random: &mut Rng) -> Vec<f64> {
    const MEMORY: usize = 3000;
    let mut weights = vec![1.0];
    for lag in 1..MEMORY {
        weights.push(weights[lag - 1] * (lag as f64 - 1.0 + d) / lag as f64);
    }
    let deviation = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
    let noise: Vec<f64> = (0..count + MEMORY).map(|_| normal(random)).collect();
    let at = |i: usize| weights.iter().zip(noise[i + 1..=i + MEMORY].iter().rev()).map(|(w, z)| w * z).sum::<f64>();
    (0..count).map(|i| at(i) / deviation).collect()
}
