//! Generated wrappers as they are printed: formatted, and one example of each kind.

use std::collections::BTreeSet;

use crate::line::Line;
use crate::wrapper;

/// The head of the file of examples.
const HEAD: &str = "\
// One wrapper of each kind of line, as the build makes it of src/functions/functions.table: for reading only. build.rs
// writes all of them to wrappers.rs in cargo's folder for generated code. A test of interpose/src/exports/wrappers.rs
// fails while this file is not what the build makes.
";

/// The text of functions, formatted. A comment is written as `///~` here, since the parser keeps documentation alone.
///
/// # Panics
/// If it is no Rust.
pub fn whole(code: &str) -> String {
    print(&syn::parse_file(code).unwrap_or_else(|error| panic!("{error} in\n{code}")))
}

/// The wrappers of the first line of each kind, and of its first line whose calls can wait. One variant with large
/// counts, of a blocking collective, stands for all.
pub fn examples(lines: &[Line]) -> String {
    let mut seen = BTreeSet::new();
    let mut code = HEAD.to_owned();
    for line in lines.iter().filter(|line| line.kind != "collective" || line.large) {
        if !seen.insert((&line.kind, line.waits.is_empty())) {
            continue;
        }
        let waits = if line.waits.is_empty() { String::new() } else { format!(", waits {}", line.waits) };
        code += &format!("\n// {} {}{waits}\n\n{}", line.kind, line.name, example(line));
    }
    code
}

/// The wrappers of a line, without their twins that begin with `P`.
fn example(line: &Line) -> String {
    let mut file = syn::parse_file(&wrapper::of_line(line)).expect("Rust");
    file.items.retain(|item| match item {
        syn::Item::Fn(function) => {
            let name = function.sig.ident.to_string();
            let is_large = name.ends_with("_c") || name.ends_with("_narrowed");
            let is_first_form = [format!("MPI_{}_c", line.name), format!("{}_narrowed", line.name)].contains(&name);
            !name.starts_with("PMPI_") && (!is_large || line.kind == "collective" && is_first_form)
        }
        _ => true,
    });
    print(&file)
}

fn print(file: &syn::File) -> String {
    prettyplease::unparse(file)
        .replace("///~ ", "// ")
        .replace("}\n///", "}\n\n///")
        .replace(";\n///", ";\n\n///")
        .replace("\n#[cold]", "\n\n#[cold]")
}
