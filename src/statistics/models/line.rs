//! The line of Hockney: T(m) = alpha + beta m.

use serde::Serialize;

use super::Estimate;

/// Sizes that a line needs: of two any line meets both.
pub const FEWEST_SIZES: usize = 3;

/// The times of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OneSize {
    /// The size, bytes.
    pub bytes: u64,
    /// Times that were measured.
    pub times: usize,
    /// Their median, ns.
    pub median_ns: Estimate,
}

/// A line through the medians of several sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hockney {
    /// The time of a message without bytes, ns.
    pub alpha_ns: Estimate,
    /// The time that each byte adds, ns.
    pub beta_ns_per_byte: Estimate,
    /// For each size by how much its median is above the line, as a share of the line; below: less than 0.
    pub residuals: Vec<f64>,
}

/// Sizes that follow each other and whose medians are all above the line, or all below it, by more than a limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Off {
    /// The least of them, bytes.
    pub from_bytes: u64,
    /// The largest of them, bytes.
    pub to_bytes: u64,
    /// The largest residual among them by its amount.
    pub residual: f64,
}

/// Fits T(m) = alpha + beta m (Hockney 1994; alpha in ns is his latency, 1 / beta his bandwidth), by weighted least
/// squares. Sizes in any order, each once. `None` for fewer than 3 sizes with times above 0.
///
/// The line is fitted to the medians of the sizes, which single slow repetitions do not move (Hoefler and Belli 2015,
/// 3.1.3). Each has the weight 1 / median^2, so that what is made least is the sum of the squared relative residuals
/// (Tofallis 2008): sizes and times span orders of magnitude, and of equal weights the largest size alone would make
/// the line.
///
/// alpha and beta are sums of the medians with known factors. So the variance of each is that of this sum, from the
/// intervals of the medians, or that which the residuals tell (their mean square, with n - 2 in the denominator, where
/// sizes are further from the line than their repetitions explain), whichever is larger (Birge 1932). The interval is
/// the normal one of 95 %. A size whose median has no interval counts as no better known than the worst of the others;
/// there is none where fewer than half of the sizes have one.
///
/// ```
/// use mpitrace_statistics::models::{OneSize, centre, hockney};
///
/// let at = |bytes: u64| {
///     let ns: Vec<f64> = (0..50).map(|i| (1000.0 + 0.5 * bytes as f64) * (0.98 + 0.001 * f64::from(i * 17 % 41))).collect();
///     OneSize { bytes, times: ns.len(), median_ns: centre(&ns).expect("times") }
/// };
/// let line = hockney(&[1, 64, 4096, 65536].map(at)).expect("four sizes");
/// assert!((line.alpha_ns.value / 1000.0 - 1.0).abs() < 0.01);
/// assert!((line.beta_ns_per_byte.value / 0.5 - 1.0).abs() < 0.01);
/// assert!(line.residuals.iter().all(|residual| residual.abs() < 0.01));
/// assert!(hockney(&[1, 64].map(at)).is_none());
/// ```
pub fn hockney(sizes: &[OneSize]) -> Option<Hockney> {
    if sizes.len() < FEWEST_SIZES
        || sizes.iter().any(|size| size.median_ns.value.is_nan() || size.median_ns.value <= 0.0)
    {
        return None;
    }
    // Of the medians over their weights the regressors are 1 / median and bytes / median.
    let (mut s, mut sx, mut sxx) = (0.0, 0.0, 0.0);
    for size in sizes {
        let (weight, x) = (weight(size), size.bytes as f64);
        (s, sx, sxx) = (s + weight, sx + weight * x, sxx + weight * x * x);
    }
    let determinant = s * sxx - sx * sx;
    if determinant.is_nan() || determinant <= 0.0 {
        return None;
    }
    let of_alpha = |size: &OneSize| weight(size) * (sxx - sx * size.bytes as f64) / determinant;
    let of_beta = |size: &OneSize| weight(size) * (s * size.bytes as f64 - sx) / determinant;
    let [alpha, beta] = [value(sizes, of_alpha), value(sizes, of_beta)];
    let line = |size: &OneSize| alpha + beta * size.bytes as f64;
    let squares: f64 = sizes.iter().map(|size| (1.0 - line(size) / size.median_ns.value).powi(2)).sum();
    let mean_square = squares / (sizes.len() - 2) as f64;
    let errors = errors(sizes);
    let variance = |factor: &dyn Fn(&OneSize) -> f64| -> Option<f64> {
        let terms = sizes.iter().zip(errors.as_ref()?).map(|(size, error)| (factor(size) * error).powi(2));
        Some(terms.sum())
    };
    let error = |own: f64, of_medians: Option<f64>| of_medians.map(|variance| variance.max(mean_square * own).sqrt());
    Some(Hockney {
        alpha_ns: Estimate::new(alpha, error(sxx / determinant, variance(&of_alpha))),
        beta_ns_per_byte: Estimate::new(beta, error(s / determinant, variance(&of_beta))),
        residuals: sizes.iter().map(|size| size.median_ns.value / line(size) - 1.0).collect(),
    })
}

