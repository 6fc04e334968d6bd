//! The recorded functions of a line of the table, as the text of Rust values.

use crate::line::Line;

/// An array with the `Function` of each form. A collective has three, others that are recorded have one, and of the
/// other kinds nothing is recorded.
pub fn of_line(line: &Line) -> String {
    let forms = match line.kind.as_str() {
        "collective" => vec![
            ("Blocking", line.name.clone()),
            ("NonBlocking", line.started.clone()),
            ("Persistent", format!("{}_init", line.name)),
        ],
        "blocking" => vec![("Blocking", line.name.clone())],
        "nonblocking" => vec![("NonBlocking", line.name.clone())],
        _ => Vec::new(),
    };
    let functions: Vec<String> = forms.iter().map(|(form, name)| function(line, form, name)).collect();
    format!("[{}]", functions.join(", "))
}

fn function(line: &Line, form: &str, name: &str) -> String {
    let optional = |word: &str| if word.is_empty() { "None".to_owned() } else { format!("Some(\"{word}\")") };
    format!(
        "Function {{ name: \"MPI_{name}\", form: Form::{form}, blocking: \"MPI_{}\", pattern: Pattern::{}, \
         size: Size::{}, root: {}, reduction: {}, communicator: \"{}\", is_on_file: {}, otf2: {}, \
         reprompi: {} }}",
        if line.blocking.is_empty() { &line.name } else { &line.blocking },
        variant(&line.pattern),
        size(&line.rule.path),
        optional(&line.root),
        optional(&line.reduction),
        line.on.last().expect("what a recorded call is on"),
        is_on_file(line),
        optional(&line.otf2),
        optional(&line.reprompi),
    )
}

/// True: the function is on a file, or opens one.
fn is_on_file(line: &Line) -> bool {
    line.on.first().is_some_and(|kind| kind == "file") || line.observer.path.starts_with("files::")
}

/// `all_to_all` as the name of a variant, `AllToAll`.
fn variant(word: &str) -> String {
    let capital = |part: &str| part[..1].to_uppercase() + &part[1..];
    word.split('_').map(capital).collect()
}

/// The `Size` that a rule counts. A new rule is a method in `interpose/src/operation/message_size.rs` and a word here.
fn size(rule: &str) -> &'static str {
    match rule {
        "nothing" => "Nothing",
        "uniform" | "gathered" | "scattered" | "in_bytes" | "block_of_neighbours" | "contributed_to_neighbours" => {
            "Block"
        }
        "on_this_rank" | "on_this_rank_in_bytes" | "contributed" | "gathered_by_rank" => "Contributed",
        "scattered_by_rank" => "Received",
        "exchanged" | "exchanged_by_type" | "summed" | "sent_to_neighbours" | "sent_to_neighbours_by_type" => "Sum",
        _ => panic!("the rule {rule}"),
    }
}
