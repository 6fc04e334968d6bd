//! Pictures over message sizes and over runs, as Hunold & Carpen-Amarie (2016) draw them.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use mpitrace_report::page;
use mpitrace_report::page::figure::Figures;
use mpitrace_report::pictures::{Format, Written};
use mpitrace_report::plots::sets::{self, Line, Set};
use mpitrace_show::draw::axis::AxisKind;
use mpitrace_show::draw::picture;
use mpitrace_show::draw::plot::{FAR, Plot, Range};
use mpitrace_show::draw::scene::{Area, Scene};
use mpitrace_statistics::comparison::{Quantile, Run, over_runs, q_q, stars};

use super::pair::Pair;
use super::result::Compared;
use super::side::OfOperation;
use super::{forest, sentence};

/// The content of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Figure {
    /// Each operation's effect with its interval.
    #[default]
    Forest,
    /// The medians of each set by message size, with intervals and asterisks.
    Sizes,
    /// The medians of each set over those of A, by message size.
    Normalised,
    /// Each run of each set, with its interval.
    Runs,
    /// The distribution of the runs of each set, and beside it against the normal distribution.
    Distribution,
}

pub enum FigureOutput {
    Picture(Figure, Written),
    /// With all of them.
    Page,
}

impl FigureOutput {
    /// As the name of the file asks for.
    ///
    /// # Errors
    /// It asks for neither, or for one figure of a page.
    pub fn by_name(path: &Path, figure: Option<Figure>) -> Result<FigureOutput> {
        if path.extension().is_some_and(|ending| ending == "html") {
            ensure!(figure.is_none(), "--plot chooses among pictures: {} is a page with all of them", path.display());
            return Ok(FigureOutput::Page);
        }
        let written = Written::by_ending(path).with_context(|| {
            format!("{}: the name of a picture ends in .svg, .png or .pdf, that of a page in .html", path.display())
        })?;
        Ok(FigureOutput::Picture(figure.unwrap_or_default(), written))
    }
}

impl Figure {
    fn title(self) -> &'static str {
        match self {
            Figure::Forest => "Effects",
            Figure::Sizes => "Medians by message size",
            Figure::Normalised => "Medians by message size, over those of A",
            Figure::Runs => "Runs",
            Figure::Distribution => "Distribution of the runs",
        }
    }
}

/// The size of a plot.
const PANEL: (f64, f64) = (480.0, 320.0);
/// The height of a row of an operation.
const ROW: f64 = 20.0;
/// Plots in a picture.
const MOST: usize = 24;
/// An operation of a set, with its letter, and what the test says of it against A.
struct OfSet<'s> {
    name: char,
    operation: &'s OfOperation,
    stars: &'static str,
}

/// Draws it; `None`: there is nothing to show.
pub fn draw(figure: Figure, pairs: &[Pair]) -> Option<Scene> {
    let plots = plots(figure, pairs);
    let columns = plots.len().min(2);
    let rows = plots.len().div_ceil(columns.max(1));
    let (width, height) = size(plots.first()?);
    let mut scene = Scene::new(width * columns as f64, height * rows as f64, figure.title().to_owned());
    for (place, plot) in plots.iter().enumerate() {
        let (left, top) = (width * (place % columns) as f64, height * (place / columns) as f64);
        picture::draw(plot, &mut scene, Area { left, top, width, height });
    }
    Some(scene)
}

/// One with a row for each operation is as high as these need.
fn size(plot: &Plot) -> (f64, f64) {
    match plot.y.names.len() {
        0 => PANEL,
        rows => (Format::default().size.0, 100.0 + ROW * rows as f64),
    }
}

