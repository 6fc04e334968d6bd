//! The fingerprint on one sheet, as in the thesis' figures 4.16 to 4.18: what was measured, the numbers, and the plots.

use super::{View, distribution, heat, run_times};
use crate::draw::scene::{Anchor, Area, FAINT, INK, Scene};
use crate::text;

const WIDTH: f64 = 1160.0;
const MARGIN: f64 = 20.0;
const LINE: f64 = 15.5;
const SIZE: f64 = 11.0;
/// The height of a row of plots.
const ROW: f64 = 270.0;
/// Characters of a fact that are shown, so that it stays left of the numbers.
const LONGEST: usize = 88;

/// Lays it out.
pub fn sheet(view: &View) -> Scene {
    let (facts, numbers) = (facts(view), numbers(view));
    let head = 50.0 + LINE * facts.len().max(numbers.len()) as f64;
    let rows = if view.fingerprint.heat.is_some() { 4.0 } else { 3.0 };
    let subject = &view.fingerprint.subject;
    let mut scene = Scene::new(WIDTH, head + 16.0 + rows * ROW, format!("Fingerprint of {}", subject.title()));
    scene.text((MARGIN, 28.0), Anchor::Start, 17.0, INK, subject.title());
    for (row, (title, fact)) in facts.into_iter().enumerate() {
        let y = 54.0 + LINE * row as f64;
        scene.text((MARGIN, y), Anchor::Start, SIZE, FAINT, title);
        scene.text((MARGIN + 92.0, y), Anchor::Start, SIZE, INK, fact);
    }
    for (row, cells) in numbers.into_iter().enumerate() {
        let y = 54.0 + LINE * row as f64;
        let places = [(790.0, Anchor::Start), (1010.0, Anchor::End), (1130.0, Anchor::End)];
        for ((x, anchor), cell) in places.into_iter().zip(cells) {
            let colour = if row == 0 || anchor == Anchor::Start { FAINT } else { INK };
            scene.text((x, y), anchor, SIZE, colour, cell);
        }
    }
    let half = (WIDTH - 2.0 * MARGIN) / 2.0;
    let at = |column: f64, row: f64| Area {
        left: MARGIN + column * half,
        top: head + 8.0 + row * ROW,
        width: half,
        height: ROW,
    };
    run_times::all(view, &mut scene, at(0.0, 0.0));
    run_times::good(view, &mut scene, at(1.0, 0.0));
    distribution::histogram(view, &mut scene, at(0.0, 1.0));
    distribution::histogram_good(view, &mut scene, at(1.0, 1.0));
    distribution::ecdf(view, &mut scene, at(0.0, 2.0));
    distribution::boxes(view, &mut scene, at(1.0, 2.0));
    if view.fingerprint.heat.is_some() {
        heat::arrival(view, &mut scene, at(0.0, 3.0));
        heat::run_time(view, &mut scene, at(1.0, 3.0));
    }
    scene
}

fn facts(view: &View) -> Vec<(String, String)> {
    let fingerprint = view.fingerprint;
    let subject = &fingerprint.subject;
    let names: Vec<&str> = subject.nodes.iter().map(|(name, _)| name.as_str()).collect();
    let mut facts: Vec<(String, String)> = vec![("nodes \u{d7} tasks".into(), subject.layout())];
    if !names.is_empty() {
        facts.push(("node list".into(), names.join(", ")));
    }
    let type_of = [&subject.datatype, &subject.reduction].into_iter().flatten().cloned().collect::<Vec<_>>();
    if !type_of.is_empty() {
        facts.push(("data type".into(), type_of.join(", ")));
    }
    let wanted = ["started", "command", "launcher", "library", "processor", "network", "tuning", "clock"];
    let of_run = view.run().facts.iter().filter(|(title, _)| wanted.contains(&title.as_str()));
    facts.extend(of_run.cloned());
    facts.push(("run time".into(), format!("{}, categories by {}", view.timed().time.name(), view.report.method)));
    if let Some(error) = fingerprint.clock_error {
        facts.push(("clock's error".into(), format!("{} at most (95 %)", text::time(error.max_ns))));
    }
    if fingerprint.incomplete > 0 {
        facts.push(("incomplete".into(), format!("{} repetitions, left out", fingerprint.incomplete)));
    }
    if !fingerprint.points.chosen.is_empty() {
        facts.push(("points".into(), fingerprint.points.chosen.clone()));
    }
    facts.iter_mut().for_each(|(_, fact)| *fact = shortened(fact));
    facts
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}\u{2026}", &text[..end]),
        None => text.to_owned(),
    }
}

fn numbers(view: &View) -> Vec<[String; 3]> {
    let mut rows = vec![[String::new(), "all".to_owned(), "good".to_owned()]];
    for number in &view.timed().numbers {
        let cell = |estimate: Option<crate::report::fingerprint::Estimate>| match estimate {
            Some(estimate) if number.unit == "ns" => text::time(estimate.value),
            Some(estimate) => estimate.value.to_string(),
            None => String::new(),
        };
        rows.push([number.name.to_owned(), cell(number.all), cell(number.good)]);
    }
    rows
}
