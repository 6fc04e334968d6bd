//! The numbers of one series, as JSON has them.

use mpitrace::statistics::{
    Chow, Dependence, Interval, Intervals, LjungBox, Mode, Outliers, Period, Sample, are_dependent, autocorrelation,
    chow, dependence, dependence_lasts, dependence_of_quantile, ljung_box, modes, mser5,
};
use serde::Serialize;

/// Autocorrelations that are listed, and tested together.
const LAGS: usize = 10;
/// The quantiles that are listed.
const QUANTILES: [f64; 7] = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99];
/// The median among them.
const MEDIAN: usize = 3;

/// Ends of an interval, ns.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct IntervalNs {
    pub lower_ns: f64,
    pub upper_ns: f64,
    /// With which probability it covers the value.
    pub coverage: f64,
}

/// A quantile and its interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantile {
    pub p: f64,
    pub value_ns: f64,
    /// `None`: too few repetitions.
    pub interval: Option<IntervalNs>,
}

/// Location and spread; nothing for no values.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Description {
    pub min_ns: Option<f64>,
    pub max_ns: Option<f64>,
    pub mean_ns: Option<f64>,
    pub mean_interval: Option<IntervalNs>,
    pub sd_ns: Option<f64>,
    pub median_ns: Option<f64>,
    pub median_interval: Option<IntervalNs>,
    pub p95_ns: Option<f64>,
    pub p99_ns: Option<f64>,
    pub mad_ns: Option<f64>,
}

/// What the whole series shows beyond that.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Series {
    pub quantiles: Vec<Quantile>,
    #[serde(rename = "box")]
    pub box_plot: Option<BoxNs>,
    pub outliers: Option<OutlierCounts>,
    pub outlier_period: Option<PeriodFacts>,
    /// The step in which the run times come, where a coarse clock or output lets them.
    pub step_ns: Option<f64>,
    pub autocorrelation: Vec<f64>,
    /// Their effective sample size for the mean.
    pub effective_repetitions: Option<f64>,
    /// For the median.
    pub effective_repetitions_median: Option<f64>,
    /// Whether the test of Ljung and Box rejects that they are independent.
    pub dependent: bool,
    /// Whether the correlation died out within the series: if not, they are fewer still.
    pub settled: Option<bool>,
    pub ljung_box: Option<LjungBoxFacts>,
    pub modes: Vec<ModeFacts>,
    /// How many repetitions MSER-5 cuts off at the start.
    pub mser5: Option<usize>,
    pub chow: Option<ChowFacts>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct BoxNs {
    pub quartiles_ns: [f64; 3],
    pub fences_ns: [f64; 2],
    pub whiskers_ns: [f64; 2],
    pub outside: [usize; 2],
}