/// Writes all of them as a page, below what can be said of each operation.
///
/// # Errors
/// The output cannot be written.
pub fn page(pairs: &[Pair], output: &mut dyn Write) -> Result<()> {
    let said = |one: &Compared| Some(format!("{}: {}", one.identity.key(), sentence::of_comparison(one)?));
    let said = match pairs {
        [pair] => pair.compared.iter().filter_map(said).collect(),
        several => sentence::standing(several),
    };
    let mut figures = Figures::default();
    let sections = Figure::value_variants().iter().map(|&figure| {
        let draw = |plot: &Plot| figures.figure(figure.title(), plot, size(plot), "");
        (figure.title(), plots(figure, pairs).iter().map(draw).collect())
    });
    let sections: Vec<(&str, String)> = sections.collect();
    let names: BTreeSet<String> = pairs.iter().flat_map(|pair| pair.names).map(String::from).collect();
    page::of_figures(&format!("Comparison of {}", Vec::from_iter(names).join(", ")), &said, &sections, output)
}

fn plots(figure: Figure, pairs: &[Pair]) -> Vec<Plot> {
    let all = operations(pairs);
    let mut plots: Vec<Plot> = match figure {
        Figure::Forest => {
            let names = match pairs {
                [pair] => pair.names.map(String::from),
                _ => ["the first", "the second"].map(String::from),
            };
            forest::plot(&forest::rows(pairs), [&names[0], &names[1]]).into_iter().collect()
        }
        Figure::Sizes | Figure::Normalised => {
            let functions = all.chunk_by(|a, b| function(a) == function(b));
            let is_normalised = figure == Figure::Normalised;
            functions.filter_map(|sizes| by_size(function(&sizes[0]), sizes, is_normalised)).collect()
        }
        Figure::Runs => all.iter().filter_map(|sets| by_run(sets)).collect(),
        Figure::Distribution => {
            all.iter().filter_map(|sets| Some([distribution(sets)?, against_normal(sets)?])).flatten().collect()
        }
    };
    plots.truncate(MOST);
    plots
}

fn function<'s>(sets: &[OfSet<'s>]) -> &'s str {
    &sets[0].operation.identity.function
}

/// The operations that A shares with other sets, by function and size: each with those of the sets that have it.
fn operations<'s>(pairs: &'s [Pair]) -> Vec<Vec<OfSet<'s>>> {
    let mut all: Vec<Vec<OfSet>> = Vec::new();
    for pair in pairs.iter().filter(|pair| pair.names[0] == 'A') {
        for Compared { sides: [a, b], names, comparison, .. } in &pair.compared[pair.whole..] {
            let place = all.iter().position(|known| std::ptr::eq(known[0].operation, a.operation));
            let place = place.unwrap_or_else(|| {
                all.push(vec![OfSet { name: names[0], operation: a.operation, stars: "" }]);
                all.len() - 1
            });
            all[place].push(OfSet { name: names[1], operation: b.operation, stars: stars(comparison.p) });
        }
    }
    let key = |sets: &Vec<OfSet>| {
        let identity = &sets[0].operation.identity;
        (identity.function.clone(), identity.bytes)
    };
    all.sort_by_cached_key(key);
    all
}

fn set(name: char) -> Set {
    Set { name: name.to_string(), place: name as usize - 'A' as usize }
}

/// The median over the runs of their medians, with its interval.
fn median(operation: &OfOperation) -> Option<Quantile> {
    over_runs(
        &operation
            .runs
            .iter()
            .map(|run| Quantile { value_ns: run.median_ns, ..run.settled_median })
            .collect::<Vec<_>>(),
    )
}

/// The plot of the sizes of a function, each with its sets. `None`: there are fewer than two sizes.
fn by_size(function: &str, sizes: &[Vec<OfSet>], is_normalised: bool) -> Option<Plot> {
    let mut lines: Vec<Line> = Vec::new();
    for sets in sizes {
        let Some(x) = sets[0].operation.identity.bytes.map(sets::size) else { continue };
        let scale = if is_normalised { 1.0 / median(sets[0].operation)?.value_ns } else { 1.0 };
        for OfSet { name, operation, stars } in sets {
            let Some(Quantile { value_ns, interval_ns }) = median(operation) else { continue };
            let interval_ns = interval_ns.map(|ends| ends.map(|end| end * scale));
            let set = set(*name);
            let place = lines.iter().position(|line| line.set.place == set.place).unwrap_or_else(|| {
                lines.push(Line { set, points: Vec::new(), stars: Vec::new() });
                lines.len() - 1
            });
            lines[place].points.push((x, Quantile { value_ns: value_ns * scale, interval_ns }));
            lines[place].stars.extend((!stars.is_empty()).then_some((x, *stars)));
        }
    }
    let y = if is_normalised {
        ("over the median of A", AxisKind::Share)
    } else {
        ("median over the runs", AxisKind::Time)
    };
    sets::by_size(format!("{function} by message size"), y, &lines)
}

