//! The section of one operation.

use mpitrace_show::draw::svg::escaped;
use mpitrace_show::text;
use mpitrace_words::numbers::{self, NumberRow};
use serde_json::json;

use super::figure::{Figures, data, short};
use super::html::{choice, facts, list, table};
use crate::fingerprint::{Fingerprint, Report, Timed};
use crate::plots::{self, View};
use mpitrace_statistics::Summary;
use mpitrace_statistics::categories::Category;

/// Where there are more operations, the plots are there by one definition of the run time only.
const BY_EACH_TIME: usize = 12;

/// Plots over the whole width.
const WIDE: [&str; 1] = ["run-time"];

pub fn section(report: &Report, fingerprint: &Fingerprint, figures: &mut Figures) -> String {
    let subject = &fingerprint.subject;
    let number = subject.operation.operation;
    let mut html = format!(
        "<section id=\"operation-{number}\" class=\"fingerprint\"><h2>{number}: {}</h2>\n",
        escaped(&subject.title())
    );
    // Plots of one point tell little.
    let (fold, unfold) = match subject.operation.repetitions {
        0 | 1 => ("<details><summary>one repetition</summary>\n", "</details>\n"),
        _ => ("", ""),
    };
    html.push_str(fold);
    let is_chosen = |timed: &&Timed| timed.time.name() == report.time;
    let chosen = fingerprint.times.iter().find(is_chosen).or(fingerprint.times.first());
    let Some(chosen) = chosen.map(|timed| timed.time.name()) else {
        return html + unfold + "</section>\n";
    };
    let shown = |timed: &Timed| report.fingerprints.len() <= BY_EACH_TIME || timed.time.name() == chosen;
    let names: Vec<&str> =
        fingerprint.times.iter().filter(|timed| shown(timed)).map(|timed| timed.time.name()).collect();
    if names.len() > 1 {
        html.push_str(&choice(&format!("time-{number}"), &names, chosen));
    }
    let boxes = Category::ALL.map(|category| {
        let (name, id) = (category.name(), format!("{}-{number}", category.name()));
        format!("<input type=\"checkbox\" id=\"{id}\" value=\"{name}\" checked><label for=\"{id}\" class=\"{name}\">{name}</label>")
    });
    html.push_str(&format!("<span class=\"control\">show</span>{}\n<div class=\"body\">\n", boxes.concat()));
    html.push_str(&data(&points(fingerprint)));
    let chosen_points = &fingerprint.points.chosen;
    for (time, timed) in fingerprint.times.iter().enumerate().filter(|(_, timed)| shown(timed)) {
        let name = timed.time.name();
        html.push_str(&format!(
            "<div class=\"of-time {name}\">\n<div class=\"columns\">{}",
            subject_facts(fingerprint)
        ));
        html.push_str(&format!("{}</div>\n{}", numbers_table(timed), list("", &lines(timed))));
        if !chosen_points.is_empty() {
            html.push_str(&format!(
                "<p class=\"faint\">Points: {}. Numbers, histograms and distribution functions are of all \
                 repetitions.</p>",
                escaped(chosen_points)
            ));
        }
        html.push_str("<div class=\"plots\">\n");
        for (name, plot) in plots::by_time(View { fingerprint, time }) {
            let is_wide = WIDE.contains(&name.as_str());
            html.push_str(&if is_wide { figures.wide(&name, &plot) } else { figures.plain(&name, &plot) });
        }
        html.push_str("</div></div>\n");
    }
    let maps = plots::of_ranks(fingerprint);
    let maps: String = maps.iter().map(|(name, plot)| figures.plain(name, plot)).collect();
    html + &format!("<div class=\"plots ranks\">\n{maps}</div>\n</div>{unfold}</section>\n")
}

/// All that is known of each repetition that is drawn, by columns: name, kind of number, values.
fn points(fingerprint: &Fingerprint) -> serde_json::Value {
    let points = &fingerprint.points;
    let list = |values: &[f64]| values.iter().map(|&value| short(value)).collect::<serde_json::Value>();
    let mut columns = vec![json!(["repetition", "count", points.repetition])];
    for (timed, values) in fingerprint.times.iter().zip(&points.run_time_ns) {
        columns.push(json!([timed.time.name(), "time", list(values)]));
    }
    if !points.algorithms.is_empty() {
        let names: Vec<&String> = points.algorithm.iter().map(|&place| &points.algorithms[place]).collect();
        columns.push(json!(["algorithm", "text", names]));
    }
    if !points.slowest.is_empty() {
        columns.push(json!(["longest on rank", "count", points.slowest]));
    }
    if !points.last_in.is_empty() {
        columns.push(json!(["last to come was rank", "count", points.last_in]));
    }
    for counter in &points.counters {
        let kind = if counter.unit == "ns" { "time" } else { "count" };
        let name = &counter.name;
        columns.push(json!([format!("{name} on that rank"), kind, list(&counter.slowest)]));
        columns.push(json!([format!("{name}, largest of all ranks"), kind, list(&counter.largest)]));
        columns.push(json!([format!("{name}, sum of all ranks"), kind, list(&counter.sum)]));
    }
    columns.into()
}

