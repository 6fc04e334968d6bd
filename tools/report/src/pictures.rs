//! Static pictures for papers: each plot by itself, as SVG, PNG and PDF.

use std::path::Path;
use std::sync::Once;

use anyhow::{Context, Result, bail, ensure};
use mpitrace_show::destination::{Content, write_file};
use mpitrace_show::draw::axis::AxisKind;
use mpitrace_show::draw::plot::Plot;
use mpitrace_show::draw::scene::{Area, Scene};
use mpitrace_show::draw::{csv, pdf, picture, png, svg};
use mpitrace_show::text::Unit;
use mpitrace_trace::run_time::RunTime;

use super::fingerprint::{Fingerprint, Report};
use super::plots::{self, View, file_name};

/// How a picture looks.
#[derive(Clone, Debug, Default)]
pub struct Format {
    /// Width and height, mm; `None`: its own. Texts keep their size.
    pub size_mm: Option<(f64, f64)>,
    /// The line above it in place of its own; empty: none, nor the title of a single plot.
    pub title: Option<String>,
    /// The labels of the axes: from left to right, and from the bottom up.
    pub labels: [Option<String>; 2],
    /// The unit of times.
    pub unit: Option<Unit>,
}

/// The plots of a picture.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The name, for readers that cannot see it.
    pub name: String,
    /// The plots, in the order in which they are read.
    pub plots: Vec<Plot>,
    /// The width and height of each, in units of which 96 are an inch.
    pub panel: (f64, f64),
    /// Plots beside each other, where there is room.
    pub columns: usize,
    /// A line above all of them.
    pub above: Option<String>,
}

/// The usual size of a plot by itself.
pub const ALONE: (f64, f64) = (640.0, 400.0);
/// The height of the line above all plots.
const LINE: f64 = 20.0;
/// Units in a mm, and the least size of one plot of several, mm.
const UNITS: f64 = 96.0 / 25.4;
const LEAST_MM: (f64, f64) = (40.0, 40.0);

impl Picture {
    /// Draws it.
    ///
    /// # Errors
    /// The plots have no room in the size that was asked for, or have no axis of times for the unit.
    pub fn draw(&self, format: &Format) -> Result<Scene> {
        let (plots, above) = self.formatted(format)?;
        let line = if above.is_empty() { 0.0 } else { LINE };
        let columns = self.columns.min(plots.len()).max(1);
        let rows = |columns: usize| plots.len().div_ceil(columns).max(1);
        let (columns, (width, height)) = match format.size_mm {
            None => (columns, self.panel),
            Some((width, height)) => {
                let columns = if width / (columns as f64) < 1.5 * LEAST_MM.0 { 1 } else { columns };
                let panel = (width / columns as f64, (height - line / UNITS) / rows(columns) as f64);
                ensure!(
                    plots.len() < 2 || panel.0 >= LEAST_MM.0 && panel.1 >= LEAST_MM.1,
                    "--size {width}x{height} has no room for {} plots: at least {}x{}, or choose among them",
                    plots.len(),
                    (LEAST_MM.0 * columns as f64).max(width),
                    (LEAST_MM.1 * rows(columns) as f64 + line / UNITS).ceil()
                );
                (columns, (panel.0 * UNITS, panel.1 * UNITS))
            }
        };
        let size = (width * columns as f64, height * rows(columns) as f64 + line);
        let mut scene = Scene::new(size.0, size.1, self.name.clone());
        picture::line_above(&mut scene, &above);
        for (place, plot) in plots.iter().enumerate() {
            let (left, top) = (width * (place % columns) as f64, line + height * (place / columns) as f64);
            picture::draw(plot, &mut scene, Area { left, top, width, height });
        }
        Ok(scene)
    }

    /// The plots as they are drawn, and the line above them.
    fn formatted(&self, format: &Format) -> Result<(Vec<Plot>, String)> {
        let mut plots = self.plots.clone();
        let is_time = |plot: &Plot| [plot.x.kind, plot.y.kind].contains(&AxisKind::Time);
        ensure!(format.unit.is_none() || plots.iter().any(is_time), "--unit: this picture has no axis of times");
        let [x, y] = &format.labels;
        for plot in &mut plots {
            for (range, label) in [(&mut plot.x, x), (&mut plot.y, y)] {
                range.unit = format.unit;
                if let Some(label) = label {
                    (range.label, range.is_labelled) = (label.clone(), true);
                }
            }
        }
        let mut above = self.above.clone().unwrap_or_default();
        match (&format.title, plots.as_mut_slice()) {
            (None, _) => {}
            // A paper has a caption in its place. Titles of several say which is which.
            (Some(title), [plot]) if title.is_empty() => (plot.title, above) = (String::new(), String::new()),
            (Some(title), [plot]) if self.above.is_none() => plot.title.clone_from(title),
            (Some(title), _) => above.clone_from(title),
        }
        Ok((plots, above))
    }
}

/// How a picture is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// A vector graphic for pages.
    Svg,
    /// Pixels.
    Png,
    /// A vector graphic for papers.
    Pdf,
    /// Its values as a table.
    Csv,
}

/// The endings of names of pictures, as messages list them.
pub const ENDINGS: &str = ".svg, .png, .pdf or .csv";

