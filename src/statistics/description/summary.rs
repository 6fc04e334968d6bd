//! All numbers of a series of run times: computed once, shown by several commands, and serialised under the keys that
//! they have in JSON.

use crate::categories::Robust;
use crate::parallel;
use serde::Serialize;

use super::periodicity::FEWEST_EVENTS;
use super::{
    BoxPlot, CONFIDENCE, Interval, Intervals, LjungBox, Mode, Outliers, Period, Sample, are_dependent, autocorrelation,
    dependence, dependence_lasts, dependence_of_quantile, ljung_box, median_of, modes, period,
};

/// Autocorrelations that are listed, of a long series, and that are tested together.
const LAGS: usize = 50;
const TESTED_LAGS: usize = 10;
/// The quantiles that are listed.
const QUANTILES: [f64; 7] = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99];

/// The run times of an operation by one definition, in their order; all columns are equally long.
#[derive(Clone, Copy, Debug)]
pub struct Series<'a> {
    /// The numbers of the repetitions, ascending.
    pub repetition: &'a [u64],
    /// Finite, ns.
    pub run_time_ns: &'a [f64],
    /// When the first rank entered, ns of global time; `None` where that is not known.
    pub enter_ns: Option<&'a [f64]>,
}

/// Which numbers of a series are wanted, beside its location and spread. Each kind takes passes of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Every one.
    All,
    /// The outliers and their period.
    Outliers,
    /// Autocorrelation and modes; not whether the values depend on each other.
    Course,
}

/// Location and spread; nothing for no values. Times in ns.
///
/// ```
/// use mpitrace_statistics::{Description, Sample};
///
/// let description = Description::new(&Sample::new(&[1e3, 2e3, 6e3]), [None, None]);
/// assert_eq!((description.min_ns, description.mean_ns, description.median_ns), (Some(1e3), Some(3e3), Some(2e3)));
/// ```
#[derive(Clone, Debug, Default, Serialize)]
pub struct Description {
    /// The least.
    pub min_ns: Option<f64>,
    /// The greatest.
    pub max_ns: Option<f64>,
    /// The arithmetic mean.
    pub mean_ns: Option<f64>,
    /// The interval of the mean; it allows for the dependence of the values on each other.
    pub mean_interval: Option<IntervalNs>,
    /// The standard deviation of the sample, by n - 1.
    pub sd_ns: Option<f64>,
    /// The median.
    pub median_ns: Option<f64>,
    /// The interval of the median, by order statistics.
    pub median_interval: Option<IntervalNs>,
    /// The 95th percentile.
    pub p95_ns: Option<f64>,
    /// The 99th percentile.
    pub p99_ns: Option<f64>,
    /// The median absolute deviation, not scaled.
    pub mad_ns: Option<f64>,
}

/// All numbers of a series. Times in ns.
///
/// ```
/// use mpitrace_statistics::{Sample, Series, Summary, Wanted};
///
/// let repetition: Vec<u64> = (0..100).collect();
/// let run_time = |i: &u64| if i % 50 == 9 { 9e3 } else { 2e3 + (i % 7) as f64 };
/// let run_time_ns: Vec<f64> = repetition.iter().map(run_time).collect();
/// let series = Series { repetition: &repetition, run_time_ns: &run_time_ns, enter_ns: None };
/// let sample = Sample::new(&run_time_ns);
/// let summary = Summary::new(series, &sample);
/// assert_eq!(summary.outliers.map(|outliers| outliers.twice_median.count), Some(2));
/// assert_eq!(summary.quantiles.len(), 7);
/// assert!(Summary::partial(series, &sample, Wanted::Outliers).modes.is_empty());
/// ```
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Location and spread.
    #[serde(flatten)]
    pub description: Description,
    /// At 1, 5, 25, 50, 75, 95 and 99 %.
    pub quantiles: Vec<Quantile>,
    /// The box plot.
    #[serde(rename = "box")]
    pub box_plot: Option<BoxPlot>,
    /// By the rules in use.
    pub outliers: Option<Outliers>,
    /// The period of the run times of twice the median and more.
    pub outlier_period: Option<OutlierPeriod>,
    /// The step in which the run times come, where a coarse clock or output lets them.
    pub step_ns: Option<f64>,
    /// At lag 1, 2, ...
    pub autocorrelation: Vec<f64>,
    /// Their effective sample size for the mean.
    pub effective_repetitions: Option<f64>,
    /// For the median.
    pub effective_repetitions_median: Option<f64>,
    /// True if the test of Ljung and Box rejects that they are independent.
    pub dependent: bool,
    /// True if the correlation died out within the series. If not, they are fewer still.
    pub settled: Option<bool>,
    /// The test of the first autocorrelations, at most 10.
    pub ljung_box: Option<LjungBox>,
    /// Their places are numbers of repetitions.
    pub modes: Vec<Mode>,
}

