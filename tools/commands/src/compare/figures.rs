//! Pictures over message sizes and over runs, as Hunold & Carpen-Amarie (2016) draw them.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use mpitrace_report::page;
use mpitrace_report::page::figure::Figures;
use mpitrace_report::picture_option::PictureOption;
use mpitrace_report::pictures::{ALONE, ENDINGS, Picture, Written};
use mpitrace_report::plots::overlay;
use mpitrace_report::plots::sets::{self, Line, Set};
use mpitrace_show::draw::axis::AxisKind;
use mpitrace_show::draw::plot::{FAR, Plot, Range};
use mpitrace_statistics::comparison::{Quantile, Run, over_runs, q_q, quantile, stars};

use super::chosen::Chosen;
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
    /// All run times of each set as histograms laid over each other, with their densities.
    Histogram,
    /// Run times over time: the means of 20 bins of the repetitions, the median over the runs.
    Drift,
    /// The mean of each trial of a set over the smallest, by message size.
    Trials,
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
    pub fn by_name(path: &Path, figure: Option<Figure>, option: &PictureOption) -> Result<FigureOutput> {
        if path.extension().is_some_and(|ending| ending == "html") {
            ensure!(figure.is_none(), "--plot chooses among pictures: {} is a page with all of them", path.display());
            if let Some(given) = option.given() {
                bail!("{given} is for pictures: {} is a page with all of them", path.display());
            }
            return Ok(FigureOutput::Page);
        }
        let written = Written::by_ending(path).with_context(|| {
            format!("{}: the name of a picture ends in {ENDINGS}, that of a page in .html", path.display())
        })?;
        option.check(written, path)?;
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
            Figure::Histogram => "Run times laid over each other",
            Figure::Drift => "Run times over time",
            Figure::Trials => "Trials, over the smallest",
        }
    }
}

/// The size of a plot.
const PANEL: (f64, f64) = (480.0, 320.0);
/// The height of a row of an operation.
const ROW: f64 = 20.0;
/// Plots in a picture.
const MOST: usize = 24;
/// An operation of a set, and what the test says of it against A.
struct OfSet<'s> {
    set: Set,
    operation: &'s OfOperation,
    stars: &'static str,
}

/// The picture; `None`: there is nothing to show.
///
/// # Errors
/// There is no such operation, or not on all sides.
pub fn picture(figure: Figure, pairs: &[Pair], chosen: Chosen<'_>) -> Result<Option<Picture>> {
    let compared = || pairs.iter().flat_map(|pair| &pair.compared[pair.whole..]);
    if let Some(wanted) = chosen.only
        && !compared().any(|one| chosen.is_wanted(one.identity))
    {
        let functions: BTreeSet<&str> = compared().map(|one| one.identity.function.as_str()).collect();
        let functions: Vec<&str> = functions.into_iter().collect();
        bail!("--only {wanted}: not compared; there are {}, and each row of the table", functions.join(", "));
    }
    let plots = plots(figure, pairs, chosen);
    let Some(panel) = plots.first().map(size) else { return Ok(None) };
    Ok(Some(Picture { name: figure.title().to_owned(), plots, panel, columns: 2, above: None }))
}

/// One with a row for each operation is as high as these need.
fn size(plot: &Plot) -> (f64, f64) {
    match plot.y.names.len() {
        0 => PANEL,
        rows => (ALONE.0, 100.0 + ROW * rows as f64),
    }
}

/// Writes all of them as a page, below what can be said of each operation.
///
/// # Errors
/// The output cannot be written.
pub fn page(pairs: &[Pair], chosen: Chosen<'_>, output: &mut dyn Write) -> Result<()> {
    let said = |one: &Compared| Some(format!("{}: {}", one.identity.key(), sentence::of_comparison(one)?));
    let said = match pairs {
        [pair] => {
            let job = pair.job.iter().map(|job| job.sentence.clone());
            job.chain(pair.compared.iter().filter_map(said)).collect()
        }
        several => sentence::standing(several),
    };
    let mut figures = Figures::default();
    let sections = Figure::value_variants().iter().map(|&figure| {
        let draw = |plot: &Plot| figures.figure(figure.title(), plot, size(plot), "");
        (figure.title(), plots(figure, pairs, chosen).iter().map(draw).collect())
    });
    let sections: Vec<(&str, String)> = sections.collect();
    let names: BTreeSet<String> = pairs.iter().flat_map(|pair| pair.names).map(String::from).collect();
    page::of_figures(&format!("Comparison of {}", Vec::from_iter(names).join(", ")), &said, &sections, output)
}

