//! The section of one operation.

use serde_json::json;

use super::figure::{Figures, data, short};
use super::{choice, facts, list, table};
use crate::draw::svg::escaped;
use crate::report::fingerprint::{Estimate, Fingerprint, Number, Report, Timed};
use crate::report::plots::{self, View};
use crate::text;
use mpitrace::categories::Category;

/// Of more operations the plots are there by one definition of the run time only.
const BY_EACH_TIME: usize = 12;

/// Plots over the whole width.
const WIDE: [&str; 1] = ["run-time"];

pub fn section(report: &Report, fingerprint: &Fingerprint, figures: &mut Figures) -> String {
    let subject = &fingerprint.subject;
    let number = subject.operation;
    let mut html = format!(
        "<section id=\"operation-{number}\" class=\"fingerprint\"><h2>{number}: {}</h2>\n",
        escaped(&subject.title())
    );
    let is_chosen = |timed: &&Timed| timed.time.name() == report.time;
    let chosen = fingerprint.times.iter().find(is_chosen).or(fingerprint.times.first());
    let Some(chosen) = chosen.map(|timed| timed.time.name()) else { return html + "</section>\n" };
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
        html.push_str(&format!("{}</div>\n{}", numbers(&timed.numbers), list("", &lines(timed))));
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
    html + &format!("<div class=\"plots ranks\">\n{maps}</div>\n</div></section>\n")
}

/// All that is known of each repetition that is drawn, by columns: name, kind of number, values.
fn points(fingerprint: &Fingerprint) -> serde_json::Value {
    let points = &fingerprint.points;
    let numbers = |values: &[f64]| values.iter().map(|&value| short(value)).collect::<serde_json::Value>();
    let mut columns = vec![json!(["repetition", "count", points.repetition])];
    for (timed, values) in fingerprint.times.iter().zip(&points.run_time_ns) {
        columns.push(json!([timed.time.name(), "time", numbers(values)]));
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
        columns.push(json!([format!("{name} on that rank"), kind, numbers(&counter.slowest)]));
        columns.push(json!([format!("{name}, largest of all ranks"), kind, numbers(&counter.largest)]));
        columns.push(json!([format!("{name}, sum of all ranks"), kind, numbers(&counter.sum)]));
    }
    columns.into()
}

/// All that is known of an operation beside its numbers.
fn subject_facts(fingerprint: &Fingerprint) -> String {
    let subject = &fingerprint.subject;
    let size = subject.bytes.map_or("not known".to_owned(), |bytes| format!("{bytes} B"));
    let mut pairs = vec![("operation", subject.function.clone()), ("message size", size)];
    let root = subject.root.map(|root| root.to_string());
    let optional = [
        ("file", subject.file.clone()),
        ("communicator", Some(subject.communicator.clone()).filter(|name| !name.is_empty())),
        ("root", root),
        ("datatype", subject.datatype.clone()),
        ("reduction", subject.reduction.clone()),
    ];
    pairs.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?))));
    if !subject.nodes.is_empty() {
        let nodes: Vec<String> =
            subject.nodes.iter().map(|(name, ranks)| format!("{name} ({})", ranks.len())).collect();
        pairs.push(("nodes \u{d7} tasks", subject.layout()));
        pairs.push(("node list", nodes.join(", ")));
    }
    pairs.push(("ranks", subject.ranks.to_string()));
    pairs.push(("repetitions", fingerprint.repetitions.to_string()));
    if fingerprint.incomplete > 0 {
        pairs.push(("incomplete", format!("{}, left out", fingerprint.incomplete)));
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
fn numbers(numbers: &[Number]) -> String {
    let ends = |estimate: Option<Estimate>| {
        let interval = estimate.and_then(|estimate| estimate.interval);
        interval.map_or_else(String::new, |(low, high)| format!("{} to {}", text::time(low), text::time(high)))
    };
    let has_intervals = numbers.iter().flat_map(|number| [number.all, number.good]).any(|one| !ends(one).is_empty());
    let row = |number: &Number| {
        let value = |estimate: Option<Estimate>| estimate.map_or_else(String::new, |found| number.text_of(found.value));
        let (all, good) = (value(number.all), value(number.good));
        match has_intervals {
            true => vec![number.name.to_owned(), all, ends(number.all), good, ends(number.good)],
            false => vec![number.name.to_owned(), all, good],
        }
    };
    let head: &[&str] =
        if has_intervals { &["", "all", "95 % interval", "good", "95 % interval"] } else { &["", "all", "good"] };
    table(head, &numbers.iter().map(row).collect::<Vec<_>>(), 1)
}

/// The rules' results, the modes, and what else is to be said.
fn lines(timed: &Timed) -> Vec<String> {
    let cuts = timed.cuts.iter().map(|cut| {
        let changes: Vec<String> = cut.change_points.iter().map(ToString::to_string).collect();
        let changes =
            if changes.is_empty() { String::new() } else { format!("; the level changes at {}", changes.join(", ")) };
        format!("{}: {}{changes}", cut.method, cut.to_text())
    });
    let modes = timed.modes.iter().enumerate().map(|(number, mode)| {
        format!(
            "mode {}: {}, {:.1} % of the good repetitions, its middle half between repetitions {} and {}",
            number + 1,
            text::time(mode.at_ns),
            100.0 * mode.share,
            mode.occurs.0,
            mode.occurs.1
        )
    });
    cuts.chain(modes).chain(timed.remarks.iter().cloned()).collect()
}
