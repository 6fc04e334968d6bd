//! What only pictures show: each rank as a dot, and the metrics of the thesis along the repetitions.

use mpitrace_statistics::{DEFAULT_WINDOW, Metrics, differences, median_of, pearson, spearman};
use rayon::prelude::*;

use super::fingerprint::{Dot, MetricLine, Points};
use super::measured::Measured;

/// Dots of an operation, about.
const DOTS: usize = 20_000;
/// Stretches that a line is thinned to: of each its least and its greatest value stay.
const STRETCHES: usize = 1000;

/// Adds it to the points of an operation, which are those of these rows.
pub fn add(points: &mut Points, measured: &Measured<'_>, rows: &[usize]) {
    points.metrics = measured.times.par_iter().map(|(_, x)| metrics(&measured.repetition, x)).collect();
    if measured.counters.is_empty() {
        return;
    }
    let ranks = measured.source.ranks(measured.subject.operation.operation);
    let times: Vec<Vec<f64>> = (0..ranks.numbers.len()).map(|index| ranks.duration_ns(index)).collect();
    let step = (rows.len() * times.len()).div_ceil(DOTS).max(1);
    let drawn: Vec<usize> = (0..rows.len()).step_by(step).collect();
    let dot = |(time, &row): (&Vec<f64>, &usize)| Dot { row, run_time_ns: time[rows[row]], counters: Vec::new() };
    points.dots = times.iter().flat_map(|time| drawn.iter().map(move |row| dot((time, row)))).collect();
    for (counter, found) in measured.counters.iter().zip(&mut points.counters) {
        let (mut values, mut of_times) = (Vec::new(), Vec::new());
        for (index, time) in times.iter().enumerate() {
            let column = counter.values(index);
            let of_dot = |row: usize| column.as_ref().map_or(f64::NAN, |column| column[rows[row]]);
            let dots = points.dots[index * drawn.len()..].iter_mut().take(drawn.len());
            dots.zip(&drawn).for_each(|(dot, &row)| dot.counters.push(of_dot(row)));
            of_times.extend_from_slice(column.as_ref().map_or(&[], |_| time));
            values.extend(column.into_iter().flatten());
        }
        found.correlation = [pearson(&values, &of_times), spearman(&values, &of_times)];
    }
}

/// The metrics of the run times (ns) of these repetitions: Roth 2021, equations 4.1 to 4.6.
fn metrics(repetition: &[u64], run_time_ns: &[f64]) -> Vec<MetricLine> {
    let (Ok(found), Some(median)) = (Metrics::new(run_time_ns, DEFAULT_WINDOW), median_of(run_time_ns)) else {
        return Vec::new();
    };
    let line = |(name, values): (&'static str, Vec<f64>)| {
        let differences: Vec<f64> = differences(&values).iter().map(|difference| difference / median).collect();
        MetricLine { name, values: thinned(repetition, &values), differences: thinned(repetition, &differences) }
    };
    [
        ("cumulative mean", found.cumulative_mean),
        ("cumulative median", found.cumulative_median),
        ("cumulative minimum", found.cumulative_minimum),
        ("running mean", found.running_mean),
        ("running median", found.running_median),
    ]
    .map(line)
    .into()
}

/// The points of a line, of a long one the least and the greatest of each stretch.
fn thinned(repetition: &[u64], values: &[f64]) -> Vec<(f64, f64)> {
    let point = |row: usize| (repetition[row] as f64, values[row]);
    if values.len() <= 2 * STRETCHES {
        return (0..values.len()).map(point).collect();
    }
    let mut points = Vec::with_capacity(2 * STRETCHES);
    for stretch in 0..STRETCHES {
        let rows = values.len() * stretch / STRETCHES..values.len() * (stretch + 1) / STRETCHES;
        let by = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        let ends = rows.clone().min_by(by).zip(rows.max_by(by));
        let Some((least, greatest)) = ends else { continue };
        points.extend([least.min(greatest), least.max(greatest)].map(point));
    }
    points.dedup();
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_keeps_its_extremes() {
        let numbers: Vec<u64> = (0..50_000).collect();
        let mut values: Vec<f64> = numbers.iter().map(|number| (number % 13) as f64).collect();
        (values[123], values[40_001]) = (-90.0, 900.0);
        let points = thinned(&numbers, &values);
        assert!(points.len() <= 2000 && points.is_sorted_by(|a, b| a.0 < b.0));
        assert!(points.contains(&(123.0, -90.0)) && points.contains(&(40_001.0, 900.0)));
        assert_eq!(thinned(&numbers[..3], &values[..3]), [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]);
    }

    #[test]
    fn the_metrics_of_a_cliff_fall_where_it_ends() {
        let x: Vec<f64> = (0..100).map(|i| if i < 30 { 40.0 } else { 20.0 }).collect();
        let lines = metrics(&(0..100).collect::<Vec<u64>>(), &x);
        let minimum = lines.iter().find(|line| line.name == "cumulative minimum").unwrap();
        // 4.6: it falls by its whole height at repetition 30; 4.1 over the median: -1.
        let falls: Vec<(f64, f64)> = minimum.differences.iter().copied().filter(|(_, by)| *by != 0.0).collect();
        assert_eq!(falls, [(30.0, -1.0)]);
        let mean = lines.iter().find(|line| line.name == "cumulative mean").unwrap();
        assert!((mean.values[99].1 - 26.0).abs() < 1e-9, "{:?}", mean.values[99]);
    }
}
