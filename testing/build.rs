//! Makes the recorded functions of the invented line.

#[path = "../src/functions/build/functions.rs"]
mod functions;
#[path = "../src/functions/build/line.rs"]
#[allow(dead_code, reason = "the wrappers are made of the rest")]
mod line;

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=../src/functions/build");
    println!("cargo::rerun-if-changed=../tests/table/invented.table");
    let table = std::fs::read_to_string("../tests/table/invented.table").expect("the table");
    let all: Vec<String> = line::lines(&table).iter().map(|line| format!("&{}", functions::of_line(line))).collect();
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("set by cargo"));
    std::fs::write(out.join("functions.rs"), format!("&[{}]", all.join(", "))).expect("the folder for generated code");
}
