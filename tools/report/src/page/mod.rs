//! The page: one file that needs nothing else. Tables and plots are there without a script; the script adds values
//! under the pointer and zooming.

pub mod figure;
mod html;
mod operation;

use std::io::Write;

use anyhow::Result;
use mpitrace_show::draw::svg::escaped;
use mpitrace_show::text;

use super::fingerprint::{Fingerprint, Overview, Report, Run};
use super::plots;
use figure::Figures;
use html::{facts, list, table};
use mpitrace_statistics::categories::Category;

const STYLE: &str = include_str!("../assets/page.css");
const SCRIPT: &str = include_str!("../assets/page.js");

/// Rows of a table of operations: those with the most time.
const LISTED: usize = 1000;

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
    body.push_str(&overview(&report.overview));
    if let Some(plot) = plots::sets::of_operations(&report.overview) {
        let figure = figures.wide("sizes", &plot);
        body.push_str(&format!("<section id=\"sizes\"><h2>Medians by message size</h2>\n{figure}</section>\n"));
    }
    let mut fingerprints: Vec<&Fingerprint> = report.fingerprints.iter().collect();
    let number = |fingerprint: &Fingerprint| fingerprint.subject.operation.operation;
    let order = by_time(&report.overview);
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

/// The operations with the most time first; equal ones in their order.
fn by_time(rows: &[Overview]) -> Vec<&Overview> {
    let mut rows: Vec<&Overview> = rows.iter().collect();
    rows.sort_by(|one, other| other.time_ns.total_cmp(&one.time_ns));
    rows
}

/// The overview. Operations with one repetition are folded, where there are others.
fn overview(rows: &[Overview]) -> String {
    let (once, several): (Vec<&Overview>, Vec<&Overview>) =
        by_time(rows).into_iter().partition(|row| row.operation.repetitions < 2);
    let folded = match once.len() {
        0 => String::new(),
        _ if several.is_empty() => operations(&once),
        number => format!(
            "<details><summary>{} with one repetition</summary>{}</details>\n",
            text::count(number as u64, "operation"),
            operations(&once)
        ),
    };
    let several = if several.is_empty() { String::new() } else { operations(&several) };
    format!("<section id=\"overview\" class=\"overview\"><h2>All operations</h2>\n{several}{folded}</section>\n")
}

fn operations(rows: &[&Overview]) -> String {
    let head = ["line", "operation", "function", "communicator", "bytes", "root", "ranks", "repetitions", "incomplete"];
    let of_time = ["time of all ranks", "median", "95 %", "end of warm-up"];
    // Where the run has told places apart.
    let without_lines = usize::from(rows.iter().all(|row| row.operation.call_site.is_none()));
    let head: Vec<&str> = head
        .into_iter()
        .skip(without_lines)
        .chain(of_time)
        .chain(Category::ALL.map(|category| category.name()))
        .collect();
    let time = |ns: Option<f64>| ns.map_or_else(String::new, text::time);
    let row = |row: &&Overview| {
        let operation = &row.operation;
        let number = operation.operation.to_string();
        let link = format!("<a href=\"#operation-{number}\">{number}</a>");
        let counts = Category::ALL.map(|category| row.counts[category.place()].to_string());
        let cells = [
            escaped(&operation.line()),
            if row.shown { link } else { number },
            escaped(&operation.function),
            escaped(&operation.communicator_label),
            text::optional(operation.bytes),
            text::optional(operation.root),
            operation.ranks.to_string(),
            operation.repetitions.to_string(),
            text::optional(Some(operation.incomplete).filter(|&count| count > 0)),
            text::time(row.time_ns),
            time(row.median_ns),
            time(row.p95_ns),
            text::optional(row.warmup_end),
        ];
        cells.into_iter().skip(without_lines).chain(counts).collect()
    };
    let (listed, others) = rows.split_at(rows.len().min(LISTED));
    table(&head, &listed.iter().map(row).collect::<Vec<_>>(), 4 - without_lines) + &others_than(listed, others)
}

/// The operations that have no row, in a line.
fn others_than(listed: &[&Overview], others: &[&Overview]) -> String {
    if others.is_empty() {
        return String::new();
    }
    let [listed_ns, others_ns] = [listed, others].map(|rows| rows.iter().map(|row| row.time_ns).sum::<f64>());
    let of_time = match listed_ns + others_ns {
        0.0 => String::new(),
        all => format!(", with {:.1} % of the time of all", 100.0 * others_ns / all),
    };
    format!(
        "<p class=\"faint\">{} more{of_time}: <code>mpitrace stats FILE</code> lists them.</p>\n",
        text::count(others.len() as u64, "operation")
    )
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
    use mpitrace_words::description::Description;

    #[test]
    fn operations_beyond_those_with_the_most_time_are_counted_in_a_line() {
        let row = |number: usize, time_ns: f64| Overview {
            operation: Description { operation: number, ..Description::default() },
            time_ns,
            median_ns: None,
            good_median: None,
            p95_ns: None,
            warmup_end: None,
            counts: [0; 4],
            shown: false,
        };
        let rows: Vec<Overview> = (0..LISTED + 500).map(|at| row(at, if at < 500 { 1.0 } else { 3.0 })).collect();
        let text = overview(&rows);
        assert_eq!(text.matches("<tr>").count(), 1 + LISTED, "one is the head");
        let line = "500 operations more, with 14.3 % of the time of all: <code>mpitrace stats FILE</code> lists them.";
        assert!(text.contains(line), "{}", &text[text.len() - 300..]);
        assert!(!overview(&rows[500..]).contains("lists them"));
    }

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
