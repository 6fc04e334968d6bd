//! The cost of the statistics of one series, against sorting it once.
//!
//! Sorting and all statistics take turns in one run; the ratios are of the fastest of each. The goal for all of them
//! together is three times one sort.

use std::hint::black_box;
use std::time::Instant;

use mpitrace_statistics::{
    Intervals, Outliers, Sample, are_dependent, autocorrelation, dependence, dependence_lasts, dependence_of_quantile,
    ljung_box, modes, period,
};
use mpitrace_testing::Random;

const ROUNDS: usize = 3;

/// Prints the cost of each statistic of so many run times.
pub fn print(count: usize) {
    let values = series(count);
    let sample = Sample::new(&values);
    let median = sample.median().unwrap_or(0.0);
    type Part<'a> = (&'static str, Box<dyn Fn() + 'a>);
    let parts: Vec<Part<'_>> = vec![
        ("sorted sample", Box::new(|| keep(Sample::new(&values)))),
        (
            "quantiles and their intervals",
            Box::new(|| {
                for p in [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99] {
                    black_box((sample.quantile(p), sample.quantile_interval(p, 0.95)));
                }
            }),
        ),
        (
            "intervals of dependent values",
            Box::new(|| {
                let intervals = Intervals::new(&values, sample.sorted(), 0.95);
                black_box(intervals.mean());
                black_box(intervals.quantiles([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]));
            }),
        ),
        ("moments", Box::new(|| keep(sample.moments()))),
        ("median absolute deviation", Box::new(|| keep(sample.median_absolute_deviation()))),
        ("box plot, outliers", Box::new(|| keep((sample.box_plot(), Outliers::count(&sample))))),
        ("autocorrelation, Ljung-Box", Box::new(|| keep(ljung_box(&autocorrelation(&values, 10), count)))),
        ("effective sample size, mean", Box::new(|| keep(dependence(&values)))),
        ("effective sample size, median", Box::new(|| keep(dependence_of_quantile(&values, median)))),
        ("dependent", Box::new(|| keep(are_dependent(&values, &sample) && dependence_lasts(&values, &sample)))),
        ("modes", Box::new(|| keep(modes(&values, &sample)))),
        (
            "period of the outliers",
            Box::new(|| {
                let slow = values.iter().enumerate().filter(|(_, value)| **value >= 2.0 * median);
                let at: Vec<f64> = slow.map(|(index, _)| index as f64).collect();
                black_box(period(&at, 2.0));
            }),
        ),
    ];
    let mut sort = f64::INFINITY;
    let mut fastest = vec![f64::INFINITY; parts.len()];
    for _ in 0..ROUNDS {
        let mut copy = values.clone();
        sort = sort.min(seconds(|| copy.sort_unstable_by(f64::total_cmp)));
        for ((_, part), fastest) in parts.iter().zip(&mut fastest) {
            *fastest = fastest.min(seconds(part));
        }
    }
    println!("{count} run times, {} processors; one sort of them on one processor {sort:.3} s", rayon_threads());
    for ((name, _), seconds) in parts.iter().zip(&fastest) {
        println!("{name:30} {:5.2} sorts", seconds / sort);
    }
    println!("{:30} {:5.2} sorts", "all", fastest.iter().sum::<f64>() / sort);
}

fn keep<T>(value: T) {
    black_box(value);
}

fn rayon_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn seconds(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64()
}

/// Two modes with noise, a warm-up and outliers: nothing that a sort finds sorted already.
fn series(count: usize) -> Vec<f64> {
    let mut random = Random::new(1);
    let mut value = |index: usize| {
        let base = if random.uniform() < 0.2 { 2600.0 } else { 2000.0 };
        let early = if index < count / 10 { 1.5 } else { 1.0 };
        let slow = if random.uniform() < 1e-3 { 10.0 } else { 1.0 };
        base * early * slow * (1.0 + 0.03 * random.normal())
    };
    (0..count).map(&mut value).collect()
}