/// 1 / median^2.
fn weight(size: &OneSize) -> f64 {
    size.median_ns.value.powi(-2)
}

fn value(sizes: &[OneSize], factor: impl Fn(&OneSize) -> f64) -> f64 {
    sizes.iter().map(|size| factor(size) * size.median_ns.value).sum()
}

/// The standard errors of the medians, ns.
fn errors(sizes: &[OneSize]) -> Option<Vec<f64>> {
    let share = |size: &OneSize| Some(size.median_ns.error()? / size.median_ns.value);
    let shares: Vec<Option<f64>> = sizes.iter().map(share).collect();
    let known = shares.iter().flatten();
    let worst = known.clone().copied().fold(0.0, f64::max);
    let of_size = |(size, share): (&OneSize, &Option<f64>)| share.unwrap_or(worst) * size.median_ns.value;
    (2 * known.count() >= sizes.len()).then(|| sizes.iter().zip(&shares).map(of_size).collect())
}

impl Hockney {
    /// 1 / beta in bytes/ns (GB/s). `None` where beta is not above 0; the interval where its own reaches 0.
    ///
    /// ```
    /// use mpitrace_statistics::models::{Estimate, Hockney};
    ///
    /// let known = |value: f64, half: f64| Estimate { value, interval: Some([value - half, value + half]) };
    /// let line = |beta| Hockney { alpha_ns: known(900.0, 10.0), beta_ns_per_byte: beta, residuals: Vec::new() };
    /// let found = line(known(0.125, 0.025)).bandwidth_gb_s().expect("beta is above 0");
    /// assert_eq!(found.value, 8.0);
    /// assert!(found.interval.is_some_and(|[lower, upper]| lower < 6.7 && upper > 9.9));
    /// assert!(line(known(0.1, 0.2)).bandwidth_gb_s().is_some_and(|found| found.interval.is_none()));
    /// assert!(line(known(-0.1, 0.2)).bandwidth_gb_s().is_none());
    /// ```
    pub fn bandwidth_gb_s(&self) -> Option<Estimate> {
        let Estimate { value, interval } = self.beta_ns_per_byte;
        let interval = interval.filter(|[lower, _]| *lower > 0.0).map(|[lower, upper]| [1.0 / upper, 1.0 / lower]);
        (value > 0.0).then(|| Estimate { value: 1.0 / value, interval })
    }

