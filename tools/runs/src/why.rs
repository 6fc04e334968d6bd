//! Why runs of a program differ, for people.

use std::io::{self, Write};

use mpitrace_scaling::why::{Contrast, Explained, Why};
use mpitrace_show::output::Output;
use mpitrace_show::table::{Table, number, text as text_column};
use mpitrace_show::text;
use serde::Serialize;

use crate::labels::share;
use mpitrace_words::summary::percent;

/// The runs of a program that are alike, and why they differ.
#[derive(Clone, Debug, Serialize)]
pub struct WhyFacts {
    /// The program's name.
    pub program: String,
    /// Its ranks.
    pub ranks: u32,
    /// Its nodes.
    pub nodes: usize,
    /// The factors.
    #[serde(flatten)]
    pub why: Why,
    /// The conclusion.
    pub sentence: String,
}

impl WhyFacts {
    /// The facts of runs of a program of this name on so many ranks and nodes.
    pub fn new(program: &str, ranks: u32, nodes: usize, why: Why) -> WhyFacts {
        let sentence = sentence(program, ranks, nodes, &why);
        WhyFacts { program: program.to_owned(), ranks, nodes, why, sentence }
    }
}

fn sentence(program: &str, ranks: u32, nodes: usize, why: &Why) -> String {
    let size = format!("{} on {}", text::count(ranks.into(), "rank"), text::count(nodes as u64, "node"));
    let runs = text::count(why.runs as u64, "run");
    let program = text::printable(program);
    let whole = format!(
        "The times of {runs} of {program} with {size} differ by {} (standard deviation)",
        percent(why.deviation)
    );
    let causes: Vec<String> = why.factors.iter().filter(|of| of.is_cause).map(cause).collect();
    match causes.is_empty() {
        true => format!("{whole}; no factor explains more of that than chance would."),
        false => format!("{whole}, of whose variance {} is explained: {}.", percent(why.explained), causes.join("; ")),
    }
}

/// `node 61.2 % (12 runs with n7 take 8.1 % (7.0 to 9.2) longer)`.
fn cause(of: &Explained) -> String {
    let contrast = of.contrast.as_ref().map_or_else(String::new, |contrast| {
        let runs = text::count(contrast.runs as u64, "run");
        format!(" ({runs} {} {})", which_runs(of, contrast), longer(contrast))
    });
    format!("{} {}{contrast}", text::printable(&of.factor), percent(of.share))
}

/// `with n7`, `since 2026-11-20`.
fn which_runs(of: &Explained, contrast: &Contrast) -> String {
    let word = if of.is_time { "since" } else { "with" };
    format!("{word} {}", text::shortened(&text::printable(&contrast.value), LONGEST))
}

fn longer(contrast: &Contrast) -> String {
    let (value, word) = match contrast.longer.value {
        shorter if shorter < 0.0 => (mirrored(contrast), "shorter"),
        _ => (contrast.longer, "longer"),
    };
    format!("take {} {word}", share(&value))
}

/// The contrast with the other sign.
fn mirrored(contrast: &Contrast) -> mpitrace_statistics::models::Estimate {
    let longer = &contrast.longer;
    mpitrace_statistics::models::Estimate {
        value: -longer.value,
        interval: longer.interval.map(|[low, high]| [-high, -low]),
    }
}

/// Characters of a value that are shown.
const LONGEST: usize = 60;

/// Writes the sentence, and a row for each factor.
///
/// # Errors
/// The output cannot be written.
pub fn write_why(facts: &WhyFacts, output: &mut Output) -> io::Result<()> {
    let style = output.style;
    for line in text::wrapped(&facts.sentence, style.width) {
        writeln!(output, "{line}")?;
    }
    writeln!(output)?;
    let columns = [
        text_column("factor"),
        number("values").spare(1),
        number("explains"),
        text_column("p"),
        text_column("largest contrast").spare(2),
    ];
    let mut table = Table::new(&columns);
    for of in &facts.why.factors {
        let p = match (&of.goes_along, of.is_cause) {
            (Some(first), _) => format!("not told apart from {}", text::printable(first)),
            (None, true) => format!("{} *", probability(of.p)),
            (None, false) => probability(of.p),
        };
        let contrast = of.contrast.as_ref().filter(|_| of.is_cause || of.goes_along.is_some());
        let contrast = contrast.map_or_else(String::new, |contrast| {
            format!("{} {} {}", text::count(contrast.runs as u64, "run"), which_runs(of, contrast), longer(contrast))
        });
        let name = text::printable(&of.factor).into_owned();
        table.row(vec![name, of.values.to_string(), percent(of.share), p, contrast]);
    }
    table.write(output, style)
}

fn probability(p: f64) -> String {
    if p < 0.0095 { format!("{p:.4}") } else { format!("{p:.2}") }
}
