//! The cost of a non-blocking operation for its caller (Hoefler et al. 2010: the time spent in the start, the tests and
//! the wait), and how much of it was hidden.

/// The overheads of an operation's repetitions, the largest of all ranks; ns. Ranks are added one by one.
///
/// ```
/// use mpitrace_trace::run_time::completion_times::{Overheads, Requests};
///
/// // 200 ns to start, 100 ns in one test, 700 ns to wait; complete after 3,000 ns.
/// let request = Requests {
///     init_ns: &[200.0],
///     test_ns: &[100.0],
///     wait_ns: &[700.0],
///     tests: &[1.0],
///     total_ns: &[3000.0],
/// };
/// let mut overheads = Overheads::default();
/// overheads.add(request);
/// assert_eq!((overheads.overhead_ns[0], overheads.work_ns[0], overheads.interval_ns[0]), (1000.0, 2000.0, 1000.0));
/// ```
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
    /// From the start until it was found complete.
    pub total_ns: Vec<f64>,
    /// The rest: what the program computed between the calls.
    pub work_ns: Vec<f64>,
    /// The tests.
    pub tests: Vec<f64>,
    /// The computation between two calls that could progress the operation: t_work / (tests + 1).
    pub interval_ns: Vec<f64>,
}

/// One rank's requests, for each repetition.
#[derive(Clone, Copy, Debug)]
pub struct Requests<'v> {
    /// t_init, ns.
    pub init_ns: &'v [f64],
    /// The sum of t_test, ns.
    pub test_ns: &'v [f64],
    /// t_wait, ns.
    pub wait_ns: &'v [f64],
    /// How many tests.
    pub tests: &'v [f64],
    /// From the start until it was found complete, ns.
    pub total_ns: &'v [f64],
}

impl Overheads {
    /// Adds the next rank.
    pub fn add(&mut self, rank: Requests<'_>) {
        let Requests { init_ns, test_ns, wait_ns, tests, total_ns } = rank;
        let n = init_ns.len();
        let sum = |row: usize| init_ns[row] + test_ns[row] + wait_ns[row];
        let work = |row: usize| (total_ns[row] - sum(row)).max(0.0);
        for (largest, value) in [
            (&mut self.overhead_ns, &sum as &dyn Fn(usize) -> f64),
            (&mut self.init_ns, &|row| init_ns[row]),
            (&mut self.test_ns, &|row| test_ns[row]),
            (&mut self.wait_ns, &|row| wait_ns[row]),
            (&mut self.total_ns, &|row| total_ns[row]),
            (&mut self.work_ns, &work),
            (&mut self.tests, &|row| tests[row]),
            (&mut self.interval_ns, &|row| work(row) / (tests[row] + 1.0)),
        ] {
            largest.resize(n, f64::NAN);
            // The maximum with what is not a number is the other one.
            largest.iter_mut().enumerate().for_each(|(row, largest)| *largest = largest.max(value(row)));
        }
    }
}

/// The share of a blocking call's time that a caller of the non-blocking one has for its own work: max(0, 1 - overhead
/// / blocking), the overhead being t_init + sum t_test + t_wait. `None` where no blocking time is known.
///
/// So the OSU micro-benchmarks count it (util/osu_util_mpi.c), with t_overall - t_compute for the overhead, and for the
/// blocking time that of the operation where nothing is computed.
///
/// ```
/// use mpitrace_trace::run_time::completion_times::overlap;
///
/// assert_eq!(overlap(500.0, Some(2000.0)), Some(0.75));
/// assert_eq!(overlap(3000.0, Some(2000.0)), Some(0.0));
/// assert_eq!(overlap(500.0, None), None);
/// ```
pub fn overlap(overhead_ns: f64, blocking_ns: Option<f64>) -> Option<f64> {
    let blocking_ns = blocking_ns.filter(|time| *time > 0.0)?;
    Some(1.0 - overhead_ns / blocking_ns).filter(|overlap| overlap.is_finite()).map(|overlap| overlap.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overhead_of_a_repetition_is_that_of_its_slowest_rank() {
        let mut overheads = Overheads::default();
        overheads.add(Requests {
            init_ns: &[1.0, 1.0],
            test_ns: &[2.0, 0.0],
            wait_ns: &[10.0, 5.0],
            tests: &[3.0, 0.0],
            total_ns: &[53.0, 6.0],
        });
        overheads.add(Requests {
            init_ns: &[3.0, 2.0],
            test_ns: &[0.0, 0.0],
            wait_ns: &[2.0, 7.0],
            tests: &[0.0, 0.0],
            total_ns: &[8.0, 19.0],
        });
        assert_eq!((&overheads.total_ns[..], &overheads.work_ns[..]), (&[53.0, 19.0][..], &[40.0, 10.0][..]));
        assert_eq!((&overheads.tests[..], &overheads.interval_ns[..]), (&[3.0, 0.0][..], &[10.0, 10.0][..]));
        assert_eq!(overheads.overhead_ns, [13.0, 9.0]);
        assert_eq!((&overheads.init_ns[..], &overheads.wait_ns[..]), (&[3.0, 2.0][..], &[10.0, 7.0][..]));
    }

    /// 32.7 of 35 us are left, most of them in the start: the wait alone would say that two thirds were hidden.
    #[test]
    fn overlap_counts_start_and_tests() {
        let share = overlap(32.7, Some(34.7)).unwrap();
        assert!((share - 0.0576).abs() < 1e-3, "{share}");
        assert_eq!(overlap(50.0, Some(34.7)), Some(0.0));
        assert_eq!(overlap(50.0, None), None);
    }

    #[test]
    fn overlap_needs_a_blocking_time() {
        assert_eq!(overlap(25.0, Some(100.0)), Some(0.75));
        assert_eq!(overlap(25.0, None), None);
        assert_eq!(overlap(25.0, Some(0.0)), None);
        assert_eq!(overlap(f64::NAN, Some(1.0)), None);
    }
}