/// Repetitions above the limit of each rule.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OutlierCounts {
    pub twice_median: usize,
    pub tukey: usize,
    pub mad: usize,
    pub mpibench: usize,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct PeriodFacts {
    /// Of the outliers in time; `None` where there are no time stamps.
    pub period_ns: Option<f64>,
    /// Of their numbers, where there is no time.
    pub period_repetitions: Option<f64>,
    pub strength: f64,
    pub p: f64,
    pub outliers: usize,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct LjungBoxFacts {
    pub lags: usize,
    pub statistic: f64,
    pub p: f64,
}

/// A mode. Places are numbers of repetitions.
#[derive(Clone, Debug, Serialize)]
pub struct ModeFacts {
    pub peak_ns: f64,
    pub range_ns: [f64; 2],
    pub share: f64,
    pub count: usize,
    pub first: u64,
    pub last: u64,
    pub quartiles: [u64; 3],
    pub run_length: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct ChowFacts {
    pub at: u64,
    pub statistic: f64,
    pub p: f64,
}

impl From<Interval> for IntervalNs {
    fn from(interval: Interval) -> IntervalNs {
        IntervalNs { lower_ns: interval.lower, upper_ns: interval.upper, coverage: interval.coverage }
    }
}

impl Description {
    /// Of sorted values. The intervals are those of the mean and of the median.
    pub fn of(sample: &Sample, [mean, median]: [Option<Interval>; 2]) -> Description {
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

impl Series {
    /// Of these values in their order, `sample` being the same sorted, and `repetition` their numbers. `warmup_end` is
    /// where the rule of the categories saw the end of the warm-up. With the intervals of the mean and of the median.
    pub fn of(
        values: &[f64],
        sample: &Sample,
        repetition: &[u64],
        warmup_end: Option<u64>,
        confidence: f64,
    ) -> (Series, [Option<Interval>; 2]) {
        let dependence: Option<Dependence> = dependence(values);
        let of_median = sample.median().and_then(|median| dependence_of_quantile(values, median));
        let intervals = Intervals::knowing(values, sample.sorted(), confidence, [dependence, of_median]);
        let quantile = |(p, interval): (f64, Option<Interval>)| {
            Some(Quantile { p, value_ns: sample.quantile(p)?, interval: interval.map(IntervalNs::from) })
        };
        let dependent = are_dependent(values, sample);
        let autocorrelation = autocorrelation(values, LAGS);
        // Of a short series the last ones are noise.
        let tested = autocorrelation.len().min(values.len() / 5);
        let cut = warmup_end.map(|end| repetition.partition_point(|&number| number < end));
        let quantiles = intervals.quantiles(QUANTILES);
        let series = Series {
            quantiles: QUANTILES.into_iter().zip(quantiles).filter_map(quantile).collect(),
            box_plot: sample.box_plot().map(|plot| BoxNs {
                quartiles_ns: plot.quartiles,
                fences_ns: plot.fences,
                whiskers_ns: plot.whiskers,
                outside: plot.outside,
            }),
            outliers: Outliers::of(sample).map(|found| OutlierCounts {
                twice_median: found.twice_median.1,
                tukey: found.tukey.1,
                mad: found.median_deviation.1,
                mpibench: found.mpibench.1,
            }),
            outlier_period: None,
            step_ns: sample.step(),
            effective_repetitions: dependence.map(|dependence| dependence.effective),
            effective_repetitions_median: of_median.map(|dependence| dependence.effective),
            dependent,
            settled: dependence
                .map(|dependence| dependence.settled && !(dependent && dependence_lasts(values, sample))),
            ljung_box: ljung_box(&autocorrelation[..tested], values.len())
                .map(|LjungBox { lags, statistic, p }| LjungBoxFacts { lags, statistic, p }),
            modes: modes(values, sample).iter().map(|mode| ModeFacts::of(mode, repetition)).collect(),
            autocorrelation,
            mser5: mser5(values),
            chow: cut.and_then(|at| chow(values, at)).map(|Chow { at, statistic, p }| ChowFacts {
                at: repetition[at],
                statistic,
                p,
            }),
        };
        (series, [intervals.mean(), quantiles[MEDIAN]])
    }
}

impl ModeFacts {
    fn of(mode: &Mode, repetition: &[u64]) -> ModeFacts {
        ModeFacts {
            peak_ns: mode.peak,
            range_ns: mode.range,
            share: mode.share,
            count: mode.count,
            first: repetition[mode.first],
            last: repetition[mode.last],
            quartiles: mode.quartiles.map(|place| repetition[place]),
            run_length: mode.run_length,
        }
    }
}

impl PeriodFacts {
    /// A period found in time, ns.
    pub fn in_time(period: Period) -> PeriodFacts {
        PeriodFacts { period_ns: Some(period.length), ..PeriodFacts::in_repetitions(period) }.without_repetitions()
    }

    /// A period found in the numbers of repetitions.
    pub fn in_repetitions(period: Period) -> PeriodFacts {
        PeriodFacts {
            period_ns: None,
            period_repetitions: Some(period.length),
            strength: period.strength,
            p: period.p,
            outliers: period.events,
        }
    }

    fn without_repetitions(self) -> PeriodFacts {
        PeriodFacts { period_repetitions: None, ..self }
    }
}