/// Ends of an interval, ns.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct IntervalNs {
    /// The lower end.
    pub lower_ns: f64,
    /// The upper end.
    pub upper_ns: f64,
    /// With which probability it covers the value.
    pub coverage: f64,
}

/// A quantile and its interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantile {
    /// The share of values that are no greater.
    pub p: f64,
    /// The quantile, ns.
    pub value_ns: f64,
    /// `None`: too few repetitions.
    pub interval: Option<IntervalNs>,
}

/// The period of slow repetitions behind the warm-up: in numbers of repetitions, or in time where they keep better to
/// that.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OutlierPeriod {
    /// Time from one to the next.
    pub period_ns: Option<f64>,
    /// Repetitions from one to the next.
    pub period_repetitions: Option<f64>,
    /// See [`super::Period`].
    pub strength: f64,
    /// See [`super::Period`].
    pub p: f64,
    /// Repetitions that were looked at.
    pub outliers: usize,
}

impl From<Interval> for IntervalNs {
    fn from(interval: Interval) -> IntervalNs {
        IntervalNs { lower_ns: interval.lower, upper_ns: interval.upper, coverage: interval.coverage }
    }
}

impl Description {
    /// The description of a sample. The intervals are those of the mean and of the median.
    pub fn new(sample: &Sample, [mean, median]: [Option<Interval>; 2]) -> Description {
        let moments = sample.moments();
        Description {
            min_ns: sample.minimum(),
            max_ns: sample.maximum(),
            mean_ns: moments.map(|moments| moments.mean),
            mean_interval: mean.map(IntervalNs::from),
            sd_ns: moments.and_then(|moments| moments.standard_deviation),
            median_ns: sample.median(),
            median_interval: median.map(IntervalNs::from),
            p95_ns: sample.quantile(0.95),
            p99_ns: sample.quantile(0.99),
            mad_ns: sample.median_absolute_deviation(),
        }
    }
}

impl Summary {
    /// All numbers of a series, `sample` being the same sorted.
    pub fn new(series: Series<'_>, sample: &Sample) -> Summary {
        Summary::partial(series, sample, Wanted::All)
    }

