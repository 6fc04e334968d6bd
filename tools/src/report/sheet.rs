//! All of an operation on one sheet, as in the thesis' figures 4.16 to 4.18: what was measured, the numbers, and the
//! plots.

use mpitrace::categories::Category;

use super::fingerprint::Report;
use super::plots::{self, View};
use crate::draw::picture;
use crate::draw::plot::Plot;
use crate::draw::scene::{Anchor, Area, FAINT, INK, Scene};
use crate::{numbers, text};

const WIDTH: f64 = 1160.0;
const MARGIN: f64 = 20.0;
const LINE: f64 = 15.5;
const SIZE: f64 = 11.0;
/// The height of a row of plots.
const ROW: f64 = 290.0;
/// Characters of a fact that are shown, so that it stays left of the numbers.
const LONGEST: usize = 88;
/// The plots of the sheet that are not of a counter.
const SHOWN: [&str; 8] =
    ["run-time", "run-time-good", "histogram", "histogram-good", "ecdf", "box", "arrival", "rank-time"];

/// The sheet of an operation.
pub fn of_operation(report: &Report, view: View) -> Scene {
    let (facts, cells) = (facts(report, view), numbers(view));
    let subject = &view.fingerprint.subject;
    let plots =
        plots::all(view).into_iter().filter(|(name, plot)| SHOWN.contains(&name.as_str()) && !plot.layers.is_empty());
    let plots: Vec<Plot> = plots.map(|(_, plot)| plot).collect();
    let head = 58.0 + LINE * facts.len().max(cells.len()) as f64;
    let rows = plots.len().div_ceil(2) as f64;
    let mut scene = Scene::new(WIDTH, head + 8.0 + rows * ROW, format!("Fingerprint of {}", subject.title()));
    scene.text((MARGIN, 28.0), Anchor::Start, 17.0, INK, subject.title());
    for (row, (title, fact)) in facts.into_iter().enumerate() {
        let y = 54.0 + LINE * row as f64;
        scene.text((MARGIN, y), Anchor::Start, SIZE, FAINT, title);
        scene.text((MARGIN + 92.0, y), Anchor::Start, SIZE, INK, fact);
    }
    for (row, cells) in cells.into_iter().enumerate() {
        let y = 54.0 + LINE * row as f64;
        let places = [(790.0, Anchor::Start), (1010.0, Anchor::End), (1130.0, Anchor::End)];
        for ((x, anchor), cell) in places.into_iter().zip(cells) {
            let colour = if row == 0 || anchor == Anchor::Start { FAINT } else { INK };
            scene.text((x, y), anchor, SIZE, colour, cell);
        }
    }
    for (number, plot) in plots.iter().enumerate() {
        picture::draw(plot, &mut scene, half(head, number / 2, number % 2));
    }
    scene
}

/// The area of a plot in one of two columns.
fn half(head: f64, row: usize, column: usize) -> Area {
    let width = (WIDTH - 2.0 * MARGIN) / 2.0;
    Area { left: MARGIN + column as f64 * width, top: head + row as f64 * ROW, width, height: ROW }
}

fn facts(report: &Report, view: View) -> Vec<(String, String)> {
    let fingerprint = view.fingerprint;
    let subject = &fingerprint.subject;
    let names: Vec<&str> = subject.nodes.iter().map(|(name, _)| name.as_str()).collect();
    let mut facts: Vec<(String, String)> = vec![("nodes \u{d7} tasks".into(), subject.layout())];
    if !names.is_empty() {
        facts.push(("node list".into(), names.join(", ")));
    }
    let types =
        [&subject.operation.datatype, &subject.operation.reduction].into_iter().flatten().cloned().collect::<Vec<_>>();
    if !types.is_empty() {
        facts.push(("data type".into(), types.join(", ")));
    }
    let wanted = ["started", "command", "launcher", "library", "processor", "network", "tuning", "clock"];
    let of_run = report.run.facts.iter().filter(|(title, _)| wanted.contains(&title.as_str()));
    facts.extend(of_run.cloned());
    facts.push(("run time".into(), format!("{}, categories by {}", view.timed().time.name(), report.method)));
    if let Some(error) = fingerprint.clock_error {
        facts.push(("clock's error".into(), format!("{} at most (95 %)", text::time(error.max_ns))));
    }
    if subject.operation.incomplete > 0 {
        facts.push((
            "incomplete".into(),
            format!("{}, left out", text::count(subject.operation.incomplete, "repetition")),
        ));
    }
    if !fingerprint.points.chosen.is_empty() {
        facts.push(("points".into(), fingerprint.points.chosen.clone()));
    }
    facts.iter_mut().for_each(|(_, fact)| shorten(fact));
    facts
}

fn shorten(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.replace_range(end.., "\u{2026}");
    }
}

/// Names with the numbers of all and of the good ones.
fn numbers(view: View) -> Vec<[String; 3]> {
    let timed = view.timed();
    let count = |count: usize| count.to_string();
    let (all, good) = (timed.counts.iter().sum(), timed.counts[Category::Good.place()]);
    let mut rows = vec![[String::new(), "all".to_owned(), "good".to_owned()]];
    rows.push(["repetitions".to_owned(), count(all), count(good)]);
    let each = numbers::rows(&timed.all).into_iter().zip(numbers::rows(&timed.good));
    rows.extend(each.map(|(all, good)| [all.name, all.value, good.value]));
    rows
}
