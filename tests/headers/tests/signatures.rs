//! The table against one header, function by function.

use mpitrace_headers::{Function, Line};

use crate::header::{Declaration, Header};
use crate::roles;

/// Functions that take more than they declare: the table names as many words more as registers hold.
const VARIADIC: [&str; 1] = ["MPI_Pcontrol"];

/// The differences of this header from the table, a line each. A library may be older than a function.
pub fn differences(header: &Header, lines: &[Line]) -> Vec<String> {
    let mut differences = Vec::new();
    for function in lines.iter().flat_map(Line::functions) {
        if let Some(declaration) = header.functions.get(&function.name) {
            let complaints = complaints(&function, declaration).join(", ");
            if !complaints.is_empty() {
                let library = header.library;
                differences.push(format!("{}: {complaints}; {library} declares `{declaration}`", function.name));
            }
        }
    }
    differences
}

fn complaints(function: &Function, declaration: &Declaration) -> Vec<String> {
    let mut complaints = Vec::new();
    if declaration.result != "int" {
        complaints.push(format!("it returns `{}`, not an int", declaration.result));
    }
    if declaration.variadic && !VARIADIC.contains(&function.name.as_str()) {
        complaints.push("it takes more arguments than it declares".to_owned());
    }
    let parameters = &declaration.parameters;
    let declared = if declaration.variadic { parameters.len().min(function.parameters.len()) } else { usize::MAX };
    let table = &function.parameters[..declared.min(function.parameters.len())];
    if parameters.len() != table.len() {
        let (table, header) = (table.len(), parameters.len());
        complaints.push(format!("the table gives it {table} parameters, not {header}"));
        return complaints;
    }
    for (place, (name, parameter)) in table.iter().zip(parameters).enumerate() {
        if !parameter.is_word {
            complaints.push(format!("`{name}` is no address and no integer of a machine word"));
        }
        match roles::kind(&function.line, name, function.large) {
            None => complaints.push(format!(
                "the name `{name}` stands for no type (tests/headers/tests/roles.rs), here for `{}`",
                parameter.kind
            )),
            Some(kind) if !kind.split(" | ").any(|kind| kind == parameter.kind) => {
                complaints.push(format!("`{name}` is a `{}`, not a `{kind}`", parameter.kind));
            }
            Some(_) => {}
        }
        // Two parameters of one type can be told apart by their names alone.
        if let Some(other) = parameters.iter().position(|parameter| is_called(&parameter.name, name))
            && other != place
        {
            complaints.push(format!("`{name}` is parameter {}, not {}", other + 1, place + 1));
        }
    }
    complaints
}

/// True if a header's name for a parameter is the table's, but for what the standard puts before the name of an array.
fn is_called(header: &str, table: &str) -> bool {
    let plain = |name: &str| name.strip_prefix("array_of_").unwrap_or(name).to_owned();
    plain(header) == plain(table)
}
