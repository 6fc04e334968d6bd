//! The forest plot: for each operation how much longer B takes than A, with its interval, on a scale of logarithms: 2
//! and 1/2 times are as far from 1.

use std::path::Path;

use anyhow::{Result, bail};
use mpitrace::comparison::stars;

use super::Pair;
use super::result::Compared;
use super::share::times;
use crate::draw::axis::{Axis, Kind};
use crate::draw::picture::SMALL;
use crate::draw::plot::{PALETTE, Shape};
use crate::draw::scene::{Anchor, FAINT, GRID, INK, PAPER, Scene, Stroke};
use crate::draw::{pdf, png, svg};
use crate::report::file;
use crate::report::pictures::Format;
use crate::text;

/// The height of a row, and of what stands above and below the rows.
const ROW: f64 = 20.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 44.0;
/// The width of a letter of the operations' names.
const LETTER: f64 = 6.2;
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

/// How a picture is written, by the ending of its name.
#[derive(Clone, Copy, Debug)]
pub enum Written {
    Svg,
    Png,
    Pdf,
}

impl Written {
    /// As the name of the file asks for.
    pub fn by_name(path: &Path) -> Result<Written> {
        Ok(match path.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => Written::Svg,
            Some("png") => Written::Png,
            Some("pdf") => Written::Pdf,
            _ => bail!("{}: the name of a picture ends in .svg, .png or .pdf", path.display()),
        })
    }
}

/// Writes a picture into a file.
pub fn write(scene: &Scene, path: &Path, written: Written) -> Result<()> {
    file::whole(path, |file| match written {
        Written::Svg => Ok(file.write_all(svg::text(scene, "axes").as_bytes())?),
        Written::Png => png::write(scene, file),
        Written::Pdf => pdf::write(scene, file),
    })
}

/// The rows as a picture; `names`: of the two sets, if there are no more.
pub fn draw(rows: &[Row], [a, b]: [&str; 2]) -> Scene {
    let (width, height) = (Format::default().size.0, TOP + ROW * rows.len() as f64 + BOTTOM);
    let title = format!("{b} against {a}, with intervals of 95 %");
    let mut scene = Scene::new(width, height, title.clone());
    scene.text((8.0, 16.0), Anchor::Start, 12.5, INK, title);
    // Where the names would leave less than half for the plot they go beyond the edge.
    let letters = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let left = (16.0 + LETTER * letters as f64).min(width / 2.0);
    let (right, bottom) = (width - 16.0, height - BOTTOM);
    let (low, high) = range(rows);
    let across = Axis::new((low.exp(), high.exp()), (left, right), Kind::Share, true);
    for (place, label) in across.ticks((right - left) / 75.0) {
        scene.line((place, TOP - 14.0), (place, bottom), Stroke::solid(GRID, 0.8));
        scene.text((place, bottom + 14.0), Anchor::Middle, SMALL, INK, label);
    }
    let axis = ((left + right) / 2.0, bottom + 31.0);
    let label = format!("{b} takes less | longer than {a}: time of {b} / time of {a}");
    scene.text(axis, Anchor::Middle, SMALL, FAINT, label);
    let equal = across.place(1.0);
    scene.line((equal, TOP - 14.0), (equal, bottom), Stroke::solid(FAINT, 1.0));
    let step = (bottom - TOP) / rows.len().max(1) as f64;
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + step * (index as f64 + 0.4);
        scene.text((left - 8.0, y + 3.8), Anchor::End, SMALL, INK, row.name.as_str());
        let colour = if row.found { PALETTE[3] } else { FAINT };
        if let Some([from, to]) = row.interval.map(|ends| ends.map(f64::ln_1p)) {
            let place = |end: f64| across.place(end.clamp(low, high).exp());
            let (first, last) = (place(from), place(to));
            // An arrow where it goes on, a cap where it ends.
            let end = |at: f64, is_end: bool, inwards: f64| match is_end {
                true => format!("M{at:.1} {:.1}v6", y - 3.0),
                false => {
                    format!("M{:.1} {:.1}L{at:.1} {y:.1}L{:.1} {:.1}", at + inwards, y - 3.0, at + inwards, y + 3.0)
                }
            };
            let ends = [end(first, from >= low, 4.0), end(last, to <= high, -4.0)].concat();
            scene.path(
                format!("M{first:.1} {y:.1}L{last:.1} {y:.1}{ends}"),
                None,
                Some(Stroke::solid(colour, 1.5)),
                None,
            );
        }
        let mark = Shape::Circle.path(across.place(1.0 + row.effect), y);
        scene.path(mark, Some(if row.found { colour } else { PAPER }), Some(Stroke::solid(colour, 1.5)), None);
    }
    scene
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
    fn a_picture_has_each_operation_and_marks_those_that_differ() {
        let rows = [row("MPI_Bcast/8/2/0", 0.2, Some([0.1, 0.3]), true), row("MPI_Barrier/0/2/-", 0.0, None, false)];
        let text = svg::text(&draw(&rows, ["A", "B"]), "axes");
        for wanted in ["MPI_Bcast/8/2/0", "MPI_Barrier/0/2/-", "with intervals of 95 %", "time of B / time of A"] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        assert_eq!(text.matches(&format!("fill=\"{}\"", "#0072b2")).count(), 1, "one is found: {text}");
    }

    #[test]
    fn the_ending_of_the_name_says_how_it_is_written() {
        for name in ["forest.svg", "forest.png", "forest.pdf"] {
            assert!(Written::by_name(Path::new(name)).is_ok(), "{name}");
        }
        let refused = Written::by_name(Path::new("forest.html")).unwrap_err().to_string();
        assert_eq!(refused, "forest.html: the name of a picture ends in .svg, .png or .pdf");
    }
}
