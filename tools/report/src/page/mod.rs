//! The page: one file that needs nothing else. Tables and plots are there without a script; the script adds values
//! under the pointer and zooming.

pub mod figure;
mod html;
mod operation;
mod overview;

use std::io::Write;

use anyhow::Result;
use mpitrace_show::draw::svg::escaped;

use super::fingerprint::{Fingerprint, Report, Run};
use super::plots;
use figure::Figures;
use html::{facts, list};

const STYLE: &str = include_str!("../assets/page.css");
const SCRIPT: &str = include_str!("../assets/page.js");

/// Writes the page of a report. Of few operations the plots are there by each definition of the run time, of many by
/// the one that was asked for.
pub fn write(report: &Report, output: &mut dyn Write) -> Result<()> {
    let mut figures = Figures::default();
    let mut body = header(&report.generator, report.method, report.complete, &report.notes);
    body.push_str(&summary(&report.run));
    if let Some(found) = &report.run.timeline {
        body.push_str("<section id=\"timeline\"><h2>Timeline</h2>\n");
        body.push_str(&figures.wide("timeline", &plots::timeline(found)));
        for detail in &found.details {
            body.push_str(&format!("<details><summary>{}</summary>", escaped(&detail.title)));
            body.push_str(&figures.wide("timeline", &plots::detail(detail)));
            body.push_str("</details>\n");
        }
        body.push_str(
            "<p class=\"faint\">In a call a rank waits first. When it was off its processor, in the rest of the call or \
             between calls, is not recorded.</p></section>\n",
        );
    }
    body.push_str(&overview::section(&report.overview));
    if let Some(plot) = plots::sets::of_operations(&report.overview) {
        let figure = figures.wide("sizes", &plot);
        body.push_str(&format!("<section id=\"sizes\"><h2>Medians by message size</h2>\n{figure}</section>\n"));
    }
    let mut fingerprints: Vec<&Fingerprint> = report.fingerprints.iter().collect();
    let number = |fingerprint: &Fingerprint| fingerprint.subject.operation.operation;
    let order = overview::by_time(&report.overview).concat();
    fingerprints.sort_by_key(|one| order.iter().position(|row| row.operation.operation == number(one)));
    for fingerprint in fingerprints {
        body.push_str(&operation::section(report, fingerprint, &mut figures));
    }
    body.push_str(&format!("<footer>{}</footer>", run_facts(&report.run)));
    document(&format!("Fingerprints of {}", report.name), &body, output)
}

/// Writes a page of figures in sections, below a few lines.
pub fn of_figures(title: &str, lines: &[String], sections: &[(&str, String)], output: &mut dyn Write) -> Result<()> {
    let mut body = format!("</header>\n{}", list("answer", lines));
    for (title, figures) in sections.iter().filter(|(_, figures)| !figures.is_empty()) {
        body.push_str(&format!("<section><h2>{title}</h2>\n<div class=\"plots\">{figures}</div></section>\n"));
    }
    document(title, &body, output)
}

fn document(title: &str, body: &str, output: &mut dyn Write) -> Result<()> {
    let title = escaped(title);
    let page = format!(include_str!("../assets/page.html"), title = title, style = STYLE, script = SCRIPT, body = body);
    Ok(output.write_all(page.as_bytes())?)
}

/// All that is above the summary, less the title.
fn header(generator: &str, method: &str, is_complete: bool, notes: &[String]) -> String {
    let mut text = format!("<p class=\"faint\">{}; categories by {method}</p>", escaped(generator));
    let incomplete = "This trace is incomplete: what a rank did not finish or keep is counted and left out.";
    let notes = notes.iter().map(String::as_str);
    for note in (!is_complete).then_some(incomplete).into_iter().chain(notes) {
        text.push_str(&format!("<p class=\"notice\">{}</p>", escaped(note)));
    }
    text + "</header>\n"
}

/// The verdict, and what it is taken from.
fn summary(run: &Run) -> String {
    if run.summary.is_empty() {
        return String::new();
    }
    let others: Vec<String> = run.summary.iter().filter(|line| **line != run.verdict).cloned().collect();
    format!("<p class=\"verdict\">{}</p>\n{}", escaped(&run.verdict), list("answer", &others))
}

/// The facts that are known of a run.
fn run_facts(run: &Run) -> String {
    let of_run = run.facts.iter().map(|(title, text)| (title, text));
    let mut text = format!("<h3>The run</h3>{}", facts(of_run));
    if !run.factors.is_empty() {
        let all = facts(&run.factors);
        text.push_str(&format!("<details><summary>everything recorded about the run</summary>{all}</details>"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_asks_for_nothing_from_elsewhere() {
        for text in [SCRIPT, STYLE, include_str!("../assets/page.html")] {
            for forbidden in ["http:", "https:", "@import", "fetch(", "import("] {
                assert!(!text.contains(forbidden), "{forbidden}");
            }
        }
        assert!(SCRIPT.lines().count() <= 300);
    }
}