    /// Some of the numbers; the others are as for no values.
    pub fn partial(series: Series<'_>, sample: &Sample, wanted: Wanted) -> Summary {
        let (values, repetition) = (series.run_time_ns, series.repetition);
        let [all, outliers, course] =
            [Wanted::All, Wanted::Outliers, Wanted::Course].map(|kind| wanted == kind || wanted == Wanted::All);
        let of_mean = dependence(values);
        let of_median = sample.median().and_then(|median| dependence_of_quantile(values, median));
        let intervals = Intervals::knowing(values, sample.sorted(), CONFIDENCE, [of_mean, of_median]);
        let of_quantiles = intervals.quantiles(QUANTILES);
        let of_the_median = QUANTILES.iter().zip(of_quantiles).find_map(|(p, found)| found.filter(|_| *p == 0.5));
        let quantile = |(p, interval): (f64, Option<Interval>)| {
            Some(Quantile { p, value_ns: sample.quantile(p)?, interval: interval.map(IntervalNs::from) })
        };
        let dependent = all && are_dependent(values, sample);
        let lags = if course { LAGS.min(values.len() / 4) } else { 0 };
        let autocorrelation = autocorrelation(values, lags);
        // Of a short series the last ones are noise.
        let tested = autocorrelation.len().min(values.len() / 5).min(TESTED_LAGS);
        let modes = if course { modes(values, sample) } else { Vec::new() };
        Summary {
            description: Description::new(sample, [intervals.mean(), of_the_median]),
            quantiles: QUANTILES.into_iter().zip(of_quantiles).filter_map(quantile).collect(),
            box_plot: sample.box_plot(),
            outliers: if outliers { Outliers::count(sample) } else { None },
            outlier_period: if outliers { OutlierPeriod::new(series, sample) } else { None },
            step_ns: sample.step(),
            effective_repetitions: of_mean.map(|dependence| dependence.effective),
            effective_repetitions_median: of_median.map(|dependence| dependence.effective),
            dependent,
            settled: of_mean
                .filter(|_| all)
                .map(|found| found.settled && !(dependent && dependence_lasts(values, sample))),
            ljung_box: ljung_box(&autocorrelation[..tested], values.len()),
            autocorrelation,
            modes: modes.into_iter().map(|mode| mode.numbered(repetition)).collect(),
        }
    }
}

/// By so much better have outliers to keep to a period in time than to one in repetitions, in strength, to be those of
/// a timer: where repetitions follow each other evenly they keep to both.
const CLEARLY: f64 = 0.05;