fn plots(figure: Figure, pairs: &[Pair], chosen: Chosen<'_>) -> Vec<Plot> {
    let mut all = operations(pairs, chosen);
    all.retain(|sets| chosen.is_wanted(&sets[0].operation.identity));
    let mut plots: Vec<Plot> = match figure {
        Figure::Forest => {
            let names = match pairs {
                [pair] => pair.names.map(|letter| chosen.name(letter)),
                _ => ["the first", "the second"].map(String::from),
            };
            forest::plot(&forest::rows(pairs, chosen), [&names[0], &names[1]]).into_iter().collect()
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
        Figure::Histogram => all.iter().filter_map(|sets| histogram(sets)).collect(),
        Figure::Drift => all.iter().filter_map(|sets| over_time(sets)).collect(),
        Figure::Trials => {
            let functions = all.chunk_by(|a, b| function(a) == function(b));
            functions.flat_map(|sizes| of_trials(sizes, chosen.trials)).collect()
        }
    };
    plots.truncate(MOST);
    plots
}

fn function<'s>(sets: &[OfSet<'s>]) -> &'s str {
    &sets[0].operation.identity.function
}

/// The operations that A shares with other sets, by function and size: each with those of the sets that have it.
fn operations<'s>(pairs: &'s [Pair], chosen: Chosen<'_>) -> Vec<Vec<OfSet<'s>>> {
    let set = |letter: char| Set { name: chosen.name(letter), place: letter as usize - 'A' as usize };
    let mut all: Vec<Vec<OfSet>> = Vec::new();
    for pair in pairs.iter().filter(|pair| pair.names[0] == 'A') {
        for Compared { sides: [a, b], names, comparison, .. } in &pair.compared[pair.whole..] {
            let place = all.iter().position(|known| std::ptr::eq(known[0].operation, a.operation));
            let place = place.unwrap_or_else(|| {
                all.push(vec![OfSet { set: set(names[0]), operation: a.operation, stars: "" }]);
                all.len() - 1
            });
            all[place].push(OfSet { set: set(names[1]), operation: b.operation, stars: stars(comparison.p) });
        }
    }
    let key = |sets: &Vec<OfSet>| {
        let identity = &sets[0].operation.identity;
        (identity.function.clone(), identity.bytes)
    };
    all.sort_by_cached_key(key);
    all
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
        for OfSet { set, operation, stars } in sets {
            let Some(Quantile { value_ns, interval_ns }) = median(operation) else { continue };
            let interval_ns = interval_ns.map(|ends| ends.map(|end| end * scale));
            let place = lines.iter().position(|line| line.set.place == set.place).unwrap_or_else(|| {
                lines.push(Line { set: set.clone(), points: Vec::new(), stars: Vec::new() });
                lines.len() - 1
            });
            lines[place].points.push((x, Quantile { value_ns: value_ns * scale, interval_ns }));
            lines[place].stars.extend((!stars.is_empty()).then_some((x, *stars)));
        }
    }
    let over = format!("over the median of {}", sizes.first()?.first()?.set.name);
    let y = if is_normalised { (over.as_str(), AxisKind::Share) } else { ("median over the runs", AxisKind::Time) };
    sets::by_size(format!("{function} by message size"), y, &lines)
}

fn by_run(sets: &[OfSet]) -> Option<Plot> {
    let of_set = |set: &OfSet| -> Vec<(f64, Quantile)> {
        let shift = 0.12 * set.set.place as f64;
        set.operation.runs.iter().map(|run| (run.number as f64 + 1.0 + shift, run.settled_median)).collect()
    };
    let all: Vec<(&Set, Vec<(f64, Quantile)>)> = sets.iter().map(|set| (&set.set, of_set(set))).collect();
    let points = || all.iter().flat_map(|(_, points)| points);
    let last = points().map(|(x, _)| *x).fold(1.0, f64::max);
    let y = Range::of_times("median", points().flat_map(|(_, of)| of.interval_ns.unwrap_or([of.value_ns; 2])), FAR)?;
    let mut plot = Plot::new(title(sets), Range::new("run", (0.5, last + 0.5), AxisKind::Count), y);
    all.iter().for_each(|(set, points)| set.intervals(&mut plot, points));
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
        of_set.set.steps(&mut plot, all.iter().enumerate().flat_map(step).collect());
    }
    Some(plot)
}

