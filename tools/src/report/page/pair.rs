//! The section of an operation of two runs, and the table of all.

use super::figure::Figures;
use super::{choice, facts, table};
use crate::draw::svg::escaped;
use crate::numbers;
use crate::report::comparison::{Comparison, Distance, Pair};
use crate::report::fingerprint::Timed;
use crate::report::plots::{overlays, sides};

pub fn overview(comparison: &Comparison) -> String {
    let row = |(number, pair): (usize, &Pair)| {
        let distance = chosen(comparison, pair)?;
        let link = format!("<a href=\"#pair-{number}\">{}</a>", escaped(&pair.operation_key));
        Some(vec![link, distance.verdict.to_owned(), escaped(&distance.to_text())])
    };
    let rows: Vec<Vec<String>> = comparison.pairs.iter().enumerate().filter_map(row).collect();
    let table = table(&["operation", "verdict", "distance"], &rows, usize::MAX);
    format!("<section id=\"overview\"><h2>All operations of both</h2>\n{table}</section>\n")
}

/// The distance by the definition of the run time that is shown first.
fn chosen<'p>(comparison: &Comparison, pair: &'p Pair) -> Option<&'p Distance> {
    let is_chosen = |distance: &&Distance| distance.time.name() == comparison.time;
    pair.distances.iter().find(is_chosen).or(pair.distances.first())
}

pub fn section(comparison: &Comparison, pair: &Pair, number: usize, figures: &mut Figures) -> String {
    let key = escaped(&pair.operation_key);
    let mut html = format!("<section id=\"pair-{number}\" class=\"fingerprint\"><h2>{key}</h2>\n");
    let times: Vec<&str> = pair.distances.iter().map(|distance| distance.time.name()).collect();
    if let Some(chosen) = chosen(comparison, pair).filter(|_| times.len() > 1) {
        html.push_str(&choice(&format!("time-{number}"), &times, chosen.time.name()));
    }
    html.push_str("<div class=\"body\">\n");
    for distance in &pair.distances {
        let about = facts([("verdict", distance.words.join("; ")), ("distance", distance.to_text())]);
        html.push_str(&format!(
            "<div class=\"of-time {}\">{about}{}",
            distance.time.name(),
            numbers_table(pair, distance)
        ));
        html.push_str("<div class=\"plots\">\n");
        for (name, plot) in overlays(pair, distance) {
            html.push_str(&figures.plain(name, &plot));
        }
        html.push_str("</div></div>\n");
    }
    html + "</div></section>\n"
}

fn numbers_table(pair: &Pair, distance: &Distance) -> String {
    let Some(sides) = sides(pair, distance) else { return String::new() };
    let [all, good] = [|timed: &Timed| numbers::rows(&timed.all), |timed: &Timed| numbers::rows(&timed.good)];
    let mut rows: Vec<Vec<String>> = all(sides[0]).into_iter().map(|row| vec![row.name, row.value]).collect();
    for column in [all(sides[1]), good(sides[0]), good(sides[1])] {
        rows.iter_mut().zip(column).for_each(|(row, number)| row.push(number.value));
    }
    table(&["", "A, all", "B, all", "A, good", "B, good"], &rows, 1)
}