fn by_run(sets: &[OfSet]) -> Option<Plot> {
    let of_set = |set: &OfSet| -> Vec<(f64, Quantile)> {
        let shift = 0.12 * (f64::from(set.name as u32) - f64::from('A' as u32));
        set.operation.runs.iter().map(|run| (run.number as f64 + 1.0 + shift, run.settled_median)).collect()
    };
    let all: Vec<(char, Vec<(f64, Quantile)>)> = sets.iter().map(|set| (set.name, of_set(set))).collect();
    let points = || all.iter().flat_map(|(_, points)| points);
    let last = points().map(|(x, _)| *x).fold(1.0, f64::max);
    let y = Range::of_times("median", points().flat_map(|(_, of)| of.interval_ns.unwrap_or([of.value_ns; 2])), FAR)?;
    let mut plot = Plot::new(title(sets), Range::new("run", (0.5, last + 0.5), AxisKind::Count), y);
    all.iter().for_each(|(name, points)| set(*name).intervals(&mut plot, points));
    Some(plot)
}

fn title(sets: &[OfSet]) -> String {
    sets[0].operation.identity.key()
}

fn medians(set: &OfSet) -> Vec<f64> {
    let mut medians: Vec<f64> = set.operation.runs.iter().map(|run: &Run| run.median_ns).collect();
    medians.sort_unstable_by(f64::total_cmp);
    medians
}

/// The share of the runs of each set that take no longer.
fn distribution(sets: &[OfSet]) -> Option<Plot> {
    let x = Range::of_times("median of a run", sets.iter().flat_map(medians), FAR)?;
    let mut plot = Plot::new(title(sets), x, Range::new("share of the runs", (0.0, 1.02), AxisKind::Share));
    for of_set in sets {
        let all = medians(of_set);
        let step =
            |(at, &x): (usize, &f64)| [(x, at as f64 / all.len() as f64), (x, (at + 1) as f64 / all.len() as f64)];
        set(of_set.name).steps(&mut plot, all.iter().enumerate().flat_map(step).collect());
    }
    Some(plot)
}

/// The runs of each set against the normal distribution, in standard deviations.
fn against_normal(sets: &[OfSet]) -> Option<Plot> {
    let of_set = |set: &OfSet| -> Vec<(f64, f64)> {
        let medians = medians(set);
        let (mean, deviation) = mpitrace_statistics::moments(&medians)
            .and_then(|of| Some((of.mean, of.standard_deviation.filter(|deviation| *deviation > 0.0)?)))
            .unwrap_or((0.0, 1.0));
        q_q(&medians).iter().map(|&[normal, value]| (normal, (value - mean) / deviation)).collect()
    };
    let all = sets.iter().map(|one| (set(one.name), of_set(one))).collect();
    sets::against_normal(format!("{}: Q-Q", title(sets)), "runs", all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_of_the_name_says_what_is_drawn() {
        let chosen =
            |name: &str, figure| FigureOutput::by_name(Path::new(name), figure).map_err(|error| error.to_string());
        for name in ["a.svg", "a.png", "a.pdf"] {
            assert!(matches!(chosen(name, None), Ok(FigureOutput::Picture(Figure::Forest, _))), "{name}");
        }
        assert!(matches!(chosen("a.html", None), Ok(FigureOutput::Page)));
        for (name, figure, refused) in [
            ("a.jpg", None, "a.jpg: the name of a picture ends in .svg, .png or .pdf, that of a page in .html"),
            ("a.html", Some(Figure::Runs), "--plot chooses among pictures: a.html is a page with all of them"),
        ] {
            assert_eq!(chosen(name, figure).err().as_deref(), Some(refused));
        }
    }
}
