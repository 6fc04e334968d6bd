//! A level that changes steadily, without a step.

use super::jump::UNSURE;
use super::memory;
use super::selection::{CORRELATION_TIMES, KNOWN};

/// A trend is so many standard errors of its slope.
const STANDARD_ERRORS: f64 = 6.0;
/// Numbers that a line has of its own.
const LINE: usize = 2;

/// The direction of a steady trend: 1, -1, or 0 where there is none. A line through the values, by least squares, must
/// explain their memory: what is left of it is correlated over less than a 20th of the series. The standard error of
/// the slope takes account of the correlation that is left.
pub(super) fn direction(values: &[f64]) -> i32 {
    let count = values.len() as f64;
    let centre = (count - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / count;
    let places = || (0..values.len()).map(|i| i as f64 - centre);
    let square: f64 = places().map(|place| place * place).sum();
    let slope = places().zip(values).map(|(place, value)| place * (value - mean)).sum::<f64>() / square;
    let rest: Vec<f64> = places().zip(values).map(|(place, value)| value - mean - slope * place).collect();
    let phi = (memory::first_correlation(&rest, LINE) + UNSURE / count.sqrt()).clamp(0.0, 0.99);
    let time = memory::correlation_time(&rest).max(if values.len() < KNOWN { phi / (1.0 - phi) } else { 0.0 });
    if count < CORRELATION_TIMES * time {
        return 0;
    }
    let variance = rest.iter().map(|value| value * value).sum::<f64>() / (count - 2.0);
    let error = (variance * (1.0 + 2.0 * time) / square).sqrt();
    if slope.abs() <= STANDARD_ERRORS * error { 0 } else { slope.signum() as i32 }
}

#[cfg(test)]
mod tests {
    use super::direction;

    #[test]
    fn a_line_is_a_trend_and_a_walk_is_none() {
        let mut random = fastrand::Rng::with_seed(2);
        let mut noise = move || random.f64() - 0.5;
        let rising: Vec<f64> = (0..500).map(|i| 0.002 * f64::from(i) + noise()).collect();
        assert_eq!(direction(&rising), 1);
        let falling: Vec<f64> = rising.iter().map(|value| -value).collect();
        assert_eq!(direction(&falling), -1);
        let level: Vec<f64> = (0..500).map(|_| noise()).collect();
        assert_eq!(direction(&level), 0);
        let mut sum = 0.0;
        let walk: Vec<f64> = (0..500)
            .map(|_| {
                sum += noise();
                sum
            })
            .collect();
        assert_eq!(direction(&walk), 0);
        // Nor are most of those that are too short to show their memory.
        let named = (0..400).filter(|_| {
            let mut last = 0.0;
            let short: Vec<f64> = (0..16)
                .map(|_| {
                    last = 0.98 * last + noise();
                    last
                })
                .collect();
            direction(&short) != 0
        });
        assert!(named.count() <= 20);
    }
}
