//! The plots of a fingerprint, as marks: the page, the pictures and the terminal draw the same ones.

mod counters;
mod course;
mod distribution;
mod metrics;
pub mod overlay;
mod ranks;
mod run_times;
pub mod sets;
mod view;

pub use ranks::{detail, timeline};
pub use view::{View, ink};

use mpitrace_show::draw::plot::Plot;

use crate::fingerprint::Fingerprint;

/// The plots of an operation, with the names of their files: those of the page, and those that only pictures show.
pub fn all(view: View) -> Vec<(String, Plot)> {
    let mut plots = by_time(view);
    plots.extend(of_ranks(view.fingerprint));
    plots.extend(further(view));
    plots
}

/// The plots that the page does not have.
fn further(view: View) -> Vec<(String, Plot)> {
    let mut plots: Vec<(String, Plot)> = [
        ("drift", course::drift(view)),
        ("autocorrelation", course::autocorrelation(view)),
        ("metrics", metrics::metrics(view)),
        ("metric-differences", metrics::differences(view)),
    ]
    .map(|(name, plot)| (name.to_owned(), plot))
    .into();
    plots.extend(view.fingerprint.heat.iter().map(|heat| ("departure".to_owned(), ranks::departure(heat))));
    for (place, counter) in view.fingerprint.points.counters.iter().enumerate() {
        plots.push((format!("counter-{}-ranks", file_name(&counter.name)), counters::each_rank(view, place)));
    }
    plots
}

/// The plots that depend on the definition of the run time.
pub fn by_time(view: View) -> Vec<(String, Plot)> {
    let mut plots: Vec<(String, Plot)> = [
        ("run-time", run_times::all(view)),
        ("run-time-good", run_times::good(view)),
        ("histogram", distribution::histogram(view)),
        ("histogram-good", distribution::histogram_good(view)),
        ("ecdf", distribution::ecdf(view)),
        ("q-q", distribution::q_q(view)),
        ("box", distribution::boxes(view)),
    ]
    .map(|(name, plot)| (name.to_owned(), plot))
    .into();
    for counter in &view.fingerprint.points.counters {
        let name = format!("counter-{}", file_name(&counter.name));
        plots.push((name.clone(), counters::against_run_time(view, counter)));
        plots.push((name + "-repetition", counters::per_repetition(view, counter)));
    }
    plots
}

/// The maps of rank by repetition, which do not.
pub fn of_ranks(fingerprint: &Fingerprint) -> Vec<(String, Plot)> {
    let Some(heat) = &fingerprint.heat else { return Vec::new() };
    vec![("arrival".to_owned(), ranks::arrival(heat)), ("rank-time".to_owned(), ranks::run_time(heat))]
}

/// The plots that a terminal has room for.
pub fn most_telling(view: View) -> [Plot; 3] {
    [run_times::all(view), distribution::histogram(view), distribution::ecdf(view)]
}

/// The text as a part of a file's name.
pub fn file_name(text: &str) -> String {
    let letter = |character: char| if character.is_ascii_alphanumeric() || character == '_' { character } else { '-' };
    text.chars().map(letter).take(64).collect()
}
