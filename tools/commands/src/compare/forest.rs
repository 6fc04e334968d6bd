//! The forest plot: for each operation how much longer B takes than A, with its interval, on a scale of logarithms: 2
//! and 1/2 times are as far from 1.

use mpitrace_show::draw::axis::AxisKind;
use mpitrace_show::draw::plot::{Bar, Ink, Mark, PALETTE, Plot, Range, Shape};
use mpitrace_show::draw::scene::FAINT;
use mpitrace_show::text;
use mpitrace_statistics::comparison::stars;

use super::chosen::Chosen;
use super::pair::Pair;
use super::result::Compared;

/// An interval is shown as far as so many times the logarithm of the largest effect, or this one where effects are
/// small: one that is wider says that little is known, however wide it is.
const SHOWN: f64 = 3.0;
const LEAST_SHOWN: f64 = 0.05;

/// A row: an operation whose effect is known. Shares.
pub struct ForestRow {
    name: String,
    effect: f64,
    interval: Option<[f64; 2]>,
    /// True if the test has found a difference.
    found: bool,
}

/// The rows of those operations that have an effect, in their order; of several pairs with the letters of the sets.
pub fn rows<'p>(pairs: &'p [Pair], chosen: Chosen<'_>) -> Vec<ForestRow> {
    let row = |one: &Compared| {
        let key = one.identity.key();
        let [a, b] = one.names.map(|letter| chosen.name(letter));
        let name = if pairs.len() > 1 { format!("{key} {b}/{a}") } else { key };
        Some(ForestRow {
            name: text::printable(&name).into_owned(),
            effect: one.effect().filter(|effect| effect.is_finite() && *effect > -1.0)?,
            interval: one.effect_interval(),
            found: !stars(one.comparison.p).is_empty(),
        })
    };
    let of_function = |pair: &'p Pair| {
        // The job and all operations together are none of a function.
        let rows = if chosen.only.is_some() { &pair.compared[pair.whole..] } else { &pair.compared[..] };
        rows.iter().filter(move |one| chosen.is_wanted(one.identity))
    };
    pairs.iter().flat_map(of_function).filter_map(row).collect()
}

/// The range shown, as logarithms of the ratio: all effects and 0, and the intervals as far as they go.
fn range(rows: &[ForestRow]) -> (f64, f64) {
    let largest = rows.iter().map(|row| row.effect.ln_1p().abs()).fold(LEAST_SHOWN / SHOWN, f64::max);
    let ends = rows.iter().flat_map(|row| row.interval.unwrap_or([row.effect; 2])).map(f64::ln_1p);
    let shown = ends.filter(|end| !end.is_nan()).map(|end| end.clamp(-SHOWN * largest, SHOWN * largest));
    let (low, high) = shown
        .chain(rows.iter().map(|row| row.effect.ln_1p()))
        .fold((0.0f64, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
    let room = 0.04 * (high - low).max(LEAST_SHOWN);
    (low - room, high + room)
}

/// The rows as a plot; `names`: of the two sets, if there are no more. `None`: there is no row.
pub fn plot(rows: &[ForestRow], [a, b]: [&str; 2]) -> Option<Plot> {
    let (low, high) = range(rows);
    let label = format!("{b} takes less | longer than {a}: time of {b} / time of {a}");
    let x = Range { logarithmic: true, ..Range::new(label, (low.exp(), high.exp()), AxisKind::Share) };
    let names = rows.iter().map(|row| row.name.clone()).collect();
    let mut plot = Plot::new(format!("{b} against {a}, with intervals of 95 %"), x, Range::of_names("", names));
    plot.add("equal", None, Ink::of_colour(FAINT), Mark::Rules { at: vec![1.0], dash: (1.0, 0.0) });
    for (found, name, colour, shape) in
        [(true, "a difference", PALETTE[3], Shape::Diamond), (false, "none found", FAINT, Shape::Circle)]
    {
        let ink = Ink::of_colour(colour);
        let of = || (0..).map(f64::from).zip(rows).filter(|(_, row)| row.found == found);
        let bar = |(y, row): (f64, &ForestRow)| {
            let [from, to] = row.interval?.map(|end| end.ln_1p().clamp(low, high).exp());
            Some(Bar { x: (from, to), y: (y - 0.04, y + 0.04) })
        };
        plot.add("interval", None, ink, Mark::Bars(of().filter_map(bar).collect()));
        let points = of().map(|(y, row)| (1.0 + row.effect, y)).collect();
        plot.add(name, Some(name.to_owned()), ink, Mark::Points { shape, points, rows: Vec::new() });
    }
    (!rows.is_empty()).then_some(plot)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, effect: f64, interval: Option<[f64; 2]>, found: bool) -> ForestRow {
        ForestRow { name: name.to_owned(), effect, interval, found }
    }

    #[test]
    fn an_interval_is_shown_up_to_three_times_the_largest_effect() {
        let rows = [
            row("a", 0.1, Some([0.05, 0.15]), true),
            row("bcd", -0.05, Some([-1.0, f64::INFINITY]), false),
            row("e", 0.0, None, false),
        ];
        let (low, high) = range(&rows);
        // 1.1 to the power of 3 and of -3, and room.
        assert!((0.72..0.75).contains(&low.exp()) && (1.33..1.39).contains(&high.exp()), "{low} {high}");
    }

    #[test]
    fn a_plot_has_each_operation_and_marks_those_that_differ() {
        let rows = [row("a", 0.2, Some([0.1, f64::INFINITY]), true), row("b", 0.0, None, false)];
        let plot = plot(&rows, ["A", "B"]).unwrap();
        assert_eq!(
            (plot.y.names.as_slice(), plot.title.as_str()),
            (["a", "b"].map(String::from).as_slice(), "B against A, with intervals of 95 %")
        );
        let points = |name: &str| {
            plot.layers.iter().find_map(|layer| match &layer.mark {
                Mark::Points { points, .. } if layer.name == name => Some(points.clone()),
                _ => None,
            })
        };
        assert_eq!([points("a difference"), points("none found")], [Some(vec![(1.2, 0.0)]), Some(vec![(1.0, 1.0)])]);
        let bars = plot.layers.iter().filter_map(|layer| match &layer.mark {
            Mark::Bars(bars) => Some(bars[0].x),
            _ => None,
        });
        let bars: Vec<(f64, f64)> = bars.collect();
        // One that goes on ends where the plot does.
        assert!(bars.len() == 1 && (bars[0].0 - 1.1).abs() < 1e-12 && bars[0].1 == plot.x.range.1, "{bars:?}");
        assert!(super::plot(&[], ["A", "B"]).is_none());
    }
}
