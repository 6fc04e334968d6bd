//! Static pictures for papers: each plot by itself, as SVG, PNG and PDF.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use mpitrace_show::destination::{Content, write_file};
use mpitrace_show::draw::plot::Plot;
use mpitrace_show::draw::scene::{Anchor, Area, FAINT, Scene};
use mpitrace_show::draw::{pdf, picture, png, svg};
use mpitrace_trace::run_time::RunTime;

use super::fingerprint::{Fingerprint, Report};
use super::plots::{self, View, file_name};

/// How a plot by itself is drawn.
#[derive(Clone, Debug)]
pub struct Format {
    /// Width and height, in units of which 96 are an inch. Texts keep their size.
    pub size: (f64, f64),
    /// The line above the plot in place of the operation's; empty: none, nor the plot's own title.
    pub title: Option<String>,
}

impl Default for Format {
    fn default() -> Format {
        Format { size: (640.0, 400.0), title: None }
    }
}

/// How a picture is written.
#[derive(Clone, Copy, Debug)]
pub enum Written {
    /// A vector graphic for pages.
    Svg,
    /// Pixels.
    Png,
    /// A vector graphic for papers.
    Pdf,
}

impl Written {
    const ALL: [(&'static str, Written); 3] = [("svg", Written::Svg), ("png", Written::Png), ("pdf", Written::Pdf)];

    /// By the ending of the file's name.
    pub fn by_ending(path: &Path) -> Option<Written> {
        let ending = path.extension()?.to_str()?;
        Written::ALL.into_iter().find_map(|(name, written)| (name == ending).then_some(written))
    }

    /// Writes it.
    pub fn write(self, scene: &Scene, path: &Path) -> Result<()> {
        write_file(path, Content::Binary, |file| match self {
            Written::Svg => Ok(file.write_all(svg::text(scene, "axes").as_bytes())?),
            Written::Png => png::write(scene, file),
            Written::Pdf => pdf::write(scene, file),
        })
    }
}

/// The plots of the whole run, with the names of their files.
fn of_run(report: &Report) -> Vec<(&'static str, Plot)> {
    let timeline = report.run.timeline.as_ref().map(|found| ("timeline", plots::timeline(found)));
    let sizes = plots::sets::of_operations(&report.overview).map(|plot| ("sizes", plot));
    timeline.into_iter().chain(sizes).collect()
}

/// Writes the pictures of all operations into a folder, or one kind of plot alone.
///
/// # Errors
/// There is no plot of this name, which is found before anything is written; or a file cannot be written.
pub fn write(report: &Report, time: RunTime, folder: &Path, only: Option<&str>, format: &Format) -> Result<()> {
    only.map_or(Ok(()), |name| check(report, name))?;
    make_folder(folder)?;
    let is_wanted = |name: &str| only.is_none_or(|only| only == name);
    for fingerprint in &report.fingerprints {
        let view = View { fingerprint, time: fingerprint.index_of(time) };
        let subject = &fingerprint.subject;
        let bytes = subject.operation.bytes.map_or_else(String::new, |bytes| format!("-{bytes}B"));
        let start = format!("{}-{}{bytes}", subject.operation.operation, file_name(&subject.operation.function));
        for (name, plot) in plots::all(view).into_iter().filter(|(name, _)| is_wanted(name)) {
            let above = format!("{}, {}", subject.title(), subject.layout());
            let scene = alone(&plot, format, format!("{}: {name}", subject.title()), above);
            write_all(folder, &format!("{start}-{name}"), &scene)?;
        }
    }
    for (name, plot) in of_run(report).into_iter().filter(|(name, _)| is_wanted(name)) {
        write_all(folder, name, &alone(&plot, format, format!("{}: {name}", report.name), report.name.clone()))?;
    }
    Ok(())
}

/// A picture of one plot, below a line of text.
fn alone(plot: &Plot, format: &Format, name: String, above: String) -> Scene {
    let (width, height) = format.size;
    let mut scene = Scene::new(width, height, name);
    let title = format.title.clone().unwrap_or(above);
    let (mut plot, mut top) = (plot.clone(), 20.0);
    if title.is_empty() {
        // A paper has a caption in its place.
        (plot.title, top) = (String::new(), 0.0);
    }
    scene.text((8.0, 16.0), Anchor::Start, 11.0, FAINT, title);
    picture::draw(&plot, &mut scene, Area { left: 0.0, top, width, height: height - top });
    scene
}

fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))
}

fn write_all(folder: &Path, name: &str, scene: &Scene) -> Result<()> {
    let mut all = Written::ALL.into_iter();
    all.try_for_each(|(ending, written)| written.write(scene, &folder.join(format!("{name}.{ending}"))))
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
