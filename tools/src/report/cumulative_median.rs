//! The median of the values so far, after each of many (thesis, equation 4.3).

/// Steps into which the values are sorted. With no more values than that the median is exact; of more it is one of the
/// values around the true one, no further from it than 1/4096 of all values.
const STEPS: usize = 4096;

/// Counts the values by their place among all of them: a heap on either side of the median would cost five times as
/// much.
pub struct CumulativeMedian {
    /// Ascending, without equals: the value of each step.
    values: Vec<f64>,
    counts: Vec<u64>,
    count: u64,
}

impl CumulativeMedian {
    /// For values of which all will come, ascending.
    pub fn new(sorted: &[f64]) -> CumulativeMedian {
        let step = sorted.len().div_ceil(STEPS).max(1);
        let mut values: Vec<f64> = sorted.iter().step_by(step).copied().collect();
        values.dedup();
        CumulativeMedian { counts: vec![0; values.len()], values, count: 0 }
    }

    /// The next value. One that is not finite does not count.
    pub fn add(&mut self, x: f64) {
        let above = self.values.partition_point(|&value| value <= x);
        if let Some(step) = above.checked_sub(1).filter(|_| x.is_finite()) {
            self.counts[step] += 1;
            self.count += 1;
        }
    }

    /// The median of those so far; not a number before the first.
    pub fn value(&self) -> f64 {
        let Some(last) = self.count.checked_sub(1) else { return f64::NAN };
        (self.value_after(last / 2) + self.value_after(self.count / 2)) / 2.0
    }

    /// The value with so many before it.
    fn value_after(&self, place: u64) -> f64 {
        let mut before = 0;
        for (&value, &count) in self.values.iter().zip(&self.counts) {
            before += count;
            if before > place {
                return value;
            }
        }
        f64::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(x: &[f64]) -> Vec<(f64, f64)> {
        let mut sorted = x.to_vec();
        sorted.sort_by(f64::total_cmp);
        let mut found = CumulativeMedian::new(&sorted);
        let median = |count: usize| mpitrace::statistics::median(&mut x[..count].to_vec()).unwrap();
        x.iter()
            .enumerate()
            .map(|(index, &value)| {
                found.add(value);
                (found.value(), median(index + 1))
            })
            .collect()
    }

    #[test]
    fn of_few_values_it_is_exact() {
        let x: Vec<f64> = (0..400).map(|i| f64::from(i * 7919 % 61)).collect();
        assert!(both(&x).into_iter().all(|(found, median)| found == median));
        assert!(CumulativeMedian::new(&[]).value().is_nan());
    }

    #[test]
    fn of_many_it_is_a_neighbour() {
        let x: Vec<f64> = (0..20_000u32).map(|i| f64::from(i * 7919 % 20_011)).collect();
        // 20000 / 4096 values lie within a step.
        let apart = both(&x[..6000]).into_iter().skip(5000).step_by(97).map(|(found, median)| (found - median).abs());
        assert!(apart.fold(0.0, f64::max) < 20.0);
    }
}