/// All that is known of an operation beside its numbers.
fn subject_facts(fingerprint: &Fingerprint) -> String {
    let subject = &fingerprint.subject;
    let operation = &subject.operation;
    let size = operation.bytes.map_or("not known".to_owned(), |bytes| format!("{bytes} B"));
    let mut pairs = vec![("operation", operation.function.clone()), ("message size", size)];
    let root = operation.root.map(|root| root.to_string());
    let optional = [
        ("file", operation.file.clone()),
        ("called from", Some(operation.line()).filter(|line| !line.is_empty())),
        ("communicator", Some(operation.communicator.clone()).filter(|name| !name.is_empty())),
        ("root", root),
        ("datatype", operation.datatype.clone()),
        ("reduction", operation.reduction.clone()),
    ];
    pairs.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?))));
    if !subject.nodes.is_empty() {
        let nodes: Vec<String> =
            subject.nodes.iter().map(|(name, ranks)| format!("{name} ({})", ranks.len())).collect();
        pairs.push(("nodes \u{d7} tasks", subject.layout()));
        pairs.push(("node list", nodes.join(", ")));
    }
    pairs.push(("ranks", operation.ranks.to_string()));
    pairs.push(("repetitions", operation.repetitions.to_string()));
    if operation.incomplete > 0 {
        pairs.push(("incomplete", format!("{}, left out", operation.incomplete)));
    }
    pairs.extend(fingerprint.account.clone().map(|account| ("where the time went", account)));
    let error = fingerprint.clock_error.map(|error| {
        let (median, max) = (text::time(error.median_ns), text::time(error.max_ns));
        format!("{median} (median), {max} (largest), 95 %, of a time across ranks")
    });
    pairs.push(("clock's error", error.unwrap_or("not known".to_owned())));
    facts(pairs)
}

/// The table of numbers, with the columns of intervals where there are any.
fn numbers_table(timed: &Timed) -> String {
    let (all, good) = (numbers::rows(&timed.all), numbers::rows(&timed.good));
    let has_intervals = all.iter().chain(&good).any(|row| !row.interval.is_empty());
    let row = |(all, good): (NumberRow, NumberRow)| match has_intervals {
        true => vec![all.name, all.value, all.interval, good.value, good.interval],
        false => vec![all.name, all.value, good.value],
    };
    let head: &[&str] =
        if has_intervals { &["", "all", "95 % interval", "good", "95 % interval"] } else { &["", "all", "good"] };
    table(head, &all.into_iter().zip(good).map(row).collect::<Vec<_>>(), 1)
}

/// The rules' results, the modes, and the facts beside the numbers.
fn lines(timed: &Timed) -> Vec<String> {
    let cuts = timed.cuts.iter().map(|cut| {
        let changes: Vec<String> = cut.change_points.iter().map(ToString::to_string).collect();
        let changes =
            if changes.is_empty() { String::new() } else { format!("; the level changes at {}", changes.join(", ")) };
        format!("{}: {}{changes}", cut.method, cut.to_text())
    });
    let modes = timed.good.modes.iter().enumerate().map(|(number, mode)| {
        format!(
            "mode {}: {}, {:.1} % of the good repetitions, its middle half between repetitions {} and {}",
            number + 1,
            text::time(mode.peak),
            100.0 * mode.share,
            mode.quartiles[0],
            mode.quartiles[2]
        )
    });
    // Outliers are of all, dependence and modes of the good ones, which a warm-up would hide.
    let facts_of = |summary: &Summary, wanted: fn(&str) -> bool| {
        let facts = numbers::facts(summary).into_iter().filter(|(title, _)| wanted(title));
        facts.map(|(title, fact)| format!("{title}: {fact}")).collect::<Vec<_>>()
    };
    let mut lines: Vec<String> = cuts.chain(timed.remarks.sentences()).chain(modes).collect();
    lines.extend(facts_of(&timed.all, |title| title != "dependence"));
    lines.extend(facts_of(&timed.good, |title| title == "dependence"));
    if timed.not_finite > 0 {
        lines.push(format!("{} run times are not finite and in no number", timed.not_finite));
    }
    lines
}
