//! Static pictures for papers: each plot by itself, and all of an operation on one sheet, as SVG, PNG and PDF.

mod counters;
mod distribution;
mod heat;
mod marks;
mod overlay;
mod run_times;
mod sheet;
mod timeline;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use mpitrace::categories::Category;
use mpitrace::run_time::RunTime;

use super::comparison::Comparison;
use super::file;
use super::fingerprint::{Fingerprint, Report, Run, Timed};
use crate::draw::scene::{Anchor, Area, FAINT, INK, Scene};
use crate::draw::{pdf, png, svg};

/// An operation, and the run time that is looked at.
struct View<'a> {
    report: &'a Report,
    fingerprint: &'a Fingerprint,
    time: usize,
}

impl View<'_> {
    fn timed(&self) -> &Timed {
        &self.fingerprint.times[self.time]
    }

    fn run_times(&self) -> &[f64] {
        &self.fingerprint.points.run_time_ns[self.time]
    }

    fn categories(&self) -> &[Category] {
        &self.fingerprint.points.category[self.time]
    }

    fn run(&self) -> &Run {
        &self.report.run
    }

    /// A plot without data.
    fn nothing(&self, scene: &mut Scene, area: Area, title: &str) {
        scene.text((area.left + 8.0, area.top + 16.0), Anchor::Start, 12.5, INK, title);
        let middle = (area.left + area.width / 2.0, area.top + area.height / 2.0);
        scene.text(middle, Anchor::Middle, 12.0, FAINT, "nothing to show");
    }
}

type Draw<'a> = Box<dyn Fn(&View, &mut Scene, Area) + 'a>;

/// What a plot by itself looks like.
#[derive(Clone, Debug)]
pub struct Format {
    /// Width and height, in units of which 96 are an inch. Texts keep their size.
    pub size: (f64, f64),
    /// The line above the plot in place of the operation's; empty: none.
    pub title: Option<String>,
}

impl Default for Format {
    fn default() -> Format {
        Format { size: (640.0, 400.0), title: None }
    }
}

/// The plots of an operation: their names and how they are drawn.
fn plots(fingerprint: &Fingerprint) -> Vec<(String, Draw<'_>)> {
    let mut plots: Vec<(String, Draw<'_>)> = Vec::new();
    let mut add = |name: &str, draw: Draw<'static>| plots.push((name.to_owned(), draw));
    add("run-time", Box::new(run_times::all));
    add("run-time-good", Box::new(run_times::good));
    add("histogram", Box::new(distribution::histogram));
    add("histogram-good", Box::new(distribution::histogram_good));
    add("ecdf", Box::new(distribution::ecdf));
    add("box", Box::new(distribution::boxes));
    add("metrics", Box::new(run_times::metrics));
    add("autocorrelation", Box::new(distribution::autocorrelation));
    if fingerprint.heat.is_some() {
        add("arrival", Box::new(heat::arrival));
        add("rank-time", Box::new(heat::run_time));
    }
    for counter in &fingerprint.points.counters {
        let name = format!("counter-{}", plain(&counter.name));
        plots
            .push((name.clone(), Box::new(|view, scene, area| counters::against_run_time(view, counter, scene, area))));
        plots.push((
            name + "-repetition",
            Box::new(|view, scene, area| counters::per_repetition(view, counter, scene, area)),
        ));
    }
    plots
}

/// The name of the picture of all ranks over the whole run.
const TIMELINE: &str = "timeline";

/// The name of the sheet that holds an operation's numbers and its most telling plots.
const SHEET: &str = "fingerprint";

/// Writes the pictures of all operations into a folder, or one kind of plot alone.
pub fn write(report: &Report, time: RunTime, folder: &Path, only: Option<&str>, format: &Format) -> Result<()> {
    make_folder(folder)?;
    let wanted = |name: &str| only.is_none_or(|only| only == name);
    for fingerprint in &report.fingerprints {
        let view = View { report, fingerprint, time: fingerprint.index_of(time) };
        let subject = &fingerprint.subject;
        let bytes = subject.bytes.map_or_else(String::new, |bytes| format!("-{bytes}B"));
        let start = format!("{}-{}{bytes}", subject.operation, plain(&subject.function));
        for (name, draw) in plots(fingerprint) {
            if wanted(&name) {
                let of_operation = || format!("{}, {}", subject.title(), subject.layout());
                let title = format.title.clone().unwrap_or_else(of_operation);
                let (mut scene, room) = titled(format, format!("{}: {name}", subject.title()), title);
                draw(&view, &mut scene, room);
                write_all(folder, &format!("{start}-{name}"), &scene)?;
            }
        }
        if wanted(SHEET) {
            write_all(folder, &format!("{start}-{SHEET}"), &sheet::sheet(&view))?;
        }
    }
    if let Some(found) = report.run.timeline.as_ref().filter(|_| wanted(TIMELINE)) {
        let title = format.title.clone().unwrap_or_else(|| report.name.clone());
        let (mut scene, room) = titled(format, format!("{}: {TIMELINE}", report.name), title);
        timeline::draw(found, &mut scene, room);
        write_all(folder, TIMELINE, &scene)?;
    }
    Ok(())
}

/// A picture of one plot, and what of it is left below the title.
fn titled(format: &Format, name: String, title: String) -> (Scene, Area) {
    let (width, height) = format.size;
    let mut scene = Scene::new(width, height, name);
    let top = if title.is_empty() { 0.0 } else { 20.0 };
    scene.text((8.0, 16.0), Anchor::Start, 11.0, FAINT, title);
    (scene, Area { left: 0.0, top, width, height: height - top })
}

/// Writes a sheet for each operation of two runs.
pub fn write_comparison(comparison: &Comparison, time: RunTime, folder: &Path) -> Result<()> {
    make_folder(folder)?;
    for (number, pair) in comparison.pairs.iter().enumerate() {
        let Some(distance) = pair.distances.iter().find(|distance| distance.time == time).or(pair.distances.first())
        else {
            continue;
        };
        let name = format!("{number}-{}-compared", plain(&pair.operation_key));
        write_all(folder, &name, &overlay::sheet(comparison, pair, distance))?;
    }
    Ok(())
}

fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))
}

fn write_all(folder: &Path, name: &str, scene: &Scene) -> Result<()> {
    let path = |ending: &str| folder.join(format!("{name}.{ending}"));
    file::whole(&path("svg"), |file| Ok(file.write_all(svg::text(scene).as_bytes())?))?;
    file::whole(&path("png"), |file| png::write(scene, file))?;
    file::whole(&path("pdf"), |file| pdf::write(scene, file))
}

/// Whether there is a plot of this name in some operation: to be asked before anything is written.
pub fn check(report: &Report, name: &str) -> Result<()> {
    let mut names: Vec<String> = Vec::new();
    for (known, _) in report.fingerprints.iter().flat_map(plots) {
        if !names.contains(&known) {
            names.push(known);
        }
    }
    names.extend(report.run.timeline.iter().map(|_| TIMELINE.to_owned()));
    names.push(SHEET.to_owned());
    ensure!(names.iter().any(|known| known == name), "no plot {name}: there are {}", names.join(", "));
    Ok(())
}

/// The text as a part of a file's name.
fn plain(text: &str) -> String {
    let letter = |character: char| if character.is_ascii_alphanumeric() || character == '_' { character } else { '-' };
    text.chars().map(letter).take(64).collect()
}
