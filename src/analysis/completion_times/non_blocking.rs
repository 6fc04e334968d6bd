//! What a non-blocking operation costs its caller (seed 001: the time spent in the start, the tests and the wait), and
//! how much of it was hidden.

/// The overheads of an operation's repetitions, the largest of all ranks; ns. Ranks are added one by one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overheads {
    /// t_init + sum t_test + t_wait.
    pub overhead_ns: Vec<f64>,
    /// t_init.
    pub init_ns: Vec<f64>,
    /// The sum of t_test.
    pub test_ns: Vec<f64>,
    /// t_wait.
    pub wait_ns: Vec<f64>,
}

impl Overheads {
    /// Adds the next rank: t_init, the sum of t_test and t_wait of each repetition.
    pub fn add(&mut self, [init, test, wait]: [&[f64]; 3]) {
        let n = init.len();
        let sum = |row: usize| init[row] + test[row] + wait[row];
        for (largest, value) in [
            (&mut self.overhead_ns, &sum as &dyn Fn(usize) -> f64),
            (&mut self.init_ns, &|row| init[row]),
            (&mut self.test_ns, &|row| test[row]),
            (&mut self.wait_ns, &|row| wait[row]),
        ] {
            largest.resize(n, f64::NAN);
            // The maximum with what is not a number is the other one.
            largest.iter_mut().enumerate().for_each(|(row, largest)| *largest = largest.max(value(row)));
        }
    }
}

/// The share of a blocking call's time that a non-blocking one has hidden: 1 - t_wait / t_blocking. Below 0 where the
/// wait alone took longer. `None` where no blocking time is known.
///
/// Our own measure; no seed has one.
pub fn overlap(wait_ns: f64, blocking_ns: Option<f64>) -> Option<f64> {
    let blocking_ns = blocking_ns.filter(|time| *time > 0.0)?;
    Some(1.0 - wait_ns / blocking_ns).filter(|overlap| overlap.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overhead_of_a_repetition_is_that_of_its_slowest_rank() {
        let mut overheads = Overheads::default();
        overheads.add([&[1.0, 1.0], &[2.0, 0.0], &[10.0, 5.0]]);
        overheads.add([&[3.0, 2.0], &[0.0, 0.0], &[2.0, 7.0]]);
        assert_eq!(overheads.overhead_ns, [13.0, 9.0]);
        assert_eq!((&overheads.init_ns[..], &overheads.wait_ns[..]), (&[3.0, 2.0][..], &[10.0, 7.0][..]));
    }

    #[test]
    fn overlap_needs_a_blocking_time() {
        assert_eq!(overlap(25.0, Some(100.0)), Some(0.75));
        assert_eq!(overlap(25.0, None), None);
        assert_eq!(overlap(25.0, Some(0.0)), None);
        assert_eq!(overlap(f64::NAN, Some(1.0)), None);
    }
}