    /// The ranges of sizes, ascending, whose medians are off the line by more than this share: there another protocol,
    /// another algorithm or another part of the memory may be at work. `sizes` are those of the fit, ascending.
    ///
    /// ```
    /// use mpitrace_statistics::models::{Estimate, Hockney, OneSize};
    ///
    /// let none = Estimate { value: 1.0, interval: None };
    /// let sizes = [1, 2, 4, 8, 16].map(|bytes| OneSize { bytes, times: 1, median_ns: none });
    /// let residuals = vec![0.02, 0.15, 0.3, -0.2, 0.0];
    /// let line = Hockney { alpha_ns: none, beta_ns_per_byte: none, residuals };
    /// let off = line.off(&sizes, 0.1);
    /// assert_eq!((off[0].from_bytes, off[0].to_bytes, off[0].residual), (2, 4, 0.3));
    /// assert_eq!((off[1].from_bytes, off[1].to_bytes, off[1].residual), (8, 8, -0.2));
    /// ```
    pub fn off(&self, sizes: &[OneSize], limit: f64) -> Vec<Off> {
        let mut found: Vec<Off> = Vec::new();
        let mut side = 0.0;
        for (size, &residual) in sizes.iter().zip(&self.residuals) {
            let now = if residual.abs() > limit { residual.signum() } else { 0.0 };
            match found.last_mut().filter(|_| now == side && now != 0.0) {
                Some(last) => {
                    last.to_bytes = size.bytes;
                    last.residual = if residual.abs() > last.residual.abs() { residual } else { last.residual };
                }
                None if now != 0.0 => found.push(Off { from_bytes: size.bytes, to_bytes: size.bytes, residual }),
                None => {}
            }
            side = now;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(bytes: u64, value: f64, half: f64) -> OneSize {
        OneSize { bytes, times: 9, median_ns: Estimate { value, interval: Some([value - half, value + half]) } }
    }

    /// Against numpy.linalg.lstsq of [1 / y, x / y] and 1.
    #[test]
    fn the_line_is_that_of_the_least_relative_squares() {
        let sizes =
            [size(1, 510.0, 5.0), size(1000, 690.0, 7.0), size(10_000, 2600.0, 20.0), size(100_000, 20_100.0, 90.0)];
        let found = hockney(&sizes).unwrap();
        assert!((found.alpha_ns.value - 504.858_912_112_978).abs() < 1e-6, "{found:?}");
        assert!((found.beta_ns_per_byte.value - 0.200_224_287_365_411).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_size_without_an_interval_is_no_better_known_than_the_worst() {
        let mut sizes = [size(0, 500.0, 5.0), size(1000, 700.0, 70.0), size(10_000, 2500.0, 20.0)];
        let width = |sizes: &[OneSize]| hockney(sizes).unwrap().alpha_ns.interval.map(|[lower, upper]| upper - lower);
        let before = width(&sizes).unwrap();
        sizes[0].median_ns.interval = None;
        assert!(width(&sizes).unwrap() > 1.5 * before);
        sizes[2].median_ns.interval = None;
        assert_eq!(width(&sizes), None, "two of three have none");
    }

    /// A clock whose step is wider than the spread gives medians of no width; the line does not become exact by it.
    #[test]
    fn sizes_off_the_line_make_the_interval_wider() {
        let exact =
            [size(1, 1000.0, 0.0), size(1000, 1100.0, 0.0), size(10_000, 2000.0, 0.0), size(100_000, 11_000.0, 0.0)];
        let bent =
            [size(1, 1000.0, 0.0), size(1000, 1100.0, 0.0), size(10_000, 3000.0, 0.0), size(100_000, 11_000.0, 0.0)];
        let width =
            |sizes: &[OneSize]| hockney(sizes).unwrap().alpha_ns.interval.map(|[lower, upper]| upper - lower).unwrap();
        assert!(width(&exact) < 1.0 && width(&bent) > 300.0, "{} {}", width(&exact), width(&bent));
    }

    #[test]
    fn what_has_no_line_has_none() {
        let at = |bytes: u64| size(bytes, 500.0, 1.0);
        assert!(hockney(&[at(8), at(8), at(8)]).is_none(), "one size");
        assert!(hockney(&[at(8), at(16), size(32, 0.0, 0.0)]).is_none(), "a time of 0");
        assert!(hockney(&[]).is_none());
    }
}