/// The runs of each set against the normal distribution, in standard deviations; none of a set whose runs do not
/// differ, as one run alone.
fn against_normal(sets: &[OfSet]) -> Option<Plot> {
    let of_set = |set: &OfSet| -> Vec<(f64, f64)> {
        let medians = medians(set);
        let moments = mpitrace_statistics::moments(&medians)
            .and_then(|of| Some((of.mean, of.standard_deviation.filter(|deviation| *deviation > 0.0)?)));
        let Some((mean, deviation)) = moments else { return Vec::new() };
        q_q(&medians).iter().map(|&[normal, value]| (normal, (value - mean) / deviation)).collect()
    };
    let all = sets.iter().map(|one| (one.set.clone(), of_set(one))).collect();
    sets::against_normal(format!("{}: Q-Q", title(sets)), "runs", all)
}

fn histogram(sets: &[OfSet]) -> Option<Plot> {
    let values = |one: &OfSet| one.operation.shapes.iter().flat_map(|shape| shape.values.iter().copied()).collect();
    overlay::histograms(title(sets), &sets.iter().map(|one| (one.set.clone(), values(one))).collect::<Vec<_>>())
}

/// Of each set the bins that all of its runs have.
fn over_time(sets: &[OfSet]) -> Option<Plot> {
    let of_set = |one: &OfSet| {
        let bins = one.operation.shapes.iter().map(|shape| shape.bins.len()).min().unwrap_or(0);
        let bin = |at: usize| {
            let means: Vec<f64> = one.operation.shapes.iter().map(|shape| shape.bins[at]).collect();
            let shift = 0.1 * one.set.place as f64;
            Some(((at as f64 + 0.3 + shift) / bins as f64, quantile(&means, 0.5)?))
        };
        (one.set.clone(), (0..bins).filter_map(bin).collect::<Vec<_>>())
    };
    overlay::over_time(title(sets), &sets.iter().map(of_set).collect::<Vec<_>>())
}

/// The trials of a function by message size, or where it has one size by their numbers.
fn of_trials(sizes: &[Vec<OfSet>], trials: Option<usize>) -> Vec<Plot> {
    let known = sizes.len() > 1 && sizes.iter().all(|sets| sets[0].operation.identity.bytes.is_some());
    let groups: Vec<&[Vec<OfSet>]> = if known { vec![sizes] } else { sizes.chunks(1).collect() };
    let plot = |group: &[Vec<OfSet>]| {
        let mut found: Vec<(Set, Vec<(f64, f64)>)> = Vec::new();
        for one in group.iter().flatten() {
            let shift = 0.12 * one.set.place as f64;
            let size = one.operation.identity.bytes.map_or(0.5, sets::size);
            let results = one.operation.trials(trials).map_or(Vec::new(), |found| found.normalised);
            let x = |trial: usize| if known { size * (1.0 + shift) } else { trial as f64 + 1.0 + shift };
            let points = results.iter().enumerate().map(|(trial, result)| (x(trial), *result));
            let place = found.iter().position(|(known, _)| known.place == one.set.place).unwrap_or_else(|| {
                found.push((one.set.clone(), Vec::new()));
                found.len() - 1
            });
            found[place].1.extend(points);
        }
        let (name, x) = match known {
            true => (function(&group[0]).to_owned(), ("message size, bytes", true)),
            false => (title(&group[0]), ("trial", false)),
        };
        overlay::trials(name, x, &found)
    };
    groups.into_iter().filter_map(plot).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_of_the_name_says_what_is_drawn() {
        let option = PictureOption::default();
        let chosen = |name: &str, figure| {
            FigureOutput::by_name(Path::new(name), figure, &option).map_err(|error| error.to_string())
        };
        for name in ["a.svg", "a.png", "a.pdf", "a.csv"] {
            assert!(matches!(chosen(name, None), Ok(FigureOutput::Picture(Figure::Forest, _))), "{name}");
        }
        assert!(matches!(chosen("a.html", None), Ok(FigureOutput::Page)));
        for (name, figure, refused) in [
            ("a.jpg", None, "a.jpg: the name of a picture ends in .svg, .png, .pdf or .csv, that of a page in .html"),
            ("a.html", Some(Figure::Runs), "--plot chooses among pictures: a.html is a page with all of them"),
        ] {
            assert_eq!(chosen(name, figure).err().as_deref(), Some(refused));
        }
    }
}
