//! The results that are made of an operation's run times by one definition.

use mpitrace_statistics::categories::{Categories, Category, NotFinite, Remarks, Rule, RuleFindings};
use mpitrace_statistics::{Course, Sample, Series, Summary, Wanted};
use mpitrace_trace::run_time::RunTime;

use super::detail::Detail;
use super::fingerprint::{Cut, Ecdf, NamedBox, Timed};
use super::histogram::Histogram;

/// The categories by the rule that colours, the remarks on them, and the cuts of all rules that find a warm-up, that
/// one's first.
fn categorize(rule: Rule, series: &Series) -> Result<(Categories, Remarks, Vec<Cut>), NotFinite> {
    let cut = |rule: Rule, found: &RuleFindings| Cut {
        method: rule.name(),
        warmup_end: found.categories.warmup_end,
        class: found.levels.as_ref().map(|levels| levels.class.name().to_owned()),
        change_points: found.levels.as_ref().map_or_else(Vec::new, |levels| levels.change_points.clone()),
    };
    let found = rule.apply(series.repetition, series.run_time_ns)?;
    let mut cuts = vec![cut(rule, &found)];
    for other in Rule::of_warmup().into_iter().filter(|other| other.name() != rule.name()) {
        // A rule that needs finite run times has no cut where there are others.
        if let Ok(found) = other.apply(series.repetition, series.run_time_ns) {
            cuts.push(cut(other, &found));
        }
    }
    let remarks = found.remarks(series.repetition, series.run_time_ns);
    Ok((found.categories, remarks, cuts))
}

/// The run times with their categories, and what is made of them.
///
/// # Errors
/// A run time that is not finite, where the rule needs all of them.
pub fn make(rule: Rule, detail: &Detail, time: RunTime, series: Series) -> Result<(Timed, Vec<Category>), NotFinite> {
    let run_time_ns = series.run_time_ns;
    let (Categories { category, .. }, remarks, cuts) = categorize(rule, &series)?;
    let counts = Category::ALL.map(|wanted| category.iter().filter(|&&category| category == wanted).count());
    let of_category =
        |series: &Series, wanted: Category| Columns::new(series, counts[wanted.place()], |row| category[row] == wanted);
    // A series is as large as all else together: it is copied only where some of it does not count.
    let is_finite = run_time_ns.iter().all(|x| x.is_finite());
    let finite = (!is_finite).then(|| Columns::new(&series, run_time_ns.len(), |_| true));
    let all = finite.as_ref().map_or(series, Columns::series);
    // When the good ones were is for the period of outliers alone.
    let enter_ns = series.enter_ns.filter(|_| detail.every_number);
    let good = of_category(&Series { enter_ns, ..series }, Category::Good);
    let samples = Category::ALL.map(|wanted| match wanted {
        Category::Good => Sample::new(&good.run_time_ns),
        other => Sample::new(&of_category(&Series { enter_ns: None, ..series }, other).run_time_ns),
    });
    let [first, warmup, outliers, of_good_ones] = samples.each_ref().map(Sample::sorted);
    let (union, sample_of_good) = (Sample::union(&samples), &samples[Category::Good.place()]);
    let wanted = |shown: Wanted| if detail.every_number { Wanted::All } else { shown };
    let of_all = Summary::partial(all, &union, wanted(Wanted::Outliers));
    let of_good = Summary::partial(good.series(), sample_of_good, wanted(Wanted::Course));
    let names = Category::ALL.map(|category| category.name());
    let boxes = [("all", &union)].into_iter().chain(names.into_iter().zip(&samples));
    let timed = Timed {
        time,
        counts,
        cuts,
        remarks,
        all: of_all,
        good: of_good,
        boxes: boxes.filter_map(|(name, sample)| NamedBox::new(name, sample)).collect(),
        histogram: Histogram::new([first, warmup, outliers, of_good_ones], detail.bins),
        histogram_good: Histogram::new([&[], warmup, &[], of_good_ones], detail.bins),
        course: Course::new(all.repetition, all.run_time_ns),
        ecdf: Ecdf::new(&union, detail.steps),
        ecdf_good: Ecdf::new(sample_of_good, detail.steps),
        not_finite: run_time_ns.len() - all.run_time_ns.len(),
    };
    Ok((timed, category))
}

/// The finite rows of a series that are wanted.
struct Columns {
    repetition: Vec<u64>,
    run_time_ns: Vec<f64>,
    enter_ns: Option<Vec<f64>>,
}

