//! How the run times are distributed: histograms, distribution function, box plot.

use mpitrace_show::draw::axis::AxisKind;
use mpitrace_show::draw::plot::{Bar, FAR, Ink, Mark, Plot, Range};
use mpitrace_statistics::categories::Category;
use mpitrace_statistics::{Description, normal_quantile};

use super::sets::{Set, against_normal};
use super::view::{ALL, DASHED, ORDER, View, ink};
use crate::fingerprint::{Ecdf, Timed};
use crate::histogram::Histogram;

/// All repetitions.
pub fn histogram(view: View) -> Plot {
    bars(view, "Histogram", &view.timed().histogram)
}

/// Without first and outliers.
pub fn histogram_good(view: View) -> Plot {
    bars(view, "Histogram, without first and outliers", &view.timed().histogram_good)
}

fn bars(view: View, title: &str, histogram: &Histogram) -> Plot {
    let bins = histogram.edges_and_counts();
    let Some(most) = bins.iter().map(|(_, _, counts)| counts.iter().sum::<u64>()).max() else {
        return Plot::empty(title);
    };
    let range = (histogram.from_ns, histogram.to_ns);
    let x = Range { logarithmic: histogram.logarithmic, ..Range::new("run time", range, AxisKind::Time) };
    let mut plot = Plot::new(title, x, Range::new("repetitions", (0.0, most as f64 * 1.05), AxisKind::Count));
    let mut below = vec![0.0; bins.len()];
    for category in ORDER {
        let bar = |(&(from, to, counts), below): (&(f64, f64, [u64; 4]), &mut f64)| {
            let low = *below;
            *below += counts[category.place()] as f64;
            Bar { x: (from, to), y: (low, *below) }
        };
        let bars: Vec<Bar> = bins.iter().zip(&mut below).map(bar).collect();
        let shown = bars.into_iter().filter(|bar| bar.y.1 > bar.y.0);
        plot.add(category.name(), Some(view.counted(category)), ink(category), Mark::Bars(shown.collect()));
    }
    plot
}

/// The empirical distribution function of all repetitions and of the good ones.
pub fn ecdf(view: View) -> Plot {
    let timed = view.timed();
    let lines: [(&Ecdf, &str, Ink, _); 2] =
        [(&timed.ecdf, "all", ALL, None), (&timed.ecdf_good, "good", ink(Category::Good), DASHED)];
    let title = "Distribution function";
    let all = lines.iter().flat_map(|(ecdf, ..)| ecdf.at_ns.iter().copied());
    let Some(x) = Range::of_times("run time", all, FAR) else { return Plot::empty(title) };
    let mut plot = Plot::new(title, x, Range::new("cumulative share", (0.0, 1.02), AxisKind::Share));
    for (ecdf, name, ink, dash) in lines {
        let before = std::iter::once(&0.0).chain(&ecdf.share);
        let steps = ecdf.at_ns.iter().zip(before).zip(&ecdf.share);
        let points = steps.flat_map(|((&x, &from), &to)| [(x, from), (x, to)]).collect();
        plot.line(name, ink, points, 1.6, dash);
    }
    plot
}

/// The good repetitions against the normal distribution.
pub fn q_q(view: View) -> Plot {
    let (Timed { ecdf_good: Ecdf { at_ns, share }, good, counts, .. }, title) = (view.timed(), "Q-Q, good repetitions");
    let Description { mean_ns: Some(mean), sd_ns: Some(deviation), .. } = good.description else {
        return Plot::empty(title);
    };
    // The middle of a value's step, as in `comparison::q_q`.
    let half = 0.5 / counts[Category::Good.place()] as f64;
    let point = |(&at, &share): (&f64, &f64)| (normal_quantile(share - half), (at - mean) / deviation);
    let points = at_ns.iter().zip(share).map(point).filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    let set = Set { name: Category::Good.name().to_owned(), place: 0 };
    against_normal(title, "run time", vec![(set, points)]).unwrap_or_else(|| Plot::empty(title))
}

/// Box plots of all repetitions and of each category.
pub fn boxes(view: View) -> Plot {
    let boxes = &view.timed().boxes;
    let ends = boxes.iter().flat_map(|plot| [plot.min_ns, plot.max_ns]);
    let title = "Box plot by category";
    let Some(x) = Range::of_times("run time", ends, FAR) else { return Plot::empty(title) };
    let names = boxes.iter().map(|plot| plot.name.to_owned()).collect();
    let mut plot = Plot::new(title, x, Range::of_names("", names));
    for (row, one) in boxes.iter().enumerate() {
        let category = Category::ALL.into_iter().find(|category| category.name() == one.name);
        let ([low, high], [lower, median, upper]) = (one.plot.whiskers, one.plot.quartiles);
        let values = [one.min_ns, low, lower, median, upper, high, one.max_ns];
        plot.add(one.name, None, category.map_or(ALL, ink), Mark::BoxPlot { row, values });
    }
    plot
}
