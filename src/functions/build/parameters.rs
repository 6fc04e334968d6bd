//! The parameters of all functions of the table, as the text of Rust values.

use crate::line::Line;

/// For each form of a function its name and its parameters, as a pair of Rust.
pub fn of_line(line: &Line) -> Vec<String> {
    let more: &[(String, &[&str])] = match line.kind.as_str() {
        "collective" => &[(line.started.clone(), &["request"]), (format!("{}_init", line.name), &["info", "request"])],
        _ => &[],
    };
    let forms = [(line.name.clone(), &[][..])].into_iter().chain(more.iter().cloned());
    let pair = |(name, more): (String, &[&str])| {
        let names: Vec<&str> = line.parameters.iter().map(String::as_str).chain(more.iter().copied()).collect();
        format!("(\"MPI_{name}\", &{names:?})")
    };
    forms.map(pair).collect()
}