impl Columns {
    /// At most so many.
    fn new(series: &Series, most: usize, is_wanted: impl Fn(usize) -> bool) -> Columns {
        let mut columns = Columns {
            repetition: Vec::with_capacity(most),
            run_time_ns: Vec::with_capacity(most),
            enter_ns: series.enter_ns.map(|_| Vec::with_capacity(most)),
        };
        for (row, &x) in series.run_time_ns.iter().enumerate().filter(|(row, x)| x.is_finite() && is_wanted(*row)) {
            columns.repetition.push(series.repetition[row]);
            columns.run_time_ns.push(x);
            columns.enter_ns.iter_mut().zip(series.enter_ns).for_each(|(column, enter_ns)| column.push(enter_ns[row]));
        }
        columns
    }

    fn series(&self) -> Series<'_> {
        let Columns { repetition, run_time_ns, enter_ns } = self;
        Series { repetition, run_time_ns, enter_ns: enter_ns.as_deref() }
    }
}

#[cfg(test)]
mod tests {
    use mpitrace_words::numbers;

    use super::*;

    fn made(x: &[f64]) -> (Timed, Vec<Category>) {
        let numbers: Vec<u64> = (0..x.len() as u64).collect();
        let enter: Vec<f64> = numbers.iter().map(|&number| number as f64 * 1e6).collect();
        let series = Series { repetition: &numbers, run_time_ns: x, enter_ns: Some(&enter) };
        make(Rule::default(), &Detail::new(1, 0, true), RunTime::Local, series).unwrap()
    }

    fn series() -> Vec<f64> {
        let mut x: Vec<f64> = (0..60).map(|i| 50.0 + f64::from(i % 3)).collect();
        x.extend((0..240).map(|i| 25.0 + f64::from(i % 5) / 10.0));
        x[100] = 400.0;
        x
    }

    #[test]
    fn everything_is_counted_once() {
        let (timed, category) = made(&series());
        assert_eq!(timed.counts, [1, 59, 1, 239]);
        assert_eq!(category[100], Category::Outlier);
        assert_eq!(timed.cuts[0].warmup_end, Some(60));
        let shown: u64 = timed.histogram.counts.iter().flatten().sum();
        let zoomed: u64 = timed.histogram_good.counts.iter().flatten().sum();
        assert_eq!((shown, zoomed), (300, 298));
        let boxes: Vec<(&str, usize)> = timed.boxes.iter().map(|plot| (plot.name, plot.count)).collect();
        assert_eq!(boxes, [("all", 300), ("first", 1), ("warmup", 59), ("outlier", 1), ("good", 239)]);
    }

    #[test]
    fn the_numbers_that_are_shown_are_the_same_where_only_they_are_computed() {
        let x = series();
        let numbers: Vec<u64> = (0..x.len() as u64).collect();
        let enter: Vec<f64> = numbers.iter().map(|&number| number as f64 * 1e6).collect();
        let series = Series { repetition: &numbers, run_time_ns: &x, enter_ns: Some(&enter) };
        let [whole, shown] = [true, false].map(|every_number| {
            make(Rule::default(), &Detail::new(1, 0, every_number), RunTime::Local, series).unwrap().0
        });
        let rows = |summary: &Summary| numbers::rows(summary).into_iter().map(|row| (row.value, row.interval));
        assert!(rows(&whole.all).eq(rows(&shown.all)) && rows(&whole.good).eq(rows(&shown.good)));
        assert_eq!(whole.all.outliers, shown.all.outliers);
        assert_eq!((&whole.good.modes, &whole.good.autocorrelation), (&shown.good.modes, &shown.good.autocorrelation));
        assert!(!shown.good.modes.is_empty() && shown.good.outliers.is_none() && shown.all.modes.is_empty());
    }

    #[test]
    fn a_period_shows_in_the_autocorrelation() {
        let x: Vec<f64> = (0..1001).map(|i| if i % 5 == 0 { 30.0 } else { 20.0 }).collect();
        let good = made(&x).0.good;
        let found = &good.autocorrelation;
        assert!(found[4] > 0.95 && found[0] < 0.0, "{found:?}");
        assert_eq!(good.ljung_box.map(|test| (test.lags, test.p)), Some((10, 0.0)));
        assert!(made(&[3.0; 9]).0.good.autocorrelation.is_empty(), "equal values have none");
    }

    #[test]
    fn outliers_in_step_have_a_period_in_repetitions() {
        let x: Vec<f64> = (0..1000).map(|i| if i % 50 == 49 { 90.0 } else { 20.0 + f64::from(i % 7) }).collect();
        let period = made(&x).0.all.outlier_period.and_then(|found| found.period_repetitions);
        assert!((period.unwrap() / 50.0 - 1.0).abs() < 1e-3, "{period:?}");
    }

    #[test]
    fn nothing_and_one_repetition_have_a_fingerprint() {
        assert_eq!(made(&[]).0.counts, [0; 4]);
        let (timed, _) = made(&[7.0]);
        assert_eq!(timed.counts, [1, 0, 0, 0]);
    }
}