impl OutlierPeriod {
    /// The period of the outliers behind the warm-up. Repetitions that follow each other evenly are a grid, to whose
    /// step all of them keep; and none comes before the one before it has ended.
    fn new(series: Series<'_>, sample: &Sample) -> Option<OutlierPeriod> {
        let limit = 2.0 * sample.median()?;
        let is_slow = |row: &usize| series.run_time_ns[*row] >= limit;
        (0..series.run_time_ns.len()).filter(is_slow).nth(FEWEST_EVENTS - 1)?;
        let categories = Robust.categorize(series.repetition, series.run_time_ns).ok()?.categories;
        let steady = categories.warmup_end.map_or(0, |end| series.repetition.partition_point(|number| *number < end));
        let slow = || (steady..series.run_time_ns.len()).filter(is_slow);
        let numbers: Vec<f64> = slow().map(|row| series.repetition[row] as f64).collect();
        let by_number = period(&numbers, 2.0);
        let by_time = series.enter_ns.and_then(|enter_ns| {
            let steps = parallel::filled(enter_ns.len() - 1, |row| enter_ns[row + 1] - enter_ns[row]);
            let took: Vec<f64> = slow().map(|row| series.run_time_ns[row]).collect();
            let mut at: Vec<f64> = slow().map(|row| enter_ns[row]).collect();
            at.sort_unstable_by(f64::total_cmp);
            period(&at, (2.0 * median_of(&steps)?).max(median_of(&took)?))
        });
        let strength = |found: Option<Period>| found.map_or(0.0, |found| found.strength);
        let is_time = strength(by_time) > strength(by_number) + CLEARLY;
        let found = if is_time { by_time } else { by_number.or(by_time) }?;
        let is_time = is_time || by_number.is_none();
        let length = |wanted: bool| (is_time == wanted).then_some(found.length);
        Some(OutlierPeriod {
            period_ns: length(true),
            period_repetitions: length(false),
            strength: found.strength,
            p: found.p,
            outliers: found.events,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_numbers_of_repetitions() {
        // Two levels, one after the other, from repetition 1000 on; every 50th takes ten times as long: four modes.
        let base = |i: u64| if i < 2000 { 100.0 } else { 200.0 };
        let took = |i: u64| (base(i) + (i * 7919 % 13) as f64) * if i % 50 == 49 { 10.0 } else { 1.0 };
        let run_time_ns: Vec<f64> = (0..4000).map(took).collect();
        let repetition: Vec<u64> = (1000..5000).collect();
        let enter_ns: Vec<f64> = (0..4000).map(|i| 1e6 * f64::from(i)).collect();
        let sample = Sample::new(&run_time_ns);
        let series = Series { repetition: &repetition, run_time_ns: &run_time_ns, enter_ns: Some(&enter_ns) };
        let found = Summary::new(series, &sample);
        let starts: Vec<usize> = found.modes.iter().map(|mode| mode.first).collect();
        assert_eq!(starts, [1000, 3000, 1049, 3049]);
        let numbers = Summary::new(Series { enter_ns: None, ..series }, &sample);
        for found in [found, numbers] {
            let period = found.outlier_period.unwrap();
            assert_eq!((period.period_repetitions.map(f64::round), period.period_ns), (Some(50.0), None));
        }
    }

    /// The period of the outliers in a series of these run times, one after the other.
    fn period_of(run_time_ns: &[f64]) -> OutlierPeriod {
        let repetition: Vec<u64> = (0..run_time_ns.len() as u64).collect();
        let enter_ns: Vec<f64> =
            run_time_ns.iter().scan(0.0, |at, took| Some(std::mem::replace(at, *at + took))).collect();
        let series = Series { repetition: &repetition, run_time_ns, enter_ns: Some(&enter_ns) };
        Summary::new(series, &Sample::new(run_time_ns)).outlier_period.expect("a period")
    }

    #[test]
    fn outliers_have_a_period_in_repetitions_and_those_of_a_timer_have_one_in_time() {
        for seed in 0..20 {
            let mut random = mpitrace_testing::Random::new(seed);
            let mut usual = || 6500.0 * (0.1 * random.normal()).exp();
            let every_37th: Vec<f64> = (0..3000)
                .map(|i| usual() * if i < 60 { 4.0 } else { 1.0 } * if i % 37 == 20 { 6.0 } else { 1.0 })
                .collect();
            let found = period_of(&every_37th);
            assert_eq!(
                (found.period_ns, found.period_repetitions.map(f64::round)),
                (None, Some(37.0)),
                "{seed}: {found:?}"
            );
            // Of repetitions of 6.5 us the one in which a timer of 250 Hz comes takes 30 us longer.
            let (mut now, mut timed) = (0.0, Vec::new());
            while timed.len() < 20_000 {
                let took = usual() * if timed.len() % 2000 < 1000 { 1.0 } else { 1.4 };
                let comes = ((now + took) / 4e6).floor() > (now / 4e6).floor();
                timed.push(took + if comes { 30_000.0 } else { 0.0 });
                now += timed[timed.len() - 1];
            }
            let found = period_of(&timed);
            let is_near = found.period_ns.is_some_and(|ns| (ns / 4e6 - 1.0).abs() < 0.01);
            assert!(is_near && found.period_repetitions.is_none(), "{seed}: {found:?}");
        }
    }

    #[test]
    fn few_values_have_numbers_without_intervals_and_none_have_none() {
        let values = [3.0, 1.0];
        let series = Series { repetition: &[0, 1], run_time_ns: &values, enter_ns: None };
        let found = Summary::new(series, &Sample::new(&values));
        let median = found.quantiles.iter().find(|quantile| quantile.p == 0.5).unwrap();
        assert_eq!((median.value_ns, median.interval.is_none()), (2.0, true));
        let none = Series { repetition: &[], run_time_ns: &[], enter_ns: None };
        assert!(Summary::new(none, &Sample::default()).quantiles.is_empty());
    }
}
