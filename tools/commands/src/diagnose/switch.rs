//! An operation for which the MPI library takes several algorithms.

use std::collections::BTreeMap;

use mpitrace_show::text;
use mpitrace_statistics::categories::Category;
use mpitrace_statistics::median;
use mpitrace_trace::calls::algorithms::{Algorithm, Repetitions};
use serde::Serialize;

/// The algorithms, those with the most repetitions first.
#[derive(Debug, Serialize)]
pub struct Switch {
    kind: &'static str,
    algorithms: Vec<OfAlgorithm>,
}

#[derive(Debug, Serialize)]
struct OfAlgorithm {
    algorithm: String,
    repetitions: usize,
    median_ns: f64,
}

impl Switch {
    /// The switch between the algorithms of repetitions, where there are several. The first repetition is left out: a
    /// component that makes its communicators in it enters the algorithms of other collectives.
    pub fn new(algorithms: &Repetitions, category: &[Category], run_time_ns: &[f64]) -> Option<Switch> {
        let mut times: BTreeMap<Algorithm, Vec<f64>> = BTreeMap::new();
        for ((algorithm, category), ns) in algorithms.iter().zip(category).zip(run_time_ns) {
            if let Some(algorithm) = algorithm.filter(|_| *category != Category::First) {
                times.entry(algorithm).or_default().push(*ns);
            }
        }
        let of_algorithm = |(algorithm, mut ns): (Algorithm, Vec<f64>)| {
            Some(OfAlgorithm { algorithm: algorithm.to_string(), repetitions: ns.len(), median_ns: median(&mut ns)? })
        };
        let mut algorithms: Vec<OfAlgorithm> = times.into_iter().filter_map(of_algorithm).collect();
        algorithms.sort_by_key(|one| std::cmp::Reverse(one.repetitions));
        (algorithms.len() > 1).then_some(Switch { kind: "algorithm-switch", algorithms })
    }

    pub fn sentence(&self) -> String {
        let one = |one: &OfAlgorithm| {
            let repetitions = text::count(one.repetitions as u64, "repetition");
            format!("{} in {repetitions} (median {})", one.algorithm, text::time(one.median_ns))
        };
        let all: Vec<String> = self.algorithms.iter().map(one).collect();
        format!("the MPI library takes several algorithms: {}", all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_has_the_median_of_each_algorithm() {
        let [one, other] = [2, 3].map(|number| Algorithm::new(number, "allgather"));
        let all = [other, one, one, other, None, one];
        let algorithms: Repetitions = all.into_iter().collect();
        let category =
            [Category::First, Category::Good, Category::Warmup, Category::Good, Category::Good, Category::Good];
        let switch = Switch::new(&algorithms, &category, &[900.0, 10.0, 12.0, 40.0, 5.0, 11.0]).unwrap();
        assert_eq!(
            switch.sentence(),
            "the MPI library takes several algorithms: linear in 3 repetitions (median 11.0 ns), \
             bruck in 1 repetition (median 40.0 ns)"
        );
        let algorithms: Repetitions = all[..3].iter().copied().collect();
        assert!(Switch::new(&algorithms, &category[..3], &[900.0, 10.0, 12.0]).is_none(), "but for the first");
    }
}