impl Written {
    const ALL: [(&'static str, Written); 4] =
        [("svg", Written::Svg), ("png", Written::Png), ("pdf", Written::Pdf), ("csv", Written::Csv)];

    /// By the ending of the file's name.
    pub fn by_ending(path: &Path) -> Option<Written> {
        let ending = path.extension()?.to_str()?;
        Written::ALL.into_iter().find_map(|(name, written)| (name == ending).then_some(written))
    }

    /// Writes it.
    ///
    /// # Errors
    /// It cannot be drawn in this format, or the file cannot be written.
    pub fn write(self, picture: &Picture, format: &Format, path: &Path) -> Result<()> {
        if self == Written::Csv {
            let (plots, _) = picture.formatted(&Format { title: None, ..format.clone() })?;
            return write_file(path, Content::Text, |file| Ok(csv::write(&plots, file)?));
        }
        let scene = picture.draw(format)?;
        if let Some(letter) = picture::missing_letter(&scene).filter(|_| self != Written::Svg) {
            // Once: pictures of one command have their names in common.
            static SAID: Once = Once::new();
            let path = path.display();
            SAID.call_once(|| {
                eprintln!(
                    "mpitrace: {path}: the built-in font has no '{letter}', which is shown as ?: SVG takes the reader's fonts"
                );
            });
        }
        write_file(path, Content::Binary, |file| match self {
            Written::Png => png::write(&scene, file),
            Written::Pdf => pdf::write(&scene, file),
            Written::Svg | Written::Csv => Ok(file.write_all(svg::text(&scene, "axes").as_bytes())?),
        })
    }
}

/// The plots of the whole run, with the names of their files.
fn of_run(report: &Report) -> Vec<(&'static str, Plot)> {
    let timeline = report.run.timeline.as_ref().map(|found| ("timeline", plots::timeline(found)));
    let sizes = plots::sets::of_operations(&report.overview).map(|plot| ("sizes", plot));
    timeline.into_iter().chain(sizes).collect()
}

/// The pictures of all operations and of the run, with the names of their files; or of one kind of plot alone.
///
/// # Errors
/// There is no plot of this name.
fn pictures(report: &Report, time: RunTime, only: Option<&str>) -> Result<Vec<(String, Picture)>> {
    only.map_or(Ok(()), |name| check(report, name))?;
    let is_wanted = |name: &str| only.is_none_or(|only| only == name);
    let alone = |plot: Plot, name: String, above: String| Picture {
        name,
        plots: vec![plot],
        panel: (ALONE.0, ALONE.1 - LINE),
        columns: 1,
        above: Some(above),
    };
    let mut found = Vec::new();
    for fingerprint in &report.fingerprints {
        let view = View { fingerprint, time: fingerprint.index_of(time) };
        let subject = &fingerprint.subject;
        let bytes = subject.operation.bytes.map_or_else(String::new, |bytes| format!("-{bytes}B"));
        let start = format!("{}-{}{bytes}", subject.operation.operation, file_name(&subject.operation.function));
        for (name, plot) in plots::all(view).into_iter().filter(|(name, _)| is_wanted(name)) {
            let above = format!("{}, {}", subject.title(), subject.layout());
            found.push((format!("{start}-{name}"), alone(plot, format!("{}: {name}", subject.title()), above)));
        }
    }
    for (name, plot) in of_run(report).into_iter().filter(|(name, _)| is_wanted(name)) {
        found.push((name.to_owned(), alone(plot, format!("{}: {name}", report.name), report.name.clone())));
    }
    Ok(found)
}

/// Writes the pictures of all operations into a folder, or one kind of plot alone: each as graphics and as values.
///
/// # Errors
/// There is no plot of this name, which is found before anything is written; or a file cannot be written.
pub fn write(report: &Report, time: RunTime, folder: &Path, only: Option<&str>, format: &Format) -> Result<()> {
    let pictures = pictures(report, time, only)?;
    let has_times =
        |picture: &Picture| picture.plots.iter().any(|plot| [plot.x.kind, plot.y.kind].contains(&AxisKind::Time));
    make_folder(folder)?;
    for (name, picture) in &pictures {
        // Of many the unit is for those that show times.
        let unit = format.unit.filter(|_| only.is_some() || has_times(picture));
        let format = Format { unit, ..format.clone() };
        for (ending, written) in Written::ALL {
            written.write(picture, &format, &folder.join(format!("{name}.{ending}")))?;
        }
    }
    Ok(())
}

/// Writes the one picture of this kind of plot into a file.
///
/// # Errors
/// There is no plot of this name, or several operations have it; or the file cannot be written.
pub fn write_one(
    report: &Report,
    time: RunTime,
    (path, written): (&Path, Written),
    only: &str,
    format: &Format,
) -> Result<()> {
    let pictures = pictures(report, time, Some(only))?;
    let [(_, picture)] = pictures.as_slice() else {
        let operations = report.fingerprints.iter().map(|one| one.subject.operation.operation.to_string());
        bail!(
            "{}: holds one picture, and there is a plot {only} of the operations {}: choose with --operation, or let -o \
             name a folder",
            path.display(),
            operations.collect::<Vec<_>>().join(", ")
        );
    };
    written.write(picture, format, path)
}

fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))
}

/// A check that there is a plot of this name in some operation.
fn check(report: &Report, name: &str) -> Result<()> {
    let of_operation = |fingerprint: &Fingerprint| plots::all(View { fingerprint, time: 0 });
    let mut names: Vec<String> = Vec::new();
    for (known, _) in report.fingerprints.iter().flat_map(of_operation) {
        if !names.contains(&known) {
            names.push(known);
        }
    }
    names.extend(of_run(report).into_iter().map(|(name, _)| name.to_owned()));
    ensure!(names.iter().any(|known| known == name), "no plot {name}: there are {}", names.join(", "));
    Ok(())
}
