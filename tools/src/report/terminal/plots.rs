//! The plots, as lines of text.

use mpitrace::categories::Category;

use super::Ink;
use crate::draw::axis::{Axis, Kind, extent};
use crate::draw::terminal::{Canvas, Ink as _, LABEL, Look, below, framed};
use crate::report::fingerprint::{Ecdf, Fingerprint, Timed};
use crate::report::histogram::Histogram;
use crate::report::histogram::place;
use crate::text;

/// What spans more than this is drawn over its logarithm.
const FAR: f64 = 10.0;
/// Rows of a plot.
const ROWS: usize = 12;
/// Rows of the histogram.
const BARS: usize = 15;
/// A bar is built up from the good ones.
const ORDER: [Category; 4] = [Category::Good, Category::Warmup, Category::Outlier, Category::First];

/// Run time over the repetitions.
pub fn run_times(fingerprint: &Fingerprint, time: usize, look: Look) -> Vec<String> {
    let points = &fingerprint.points;
    let (Some(y), Some(x)) = (
        extent(points.run_time_ns[time].iter().copied()),
        extent(points.repetition.iter().map(|&number| number as f64)),
    ) else {
        return Vec::new();
    };
    let columns = look.width - LABEL - 1;
    let up = Axis::new(y, (0.0, 1.0), Kind::Time, is_far(y));
    let across = Axis::new(x, (0.0, 1.0), Kind::Count, false);
    let mut canvas = Canvas::new(columns, ROWS);
    let each = points.repetition.iter().zip(&points.run_time_ns[time]).zip(&points.category[time]);
    for ((&number, &run_time), &category) in each {
        canvas.point(across.place(number as f64), up.place(run_time), Ink::of(category));
    }
    let mut lines = vec![String::new(), look.title("run time per repetition")];
    lines.extend(framed(&canvas, &up, look));
    lines.push(below(&across, columns));
    lines
}

/// Horizontal bars, the longest as wide as there is room.
pub fn histogram(timed: &Timed, look: Look) -> Vec<String> {
    let mut lines = bars(&timed.histogram, look);
    if !lines.is_empty() {
        lines.splice(0..0, [String::new(), look.title("histogram: from this run time on, repetitions")]);
    }
    lines
}

fn bars(histogram: &Histogram, look: Look) -> Vec<String> {
    let bins = histogram.drawn();
    if bins.is_empty() {
        return Vec::new();
    }
    let together = bins.len().div_ceil(BARS);
    let bars: Vec<(f64, [u64; 4])> = bins
        .chunks(together)
        .map(|bins| {
            let mut sum = [0; 4];
            bins.iter().for_each(|(_, _, counts)| sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count));
            (bins[0].0, sum)
        })
        .collect();
    let most = bars.iter().map(|(_, counts)| counts.iter().sum::<u64>()).max().unwrap_or(1).max(1);
    let digits = most.to_string().len();
    let room = look.width - LABEL - digits - 2;
    let mut lines = Vec::new();
    for (from, counts) in bars {
        let mut bar = String::new();
        for category in ORDER {
            let count = counts[place(category)];
            // One is seen as well.
            let cells = (count as f64 / most as f64 * (room - 4) as f64).round().max(f64::from(count > 0)) as usize;
            let cell = if look.dots { '\u{2588}' } else { Ink::of(category).sign() };
            if cells > 0 {
                bar.push_str(&look.paint(Ink::of(category), &cell.to_string().repeat(cells)));
            }
        }
        let count: u64 = counts.iter().sum();
        let line = format!("{:>width$} |{count:>digits$} {bar}", text::time(from), width = LABEL - 2);
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// The distribution function of all repetitions and of the good ones.
pub fn ecdf(timed: &Timed, look: Look) -> Vec<String> {
    functions([(&timed.ecdf, Ink::All, "all"), (&timed.ecdf_good, Ink::Good, "good")], look)
}

/// The distribution functions of the good repetitions of two runs.
pub fn both(a: &Ecdf, b: &Ecdf, look: Look) -> Vec<String> {
    functions([(a, Ink::A, "A, good"), (b, Ink::B, "B, good")], look)
}

fn functions(each: [(&Ecdf, Ink, &str); 2], look: Look) -> Vec<String> {
    let Some(x) = extent(each.iter().flat_map(|(ecdf, _, _)| ecdf.at_ns.iter().copied())) else { return Vec::new() };
    let columns = look.width - LABEL - 1;
    let across = Axis::new(x, (0.0, 1.0), Kind::Time, is_far(x));
    let up = Axis::new((0.0, 1.0), (0.0, 1.0), Kind::Share, false);
    let mut canvas = Canvas::new(columns, ROWS);
    let mut legend = look.title("share of repetitions that take no longer");
    for (ecdf, ink, name) in each {
        steps(&mut canvas, ecdf, &across, ink);
        legend.push_str(&format!("  {} {name}", look.mark(ink)));
    }
    let mut lines = vec![String::new(), legend];
    lines.extend(framed(&canvas, &up, look));
    lines.push(below(&across, columns));
    lines
}

/// Draws a function as steps, several points for each column.
fn steps(canvas: &mut Canvas<Ink>, ecdf: &Ecdf, across: &Axis, ink: Ink) {
    const POINTS: usize = 1000;
    let mut before: Option<(f64, f64)> = None;
    for (&at, &share) in ecdf.at_ns.iter().zip(&ecdf.share) {
        let x = across.place(at);
        if let Some((from, level)) = before {
            let count = ((x - from) * POINTS as f64).ceil() as usize;
            (0..count).for_each(|step| canvas.point(from + (x - from) * step as f64 / count as f64, level, ink));
        }
        let low = before.map_or(0.0, |(_, level)| level);
        let count = ((share - low) * 100.0).ceil().max(1.0) as usize;
        (1..=count).for_each(|step| canvas.point(x, low + (share - low) * step as f64 / count as f64, ink));
        before = Some((x, share));
    }
}

fn is_far((low, high): (f64, f64)) -> bool {
    low > 0.0 && high / low > FAR
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Style;

    #[test]
    fn bars_are_coloured_by_category_and_as_long_as_the_terminal_is_wide() {
        let mut category = vec![Category::Good; 900];
        category.extend([Category::Outlier; 3]);
        let x: Vec<f64> = (0..903).map(|i| if i < 900 { 1000.0 + f64::from(i % 10) } else { 20_000.0 }).collect();
        let histogram = Histogram::of(&x, &category, 480, |_| true);
        for width in [80, 120] {
            let look = Look { style: Style::Terminal, width, dots: true };
            let lines = bars(&histogram, look);
            let cells = |line: &str| line.chars().filter(|&letter| letter == '\u{2588}').count();
            assert!(lines[0].contains("|900 \x1b[36m\u{2588}") && lines[0].ends_with("\x1b[0m"), "{:?}", lines[0]);
            assert_eq!(cells(&lines[0]), width - LABEL - 9, "{:?}", lines[0]);
            let last = &lines[lines.len() - 1];
            assert!(last.ends_with("|  3 \x1b[31m\u{2588}\x1b[0m"), "few are seen as well: {last:?}");
        }
    }
}
