//! Makes the recorded functions of the table, and the parameters of all.

#[path = "build/functions.rs"]
mod functions;
#[path = "build/line.rs"]
#[allow(dead_code, reason = "the wrappers are made of the rest")]
mod line;
#[path = "build/parameters.rs"]
mod parameters;

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=functions.table");
    let table = std::fs::read_to_string("functions.table").expect("the table");
    let lines = line::lines(&table);
    let all: Vec<String> = lines.iter().map(|line| format!("&{}", functions::of_line(line))).collect();
    let parameters: Vec<String> = lines.iter().flat_map(parameters::of_line).collect();
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("set by cargo"));
    std::fs::write(out.join("functions.rs"), format!("&[{}]", all.join(", "))).expect("the folder for generated code");
    std::fs::write(out.join("parameters.rs"), format!("&[{}]", parameters.join(", "))).expect("the same folder");
}
