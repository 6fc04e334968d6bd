//! The forest plot: for each operation how much longer B takes than A, with its interval, on a scale of logarithms: 2
//! and 1/2 times are as far from 1.

use mpitrace::comparison::stars;

use super::Pair;
use super::result::Compared;
use super::share::times;
use crate::draw::axis::Kind;
use crate::draw::plot::{Bar, Ink, Mark, PALETTE, Plot, Range, Shape};
use crate::draw::scene::FAINT;
use crate::text;

/// An interval is shown as far as so many times the logarithm of the largest effect, or this one where effects are
/// small: one that is wider says that little is known, however wide it is.
const SHOWN: f64 = 3.0;
const LEAST_SHOWN: f64 = 0.05;

/// A row: an operation whose effect is known. Shares.
pub struct Row {
    name: String,
    effect: f64,
    pub interval: Option<[f64; 2]>,
    /// True if the test has found a difference.
    found: bool,
}

/// The rows of those operations that have an effect, in their order; of several pairs with the letters of the sets.
pub fn rows(pairs: &[Pair]) -> Vec<Row> {
    let row = |one: &Compared| {
        let key = one.identity.key();
        let [a, b] = one.names;
        let name = if pairs.len() > 1 { format!("{key} {b}/{a}") } else { key };
        Some(Row {
            name: text::printable(&name).into_owned(),
            effect: one.effect().filter(|effect| effect.is_finite() && *effect > -1.0)?,
            interval: one.effect_interval(),
            found: !stars(one.comparison.p).is_empty(),
        })
    };
    pairs.iter().flat_map(|pair| &pair.compared).filter_map(row).collect()
}

/// The range shown, as logarithms of the ratio: all effects and 0, and the intervals as far as they go.
fn range(rows: &[Row]) -> (f64, f64) {
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
pub fn plot(rows: &[Row], [a, b]: [&str; 2]) -> Option<Plot> {
    let (low, high) = range(rows);
    let label = format!("{b} takes less | longer than {a}: time of {b} / time of {a}");
    let x = Range { logarithmic: true, ..Range::new(label, (low.exp(), high.exp()), Kind::Share) };
    let names = rows.iter().map(|row| row.name.clone()).collect();
    let mut plot = Plot::new(format!("{b} against {a}, with intervals of 95 %"), x, Range::of_names("", names));
    plot.add("equal", None, Ink::of_colour(FAINT), Mark::Rules { at: vec![1.0], dash: (1.0, 0.0) });
    for (found, name, colour, shape) in
        [(true, "a difference", PALETTE[3], Shape::Diamond), (false, "none found", FAINT, Shape::Circle)]
    {
        let ink = Ink::of_colour(colour);
        let of = || (0..).map(f64::from).zip(rows).filter(|(_, row)| row.found == found);
        let bar = |(y, row): (f64, &Row)| {
            let [from, to] = row.interval?.map(|end| end.ln_1p().clamp(low, high).exp());
            Some(Bar { x: (from, to), y: (y - 0.04, y + 0.04) })
        };
        plot.add("interval", None, ink, Mark::Bars(of().filter_map(bar).collect()));
        let points = of().map(|(y, row)| (1.0 + row.effect, y)).collect();
        plot.add(name, Some(name.to_owned()), ink, Mark::Points { shape, points, rows: Vec::new() });
    }
    (!rows.is_empty()).then_some(plot)
}

/// The rows as text, as wide as this: intervals as lines, `o` and, where a difference was found, `*` at the effect.
pub fn lines(rows: &[Row], width: usize) -> Vec<String> {
    let longest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let columns = width.saturating_sub(longest + 2).max(20);
    let (low, high) = range(rows);
    let at = |logarithm: f64| {
        ((logarithm - low) / (high - low) * (columns - 1) as f64).round().clamp(0.0, (columns - 1) as f64)
    };
    let equal = at(0.0) as usize;
    let line = |row: &Row| {
        let mut line = vec![' '; columns];
        line[equal] = '|';
        if let Some([from, to]) = row.interval.map(|ends| ends.map(f64::ln_1p)) {
            let (first, last) = (at(from) as usize, at(to) as usize);
            line[first..=last].fill('-');
            line[first] = if from < low { '<' } else { '[' };
            line[last] = if to > high { '>' } else { ']' };
        }
        line[at(row.effect.ln_1p()) as usize] = if row.found { '*' } else { 'o' };
        let line: String = line.into_iter().collect();
        format!("{:longest$}  {}", row.name, line.trim_end())
    };
    let ends = [low, high].map(|end| times(end.exp()));
    let mut scale = vec![' '; columns];
    let mut write = |from: usize, text: &str| {
        let from = from.min(columns.saturating_sub(text.chars().count()));
        scale.iter_mut().skip(from).zip(text.chars()).for_each(|(place, letter)| *place = letter);
    };
    write(0, &ends[0]);
    write(columns, &ends[1]);
    // 1 only where it does not run into the ends.
    if equal > ends[0].len() + 1 && equal + ends[1].len() + 3 < columns {
        write(equal, "1");
    }
    let scale = format!("{:longest$}  {}", "", scale.into_iter().collect::<String>());
    rows.iter().map(line).chain([scale]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, effect: f64, interval: Option<[f64; 2]>, found: bool) -> Row {
        Row { name: name.to_owned(), effect, interval, found }
    }

    #[test]
    fn effects_stand_at_their_places_and_intervals_around_them() {
        let rows = [
            row("a", 0.1, Some([0.05, 0.15]), true),
            row("bcd", -0.05, Some([-1.0, f64::INFINITY]), false),
            row("e", 0.0, None, false),
        ];
        let lines = lines(&rows, 65);
        assert_eq!(lines.len(), 4);
        let [a, b, e] = [0, 1, 2].map(|index| &lines[index]);
        let place = |line: &str, letter: char| line.find(letter).unwrap();
        assert!(place(a, '[') < place(a, '*') && place(a, '*') < place(a, ']'), "{lines:#?}");
        assert!(place(a, '|') < place(a, '['), "1 is left of it: {lines:#?}");
        assert!(b.starts_with("bcd  <") && b.ends_with('>') && b.contains('o'), "{lines:#?}");
        assert_eq!(place(e, 'o'), place(a, '|'), "no effect is at 1: {lines:#?}");
        // The widest interval goes on beyond 1.1 to the power of 3 and of -3.
        assert!(lines[3].contains("0.73 times") && lines[3].ends_with("1.4 times"), "{lines:#?}");
        assert!(lines.iter().all(|line| line.chars().count() <= 65), "{lines:#?}");
    }

    #[test]
    fn large_effects_leave_small_ones_their_width() {
        let rows = [
            row("a", 0.5, Some([0.2, 1.0]), true),
            row("b", 1300.0, Some([280.0, 2300.0]), true),
            row("c", -0.999, Some([-0.9999, -0.99]), true),
        ];
        let lines = lines(&rows, 80);
        for line in &lines[..3] {
            let place = |letter: char| line.find(letter).unwrap();
            assert!(place('[') < place('*') && place('*') < place(']'), "{lines:#?}");
        }
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
